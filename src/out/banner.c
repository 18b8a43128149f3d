#include "out/banner.h"

static void begin_line(struct buf *out, const struct style *style, struct str key)
{
    style_add(out, style, PAINT_YELLOW, key);
    buf_add_char(out, ' ');
    style_begin(out, style, PAINT_CYAN);
}

static void end_line(struct buf *out, const struct style *style)
{
    style_end(out, style, PAINT_CYAN);
    buf_add_char(out, '\n');
}

static size_t skip_any(struct str s, size_t at, const char *these)
{
    while (at < s.n && s.p[at] && strchr(these, s.p[at]))
        at++;
    return at;
}

/* The length of "http://" or what a URL parser takes for it. */
static size_t scheme_length(struct str s)
{
    size_t colon = str_find(s, ':');
    struct str scheme = str_trim((struct str){s.p, colon});

    if (colon == s.n ||
        !(str_eq_nocase(scheme, STR("http")) || str_eq_nocase(scheme, STR("https"))))
        return 0;
    return skip_any(s, colon + 1, "/\\\t\r\n");
}

static void add_base(struct buf *out, struct str base)
{
    static const struct style plain = {0};
    size_t start = scheme_length(base);
    size_t at_sign = start;

    for (size_t i = start; i < base.n && skip_any(base, i, "/\\?#") == i; i++) {
        if (base.p[i] == '@')
            at_sign = i;
    }
    if (at_sign > start) {
        style_printable(out, &plain, PAINT_NONE, (struct str){base.p, start}, STYLE_MAX);
        buf_add_str(out, STR("***"));
        base = str_skip(base, at_sign);
    }
    style_printable(out, &plain, PAINT_NONE, base, STYLE_MAX);
}

void banner_write(struct buf *out, const struct style *style, const struct banner *banner)
{
    begin_line(out, style, STR("Concurrency"));
    buf_add_u64(out, banner->concurrency);
    end_line(out, style);
    if (banner->duration_ns) {
        begin_line(out, style, STR("Duration"));
        style_decimal(out, banner->duration_ns, 9, 0);
        buf_add_char(out, 's');
    } else {
        begin_line(out, style, STR("Iterations"));
        buf_add_u64(out, banner->iterations);
    }
    end_line(out, style);
    begin_line(out, style, STR("Rampup"));
    buf_addf(out, "%.15g", banner->rampup_s);
    end_line(out, style);
    if (banner->report.n) {
        begin_line(out, style, STR("Report"));
        style_printable(out, &(struct style){0}, PAINT_NONE, banner->report, STYLE_MAX);
        end_line(out, style);
    }
    begin_line(out, style, STR("Base URL"));
    add_base(out, banner->base);
    end_line(out, style);
    buf_add_char(out, '\n');
}
