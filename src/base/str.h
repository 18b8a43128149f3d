/*
 * Slices of bytes: a pointer and a length, not terminated and not owned. Whoever made the bytes
 * says how long they live.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *p;
    size_t n;
};

/* A slice of a string literal. */
#define STR(literal) ((struct str){"" literal, sizeof(literal) - 1})

/* The slice of a terminated string; of NULL, the empty slice. */
static inline struct str str_of(const char *s)
{
    return (struct str){s, s ? strlen(s) : 0};
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* Byte-wise order, as memcmp, a prefix first: < 0, 0, > 0. */
int str_cmp(struct str a, struct str b);

/* Equal but for the case of ASCII letters. */
bool str_eq_nocase(struct str a, struct str b);

bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);

/* The index of the first c, or s.n. */
size_t str_find(struct str s, char c);

/* s without its first n bytes (all of them if there are fewer). */
struct str str_skip(struct str s, size_t n);

/* s without leading and trailing blanks, tabs, CRs and LFs. */
struct str str_trim(struct str s);

/* Decimal digits only, at least one, no overflow; else false and *out is untouched. */
bool str_to_u64(struct str s, uint64_t *out);

/* As str_to_u64 with an optional sign. */
bool str_to_i64(struct str s, int64_t *out);

/* A finite decimal number ("1", "0.5", "1e3"; no hex, inf, nan or blanks); else false. Does not
 * depend on the locale. */
bool str_to_double(struct str s, double *out);

#endif
