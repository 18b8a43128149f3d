/*
 * How load is made over time: what the head of a plan, or the command line, says of it. Times are
 * in ns from the start of the run; rates and users are those of the whole run.
 */
#ifndef PLAN_LOAD_H
#define PLAN_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

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

/*
 * What people write, into a zeroed load. Each returns NULL, or what is wrong with the text, which
 * lives for ever; then the load is good for load_fini only.
 */
/* "100", "100/s", "6000/m", "100r/s" */
const char *load_set_rate(struct load *load, struct str text);
/* "30s:100,1m:100,10s:0", the targets with a unit for rates. *faulty becomes what part of it is
 * wrong. */
const char *load_set_stages(struct load *load, struct str text, struct str *faulty);

/* What the target of a stage is: users unless it has the unit of a rate, or what is said. */
enum stage_kind { STAGE_BY_UNIT, STAGE_USERS, STAGE_RATE };
/* One more stage, by its parts: "30s", "100". All must be of a kind. */
const char *load_add_stage(struct load *load, struct str duration, struct str target,
                           enum stage_kind kind);
/* Whether the stages make a load, when all are added. */
const char *load_check_stages(const struct load *load);

/* Frees the stages. */
void load_fini(struct load *load);

#endif
