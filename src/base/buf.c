#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

#define CAP_FIRST 64

void buf_init(struct buf *buf, size_t max)
{
    *buf = (struct buf){.max = max};
}

void buf_fini(struct buf *buf)
{
    free(buf->p);
    buf_init(buf, buf->max);
}

bool buf_grow(struct buf *buf, size_t n)
{
    size_t cap;

    if (n > buf->max - buf->n) {
        buf->full = true;
        return false;
    }
    cap = buf->cap > SIZE_MAX / 2 ? SIZE_MAX : buf->cap * 2;
    if (cap < CAP_FIRST)
        cap = CAP_FIRST;
    if (cap < buf->n + n)
        cap = buf->n + n;
    if (cap > buf->max)
        cap = buf->max;
    buf->p = xrealloc(buf->p, cap);
    buf->cap = cap;
    return true;
}

bool buf_add_fill(struct buf *buf, char c, size_t n)
{
    if (!buf_reserve(buf, n))
        return false;
    if (n)
        memset(buf->p + buf->n, c, n);
    buf->n += n;
    return true;
}

/* The digits of value, written backwards from end; where they begin. */
static char *write_digits(char *end, uint64_t value)
{
    do {
        *--end = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    return end;
}

bool buf_add_u64(struct buf *buf, uint64_t value)
{
    char digits[20];
    char *end = digits + sizeof(digits);
    char *p = write_digits(end, value);

    return buf_add(buf, p, (size_t)(end - p));
}

bool buf_add_i64(struct buf *buf, int64_t value)
{
    char digits[20];
    char *end = digits + sizeof(digits);
    char *p = write_digits(end, value < 0 ? -(uint64_t)value : (uint64_t)value);

    if (value < 0)
        *--p = '-';
    return buf_add(buf, p, (size_t)(end - p));
}

bool buf_addf(struct buf *buf, const char *format, ...)
{
    char small[256];
    char *text = small;
    va_list args;
    bool added;
    int n;

    va_start(args, format);
    n = vsnprintf(small, sizeof(small), format, args);
    va_end(args);
    if (n >= (int)sizeof(small)) {
        va_start(args, format);
        n = vasprintf(&text, format, args);
        va_end(args);
    }
    if (n < 0)
        mem_out();
    added = buf_add(buf, text, (size_t)n);
    if (text != small)
        free(text);
    return added;
}
