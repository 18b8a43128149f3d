/*
 * Amounts as people write them: durations ("30s", "1m30s", "500ms") and sizes ("64MiB", "10k").
 * Pure.
 */
#ifndef CLI_DURATION_H
#define CLI_DURATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define DURATION_MAX_NS (1000000000ULL * 1000000000ULL) /* about 31 years */
#define SIZE_MAX_BYTES (1ULL << 40)

/* A number with ms, s, m or h, or several, the larger unit first; a number alone is seconds. False
 * if text is none of these, or the sum is zero or above DURATION_MAX_NS. */
bool duration_parse(struct str text, uint64_t *ns);

/* Seconds, at most DURATION_MAX_NS, to the nearest nanosecond. */
uint64_t duration_of_seconds(double seconds);

/* A whole number of bytes, or with k, M or G (also KiB, MiB, GiB; in any case) of 1,024, 1,024² or
 * 1,024³ of them. False if text is none of these or above SIZE_MAX_BYTES. */
bool size_parse(struct str text, uint64_t *bytes);

#endif
