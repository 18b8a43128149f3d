#include "base/hist.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define SUM2_SATURATED ((unsigned __int128)-1)

/*
 * With b = sub_bits, row 0 holds the values below 2^b, one a counter; row r > 0 those from
 * 2^(b+r-1) to 2^(b+r) - 1, 2^(r-1) of them a counter: the b bits behind the leading one say
 * which.
 */
static size_t row_size(const struct hist *hist)
{
    return (size_t)1 << hist->sub_bits;
}

static uint64_t highest_of(const struct hist *hist, unsigned row, size_t i)
{
    if (row == 0)
        return i;
    return ((row_size(hist) + i + 1) << (row - 1)) - 1;
}

void hist_init(struct hist *hist, unsigned sub_bits)
{
    *hist = (struct hist){.sub_bits = sub_bits, .min = UINT64_MAX};
}

void hist_fini(struct hist *hist)
{
    for (unsigned row = 0; row < HIST_ROWS; row++)
        free(hist->rows[row]);
    hist_init(hist, hist->sub_bits);
}

void hist_reset(struct hist *hist)
{
    hist->count = 0;
    hist->min = UINT64_MAX;
    hist->max = 0;
    hist->sum = hist->sum2 = 0;
    for (unsigned row = 0; row < HIST_ROWS; row++) {
        if (hist->rows[row])
            memset(hist->rows[row], 0, row_size(hist) * sizeof(uint64_t));
    }
}

static void row_make(struct hist *hist, unsigned row)
{
    hist->rows[row] = xcalloc(row_size(hist), sizeof(uint64_t));
}

static void add_sum2(struct hist *hist, unsigned __int128 square)
{
    if (__builtin_expect(__builtin_add_overflow(hist->sum2, square, &hist->sum2), 0))
        hist->sum2 = SUM2_SATURATED;
}

static void add_extremes(struct hist *hist, uint64_t min, uint64_t max)
{
    if (min < hist->min)
        hist->min = min;
    if (max > hist->max)
        hist->max = max;
}

/* Apart, so that the usual way through hist_add saves no registers. */
static __attribute__((noinline)) void add_to_new_row(struct hist *hist, unsigned row, uint64_t ns)
{
    row_make(hist, row);
    hist_add(hist, ns);
}

void hist_count_first(struct hist *hist, unsigned row, uint64_t ns)
{
    row_make(hist, row);
    hist_count(hist, ns);
}

void hist_add(struct hist *hist, uint64_t ns)
{
    uint64_t low = row_size(hist);
    /* At least sub_bits: the position of the leading one of what does not fall into row 0. */
    unsigned top = 63U ^ (unsigned)__builtin_clzll(ns | low);
    unsigned shift = top - hist->sub_bits;
    unsigned row = shift + (ns >= low);
    uint64_t *counters = hist->rows[row];

    if (__builtin_expect(!counters, 0)) {
        add_to_new_row(hist, row, ns);
        return;
    }
    counters[ns >> shift & (low - 1)]++;
    add_extremes(hist, ns, ns);
    hist->count++;
    hist->sum += ns;
    add_sum2(hist, (unsigned __int128)ns * ns);
}

void hist_merge(struct hist *into, const struct hist *from)
{
    if (from->count == 0)
        return;
    for (unsigned row = 0; row < HIST_ROWS; row++) {
        const uint64_t *counters = from->rows[row];

        if (!counters)
            continue;
        if (!into->rows[row])
            row_make(into, row);
        for (size_t i = 0; i < row_size(from); i++)
            into->rows[row][i] += counters[i];
    }
    add_extremes(into, from->min, from->max);
    into->count += from->count;
    into->sum += from->sum;
    add_sum2(into, from->sum2);
}

/* ceil(q·count), where q is meant as the decimal number that it is nearest to: 0.07 of 100 is 7,
 * though 0.07 as a double is a little more. */
static uint64_t rank_of(const struct hist *hist, double q)
{
    double rank = ceil(q * (double)hist->count * (1 - 4 * DBL_EPSILON));

    if (rank < 1)
        return 1;
    return rank < (double)hist->count ? (uint64_t)rank : hist->count;
}

uint64_t hist_quantile(const struct hist *hist, double q)
{
    uint64_t seen = 0, rank;

    if (hist->count == 0)
        return 0;
    rank = rank_of(hist, q);
    for (unsigned row = 0; row < HIST_ROWS; row++) {
        if (!hist->rows[row])
            continue;
        for (size_t i = 0; i < row_size(hist); i++) {
            seen += hist->rows[row][i];
            if (seen >= rank) {
                uint64_t value = highest_of(hist, row, i);

                return value < hist->max ? value : hist->max;
            }
        }
    }
    return hist->max;
}

double hist_mean(const struct hist *hist)
{
    return hist->count ? (double)((long double)hist->sum / (long double)hist->count) : 0;
}

double hist_stdev(const struct hist *hist)
{
    unsigned __int128 mean, rest, squares;
    long double n = (long double)hist->count;
    long double variance;

    if (hist->count < 2 || hist->sum2 == SUM2_SATURATED)
        return 0;
    /*
     * The squares of the distances from the mean's whole part, exact modulo 2^128 and thus exact:
     * sum2 - sum²/n in floating point would lose all digits where the values are large and near
     * each other.
     */
    mean = hist->sum / hist->count;
    rest = hist->sum % hist->count;
    squares = hist->sum2 - 2 * mean * hist->sum + mean * mean * hist->count;
    variance = ((long double)squares - (long double)rest * (long double)rest / n) / (n - 1);
    return variance > 0 ? (double)sqrtl(variance) : 0;
}
