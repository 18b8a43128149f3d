#include "http/conn.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http/client.h"

static struct conn *conn_of(struct stream *stream)
{
    return (struct conn *)(void *)((char *)stream - offsetof(struct conn, tcp));
}

static void release(struct task *task)
{
    struct conn *conn = (struct conn *)(void *)((char *)task - offsetof(struct conn, release));
    conn->session->ops->fini(conn->session);
    free(conn);
}

void conn_close(struct conn *conn)
{
    if (conn->state == CONN_CLOSED) {
        return;
    }
    if (conn->state == CONN_IDLE) {
        pool_remove(conn);
    }
    resolver_cancel(&conn->lookup);
    if (conn->stream) {
        conn->stream->ops->close(conn->stream);
    }
    conn->state = CONN_CLOSED;
    conn->exchange = NULL;
    conn->origin->users--;
    conn->release.run = release;
    loop_defer(conn->client->loop, &conn->release);
}

void conn_failed(struct conn *conn, struct exchange *exchange, const struct failure *failure,
                 uint64_t now_ns)
{
    bool retry = conn->reused && exchange->first_ns == 0 &&
                 (exchange->idempotent || exchange->bytes_sent == exchange->hop_sent) &&
                 failure->outcome == OUTCOME_RESET;
    exchange->conn = NULL;
    conn_close(conn);
    client_failed(exchange, failure, retry, now_ns);
}

void conn_done(struct conn *conn, struct exchange *exchange, bool reusable, uint64_t now_ns)
{
    exchange->conn = NULL;
    conn->exchange = NULL;
    conn->last_tag = exchange->tag;
    if (reusable) {
        pool_put(conn);
    } else {
        conn_close(conn);
    }
    client_response(exchange, now_ns);
}

enum io conn_write(struct conn *conn, const struct str *parts, unsigned n, size_t *put)
{
    return conn->stream->ops->write(conn->stream, parts, n, put);
}

void conn_want_write(struct conn *conn, bool want)
{
    conn->stream->ops->want_write(conn->stream, want);
}

bool conn_is_quiet(struct conn *conn, size_t *extra)
{
    return conn->stream->ops->read(conn->stream, conn->client->read_buffer, CLIENT_READ_BUFFER,
                                   extra) == IO_AGAIN;
}

void conn_submit(struct conn *conn, struct exchange *exchange, uint64_t now_ns)
{
    struct str head = exchange->wire.n ? buf_str(&exchange->wire) : exchange->head;
    conn->state = CONN_ACTIVE;
    conn->exchange = exchange;
    exchange->conn = conn;
    exchange->sent_ns = now_ns;
    exchange->first_ns = 0;
    conn->session->ops->submit(conn->session, exchange, head, exchange->body);
}

/* --- reading --- */

static void first_byte(struct conn *conn, uint64_t now_ns)
{
    struct exchange *exchange = conn->exchange;
    if (exchange->first_ns == 0) {
        exchange->first_ns = now_ns;
        exchange_phase(exchange, EXCHANGE_FIRST_BYTE, now_ns - exchange->sent_ns);
    }
}

/* One read a wake-up: whatever the server floods us with, timers and the others have their turn. */
static void conn_read(struct conn *conn)
{
    struct session *session = conn->session;
    uint64_t discardable = session->ops->discardable(session);
    enum io io;
    if (discardable >= TCP_DISCARD_MIN) {
        uint64_t n = 0;
        io = conn->stream->ops->discard(conn->stream, discardable, conn->client->read_buffer,
                                        CLIENT_READ_BUFFER, &n);
        if (io == IO_OK) {
            session->ops->on_discarded(session, n, clock_ns());
        }
    } else {
        size_t n = 0;
        io = conn->stream->ops->read(conn->stream, conn->client->read_buffer, CLIENT_READ_BUFFER,
                                     &n);
        if (io == IO_OK) {
            uint64_t now_ns = clock_ns();
            first_byte(conn, now_ns);
            session->ops->on_bytes(session, conn->client->read_buffer, n, now_ns);
        }
    }
    if (io == IO_END) {
        session->ops->on_end(session, NULL, clock_ns());
    } else if (io == IO_FAILED) {
        struct failure failure = conn->stream->failure;
        session->ops->on_end(session, &failure, clock_ns());
    }
}

/* An idle connection has nothing to say: the server has closed it, or sent what nobody asked for.
 */
static void idle_ready(struct conn *conn)
{
    size_t extra = 0;
    if (conn_is_quiet(conn, &extra)) {
        return;
    }
    if (extra && conn->client->idle_bytes) {
        conn->client->idle_bytes(conn->client->ctx, conn->last_tag);
    }
    conn_close(conn);
}

/* --- opening --- */

static void try_next(struct conn *conn, uint64_t now_ns);

