/* Fast steps over JSON text, for the json modules alone. A pointer past the last byte is `end`. */
#ifndef BASE_JSON_SCAN_H
#define BASE_JSON_SCAN_H

#include <stdbool.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

static inline bool json_is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const char *json_skip_many_blanks(const char *p, const char *end)
{
#ifdef __SSE2__
    /* An indentation, mostly. */
    for (; end - p >= 16; p += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(' ')),
                                   _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n')));
        int mask = _mm_movemask_epi8(hit) ^ 0xFFFF;

        if (mask) {
            p += __builtin_ctz((unsigned)mask);
            break;
        }
    }
#endif
    while (p < end && json_is_blank(*p))
        p++;
    return p;
}

/* Between tokens there is mostly none or one. p < end, and what ends there does so with a byte that
 * is no blank. */
static inline const char *json_skip_blanks(const char *p, const char *end)
{
    if ((unsigned char)*p > ' ')
        return p;
    if (*p == ' ' && (unsigned char)p[1] > ' ')
        return p + 1;
    return json_skip_many_blanks(p, end);
}

/* To the next byte of a string that is not plain ASCII: '"', '\\', a control character, UTF-8. */
static inline const char *json_scan_plain(const char *p, const char *end)
{
#ifdef __SSE2__
    for (; end - p >= 16; p += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                   _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
        int mask;

        /* Signed, bytes from 0x80 on are less than a blank too. */
        hit = _mm_or_si128(hit, _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)));
        mask = _mm_movemask_epi8(hit);
        if (mask)
            return p + __builtin_ctz((unsigned)mask);
    }
#endif
    while (p < end && *p != '"' && *p != '\\' && (signed char)*p >= 0x20)
        p++;
    return p;
}

/* To the next '"' or '\\'. */
static inline const char *json_scan_quote(const char *p, const char *end)
{
#ifdef __SSE2__
    for (; end - p >= 16; p += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                   _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
        int mask = _mm_movemask_epi8(hit);

        if (mask)
            return p + __builtin_ctz((unsigned)mask);
    }
#endif
    while (p < end && *p != '"' && *p != '\\')
        p++;
    return p;
}

/* To the next '"' or bracket of either kind. */
static inline const char *json_scan_bracket(const char *p, const char *end)
{
#ifdef __SSE2__
    for (; end - p >= 16; p += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        /* With this bit '[' is '{' and ']' is '}'. */
        __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
        __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')),
                                   _mm_cmpeq_epi8(folded, _mm_set1_epi8('}')));
        int mask;

        hit = _mm_or_si128(hit, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
        mask = _mm_movemask_epi8(hit);
        if (mask)
            return p + __builtin_ctz((unsigned)mask);
    }
#endif
    while (p < end && *p != '"' && (*p | 0x20) != '{' && (*p | 0x20) != '}')
        p++;
    return p;
}

/* From a checked string's opening quote to behind its closing one. */
static inline const char *json_skip_string(const char *p, const char *end)
{
    p = json_scan_quote(p + 1, end);
    while (*p == '\\')
        p = json_scan_quote(p + 2, end);
    return p + 1;
}

#endif
