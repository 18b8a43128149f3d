/*
 * The open loop of one worker: arrivals come when the pacer says, and a user that is free takes
 * each; what finds none waits for the first that becomes free, or is left out. Which user that is
 * does not matter; it is the one that became free last, so that no more connections are used than
 * there must be.
 */
#ifndef RUN_ARRIVALS_H
#define RUN_ARRIVALS_H

#include <stdbool.h>
#include <stdint.h>

#include "net/loop.h"
#include "run/pacer.h"

struct vu;
struct worker;

struct arrivals {
    struct pacer pacer;
    struct timer timer; /* the next one is due */
    struct vu *free;    /* users that wait for one, linked by vu->next_free */
    bool starved;       /* one is due and nobody was free: whoever comes first takes it */
};

/* Arrivals come from start_ns on, as the profile says; limit: how many over all workers, 0: as many
 * as that makes. What was due before is forgotten. */
void arrivals_start(struct worker *worker, const struct profile *profile, uint64_t start_ns,
                    uint64_t limit);
/* No more arrivals. What was due by now_ns and has found no user is counted as missed. */
void arrivals_stop(struct worker *worker, uint64_t now_ns);
/* The user is free. True if it has an arrival at once; false if it will be woken by vu_arrived when
 * it has, or is done with the run. */
bool arrivals_wait(struct worker *worker, struct vu *vu);
/* Forgets the free users that have been stopped. */
void arrivals_forget_stopped(struct worker *worker);

#endif
