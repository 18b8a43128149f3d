#include "http/h1_parse.h"

#include "http/h1_chars.h"
#include "http/h1_scan.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* "HTTP/1.1 200" and the byte behind it, which tells that the code has no further digit. */
#define STATUS_START 13

#define TEXT H1_CHAR_TEXT
#define BOTH (H1_CHAR_TEXT | H1_CHAR_TOKEN)
const uint8_t h1_char_kinds[256] = {
    ['\t'] = TEXT,         [' '] = TEXT,         ['!'] = BOTH,         ['"'] = TEXT,
    ['#' ... '\''] = BOTH, ['(' ... ')'] = TEXT, ['*' ... '+'] = BOTH, [','] = TEXT,
    ['-' ... '.'] = BOTH,  ['/'] = TEXT,         ['0' ... '9'] = BOTH, [':' ... '@'] = TEXT,
    ['A' ... 'Z'] = BOTH,  ['[' ... ']'] = TEXT, ['^' ... 'z'] = BOTH, ['{'] = TEXT,
    ['|'] = BOTH,          ['}'] = TEXT,         ['~'] = BOTH,         [0x80 ... 0xff] = TEXT,
};
#undef TEXT
#undef BOTH

/* One pass over a head. Its functions give NULL or false where it ends without success; result and
 * why say how. */
struct walk {
    const char *begin, *end;
    const char *last; /* where the last whole block with a byte behind it begins, or NULL */
    enum h1_result result;
    const char *why;
    struct h1_head head;
    bool has_length, has_coding, chunked; /* chunked: the last coding so far is */
    bool close, keep_alive;
};

static bool stop(struct walk *walk, enum h1_result result, const char *why)
{
    walk->result = result;
    walk->why = why;
    return false;
}

static inline uint32_t differs(const char *text, const char *word, size_t at)
{
    uint32_t a, b;
    memcpy(&a, text + at, sizeof(a));
    memcpy(&b, word + at, sizeof(b));
    return (a | 0x20202020) ^ b;
}

/* Is text, of n bytes, this word in lower case letters and dashes, but for its case? n is a
 * constant of 5 to 20; text holds no control characters but those of folds. */
static inline __attribute__((always_inline)) bool same(const char *text, const char *word, size_t n)
{
    uint32_t all = differs(text, word, 0) | differs(text, word, n - 4);
    if (n > 8)
        all |= differs(text, word, 4);
    if (n > 12)
        all |= differs(text, word, 8);
    if (n > 16)
        all |= differs(text, word, 12);
    return all == 0;
}

#define IS_WORD(s, word) ((s).n == sizeof(word) - 1 && same((s).p, word, sizeof(word) - 1))

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Without blanks and folds around it. */
static inline struct str trim(const char *p, const char *end)
{
    while (p < end && is_space(*p))
        p++;
    while (p < end && is_space(end[-1]))
        end--;
    return (struct str){p, (size_t)(end - p)};
}

/* RFC 9110 §8.6: a number, or a list of the same one; at most 2^63 - 1, so that sums fit. */
static bool read_lengths(struct walk *walk, const char *p, const char *end)
{
    do {
        while (p < end && is_space(*p))
            p++;
        const char *digits = p;
        int64_t length = 0;
        for (unsigned digit; p < end && (digit = (unsigned char)*p - (unsigned)'0') <= 9; p++) {
            if (__builtin_mul_overflow(length, 10, &length) ||
                __builtin_add_overflow(length, digit, &length))
                return stop(walk, H1_BAD, "Content-Length is too large a number");
        }
        bool number = p > digits;
        while (p < end && is_space(*p))
            p++;
        if (!number || (p < end && *p != ','))
            return stop(walk, H1_BAD, "Content-Length is not a number");
        if (walk->has_length && walk->head.length != (uint64_t)length)
            return stop(walk, H1_BAD, "two different Content-Length");
        walk->head.lenient |= walk->has_length;
        walk->has_length = true;
        walk->head.length = (uint64_t)length;
    } while (p++ < end);
    return true;
}

/* Cuts the next element, perhaps an empty one, off a comma-separated list. False at its end. */
static bool list_next(struct str *list, struct str *element)
{
    if (list->p == NULL)
        return false;
    const char *comma = memchr(list->p, ',', list->n), *end = list->p + list->n;
    *element = trim(list->p, comma ? comma : end);
    *list = comma ? (struct str){comma + 1, (size_t)(end - comma - 1)} : (struct str){NULL, 0};
    return true;
}

/* RFC 9112 §6.1, §7. */
static bool read_codings(struct walk *walk, struct str value)
{
    struct str coding;
    while (list_next(&value, &coding)) {
        if (coding.n == 0)
            continue;
        if (walk->chunked)
            return stop(walk, H1_BAD, "Transfer-Encoding with a coding behind chunked");
        walk->chunked = IS_WORD(coding, "chunked");
    }
    walk->has_coding = true;
    return true;
}

