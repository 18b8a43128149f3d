#include "out/results_json.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/json.h"
#include "stats/verdict.h"

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

static double to_s(uint64_t ns)
{
    return (double)ns / (double)NS_PER_S;
}

static void put_failures(struct document *doc, const uint64_t failures[FAILED_COUNT])
{
    begin(doc, "failures", '{');
    for (unsigned i = 0; i < FAILED_COUNT; i++) {
        if (failures[i])
            put_count(doc, failed_name((enum failed)i), failures[i]);
    }
    end(doc, '}');
}

static void put_entry(struct document *doc, const struct timeline_entry *entry)
{
    double seconds = to_s(entry->length_ns), none = entry->ended ? 0 : NAN;

    begin(doc, NULL, '{');
    put_figure(doc, "t_s", to_s(entry->start_ns));
    put_figure(doc, "seconds", seconds);
    put_count(doc, "started", entry->started);
    put_count(doc, "requests", entry->ended);
    put_count(doc, "ok", entry->successful);
    put_count(doc, "aborted", entry->aborted);
    put_failures(doc, entry->failures);
    put_figure(doc, "rps", seconds > 0 ? (double)entry->ended / seconds : 0);
    put_figure(doc, "p50_ms", to_ms((double)entry->p50_ns) + none);
    put_figure(doc, "p90_ms", to_ms((double)entry->p90_ns) + none);
    put_figure(doc, "p99_ms", to_ms((double)entry->p99_ns) + none);
    put_figure(doc, "max_ms", to_ms((double)entry->max_ns) + none);
    put_count(doc, "users", entry->users);
    put_count(doc, "in_flight", entry->in_flight);
    put_count(doc, "iterations", entry->iterations);
    put_count(doc, "late_starts", entry->late_starts);
    put_count(doc, "dropped_starts", entry->dropped_starts);
    put_count(doc, "bytes_sent", entry->bytes_sent);
    put_count(doc, "bytes_received", entry->bytes_received);
    end(doc, '}');
}

static void put_timeline(struct document *doc, const struct snapshot *snapshot)
{
    const struct timeline_entry *entries;
    size_t n;

    if (!snapshot->timeline)
        return;
    n = timeline_entries(snapshot->timeline, &entries);
    begin(doc, "timeline", '{');
    put_figure(doc, "interval_s", to_s(snapshot->ticks.interval_ns));
    begin(doc, "entries", '[');
    for (size_t i = 0; i < n; i++)
        put_entry(doc, &entries[i]);
    end(doc, ']');
    end(doc, '}');
}

static void put_stage(struct document *doc, const struct stage_count *stage)
{
    const struct window *window = &stage->window;
    const struct hist *latency = &window->latency;
    uint64_t failures[FAILED_COUNT], ended = window_ended(window);

    window_failures(window, failures);
    begin(doc, NULL, '{');
    put_figure(doc, "t_s", to_s(stage->start_ns));
    put_figure(doc, "seconds", to_s(stage->length_ns));
    put_figure(doc, "from", stage->from);
    put_figure(doc, "to", stage->to);
    put_count(doc, "started", window->started);
    put_count(doc, "requests", ended);
    put_count(doc, "ok", window_successful(window));
    put_count(doc, "aborted", window->aborted);
    put_failures(doc, failures);
    put_figure(doc, "p50_ms", quantile_ms(latency, 0.5, NAN));
    put_figure(doc, "p90_ms", quantile_ms(latency, 0.9, NAN));
    put_figure(doc, "p99_ms", quantile_ms(latency, 0.99, NAN));
    put_figure(doc, "max_ms", latency->count ? to_ms((double)latency->max) : NAN);
    put_count(doc, "bytes_sent", window->bytes_sent);
    put_count(doc, "bytes_received", window->bytes_received);
    end(doc, '}');
}

/* Jumps have no time, and no requests. */
static void put_stages(struct document *doc, const struct snapshot *snapshot)
{
    if (snapshot->n_stages == 0)
        return;
    begin(doc, "stages", '[');
    for (size_t i = 0; i < snapshot->n_stages; i++) {
        if (snapshot->stages[i].length_ns)
            put_stage(doc, &snapshot->stages[i]);
    }
    end(doc, ']');
}

static void put_warnings(struct document *doc, const struct snapshot *snapshot)
{
    struct verdict verdict;

    verdict_make(&verdict, snapshot);
    begin(doc, "warnings", '[');
    for (size_t i = 0; i < verdict.n; i++)
        put_text(doc, NULL, str_of(verdict.warnings[i]));
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
    put_count(doc, "stopped", snapshot->stopped);
    if (snapshot->open_loop)
        put_times(doc, "schedule_lag_ms", &snapshot->schedule_lag, NAN);
    else
        put_figure(doc, "schedule_lag_ms", NAN);
    put_figure(doc, "busy", snapshot->busy);
    put_warnings(doc, snapshot);
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
    put_stages(&doc, snapshot);
    put_timeline(&doc, snapshot);
    end(&doc, '}');
    buf_add_char(out, '\n');
}
