#include "out/results_text.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"

/* Where a block's lines go, and the step's name that stands before each of them (global: none). */
struct block {
    struct buf *out;
    const struct style *style;
    bool named;
    struct str name;
};

static void begin_line(const struct block *block, struct str label)
{
    if (block->named)
        style_column(block->out, block->style, PAINT_GREEN, block->name);
    style_column(block->out, block->style, PAINT_YELLOW, label);
    style_begin(block->out, block->style, PAINT_CYAN);
}

static void end_line(const struct block *block)
{
    style_end(block->out, block->style, PAINT_CYAN);
    buf_add_char(block->out, '\n');
}

static void heading(const struct block *block, struct str label)
{
    if (block->named)
        style_column(block->out, block->style, PAINT_GREEN, block->name);
    style_add(block->out, block->style, PAINT_YELLOW, label);
    buf_add_char(block->out, '\n');
}

static void line_text(const struct block *block, struct str label, struct str value)
{
    begin_line(block, label);
    buf_add_str(block->out, value);
    end_line(block);
}

static void line_count(const struct block *block, struct str label, uint64_t value)
{
    begin_line(block, label);
    buf_add_u64(block->out, value);
    end_line(block);
}

static void line_time(const struct block *block, struct str label, uint64_t ns)
{
    begin_line(block, label);
    style_time(block->out, block->style, ns);
    end_line(block);
}

/* A line below a heading, if there is anything to count. */
static void line_item(const struct block *block, const char *name, uint64_t count)
{
    char label[64];

    if (count == 0)
        return;
    snprintf(label, sizeof(label), "  %s", name);
    line_count(block, str_of(label), count);
}

static void counts(const struct block *block, const struct tally *tally)
{
    line_count(block, STR("Total requests"), tally_total(tally));
    line_count(block, STR("Successful requests"), tally_successful(tally));
    line_count(block, STR("Failed requests"), tally_failed(tally));
}

static void times(const struct block *block, const struct tally *tally)
{
    struct hist latency;

    tally_latency(tally, &latency);
    line_time(block, STR("Median time per request"), hist_quantile(&latency, 0.5));
    line_time(block, STR("Average time per request"), (uint64_t)(hist_mean(&latency) + 0.5));
    line_time(block, STR("Sample standard deviation"), (uint64_t)(hist_stdev(&latency) + 0.5));
    line_time(block, STR("99.0'th percentile"), hist_quantile(&latency, 0.99));
    line_time(block, STR("99.5'th percentile"), hist_quantile(&latency, 0.995));
    line_time(block, STR("99.9'th percentile"), hist_quantile(&latency, 0.999));
    hist_fini(&latency);
}

static void add_class(struct buf *out, bool *first, const char *name, uint64_t count)
{
    if (count == 0)
        return;
    buf_add_str(out, *first ? STR("  ") : STR(" · "));
    buf_addf(out, "%s %llu", name, (unsigned long long)count);
    *first = false;
}

/* "  2xx 2598 · 4xx 200 · 5xx 1 · conn 1" */
static void rollup(const struct block *block, const struct tally *tally)
{
    uint64_t known = 0;
    bool first = true;

    style_begin(block->out, block->style, PAINT_DIM);
    for (unsigned hundred = 1; hundred <= 5; hundred++) {
        char name[] = {(char)('0' + hundred), 'x', 'x', '\0'};
        uint64_t n = tally_status_class(tally, hundred);

        add_class(block->out, &first, name, n);
        known += n;
    }
    add_class(block->out, &first, "other", tally->causes[OUTCOME_RESPONSE] - known);
    add_class(block->out, &first, "conn", tally_no_response(tally));
    style_end(block->out, block->style, PAINT_DIM);
    buf_add_char(block->out, '\n');
}

static void status_lines(const struct block *block, const struct tally *tally)
{
    if (tally_total(tally) == 0)
        return;
    heading(block, STR("Status codes"));
    for (unsigned status = 0; status < STATUS_ROWS * 100; status++) {
        char name[16];

        snprintf(name, sizeof(name), "%u", status);
        line_item(block, name, tally_status(tally, status));
        if (status == STATUS_NO_RESPONSE)
            line_item(block, "520 (connection error)", tally_no_response(tally));
    }
    rollup(block, tally);
}

