#include "http/h2.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "http/client.h"
#include "http/conn.h"
#include "http/h2_fields.h"

#define OUT_MAX (256u * 1024) /* frames gathered for one write */
#define STREAMS_BEFORE_SETTINGS 100

/* One exchange's stream. */
struct h2_stream {
    struct h2_stream *prev, *next; /* of all that nghttp2 has not closed */
    struct exchange *exchange;     /* NULL: it has ended, or was given up */
    int32_t id;                    /* 0: it could not be submitted */
    struct str body;               /* of the request, what is still to be sent */
    const char *why;               /* nghttp2's words for what is wrong with the response */
    bool sent;                     /* END_STREAM has been sent */
    bool reset;                    /* by the server */
    bool has_head;                 /* the final response's */
    bool has_location, has_set_cookie, too_large;
    uint8_t interim;
    unsigned status, n_fields;
    size_t list_bytes; /* of the header list, as RFC 9113 §6.5.2 counts them */
    struct buf fields; /* those that somebody wants, as HTTP/1 field lines */
};

struct h2 {
    struct session session; /* first */
    nghttp2_session *ng;
    struct h2_stream streams; /* head of a ring */
    unsigned n_streams;       /* those with an exchange */
    unsigned empty_data;
    bool unsubmitted; /* there is a stream that could not be submitted */
    bool settled;     /* the server's SETTINGS have come */
    bool draining;    /* the server takes no new streams */
    bool dead;        /* failed: nothing is fed or written any more */
    int32_t last_id;  /* that of GOAWAY: streams above it were not processed */
    uint64_t now_ns;
    const char *why;    /* nghttp2's words for what was wrong last */
    const char *goaway; /* the error of GOAWAY; NULL: none */
    struct buf out;
    size_t out_at;
    bool in_receive;
};

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

/* The exchange has ended or is forgotten; the stream lives on until nghttp2 closes it. */
static struct exchange *detach(struct h2 *h2, struct h2_stream *stream)
{
    struct exchange *exchange = stream->exchange;
    stream->exchange = NULL;
    h2->n_streams--;
    return exchange;
}

static void stream_free(struct h2_stream *stream)
{
    stream->prev->next = stream->next;
    stream->next->prev = stream->prev;
    buf_fini(&stream->fields);
    free(stream);
}

static void stream_done(struct h2 *h2, struct h2_stream *stream)
{
    if (!stream->sent) {
        /* An early answer: the rest of the upload is not wanted. */
        nghttp2_submit_rst_stream(h2->ng, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_CANCEL);
    }
    conn_stream_done(h2->session.conn, detach(h2, stream), h2->now_ns);
}

static void stream_failed(struct h2 *h2, struct h2_stream *stream, enum outcome outcome,
                          const char *text, bool retry)
{
    struct failure failure = {
        .outcome = outcome, .where = stream->has_head ? WHERE_BODY : WHERE_HEAD, .text = text};
    conn_stream_failed(h2->session.conn, detach(h2, stream), &failure, retry, h2->now_ns);
}

static void give_up(struct h2 *h2, struct h2_stream *stream, enum outcome outcome, const char *text)
{
    nghttp2_submit_rst_stream(h2->ng, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_CANCEL);
    stream_failed(h2, stream, outcome, text, false);
}

/* --- what nghttp2 tells --- */

static struct h2_stream *stream_of(struct h2 *h2, int32_t id)
{
    struct h2_stream *stream = nghttp2_session_get_stream_user_data(h2->ng, id);
    return stream && stream->exchange ? stream : NULL;
}

