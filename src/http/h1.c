#include "http/h1.h"

#include "base/clock.h"
#include "http/client.h"
#include "http/conn.h"

#define SHOWN_BYTES 40 /* of what is no HTTP/1 */

static void fail_seen(struct h1 *h1, enum outcome outcome, const char *why, struct str seen,
                      uint64_t now_ns)
{
    struct failure failure = {.outcome = outcome,
                              .where = h1->state == H1_BODY ? WHERE_BODY : WHERE_HEAD,
                              .text = why,
                              .seen = seen};
    struct exchange *exchange = h1->exchange;
    h1->exchange = NULL;
    h1->state = H1_IDLE;
    conn_failed(h1->session.conn, exchange, &failure, now_ns);
}

static void fail(struct h1 *h1, enum outcome outcome, const char *why, uint64_t now_ns)
{
    fail_seen(h1, outcome, why, (struct str){0}, now_ns);
}

/* Counted once a response, however many of its parts are so. */
static void note_lenient(struct h1 *h1)
{
    if (!h1->lenient) {
        EXCHANGE_NOTE(h1->exchange, lenient);
        h1->lenient = true;
    }
}

/* The response is whole; `extra` bytes came behind it. */
static void done(struct h1 *h1, size_t extra, uint64_t now_ns)
{
    struct exchange *exchange = h1->exchange;
    bool sent = h1->head.n + h1->body.n + h1->held.n == 0;
    if (extra) {
        EXCHANGE_NOTE(exchange, extra_bytes);
    }
    timer_stop(&h1->hold);
    h1->exchange = NULL;
    h1->state = H1_IDLE;
    conn_done(h1->session.conn, exchange, h1->keep_alive && sent && !extra, now_ns);
}

static void h1_start(struct session *session)
{
    (void)session;
}

static unsigned h1_capacity(const struct session *session)
{
    return ((const struct h1 *)session)->exchange ? 0 : 1;
}

/* One write a wake-up, and a limited one: however fast the server reads, timers and the others have
 * their turn. A stream that takes no more may still have the answer (an early 413, then a close):
 * the next read tells, so a failed write only stops the writing. */
static void flush(struct h1 *h1)
{
    struct conn *conn = h1->session.conn;
    struct str parts[2] = {h1->head, h1->body};
    unsigned from = h1->head.n ? 0 : 1, n = 2 - from - (h1->body.n ? 0 : 1);
    size_t put = 0;
    if (parts[1].n > H1_WRITE_MAX) {
        parts[1].n = H1_WRITE_MAX;
    }
    enum io io = conn_write(conn, parts + from, n, &put);
    if (io == IO_OK) {
        h1->exchange->bytes_sent += put;
        size_t of_head = put < h1->head.n ? put : h1->head.n;
        h1->head = str_skip(h1->head, of_head);
        h1->body = str_skip(h1->body, put - of_head);
    }
    h1->write_failed = io != IO_OK && io != IO_AGAIN;
    bool waits = !h1->write_failed && h1->head.n + h1->body.n > 0;
    if (waits != h1->waits) {
        h1->waits = waits;
        conn_want_write(conn, waits);
    }
}

/* The server has asked for the body, or had time enough to (RFC 9110 §10.1.1). */
static void let_go(struct h1 *h1)
{
    timer_stop(&h1->hold);
    h1->body = h1->held;
    h1->held = (struct str){0};
    flush(h1);
}

static void held_enough(struct timer *timer, uint64_t now_ns)
{
    struct h1 *h1 = (struct h1 *)(void *)((char *)timer - offsetof(struct h1, hold));
    (void)now_ns;
    let_go(h1);
}

static void hold(struct h1 *h1)
{
    h1->held = h1->body;
    h1->body = (struct str){0};
    h1->hold.fire = held_enough;
    timer_start(loop_timers(h1->session.conn->client->loop, H1_HOLD_NS), &h1->hold, clock_ns());
}

static void h1_submit(struct session *session, struct exchange *exchange, struct str head,
                      struct str body)
{
    struct h1 *h1 = (struct h1 *)session;
    h1->exchange = exchange;
    h1->state = H1_HEAD;
    h1->interim = 0;
    h1->lenient = false;
    h1->write_failed = false;
    h1->head = head;
    h1->body = body;
    h1->held = (struct str){0};
    if (exchange->expects && body.n) {
        hold(h1);
    }
    flush(h1);
}

