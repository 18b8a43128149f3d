/*
 * Reads a connection's bytes the way a session does, in given pieces, and writes down what happens,
 * a line an event:
 *
 *   200 HTTP/1.1 length 5 [close] [lenient] [both] [location] [cookie] {field lines}
 *   body 5 [lenient] (the bytes)
 *   bad: why | too large: why | upgrade | extra | end | partial
 *
 * Every call gets a heap copy of its exact size (unless the input is large), so that a look past
 * the end is seen by the sanitizer. To be included behind cmocka.h.
 */
#ifndef H1_READER_H
#define H1_READER_H

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "http/h1_parse.h"

#define COPY_MAX 4096

struct h1_reader {
    struct buf log, body, head_bytes;
    struct h1_head head;
    struct h1_body decoder;
    size_t seen;       /* of head_bytes */
    bool head_request; /* all requests are HEAD */
    bool in_body, over;
    unsigned heads, bodies;
};

static inline char *h1_reader_copy(const char *p, size_t n)
{
    char *copy = xmalloc(n);
    if (n > 0)
        memcpy(copy, p, n);
    return copy;
}

static inline void h1_reader_log_head(struct h1_reader *reader)
{
    static const char *const FRAMING[] = {"none", "length", "chunked", "to close"};
    const struct h1_head *head = &reader->head;
    buf_addf(&reader->log, "%u HTTP/1.%u %s", head->status, head->minor, FRAMING[head->framing]);
    if (head->framing == H1_LENGTH)
        buf_addf(&reader->log, " %llu", (unsigned long long)head->length);
    buf_addf(&reader->log, "%s%s%s%s%s {", head->keep_alive ? "" : " close",
             head->lenient ? " lenient" : "", head->both_lengths ? " both" : "",
             head->has_location ? " location" : "", head->has_set_cookie ? " cookie" : "");
    buf_add_str(&reader->log, head->fields);
    buf_addf(&reader->log, "}\n");
}

static inline void h1_reader_log_body(struct h1_reader *reader)
{
    buf_addf(&reader->log, "body %zu%s (", reader->body.n,
             reader->decoder.lenient ? " lenient" : "");
    buf_add_str(&reader->log, buf_str(&reader->body));
    buf_addf(&reader->log, ")\n");
    buf_reset(&reader->body);
    reader->bodies++;
}

static inline void h1_reader_stop(struct h1_reader *reader, const char *event, const char *why)
{
    buf_addf(&reader->log, "%s%s\n", event, why);
    reader->over = true;
}

/* Takes what it can of a head; true if it is whole, with *rest what is behind it. */
static inline bool h1_reader_take_head(struct h1_reader *reader, struct str *rest)
{
    struct buf *bytes = &reader->head_bytes;
    size_t before = bytes->n;
    buf_add_str(bytes, *rest);
    bool small = bytes->n <= COPY_MAX;
    char *data = small ? h1_reader_copy(bytes->p, bytes->n) : bytes->p;
    const char *why = NULL;
    enum h1_result result =
        h1_head_parse(data, bytes->n, reader->seen, reader->head_request, &reader->head, &why);
    if (result == H1_OK) {
        h1_reader_log_head(reader);
        h1_body_init(&reader->decoder, &reader->head);
        *rest = str_skip(*rest, reader->head.size - before);
        reader->heads++;
    } else if (result == H1_PARTIAL)
        *rest = (struct str){NULL, 0};
    else
        h1_reader_stop(reader, result == H1_BAD ? "bad: " : "too large: ", why);
    if (small)
        free(data);
    reader->seen = result == H1_OK ? 0 : bytes->n;
    if (result == H1_OK)
        buf_reset(bytes);
    return result == H1_OK;
}

/* The same of a body. */
static inline bool h1_reader_take_body(struct h1_reader *reader, struct str *rest)
{
    bool small = rest->n <= COPY_MAX;
    char *copy = small ? h1_reader_copy(rest->p, rest->n) : NULL;
    size_t used;
    struct str piece;
    const char *why = NULL;
    uint64_t certain = h1_body_certain(&reader->decoder);
    enum h1_body_event event =
        h1_body_feed(&reader->decoder, small ? copy : rest->p, rest->n, &used, &piece, &why);
    if (piece.n > certain && certain > 0)
        h1_reader_stop(reader, "wrong: ", "more body bytes than were certain");
    buf_add_str(&reader->body, piece);
    *rest = str_skip(*rest, used);
    free(copy);
    if (event == H1_BODY_MORE && rest->n > 0)
        h1_reader_stop(reader, "wrong: ", "input left over");
    if (event == H1_BODY_BAD || event == H1_BODY_TOO_LARGE)
        h1_reader_stop(reader, event == H1_BODY_BAD ? "bad: " : "too large: ", why);
    if (event == H1_BODY_DONE)
        h1_reader_log_body(reader);
    return event == H1_BODY_DONE;
}

static inline void h1_reader_feed(struct h1_reader *reader, struct str rest)
{
    while (!reader->over && rest.n > 0) {
        if (!reader->in_body && reader->heads > 0 && !reader->head.keep_alive &&
            reader->head.status >= 200) {
            h1_reader_stop(reader, "extra", "");
            return;
        }
        if (!reader->in_body) {
            if (!h1_reader_take_head(reader, &rest))
                continue;
            reader->in_body = true;
            if (reader->head.status == 101)
                h1_reader_stop(reader, "upgrade", "");
        }
        /* A body may end without another byte. */
        while (!reader->over && reader->in_body) {
            if (h1_reader_take_body(reader, &rest))
                reader->in_body = false;
            else if (rest.n == 0)
                return;
        }
    }
}

static inline void h1_reader_init(struct h1_reader *reader, bool head_request)
{
    *reader = (struct h1_reader){.head_request = head_request};
    buf_init(&reader->log, BUF_NO_MAX);
    buf_init(&reader->body, BUF_NO_MAX);
    buf_init(&reader->head_bytes, BUF_NO_MAX);
}

/* The end of the connection. */
static inline void h1_reader_end(struct h1_reader *reader)
{
    if (reader->over)
        return;
    if (reader->in_body && h1_body_at_eof(&reader->decoder)) {
        h1_reader_log_body(reader);
        reader->in_body = false;
    }
    bool whole = reader->heads > 0 && !reader->in_body && reader->head_bytes.n == 0 &&
                 reader->head.status >= 200;
    h1_reader_stop(reader, whole ? "end" : "partial", "");
}

/* Feeds all of bytes, up to `most` at a time (0: whole; else, with rng, random sizes up to it), and
 * the end of the connection. The log is reader->log. */
static inline void h1_reader_run(struct h1_reader *reader, struct str bytes, size_t most,
                                 struct rng *rng, bool head_request)
{
    h1_reader_init(reader, head_request);
    while (bytes.n > 0 && !reader->over) {
        size_t n = most == 0 ? bytes.n : rng ? 1 + rng_below(rng, most) : most;
        n = n < bytes.n ? n : bytes.n;
        h1_reader_feed(reader, (struct str){bytes.p, n});
        bytes = str_skip(bytes, n);
    }
    h1_reader_end(reader);
}

static inline void h1_reader_fini(struct h1_reader *reader)
{
    buf_fini(&reader->log);
    buf_fini(&reader->body);
    buf_fini(&reader->head_bytes);
}

#endif
