/*
 * A load over time as a pure function: the rate, or the users, that are due at a moment, how many
 * arrivals are due by then, and when the next one is. Straight lines from stage to stage; times in
 * ns from the start.
 */
#ifndef RUN_PROFILE_H
#define RUN_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "plan/load.h"

#define PROFILE_NEVER UINT64_MAX
/* 10/s for 0.7 s are 7 arrivals and not 8, whatever the last digit of the product says. */
#define PROFILE_ALL_BUT_ROUNDING (1 - 1e-12)

/* A line from value a at begin_ns to value b at end_ns. */
struct profile_line {
    uint64_t begin_ns, end_ns;
    double a, b;
    double before; /* arrivals before it */
    size_t stage;
};

/* Made once, then read only. */
struct profile {
    size_t n;
    struct profile_line *lines; /* one after the other, none of length 0; owned */
};

/* A fixed rate is one line of that length, 0: that never ends; without a rate and stages there is
 * none. */
void profile_init(struct profile *profile, const struct load *load, uint64_t length_ns);
void profile_fini(struct profile *profile);

/* How long the load lasts; PROFILE_NEVER: it does not end by itself. */
uint64_t profile_length(const struct profile *profile);
/* The rate or the number of users at a moment: behind a jump there, 0 behind the end. */
double profile_at(const struct profile *profile, uint64_t ns);
/* The stage of a moment; the last one behind the end. */
size_t profile_stage(const struct profile *profile, uint64_t ns);
/* How many arrivals are due by a moment, fractions included: the area below the rate. */
double profile_arrivals(const struct profile *profile, uint64_t ns);
/* When that many arrivals (≥ 0) have come; PROFILE_NEVER if they never do. The inverse of
 * profile_arrivals: never from the arrival before, so that no error adds up. */
uint64_t profile_when(const struct profile *profile, double arrivals);
/* The first moment from ns on at which user number k (from 0) is wanted: more than k users are.
 * PROFILE_NEVER if there is none. */
uint64_t profile_wanted(const struct profile *profile, uint64_t k, uint64_t ns);

#endif