/* RFC 9112 §9.3. */
static void read_connection(struct walk *walk, struct str value)
{
    if (LIKELY(IS_WORD(value, "keep-alive"))) {
        walk->keep_alive = true;
        return;
    }
    struct str option;
    while (list_next(&value, &option)) {
        walk->close |= IS_WORD(option, "close");
        walk->keep_alive |= IS_WORD(option, "keep-alive");
    }
}

/* The lengths (modulo 64) of the names that read_field looks at. */
#define LOOKED_AT (UINT64_C(1) << 0 | 1 << 8 | 1 << 10 | 1 << 14 | 1 << 17)

/* What the framing, the connection and the client's next steps depend on. */
static bool read_field(struct walk *walk, struct str name, const char *value, const char *end)
{
    switch (name.n) {
    case 0:
        return stop(walk, H1_BAD, "empty field name");
    case 8:
        walk->head.has_location |= same(name.p, "location", 8);
        return true;
    case 10:
        if (same(name.p, "connection", 10))
            read_connection(walk, trim(value, end));
        else
            walk->head.has_set_cookie |= same(name.p, "set-cookie", 10);
        return true;
    case 14:
        return !same(name.p, "content-length", 14) || read_lengths(walk, value, end);
    case 17:
        return !same(name.p, "transfer-encoding", 17) || read_codings(walk, trim(value, end));
    default:
        return true;
    }
}

static const char *pass_kind(const char *p, const char *end, uint8_t kind)
{
    while (p < end && (h1_char_kinds[(unsigned char)*p] & kind))
        p++;
    return p;
}

/* As line_end, for a line that does not end, or not by plain CR LF and another byte. */
static __attribute__((noinline)) const char *odd_line_end(struct walk *walk, const char *p,
                                                          const char **text_end)
{
    const char *end = walk->end;
    p = pass_kind(p, end, H1_CHAR_TEXT);
    *text_end = p;
    if (p < end && *p == '\n')
        walk->head.lenient = true;
    else if (p < end && *p == '\r' && (p + 1 == end || p[1] == '\n'))
        p++;
    else if (p < end)
        stop(walk, H1_BAD, h1_why_no_text(*p));
    return end - p >= 2 && *p == '\n' ? p + 1 : NULL;
}

/* Passes over text to the next line, of which at least a byte is there. */
static inline const char *line_end(struct walk *walk, const char *p, const char **text_end)
{
    while (p <= walk->last && !h1_text_stops(p, &p))
        p += H1_BLOCK;
    if (UNLIKELY(walk->end - p <= 2 || memcmp(p, "\r\n", 2) != 0))
        return odd_line_end(walk, p, text_end);
    *text_end = p;
    return p + 2;
}

/* RFC 9112 §5.2: a line that goes on with the value of the one before. */
static __attribute__((noinline)) const char *pass_fold(struct walk *walk, const char *p,
                                                       const char **text_end)
{
    walk->head.lenient = true;
    return line_end(walk, p, text_end);
}

/* The colon behind q, up to which a field name is good. */
static __attribute__((noinline)) const char *odd_name_end(struct walk *walk, const char *q)
{
    q = pass_kind(q, walk->end, H1_CHAR_TOKEN);
    if (q == walk->end)
        return NULL;
    if (*q == ':')
        return q;
    stop(walk, H1_BAD,
         *q == '\r' || *q == '\n' ? "field without a colon"
         : h1_is_blank(*q)        ? "blank in a field name"
                                  : "bad byte in a field name");
    return NULL;
}

static inline const char *name_end(struct walk *walk, const char *p)
{
    if (UNLIKELY(p > walk->last))
        return odd_name_end(walk, p);
    const char *q = h1_name_stop(p);
    return LIKELY(*q == ':') ? q : odd_name_end(walk, q);
}

/* The line at p, of which a byte is there, does not begin with a name. */
static bool read_end(struct walk *walk, const char *p)
{
    const char *q = p + (*p == '\r');
    if (q == walk->end)
        return false;
    if (*q != '\n')
        return stop(walk, H1_BAD,
                    h1_is_blank(*p) ? "folded line before any field" : h1_why_no_text(*p));
    walk->head.lenient |= q == p;
    walk->head.size = (size_t)(q + 1 - walk->begin);
    walk->head.fields.n = (size_t)(p - walk->head.fields.p);
    return true;
}

static bool read_fields(struct walk *walk, const char *p)
{
    unsigned fields = 0;
    walk->head.fields.p = p;
    bool more = (unsigned char)*p > ' ';
    while (more) {
        const char *name = p, *colon = name_end(walk, p), *text_end;
        if (UNLIKELY(!colon))
            return false;
        p = line_end(walk, colon + 1, &text_end);
        if (UNLIKELY(!p || (unsigned char)*p <= ' ')) {
            while (p && h1_is_blank(*p))
                p = pass_fold(walk, p, &text_end);
            if (!p)
                return false;
            more = (unsigned char)*p > ' ';
        }
        struct str key = {name, (size_t)(colon - name)};
        if ((LOOKED_AT >> (key.n & 63) & 1) && !read_field(walk, key, colon + 1, text_end))
            return false;
        fields++;
    }
    if (fields > H1_FIELDS_MAX)
        return stop(walk, H1_TOO_LARGE, "more than 5000 fields");
    return read_end(walk, p);
}

