#include "base/text.h"

#include <stdio.h>

uint32_t utf8_decode(struct str s, size_t *len)
{
    const unsigned char *p = (const unsigned char *)s.p;
    uint32_t lead = p[0];

    *len = 1;
    if (lead < 0x80)
        return lead;
    if (lead >= 0xC2 && lead < 0xE0) {
        if (s.n < 2 || (p[1] & 0xC0) != 0x80)
            return UINT32_MAX;
        *len = 2;
        return (lead & 0x1F) << 6 | (p[1] & 0x3FU);
    }
    if ((lead & 0xF0) == 0xE0) {
        uint32_t code;

        if (s.n < 3 || (p[1] & 0xC0) != 0x80 || (p[2] & 0xC0) != 0x80)
            return UINT32_MAX;
        code = (lead & 0x0F) << 12 | (p[1] & 0x3FU) << 6 | (p[2] & 0x3FU);
        if (code < 0x800 || (code >= 0xD800 && code < 0xE000))
            return UINT32_MAX;
        *len = 3;
        return code;
    }
    if (lead >= 0xF0 && lead < 0xF5) {
        uint32_t code;

        if (s.n < 4 || (p[1] & 0xC0) != 0x80 || (p[2] & 0xC0) != 0x80 || (p[3] & 0xC0) != 0x80)
            return UINT32_MAX;
        code = (lead & 0x07) << 18 | (p[1] & 0x3FU) << 12 | (p[2] & 0x3FU) << 6 | (p[3] & 0x3FU);
        if (code < 0x10000 || code > 0x10FFFF)
            return UINT32_MAX;
        *len = 4;
        return code;
    }
    return UINT32_MAX;
}

bool utf8_encode(struct buf *out, uint32_t code)
{
    char bytes[4];
    size_t n = 0;

    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        code = 0xFFFD;
    if (code < 0x80) {
        bytes[n++] = (char)code;
    } else if (code < 0x800) {
        bytes[n++] = (char)(0xC0 | code >> 6);
        bytes[n++] = (char)(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        bytes[n++] = (char)(0xE0 | code >> 12);
        bytes[n++] = (char)(0x80 | (code >> 6 & 0x3F));
        bytes[n++] = (char)(0x80 | (code & 0x3F));
    } else {
        bytes[n++] = (char)(0xF0 | code >> 18);
        bytes[n++] = (char)(0x80 | (code >> 12 & 0x3F));
        bytes[n++] = (char)(0x80 | (code >> 6 & 0x3F));
        bytes[n++] = (char)(0x80 | (code & 0x3F));
    }
    return buf_add(out, bytes, n);
}

/* The length of the valid UTF-8 that s begins with. */
static size_t valid_prefix(struct str s)
{
    size_t at = 0;

    while (at < s.n) {
        uint64_t word;
        size_t len;

        if (s.n - at >= sizeof(word)) {
            memcpy(&word, s.p + at, sizeof(word));
            if (!(word & 0x8080808080808080)) {
                at += sizeof(word);
                continue;
            }
        }
        if (utf8_decode(str_skip(s, at), &len) == UINT32_MAX)
            break;
        at += len;
    }
    return at;
}

bool utf8_valid(struct str s)
{
    return valid_prefix(s) == s.n;
}

/* An append in several steps is whole or taken back. */
static bool whole_or_nothing(struct buf *out, size_t start, bool ok)
{
    if (!ok)
        out->n = start;
    return ok;
}

bool utf8_repair(struct buf *out, struct str s)
{
    size_t start = out->n;
    bool ok = true;

    while (s.n && ok) {
        size_t n = valid_prefix(s);

        ok = buf_add(out, s.p, n);
        s = str_skip(s, n);
        if (s.n) {
            ok = ok && utf8_encode(out, 0xFFFD);
            s = str_skip(s, 1);
        }
    }
    return whole_or_nothing(out, start, ok);
}

/* Must a code point not reach a terminal as it is? UINT32_MAX, a stray byte, must not. */
static bool is_unsafe(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x202A && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069) || code == UINT32_MAX;
}

