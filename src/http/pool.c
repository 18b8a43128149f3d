#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/url.h"
#include "http/client.h"
#include "http/conn.h"

#define TABLE_SIZE (sizeof((struct client *)0)->table / sizeof(struct origin *))

/* --- idle and shared connections --- */

struct conn *pool_take(struct origin *origin, bool fresh)
{
    struct conn *conn = fresh ? NULL : origin->idle;
    if (conn) {
        pool_remove(conn);
        conn->reused = true;
        return conn;
    }
    return pool_roomiest(origin); /* so they share the load */
}

static void add_to(struct conn **list, struct conn *conn)
{
    pool_remove(conn);
    conn->list = list;
    conn->prev = NULL;
    conn->next = *list;
    if (conn->next) {
        conn->next->prev = conn;
    }
    *list = conn;
}

void pool_put(struct conn *conn)
{
    struct origin *origin = conn->origin;
    if (conn->session->ops->multiplexes) {
        pool_remove(conn);
        conn->state = CONN_ACTIVE;
        pool_share(conn);
    } else {
        add_to(&origin->idle, conn);
        conn->state = CONN_IDLE;
    }
}

void pool_loosen(struct conn *conn)
{
    add_to(&conn->origin->loose, conn);
}

void pool_hold(struct conn *conn)
{
    add_to(&conn->origin->held, conn);
}

void pool_queue(struct conn *conn)
{
    struct origin *origin = conn->origin;
    struct conn *last = origin->queue_end;
    if (!last) {
        add_to(&origin->queue, conn);
    } else {
        pool_remove(conn);
        conn->list = &origin->queue;
        conn->prev = last;
        last->next = conn;
    }
    origin->queue_end = conn;
}

void pool_remove(struct conn *conn)
{
    if (conn->shared) {
        pool_unshare(conn);
    }
    if (!conn->list) {
        return;
    }
    if (conn->origin->queue_end == conn) {
        conn->origin->queue_end = conn->prev;
    }
    if (conn->prev) {
        conn->prev->next = conn->next;
    } else {
        *conn->list = conn->next;
    }
    if (conn->next) {
        conn->next->prev = conn->prev;
    }
    conn->list = NULL;
    conn->prev = conn->next = NULL;
    if (conn->state == CONN_IDLE) {
        conn->state = CONN_ACTIVE;
    }
}

/* --- waiting for a shared connection --- */

void pool_reopen(struct client *client, struct origin *origin)
{
    unsigned coming = origin->n_shared + origin->opening;
    if (origin->waiting && !origin->shut &&
        (origin->opening == 0 || coming < client->options.connections)) {
        origin->opening++;
        conn_open(client, origin, NULL);
    }
}

void pool_wait(struct origin *origin, struct exchange *exchange)
{
    exchange->conn = NULL;
    exchange->sent_ns = exchange->first_ns = 0;
    exchange->next = NULL;
    if (!origin->waiting) {
        origin->waiting_end = &origin->waiting;
    }
    exchange->link = origin->waiting_end;
    *origin->waiting_end = exchange;
    origin->waiting_end = &exchange->next;
    pool_reopen(exchange->client, origin);
}

void pool_forget(struct exchange *exchange)
{
    struct origin *origin = exchange->final_origin;
    *exchange->link = exchange->next;
    if (exchange->next) {
        exchange->next->link = exchange->link;
    } else {
        origin->waiting_end = exchange->link;
    }
    exchange->next = NULL;
    exchange->link = NULL;
}

static struct exchange *pop_waiting(struct origin *origin)
{
    struct exchange *exchange = origin->waiting;
    if (exchange) {
        pool_forget(exchange);
    }
    return exchange;
}

void pool_serve(struct conn *conn, uint64_t now_ns)
{
    struct origin *origin = conn->origin;
    if (conn->session->ops->capacity(conn->session) > 0) {
        origin->shut = false;
    }
    while (origin->waiting && conn->state == CONN_ACTIVE &&
           conn->session->ops->capacity(conn->session) > 0) {
        conn_submit(conn, pop_waiting(origin), now_ns);
    }
    pool_reopen(conn->client, origin);
}

static void open_ahead(struct client *client, struct origin *origin, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        client->ahead++;
        origin->opening++;
        conn_open(client, origin, NULL);
    }
}

void client_connect_ahead(struct client *client, struct origin *origin, size_t users)
{
    size_t first = origin->protocol == ORIGIN_H1 ? users : client->options.connections;
    if (first > users) {
        first = users;
    }
    origin->ahead = users - first;
    open_ahead(client, origin, first);
}

/* One that was opened ahead is there, or could not be made. */
static void went_ahead(struct client *client, struct origin *origin)
{
    if (client->ahead == 0) {
        return;
    }
    if (origin->protocol == ORIGIN_H1) {
        size_t more = origin->ahead;
        origin->ahead = 0;
        open_ahead(client, origin, more);
    }
    if (--client->ahead == 0) {
        client->options.connected(client->options.ctx);
    }
}

