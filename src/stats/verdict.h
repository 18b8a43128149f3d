/*
 * The generator about itself: whether the figures of a run are those of the server, or of the
 * machine that made the load.
 */
#ifndef STATS_VERDICT_H
#define STATS_VERDICT_H

#include "stats/snapshot.h"

#define VERDICT_MAX 4

/* Ready sentences without a full stop, with figures and what to do. */
struct verdict {
    size_t n;
    char warnings[VERDICT_MAX][200];
};

/* Nothing is said of runs of less than a second. */
void verdict_make(struct verdict *verdict, const struct snapshot *snapshot);

#endif