/* How an unsafe code point is shown; its length. `byte` is its first one. */
static size_t escape(uint32_t code, char byte, char out[12])
{
    int n;

    if (code == '\n' || code == '\r' || code == '\t')
        n = snprintf(out, 12, "\\%c", code == '\n' ? 'n' : code == '\r' ? 'r' : 't');
    else if (code < 0x80 || code == UINT32_MAX)
        n = snprintf(out, 12, "\\x%02X", (unsigned)(unsigned char)byte);
    else
        n = snprintf(out, 12, "\\u{%04X}", (unsigned)code);
    return (size_t)n;
}

/* The length of the printable ASCII that s begins with. */
static size_t plain_prefix(struct str s)
{
    size_t at = 0;

    while (at < s.n && s.p[at] >= 0x20 && s.p[at] < 0x7F)
        at++;
    return at;
}

bool text_printable(struct buf *out, struct str s, size_t max_bytes)
{
    size_t start = out->n;
    bool cut = s.n > max_bytes;
    size_t end = cut ? max_bytes : s.n;
    bool ok = true;

    for (size_t at = 0; at < end && ok;) {
        size_t len = plain_prefix((struct str){s.p + at, end - at});
        char escaped[12];
        uint32_t code;

        if (len) {
            ok = buf_add(out, s.p + at, len);
            at += len;
            continue;
        }
        code = utf8_decode(str_skip(s, at), &len);
        if (len > end - at)
            break;
        if (is_unsafe(code))
            ok = buf_add(out, escaped, escape(code, s.p[at], escaped));
        else
            ok = buf_add(out, s.p + at, len);
        at += len;
    }
    if (cut)
        ok = ok && buf_add_str(out, STR("…"));
    return whole_or_nothing(out, start, ok);
}

bool text_pad(struct buf *out, struct str s, size_t columns)
{
    size_t start = out->n;
    size_t width = text_width(s);
    bool ok = text_printable(out, s, SIZE_MAX) &&
              buf_add_fill(out, ' ', width < columns ? columns - width : 0);

    return whole_or_nothing(out, start, ok);
}

size_t text_width(struct str s)
{
    size_t width = 0;

    while (s.n) {
        size_t len = plain_prefix(s);
        char escaped[12];
        uint32_t code;

        width += len;
        s = str_skip(s, len);
        if (s.n == 0)
            break;
        code = utf8_decode(s, &len);
        width += is_unsafe(code) ? escape(code, *s.p, escaped) : text_code_width(code);
        s = str_skip(s, len);
    }
    return width;
}

/* Names are short; what is longer is nobody's typing error. */
#define NAME_MAX_BYTES 64

static unsigned char lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Damerau–Levenshtein, no substring edited twice (optimal string alignment), over bytes. */
static unsigned distance(struct str a, struct str b)
{
    unsigned rows[3][NAME_MAX_BYTES + 1];

    for (unsigned j = 0; j <= b.n; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= a.n; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i + 2) % 3];
        const unsigned *above2 = rows[(i + 1) % 3];

        row[0] = i;
        for (unsigned j = 1; j <= b.n; j++) {
            bool same = lower(a.p[i - 1]) == lower(b.p[j - 1]);

            row[j] = least(above[j - 1] + !same, least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && lower(a.p[i - 1]) == lower(b.p[j - 2]) &&
                lower(a.p[i - 2]) == lower(b.p[j - 1]))
                row[j] = least(row[j], above2[j - 2] + 1);
        }
    }
    return rows[a.n % 3][b.n];
}

const char *text_nearest(struct str name, const char *const *candidates, size_t n)
{
    unsigned limit = name.n <= 3 ? 1 : (unsigned)name.n / 3;
    const char *nearest = NULL;

    if (name.n > NAME_MAX_BYTES)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        struct str candidate = str_of(candidates[i]);
        unsigned far;

        if (candidate.n > name.n + limit || name.n > candidate.n + limit ||
            candidate.n > NAME_MAX_BYTES)
            continue;
        far = distance(name, candidate);
        /* Nothing in common is not near, however short the names. */
        if (far > limit || far >= (name.n > candidate.n ? name.n : candidate.n))
            continue;
        if (far == 0)
            return candidates[i];
        nearest = candidates[i];
        limit = far - 1;
    }
    return nearest;
}
