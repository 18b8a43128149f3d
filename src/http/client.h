/*
 * The HTTP client of one worker: origins with their pools of connections, time limits, the
 * keep-alive race, redirects, cookies. Belongs to the loop's thread.
 */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "http/exchange.h"
#include "http/h1_memo.h"
#include "http/proxy.h"
#include "net/dns.h"
#include "net/loop.h"
#include "net/tls.h"

#define CLIENT_READ_BUFFER (256u << 10)
#define CLIENT_MEMOS 8          /* heads of responses that are known, by the exchange's tag */
#define CLIENT_MAX_ORIGINS 4096 /* beyond it, those that nobody uses go */
#define CLIENT_KNOCKING_MAX 128 /* connections at once that may not have been accepted yet, … */
#define CLIENT_KNOCKING_NS (10 * 1000000ULL) /* … of which it is believed after that time */
#define CLIENT_HELD_NS 2000000000ULL         /* how long connections may be held back for others */
#define CLIENT_SHAKING_MAX 512          /* of those that were, how many shake hands at once, … */
#define CLIENT_SHAKING_NS 1000000000ULL /* … and after which time one no longer counts */
#define CLIENT_BACKOFF_FROM 8           /* failures in a row */
#define CLIENT_BACKOFF_MAX_NS (250 * 1000000ULL)

/* Which HTTP to speak: what ALPN brings; 1.1 alone; 2 or nothing, over TLS; 2 at once. */
enum http_version { HTTP_ANY, HTTP_1_1, HTTP_2, HTTP_2_PRIOR };

/* What an origin's connections speak, as far as it is known. */
enum origin_protocol { ORIGIN_H1, ORIGIN_UNKNOWN, ORIGIN_H2 };

/* What came of connecting to one of an origin's addresses. */
struct address_use {
    uint64_t connections, failed;
};

struct origin {
    struct origin *next; /* in the table */
    uint32_t hash;
    bool https;
    bool pinned; /* never forgotten */
    uint16_t port;
    struct str host;      /* as in Host: IPv6 in brackets */
    struct str prefix;    /* "http://host:port" */
    struct str authority; /* "host:port", the port only if it is not the scheme's own */
    uint32_t users;       /* exchanges and connections that refer to it */
    uint32_t failures;    /* connection attempts that failed since the last that did not */
    unsigned next_address;
    uint64_t bad, bad_ns;        /* addresses that have failed lately (a bit each), and when */
    const struct proxy *proxy;   /* NULL: reached directly */
    struct addresses *addresses; /* of the proxy, or its own; NULL: not asked yet */
    struct address_use *uses;    /* of each of them; NULL: there is one at most */
    struct addresses *told;      /* its own, which a SOCKS 5 proxy is told; likewise */
    struct conn *idle;           /* carrying nothing: last in, first out */
    /* For sessions that multiplex, or may turn out to: */
    enum origin_protocol protocol;
    struct conn **shared; /* open, carrying any number of exchanges: a heap (http/pool_shared.c) */
    unsigned n_shared, max_shared;
    struct conn *loose; /* no exchange's own, and not to be taken: being opened, or retired */
    unsigned opening;   /* connections that are being opened for whoever waits */
    bool shut;          /* a new one had room for nobody: no more of them until that changes */
    size_t ahead;       /* to open besides, should it turn out that each user needs its own */
    struct exchange *waiting, **waiting_end;
    /* Of any protocol: */
    unsigned coming;                /* connections that have not begun to connect */
    unsigned knocking;              /* that have, and the server may not have accepted them yet */
    uint64_t held_ns;               /* since when connections are held back; 0: none has been */
    bool starting;                  /* no such crowd has come before as to be held back */
    unsigned shaking;               /* connections that were held back, and shake hands */
    struct conn *queue, *queue_end; /* those that wait for their turn to connect */
    struct conn *held;              /* connected, and silent until most of the others are */
    struct tls_sessions sessions;   /* of https */
};

/* How connections are made. What is pointed to is borrowed for the client's life. */
struct client_options {
    uint64_t timeout_ns;         /* of one exchange, redirects included */
    uint64_t connect_timeout_ns; /* 0: timeout_ns is the only limit */
    uint64_t max_body;           /* bytes kept of a body */
    unsigned max_redirects;
    enum http_version http;
    unsigned connections;   /* shared ones that an origin has at least, with HTTP/2 */
    struct tls_options tls; /* but offer_h2, which `http` decides */
    struct resolver_options resolver;
    const struct proxies *proxies;   /* NULL: none */
    const struct addresses *address; /* a Unix socket in place of every host; NULL: none */
    const struct addresses *local;   /* where connections are made from, in turn; NULL: anywhere */
    bool kernel_timestamps;          /* response times by the kernel's time stamps of packets */
    /* bytes came on an idle connection, after the response to an exchange with that tag */
    void (*idle_bytes)(void *ctx, uint32_t tag);
    /* all connections of client_connect_ahead are open, or could not be */
    void (*connected)(void *ctx);
    void *ctx;
};

