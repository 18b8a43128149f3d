/*
 * Intervals on their way from the workers to the main thread, and empty ones on their way back, so
 * that in the long run nothing is allocated. The lock is taken once an interval. Bounded: a main
 * thread that takes none is waited for.
 */
#ifndef RUN_INTERVALS_H
#define RUN_INTERVALS_H

#include "stats/timeline.h"

struct intervals;

/* max: how many may be on their way. */
struct intervals *intervals_new(size_t max);
/* All that were put must have come back. NULL is allowed. */
void intervals_free(struct intervals *intervals);
/* Worker: an empty one, the worker's until it is put. */
struct interval *intervals_get(struct intervals *intervals);
/* Worker: hands one in. */
void intervals_put(struct intervals *intervals, struct interval *full);
/* Main thread: the oldest that was handed in, NULL if there is none; to be given back. */
struct interval *intervals_take(struct intervals *intervals);
void intervals_give_back(struct intervals *intervals, struct interval *interval);

#endif
