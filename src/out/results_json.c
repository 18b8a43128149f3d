#include "out/results_json.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/json.h"

/* A document that is being written, two blanks a level. */
struct document {
    struct buf *out;
    unsigned depth;
    bool empty; /* nothing stands in the innermost bracket yet */
};

/* The place of the next value: behind its comma and line break, and its key if it has one. */
static void place(struct document *doc, const char *key)
{
    if (doc->depth) {
        buf_add_str(doc->out, doc->empty ? STR("\n") : STR(",\n"));
        buf_add_fill(doc->out, ' ', 2 * (size_t)doc->depth);
    }
    doc->empty = false;
    if (key) {
        json_quote(doc->out, str_of(key));
        buf_add_str(doc->out, STR(": "));
    }
}

static void begin(struct document *doc, const char *key, char bracket)
{
    place(doc, key);
    buf_add_char(doc->out, bracket);
    doc->depth++;
    doc->empty = true;
}

static void end(struct document *doc, char bracket)
{
    doc->depth--;
    if (!doc->empty) {
        buf_add_char(doc->out, '\n');
        buf_add_fill(doc->out, ' ', 2 * (size_t)doc->depth);
    }
    buf_add_char(doc->out, bracket);
    doc->empty = false;
}

static void put_count(struct document *doc, const char *key, uint64_t value)
{
    place(doc, key);
    buf_add_u64(doc->out, value);
}

/* A figure that is not there is null. Whole ones keep a point, as the original's do. */
static void put_figure(struct document *doc, const char *key, double value)
{
    place(doc, key);
    if (fabs(value) < 1e15 && value == floor(value))
        buf_addf(doc->out, "%.1f", value);
    else
        json_number(doc->out, value);
}

static void put_text(struct document *doc, const char *key, struct str value)
{
    place(doc, key);
    if (value.p)
        json_quote(doc->out, value);
    else
        buf_add_str(doc->out, STR("null"));
}

static double to_ms(double ns)
{
    return ns / (double)NS_PER_MS;
}

/* A quantile in ms, or `none` if there are no values. */
static double quantile_ms(const struct hist *hist, double q, double none)
{
    return hist->count ? to_ms((double)hist_quantile(hist, q)) : none;
}

/* none: what stands for the original's figures of nothing; the others are null then. */
static void put_times(struct document *doc, const char *key, const struct hist *hist, double none)
{
    bool any = hist->count != 0;

    begin(doc, key, '{');
    put_figure(doc, "mean", any ? to_ms(hist_mean(hist)) : none);
    put_figure(doc, "median", quantile_ms(hist, 0.5, none));
    put_figure(doc, "stdev", any ? to_ms(hist_stdev(hist)) : none);
    put_figure(doc, "p99", quantile_ms(hist, 0.99, none));
    put_figure(doc, "p995", quantile_ms(hist, 0.995, none));
    put_figure(doc, "p999", quantile_ms(hist, 0.999, none));
    put_figure(doc, "p9999", quantile_ms(hist, 0.9999, NAN));
    put_figure(doc, "min", any ? to_ms((double)hist->min) : NAN);
    put_figure(doc, "p50", quantile_ms(hist, 0.5, NAN));
    put_figure(doc, "p75", quantile_ms(hist, 0.75, NAN));
    put_figure(doc, "p90", quantile_ms(hist, 0.9, NAN));
    put_figure(doc, "p95", quantile_ms(hist, 0.95, NAN));
    put_figure(doc, "max", any ? to_ms((double)hist->max) : NAN);
    end(doc, '}');
}

static void put_statuses(struct document *doc, const struct tally *tally)
{
    begin(doc, "status_counts", '{');
    for (unsigned status = 0; status < STATUS_ROWS * 100; status++) {
        uint64_t n = tally_status(tally, status);
        char key[16];

        if (status == STATUS_NO_RESPONSE)
            n += tally_no_response(tally);
        snprintf(key, sizeof(key), "%u", status);
        if (n)
            put_count(doc, key, n);
    }
    end(doc, '}');
}

static void put_classes(struct document *doc, const struct tally *tally)
{
    uint64_t others = tally->causes[OUTCOME_RESPONSE];

    begin(doc, "class_rollup", '{');
    for (unsigned hundred = 1; hundred <= 5; hundred++) {
        char key[] = {(char)('0' + hundred), 'x', 'x', '\0'};
        uint64_t n = tally_status_class(tally, hundred);

        if (n)
            put_count(doc, key, n);
        others -= n;
    }
    if (others)
        put_count(doc, "other", others);
    put_count(doc, "connection_errors", tally_no_response(tally));
    end(doc, '}');
}

static void put_phases(struct document *doc, const struct tally *tally)
{
    begin(doc, "phases_ms", '{');
    for (unsigned i = 0; i < PHASE_COUNT; i++) {
        const struct hist *hist = &tally->phases[i];
        bool any = hist->count != 0;

        begin(doc, phase_name((enum phase)i), '{');
        put_count(doc, "count", hist->count);
        put_figure(doc, "mean", any ? to_ms(hist_mean(hist)) : NAN);
        put_figure(doc, "p50", quantile_ms(hist, 0.5, NAN));
        put_figure(doc, "p99", quantile_ms(hist, 0.99, NAN));
        put_figure(doc, "max", any ? to_ms((double)hist->max) : NAN);
        end(doc, '}');
    }
    end(doc, '}');
}

