/*
 * From a plan's request step to bytes for the wire. What does not depend on variables is made once
 * a worker; the rest is rendered into a user's buffer.
 */
#ifndef RUN_REQUEST_H
#define RUN_REQUEST_H

#include <stdbool.h>

#include "base/mem.h"
#include "http/client.h"
#include "plan/plan.h"
#include "run/vars.h"

/* A request as it is sent and shown. */
struct request {
    struct origin *origin;
    struct str head;   /* with its empty line */
    struct str target; /* a slice of head or of the same bytes */
    struct str body;
    struct str shown; /* the URL as rendered, credentials as *** */
    struct str name;  /* the step's, rendered */
};

/* A request step, made ready. */
struct prepared {
    const struct step *step;
    bool fixed;           /* `request` is complete, nothing is rendered */
    bool fixed_authority; /* scheme, host and port do not depend on variables */
    bool own_cookies;     /* the plan sets Cookie */
    bool expects;         /* … and Expect */
    bool idempotent, is_head;
    struct request request; /* its origin with fixed_authority; all of it if fixed */
    /* With fixed_authority: the bytes of the rendered URL before its path, and what stands between
     * target and the plan's own header lines. */
    size_t authority_n;
    struct str defaults;
    bool sets_host, sets_agent, sets_accept, sets_authorization;
};

/* Makes a step ready; the result's memory is the arena's, its origins the client's. */
void request_prepare(struct prepared *prepared, const struct step *step, const struct plan *plan,
                     struct client *client, struct arena *arena);

enum render_result {
    RENDER_OK,
    RENDER_MISSING, /* a variable is not there: problem->path */
    RENDER_LOCAL,   /* it must not be sent: problem->text */
};
struct render_problem {
    const struct path *path;
    const void *where; /* identifies the place, for "once" */
    struct str part;   /* the header's name; empty: the URL */
    const char *text;  /* static */
};

/* Finds a path's text; as vars_text, or a relaxed wrapper of it. */
struct renderer {
    path_resolver resolve;
    void *ctx;
    struct buf *out;     /* the user's; *request's slices point into it */
    struct buf *scratch; /* the worker's */
};

/* Renders a step that is not fixed. request->shown and ->name are filled as far as possible even
 * when the result is not RENDER_OK. */
enum render_result request_render(const struct prepared *prepared, const struct plan *plan,
                                  struct client *client, const struct renderer *renderer,
                                  struct request *request, struct render_problem *problem);

/* The field lines of a head that --verbose shows: all but the defaults of the wire (Host, Accept)
 * that the plan has not set itself. */
struct str request_shown_fields(const struct prepared *prepared, struct str head);

#endif
