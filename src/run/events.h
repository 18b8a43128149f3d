/*
 * What a run has to say while it goes on. Workers hand each event to one formatter (the command
 * line's), which appends text to the worker's outputs; full outputs travel to the main thread,
 * which alone writes them.
 */
#ifndef RUN_EVENTS_H
#define RUN_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/outcome.h"
#include "base/str.h"

/* Where text goes: standard output, standard error, the report. */
enum output { OUTPUT_OUT, OUTPUT_ERR, OUTPUT_REPORT, OUTPUT_COUNT };

/* One worker's text that is not yet handed on, by enum output. */
struct outputs {
    struct buf text[OUTPUT_COUNT];
};

enum event_kind {
    EVENT_SEND,    /* a request is about to be sent (only with wants_verbose) */
    EVENT_DONE,    /* a request has ended */
    EVENT_ASSIGN,  /* an assign step: key, value as written */
    EVENT_ASSERT,  /* an assert step: key, value as written */
    EVENT_FAIL,    /* it did not hold: key, value (rendered), got */
    EVENT_DELAY,   /* value: "3s" */
    EVENT_EXEC,    /* value: the command as written */
    EVENT_WARNING, /* text for standard error: value (one line, no "warning: " before it) */
};

/* All slices live until the formatter returns. */
struct event {
    enum event_kind kind;
    struct str name;      /* the step's, rendered */
    struct str stat_name; /* as written: what statistics and reports go by */
    struct str key, value, got;
    /* EVENT_SEND and EVENT_DONE */
    struct str url;    /* as rendered, credentials as *** */
    struct str method; /* EVENT_SEND */
    struct str head;   /* EVENT_SEND: the request's field lines; EVENT_DONE: the response's */
    enum outcome outcome;
    enum outcome_where where;
    unsigned status;
    uint64_t latency_ns;
    struct str cause;     /* the detail of a failure: the errno's text, "two Location fields" */
    struct str final_url; /* after redirects, credentials as *** */
    struct str body;      /* p NULL unless the step keeps it */
};

/* Called on workers' threads, concurrently; must not block. */
typedef void (*event_formatter)(void *ctx, const struct event *event, struct outputs *out);

/* Called on the main thread with whole lines, in order per worker. False ends the run (whoever
 * read standard output is gone, the disk is full); what is left is still handed over. */
typedef bool (*output_writer)(void *ctx, enum output output, struct str bytes);

#endif
