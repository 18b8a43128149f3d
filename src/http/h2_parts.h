/* The HTTP/2 session in two parts: h2.c has what is asked of it, h2_events.c what nghttp2 tells. */
#ifndef HTTP_H2_PARTS_H
#define HTTP_H2_PARTS_H

#include <stdbool.h>

#include "base/buf.h"
#include "http/exchange.h"
#include "http/h2_fields.h"
#include "http/session.h"

#define H2_STREAMS_UNLIMITED 100 /* on a connection, where the server sets no limit */

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
    bool had_room;    /* there was room for an exchange at some time */
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

/* nghttp2's session, its options and callbacks set. */
nghttp2_session *h2_session_new(struct h2 *h2);

/* The exchange has ended or is forgotten; the stream lives on until nghttp2 closes it. */
struct exchange *h2_detach(struct h2 *h2, struct h2_stream *stream);
void h2_stream_failed(struct h2 *h2, struct h2_stream *stream, enum outcome outcome,
                      const char *text, bool retry);
void h2_stream_free(struct h2_stream *stream);

#endif
