/*
 * Templates: text with `{{ path }}` in it, compiled once when the plan is read. A path is a letter,
 * then letters, digits and - . _ $ [ ]; anything else between braces stays as it is, with a
 * warning. What a value brings is never looked at again.
 */
#ifndef PLAN_TEMPLATE_H
#define PLAN_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/faults.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

/* Variables have numbers. These are always there; a plan's own follow from SLOT_FIRST_OWN on. */
enum { SLOT_BASE, SLOT_ITERATION, SLOT_INDEX, SLOT_ITEM, SLOT_COOKIES, SLOT_FIRST_OWN };
#define SLOT_NONE UINT32_MAX

struct path {
    struct str text;       /* as written: "account.body.phones[1]" */
    uint32_t slot;         /* of its first segment; SLOT_NONE: nothing in the plan sets it */
    bool has_env;          /* the environment has a variable of this name … */
    struct str env;        /* … with this value, for when the slot is unset */
    size_t n_keys;         /* segments after the first */
    struct json_key *keys;
};

struct part {
    bool is_path;
    struct str text;
    struct path path;
};

struct template {
    struct str source; /* as written */
    size_t n;
    struct part *parts; /* no two texts in a row; n = 0: the empty text */
    bool constant;      /* no paths: the text is parts[0].text or empty */
};

/* Names to slots, in the order the steps of the plan are read. */
struct scope {
    struct str *names; /* of slot SLOT_FIRST_OWN + i */
    size_t n, cap;
    bool item_known; /* a step with items has been read */
    bool relaxed;    /* unknown names are warnings at run time, not faults now */
    size_t limit;    /* names[0…limit) may be used by the template being compiled */
};

/* The slot of a name, added if it is new. */
uint32_t scope_set(struct scope *scope, struct str name);
/* The slot of a name, or SLOT_NONE. */
uint32_t scope_find(const struct scope *scope, struct str name);
void scope_fini(struct scope *scope);

/* Splits "a.b[1].c" into the first segment and keys (in the arena); false if text is no path. */
bool path_parse(struct str text, struct arena *arena, struct str *root, struct path *path);

/*
 * Compiles text into *out; its memory is the arena's. A path whose first segment is neither in
 * scope nor (as the whole path text) in the environment is an error fault at `at`, with the
 * nearest known name, unless the scope is relaxed; what looks like a template and is none, a
 * warning. `what` names the place for messages ("url", "header X-Token"). False if there was an
 * error.
 */
bool template_compile(struct str text, const struct scope *scope, struct arena *arena,
                      struct place at, const char *what, struct faults *faults,
                      struct template *out);

/* A template without paths, of these bytes. */
struct template template_of(struct str text, struct arena *arena);

/* The text of a template without paths. */
static inline struct str template_text(const struct template *t)
{
    return t->n ? t->parts[0].text : (struct str){"", 0};
}

/* Appends the text of a path; false if it is not there (nothing must have been appended then). */
typedef bool (*path_resolver)(void *ctx, const struct path *path, struct buf *out);

/* Appends the rendered text. NULL, or the first path that is missing (out then holds what was
 * rendered so far). On the request path: copies, and calls the resolver. A full buffer shows in
 * out->full. */
const struct path *template_render(const struct template *t, path_resolver resolve, void *ctx,
                                   struct buf *out);

#endif
