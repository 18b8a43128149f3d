/*
 * How figures and texts look on a terminal: colours, columns, times. What the formatters of this
 * layer share; they append to a buffer, in any thread.
 */
#ifndef OUT_STYLE_H
#define OUT_STYLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct style {
    bool color;
    bool nanosec;      /* times in ns instead of whole ms */
    bool show_secrets; /* -v given twice */
};

enum paint {
    PAINT_NONE,
    PAINT_RED,
    PAINT_GREEN,
    PAINT_YELLOW,
    PAINT_MAGENTA,
    PAINT_CYAN,
    PAINT_DIM,
    PAINT_BOLD_RED,
    PAINT_BOLD_GREEN,
    PAINT_BOLD_BLUE,
    PAINT_BOLD_CYAN,
    PAINT_COUNT
};

#define STYLE_COLUMN 25 /* the width of names and labels */
#define STYLE_MAX 4096  /* bytes that are shown of a name or another foreign text */

/* What turns a colour on; empty without style->color, never longer than STYLE_CODE_MAX. */
#define STYLE_CODE_MAX 8
struct str style_on(const struct style *style, enum paint paint);
/* What turns it off again. */
struct str style_off(const struct style *style, enum paint paint);
/* Writes text at p, where there must be room; its end. */
static inline char *style_put(char *p, struct str text)
{
    if (text.n)
        memcpy(p, text.p, text.n);
    return p + text.n;
}

/* Colour on and off, appended. */
void style_begin(struct buf *out, const struct style *style, enum paint paint);
void style_end(struct buf *out, const struct style *style, enum paint paint);

/* text, of our own making, in that colour. */
void style_add(struct buf *out, const struct style *style, enum paint paint, struct str text);
/* Foreign text, made printable; at most max_bytes of it, then "…". */
void style_printable(struct buf *out, const struct style *style, enum paint paint, struct str text,
                     size_t max_bytes);
/* The same, STYLE_MAX bytes at most, padded to STYLE_COLUMN, and a blank after it. */
void style_column(struct buf *out, const struct style *style, enum paint paint, struct str text);

/* "3ms" to the nearest, or "3141592ns". */
void style_time(struct buf *out, const struct style *style, uint64_t ns);
/* The same, written at p, at most STYLE_TIME_MAX bytes; its end. */
#define STYLE_TIME_MAX 22
char *style_put_time(char *p, const struct style *style, uint64_t ns);
/* A number's digits, 20 at most, written at p; their end. */
char *style_put_u64(char *p, uint64_t value);

/* value / 10^places, without zeros at the end but at least `least` digits after the point: of
 * 3810000, places 6: "3.81"; of 4000000, least 1: "4.0", least 0: "4". places ≤ 9. */
void style_decimal(struct buf *out, uint64_t value, unsigned places, unsigned least);

#endif
