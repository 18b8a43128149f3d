/*
 * A histogram of the HDR kind (Tene, HdrHistogram) of nanoseconds: 0 to 2^63−1, three significant
 * digits. Rows of one power of two each are made at the first value that falls into one, so that a
 * histogram costs what it uses and its memory has nothing to do with the number of values. Sums
 * are exact. Not thread-safe: one writer; merge when it is done.
 */
#ifndef BASE_HIST_H
#define BASE_HIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* sub_bits 10: 1,024 counters a row (8 KiB), error < 0.1 %; 7: 128 counters, error < 0.8 %. */
#define HIST_FINE 10
#define HIST_COARSE 7
#define HIST_ROWS 64

struct hist {
    uint64_t count;
    uint64_t min, max;      /* meaningless while count is 0 */
    unsigned __int128 sum;  /* ns */
    unsigned __int128 sum2; /* ns²; saturates */
    unsigned sub_bits;
    uint64_t *rows[HIST_ROWS];
};

/* Allocates no row. */
void hist_init(struct hist *hist, unsigned sub_bits);
void hist_fini(struct hist *hist);
/* Empties it, keeps the memory. */
void hist_reset(struct hist *hist);
/* Adds one value. Inline fast path in the .c is fine, but the call must cost about 3 ns hot. */
void hist_add(struct hist *hist, uint64_t ns);
/* For hist_count: makes the row first. */
void hist_count_first(struct hist *hist, unsigned row, uint64_t ns);
/* Adds one value, but not to the sums: for histograms of which nobody asks the mean or the
 * deviation. Half of what hist_add costs. */
static inline void hist_count(struct hist *hist, uint64_t ns)
{
    uint64_t low = 1ULL << hist->sub_bits;
    /* At least sub_bits: the position of the leading one of what does not fall into row 0. */
    unsigned shift = (63U ^ (unsigned)__builtin_clzll(ns | low)) - hist->sub_bits;
    unsigned row = shift + (ns >= low);
    uint64_t *counters = hist->rows[row];

    if (__builtin_expect(!counters, 0)) {
        hist_count_first(hist, row, ns);
        return;
    }
    counters[ns >> shift & (low - 1)]++;
    hist->count++;
    if (ns > hist->max)
        hist->max = ns;
    if (ns < hist->min)
        hist->min = ns;
}
/* Adds all of `from` to `into`; both must have the same sub_bits. */
void hist_merge(struct hist *into, const struct hist *from);
/* The highest value equivalent to the bucket that holds the ceil(q·count)-th smallest value
 * (0 < q ≤ 1), never above max nor below min; 0 if empty. */
uint64_t hist_quantile(const struct hist *hist, double q);
/* ns; 0 if empty. */
double hist_mean(const struct hist *hist);
/* The sample's standard deviation (n−1) in ns; 0 for fewer than two values, or where
 * sum2 is saturated. */
double hist_stdev(const struct hist *hist);

#endif