static void h1_on_writable(struct session *session)
{
    struct h1 *h1 = (struct h1 *)session;
    if (h1->exchange && !h1->write_failed && h1->head.n + h1->body.n > 0) {
        flush(h1);
    }
}

/* What the head of a response means for the exchange. False if the response is over (failed). */
static bool take_head(struct h1 *h1, const struct h1_head *head, uint64_t now_ns)
{
    struct exchange *exchange = h1->exchange;
    if (head->lenient) {
        note_lenient(h1);
    }
    if (head->status == 101) {
        fail(h1, OUTCOME_PROTOCOL_H1, "101 Switching Protocols without being asked", now_ns);
        return false;
    }
    if (head->status < 200) {
        EXCHANGE_NOTE(exchange, interim);
        if (++h1->interim > H1_INTERIM_MAX) {
            fail(h1, OUTCOME_TOO_LARGE, "more than 16 interim responses", now_ns);
            return false;
        }
        if (head->status == 100 && h1->held.n) {
            let_go(h1);
        }
        return true;
    }
    if (head->both_lengths) {
        EXCHANGE_NOTE(exchange, both_lengths);
    }
    h1->keep_alive = head->keep_alive;
    h1->state = H1_BODY;
    h1_body_init(&h1->decoder, head);
    client_head(exchange, head->status, head->fields, head->has_location, head->has_set_cookie);
    return true;
}

static void take_body(struct h1 *h1, const char *bytes, size_t n, uint64_t now_ns)
{
    for (;;) {
        size_t used = 0;
        struct str piece = {0};
        const char *why = NULL;
        enum h1_body_event event = h1_body_feed(&h1->decoder, bytes, n, &used, &piece, &why);
        if (piece.n && !client_body(h1->exchange, piece)) {
            fail(h1, OUTCOME_TOO_LARGE, "the body is larger than --max-body", now_ns);
            return;
        }
        bytes += used;
        n -= used;
        switch (event) {
        case H1_BODY_DATA:
            break;
        case H1_BODY_MORE:
            return;
        case H1_BODY_DONE:
            if (h1->decoder.lenient) {
                note_lenient(h1);
            }
            done(h1, n, now_ns);
            return;
        case H1_BODY_BAD:
            fail(h1, OUTCOME_PROTOCOL_H1, why, now_ns);
            return;
        case H1_BODY_TOO_LARGE:
            fail(h1, OUTCOME_TOO_LARGE, why, now_ns);
            return;
        }
    }
}

/* Keeps an incomplete head; in place where it can be, so that one in drips costs linear time. */
static void keep_partial(struct h1 *h1, struct buf *partial, const char *bytes, size_t n)
{
    if (bytes == partial->p) {
        h1->partial = *partial;
        *partial = (struct buf){0};
    } else {
        buf_add(&h1->partial, bytes, n);
    }
}

static struct h1_memo *memo_of(const struct h1 *h1)
{
    return &h1->session.conn->client->memos[h1->exchange->tag % CLIENT_MEMOS];
}

/* Bytes while a head is expected; what is behind it goes on to the body. */
static __attribute__((noinline)) void take_heads(struct h1 *h1, const char *bytes, size_t n,
                                                 uint64_t now_ns)
{
    struct exchange *exchange = h1->exchange;
    struct buf partial = {0};
    if (h1->partial.n) {
        /* Taken over, so that a callback may start the next exchange on this session. */
        buf_add(&h1->partial, bytes, n);
        partial = h1->partial;
        buf_init(&h1->partial, BUF_NO_MAX);
        bytes = partial.p;
        n = partial.n;
    }
    while (h1->state == H1_HEAD && h1->exchange == exchange && n > 0) {
        struct h1_head head;
        const char *why = NULL;
        enum h1_result result = h1_head_parse(bytes, n, h1->seen, exchange->is_head, &head, &why);
        if (result == H1_PARTIAL) {
            h1->seen = n;
            keep_partial(h1, &partial, bytes, n);
            break;
        }
        h1->seen = 0;
        if (result != H1_OK) {
            struct str seen = {bytes, n < SHOWN_BYTES ? n : SHOWN_BYTES};
            fail_seen(h1, result == H1_BAD ? OUTCOME_PROTOCOL_H1 : OUTCOME_TOO_LARGE, why,
                      why == h1_no_status_line ? seen : (struct str){0}, now_ns);
            break;
        }
        if (head.status >= 200) {
            h1_memo_keep(memo_of(h1), bytes, exchange->is_head, &head);
        }
        if (!take_head(h1, &head, now_ns)) {
            break;
        }
        bytes += head.size;
        n -= head.size;
        if (h1->state == H1_BODY) {
            take_body(h1, bytes, n, now_ns);
            break;
        }
    }
    if (partial.p) {
        buf_fini(&partial);
    }
}

