/*
 * Text as people see it: UTF-8, display width, escaping of bytes that must not reach a terminal,
 * and the nearest of some names for "did you mean".
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* The code point that begins at s.p and its length in *len; an invalid sequence (RFC 3629) gives
 * UINT32_MAX and *len = 1. s must not be empty. */
uint32_t utf8_decode(struct str s, size_t *len);
/* Appends the UTF-8 of a code point (surrogates and > 10FFFF become U+FFFD). */
bool utf8_encode(struct buf *out, uint32_t code);
bool utf8_valid(struct str s);
/* Appends s with every byte of an invalid sequence as U+FFFD. */
bool utf8_repair(struct buf *out, struct str s);

/* Columns on a terminal: 0 for combining marks, 2 for East Asian wide and emoji, 1 otherwise.
 * Does not depend on the locale. What text_printable would escape counts as it would be shown. */
size_t text_width(struct str s);
/* Columns of one code point, from tables of Unicode 14. */
unsigned text_code_width(uint32_t code);

/* Appends s so that it is safe on a terminal: control characters, DEL, C1 controls, bidirectional
 * overrides (U+202A–E, U+2066–9) and bytes that are no UTF-8 as \n \r \t \xNN or \u{NNNN};
 * everything else, the backslash included, as it is. At most max_bytes of s are shown, then "…"
 * (SIZE_MAX: all). */
bool text_printable(struct buf *out, struct str s, size_t max_bytes);

/* Appends s, printable, padded with blanks to `columns`. */
bool text_pad(struct buf *out, struct str s, size_t columns);

/* The candidate nearest to name (Damerau–Levenshtein, case-insensitive), if it is near enough to
 * be meant (distance ≤ 1 for 3 letters or fewer, ≤ a third of the length beyond); else NULL. */
const char *text_nearest(struct str name, const char *const *candidates, size_t n);

#endif
