#include "http/conn.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http/client.h"

static struct conn *conn_of(struct stream *stream)
{
    return (struct conn *)(void *)((char *)stream - offsetof(struct conn, tcp));
}

static struct conn *conn_of_task(struct task *task)
{
    return (struct conn *)(void *)((char *)task - offsetof(struct conn, soon));
}

static void release(struct task *task)
{
    struct conn *conn = conn_of_task(task);
    if (conn->session) {
        conn->session->ops->fini(conn->session);
    }
    free(conn->tls);
    free(conn->proxy_tls);
    free(conn->tunnel);
    free(conn);
}

void conn_close(struct conn *conn)
{
    if (conn->state == CONN_CLOSED) {
        return;
    }
    pool_remove(conn);
    if (conn->turn < TURN_KNOCKS) {
        resolver_cancel(&conn->lookup);
    }
    if (conn->session != &conn->h1.session) { /* which has taken opening's place */
        timer_stop(&conn->opening.deadline);
        timer_stop(&conn->opening.attempt);
    } else {
        timer_stop(&conn->h1.hold);
    }
    conn_turn_over(conn);
    conn_shaken(conn);
    if (conn->stream) {
        conn->stream->ops->close(conn->stream);
    }
    conn->state = CONN_CLOSED;
    conn->settling = false;
    conn->exchange = NULL;
    conn->origin->users--;
    conn->soon.run = release; /* whatever it was to do */
    loop_defer(conn->client->loop, &conn->soon);
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
    /* Its user has not gone on with it at once: it may be idle for long. */
    if (conn->tls && conn->state == CONN_IDLE) {
        tls_idle(conn->tls);
    }
}

void conn_stream_done(struct conn *conn, struct exchange *exchange, uint64_t now_ns)
{
    conn->last_tag = exchange->tag;
    conn->reused = true;
    conn->origin->failures = 0;
    exchange->conn = NULL;
    pool_room_changed(conn);
    client_response(exchange, now_ns);
}

void conn_stream_failed(struct conn *conn, struct exchange *exchange, const struct failure *failure,
                        bool retry, uint64_t now_ns)
{
    exchange->conn = NULL;
    pool_room_changed(conn);
    client_failed(exchange, failure, retry, now_ns);
}

void conn_capacity_changed(struct conn *conn, uint64_t now_ns)
{
    if (conn->settling) {
        conn_settled(conn, now_ns);
    } else if (conn->shared) {
        pool_room_changed(conn);
        pool_serve(conn, now_ns);
    }
}

void conn_retire(struct conn *conn)
{
    if (conn->shared) {
        pool_loosen(conn);
        pool_reopen(conn->client, conn->origin);
    }
}

void conn_over(struct conn *conn, const struct failure *failure, uint64_t now_ns)
{
    if (conn->settling) {
        conn_open_failed(conn, failure, now_ns);
    } else if (conn->state != CONN_CLOSED) {
        conn->origin->failures += !conn->reused; /* a connection that was good for nothing */
        conn_close(conn);
        pool_reopen(conn->client, conn->origin);
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

static void catch_up(struct task *task)
{
    struct conn *conn = conn_of_task(task);
    bool has_rest = conn->has_rest, has_output = conn->has_output;
    conn->has_rest = conn->has_output = false;
    if (has_output && conn->state == CONN_ACTIVE) {
        struct origin *origin = conn->origin;
        origin->users++; /* as in conn_ready */
        conn->session->ops->on_writable(conn->session);
        origin->users--;
    }
    if (has_rest && conn->state != CONN_CLOSED) {
        conn_ready(&conn->tcp.stream, LOOP_READ);
    }
}

static void catch_up_soon(struct conn *conn)
{
    if (conn->state != CONN_CLOSED) { /* else it frees the connection */
        conn->soon.run = catch_up;
        loop_defer(conn->client->loop, &conn->soon);
    }
}

void conn_flush_soon(struct conn *conn)
{
    conn->has_output = true;
    catch_up_soon(conn);
}

void conn_read_rest(struct conn *conn)
{
    if (conn->tls && tls_pending(conn->tls)) {
        conn->has_rest = true;
        catch_up_soon(conn);
    }
}

bool conn_is_quiet(struct conn *conn, size_t *extra)
{
    return conn->stream->ops->read(conn->stream, conn->client->read_buffer, CLIENT_READ_BUFFER,
                                   extra) == IO_AGAIN;
}

/* What opening the connection took is part of the first exchange that it carries. */
void conn_tell_phases(struct conn *conn, struct exchange *exchange)
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
        conn_tell_phases(conn, exchange);
    }
    conn->session->ops->submit(conn->session, exchange, head, exchange->body);
    pool_room_changed(conn);
}

/* --- reading --- */

/* When what was just read came. */
static uint64_t read_at(const struct conn *conn)
{
    return conn->tcp.stamps ? conn->tcp.stamp_ns : clock_ns();
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
            session->ops->on_discarded(session, n, read_at(conn));
        }
    } else {
        size_t n = 0;
        io = conn->stream->ops->read(conn->stream, conn->client->read_buffer, CLIENT_READ_BUFFER,
                                     &n);
        if (io == IO_OK) {
            session->ops->on_bytes(session, conn->client->read_buffer, n, read_at(conn));
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
    if (extra && conn->client->options.idle_bytes) {
        conn->client->options.idle_bytes(conn->client->options.ctx, conn->last_tag);
    }
    conn_close(conn);
}

void conn_ready(struct stream *stream, unsigned events)
{
    struct conn *conn = conn_of(stream);
    if (conn->state == CONN_CONNECTING) {
        if (conn->list == &conn->origin->held) {
            conn_speak(conn, clock_ns()); /* the other side has spoken, or is gone */
        } else {
            conn_connect(conn);
        }
        return;
    }
    if (conn->state == CONN_IDLE) {
        idle_ready(conn);
        return;
    }
    if (conn->tls) {
        events = tls_events(conn->tls, events);
    }
    /* However many exchanges end in here, and whatever their users do then, the origin is not
     * forgotten, nor its connections closed. */
    struct origin *origin = conn->origin;
    origin->users++;
    if (events & LOOP_READ) {
        if (conn->turn != TURN_OVER) {
            conn_turn_over(conn); /* the server is heard: it has accepted the connection */
        }
        conn_read(conn);
        conn_read_rest(conn);
    }
    if (events & LOOP_WRITE && conn->state == CONN_ACTIVE) {
        conn->session->ops->on_writable(conn->session);
    }
    origin->users--;
}
