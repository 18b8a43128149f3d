#include "out/style.h"

#include "base/clock.h"
#include "base/text.h"

static const struct str codes[PAINT_COUNT] = {
    [PAINT_NONE] = {"", 0},
    [PAINT_RED] = {"\x1b[31m", 5},
    [PAINT_GREEN] = {"\x1b[32m", 5},
    [PAINT_YELLOW] = {"\x1b[33m", 5},
    [PAINT_MAGENTA] = {"\x1b[35m", 5},
    [PAINT_CYAN] = {"\x1b[36m", 5},
    [PAINT_DIM] = {"\x1b[2m", 4},
    [PAINT_BOLD_RED] = {"\x1b[1;31m", 7},
    [PAINT_BOLD_GREEN] = {"\x1b[1;32m", 7},
    [PAINT_BOLD_BLUE] = {"\x1b[1;34m", 7},
    [PAINT_BOLD_CYAN] = {"\x1b[1;36m", 7},
};

struct str style_on(const struct style *style, enum paint paint)
{
    return codes[style->color ? paint : PAINT_NONE];
}

struct str style_off(const struct style *style, enum paint paint)
{
    return style->color && paint != PAINT_NONE ? STR("\x1b[0m") : STR("");
}

void style_begin(struct buf *out, const struct style *style, enum paint paint)
{
    if (style->color)
        buf_add_str(out, style_on(style, paint));
}

void style_end(struct buf *out, const struct style *style, enum paint paint)
{
    if (style->color)
        buf_add_str(out, style_off(style, paint));
}

void style_add(struct buf *out, const struct style *style, enum paint paint, struct str text)
{
    style_begin(out, style, paint);
    buf_add_str(out, text);
    style_end(out, style, paint);
}

#define EACH(byte) (0x0101010101010101ULL * (byte))

static uint64_t word_at(const char *p)
{
    uint64_t word;

    memcpy(&word, p, 8);
    return word;
}

/* The high bits of bytes that are no printable ASCII: minus 0x20 borrows into them below a blank,
 * plus 1 carries into them at DEL. Right if all are; if not, something is left for sure. */
static uint64_t odd_bytes(uint64_t word)
{
    return (word | (word - EACH(0x20)) | (word + EACH(1))) & EACH(0x80);
}

/* Nothing but printable ASCII, as almost every text is? */
static bool is_plain(struct str s)
{
    uint64_t odd = 0;

    if (s.n < 8) {
        for (size_t i = 0; i < s.n; i++)
            odd |= s.p[i] < 0x20 || s.p[i] > 0x7e;
        return !odd;
    }
    for (size_t at = 0; at + 8 < s.n; at += 8)
        odd |= odd_bytes(word_at(s.p + at));
    return !(odd | odd_bytes(word_at(s.p + s.n - 8)));
}

/* Plain text with its colour and blanks behind it, in one step. */
static void add_plain(struct buf *out, const struct style *style, enum paint paint, struct str text,
                      size_t blanks, struct str after)
{
    char *p;

    if (!buf_reserve(out, text.n + blanks + after.n + 2 * STYLE_CODE_MAX))
        return;
    p = style_put(out->p + out->n, style_on(style, paint));
    p = style_put(p, text);
    memset(p, ' ', blanks);
    p = style_put(p + blanks, style_off(style, paint));
    p = style_put(p, after);
    out->n = (size_t)(p - out->p);
}

void style_printable(struct buf *out, const struct style *style, enum paint paint, struct str text,
                     size_t max_bytes)
{
    if (text.n <= max_bytes && is_plain(text)) {
        add_plain(out, style, paint, text, 0, STR(""));
        return;
    }
    style_begin(out, style, paint);
    text_printable(out, text, max_bytes);
    style_end(out, style, paint);
}

void style_column(struct buf *out, const struct style *style, enum paint paint, struct str text)
{
    if (text.n <= STYLE_MAX && is_plain(text)) {
        add_plain(out, style, paint, text, text.n < STYLE_COLUMN ? STYLE_COLUMN - text.n : 0,
                  STR(" "));
        return;
    }
    style_begin(out, style, paint);
    if (text.n <= STYLE_MAX)
        text_pad(out, text, STYLE_COLUMN);
    else
        text_printable(out, text, STYLE_MAX);
    style_end(out, style, paint);
    buf_add_char(out, ' ');
}

char *style_put_u64(char *p, uint64_t value)
{
    unsigned digits = 1;

    for (uint64_t rest = value; rest >= 10; rest /= 10)
        digits++;
    for (unsigned i = digits; i-- > 0; value /= 10)
        p[i] = (char)('0' + value % 10);
    return p + digits;
}

char *style_put_time(char *p, const struct style *style, uint64_t ns)
{
    uint64_t ms = ns / NS_PER_MS + (ns % NS_PER_MS >= NS_PER_MS / 2);

    p = style_put_u64(p, style->nanosec ? ns : ms);
    *p++ = style->nanosec ? 'n' : 'm';
    *p++ = 's';
    return p;
}

void style_time(struct buf *out, const struct style *style, uint64_t ns)
{
    char text[STYLE_TIME_MAX];

    buf_add(out, text, (size_t)(style_put_time(text, style, ns) - text));
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
