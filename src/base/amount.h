/*
 * Amounts as people write them: durations ("30s", "1m30s", "500ms"), sizes ("64MiB", "10k") and
 * rates ("100/s", "6000/m"). Pure.
 */
#ifndef BASE_AMOUNT_H
#define BASE_AMOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define AMOUNT_MAX_NS (1000000000ULL * 1000000000ULL) /* about 31 years */
#define AMOUNT_MAX_BYTES (1ULL << 40)

/* A number with ms, s, m or h, or several, the larger unit first; a number alone is seconds. False
 * if text is none of these, or the sum is zero or above AMOUNT_MAX_NS. */
bool amount_duration(struct str text, uint64_t *ns);

/* As amount_duration; nothing at all ("0s") is a duration, too. */
bool amount_duration_or_zero(struct str text, uint64_t *ns);

/* Seconds, at most AMOUNT_MAX_NS, to the nearest nanosecond. */
uint64_t amount_of_seconds(double seconds);

/* A whole number of bytes, or with k, M or G (also KiB, MiB, GiB; in any case) of 1,024, 1,024² or
 * 1,024³ of them. False if text is none of these or above AMOUNT_MAX_BYTES. */
bool amount_size(struct str text, uint64_t *bytes);

/* How often in a second: a number with /s, /m or /h; without one of them /s. *has_unit tells
 * whether it had one, *requests whether an "r" stood before it ("100r/s"): requests rather than
 * iterations. False if text is none of these. */
bool amount_rate(struct str text, double *per_second, bool *has_unit, bool *requests);

#endif
