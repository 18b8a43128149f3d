/*
 * How requests go over one connection: the seam behind which HTTP/1.1 stands, and whatever comes
 * beside it. A session sits on a conn (http/conn.h), which feeds it bytes and writes for it; for
 * each submitted exchange it calls conn_done or conn_failed exactly once, unless it was told to
 * forget it.
 */
#ifndef HTTP_SESSION_H
#define HTTP_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/exchange.h"

struct session;

struct session_ops {
    /* Does it carry many exchanges at once? */
    bool multiplexes;
    /* The connection is open: says what the protocol wants said first. */
    void (*start)(struct session *session);
    /* How many exchanges could be submitted now. */
    unsigned (*capacity)(const struct session *session);
    /* Begins to send an exchange whose wire image is head and body; capacity must not be 0. */
    void (*submit)(struct session *session, struct exchange *exchange, struct str head,
                   struct str body);
    /* n bytes came in at now_ns; nothing of the session may be touched by the caller afterwards
     * that a callback could have changed. */
    void (*on_bytes)(struct session *session, const char *bytes, size_t n, uint64_t now_ns);
    /* How many of the next bytes nobody will look at (they may be thrown away unread), and that
     * n of them have been. */
    uint64_t (*discardable)(const struct session *session);
    void (*on_discarded)(struct session *session, uint64_t n, uint64_t now_ns);
    /* The stream can be written again. */
    void (*on_writable)(struct session *session);
    /* The other side has ended the stream in an orderly way (failure NULL), or it broke. */
    void (*on_end)(struct session *session, const struct failure *failure, uint64_t now_ns);
    /* The exchange is given up (its time is over, or the run): no call about it any more. */
    void (*forget)(struct session *session, struct exchange *exchange);
    /* Gives the session's memory back. */
    void (*fini)(struct session *session);
};

struct session {
    const struct session_ops *ops;
    struct conn *conn;
};

#endif
