/*
 * HTTP/1 responses from bytes (RFC 9112): a parser of heads and a decoder of bodies. Pure: no
 * I/O, no allocation, any split of the input gives the same result. What is lenient and what is an
 * error is told in docs/http1.md.
 */
#ifndef HTTP_H1_PARSE_H
#define HTTP_H1_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define H1_HEAD_MAX (300 * 1024)
#define H1_FIELDS_MAX 5000
#define H1_CHUNK_LINE_MAX 4096
#define H1_TRAILERS_MAX (64 * 1024)

enum h1_framing {
    H1_NO_BODY,    /* HEAD, 1xx, 204, 304, or Content-Length: 0 */
    H1_LENGTH,     /* Content-Length */
    H1_CHUNKED,    /* Transfer-Encoding: chunked, which wins over a length */
    H1_UNTIL_CLOSE /* neither */
};

struct h1_head {
    uint16_t status;   /* 100 to 999 */
    uint8_t minor;     /* HTTP/1.minor */
    bool keep_alive;   /* the connection may be used again, as far as the head says */
    bool lenient;      /* something was accepted that a strict reader refuses: bare LF, … */
    bool both_lengths; /* Content-Length beside chunked: chunked wins, not kept alive */
    bool has_location; /* there is at least one such field: look them up only then */
    bool has_set_cookie;
    enum h1_framing framing;
    uint64_t length;   /* of H1_LENGTH */
    struct str fields; /* the field lines, for h1_field_next; a slice of the input */
    size_t size;       /* bytes of the head, its empty line included */
};

enum h1_result { H1_PARTIAL, H1_OK, H1_BAD, H1_TOO_LARGE };

/* *why for bytes that begin no HTTP/1 response. */
extern const char h1_no_status_line[];

/*
 * Parses one response head at data[0…n). `seen` bytes of it have been given before without
 * success (0 at first): the search for the end starts near there, so that a head in drips costs
 * linear time. `head_request`: the request was HEAD (or CONNECT's 2xx is none of this parser's).
 * One or more empty lines before the status line are H1_BAD. On H1_BAD and H1_TOO_LARGE *why is
 * a static text ("two different Content-Length"). On H1_PARTIAL nothing is written to *head.
 * A malformed head is reported as soon as the status line is seen to be none (so that binary
 * garbage or another protocol's banner without line ends is H1_BAD and not H1_PARTIAL for ever).
 * Any other fault is reported once the head is whole, so that a head cut short is H1_PARTIAL
 * however it was split.
 */
enum h1_result h1_head_parse(const char *data, size_t n, size_t seen, bool head_request,
                             struct h1_head *head, const char **why);

/* The next field of head.fields (or of trailers): name and value as they stand, the value without
 * blanks around it; folded lines are still folded inside the value: see h1_unfold. False at the
 * end. *fields is moved on. Only for fields that h1_head_parse has accepted. */
bool h1_field_next(struct str *fields, struct str *name, struct str *value);

/* The next field called name (any case), as h1_field_next gives it. */
bool h1_field_take(struct str *fields, struct str name, struct str *value);

/* Is there a line break (obsolete folding) in the value? */
bool h1_is_folded(struct str value);
/* Writes the value with each fold as one blank to out (at least value.n bytes); its length. */
size_t h1_unfold(struct str value, char *out);

/* The value of the first field called name (any case), or false. */
bool h1_field_find(struct str fields, struct str name, struct str *value);

/* A body decoder; init it from a head. */
struct h1_body {
    enum h1_framing framing;
    uint8_t state;
    uint8_t digits;      /* of the chunk's size so far */
    bool lenient;        /* as in struct h1_head, of the trailers */
    uint64_t remaining;  /* of the length or of the current chunk; fields while in the trailers */
    uint32_t line_bytes; /* of the chunk line or trailers so far */
};

void h1_body_init(struct h1_body *body, const struct h1_head *head);

enum h1_body_event {
    H1_BODY_MORE, /* all input was taken, and more is needed */
    H1_BODY_DATA, /* *piece is a slice of body bytes; call again with the rest */
    H1_BODY_DONE, /* the body is whole; bytes past *used belong to nobody */
    H1_BODY_BAD,
    H1_BODY_TOO_LARGE
};

/*
 * Decodes from data[0…n); *used says how many bytes were taken, *piece (with H1_BODY_DATA) the
 * body bytes among them; with H1_BODY_DONE a last piece may be there too (piece->n > 0).
 * Never reads past n. *why as above.
 */
enum h1_body_event h1_body_feed(struct h1_body *body, const char *data, size_t n, size_t *used,
                                struct str *piece, const char **why);

/* The connection ended in an orderly way: is the body whole now? (H1_UNTIL_CLOSE: yes.) */
bool h1_body_at_eof(const struct h1_body *body);

/* How many bytes the decoder will certainly take as body bytes next, whatever they are: what may
 * be thrown away unread. 0 if it has to look; UINT64_MAX until the connection closes. */
uint64_t h1_body_certain(const struct h1_body *body);
/* n bytes (≤ h1_body_certain) were thrown away: as if they had been fed; true if the body is whole
 * with them. */
bool h1_body_skip(struct h1_body *body, uint64_t n);

#endif
