#include "http/h2.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "http/client.h"
#include "http/conn.h"
#include "http/h2_fields.h"
#include "http/h2_parts.h"

#define OUT_MAX (256u * 1024) /* frames gathered for one write */

/* --- streams --- */

static struct h2_stream *stream_new(struct h2 *h2, struct exchange *exchange)
{
    struct h2_stream *stream = xcalloc(1, sizeof *stream);
    stream->exchange = exchange;
    buf_init(&stream->fields, H2_HEADER_LIST_MAX * 2);
    stream->next = &h2->streams;
    stream->prev = h2->streams.prev;
    stream->prev->next = stream;
    h2->streams.prev = stream;
    h2->n_streams++;
    return stream;
}

static ssize_t read_body(nghttp2_session *ng, int32_t id, uint8_t *to, size_t max, uint32_t *flags,
                         nghttp2_data_source *source, void *ctx)
{
    struct h2_stream *stream = source->ptr;
    size_t n = stream->body.n < max ? stream->body.n : max;
    (void)ng;
    (void)id;
    (void)ctx;
    if (!stream->exchange) {
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* its bytes may be gone */
    }
    memcpy(to, stream->body.p, n);
    stream->body = str_skip(stream->body, n);
    if (stream->body.n == 0) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    return (ssize_t)n;
}

/* --- writing --- */

/* Gathers frames of all streams and writes them in one go. */
static void flush(struct h2 *h2)
{
    struct conn *conn = h2->session.conn;
    while (!h2->dead) {
        while (h2->out.n - h2->out_at < OUT_MAX) {
            const uint8_t *bytes;
            ssize_t n = nghttp2_session_mem_send(h2->ng, &bytes);
            if (n <= 0) {
                break;
            }
            buf_add(&h2->out, bytes, (size_t)n);
        }
        struct str rest = str_skip(buf_str(&h2->out), h2->out_at);
        size_t put = 0;
        if (rest.n == 0) {
            break;
        }
        enum io io = conn_write(conn, &rest, 1, &put);
        if (io != IO_OK) {
            /* A broken stream tells the next read. */
            conn_want_write(conn, io == IO_AGAIN);
            return;
        }
        h2->out_at += put;
        if (h2->out_at == h2->out.n) {
            buf_reset(&h2->out);
            h2->out_at = 0;
        }
    }
    conn_want_write(conn, false);
}

/* Requests that could not be submitted fail here, never from within submit. */
static void fail_unsubmitted(struct h2 *h2)
{
    struct h2_stream *stream, *next = h2->streams.next, *last = h2->streams.prev;
    h2->unsubmitted = false;
    do { /* those that come meanwhile wait for the next turn */
        stream = next;
        next = stream->next;
        if (stream->id == 0) {
            if (stream->exchange) {
                h2_stream_failed(h2, stream, OUTCOME_LOCAL, "it has more than 256 header fields",
                                 false);
            }
            h2_stream_free(stream);
        }
    } while (stream != last);
}

static void flush_soon(struct h2 *h2)
{
    if (!h2->in_receive && !h2->dead) {
        conn_flush_soon(h2->session.conn);
    }
}

/* --- requests --- */

static void h2_submit(struct session *session, struct exchange *exchange, struct str head,
                      struct str body)
{
    struct h2 *h2 = (struct h2 *)session;
    struct h2_stream *stream = stream_new(h2, exchange);
    struct h2_fields fields;
    stream->body = body;
    nghttp2_data_provider provider = {.source.ptr = stream, .read_callback = read_body};
    stream->id = h2_fields_make(&fields, exchange, head)
                     ? nghttp2_submit_request(h2->ng, NULL, fields.list, fields.n,
                                              body.n ? &provider : NULL, stream)
                     : -1;
    h2_fields_fini(&fields);
    if (stream->id < 0) {
        stream->id = 0;
        h2->unsubmitted = true;
        conn_flush_soon(session->conn);
    }
    flush_soon(h2);
}