/* "Status codes 200:2598 404:200 conn:1" */
static void status_line(const struct block *block, const struct tally *tally)
{
    const char *blank = "";

    begin_line(block, STR("Status codes"));
    for (unsigned status = 0; status < STATUS_ROWS * 100; status++) {
        uint64_t n = tally_status(tally, status);

        if (n == 0)
            continue;
        buf_addf(block->out, "%s%u:%llu", blank, status, (unsigned long long)n);
        blank = " ";
    }
    if (tally_no_response(tally))
        buf_addf(block->out, "%sconn:%llu", blank, (unsigned long long)tally_no_response(tally));
    end_line(block);
}

static void causes(const struct block *block, bool verbose, const struct tally *tally)
{
    unsigned kinds = 0;

    for (unsigned i = OUTCOME_RESPONSE + 1; i < OUTCOME_COUNT; i++)
        kinds += tally->causes[i] != 0;
    /* A single kind is told by the ERR lines, and the original's output ends here. */
    if (kinds < (verbose ? 1 : 2))
        return;
    heading(block, STR("Causes"));
    for (unsigned i = OUTCOME_RESPONSE + 1; i < OUTCOME_COUNT; i++)
        line_item(block, outcome_name((enum outcome)i), tally->causes[i]);
}

static void extras(const struct block *block, const struct tally *tally)
{
    bool any = false;

    for (unsigned i = 0; i < EXTRA_COUNT; i++)
        any |= tally->extra[i] != 0;
    if (!any)
        return;
    heading(block, STR("Also counted"));
    for (unsigned i = 0; i < EXTRA_COUNT; i++)
        line_item(block, extra_name((enum extra)i), tally->extra[i]);
}

static void add_cell(const struct block *block, uint64_t ns)
{
    if (block->style->nanosec)
        buf_addf(block->out, " %11llu", (unsigned long long)ns);
    else
        buf_addf(block->out, " %11.3f", (double)ns / (double)NS_PER_MS);
}

static void phases(const struct block *block, const struct tally *tally)
{
    bool headed = false;

    for (unsigned i = 0; i < PHASE_COUNT; i++) {
        const struct hist *hist = &tally->phases[i];
        char label[32];

        if (hist->count == 0)
            continue;
        if (!headed) {
            begin_line(block, block->style->nanosec ? STR("Phases (ns)") : STR("Phases (ms)"));
            buf_addf(block->out, "%11s %11s %11s %11s %11s", "count", "mean", "median", "99%",
                     "max");
            end_line(block);
            headed = true;
        }
        snprintf(label, sizeof(label), "  %s", phase_name((enum phase)i));
        begin_line(block, str_of(label));
        buf_addf(block->out, "%11llu", (unsigned long long)hist->count);
        add_cell(block, (uint64_t)(hist_mean(hist) + 0.5));
        add_cell(block, hist_quantile(hist, 0.5));
        add_cell(block, hist_quantile(hist, 0.99));
        add_cell(block, hist->max);
        end_line(block);
    }
}

/* "  127.0.0.2:80  40 connections, 1 failed" */
static void addresses(const struct block *block, const struct snapshot *snapshot)
{
    if (snapshot->n_addresses)
        heading(block, STR("Addresses"));
    for (size_t i = 0; i < snapshot->n_addresses; i++) {
        const struct address_count *address = &snapshot->addresses[i];
        char label[80];

        snprintf(label, sizeof(label), "  %.*s", (int)address->text.n, address->text.p);
        begin_line(block, str_of(label));
        buf_addf(block->out, "%llu connections, %llu failed",
                 (unsigned long long)address->connections, (unsigned long long)address->failed);
        end_line(block);
    }
}

static void step(const struct block *block, bool verbose, const struct tally *tally)
{
    counts(block, tally);
    times(block, tally);
    if (!verbose)
        return;
    if (tally_total(tally))
        status_line(block, tally);
    phases(block, tally);
}

static void line_if_any(const struct block *block, struct str label, uint64_t count)
{
    if (count)
        line_count(block, label, count);
}