struct client {
    struct client_options options;
    struct loop *loop;
    struct resolver *resolver;
    struct blocks *blocks;
    struct timer_queue *timeouts;
    uint64_t opened, reused, failed; /* connections */
    size_t ahead;                    /* being opened by client_connect_ahead */
    bool used_tls;                   /* one of them */
    unsigned n_origins;
    struct origin *table[256];
    struct buf scratch, base_url, next_url;
    char *read_buffer;
    struct h1_memo memos[CLIENT_MEMOS];
    struct timer_queue *connect_timeouts; /* NULL: the exchange's own limit is the only one */
    struct tls_context *tls;              /* NULL: no https yet */
    struct tls_context *proxy_tls;        /* of https proxies, for a stack needs two */
    char tls_error[256];                  /* why there is none although it was needed */
    unsigned next_local;                  /* of options.local */
    struct task release_held;             /* has those speak that need not be silent any more */
};

/* loop and blocks must outlive it. NULL if the resolver cannot be made. */
struct client *client_new(struct loop *loop, struct blocks *blocks,
                          const struct client_options *options);
/* Closes all connections. All exchanges must have ended. Their memory goes with the loop's next
 * tasks (loop_free runs them), and only then may client_free be called. */
void client_close(struct client *client);
/* NULL is allowed. */
void client_free(struct client *client);

/* The origin for scheme, host (normalised) and port, made at the first call. `pin`: it stays for
 * the client's life; otherwise until nobody uses it. */
struct origin *client_origin(struct client *client, bool https, struct str host, uint16_t port,
                             bool pin);

/* How long a user should wait before it tries this origin again: 0, or 1 ms to 250 ms after many
 * failures in a row. */
uint64_t client_backoff_ns(const struct origin *origin);

/* Opens, before any exchange is there, the connections to an origin that so many users need;
 * options.connected is called when that is over, also if some could not be made: those are made
 * when they are needed. */
void client_connect_ahead(struct client *client, struct origin *origin, size_t users);

/* Calls back for each address of those origins that have several. */
void client_each_address(const struct client *client,
                         void (*each)(void *ctx, const struct address *address,
                                      const struct address_use *use),
                         void *ctx);

/* Starts an exchange at now_ns; done is called once, never from within this call. */
void client_send(struct client *client, struct exchange *exchange, uint64_t now_ns);
/* Ends it without a call. */
void client_abort(struct exchange *exchange);

/* --- between the client's own modules --- */

/* The head of a final response: cookies, what is kept, whether to follow. */
void client_head(struct exchange *exchange, unsigned status, struct str fields, bool has_location,
                 bool has_set_cookie);
/* A piece of its body; false if it is too large. */
bool client_body(struct exchange *exchange, struct str piece);
/* Does anybody look at its body? */
bool client_wants_body(const struct exchange *exchange);
void client_response(struct exchange *exchange, uint64_t now_ns);
void client_failed(struct exchange *exchange, const struct failure *failure, bool retry,
                   uint64_t now_ns);
/* Adds ns to a phase. */
void exchange_phase(struct exchange *exchange, enum exchange_phase phase, uint64_t ns);
/* The first byte of a response to the present hop came, unless one has come before. */
void exchange_first_byte(struct exchange *exchange, uint64_t now_ns);

/* Are requests to it sent to a proxy with the whole URL, rather than through a tunnel? */
static inline bool origin_in_absolute_form(const struct origin *origin)
{
    return origin->proxy && !origin->https && origin->protocol == ORIGIN_H1 &&
           (origin->proxy->kind == PROXY_HTTP || origin->proxy->kind == PROXY_HTTPS);
}

/* --- http/pool_shared.c: O(log n) each --- */

/* Among the origin's open connections that multiplex, and out of them. */
void pool_share(struct conn *conn);
void pool_unshare(struct conn *conn);
/* A connection can take more exchanges, or fewer, than it could; nothing if it is not shared. */
void pool_room_changed(struct conn *conn);
/* The one that can take the most; NULL if none can take any. */
struct conn *pool_roomiest(struct origin *origin);

/* --- http/pool.c --- */

/* A connection that can take an exchange now: idle (taken out), or shared with capacity; or NULL.
 * fresh: not an idle one. */
struct conn *pool_take(struct origin *origin, bool fresh);
/* Puts an open connection that carries nothing among the idle ones, or one that multiplexes among
 * the shared. */
void pool_put(struct conn *conn);
/* Puts it, or moves it, among the loose. */
void pool_loosen(struct conn *conn);
/* Takes it out of where it is, if it is anywhere. */
void pool_remove(struct conn *conn);
/* Has the exchange wait for a shared connection, and opens one if that is needed. */
void pool_wait(struct origin *origin, struct exchange *exchange);
/* It waits no more. */
void pool_forget(struct exchange *exchange);
/* A connection that was opened for those who wait is open (its session is known), or could not be
 * (failure). */
void pool_opened(struct conn *conn, uint64_t now_ns);
void pool_open_failed(struct client *client, struct origin *origin, const struct failure *failure,
                      uint64_t now_ns);
/* Opens a connection if somebody waits and none is being opened. */
void pool_reopen(struct client *client, struct origin *origin);
/* A shared connection can take more. */
void pool_serve(struct conn *conn, uint64_t now_ns);
/* Has a connection wait for its turn to connect, behind the others. */
void pool_queue(struct conn *conn);
/* Has a connected one wait until most of the others have connected. */
void pool_hold(struct conn *conn);
/* Closes an idle connection of any origin, for its descriptor; false if there is none. */
bool pool_close_one(struct client *client);

#endif
