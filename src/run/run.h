/*
 * A run: users walking a plan on worker threads, from start to snapshot.
 */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "http/client.h"
#include "plan/load.h"
#include "plan/plan.h"
#include "run/events.h"
#include "stats/snapshot.h"
#include "stats/timeline.h"

#define RUN_TICK_NS (200 * 1000000ULL)

/* What is known while a run goes on; the main thread's until the callback returns. */
struct run_now {
    uint64_t elapsed_ns;
    const struct timeline *timeline;
};

struct run_options {
    const struct plan *plan;
    uint64_t concurrency; /* users in all, ≥ 1 */
    uint64_t iterations;  /* in all; 0: no limit (then duration_ns is set, or stages are) */
    uint64_t duration_ns; /* 0: none */
    uint64_t rampup_ns;
    struct load load;   /* by itself a closed loop; its stages end the run as a duration does */
    bool drop_late;     /* open loop: arrivals that find no free user are left out, not queued */
    uint64_t seed;      /* of arrivals and delays */
    uint64_t warmup_ns; /* load that is not counted, before the run proper */
    uint64_t grace_ns;  /* for requests in flight when time is up or a signal has come */
    bool connections_first;       /* all users connect before the clock starts */
    bool spin;                    /* the last microseconds before an arrival are waited for awake */
    unsigned workers;             /* ≥ 1, ≤ concurrency */
    struct client_options client; /* the wire; idle_bytes and ctx are the workers' */
    bool relaxed;                 /* a missing variable is an empty text and a warning */
    bool wants_lines;   /* call the formatter for every event, not only failures and warnings */
    bool wants_verbose; /* EVENT_SEND too, and fields and bodies in EVENT_DONE */
    bool wants_report;  /* EVENT_DONE for every request, whatever wants_lines says */
    event_formatter format;
    output_writer write;
    struct ticks ticks;   /* of the time line; interval_ns 0: none is made */
    size_t max_intervals; /* before they get longer (stats/timeline.h) */
    /* Every RUN_TICK_NS or so, as long as there are workers and a time line; NULL: nobody asks. */
    void (*tick)(void *ctx, const struct run_now *now);
    void *ctx;     /* of all three */
    int reader_fd; /* the run ends when whoever reads this pipe is gone; -1: none */
};

struct run_result {
    int signal;        /* 0, SIGINT or SIGTERM */
    bool write_failed; /* the writer returned false: the run was ended for it */
    bool reader_gone;  /* nobody reads reader_fd any more: likewise */
    uint64_t assertions_failed;
    uint64_t abandoned;  /* iterations given up for a missing variable */
    uint64_t not_sent;   /* requests with the outcome local */
    bool leaves_threads; /* a name look-up would not end: leave by _exit, not exit */
};

/*
 * How many descriptors a run of that many users needs, and raising the soft limit to it. False if
 * the hard limit is lower: *needed and *limit say what.
 */
bool run_check_descriptors(uint64_t concurrency, unsigned workers, uint64_t *needed,
                           uint64_t *limit);

/*
 * Runs until all iterations are done, the duration is over, or SIGINT or SIGTERM (whose
 * dispositions are the run's while it goes on; a second signal ends the process at once).
 * *snapshot is initialised and filled; snapshot_fini it. False only if threads or the loop cannot
 * be made (*why, static); users of threads that were made may have sent something by then.
 */
bool run(const struct run_options *options, struct snapshot *snapshot, struct run_result *result,
         const char **why);

#endif