/* "  30s, 100 to 200/s       2940 requests, 3 failed, median 2ms, 99% 9ms" */
static void stages(const struct block *block, const struct snapshot *snapshot)
{
    if (snapshot->n_stages)
        heading(block, STR("Stages"));
    for (size_t i = 0; i < snapshot->n_stages; i++) {
        const struct stage_count *stage = &snapshot->stages[i];
        const struct window *window = &stage->window;
        uint64_t ended = window_ended(window);
        char label[80];

        if (stage->length_ns == 0) /* a jump */
            continue;
        snprintf(label, sizeof(label), "  %gs, %g to %g%s",
                 (double)stage->length_ns / (double)NS_PER_S, stage->from, stage->to,
                 snapshot->staged_rates ? "/s" : "");
        begin_line(block, str_of(label));
        buf_addf(block->out, "%llu requests, %llu failed, median ", (unsigned long long)ended,
                 (unsigned long long)(ended - window_successful(window)));
        style_time(block->out, block->style, hist_quantile(&window->latency, 0.5));
        buf_add_str(block->out, STR(", 99% "));
        style_time(block->out, block->style, hist_quantile(&window->latency, 0.99));
        end_line(block);
    }
}

static void open_loop(const struct block *block, const struct snapshot *snapshot)
{
    const struct hist *service = &snapshot->global.service;

    if (!snapshot->open_loop)
        return;
    line_time(block, STR("Median service time"), hist_quantile(service, 0.5));
    line_time(block, STR("99.0'th of service time"), hist_quantile(service, 0.99));
}

static void global(const struct block *block, bool verbose, const struct snapshot *snapshot)
{
    const struct tally *tally = &snapshot->global;
    double seconds = (double)snapshot->duration_ns / (double)NS_PER_S;

    begin_line(block, STR("Time taken for tests"));
    buf_addf(block->out, "%.1f seconds", seconds);
    end_line(block);
    counts(block, tally);
    status_lines(block, tally);
    begin_line(block, STR("Requests per second"));
    buf_addf(block->out, "%.2f [#/sec]", seconds > 0 ? (double)tally_total(tally) / seconds : 0.0);
    end_line(block);
    times(block, tally);

    causes(block, verbose, tally);
    extras(block, tally);
    line_if_any(block, STR("Aborted requests"), tally->aborted);
    line_if_any(block, STR("Abandoned iterations"), snapshot->iterations_abandoned);
    open_loop(block, snapshot);
    line_if_any(block, STR("Late starts"), snapshot->late_starts);
    line_if_any(block, STR("Dropped starts"), snapshot->dropped_starts);
    line_if_any(block, STR("Missed starts"), snapshot->missed_starts);
    stages(block, snapshot);
    if (snapshot->interrupted)
        line_text(block, STR("Interrupted by"), str_of(snapshot->interrupted));
    if (snapshot->tls_verified == 0)
        line_text(block, STR("TLS certificates"), STR("NOT verified"));
    if (verbose) {
        phases(block, tally);
        addresses(block, snapshot);
    }
}

void results_text(struct buf *out, const struct style *style, bool verbose,
                  const struct snapshot *snapshot)
{
    struct block block = {.out = out, .style = style, .named = true};

    for (size_t i = 0; i < snapshot->n_names; i++) {
        const struct tally *tally = &snapshot->steps[i];

        if (tally->started == 0 && tally_total(tally) == 0)
            continue;
        block.name = snapshot->names[i];
        buf_add_char(out, '\n');
        step(&block, verbose, tally);
    }
    block.named = false;
    buf_add_char(out, '\n');
    global(&block, verbose, snapshot);
}

void results_compare(struct buf *out, const struct style *style,
                     const struct regression *regressions, size_t n)
{
    buf_add_char(out, '\n');
    for (size_t i = 0; i < n; i++) {
        double slower_ns = regressions[i].slower_ms * (double)NS_PER_MS;

        style_column(out, style, PAINT_GREEN, regressions[i].name);
        buf_add_str(out, STR("is "));
        style_begin(out, style, PAINT_CYAN);
        if (slower_ns < 0) /* below a threshold that is negative itself */
            buf_add_char(out, '-');
        style_time(out, style, (uint64_t)(fabs(slower_ns) + 0.5));
        style_end(out, style, PAINT_CYAN);
        buf_add_str(out, STR(" slower than before\n"));
    }
}
