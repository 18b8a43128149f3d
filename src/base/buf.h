/*
 * A growing run of bytes with a stated maximum. What would pass the maximum is not added at all,
 * and the buffer remembers it (`full`), so that a chain of adds needs one check at its end.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct buf {
    char *p;
    size_t n, cap, max;
    bool full; /* an add was refused since the last reset */
};

#define BUF_NO_MAX SIZE_MAX

/* Allocates nothing. */
void buf_init(struct buf *buf, size_t max);
void buf_fini(struct buf *buf);
/* Empties it, keeps the memory. */
static inline void buf_reset(struct buf *buf)
{
    buf->n = 0;
    buf->full = false;
}
bool buf_grow(struct buf *buf, size_t n);
/* Room for n more bytes at buf->p + buf->n; false (and full) if that passes the maximum. */
static inline bool buf_reserve(struct buf *buf, size_t n)
{
    return n <= buf->cap - buf->n || buf_grow(buf, n);
}
/* Each adds its bytes and returns true, or adds nothing, sets full and returns false. */
static inline bool buf_add(struct buf *buf, const void *bytes, size_t n)
{
    if (!buf_reserve(buf, n))
        return false;
    if (n)
        memcpy(buf->p + buf->n, bytes, n);
    buf->n += n;
    return true;
}
static inline bool buf_add_str(struct buf *buf, struct str s)
{
    return buf_add(buf, s.p, s.n);
}
static inline bool buf_add_char(struct buf *buf, char c)
{
    if (!buf_reserve(buf, 1))
        return false;
    buf->p[buf->n++] = c;
    return true;
}
/* n times c. */
bool buf_add_fill(struct buf *buf, char c, size_t n);
/* Decimal. */
bool buf_add_u64(struct buf *buf, uint64_t value);
bool buf_add_i64(struct buf *buf, int64_t value);
/* printf, for set-up and reports, never on the request path. Locale "C" is assumed. */
bool buf_addf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Gives its memory back, and so its bytes, if it is more than `keep` bytes. */
static inline void buf_shrink(struct buf *buf, size_t keep)
{
    if (buf->cap > keep) {
        buf_fini(buf);
    }
}

static inline struct str buf_str(const struct buf *buf)
{
    return (struct str){buf->p, buf->n};
}
/* The bytes from offset `from` on. */
static inline struct str buf_str_from(const struct buf *buf, size_t from)
{
    return (struct str){buf->p ? buf->p + from : NULL, buf->n - from};
}

#endif
