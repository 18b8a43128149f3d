/*
 * The inner loops of the head's parser, over the H1_BLOCK bytes at p. Both may stop early at rare
 * bytes (TAB in text, digits in names), so the callers look at what stopped them.
 */
#ifndef HTTP_H1_SCAN_H
#define HTTP_H1_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "http/h1_chars.h"

#define H1_BLOCK 16

#ifdef __SSE2__

/* Is there a control character among the H1_BLOCK bytes at p? *stop is the first one. */
static inline bool h1_text_stops(const char *p, const char **stop)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v);
    __m128i delete = _mm_cmpeq_epi8(v, _mm_set1_epi8(0x7f));
    unsigned stops = (unsigned)_mm_movemask_epi8(_mm_or_si128(control, delete));
    if (stops == 0)
        return false;
    *stop = p + (unsigned)__builtin_ctz(stops);
    return true;
}

/* The first of the H1_BLOCK bytes at p that is neither letter nor dash, or the byte behind. */
static inline const char *h1_name_stop(const char *p)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i letter = _mm_sub_epi8(_mm_or_si128(v, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));
    letter = _mm_cmpeq_epi8(_mm_min_epu8(letter, _mm_set1_epi8(25)), letter);
    __m128i dash = _mm_cmpeq_epi8(v, _mm_set1_epi8('-'));
    unsigned stops = ~(unsigned)_mm_movemask_epi8(_mm_or_si128(letter, dash));
    return p + (unsigned)__builtin_ctz(stops);
}

#else

#define H1_EACH_BYTE(c) (UINT64_MAX / 255 * (c))

/* Has the word at p a byte below 0x20, or 0x7f? */
static inline bool h1_word_stops(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof(word));
    uint64_t delete = word ^ H1_EACH_BYTE(0x7f);
    return (((word - H1_EACH_BYTE(0x20)) & ~word) | ((delete - H1_EACH_BYTE(1)) & ~delete)) &
           H1_EACH_BYTE(0x80);
}

static inline bool h1_text_stops(const char *p, const char **stop)
{
    if (!h1_word_stops(p) && !h1_word_stops(p + sizeof(uint64_t)))
        return false;
    for (const char *end = p + H1_BLOCK; p < end; p++) {
        if (!h1_is_text(*p)) {
            *stop = p;
            return true;
        }
    }
    return false;
}

static inline const char *h1_name_stop(const char *p)
{
    const char *end = p + H1_BLOCK;
    while (p < end && h1_is_token(*p))
        p++;
    return p;
}

#endif

#endif