static void opened(struct conn *conn, uint64_t now_ns)
{
    conn->origin->failures = 0;
    conn->client->opened++;
    exchange_phase(conn->exchange, EXCHANGE_CONNECT, now_ns - conn->phase_start_ns);
    conn_submit(conn, conn->exchange, now_ns);
}

static void conn_ready(struct stream *stream, unsigned events)
{
    struct conn *conn = conn_of(stream);
    if (conn->state == CONN_CONNECTING) {
        enum io io = conn->stream->ops->connect(conn->stream);
        if (io == IO_OK) {
            opened(conn, clock_ns());
        } else if (io == IO_FAILED) {
            conn->stream->ops->close(conn->stream);
            try_next(conn, clock_ns());
        }
        return;
    }
    if (conn->state == CONN_IDLE) {
        idle_ready(conn);
        return;
    }
    if (events & LOOP_READ) {
        struct exchange *exchange = conn->exchange;
        conn_read(conn);
        if (conn->state != CONN_ACTIVE || conn->exchange != exchange) {
            return;
        }
    }
    if (events & LOOP_WRITE) {
        conn->session->ops->on_writable(conn->session);
    }
}

static void open_failed(struct conn *conn, const struct failure *failure, uint64_t now_ns)
{
    struct exchange *exchange = conn->exchange;
    conn->origin->failures++;
    conn->client->failed++;
    exchange->conn = NULL;
    conn_close(conn);
    client_failed(exchange, failure, false, now_ns);
}

/* Begins to connect to an address. Users of many origins may have more idle connections than there
 * are descriptors: some then make room. */
static bool try_address(struct conn *conn, const struct address *address)
{
    do {
        if (tcp_connect(&conn->tcp, conn->client->loop, (const struct sockaddr *)&address->storage,
                        address->length, conn_ready) != IO_FAILED) {
            return true;
        }
    } while (conn->tcp.stream.failure.outcome == OUTCOME_CONNECT_FD_LIMIT &&
             pool_close_one(conn->client));
    return false;
}

/* Tries the addresses of the origin in turn, each once, beginning where the last connection left
 * off. */
static void try_next(struct conn *conn, uint64_t now_ns)
{
    const struct addresses *addresses = conn->origin->addresses;
    conn->stream = &conn->tcp.stream;
    while (conn->tried < addresses->n) {
        const struct address *address =
            &addresses->list[(conn->first_address + conn->tried++) % addresses->n];
        if (try_address(conn, address)) {
            conn->state = CONN_CONNECTING;
            return;
        }
    }
    struct failure failure = conn->stream->failure;
    open_failed(conn, &failure, now_ns);
}

static void start_connecting(struct conn *conn, uint64_t now_ns)
{
    conn->phase_start_ns = now_ns;
    conn->first_address = conn->origin->next_address++;
    try_next(conn, now_ns);
}

static void resolved(struct conn *conn, const struct addresses *addresses, const char *error,
                     uint64_t now_ns)
{
    exchange_phase(conn->exchange, EXCHANGE_DNS, now_ns - conn->phase_start_ns);
    if (!addresses) {
        struct failure failure = {.outcome = OUTCOME_DNS, .text = error};
        open_failed(conn, &failure, now_ns);
        return;
    }
    if (!conn->origin->addresses) {
        size_t size = sizeof *addresses + addresses->n * sizeof addresses->list[0];
        conn->origin->addresses = xmalloc(size);
        memcpy(conn->origin->addresses, addresses, size);
    }
    start_connecting(conn, now_ns);
}

static void looked_up(struct lookup *lookup, const struct addresses *addresses, const char *error)
{
    struct conn *conn = (struct conn *)(void *)((char *)lookup - offsetof(struct conn, lookup));
    resolved(conn, addresses, error, clock_ns());
}

/* Runs as a task of its own, so that a failure never comes from within client_send. */
static void begin(struct task *task)
{
    struct conn *conn = (struct conn *)(void *)((char *)task - offsetof(struct conn, release));
    uint64_t now_ns = clock_ns();
    conn->phase_start_ns = now_ns;
    if (conn->origin->addresses) {
        start_connecting(conn, now_ns);
        return;
    }
    const struct addresses *addresses;
    const char *error = NULL;
    if (resolver_ask(conn->client->resolver, conn->origin->host, conn->origin->port, &conn->lookup,
                     &addresses, &error)) {
        resolved(conn, addresses, error, now_ns);
    }
}

void conn_open(struct client *client, struct exchange *exchange)
{
    struct conn *conn = xcalloc(1, sizeof *conn);
    conn->client = client;
    conn->origin = exchange->final_origin;
    conn->origin->users++;
    conn->exchange = exchange;
    conn->state = CONN_RESOLVING;
    conn->lookup.done = looked_up;
    h1_init(&conn->h1, conn);
    conn->session = &conn->h1.session;
    exchange->conn = conn;
    exchange->sent_ns = 0;
    exchange->first_ns = 0;
    conn->release.run = begin;
    loop_defer(client->loop, &conn->release);
}
