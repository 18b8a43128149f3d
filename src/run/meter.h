/*
 * What a worker measures by the clock beside its requests: it hands in its intervals at the ticks
 * of the run, keeps the stage that requests start in, and looks at its own CPU time. On the
 * worker's thread.
 */
#ifndef RUN_METER_H
#define RUN_METER_H

#include "net/loop.h"
#include "plan/load.h"
#include "run/intervals.h"
#include "run/outbox.h"
#include "stats/recorder.h"

struct meter_options {
    struct loop *loop;
    struct recorder *recorder;
    struct ticks ticks;          /* interval_ns 0: no intervals */
    struct intervals *intervals; /* where they are handed in, and … */
    struct outbox *outbox;       /* … who is told so */
    unsigned source;
    const struct load *load;
};

struct meter {
    struct meter_options options;
    uint64_t start_ns; /* of the run */
    struct interval *interval;
    struct window *stages; /* by the load's stages; NULL: none */
    struct timer tick, stage;
    uint64_t stage_end_ns; /* from the start */
    uint64_t cpu_ns;       /* at the start; later, used since */
};

/* Counts nothing yet. */
void meter_init(struct meter *meter, const struct meter_options *options);
void meter_fini(struct meter *meter);
/* The run begins, or has begun, at that moment. */
void meter_start(struct meter *meter, uint64_t start_ns);
/* The run ends: before what is under way is given up. */
void meter_stop(struct meter *meter);
/* Nothing more will be counted. */
void meter_end(struct meter *meter);

#endif