static int on_begin_headers(nghttp2_session *ng, const nghttp2_frame *frame, void *ctx)
{
    struct h2 *h2 = ctx;
    struct h2_stream *stream = stream_of(h2, frame->hd.stream_id);
    (void)ng;
    if (frame->hd.type == NGHTTP2_PUSH_PROMISE) {
        h2->why = "it pushes, though it was told not to";
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    if (stream && !stream->has_head) {
        exchange_first_byte(stream->exchange, h2->now_ns);
        stream->status = 0;
        stream->n_fields = 0;
        stream->list_bytes = 0;
        stream->has_location = stream->has_set_cookie = false;
        buf_reset(&stream->fields);
    }
    return 0;
}

static void add_field(struct h2_stream *stream, struct str name, struct str value)
{
    bool location = str_eq(name, STR("location")), cookie = str_eq(name, STR("set-cookie"));
    stream->has_location |= location;
    stream->has_set_cookie |= cookie;
    if (location || cookie || stream->exchange->keep) {
        buf_add_str(&stream->fields, name);
        buf_add_str(&stream->fields, STR(": "));
        buf_add_str(&stream->fields, value);
        buf_add_str(&stream->fields, STR("\r\n"));
    }
}

static int on_header(nghttp2_session *ng, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags, void *ctx)
{
    struct h2 *h2 = ctx;
    struct h2_stream *stream = stream_of(h2, frame->hd.stream_id);
    struct str key = {(const char *)name, name_n}, text = {(const char *)value, value_n};
    (void)ng;
    (void)flags;
    if (!stream) {
        return 0;
    }
    stream->list_bytes += name_n + value_n + 32;
    if (stream->list_bytes > H2_HEADER_LIST_MAX || ++stream->n_fields > H2_FIELDS_MAX) {
        stream->too_large = true;
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* nghttp2 resets the stream */
    }
    if (stream->has_head) {
        return 0; /* a trailer */
    }
    if (str_eq(key, STR(":status"))) {
        uint64_t status = 0;
        str_to_u64(text, &status);
        stream->status = (unsigned)status;
    } else {
        add_field(stream, key, text);
    }
    return 0;
}

static void take_head(struct h2 *h2, struct h2_stream *stream)
{
    if (stream->has_head) {
        return;
    }
    if (stream->status < 200) {
        EXCHANGE_NOTE(stream->exchange, interim);
        if (++stream->interim > H2_INTERIM_MAX) {
            give_up(h2, stream, OUTCOME_TOO_LARGE, "more than 16 interim responses");
        }
        return;
    }
    stream->has_head = true;
    client_head(stream->exchange, stream->status, buf_str(&stream->fields), stream->has_location,
                stream->has_set_cookie);
    buf_fini(&stream->fields);
    buf_init(&stream->fields, 0);
}

/* Does it bring nothing? */
static bool is_empty(const nghttp2_frame_hd *hd)
{
    return hd->type == NGHTTP2_DATA && hd->length == 0 && !(hd->flags & NGHTTP2_FLAG_END_STREAM);
}

static int on_frame_recv(nghttp2_session *ng, const nghttp2_frame *frame, void *ctx)
{
    struct h2 *h2 = ctx;
    struct h2_stream *stream = stream_of(h2, frame->hd.stream_id);
    (void)ng;
    switch (frame->hd.type) {
    case NGHTTP2_SETTINGS:
        h2->settled = true;
        break;
    case NGHTTP2_GOAWAY:
        h2->draining = true;
        h2->last_id = frame->goaway.last_stream_id;
        if (frame->goaway.error_code != NGHTTP2_NO_ERROR) {
            h2->goaway = nghttp2_http2_strerror(frame->goaway.error_code);
        }
        break;
    case NGHTTP2_DATA:
    case NGHTTP2_HEADERS:
        h2->empty_data = is_empty(&frame->hd) ? h2->empty_data + 1 : 0;
        if (h2->empty_data > H2_EMPTY_DATA_MAX) {
            h2->why = "more than 1,000 empty DATA frames";
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        }
        break;
    default:
        break;
    }
    if (!stream) {
        return 0;
    }
    stream->exchange->bytes_received += frame->hd.length + 9;
    stream->reset |= frame->hd.type == NGHTTP2_RST_STREAM;
    if (frame->hd.type == NGHTTP2_HEADERS) {
        take_head(h2, stream);
    }
    if (stream->exchange && stream->has_head && frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
        stream_done(h2, stream);
    }
    return 0;
}

static int on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *bytes, size_t n,
                   void *ctx)
{
    struct h2 *h2 = ctx;
    struct h2_stream *stream = stream_of(h2, id);
    (void)ng;
    (void)flags;
    if (stream && !client_body(stream->exchange, (struct str){(const char *)bytes, n})) {
        give_up(h2, stream, OUTCOME_TOO_LARGE, "the body is larger than --max-body");
    }
    return 0;
}

