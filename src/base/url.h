/*
 * http and https URLs by the WHATWG URL standard (https://url.spec.whatwg.org), which is what
 * browsers and the original do: tabs and newlines dropped, `\` read as `/`, dot segments taken out,
 * hosts in lower case and Punycode (base/idn.h), IPv4 and IPv6 forms normalised, bytes
 * percent-encoded by each part's set.
 */
#ifndef BASE_URL_H
#define BASE_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct url {
    struct str href; /* all of it, fragment included */
    bool https;
    struct str username; /* percent-encoded; empty if none */
    struct str password;
    struct str host;     /* as sent in Host: no port; IPv6 in brackets */
    uint16_t port;       /* the effective one */
    bool port_given;     /* it is not the scheme's default */
    struct str target;   /* path and query, as sent in a request line; begins with '/' */
    struct str path;     /* the path alone (for cookies) */
    struct str fragment; /* without '#' */
    bool has_fragment;
};

enum url_result {
    URL_OK,
    URL_NO_SCHEME,  /* a relative reference, and there was no base */
    URL_BAD_SCHEME, /* a scheme that is neither http nor https */
    URL_BAD_HOST,
    URL_BAD_PORT,
    URL_TOO_LONG, /* more than URL_MAX bytes */
};

#define URL_MAX 65536

/*
 * Parses text, against base if that is not NULL. The normalised URL is written to out (reset
 * first; its max should allow 3 × URL_MAX), and *url's slices point into it: they live until out
 * is changed. base's slices must not lie in out. On a failure *url is untouched.
 */
enum url_result url_parse(struct str text, const struct url *base, struct buf *out,
                          struct url *url);

/* What is wrong, in a few words: "the port must be a number from 0 to 65535". */
const char *url_result_text(enum url_result result);

/*
 * Appends the request target that `text` (a path beginning with '/', perhaps a query, perhaps a
 * fragment) has in a normalised http URL. What url_parse would make of "http://h" + text, without
 * parsing an authority; a run of bytes that need no change is copied. False if text does not begin
 * with '/' or '\' or out is full.
 */
bool url_target(struct str text, struct buf *out);

/* Appends a URL as it was written, with "***" in place of its user name and password. */
bool url_hide_credentials(struct str url, struct buf *out);

/* Percent-decodes (RFC 3986 §2.1); a '%' without two hex digits stays. */
bool url_decode(struct str s, struct buf *out);

#endif