static unsigned h2_capacity(const struct session *session)
{
    const struct h2 *h2 = (const struct h2 *)session;
    if (!h2->settled || h2->draining || h2->dead ||
        !nghttp2_session_check_request_allowed(h2->ng)) {
        return 0;
    }
    uint32_t max =
        nghttp2_session_get_remote_settings(h2->ng, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
    max = max == UINT32_MAX ? H2_STREAMS_UNLIMITED : max;
    return h2->n_streams < max ? max - h2->n_streams : 0;
}

/* --- the session's events --- */

/* May it be sent once more if its connection was closed? As with HTTP/1: if nothing of it has
 * left, or by the keep-alive race. */
static bool may_retry(const struct h2 *h2, const struct exchange *exchange)
{
    return exchange->first_ns == 0 && (exchange->bytes_sent == exchange->hop_sent ||
                                       (exchange->idempotent && h2->session.conn->reused));
}

/* The connection is at its end: every exchange on it fails once. The outcome of those whose
 * response had begun may be another one. */
static void fail_all(struct h2 *h2, enum outcome outcome, enum outcome begun, const char *text)
{
    struct failure failure = {.outcome = outcome, .text = text};
    h2->dead = true;
    for (struct h2_stream *stream = h2->streams.next; stream != &h2->streams;
         stream = stream->next) {
        struct exchange *exchange = stream->exchange;
        if (exchange) {
            h2_stream_failed(h2, stream, exchange->first_ns ? begun : outcome, text,
                             outcome == OUTCOME_RESET && may_retry(h2, exchange));
        }
    }
    conn_over(h2->session.conn, &failure, h2->now_ns);
}

static void protocol_failed(struct h2 *h2, const char *text)
{
    fail_all(h2, OUTCOME_PROTOCOL_H2, OUTCOME_PROTOCOL_H2, text);
}

/* After each wake-up: ends the connection if it is of no more use. */
static void go_on(struct h2 *h2)
{
    struct conn *conn = h2->session.conn;
    if (h2->dead) {
        return;
    }
    bool room = h2_capacity(&h2->session) > 0;
    h2->had_room = h2->had_room || room;
    if (!nghttp2_session_check_request_allowed(h2->ng) ||
        (h2->had_room && !room && h2->n_streams == 0)) { /* the limit was lowered to 0 */
        h2->draining = true;
    }
    bool closed = !nghttp2_session_want_read(h2->ng) && !nghttp2_session_want_write(h2->ng);
    if (closed || (h2->draining && h2->n_streams == 0)) {
        const char *why = h2->goaway ? h2->goaway : h2->why;
        protocol_failed(h2, why ? why : "the server takes no requests");
    } else if (h2->draining) {
        conn_retire(conn);
    } else if (h2->settled) {
        conn_capacity_changed(conn, h2->now_ns);
    }
}

static void h2_on_bytes(struct session *session, const char *bytes, size_t n, uint64_t now_ns)
{
    struct h2 *h2 = (struct h2 *)session;
    h2->now_ns = now_ns;
    h2->in_receive = true;
    ssize_t used = nghttp2_session_mem_recv(h2->ng, (const uint8_t *)bytes, n);
    h2->in_receive = false;
    if (used < 0) {
        protocol_failed(h2, h2->why ? h2->why : nghttp2_strerror((int)used));
        return;
    }
    flush(h2);
    go_on(h2);
}

static uint64_t h2_discardable(const struct session *session)
{
    (void)session;
    return 0;
}

static void h2_on_discarded(struct session *session, uint64_t n, uint64_t now_ns)
{
    (void)session;
    (void)n;
    (void)now_ns;
}

static void h2_on_writable(struct session *session)
{
    struct h2 *h2 = (struct h2 *)session;
    h2->now_ns = clock_ns();
    if (h2->unsubmitted) {
        fail_unsubmitted(h2);
    }
    flush(h2);
    if (h2->draining) {
        go_on(h2);
    }
}

static void h2_on_end(struct session *session, const struct failure *failure, uint64_t now_ns)
{
    struct h2 *h2 = (struct h2 *)session;
    h2->now_ns = now_ns;
    if (failure && failure->outcome != OUTCOME_TRUNCATED) {
        fail_all(h2, failure->outcome, failure->outcome, failure->text);
    } else if (h2->goaway) {
        fail_all(h2, OUTCOME_PROTOCOL_H2, OUTCOME_TRUNCATED, h2->goaway);
    } else {
        fail_all(h2, OUTCOME_RESET, OUTCOME_TRUNCATED,
                 "the connection was closed before the response was whole");
    }
}

static void h2_forget(struct session *session, struct exchange *exchange)
{
    struct h2 *h2 = (struct h2 *)session;
    for (struct h2_stream *stream = h2->streams.next; stream != &h2->streams;
         stream = stream->next) {
        if (stream->exchange == exchange) {
            nghttp2_submit_rst_stream(h2->ng, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_CANCEL);
            h2_detach(h2, stream);
            flush_soon(h2);
            return;
        }
    }
}

static void h2_start(struct session *session)
{
    struct h2 *h2 = (struct h2 *)session;
    nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, H2_STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, H2_HEADER_LIST_MAX},
    };
    nghttp2_submit_settings(h2->ng, NGHTTP2_FLAG_NONE, settings,
                            sizeof settings / sizeof *settings);
    nghttp2_session_set_local_window_size(h2->ng, NGHTTP2_FLAG_NONE, 0, H2_CONNECTION_WINDOW);
    flush_soon(h2);
}

static void h2_fini(struct session *session)
{
    struct h2 *h2 = (struct h2 *)session;
    nghttp2_session_del(h2->ng);
    while (h2->streams.next != &h2->streams) {
        h2_stream_free(h2->streams.next);
    }
    buf_fini(&h2->out);
    free(h2);
}

static const struct session_ops h2_ops = {
    .multiplexes = true,
    .start = h2_start,
    .capacity = h2_capacity,
    .submit = h2_submit,
    .on_bytes = h2_on_bytes,
    .discardable = h2_discardable,
    .on_discarded = h2_on_discarded,
    .on_writable = h2_on_writable,
    .on_end = h2_on_end,
    .forget = h2_forget,
    .fini = h2_fini,
};

struct session *h2_new(struct conn *conn)
{
    struct h2 *h2 = xcalloc(1, sizeof *h2);
    h2->session = (struct session){&h2_ops, conn};
    h2->streams.next = h2->streams.prev = &h2->streams;
    buf_init(&h2->out, BUF_NO_MAX);
    h2->ng = h2_session_new(h2);
    return &h2->session;
}
