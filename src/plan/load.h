/*
 * How load is made over time: what the head of a plan, or the command line, says of it. Times are
 * in ns from the start of the run; rates and users are those of the whole run.
 */
#ifndef PLAN_LOAD_H
#define PLAN_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOAD_MAX_STAGES 10000
#define LOAD_MAX_RATE 1e7 /* a second */

enum arrival { ARRIVAL_CONSTANT, ARRIVAL_POISSON };

/* From the target of the stage before (0 before the first) to this one's, in a straight line. */
struct stage {
    uint64_t duration_ns; /* 0: a jump */
    double target;        /* users, or arrivals a second */
};

/* A closed loop with a fixed number of users if it has neither a rate nor stages. */
struct load {
    double rate;     /* arrivals a second, > 0; 0: none */
    size_t n_stages; /* in place of a rate; 0: none */
    struct stage *stages;
    bool staged_rates; /* the targets of the stages are rates, not users */
    bool by_request;   /* what arrives is a request, not an iteration */
    enum arrival arrival;
};

/* Do arrivals come by themselves, whatever the server does? */
static inline bool load_is_open(const struct load *load)
{
    return load->rate > 0 || (load->n_stages > 0 && load->staged_rates);
}
/* Does the number of users change as stages say? */
static inline bool load_has_user_stages(const struct load *load)
{
    return load->n_stages > 0 && !load->staged_rates;
}

#endif
