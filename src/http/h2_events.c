#include "http/h2_parts.h"

#include <stdlib.h>

#include "base/mem.h"
#include "http/client.h"
#include "http/conn.h"
#include "http/h2.h"

struct exchange *h2_detach(struct h2 *h2, struct h2_stream *stream)
{
    struct exchange *exchange = stream->exchange;
    stream->exchange = NULL;
    h2->n_streams--;
    return exchange;
}

void h2_stream_free(struct h2_stream *stream)
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
    conn_stream_done(h2->session.conn, h2_detach(h2, stream), h2->now_ns);
}

void h2_stream_failed(struct h2 *h2, struct h2_stream *stream, enum outcome outcome,
                      const char *text, bool retry)
{
    struct failure failure = {
        .outcome = outcome, .where = stream->has_head ? WHERE_BODY : WHERE_HEAD, .text = text};
    conn_stream_failed(h2->session.conn, h2_detach(h2, stream), &failure, retry, h2->now_ns);
}

static void give_up(struct h2 *h2, struct h2_stream *stream, enum outcome outcome, const char *text)
{
    nghttp2_submit_rst_stream(h2->ng, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_CANCEL);
    h2_stream_failed(h2, stream, outcome, text, false);
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
        h2_stream_failed(h2, stream, OUTCOME_TOO_LARGE, "the header list is too large", false);
    } else if (error == NGHTTP2_REFUSED_STREAM) {
        if (h2->draining && h2->last_id > 0) {
            /* The server has processed others of this connection: each turn of this kind brings
             * some exchange to its end, so it is not counted against this one. */
            stream->exchange->retried = false;
        }
        h2_stream_failed(h2, stream, OUTCOME_PROTOCOL_H2, h2->goaway ? h2->goaway : name, true);
    } else if (stream->has_head && stream->reset) {
        h2_stream_failed(h2, stream, OUTCOME_TRUNCATED, name, false);
    } else if (stream->has_head && !stream->why) {
        h2_stream_failed(h2, stream, OUTCOME_PROTOCOL_H2,
                         "the body is not as long as its Content-Length", false);
    } else {
        h2_stream_failed(h2, stream, OUTCOME_PROTOCOL_H2, stream->why ? stream->why : name, false);
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
    h2_stream_free(stream);
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

nghttp2_session *h2_session_new(struct h2 *h2)
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
    nghttp2_option_set_peer_max_concurrent_streams(options, H2_STREAMS_UNLIMITED);
    if (nghttp2_session_client_new2(&ng, callbacks, h2, options) != 0) {
        mem_out();
    }
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(options);
    return ng;
}
