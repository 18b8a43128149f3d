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
#include "plan/scope.h"

struct path {
    struct str text; /* as written: "account.body.phones[1]" */
    uint32_t slot;   /* of its first segment; SLOT_NONE: nothing in the plan sets it */
    bool has_env;    /* the environment has a variable of this name … */
    struct str env;  /* … with this value, for when the slot is unset */
    size_t n_keys;   /* segments after the first */
    struct json_key *keys;
};

struct part {
    bool is_path;
    struct str text;
    struct path path;
};

struct template
{
    struct str source; /* as written */
    size_t n;
    struct part *parts; /* no two texts in a row; n = 0: the empty text */
    bool constant;      /* no paths: the text is parts[0].text or empty */
};

/* Splits "a.b[1].c" into the first segment and keys (in the arena; the texts are slices of `text`);
 * false if text is no path. */
bool path_parse(struct str text, struct arena *arena, struct str *root, struct path *path);

/* Compiles a path that stands alone (the key of an assertion), as template_compile does one of a
 * template. False, and an error, if it is none or its name is unknown. */
bool path_compile(struct str text, const struct scope *scope, struct arena *arena, struct place at,
                  const char *what, struct faults *faults, struct path *out);

/* Bits (ORIGIN_…) of where the text of a path may come from. */
unsigned path_origin(const struct path *path, const struct scope *scope);

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

/* A template without paths, of these bytes, which must live as long as it does. */
struct template template_of(struct str text, struct arena *arena);

/* A template of `prefix` and t; the source is t's with the prefix before it. */
struct template template_prefixed(struct str prefix, const struct template *t, struct arena *arena);

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
