/* HTTP/1.1 over a connection: one exchange at a time (RFC 9112). */
#ifndef HTTP_H1_H
#define HTTP_H1_H

#include <stdbool.h>

#include "base/buf.h"
#include "http/h1_parse.h"
#include "http/session.h"

#define H1_HOLD_NS 1000000000ULL /* how long a body waits for "100 Continue" */
#define H1_INTERIM_MAX 16        /* 1xx responses before the final one */
#define H1_WRITE_MAX (1u << 20)  /* of a body, in one wake-up */

enum h1_state { H1_IDLE, H1_HEAD, H1_BODY };

struct h1 {
    struct session session; /* first */
    struct exchange *exchange;
    enum h1_state state;
    bool keep_alive;
    bool write_failed; /* the other side takes no more; its answer may still be there */
    bool waits;        /* for the stream to take more */
    bool lenient;      /* that this response is so has been counted */
    uint8_t interim;
    struct str head, body; /* what is still to be written */
    struct str held;       /* the body while the server's "100 Continue" is waited for */
    struct h1_body decoder;
    size_t seen; /* bytes of `partial`, all of which the parser has looked at */
    struct timer hold;
    struct buf partial; /* an incomplete head; no memory otherwise */
};

void h1_init(struct h1 *h1, struct conn *conn);

#endif