/* RFC 9112 §4: where the reason phrase begins. */
static const char *read_status(struct walk *walk)
{
    const char *p = walk->begin;
    walk->head.minor = (uint8_t)(p[7] - '0');
    walk->head.status = (uint16_t)((p[9] - '0') * 100 + (p[10] - '0') * 10 + (p[11] - '0'));
    if (p[STATUS_START - 1] == ' ')
        return p + STATUS_START;
    walk->head.lenient = true;
    return p + STATUS_START - 1;
}

/* RFC 9112 §6.3, §9.3. */
static bool decide(struct walk *walk, bool head_request)
{
    struct h1_head *head = &walk->head;
    if (UNLIKELY(walk->has_coding)) {
        if (!walk->chunked)
            return stop(walk, H1_BAD, "Transfer-Encoding does not end with chunked");
        head->both_lengths = walk->has_length;
        head->lenient |= head->minor == 0;
    }
    if (head_request || head->status < 200 || head->status == 204 || head->status == 304)
        head->framing = H1_NO_BODY;
    else if (walk->has_coding)
        head->framing = H1_CHUNKED;
    else if (walk->has_length)
        head->framing = head->length > 0 ? H1_LENGTH : H1_NO_BODY;
    else
        head->framing = H1_UNTIL_CLOSE;
    head->keep_alive = !walk->close &&
                       (head->minor > 0 || (walk->keep_alive && !walk->has_coding)) &&
                       !head->both_lengths && head->framing != H1_UNTIL_CLOSE;
    return true;
}

static inline bool is_status(const char *p)
{
    return memcmp(p, "HTTP/1.", 7) == 0 && is_digit(p[7]) && p[8] == ' ' && is_digit(p[9]) &&
           p[9] != '0' && is_digit(p[10]) && is_digit(p[11]) &&
           (p[12] == ' ' || p[12] == '\r' || p[12] == '\n');
}

/* Can the n bytes become a status line? */
static __attribute__((noinline)) bool status_begins(const char *p, size_t n)
{
    char line[STATUS_START] = "HTTP/1.1 200 ";
    if (n > 0)
        memcpy(line, p, n);
    return is_status(line);
}

/* Is there an empty line, whatever stands before it? The first `seen` bytes have none. */
static bool has_end(const char *data, size_t n, size_t seen)
{
    const char *p = data + (seen < 2 ? 0 : seen - 2), *end = data + n;
    while ((p = memchr(p, '\n', (size_t)(end - p)))) {
        p++;
        if ((p < end && *p == '\n') || (end - p >= 2 && *p == '\r' && p[1] == '\n'))
            return true;
    }
    return false;
}

/*
 * What is wrong inside a head counts only once the head is whole: were it told as soon as it is
 * met, the verdict on a head that is cut short would depend on how its bytes were split.
 */
static void walk_head(struct walk *walk, size_t seen, bool head_request)
{
    size_t n = (size_t)(walk->end - walk->begin);
    if (seen > 0 && !has_end(walk->begin, n, seen < n ? seen : n))
        return;
    const char *reason_end, *p = line_end(walk, read_status(walk), &reason_end);
    if (p && read_fields(walk, p) && decide(walk, head_request))
        walk->result = H1_OK;
    else if (walk->result != H1_PARTIAL && !has_end(walk->begin, n, 0))
        walk->result = H1_PARTIAL;
}

const char h1_no_status_line[] = "not an HTTP/1 status line";

enum h1_result h1_head_parse(const char *data, size_t n, size_t seen, bool head_request,
                             struct h1_head *head, const char **why)
{
    if (UNLIKELY(n < STATUS_START ? !status_begins(data, n) : !is_status(data))) {
        *why = h1_no_status_line;
        return H1_BAD;
    }
    if (n < STATUS_START)
        return H1_PARTIAL;
    size_t most = n < H1_HEAD_MAX ? n : H1_HEAD_MAX;
    struct walk walk = {
        .begin = data,
        .end = data + most,
        .last = most > H1_BLOCK ? data + most - H1_BLOCK - 1 : NULL,
        .result = H1_PARTIAL,
    };
    walk_head(&walk, seen, head_request);
    if (LIKELY(walk.result == H1_OK))
        *head = walk.head;
    else if (walk.result != H1_PARTIAL)
        *why = walk.why;
    else if (n > H1_HEAD_MAX) {
        *why = "head larger than 300 KiB";
        return H1_TOO_LARGE;
    }
    return walk.result;
}