static void h1_on_bytes(struct session *session, const char *bytes, size_t n, uint64_t now_ns)
{
    struct h1 *h1 = (struct h1 *)session;
    struct exchange *exchange = h1->exchange;
    exchange_first_byte(exchange, now_ns);
    exchange->bytes_received += n;
    if (h1->state == H1_BODY) {
        take_body(h1, bytes, n, now_ns);
        return;
    }
    const struct h1_head *known =
        h1->seen ? NULL : h1_memo_find(memo_of(h1), bytes, n, exchange->is_head);
    if (!known) {
        take_heads(h1, bytes, n, now_ns);
    } else if (take_head(h1, known, now_ns)) {
        take_body(h1, bytes + known->size, n - known->size, now_ns);
    }
}

static uint64_t h1_discardable(const struct session *session)
{
    const struct h1 *h1 = (const struct h1 *)session;
    if (h1->state != H1_BODY || client_wants_body(h1->exchange)) {
        return 0;
    }
    return h1_body_certain(&h1->decoder);
}

static void h1_on_discarded(struct session *session, uint64_t n, uint64_t now_ns)
{
    struct h1 *h1 = (struct h1 *)session;
    h1->exchange->bytes_received += n;
    if (h1_body_skip(&h1->decoder, n)) {
        size_t extra = 0;
        h1->keep_alive &= conn_is_quiet(session->conn, &extra);
        done(h1, extra, now_ns);
    }
}

static void h1_on_end(struct session *session, const struct failure *failure, uint64_t now_ns)
{
    struct h1 *h1 = (struct h1 *)session;
    if (h1->state == H1_BODY && !failure && h1_body_at_eof(&h1->decoder)) {
        h1->keep_alive = false;
        done(h1, 0, now_ns);
        return;
    }
    struct failure end = {.where = h1->state == H1_BODY ? WHERE_BODY : WHERE_HEAD};
    bool nothing = h1->exchange->first_ns == 0;
    if (failure && !(nothing && failure->outcome == OUTCOME_TRUNCATED)) {
        end.outcome = failure->outcome;
        end.error = failure->error;
        end.text = failure->text;
    } else {
        end.outcome = nothing ? OUTCOME_RESET : OUTCOME_TRUNCATED;
        end.text = nothing ? "the connection was closed without a response"
                           : "the connection was closed before the response was whole";
    }
    struct exchange *exchange = h1->exchange;
    h1->exchange = NULL;
    h1->state = H1_IDLE;
    conn_failed(session->conn, exchange, &end, now_ns);
}

static void h1_forget(struct session *session, struct exchange *exchange)
{
    (void)exchange;
    conn_close(session->conn);
}

static void h1_fini(struct session *session)
{
    struct h1 *h1 = (struct h1 *)session;
    timer_stop(&h1->hold);
    buf_fini(&h1->partial);
}

static const struct session_ops h1_ops = {
    .start = h1_start,
    .capacity = h1_capacity,
    .submit = h1_submit,
    .on_bytes = h1_on_bytes,
    .discardable = h1_discardable,
    .on_discarded = h1_on_discarded,
    .on_writable = h1_on_writable,
    .on_end = h1_on_end,
    .forget = h1_forget,
    .fini = h1_fini,
};

void h1_init(struct h1 *h1, struct conn *conn)
{
    *h1 = (struct h1){.session = {.ops = &h1_ops, .conn = conn}};
    buf_init(&h1->partial, BUF_NO_MAX);
}
