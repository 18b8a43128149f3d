/* The host of an http URL by the WHATWG host parser (https://url.spec.whatwg.org/#host-parsing). */
#ifndef BASE_URL_HOST_H
#define BASE_URL_HOST_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

/*
 * Appends the normalised form of a host as it stands in a URL: percent-decoded, ASCII in lower
 * case; an IPv4 address in any of its notations as four decimal numbers; an IPv6 address (in
 * brackets) in the form of RFC 5952. False, with out as it was, if it is no host or out is full.
 */
bool url_host(struct str text, struct buf *out);

/* 0 to 15 for a hexadecimal digit, else more. */
static inline unsigned url_digit(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

#endif
