/*
 * The arrivals of one worker in an open loop: when the next is due, from the start of the run and
 * never from the one before. Those of a constant rate are dealt out to the workers in turn; Poisson
 * arrivals of each are independent, and together a Poisson process of the whole rate. Pure.
 */
#ifndef RUN_PACER_H
#define RUN_PACER_H

#include <stdint.h>

#include "base/rng.h"
#include "run/profile.h"

struct pacer {
    const struct profile *profile;
    enum arrival arrival;
    unsigned id, workers;
    uint64_t start_ns;
    uint64_t taken, limit; /* arrivals so far, and at most, of this worker */
    double expected;       /* Poisson: how many were expected by the next one, of all workers */
    struct rng rng;
    uint64_t next_ns; /* when the next is due; PROFILE_NEVER: none comes any more */
};

/* Worker `id` of `workers`; `limit`: arrivals in all, of all workers, 0: no limit. */
void pacer_init(struct pacer *pacer, const struct profile *profile, enum arrival arrival,
                unsigned id, unsigned workers, uint64_t limit, uint64_t seed);
/* From now on times count from there, and from the first arrival. */
void pacer_start(struct pacer *pacer, uint64_t start_ns);
/* The arrival that was next is taken. */
void pacer_take(struct pacer *pacer);
/* How many are due at a moment and not taken, the next one included; takes Poisson arrivals. */
uint64_t pacer_overdue(struct pacer *pacer, uint64_t now_ns);

#endif
