/*
 * YAML documents as trees with places, by libyaml (its only user), under limits that keep hostile
 * files cheap: 16 MiB, depth 64, 100,000 nodes, no directives but %YAML. Anchors and aliases are
 * expanded, `<<` merges, a key that stands twice is an error.
 */
#ifndef PLAN_YAML_H
#define PLAN_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/faults.h"
#include "base/mem.h"
#include "base/str.h"

#define YAML_MAX_BYTES (16u << 20)
#define YAML_MAX_DEPTH 64
#define YAML_MAX_NODES 100000
#define YAML_MAX_DATA_NODES 10000000
#define YAML_MAX_TEXT (64u << 20) /* of all scalars, each alias counted as what it stands for */

enum yaml_kind { YAML_SCALAR, YAML_SEQUENCE, YAML_MAPPING };

struct yaml_node {
    enum yaml_kind kind;
    bool plain;               /* a scalar without quotes: may be a number, a truth value or null */
    unsigned line, column;    /* from 1 */
    struct str text;          /* of a scalar */
    size_t n;                 /* items of a sequence, pairs of a mapping */
    struct yaml_node **items; /* a sequence's items, or a mapping's values */
    struct yaml_node **keys;  /* a mapping's keys: scalars, in the order of the file */
};

/* A file's path and its bytes. */
struct yaml_source {
    struct str file; /* for messages; borrowed for as long as the faults or nodes are used */
    struct str text;
};

/*
 * Parses the first document. Nodes live in the arena; aliases share the children of what they stand
 * for, which nobody changes, and count as all that they stand for. NULL if there is an error
 * (added to faults) or no document at all (an error too: "the file is empty"). Further documents
 * are a warning. UTF-8 with or without a byte-order mark; anything else is an error with its place.
 * Nodes below a key that begins with "with_items" are data: they count towards YAML_MAX_DATA_NODES
 * instead of YAML_MAX_NODES.
 */
struct yaml_node *yaml_parse(struct yaml_source source, struct arena *arena, struct faults *faults);

/* One scalar or bracket of a stream, for readers of long lists that want no tree. */
struct yaml_event {
    enum {
        YAML_EV_SCALAR,
        YAML_EV_SEQ_START,
        YAML_EV_SEQ_END,
        YAML_EV_MAP_START,
        YAML_EV_MAP_END
    } kind;
    bool plain;
    unsigned line, column;
    struct str text; /* lives until the handler returns */
};
/* False stops the walk. */
typedef bool (*yaml_handler)(void *ctx, const struct yaml_event *event);
/* Hands every event of the first document to the handler, in constant memory, whatever its size
 * (aliases are an error here). False with a fault added if the text is no YAML or the depth passes
 * the limit; true also if the handler stopped the walk. */
bool yaml_walk(struct yaml_source source, yaml_handler handler, void *ctx, struct faults *faults);

/* The value of a key, or NULL. */
struct yaml_node *yaml_get(const struct yaml_node *mapping, const char *key);
struct place yaml_place(struct str file, const struct yaml_node *node);

/* YAML 1.2's core schema, for plain scalars only: */
bool yaml_is_null(const struct yaml_node *node);                /* null, ~, empty */
bool yaml_as_bool(const struct yaml_node *node, bool *out);     /* true, True, false, … */
bool yaml_as_i64(const struct yaml_node *node, int64_t *out);   /* 12, -3, 0x1F, 0o17 */
bool yaml_as_double(const struct yaml_node *node, double *out); /* also integers; finite only */

/* Appends the node as block YAML, `indent` blanks deep, as `--list-tasks` shows it:
 * "name: one\nrequest:\n  url: /x\ntags:\n- one\n". */
bool yaml_emit(const struct yaml_node *node, unsigned indent, struct buf *out);

/* Appends the node as compact JSON: plain scalars that are numbers with their digits, truth values
 * and null as such, everything else as strings. */
bool yaml_json(const struct yaml_node *node, struct buf *out);

#endif
