/* Text of bodies to UTF-8, by the C library's iconv. */
#ifndef HTTP_CHARSET_H
#define HTTP_CHARSET_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

/* The charset parameter of a Content-Type's value (RFC 9110 §8.3; quotes taken off), or the empty
 * slice. */
struct str charset_of(struct str content_type);

/* Would charset_to_utf8 only have to check the bytes: no charset named, UTF-8, or ASCII? */
bool charset_is_utf8(struct str charset);

/*
 * Appends body as UTF-8. An unknown or empty charset counts as UTF-8; a byte-order mark at the
 * beginning is dropped and, where it names another Unicode encoding, wins; what is no text in that
 * charset becomes U+FFFD. False only if out is full.
 */
bool charset_to_utf8(struct str body, struct str charset, struct buf *out);

#endif
