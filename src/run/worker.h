/*
 * One thread of a run: a loop, a client, a recorder, and the users dealt out to it.
 */
#ifndef RUN_WORKER_H
#define RUN_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/mem.h"
#include "base/rng.h"
#include "http/client.h"
#include "net/loop.h"
#include "net/process.h"
#include "run/arrivals.h"
#include "run/meter.h"
#include "run/notices.h"
#include "run/outbox.h"
#include "run/request.h"
#include "run/run.h"
#include "run/vars.h"
#include "stats/recorder.h"

#define OUTPUT_PIECE (32u << 10) /* handed on at this size, or after … */
#define OUTPUT_DELAY_NS (40 * 1000000ULL)

enum stop {
    STOP_NOT,
    STOP_GRACE, /* requests in flight may end within the grace */
    STOP_NOW
};

#define CACHE_LINES 128 /* processors fetch 64 bytes by pairs */

/* What all workers share; all of it read only but for the atomics. */
struct shared {
    const struct run_options *options;
    struct outbox *outbox;
    struct notices *notices;
    struct intervals *intervals; /* NULL: nobody wants a time line */
    struct timeline *timeline;   /* the main thread's; likewise */
    struct profile profile, warmup_profile;
    bool open;          /* arrivals come by themselves */
    bool users_wait;    /* users may have to wait between two iterations */
    uint64_t launch_ns; /* load begins: the warm-up, if there is one */
    uint64_t start_ns;  /* the run proper begins */
    uint64_t end_ns;    /* its time is over; UINT64_MAX: not by itself */
    /* Every worker writes here for each iteration, and reads what is above and below for each
     * request: they are not to share a cache line. (Alignment would have to hold for whatever this
     * is part of.) */
    char apart_above[CACHE_LINES];
    atomic_uint_fast64_t next_iteration;
    atomic_uint_fast64_t next_warmup; /* iteration of the warm-up */
    char apart_below[CACHE_LINES];
    _Atomic enum stop stop; /* set by the main thread */
    atomic_bool exhausted;  /* no iterations are left */
    atomic_uint connecting; /* workers whose users have yet to connect, with --connections-first */
    atomic_bool launched;   /* the times above are known: users may begin */
    atomic_uint working;
};

struct vu;

struct worker {
    struct shared *shared;
    pthread_t thread;
    unsigned id;
    struct loop *loop;
    struct client *client;
    struct blocks blocks;
    struct arena arena;        /* of what is prepared */
    struct prepared *prepared; /* by step */
    struct recorder recorder, warmup;
    struct recorder *counting; /* that of the two in which what begins now counts */
    struct meter meter;
    struct arrivals arrivals;
    struct rng rng;
    struct outputs outputs;
    struct buf scratch;
    struct vu *users;
    size_t n_users, active;
    struct timer warm, deadline, flush;
    bool started;      /* its users have begun */
    bool closing;      /* no user takes another step; requests in flight may end */
    bool told;         /* … because the main thread said so */
    size_t in_flight;  /* then: how many have not */
    bool ending;       /* nothing goes on */
    uint64_t ended_ns; /* since then */
    size_t processes;  /* children that still run */
    bool leaves_loop;  /* a name look-up would not end: the loop stays behind */
};

/* Makes all that can fail. n_users of the run's users are this worker's: those whose number is
 * id modulo the number of workers. False with *why (static); worker_fini it either way. */
bool worker_init(struct worker *worker, struct shared *shared, unsigned id, size_t n_users,
                 const char **why);
void worker_fini(struct worker *worker);
/* The thread's main function; ctx is the worker. */
void *worker_main(void *ctx);

/* --- for its users --- */

/* Hands an event to the formatter, and its text on in good time. */
void worker_event(struct worker *worker, const struct event *event);
/* One of its users has nothing more to do. */
void worker_user_done(struct worker *worker);
/* No iteration numbers are left: users that wait to begin one need not wait. */
void worker_exhausted(struct worker *worker);
/* While the worker is closing, a request has ended. */
void worker_request_closed(struct worker *worker);
/* A child process of one of its users has ended. */
void worker_process_done(struct worker *worker);

#endif
