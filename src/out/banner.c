#include "out/banner.h"

#include "base/url.h"

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

static void add_base(struct buf *out, struct str base)
{
    struct buf shown;

    buf_init(&shown, BUF_NO_MAX);
    url_hide_credentials(base, &shown);
    style_printable(out, &(struct style){0}, PAINT_NONE, buf_str(&shown), STYLE_MAX);
    buf_fini(&shown);
}

static void add_seconds(struct buf *out, const struct style *style, struct str key, uint64_t ns)
{
    begin_line(out, style, key);
    style_decimal(out, ns, 9, 0);
    buf_add_char(out, 's');
    end_line(out, style);
}

static void add_load(struct buf *out, const struct style *style, const struct banner *banner)
{
    if (banner->load_key.n) {
        begin_line(out, style, banner->load_key);
        buf_add_str(out, banner->load);
        end_line(out, style);
    }
    if (banner->warmup_ns)
        add_seconds(out, style, STR("Warmup"), banner->warmup_ns);
    if (banner->grace_ns)
        add_seconds(out, style, STR("Grace"), banner->grace_ns);
}

void banner_write(struct buf *out, const struct style *style, const struct banner *banner)
{
    begin_line(out, style, STR("Concurrency"));
    buf_add_u64(out, banner->concurrency);
    end_line(out, style);
    if (banner->duration_ns) {
        add_seconds(out, style, STR("Duration"), banner->duration_ns);
    } else {
        begin_line(out, style, STR("Iterations"));
        buf_add_u64(out, banner->iterations);
        end_line(out, style);
    }
    begin_line(out, style, STR("Rampup"));
    buf_addf(out, "%.15g", banner->rampup_s);
    end_line(out, style);
    add_load(out, style, banner);
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
