#include "http/conn.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http/client.h"
#include "http/h2.h"

static struct conn *conn_of(struct stream *stream)
{
    return (struct conn *)(void *)((char *)stream - offsetof(struct conn, tcp));
}

static void release(struct task *task)
{
    struct conn *conn = (struct conn *)(void *)((char *)task - offsetof(struct conn, release));
    if (conn->more.queued || conn->flush.queued) {
        loop_defer(conn->client->loop, task); /* they come first */
        return;
    }
    conn->session->ops->fini(conn->session);
    free(conn->tls);
    free(conn);
}

static void close_layers(struct conn *conn)
{
    if (conn->stream) {
        conn->stream->ops->close(conn->stream);
        conn->stream = NULL;
    }
}

void conn_close(struct conn *conn)
{
    if (conn->state == CONN_CLOSED) {
        return;
    }
    if (conn->state == CONN_IDLE || conn->shared) {
        pool_remove(conn);
    }
    resolver_cancel(&conn->lookup);
    timer_stop(&conn->deadline);
    close_layers(conn);
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

void conn_stream_done(struct conn *conn, struct exchange *exchange, uint64_t now_ns)
{
    conn->last_tag = exchange->tag;
    conn->reused = true;
    exchange->conn = NULL;
    client_response(exchange, now_ns);
}

void conn_stream_failed(struct conn *conn, struct exchange *exchange,
                        const struct failure *failure, bool retry, uint64_t now_ns)
{
    (void)conn;
    exchange->conn = NULL;
    client_failed(exchange, failure, retry, now_ns);
}

void conn_capacity_changed(struct conn *conn, uint64_t now_ns)
{
    if (conn->state == CONN_ACTIVE) {
        pool_serve(conn, now_ns);
    }
}

enum io conn_write(struct conn *conn, const struct str *parts, unsigned n, size_t *put)
{
    return conn->stream->ops->write(conn->stream, parts, n, put);
}

void conn_want_write(struct conn *conn, bool want)
{
    conn->stream->ops->want_write(conn->stream, want);
}

static void flush_now(struct task *task)
{
    struct conn *conn = (struct conn *)(void *)((char *)task - offsetof(struct conn, flush));
    if (conn->state == CONN_ACTIVE) {
        conn->session->ops->on_writable(conn->session);
    }
}

void conn_flush_soon(struct conn *conn)
{
    conn->flush.run = flush_now;
    loop_defer(conn->client->loop, &conn->flush);
}

bool conn_is_quiet(struct conn *conn, size_t *extra)
{
    return conn->stream->ops->read(conn->stream, conn->client->read_buffer, CLIENT_READ_BUFFER,
                                   extra) == IO_AGAIN;
}

/* What opening the connection took is part of the first exchange that it carries. */
static void tell_phases(struct conn *conn, struct exchange *exchange)
{
    for (unsigned i = 0; i <= EXCHANGE_TLS; i++) {
        if (conn->phases[i] != EXCHANGE_NONE) {
            exchange_phase(exchange, (enum exchange_phase)i, conn->phases[i]);
        }
    }
    conn->phases_told = true;
}

void conn_submit(struct conn *conn, struct exchange *exchange, uint64_t now_ns)
{
    struct str head = exchange->wire.n ? buf_str(&exchange->wire) : exchange->head;
    conn->state = CONN_ACTIVE;
    conn->exchange = exchange;
    exchange->conn = conn;
    exchange->sent_ns = now_ns;
    exchange->first_ns = 0;
    if (!conn->phases_told) {
        tell_phases(conn, exchange);
    }
    conn->session->ops->submit(conn->session, exchange, head, exchange->body);
}

/* --- reading --- */

static void read_more(struct task *task);
static void conn_ready(struct stream *stream, unsigned events);

/* No event comes for bytes that tls has taken from the kernel: they are read in the next turn. */
static void read_rest(struct conn *conn)
{
    if (conn->tls && conn->state != CONN_CLOSED && tls_pending(conn->tls)) {
        conn->more.run = read_more;
        loop_defer(conn->client->loop, &conn->more);
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
            session->ops->on_bytes(session, conn->client->read_buffer, n, clock_ns());
        }
    }
    if (io == IO_END) {
        session->ops->on_end(session, NULL, clock_ns());
    } else if (io == IO_FAILED) {
        struct failure failure = conn->stream->failure;
        session->ops->on_end(session, &failure, clock_ns());
    }
}

