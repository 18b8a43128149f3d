/*
 * The time line: intervals that several sources (a run's workers) have counted, merged by their
 * moment and kept as summaries, about 220 bytes each. Its memory grows with the time, not with the
 * requests: whenever as many as `max` entries have come, further ones are twice as long. One
 * thread.
 */
#ifndef STATS_TIMELINE_H
#define STATS_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/window.h"

/* Moments at which sources hand in what they have counted: `parts` in each interval, from 0 on. */
struct ticks {
    uint64_t interval_ns; /* 0: none */
    unsigned parts;       /* ≥ 1 */
};
/* When a tick begins, in ns from the start. */
static inline uint64_t tick_start(const struct ticks *ticks, uint64_t tick)
{
    return tick / ticks->parts * ticks->interval_ns +
           tick % ticks->parts * ticks->interval_ns / ticks->parts;
}
/* The tick that a moment belongs to. */
uint64_t tick_of(const struct ticks *ticks, uint64_t ns);

/* What one source has counted from the beginning of tick `from` to that of tick `to`: as a rule one
 * tick, more if it did not come to hand it in. It counts for the first of them. */
struct interval {
    struct window window; /* HIST_COARSE */
    uint64_t from, to;
    unsigned source;
    bool last;             /* the source will count nothing more */
    struct interval *link; /* the owner's */
};

struct timeline_entry {
    uint64_t start_ns, length_ns; /* from the start of the run */
    uint64_t started, ended, successful, aborted, iterations;
    uint64_t failures[FAILED_COUNT]; /* their sum is ended less successful */
    uint64_t p50_ns, p90_ns, p99_ns, max_ns;
    uint64_t bytes_sent, bytes_received;
    uint64_t users, in_flight; /* at its end; of the last one, before what is left is stopped */
    uint64_t late_starts, dropped_starts;
};

struct timeline_options {
    struct ticks ticks;
    unsigned sources;
    size_t max; /* entries before they get twice as long */
};

struct timeline;

struct timeline *timeline_new(const struct timeline_options *options);
void timeline_free(struct timeline *timeline);
/* The interval is the caller's again. */
void timeline_add(struct timeline *timeline, const struct interval *interval);
/* All sources have handed in their last one; the run took that long. A rest of less than a tenth of
 * an interval, and of 100 ms, belongs to the entry before it. */
void timeline_end(struct timeline *timeline, uint64_t duration_ns);

/* The entries to which no source will add any more. They stay as they are; the pointer lives until
 * the next call that is not const. */
size_t timeline_entries(const struct timeline *timeline, const struct timeline_entry **entries);

/* How things are now: over the last second, as far as it has been handed in. A source that is late
 * by more than a tick is not waited for. */
struct timeline_now {
    struct window total; /* of the run so far, without latencies */
    uint64_t seconds_ns; /* how long the last second is */
    uint64_t ended, p50_ns, p99_ns;
    uint64_t users, in_flight;
};
void timeline_now(const struct timeline *timeline, struct timeline_now *out);

#endif