void pool_opened(struct conn *conn, uint64_t now_ns)
{
    struct origin *origin = conn->origin;
    origin->opening--;
    pool_put(conn);
    if (conn->shared) {
        origin->protocol = ORIGIN_H2;
        origin->shut = true; /* unless it has room */
        pool_serve(conn, now_ns);
        went_ahead(conn->client, origin);
        return;
    }
    /* One exchange a connection after all: this one takes the first, the others open their own. */
    origin->protocol = ORIGIN_H1;
    struct exchange *exchange = pop_waiting(origin);
    if (exchange) {
        pool_remove(conn);
        conn_submit(conn, exchange, now_ns);
    }
    while ((exchange = pop_waiting(origin))) {
        conn_open(conn->client, origin, exchange);
    }
    went_ahead(conn->client, origin);
}

void pool_open_failed(struct client *client, struct origin *origin, const struct failure *failure,
                      uint64_t now_ns)
{
    struct exchange *failed = origin->waiting;
    origin->opening--;
    went_ahead(client, origin);
    if (origin->opening || origin->n_shared) {
        return; /* others are there for those who wait */
    }
    /* Taken over first: who failed may come again at once, and is not to fail again with it. */
    origin->waiting = NULL;
    while (failed) {
        struct exchange *exchange = failed;
        failed = exchange->next;
        exchange->next = NULL;
        exchange->link = NULL;
        client_failed(exchange, failure, false, now_ns);
    }
}

/* --- origins --- */

static uint32_t origin_hash(bool https, struct str host, uint16_t port)
{
    uint32_t hash = 2166136261u ^ port ^ (https ? 1u << 16 : 0); /* FNV-1a */
    for (size_t i = 0; i < host.n; i++) {
        hash = (hash ^ (unsigned char)host.p[i]) * 16777619u;
    }
    return hash;
}

static void origin_free(struct origin *origin)
{
    tls_sessions_fini(&origin->sessions);
    free((char *)(uintptr_t)origin->host.p);
    free((char *)(uintptr_t)origin->prefix.p);
    free(origin->addresses);
    free(origin->uses);
    free(origin->told);
    free(origin->shared);
    free(origin);
}

/* Closes every connection that nobody waits for. */
static void close_idle(struct origin *origin)
{
    while (origin->idle) {
        conn_close(origin->idle);
    }
    while (origin->n_shared) {
        conn_close(origin->shared[0]);
    }
    while (origin->loose) {
        conn_close(origin->loose);
    }
    while (origin->queue) {
        conn_close(origin->queue);
    }
}

bool pool_close_one(struct client *client)
{
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        for (struct origin *origin = client->table[i]; origin; origin = origin->next) {
            if (origin->idle) {
                conn_close(origin->idle);
                return true;
            }
        }
    }
    return false;
}

/* Makes room in the table: an origin that only connections without an exchange refer to goes. */
static void forget_one(struct client *client)
{
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        for (struct origin **at = &client->table[i]; *at; at = &(*at)->next) {
            struct origin *origin = *at;
            uint32_t idle = origin->n_shared;
            for (struct conn *conn = origin->idle; conn; conn = conn->next) {
                idle++;
            }
            if (!origin->pinned && origin->users == idle) {
                close_idle(origin);
                *at = origin->next;
                client->n_origins--;
                origin_free(origin);
                return;
            }
        }
    }
}

static struct origin *origin_new(bool https, struct str host, uint16_t port)
{
    struct origin *origin = xcalloc(1, sizeof *origin);
    struct buf text;
    buf_init(&text, BUF_NO_MAX);
    buf_addf(&text, "%s://", https ? "https" : "http");
    buf_add_str(&text, host);
    if (port != (https ? 443 : 80)) {
        buf_addf(&text, ":%u", port);
    }
    size_t scheme = https ? 8 : 7;
    origin->https = https;
    origin->port = port;
    origin->host = xstr_copy(host);
    origin->prefix = buf_str(&text);
    origin->authority = str_skip(origin->prefix, scheme);
    return origin;
}

/* The context costs milliseconds: it is made when the first https origin is. What is wrong with its
 * options has been told before the run; if it fails all the same (the system's trust anchors may
 * be missing), so do the connections. */
static void use_tls(struct client *client, struct origin *origin)
{
    if (!client->tls) {
        client->tls =
            tls_context_new(&client->options.tls, client->tls_error, sizeof client->tls_error);
    }
    tls_sessions_init(&origin->sessions, client->tls);
    origin->protocol = client->options.tls.offer_h2 ? ORIGIN_UNKNOWN : ORIGIN_H1;
}

