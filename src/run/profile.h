/*
 * A load over time as a pure function: the rate, or the users, that are due at a moment, how many
 * arrivals are due by then, and when the next one is. Straight lines from stage to stage; times in
 * ns from the start.
 */
#ifndef RUN_PROFILE_H
#define RUN_PROFILE_H

#include <stdint.h>

#include "plan/load.h"

#define PROFILE_NEVER UINT64_MAX

/* How long the stages last; PROFILE_NEVER without stages. */
uint64_t profile_length(const struct load *load);
/* The rate or the number of users at a moment: behind a jump there, 0 behind the end. */
double profile_at(const struct load *load, uint64_t ns);
/* The stage of a moment; the last one behind the end. */
size_t profile_stage(const struct load *load, uint64_t ns);
/* How many arrivals are due by a moment, fractions included: the area below the rate. */
double profile_arrivals(const struct load *load, uint64_t ns);
/* When that many arrivals (≥ 0) have come; PROFILE_NEVER if they never do. The inverse of
 * profile_arrivals: never from the arrival before, so that no error adds up. */
uint64_t profile_when(const struct load *load, double arrivals);
/* The first moment from ns on at which user number k (from 0) is wanted: more than k users are.
 * PROFILE_NEVER if there is none. */
uint64_t profile_wanted(const struct load *load, uint64_t k, uint64_t ns);

#endif