/* An idle connection has nothing to say: the server has closed it, or sent what nobody asked for. */
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

static void read_more(struct task *task)
{
    struct conn *conn = (struct conn *)(void *)((char *)task - offsetof(struct conn, more));
    if (conn->state != CONN_CLOSED) {
        conn_ready(&conn->tcp.stream, LOOP_READ);
    }
}

/* --- opening --- */

static void try_next(struct conn *conn, uint64_t now_ns);

static void phase_over(struct conn *conn, enum exchange_phase phase, uint64_t now_ns)
{
    uint64_t before = conn->phases[phase] == EXCHANGE_NONE ? 0 : conn->phases[phase];
    conn->phases[phase] = before + (now_ns - conn->phase_start_ns);
    conn->phase_start_ns = now_ns;
}

static void open_failed(struct conn *conn, const struct failure *failure, uint64_t now_ns)
{
    struct exchange *exchange = conn->exchange;
    struct origin *origin = conn->origin;
    origin->failures++;
    conn->client->failed++;
    if (exchange) {
        exchange->conn = NULL;
        if (!conn->phases_told) {
            tell_phases(conn, exchange);
        }
        conn_close(conn);
        client_failed(exchange, failure, false, now_ns);
    } else {
        origin->users++; /* it stays until all who wait have been told */
        conn_close(conn);
        pool_open_failed(origin, failure, now_ns);
        origin->users--;
    }
}

static void opened(struct conn *conn, uint64_t now_ns)
{
    timer_stop(&conn->deadline);
    conn->origin->failures = 0;
    conn->client->opened++;
    conn->session->ops->start(conn->session);
    if (conn->exchange) {
        conn_submit(conn, conn->exchange, now_ns);
    } else {
        pool_opened(conn, now_ns);
    }
}

/* What the connection speaks, now that the server has had its say. */
static void choose_session(struct conn *conn, uint64_t now_ns)
{
    enum http_version wanted = conn->client->http;
    bool h2 = conn->tls ? str_eq(tls_alpn(conn->tls), STR("h2")) : wanted == HTTP_2_PRIOR;
    if (conn->tls && wanted == HTTP_2 && !h2) {
        struct failure failure = {.outcome = OUTCOME_PROTOCOL_H2,
                                  .text = "the server does not offer HTTP/2"};
        open_failed(conn, &failure, now_ns);
        return;
    }
    if (h2) {
        conn->session->ops->fini(conn->session);
        conn->session = h2_new(conn);
    }
    opened(conn, now_ns);
    read_rest(conn);
}

/* Has the layers connect, from the bottom to the top. A first layer that fails is another
 * address's turn. */
static void connect_layers(struct conn *conn)
{
    while (conn->layer < conn->n_layers) {
        struct stream *stream = conn->layers[conn->layer];
        enum io io = stream->ops->connect(stream);
        if (io == IO_AGAIN) {
            return;
        }
        uint64_t now_ns = clock_ns();
        if (io != IO_OK) {
            struct failure failure = stream->failure;
            if (conn->layer == 0) {
                close_layers(conn);
                try_next(conn, now_ns);
            } else {
                open_failed(conn, &failure, now_ns);
            }
            return;
        }
        phase_over(conn, conn->layer == 0 ? EXCHANGE_CONNECT : EXCHANGE_TLS, now_ns);
        conn->layer++;
    }
    choose_session(conn, clock_ns());
}

static void conn_ready(struct stream *stream, unsigned events)
{
    struct conn *conn = conn_of(stream);
    if (conn->state == CONN_CONNECTING) {
        connect_layers(conn);
        return;
    }
    if (conn->state == CONN_IDLE) {
        idle_ready(conn);
        return;
    }
    if (conn->tls) {
        events = tls_events(conn->tls, events);
    }
    if (events & LOOP_READ) {
        conn_read(conn);
        read_rest(conn);
    }
    if (events & LOOP_WRITE && conn->state == CONN_ACTIVE) {
        conn->session->ops->on_writable(conn->session);
    }
}

/* Begins to connect to an address. Users of many origins may have more idle connections than there
 * are descriptors: some then make room. */