static int on_frame_send(nghttp2_session *ng, const nghttp2_frame *frame, void *ctx)
{
    struct h2 *h2 = ctx;
    struct h2_stream *stream = stream_of(h2, frame->hd.stream_id);
    (void)ng;
    if (stream && (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA)) {
        stream->exchange->bytes_sent += frame->hd.length + 9;
        stream->sent |= (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    }
    return 0;
}

/* nghttp2 closes a stream whose exchange has not ended. */
static void close_failed(struct h2 *h2, struct h2_stream *stream, uint32_t error)
{
    const char *name = nghttp2_http2_strerror(error);
    if (stream->too_large) {
        stream_failed(h2, stream, OUTCOME_TOO_LARGE, "the header list is too large", false);
    } else if (error == NGHTTP2_REFUSED_STREAM) {
        if (h2->draining && h2->last_id > 0) {
            /* The server has processed others of this connection: each turn of this kind brings
             * some exchange to its end, so it is not counted against this one. */
            stream->exchange->retried = false;
        }
        stream_failed(h2, stream, OUTCOME_PROTOCOL_H2, h2->goaway ? h2->goaway : name, true);
    } else if (stream->has_head && stream->reset) {
        stream_failed(h2, stream, OUTCOME_TRUNCATED, name, false);
    } else if (stream->has_head && !stream->why) {
        stream_failed(h2, stream, OUTCOME_PROTOCOL_H2,
                      "the body is not as long as its Content-Length", false);
    } else {
        stream_failed(h2, stream, OUTCOME_PROTOCOL_H2, stream->why ? stream->why : name, false);
    }
}

static int on_stream_close(nghttp2_session *ng, int32_t id, uint32_t error, void *ctx)
{
    struct h2 *h2 = ctx;
    struct h2_stream *stream = nghttp2_session_get_stream_user_data(ng, id);
    if (!stream) {
        return 0;
    }
    if (stream->exchange) {
        close_failed(h2, stream, error);
    }
    nghttp2_session_set_stream_user_data(ng, id, NULL);
    stream_free(stream);
    return 0;
}

static int on_invalid_frame(nghttp2_session *ng, const nghttp2_frame *frame, int code, void *ctx)
{
    struct h2 *h2 = ctx;
    struct h2_stream *stream = stream_of(h2, frame->hd.stream_id);
    (void)ng;
    h2->why = nghttp2_strerror(code);
    if (stream) {
        stream->why = h2->why;
    }
    return 0;
}

static int on_error(nghttp2_session *ng, int code, const char *text, size_t n, void *ctx)
{
    struct h2 *h2 = ctx;
    (void)ng;
    (void)text;
    (void)n;
    h2->why = nghttp2_strerror(code);
    return 0;
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
                stream_failed(h2, stream, OUTCOME_LOCAL, "it has more than 256 header fields",
                              false);
            }
            stream_free(stream);
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
    max = max == UINT32_MAX ? STREAMS_BEFORE_SETTINGS : max;
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
            stream_failed(h2, stream, exchange->first_ns ? begun : outcome, text,
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
    h2->draining = h2->draining || !nghttp2_session_check_request_allowed(h2->ng);
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
            detach(h2, stream);
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
        stream_free(h2->streams.next);
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

static nghttp2_session *session_new(struct h2 *h2)
{
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *options;
    nghttp2_session *ng = NULL;
    if (nghttp2_session_callbacks_new(&callbacks) != 0 || nghttp2_option_new(&options) != 0) {
        mem_out();
    }
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_send);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, on_invalid_frame);
    nghttp2_session_callbacks_set_error_callback2(callbacks, on_error);
    nghttp2_option_set_no_closed_streams(options, 1);
    nghttp2_option_set_max_send_header_block_length(options, 1u << 20);
    nghttp2_option_set_peer_max_concurrent_streams(options, STREAMS_BEFORE_SETTINGS);
    if (nghttp2_session_client_new2(&ng, callbacks, h2, options) != 0) {
        mem_out();
    }
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(options);
    return ng;
}

struct session *h2_new(struct conn *conn)
{
    struct h2 *h2 = xcalloc(1, sizeof *h2);
    h2->session = (struct session){&h2_ops, conn};
    h2->streams.next = h2->streams.prev = &h2->streams;
    buf_init(&h2->out, BUF_NO_MAX);
    h2->ng = session_new(h2);
    return &h2->session;
}
