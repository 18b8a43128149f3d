/*
 * What is counted in a window of time: an interval of the time line, or a stage of the load. One
 * writer; merged by whoever has it next.
 */
#ifndef STATS_WINDOW_H
#define STATS_WINDOW_H

#include <stdint.h>

#include "base/hist.h"
#include "base/outcome.h"

#define WINDOW_CLASSES 10 /* statuses by the hundred: 0xx … 9xx */

/* How requests fail, in groups that fit beside each other. */
enum failed {
    FAILED_DNS,
    FAILED_CONNECT,
    FAILED_TLS,
    FAILED_PROTOCOL,
    FAILED_BROKEN, /* truncated, reset */
    FAILED_TIMEOUT,
    FAILED_OTHER, /* without a response: too large, redirects, local, missing variable */
    FAILED_4XX,
    FAILED_5XX,
    FAILED_STATUS, /* all other statuses but 2xx */
    FAILED_COUNT
};
/* "dns", "connect", "tls", "protocol", "broken", "timeout", "other", "4xx", "5xx", "status". */
const char *failed_name(enum failed failed);

struct window {
    uint64_t started, aborted;
    uint64_t causes[OUTCOME_COUNT]; /* by outcome; OUTCOME_RESPONSE counts the responses */
    uint64_t classes[WINDOW_CLASSES];
    uint64_t bytes_sent, bytes_received;
    struct hist latency; /* all requests that ended; without its sums */
    /* of intervals only */
    uint64_t users; /* at work at its end */
    uint64_t iterations;
    uint64_t late_starts, dropped_starts;
};

struct sample;

/* sub_bits as of hist_init. Allocates nothing. */
void window_init(struct window *window, unsigned sub_bits);
void window_fini(struct window *window);
/* Empties it, keeps the memory. */
void window_reset(struct window *window);
/* Adds all of `from`, the users aside; both must have the same sub_bits. */
void window_merge(struct window *into, const struct window *from);
/* A request has ended: about 50 instructions. `started` is for the owner to keep. */
void window_add(struct window *window, const struct sample *sample);

/* Derived: requests that ended, and those that did with a 2xx. */
uint64_t window_ended(const struct window *window);
static inline uint64_t window_successful(const struct window *window)
{
    return window->classes[2];
}
/* Fills counters by enum failed, whose sum is ended less successful. */
void window_failures(const struct window *window, uint64_t failures[FAILED_COUNT]);

#endif
