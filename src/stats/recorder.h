/*
 * What a worker counts while it works: one recorder a worker, one tally a step name, plain adds,
 * no lock, no allocation but a histogram's row at the first value that falls into it. Merged into
 * a snapshot when the worker has ended.
 */
#ifndef STATS_RECORDER_H
#define STATS_RECORDER_H

#include <stddef.h>
#include <stdint.h>

#include "base/hist.h"
#include "base/outcome.h"
#include "stats/window.h"

enum phase { PHASE_DNS, PHASE_CONNECT, PHASE_TLS, PHASE_FIRST_BYTE, PHASE_BODY, PHASE_COUNT };

/* Worth knowing and no failure. */
enum extra {
    EXTRA_RECONNECTS,   /* requests sent again on a new connection */
    EXTRA_REDIRECTS,    /* redirects followed */
    EXTRA_EXTRA_BYTES,  /* responses with bytes behind their end */
    EXTRA_LENIENT,      /* responses that a strict reader refuses */
    EXTRA_BOTH_LENGTHS, /* Content-Length beside chunked */
    EXTRA_INTERIM,      /* 1xx responses passed over */
    EXTRA_COUNT
};
/* "reconnects", "redirects", "extra_bytes", "lenient", "both_lengths", "interim". */
const char *extra_name(enum extra extra);
/* "dns", "connect", "tls", "first_byte", "body". */
const char *phase_name(enum phase phase);

/* One finished request. Times in ns; a phase that did not happen is PHASE_NONE. */
#define PHASE_NONE UINT64_MAX
struct sample {
    enum outcome outcome;
    uint16_t status;     /* of a response: 100 to 999 */
    uint16_t stage;      /* in which it was started; any without stages */
    uint64_t latency_ns; /* intended start to last byte, or to the failure */
    uint64_t service_ns; /* actual start to last byte */
    uint64_t phases[PHASE_COUNT];
    uint64_t bytes_sent, bytes_received; /* heads included */
};

#define STATUS_ROWS 10 /* statuses by the hundred: 0xx … 9xx */

struct tally {
    uint64_t started;
    uint64_t aborted; /* in flight at the end */
    uint64_t bytes_sent, bytes_received;
    uint64_t causes[OUTCOME_COUNT]; /* by outcome; OUTCOME_RESPONSE counts the responses */
    uint64_t extra[EXTRA_COUNT];
    uint64_t *statuses[STATUS_ROWS]; /* 100 counters each, made at the first of its hundred */
    struct hist responses;           /* latency of whole responses */
    struct hist failures;            /* time to failure of everything else */
    struct hist service;             /* service time, all requests, open loop only */
    struct hist phases[PHASE_COUNT];
};

/* What is counted anyway and for an interval need not be counted once more. */
struct recorder_totals {
    uint64_t started, iterations, late_starts, dropped_starts;
};

struct recorder {
    size_t n_names;
    struct tally *tallies;
    bool open_loop; /* service time differs from latency: record it too */
    /* the run's own */
    uint64_t iterations_started, iterations_completed, iterations_abandoned, iterations_aborted;
    struct hist iterations;
    struct hist schedule_lag; /* latency less service time, all requests, open loop only */
    /* Arrivals that found no free user; of them those that were left out; those that were due and
     * had not begun at the end. Open loop only. */
    uint64_t late_starts, dropped_starts, missed_starts;
    uint64_t checks_passed, checks_failed;
    uint64_t connections_opened, connections_reused, connections_failed;
    /* windows of time, the owner's */
    bool windows;                  /* there is one of them at least */
    uint16_t stage;                /* the present one: of requests that start now */
    struct window *interval;       /* the present one; NULL: nobody wants it */
    struct window *stages;         /* NULL: none */
    struct recorder_totals turned; /* when the interval began */
};

void recorder_init(struct recorder *recorder, size_t n_names);
void recorder_fini(struct recorder *recorder);

/* A request of that name has begun. */
static inline void recorder_start(struct recorder *recorder, size_t name)
{
    recorder->tallies[name].started++;
}
/* It has ended; each started request ends here or in recorder_abort, once. */
void recorder_add(struct recorder *recorder, size_t name, const struct sample *sample);
void recorder_abort(struct recorder *recorder, size_t name, uint16_t stage);
static inline void recorder_extra(struct recorder *recorder, size_t name, enum extra extra)
{
    recorder->tallies[name].extra[extra]++;
}

/* Has windows of time filled from now on; either may be NULL. `interval` is empty, and `stages` are
 * as many as samples can name. */
void recorder_watch(struct recorder *recorder, struct window *interval, struct window *stages);
/* The present interval is over: its window, complete; counting goes on in `next`, an empty one. */
struct window *recorder_turn(struct recorder *recorder, struct window *next);
/* Users in the middle of an iteration. */
static inline uint64_t recorder_users(const struct recorder *recorder)
{
    return recorder->iterations_started - recorder->iterations_completed -
           recorder->iterations_abandoned - recorder->iterations_aborted;
}

/* For snapshot: a tally's life, and adding one to another. */
void tally_init(struct tally *tally);
void tally_fini(struct tally *tally);
void tally_merge(struct tally *into, const struct tally *from);

#endif
