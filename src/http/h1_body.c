#include "http/h1_parse.h"

#include "http/h1_chars.h"

#define UNLIKELY(x) __builtin_expect(!!(x), 0)

#define SIZE_DIGITS_MAX 16

enum state {
    DONE,
    BYTES,     /* of the length or of the chunk; until the connection closes */
    SIZE,      /* the digits of a chunk's size */
    EXTENSION, /* from ';' to the end of a chunk's line */
    SIZE_LF,   /* CR of the chunk's line seen */
    DATA_CR,   /* the line end behind a chunk's bytes */
    DATA_LF,
    LINE, /* the beginning of a line of the trailers */
    NAME,
    VALUE,
    VALUE_LF, /* CR of a trailer seen */
    LAST_LF   /* CR of the last line seen */
};

void h1_body_init(struct h1_body *body, const struct h1_head *head)
{
    *body = (struct h1_body){.framing = head->framing, .state = DONE};
    if (head->framing == H1_CHUNKED)
        body->state = SIZE;
    else if (head->framing == H1_UNTIL_CLOSE)
        body->state = BYTES;
    else if (head->framing == H1_LENGTH && head->length > 0) {
        body->state = BYTES;
        body->remaining = head->length;
    }
}

/* What follows the last of a length's or chunk's bytes. */
static void bytes_end(struct h1_body *body)
{
    body->state = body->framing == H1_CHUNKED ? DATA_CR : DONE;
}

static enum h1_body_event take_bytes(struct h1_body *body, const char *p, size_t n,
                                     struct str *piece)
{
    if (n == 0)
        return H1_BODY_MORE;
    *piece = (struct str){p, n};
    if (body->framing == H1_UNTIL_CLOSE)
        return H1_BODY_DATA;
    if (n > body->remaining)
        piece->n = (size_t)body->remaining;
    body->remaining -= piece->n;
    if (body->remaining == 0)
        bytes_end(body);
    return body->state == DONE ? H1_BODY_DONE : H1_BODY_DATA;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* RFC 9112 §7.1: no blanks around the number, and a line end of CR and LF only. NULL if c fits. */
static const char *step_chunk(struct h1_body *body, char c)
{
    int digit;

    switch (body->state) {
    case SIZE:
        if ((digit = hex_value(c)) >= 0) {
            if (body->digits++ == SIZE_DIGITS_MAX)
                return "chunk size of more than 16 digits";
            body->remaining = body->remaining << 4 | (unsigned)digit;
            return NULL;
        }
        if (body->digits == 0 || (c != ';' && c != '\r'))
            return "bad chunk size";
        body->state = c == ';' ? EXTENSION : SIZE_LF;
        return NULL;
    case EXTENSION:
        if (c == '\r')
            body->state = SIZE_LF;
        else if (!h1_is_text(c))
            return "control character in a chunk extension";
        return NULL;
    case SIZE_LF:
        body->state = body->remaining > 0 ? BYTES : LINE;
        body->digits = 0;
        body->line_bytes = 0;
        return c == '\n' ? NULL : "chunk size not followed by CR LF";
    case DATA_CR:
        body->state = DATA_LF;
        return c == '\r' ? NULL : "chunk not followed by CR LF";
    default: /* DATA_LF */
        body->state = SIZE;
        body->line_bytes = 0;
        return c == '\n' ? NULL : "chunk not followed by CR LF";
    }
}

/* A line end of the trailers, of which CR may have been seen. */
static const char *end_trailer(struct h1_body *body, char c, bool after_cr)
{
    if (c != '\n')
        return h1_why_no_text(after_cr ? '\r' : c);
    if (!after_cr)
        body->lenient = true;
    body->state = LINE;
    return NULL;
}

/* RFC 9112 §5, §7.1.2: the rules of a head's fields. While here, `remaining` counts the fields. */
static const char *step_trailer(struct h1_body *body, char c)
{
    switch (body->state) {
    case LINE:
        if (h1_is_token(c)) {
            body->state = NAME;
            body->remaining++;
            return NULL;
        }
        if (c == '\r') {
            body->state = LAST_LF;
            return NULL;
        }
        if (c == '\n' || (h1_is_blank(c) && body->remaining > 0)) {
            body->lenient = true;
            body->state = c == '\n' ? DONE : VALUE;
            return NULL;
        }
        return c == ':' ? "empty trailer name" : "bad byte in a trailer";
    case NAME:
        if (c == ':')
            body->state = VALUE;
        else if (!h1_is_token(c))
            return "bad byte in a trailer's name";
        return NULL;
    case VALUE:
        if (c == '\r')
            body->state = VALUE_LF;
        else if (!h1_is_text(c))
            return end_trailer(body, c, false);
        return NULL;
    case VALUE_LF:
        return end_trailer(body, c, true);
    default: /* LAST_LF */
        body->state = DONE;
        return c == '\n' ? NULL : h1_why_no_text('\r');
    }
}

/* The limits of what has to be looked at. */
static const char *too_much(const struct h1_body *body)
{
    if (body->state < LINE)
        return body->line_bytes > H1_CHUNK_LINE_MAX ? "chunk line longer than 4 KiB" : NULL;
    if (body->line_bytes > H1_TRAILERS_MAX)
        return "trailers larger than 64 KiB";
    return body->remaining > H1_FIELDS_MAX ? "more than 5000 trailers" : NULL;
}

enum h1_body_event h1_body_feed(struct h1_body *body, const char *data, size_t n, size_t *used,
                                struct str *piece, const char **why)
{
    size_t at = 0;
    const char *wrong = NULL;
    enum h1_body_event event = H1_BODY_MORE;

    *piece = (struct str){NULL, 0};
    while (at < n && body->state > BYTES && event == H1_BODY_MORE) {
        char c = data[at++];
        body->line_bytes++;
        if (UNLIKELY(wrong = too_much(body)))
            event = H1_BODY_TOO_LARGE;
        else if (UNLIKELY(wrong = body->state < LINE ? step_chunk(body, c) : step_trailer(body, c)))
            event = H1_BODY_BAD;
    }
    if (event != H1_BODY_MORE)
        *why = wrong;
    else if (body->state == DONE)
        event = H1_BODY_DONE;
    else if (body->state == BYTES) {
        event = take_bytes(body, data + at, n - at, piece);
        at += piece->n;
    }
    *used = at;
    return event;
}

bool h1_body_at_eof(const struct h1_body *body)
{
    return body->state == DONE || body->framing == H1_UNTIL_CLOSE;
}

uint64_t h1_body_certain(const struct h1_body *body)
{
    if (body->state != BYTES)
        return 0;
    if (body->framing == H1_UNTIL_CLOSE)
        return UINT64_MAX;
    return body->remaining < UINT64_MAX ? body->remaining : UINT64_MAX - 1;
}

bool h1_body_skip(struct h1_body *body, uint64_t n)
{
    if (body->state == BYTES && body->framing != H1_UNTIL_CLOSE) {
        body->remaining -= n;
        if (body->remaining == 0)
            bytes_end(body);
    }
    return body->state == DONE;
}
