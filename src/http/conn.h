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
#include "net/tls.h"
#include "net/tunnel.h"

enum conn_state { CONN_RESOLVING, CONN_CONNECTING, CONN_ACTIVE, CONN_IDLE, CONN_CLOSED };

/* Whether it may connect: not yet (it looks up a name, or is in the origin's queue); at once; it
 * does, and the server may not have accepted it yet; nobody waits for it any more. */
enum conn_turn { TURN_TO_COME, TURN_NEXT, TURN_KNOCKS, TURN_OVER };

#define CONN_LAYERS 4 /* tcp, tls to a proxy, the proxy, tls */

/* What only opening needs: until the session is chosen, or, if that multiplexes, has said what it
 * takes. */
struct opening {
    struct stream *layers[CONN_LAYERS]; /* from the bottom */
    uint8_t n_layers, layer;            /* how many, and which is connecting */
    unsigned first_address;
    uint64_t tried;          /* addresses: a bit each */
    uint64_t phase_start_ns; /* of the look-up or of a layer's connecting */
    struct timer deadline;
    struct timer attempt; /* of one address, while there are others */
};

/* What each request touches stands together and first. */
struct conn {
    struct tcp tcp;
    struct stream *stream;   /* the top of the stack */
    struct tls *tls;         /* to the origin; NULL without https */
    struct session *session; /* h1's, or one on the heap; NULL until it is chosen */
    struct client *client;
    struct origin *origin;
    struct exchange *exchange; /* whom it is opened for; NULL: for whoever waits */
    enum conn_state state;
    enum conn_turn turn;
    bool phases_told;
    bool
        settling; /* open, counted in origin->opening: its session has not said yet what it takes */
    bool shared;  /* in the origin's heap of shared connections */
    bool reused;  /* it has carried an exchange before the present one */
    /* What `soon` catches up with: reading what tls has already taken from the kernel, and having
     * the session write what it has gathered. */
    bool has_rest, has_output;
    bool shaking;             /* counted in origin->shaking */
    uint32_t last_tag;        /* of the exchange that it carried last */
    struct conn **list;       /* of the origin, in which it is; NULL: none */
    struct conn *prev, *next; /* there */
    union {
        struct opening opening;
        struct h1 h1; /* if that is its session */
    };
    /* --- what few requests touch --- */
    struct tls *proxy_tls;             /* to an https proxy */
    struct tunnel *tunnel;             /* through a proxy */
    uint64_t phases[EXCHANGE_TLS + 1]; /* of the opening, for the first exchange */
    union {
        struct lookup lookup; /* before TURN_KNOCKS */
        struct timer knock; /* from it on: how long it counts as not accepted yet, or as shaking */
    };
    unsigned address;     /* of the origin's addresses: where it goes */
    unsigned place, room; /* while shared: in the heap, and how many more it takes */
    struct task soon;     /* begins, takes its turn, catches up (see below), or frees it */
};

/* Begins to open a connection to the origin for an exchange (NULL: for those who wait there); never
 * fails at once: what goes wrong comes as client_failed or pool_open_failed, later. */
void conn_open(struct client *client, struct origin *origin, struct exchange *exchange);

/* Hands an exchange to an open connection. */
void conn_submit(struct conn *conn, struct exchange *exchange, uint64_t now_ns);

/* --- for sessions --- */

/* Writes what the stream takes now; as stream_ops.write. */
enum io conn_write(struct conn *conn, const struct str *parts, unsigned n, size_t *put);
void conn_want_write(struct conn *conn, bool want);
/* Has on_writable called at the end of this turn. */
void conn_flush_soon(struct conn *conn);
/* True if nothing more has come in and the other side has not ended. Otherwise *extra bytes were
 * read and dropped, and the connection is good for nothing more. */
bool conn_is_quiet(struct conn *conn, size_t *extra);
/* The exchange's response is whole. Afterwards the session is idle (reusable) or closed. */
void conn_done(struct conn *conn, struct exchange *exchange, bool reusable, uint64_t now_ns);
/* The exchange's response is whole, and the connection carries others on. */
void conn_stream_done(struct conn *conn, struct exchange *exchange, uint64_t now_ns);
/* The exchange failed, and nothing is said of the connection. retry: it may be sent once more. */
void conn_stream_failed(struct conn *conn, struct exchange *exchange, const struct failure *failure,
                        bool retry, uint64_t now_ns);
/* The session can take more exchanges than it could; the first time, any at all. */
void conn_capacity_changed(struct conn *conn, uint64_t now_ns);
/* The session takes no more exchanges; those that it has go on. */
void conn_retire(struct conn *conn);
/* The session is at its end and has no exchange any more: closes the connection. */
void conn_over(struct conn *conn, const struct failure *failure, uint64_t now_ns);
/* The exchange failed; the connection is closed. */
void conn_failed(struct conn *conn, struct exchange *exchange, const struct failure *failure,
                 uint64_t now_ns);

/* --- for the client --- */

/* What to call it when the time for opening a connection is over. */
struct failure conn_timeout(const struct conn *conn);
/* Counts that the address which it is connecting to would not do. */
void conn_address_failed(const struct conn *conn);
/* Closes it at once; its exchange is forgotten, without a call. Memory goes with the turn. */
void conn_close(struct conn *conn);

/* --- between conn.c, conn_open.c and conn_turn.c --- */

/* An event of the bottom stream. */
void conn_ready(struct stream *stream, unsigned events);
/* Goes on connecting. */
void conn_connect(struct conn *conn);
/* Connects to the next address that has not been tried. */
void conn_try_addresses(struct conn *conn, uint64_t now_ns);
/* The time of the opening begins, if it has one of its own. */
void conn_limit_opening(struct conn *conn, uint64_t now_ns);
/* The addresses are known: connects when it is its turn, now or later. */
void conn_take_turn(struct conn *conn, uint64_t now_ns);
/* The server has been heard, or the connection is closed: it is another's turn to connect. */
void conn_turn_over(struct conn *conn);
/* Do connections wait now, before they say anything, until most of the others are there? */
bool conn_holds_back(struct origin *origin, uint64_t now_ns);
/* Holds it back. */
void conn_hold(struct conn *conn, uint64_t now_ns);
/* It is held no more, and goes on. */
void conn_speak(struct conn *conn, uint64_t now_ns);
/* It has shaken hands, or will not: one of those that are held may. */
void conn_shaken(struct conn *conn);
/* No event comes for bytes that tls has taken from the kernel: has them read in the next turn. */
void conn_read_rest(struct conn *conn);
/* A session that multiplexes has said what it takes: those who wait get it. */
void conn_settled(struct conn *conn, uint64_t now_ns);
/* The opening has failed: tells the exchange that it was for, or those who wait. */
void conn_open_failed(struct conn *conn, const struct failure *failure, uint64_t now_ns);
/* What opening the connection took is part of the first exchange that it carries. */
void conn_tell_phases(struct conn *conn, struct exchange *exchange);

#endif
