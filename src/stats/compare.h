/*
 * Is this run slower than a recorded one? Mean durations by step name.
 */
#ifndef STATS_COMPARE_H
#define STATS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "stats/snapshot.h"

/* Sums by name of a recorded report. */
struct baseline;

struct baseline *baseline_new(void);
void baseline_free(struct baseline *baseline);
/* One record of a report; at most 1,000,000 names. */
void baseline_add(struct baseline *baseline, struct str name, double duration_ms);
/* The mean of a name in ms; false if the report has none. */
bool baseline_mean(const struct baseline *baseline, struct str name, double *mean_ms);

struct regression {
    struct str name; /* the snapshot's */
    double slower_ms;
};
/* The names, sorted, whose mean is more than threshold_ms above the baseline's; *out is on the
 * heap (free), the result their number. */
size_t compare(const struct baseline *baseline, const struct snapshot *snapshot,
               double threshold_ms, struct regression **out);

#endif