static void use_proxy_tls(struct client *client)
{
    struct tls_options options = client->options.tls;
    options.cert = options.key = NULL; /* they are for the origin */
    options.offer_h2 = false;
    client->proxy_tls = tls_context_new(&options, client->tls_error, sizeof client->tls_error);
}

struct origin *client_origin(struct client *client, bool https, struct str host, uint16_t port,
                             bool pin)
{
    uint32_t hash = origin_hash(https, host, port);
    struct origin **bucket = &client->table[hash % TABLE_SIZE];
    for (struct origin *origin = *bucket; origin; origin = origin->next) {
        if (origin->hash == hash && origin->https == https && origin->port == port &&
            str_eq(origin->host, host)) {
            origin->pinned |= pin;
            return origin;
        }
    }
    if (client->n_origins >= CLIENT_MAX_ORIGINS) {
        forget_one(client);
    }
    struct origin *origin = origin_new(https, host, port);
    if (https) {
        use_tls(client, origin);
    } else if (client->options.http == HTTP_2_PRIOR) {
        origin->protocol = ORIGIN_UNKNOWN;
    }
    if (client->options.address) {
        origin->addresses = addresses_copy(client->options.address);
    } else if (client->options.proxies) {
        origin->proxy = proxy_for(client->options.proxies, https, host, port);
        if (origin->proxy && origin->proxy->kind == PROXY_HTTPS && !client->proxy_tls) {
            use_proxy_tls(client);
        }
    }
    origin->starting = true;
    origin->hash = hash;
    origin->pinned = pin;
    origin->next = *bucket;
    *bucket = origin;
    client->n_origins++;
    return origin;
}

uint64_t client_backoff_ns(const struct origin *origin)
{
    if (origin->failures < CLIENT_BACKOFF_FROM) {
        return 0;
    }
    unsigned doublings = origin->failures - CLIENT_BACKOFF_FROM;
    uint64_t ns = doublings < 8 ? 1000000ULL << doublings : CLIENT_BACKOFF_MAX_NS;
    return ns < CLIENT_BACKOFF_MAX_NS ? ns : CLIENT_BACKOFF_MAX_NS;
}

void client_each_address(const struct client *client,
                         void (*each)(void *ctx, const struct address *address,
                                      const struct address_use *use),
                         void *ctx)
{
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        for (const struct origin *origin = client->table[i]; origin; origin = origin->next) {
            for (unsigned a = 0; origin->uses && a < origin->addresses->n; a++) {
                each(ctx, &origin->addresses->list[a], &origin->uses[a]);
            }
        }
    }
}

/* All at once: those who are answered in between would keep the others waiting. But a handshake of
 * TLS takes much memory while it is under way, and no longer for being one of fewer. */
static void release_held(struct task *task)
{
    struct client *client =
        (struct client *)(void *)((char *)task - offsetof(struct client, release_held));
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        for (struct origin *origin = client->table[i]; origin; origin = origin->next) {
            origin->users++; /* it stays while we are at it */
            while (origin->held && !origin->starting && origin->shaking < CLIENT_SHAKING_MAX) {
                conn_speak(origin->held, clock_ns());
            }
            origin->users--;
        }
    }
}

struct client *client_new(struct loop *loop, struct blocks *blocks,
                          const struct client_options *options)
{
    struct client *client = xcalloc(1, sizeof *client);
    client->loop = loop;
    client->release_held.run = release_held;
    client->blocks = blocks;
    client->resolver = resolver_new(loop, &options->resolver);
    client->timeouts = loop_timers(loop, options->timeout_ns);
    if (options->connect_timeout_ns && options->connect_timeout_ns < options->timeout_ns) {
        client->connect_timeouts = loop_timers(loop, options->connect_timeout_ns);
    }
    client->options = *options;
    client->options.tls.offer_h2 = options->http != HTTP_1_1;
    client->read_buffer = xmalloc(CLIENT_READ_BUFFER);
    buf_init(&client->scratch, BUF_NO_MAX);
    buf_init(&client->base_url, 4 * URL_MAX);
    buf_init(&client->next_url, 4 * URL_MAX);
    return client;
}

void client_close(struct client *client)
{
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        for (struct origin *origin = client->table[i]; origin; origin = origin->next) {
            close_idle(origin);
        }
    }
    resolver_free(client->resolver);
    client->resolver = NULL;
}

void client_free(struct client *client)
{
    if (!client) {
        return;
    }
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        while (client->table[i]) {
            struct origin *origin = client->table[i];
            client->table[i] = origin->next;
            origin_free(origin);
        }
    }
    tls_context_free(client->tls);
    tls_context_free(client->proxy_tls);
    buf_fini(&client->scratch);
    buf_fini(&client->base_url);
    buf_fini(&client->next_url);
    free(client->read_buffer);
    free(client);
}
