/*
 * The variables of one virtual user: what `{{ path }}` finds. Fresh for each iteration; their
 * memory is kept from one to the next.
 */
#ifndef RUN_VARS_H
#define RUN_VARS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "http/cookie.h"
#include "http/exchange.h"
#include "plan/items.h"
#include "plan/plan.h"

/* Buffers larger than this are not kept from one iteration, or request, to the next. */
#define VARS_KEPT_BYTES (64u << 10)

enum var_kind { VAR_UNSET, VAR_TEXT, VAR_RESPONSE };
enum body_state { BODY_UNREAD, BODY_JSON, BODY_NO_JSON };

struct var {
    enum var_kind kind;
    struct buf text;           /* VAR_TEXT */
    struct response *response; /* VAR_RESPONSE; kept while unset, for its memory */
    enum body_state body_state;
    struct str json; /* the checked document, in response->body or in utf8 */
    struct json_index index;
    bool decoded; /* utf8 holds the body as UTF-8 */
    struct buf utf8;
};

struct vars {
    const struct plan *plan;
    struct var *own; /* by slot − SLOT_FIRST_OWN; NULL until the first one is set */
    uint64_t iteration, index;
    const struct items *items; /* NULL: no item yet */
    uint64_t item;
    const struct jar *jar;
};

/* plan and jar are borrowed. Allocates nothing. */
void vars_init(struct vars *vars, const struct plan *plan, const struct jar *jar);
void vars_fini(struct vars *vars);
/* A new iteration: everything unset. */
void vars_reset(struct vars *vars, uint64_t iteration);
/* Sets a plan's own variable to a text. */
void vars_set_text(struct vars *vars, uint32_t slot, struct str text);
/* Sets it to a response by swapping *response with the memory of the one it had. */
void vars_set_response(struct vars *vars, uint32_t slot, struct response **response);
/* The resolver of plan/template.h: ctx is the vars. */
bool vars_text(void *ctx, const struct path *path, struct buf *out);

#endif
