/*
 * The HTTP client of one worker: origins with their pools of connections, time limits, the
 * keep-alive race, redirects, cookies. Belongs to the loop's thread.
 */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "http/exchange.h"
#include "net/dns.h"
#include "net/loop.h"

#define CLIENT_READ_BUFFER (256u << 10)
#define CLIENT_MAX_ORIGINS 4096 /* beyond it, those that nobody uses go */
#define CLIENT_BACKOFF_FROM 8   /* failures in a row */
#define CLIENT_BACKOFF_MAX_NS (250 * 1000000ULL)

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
    struct addresses *addresses; /* NULL: not asked yet */
    struct conn *idle;           /* last in, first out */
};

struct client {
    struct loop *loop;
    struct resolver *resolver;
    struct blocks *blocks;
    struct timer_queue *timeouts;
    uint64_t max_body;
    unsigned max_redirects;
    uint64_t opened, reused, failed; /* connections */
    /* bytes came on an idle connection, after the response to an exchange with that tag */
    void (*idle_bytes)(void *ctx, uint32_t tag);
    void *ctx;
    unsigned n_origins;
    struct origin *table[256];
    struct buf scratch, base_url, next_url;
    char *read_buffer;
};

struct client_options {
    uint64_t timeout_ns;
    uint64_t max_body;
    unsigned max_redirects;
    void (*idle_bytes)(void *ctx, uint32_t tag);
    void *ctx;
};

/* loop and blocks must outlive it. NULL if the resolver cannot be made. */
struct client *client_new(struct loop *loop, struct blocks *blocks,
                          const struct client_options *options);
/* Closes idle connections. All exchanges must have ended. NULL is allowed. */
void client_free(struct client *client);

/* The origin for scheme, host (normalised) and port, made at the first call. `pin`: it stays for
 * the client's life; otherwise until nobody uses it. */
struct origin *client_origin(struct client *client, bool https, struct str host, uint16_t port,
                             bool pin);

/* How long a user should wait before it tries this origin again: 0, or 1 ms to 250 ms after many
 * failures in a row. */
uint64_t client_backoff_ns(const struct origin *origin);

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

/* http/pool.c: an idle connection of the origin (taken out), or NULL; and putting one back. */
struct conn *pool_take(struct origin *origin);
void pool_put(struct conn *conn);
void pool_remove(struct conn *conn);
/* Closes an idle connection of any origin, for its descriptor; false if there is none. */
bool pool_close_one(struct client *client);

#endif
