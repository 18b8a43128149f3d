#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/url.h"
#include "http/client.h"
#include "http/conn.h"

#define TABLE_SIZE (sizeof((struct client *)0)->table / sizeof(struct origin *))

struct conn *pool_take(struct origin *origin)
{
    struct conn *conn = origin->idle;
    if (conn) {
        pool_remove(conn);
        conn->reused = true;
    }
    return conn;
}

void pool_put(struct conn *conn)
{
    struct origin *origin = conn->origin;
    conn->state = CONN_IDLE;
    conn->prev = NULL;
    conn->next = origin->idle;
    if (conn->next) {
        conn->next->prev = conn;
    }
    origin->idle = conn;
}

void pool_remove(struct conn *conn)
{
    if (conn->prev) {
        conn->prev->next = conn->next;
    } else {
        conn->origin->idle = conn->next;
    }
    if (conn->next) {
        conn->next->prev = conn->prev;
    }
    conn->prev = conn->next = NULL;
    conn->state = CONN_ACTIVE;
}

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
    free((char *)(uintptr_t)origin->host.p);
    free((char *)(uintptr_t)origin->prefix.p);
    free(origin->addresses);
    free(origin);
}

static void close_idle(struct origin *origin)
{
    while (origin->idle) {
        conn_close(origin->idle);
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

/* Makes room in the table: an origin that only idle connections refer to goes. */
static void forget_one(struct client *client)
{
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        for (struct origin **at = &client->table[i]; *at; at = &(*at)->next) {
            struct origin *origin = *at;
            uint32_t idle = 0;
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

struct client *client_new(struct loop *loop, struct blocks *blocks,
                          const struct client_options *options)
{
    struct client *client = xcalloc(1, sizeof *client);
    client->loop = loop;
    client->blocks = blocks;
    client->resolver = resolver_new(loop);
    client->timeouts = loop_timers(loop, options->timeout_ns);
    client->max_body = options->max_body;
    client->max_redirects = options->max_redirects;
    client->idle_bytes = options->idle_bytes;
    client->ctx = options->ctx;
    client->read_buffer = xmalloc(CLIENT_READ_BUFFER);
    buf_init(&client->scratch, BUF_NO_MAX);
    buf_init(&client->base_url, 4 * URL_MAX);
    buf_init(&client->next_url, 4 * URL_MAX);
    return client;
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
            close_idle(origin);
            origin_free(origin);
        }
    }
    resolver_free(client->resolver);
    buf_fini(&client->scratch);
    buf_fini(&client->base_url);
    buf_fini(&client->next_url);
    free(client->read_buffer);
    free(client);
}
