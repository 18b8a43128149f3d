/*
 * The one model of a run's result: what every output prints and the comparison reads. Made by
 * merging recorders.
 */
#ifndef STATS_SNAPSHOT_H
#define STATS_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/str.h"
#include "stats/recorder.h"
#include "stats/timeline.h"

#define SNAPSHOT_MAX_ADDRESSES 1000 /* further ones are not shown */

/* An address of a host that has several. */
struct address_count {
    struct str text; /* owned */
    uint64_t connections, failed;
};

/* A stage of the load, and the requests that were started in it. */
struct stage_count {
    uint64_t start_ns, length_ns; /* as planned */
    double from, to;              /* users, or arrivals a second */
    struct window window;         /* started is set */
};

struct snapshot {
    size_t n_names;
    struct str *names;   /* copies, owned */
    struct tally *steps; /* by name, in the order of the plan */
    struct tally global; /* the sum of all steps */
    struct hist iteration;
    uint64_t iterations_started, iterations_completed, iterations_abandoned, iterations_aborted;
    uint64_t checks_passed, checks_failed;
    uint64_t connections_opened, connections_reused, connections_failed;
    size_t n_addresses;
    struct address_count *addresses;
    struct map address_index; /* by text */
    uint64_t duration_ns;     /* of the whole run */
    const char *interrupted;  /* NULL, "SIGINT" or "SIGTERM" */
    int tls_verified;         /* 1 yes, 0 no, -1 no TLS in this run */
    bool open_loop;           /* false: service times and the lag are not recorded */
    struct hist schedule_lag; /* from the intended start to the actual one */
    size_t n_stages;
    struct stage_count *stages;
    bool staged_rates;         /* from and to are rates */
    struct ticks ticks;        /* of the time line */
    struct timeline *timeline; /* NULL: none was asked for */
    /* the generator about itself */
    const char *version; /* static */
    double cpu_s;
    uint64_t max_rss_bytes;
    bool by_request;  /* what arrives in an open loop is a request, not an iteration */
    bool spins;       /* workers wait awake: that they are busy says nothing */
    double busy;      /* the part of the duration that the busiest worker was on a CPU */
    unsigned stopped; /* how often the process was stopped (SIGSTOP, Ctrl-Z) and continued */
    uint64_t late_starts, dropped_starts, missed_starts; /* as in struct recorder */
};

/* names are copied. */
void snapshot_init(struct snapshot *snapshot, const struct str *names, size_t n_names);
void snapshot_fini(struct snapshot *snapshot);
/* Adds all that a recorder (of as many names) has counted. */
void snapshot_add(struct snapshot *snapshot, const struct recorder *recorder);
/* Adds one worker's windows to those of the stages, of which there are as many, or which are made
 * then. */
void snapshot_add_stages(struct snapshot *snapshot, const struct window *stages, size_t n);
/* Adds to what is counted of an address. */
void snapshot_add_address(struct snapshot *snapshot, struct str text, uint64_t connections,
                          uint64_t failed);

/* Figures of a tally, derived, never stored. */
uint64_t tally_total(const struct tally *tally);      /* ended requests, with or without response */
uint64_t tally_successful(const struct tally *tally); /* 2xx responses */
uint64_t tally_failed(const struct tally *tally);     /* total − successful */
uint64_t tally_no_response(const struct tally *tally);
uint64_t tally_status(const struct tally *tally, unsigned status);        /* responses */
uint64_t tally_status_class(const struct tally *tally, unsigned hundred); /* 2 for 2xx */
/* The latency of all requests: responses and failures merged; the caller hist_fini's it. */
void tally_latency(const struct tally *tally, struct hist *out);

#endif
