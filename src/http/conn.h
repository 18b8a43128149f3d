/*
 * A connection: streams below, a session above, and the glue between. Opened and pooled by
 * http/pool.c; used by sessions.
 */
#ifndef HTTP_CONN_H
#define HTTP_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "http/exchange.h"
#include "http/h1.h"
#include "net/dns.h"
#include "net/tcp.h"

enum conn_state { CONN_RESOLVING, CONN_CONNECTING, CONN_ACTIVE, CONN_IDLE, CONN_CLOSED };

struct conn {
    struct tcp tcp;
    struct stream *stream; /* the top of the stack */
    struct h1 h1;
    struct session *session;
    struct client *client;
    struct origin *origin;
    struct exchange *exchange; /* whom it is opened for or in use by */
    enum conn_state state;
    bool reused;    /* it has carried an exchange before the present one */
    unsigned tried; /* addresses, while opening */
    unsigned first_address;
    uint32_t last_tag;       /* of the exchange that it carried last */
    uint64_t phase_start_ns; /* of the look-up or the connecting */
    struct lookup lookup;
    struct conn *prev, *next; /* in the origin's idle list */
    struct task release;
};

/* Begins to open a connection to the exchange's origin for it; never fails at once: what goes
 * wrong comes as client_failed, later. */
void conn_open(struct client *client, struct exchange *exchange);

/* Hands an exchange to an open connection. */
void conn_submit(struct conn *conn, struct exchange *exchange, uint64_t now_ns);

/* --- for sessions --- */

/* Writes what the stream takes now; as stream_ops.write. */
enum io conn_write(struct conn *conn, const struct str *parts, unsigned n, size_t *put);
void conn_want_write(struct conn *conn, bool want);
/* True if nothing more has come in and the other side has not ended. Otherwise *extra bytes were
 * read and dropped, and the connection is good for nothing more. */
bool conn_is_quiet(struct conn *conn, size_t *extra);
/* The exchange's response is whole. Afterwards the session is idle (reusable) or closed. */
void conn_done(struct conn *conn, struct exchange *exchange, bool reusable, uint64_t now_ns);
/* The exchange failed; the connection is closed. */
void conn_failed(struct conn *conn, struct exchange *exchange, const struct failure *failure,
                 uint64_t now_ns);

/* --- for the client --- */

/* Closes it at once; its exchange is forgotten, without a call. Memory goes with the turn. */
void conn_close(struct conn *conn);

#endif