static bool try_address(struct conn *conn, const struct address *address)
{
    do {
        if (tcp_connect(&conn->tcp, conn->client->loop,
                        (const struct sockaddr *)&address->storage, address->length,
                        conn_ready) != IO_FAILED) {
            return true;
        }
    } while (conn->tcp.stream.failure.outcome == OUTCOME_CONNECT_FD_LIMIT &&
             pool_close_one(conn->client));
    return false;
}

static void add_layer(struct conn *conn, struct stream *stream)
{
    conn->layers[conn->n_layers++] = stream;
    conn->stream = stream;
}

/* Stacks the layers on tcp that the origin asks for. */
static void stack_layers(struct conn *conn)
{
    struct origin *origin = conn->origin;
    conn->n_layers = conn->layer = 0;
    add_layer(conn, &conn->tcp.stream);
    if (origin->https) {
        conn->tls = conn->tls ? conn->tls : xmalloc(sizeof *conn->tls);
        tls_init(conn->tls, conn->client->tls, conn->stream, origin->host, &origin->sessions);
        add_layer(conn, &conn->tls->stream);
    }
}

/* Tries the addresses of the origin in turn, each once, beginning where the last connection left
 * off. */
static void try_next(struct conn *conn, uint64_t now_ns)
{
    const struct addresses *addresses = conn->origin->addresses;
    while (conn->tried < addresses->n) {
        const struct address *address =
            &addresses->list[(conn->first_address + conn->tried++) % addresses->n];
        if (try_address(conn, address)) {
            conn->state = CONN_CONNECTING;
            stack_layers(conn);
            return;
        }
    }
    struct failure failure = conn->tcp.stream.failure;
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
    phase_over(conn, EXCHANGE_DNS, now_ns);
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

static void timed_out(struct timer *timer, uint64_t now_ns)
{
    struct conn *conn = (struct conn *)(void *)((char *)timer - offsetof(struct conn, deadline));
    struct failure failure = conn_timeout(conn);
    open_failed(conn, &failure, now_ns);
}

struct failure conn_timeout(const struct conn *conn)
{
    if (conn->state == CONN_RESOLVING) {
        return (struct failure){.outcome = OUTCOME_DNS,
                                .text = "the name look-up did not end in time"};
    }
    return (struct failure){.outcome = OUTCOME_CONNECT_TIMEOUT,
                            .text = "the connection was not made in time"};
}

/* Runs as a task of its own, so that a failure never comes from within client_send. */
static void begin(struct task *task)
{
    struct conn *conn = (struct conn *)(void *)((char *)task - offsetof(struct conn, release));
    uint64_t now_ns = clock_ns();
    conn->phase_start_ns = now_ns;
    if (conn->origin->https && !conn->client->tls) {
        struct failure failure = {.outcome = OUTCOME_TLS_HANDSHAKE,
                                  .text = "the TLS settings cannot be used"};
        open_failed(conn, &failure, now_ns);
        return;
    }
    if (conn->client->connect_timeouts || !conn->exchange) {
        conn->deadline.fire = timed_out;
        timer_start(conn->client->connect_timeouts ? conn->client->connect_timeouts
                                                   : conn->client->timeouts,
                    &conn->deadline, now_ns);
    }
    if (conn->origin->addresses) {
        start_connecting(conn, now_ns);
        return;
    }
    const struct addresses *addresses;
    const char *error = NULL;
    if (resolver_ask(conn->client->resolver, conn->origin->host, conn->origin->port,
                     &conn->lookup, &addresses, &error)) {
        resolved(conn, addresses, error, now_ns);
    }
}

void conn_open(struct client *client, struct origin *origin, struct exchange *exchange)
{
    struct conn *conn = xcalloc(1, sizeof *conn);
    conn->client = client;
    conn->origin = origin;
    conn->origin->users++;
    conn->exchange = exchange;
    conn->state = CONN_RESOLVING;
    conn->lookup.done = looked_up;
    for (unsigned i = 0; i <= EXCHANGE_TLS; i++) {
        conn->phases[i] = EXCHANGE_NONE;
    }
    h1_init(&conn->h1, conn);
    conn->session = &conn->h1.session;
    if (exchange) {
        exchange->conn = conn;
        exchange->sent_ns = 0;
        exchange->first_ns = 0;
    }
    conn->release.run = begin;
    loop_defer(client->loop, &conn->release);
}
