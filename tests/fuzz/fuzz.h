/*
 * What the fuzz targets share. A target is one function that libFuzzer (or replay_main.c) calls
 * with bytes; whatever they are, it must return and every CHECK in it must hold.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Does not depend on NDEBUG. */
#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                  \
        }                                                                             \
    } while (0)

/* The first byte of what is left, or 0. */
static inline uint8_t fuzz_byte(struct str *rest)
{
    uint8_t byte = rest->n ? (uint8_t)rest->p[0] : 0;

    *rest = str_skip(*rest, 1);
    return byte;
}

/* What is left up to `end`, which is passed over; all of it if there is no end. */
static inline struct str fuzz_until(struct str *rest, char end)
{
    struct str part = {rest->p, str_find(*rest, end)};

    *rest = str_skip(*rest, part.n < rest->n ? part.n + 1 : part.n);
    return part;
}

static inline struct str fuzz_input(const uint8_t *data, size_t size)
{
    return (struct str){(const char *)data, size};
}

/* A number that depends on nothing but the bytes (FNV-1a). */
static inline uint64_t fuzz_hash(struct str s)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < s.n; i++)
        hash = (hash ^ (uint8_t)s.p[i]) * UINT64_C(1099511628211);
    return hash;
}

#endif
