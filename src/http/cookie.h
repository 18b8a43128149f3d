/*
 * One user's cookie jar: RFC 6265 with the public suffix list and, of RFC 6265bis, the prefixes
 * `__Host-` and `__Secure-`, and that an http response neither sets nor shadows a Secure cookie. An
 * empty jar owns no memory. Not shared between threads.
 *
 * Limits: 50 cookies taken of one response, 150 in a jar (the one that was set longest ago goes),
 * 4,096 bytes of name and value, 1,024 bytes of a path or any other attribute (longer ones are
 * passed over), 8,190 bytes sent in a request (those that fit, in order).
 */
#ifndef HTTP_COOKIE_H
#define HTTP_COOKIE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#define COOKIES_PER_RESPONSE 50
#define COOKIES_PER_JAR 150
#define COOKIE_BYTES_MAX 4096
#define COOKIE_ATTRIBUTE_MAX 1024
#define COOKIE_HEADER_MAX 8190

struct cookie;
struct jar {
    struct blocks *blocks;
    struct cookie *cookies; /* in the order of sending; NULL while empty */
    unsigned count;
    uint64_t stamp;              /* counts what was set, for older and newer */
    unsigned from_this_response; /* the client sets it to 0 before each response */
};

/* Where a request goes, as far as cookies care; slices are borrowed for the call. */
struct cookie_place {
    struct str host; /* normalised: lower case, Punycode; IPv6 in brackets */
    struct str path; /* without query, begins with '/' */
    bool https;
};

/* blocks (may be NULL: plain malloc) must outlive the jar. */
void jar_init(struct jar *jar, struct blocks *blocks);
/* Forgets every cookie and gives all memory back. */
void jar_clear(struct jar *jar);
static inline bool jar_empty(const struct jar *jar)
{
    return jar->cookies == NULL;
}

/* One Set-Cookie field's value (RFC 6265 §5.2, §5.3), received from `from` at now_s (seconds since
 * 1970). What is not acceptable there is passed over; true if the jar changed. */
bool jar_set(struct jar *jar, struct str set_cookie, const struct cookie_place *from,
             int64_t now_s);

/* Appends "a=b; c=d" for a request to `to` (§5.4: longer paths first, then older); the number of
 * cookies, 0 if nothing was appended. Expired cookies are dropped on the way. */
unsigned jar_header(struct jar *jar, const struct cookie_place *to, int64_t now_s, struct buf *out);

/* The value of the newest cookie of that name, wherever it belongs; false if there is none.
 * The slice lives until the jar is changed. */
bool jar_find(const struct jar *jar, struct str name, struct str *value);

/* Appends all cookies as a JSON object name → newest value, in the order they were first set. */
void jar_json(const struct jar *jar, struct buf *out);

/* The text of a Set-Cookie date (RFC 6265 §5.1.1) as seconds since 1970; false if it is none. */
bool cookie_date(struct str text, int64_t *seconds);

#endif
