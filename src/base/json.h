/*
 * JSON by RFC 8259: checked once, then looked up by path in its own bytes, without a tree and
 * without allocation. Numbers keep their digits, objects their order; of a repeated key the last
 * counts. A writer's quoting is here too.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

#define JSON_MAX_DEPTH 512

enum json_type {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

/* One segment of a path: a key of an object or, where the value is an array and is_index, its
 * index-th element. */
struct json_key {
    struct str text;
    uint64_t index;
    bool is_index;
};

/* Is text one JSON document (blanks around it allowed), at most JSON_MAX_DEPTH deep, in UTF-8 (a
 * byte-order mark before it is passed over)? Then *value is the document without the blanks.
 * Linear in text.n, no recursion. */
bool json_check(struct str text, struct str *value);

/* Where the largest objects and arrays within a document begin and end, so that a look-up need not
 * walk through them. Borrows the document's bytes; as good as empty for small ones. */
#define JSON_INDEX_MAX 16
struct json_index {
    unsigned n;
    size_t least; /* bytes of the smallest one that is worth an entry */
    struct str values[JSON_INDEX_MAX];
};

/* The same, and fills *index (of no use if the result is false). */
bool json_check_index(struct str text, struct str *value, struct json_index *index);

/* The type of a checked value (one that json_check or json_find gave). */
enum json_type json_type(struct str value);

/* Follows keys from a checked value. The result is a slice of it. False if a key is not there or
 * the value on the way is neither object nor array. */
bool json_find(struct str value, const struct json_key *keys, size_t n, struct str *out);

/* The same, faster, with the index of the document that value is in. */
bool json_find_index(struct str value, const struct json_index *index, const struct json_key *keys,
                     size_t n, struct str *out);

/* Appends the text of a checked value: a string unescaped (lone surrogates as U+FFFD), null as
 * nothing, true, false and numbers as they stand, objects and arrays compact. */
bool json_text(struct str value, struct buf *out);

/* Appends s as a quoted JSON string; bytes that are no UTF-8 become U+FFFD. */
bool json_quote(struct buf *out, struct str s);

/* Appends a finite number as short as round-trips, anything else as null. */
bool json_number(struct buf *out, double value);

#endif
