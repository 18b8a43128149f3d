#include "out/style.h"

#include "base/clock.h"
#include "base/text.h"

static const char *const codes[PAINT_COUNT] = {
    [PAINT_NONE] = "",
    [PAINT_RED] = "\x1b[31m",
    [PAINT_GREEN] = "\x1b[32m",
    [PAINT_YELLOW] = "\x1b[33m",
    [PAINT_MAGENTA] = "\x1b[35m",
    [PAINT_CYAN] = "\x1b[36m",
    [PAINT_DIM] = "\x1b[2m",
    [PAINT_BOLD_RED] = "\x1b[1;31m",
    [PAINT_BOLD_GREEN] = "\x1b[1;32m",
    [PAINT_BOLD_BLUE] = "\x1b[1;34m",
    [PAINT_BOLD_CYAN] = "\x1b[1;36m",
};

void style_begin(struct buf *out, const struct style *style, enum paint paint)
{
    if (style->color && paint != PAINT_NONE)
        buf_add_str(out, str_of(codes[paint]));
}

void style_end(struct buf *out, const struct style *style, enum paint paint)
{
    if (style->color && paint != PAINT_NONE)
        buf_add_str(out, STR("\x1b[0m"));
}

void style_add(struct buf *out, const struct style *style, enum paint paint, struct str text)
{
    style_begin(out, style, paint);
    buf_add_str(out, text);
    style_end(out, style, paint);
}

#define EACH(byte) (0x0101010101010101ULL * (byte))

/* Nothing but printable ASCII, as almost every text is? Eight bytes at a time: in a byte below
 * 0x80, minus 0x20 borrows into the high bit below a blank, and plus 1 carries into it at DEL. */
static bool is_plain(struct str s)
{
    size_t at = 0;

    for (; at + 8 <= s.n; at += 8) {
        uint64_t word;

        memcpy(&word, s.p + at, 8);
        if ((word | (word - EACH(0x20)) | (word + EACH(1))) & EACH(0x80))
            return false;
    }
    for (; at < s.n; at++) {
        if (s.p[at] < 0x20 || s.p[at] > 0x7e)
            return false;
    }
    return true;
}

void style_printable(struct buf *out, const struct style *style, enum paint paint,
                     struct str text, size_t max_bytes)
{
    style_begin(out, style, paint);
    if (text.n <= max_bytes && is_plain(text))
        buf_add_str(out, text);
    else
        text_printable(out, text, max_bytes);
    style_end(out, style, paint);
}

void style_column(struct buf *out, const struct style *style, enum paint paint, struct str text)
{
    style_begin(out, style, paint);
    if (text.n > STYLE_MAX) {
        text_printable(out, text, STYLE_MAX);
    } else if (is_plain(text)) {
        buf_add_str(out, text);
        if (text.n < STYLE_COLUMN)
            buf_add_fill(out, ' ', STYLE_COLUMN - text.n);
    } else {
        text_pad(out, text, STYLE_COLUMN);
    }
    style_end(out, style, paint);
    buf_add_char(out, ' ');
}

void style_time(struct buf *out, const struct style *style, uint64_t ns)
{
    if (style->nanosec) {
        buf_add_u64(out, ns);
        buf_add(out, "ns", 2);
    } else {
        buf_add_u64(out, ns / NS_PER_MS + (ns % NS_PER_MS >= NS_PER_MS / 2));
        buf_add(out, "ms", 2);
    }
}

void style_decimal(struct buf *out, uint64_t value, unsigned places, unsigned least)
{
    char digits[10];
    unsigned n = places;
    uint64_t unit = 1;

    for (unsigned i = 0; i < places; i++)
        unit *= 10;
    buf_add_u64(out, value / unit);
    value %= unit;
    for (unsigned i = places; i > 0; i--) {
        digits[i] = (char)('0' + value % 10);
        value /= 10;
    }
    while (n > least && digits[n] == '0')
        n--;
    digits[0] = '.';
    if (n)
        buf_add(out, digits, n + 1);
}