static void put_tally(struct document *doc, const struct tally *tally, bool open_loop)
{
    struct hist latency;

    tally_latency(tally, &latency);
    put_count(doc, "total_requests", tally_total(tally));
    put_count(doc, "successful_requests", tally_successful(tally));
    put_count(doc, "failed_requests", tally_failed(tally));
    put_statuses(doc, tally);
    put_classes(doc, tally);
    put_times(doc, "latency_ms", &latency, 0);
    put_times(doc, "responses_ms", &tally->responses, NAN);
    put_times(doc, "service_ms", open_loop ? &tally->service : &latency, NAN);
    put_phases(doc, tally);
    put_count(doc, "started", tally->started);
    put_count(doc, "aborted", tally->aborted);
    begin(doc, "causes", '{');
    for (unsigned i = OUTCOME_RESPONSE + 1; i < OUTCOME_COUNT; i++) {
        if (tally->causes[i])
            put_count(doc, outcome_name((enum outcome)i), tally->causes[i]);
    }
    end(doc, '}');
    put_count(doc, "bytes_received", tally->bytes_received);
    put_count(doc, "bytes_sent", tally->bytes_sent);
    begin(doc, "extra", '{');
    for (unsigned i = 0; i < EXTRA_COUNT; i++)
        put_count(doc, extra_name((enum extra)i), tally->extra[i]);
    end(doc, '}');
    hist_fini(&latency);
}

static void put_steps(struct document *doc, const struct snapshot *snapshot)
{
    begin(doc, "steps", '[');
    for (size_t i = 0; i < snapshot->n_names; i++) {
        const struct tally *tally = &snapshot->steps[i];

        if (tally->started == 0 && tally_total(tally) == 0)
            continue;
        begin(doc, NULL, '{');
        put_text(doc, "name", snapshot->names[i]);
        put_tally(doc, tally, snapshot->open_loop);
        end(doc, '}');
    }
    end(doc, ']');
}

/* What is counted once a run. */
static void put_run(struct document *doc, const struct snapshot *snapshot)
{
    begin(doc, "iterations", '{');
    put_count(doc, "started", snapshot->iterations_started);
    put_count(doc, "completed", snapshot->iterations_completed);
    put_count(doc, "abandoned", snapshot->iterations_abandoned);
    put_count(doc, "aborted", snapshot->iterations_aborted);
    end(doc, '}');
    put_times(doc, "iteration_ms", &snapshot->iteration, NAN);
    put_text(doc, "interrupted", str_of(snapshot->interrupted));
    place(doc, "tls_verified");
    buf_add_str(doc->out, snapshot->tls_verified < 0 ? STR("null")
                          : snapshot->tls_verified   ? STR("true")
                                                     : STR("false"));
    begin(doc, "connections", '{');
    put_count(doc, "opened", snapshot->connections_opened);
    put_count(doc, "reused", snapshot->connections_reused);
    put_count(doc, "failed", snapshot->connections_failed);
    end(doc, '}');
    begin(doc, "addresses", '[');
    for (size_t i = 0; i < snapshot->n_addresses; i++) {
        const struct address_count *address = &snapshot->addresses[i];

        begin(doc, NULL, '{');
        put_text(doc, "address", address->text);
        put_count(doc, "connections", address->connections);
        put_count(doc, "failed", address->failed);
        end(doc, '}');
    }
    end(doc, ']');
    begin(doc, "checks", '{');
    put_count(doc, "passed", snapshot->checks_passed);
    put_count(doc, "failed", snapshot->checks_failed);
    end(doc, '}');
    begin(doc, "generator", '{');
    put_text(doc, "version", str_of(snapshot->version));
    put_figure(doc, "cpu_s", snapshot->cpu_s);
    put_count(doc, "max_rss_bytes", snapshot->max_rss_bytes);
    put_count(doc, "late_starts", snapshot->late_starts);
    put_count(doc, "dropped_starts", snapshot->dropped_starts);
    put_count(doc, "missed_starts", snapshot->missed_starts);
    if (snapshot->open_loop)
        put_times(doc, "schedule_lag_ms", &snapshot->schedule_lag, NAN);
    else
        put_figure(doc, "schedule_lag_ms", NAN);
    end(doc, '}');
}

void results_json(struct buf *out, const struct snapshot *snapshot)
{
    struct document doc = {.out = out};
    double seconds = (double)snapshot->duration_ns / (double)NS_PER_S;
    double total = (double)tally_total(&snapshot->global);

    begin(&doc, NULL, '{');
    put_count(&doc, "schema", 1);
    put_figure(&doc, "duration_s", seconds);
    put_figure(&doc, "requests_per_second", seconds > 0 ? total / seconds : 0);
    begin(&doc, "global", '{');
    put_tally(&doc, &snapshot->global, snapshot->open_loop);
    end(&doc, '}');
    put_steps(&doc, snapshot);
    put_run(&doc, snapshot);
    end(&doc, '}');
    buf_add_char(out, '\n');
}
