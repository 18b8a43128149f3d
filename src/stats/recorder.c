#include "stats/recorder.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

#define ROW_STATUSES 100

const char *extra_name(enum extra extra)
{
    static const char *const names[EXTRA_COUNT] = {
        [EXTRA_RECONNECTS] = "reconnects",     [EXTRA_REDIRECTS] = "redirects",
        [EXTRA_EXTRA_BYTES] = "extra_bytes",   [EXTRA_LENIENT] = "lenient",
        [EXTRA_BOTH_LENGTHS] = "both_lengths", [EXTRA_INTERIM] = "interim",
    };

    return names[extra];
}

const char *phase_name(enum phase phase)
{
    static const char *const names[PHASE_COUNT] = {
        [PHASE_DNS] = "dns",   [PHASE_CONNECT] = "connect",
        [PHASE_TLS] = "tls",   [PHASE_FIRST_BYTE] = "first_byte",
        [PHASE_BODY] = "body",
    };

    return names[phase];
}

void tally_init(struct tally *tally)
{
    *tally = (struct tally){0};
    hist_init(&tally->responses, HIST_FINE);
    hist_init(&tally->failures, HIST_FINE);
    hist_init(&tally->service, HIST_FINE);
    for (size_t i = 0; i < PHASE_COUNT; i++)
        hist_init(&tally->phases[i], HIST_COARSE);
}

void tally_fini(struct tally *tally)
{
    for (size_t i = 0; i < STATUS_ROWS; i++)
        free(tally->statuses[i]);
    hist_fini(&tally->responses);
    hist_fini(&tally->failures);
    hist_fini(&tally->service);
    for (size_t i = 0; i < PHASE_COUNT; i++)
        hist_fini(&tally->phases[i]);
}

static __attribute__((noinline)) uint64_t *make_row(struct tally *tally, size_t row)
{
    tally->statuses[row] = xcalloc(ROW_STATUSES, sizeof(uint64_t));
    return tally->statuses[row];
}

void tally_merge(struct tally *into, const struct tally *from)
{
    into->started += from->started;
    into->aborted += from->aborted;
    into->bytes_sent += from->bytes_sent;
    into->bytes_received += from->bytes_received;
    for (size_t i = 0; i < OUTCOME_COUNT; i++)
        into->causes[i] += from->causes[i];
    for (size_t i = 0; i < EXTRA_COUNT; i++)
        into->extra[i] += from->extra[i];
    for (size_t row = 0; row < STATUS_ROWS; row++) {
        uint64_t *counters = into->statuses[row];

        if (!from->statuses[row])
            continue;
        if (!counters)
            counters = make_row(into, row);
        for (size_t i = 0; i < ROW_STATUSES; i++)
            counters[i] += from->statuses[row][i];
    }
    hist_merge(&into->responses, &from->responses);
    hist_merge(&into->failures, &from->failures);
    hist_merge(&into->service, &from->service);
    for (size_t i = 0; i < PHASE_COUNT; i++)
        hist_merge(&into->phases[i], &from->phases[i]);
}

void recorder_init(struct recorder *recorder, size_t n_names)
{
    *recorder = (struct recorder){.n_names = n_names};
    recorder->tallies = xcalloc(n_names, sizeof(*recorder->tallies));
    for (size_t i = 0; i < n_names; i++)
        tally_init(&recorder->tallies[i]);
    hist_init(&recorder->iterations, HIST_FINE);
    hist_init(&recorder->schedule_lag, HIST_FINE);
}

void recorder_fini(struct recorder *recorder)
{
    for (size_t i = 0; i < recorder->n_names; i++)
        tally_fini(&recorder->tallies[i]);
    free(recorder->tallies);
    hist_fini(&recorder->iterations);
    hist_fini(&recorder->schedule_lag);
    *recorder = (struct recorder){0};
}

static void add_status(struct tally *tally, unsigned status)
{
    unsigned row = status / ROW_STATUSES;
    uint64_t *counters;

    assert(row < STATUS_ROWS);
    counters = tally->statuses[row];
    if (__builtin_expect(!counters, 0))
        counters = make_row(tally, row);
    counters[status % ROW_STATUSES]++;
}

/* Apart, so that the usual way through recorder_add saves no registers. */
static __attribute__((noinline)) void add_to_windows(struct recorder *recorder,
                                                     const struct sample *sample)
{
    struct window *stages = recorder->stages, *interval = recorder->interval;

    if (stages)
        window_add(&stages[sample->stage], sample);
    if (interval)
        window_add(interval, sample);
}

void recorder_add(struct recorder *recorder, size_t name, const struct sample *sample)
{
    struct tally *tally = &recorder->tallies[name];

    tally->causes[sample->outcome]++;
    tally->bytes_sent += sample->bytes_sent;
    tally->bytes_received += sample->bytes_received;
    if (sample->outcome == OUTCOME_RESPONSE) {
        add_status(tally, sample->status);
        hist_add(&tally->responses, sample->latency_ns);
    } else {
        hist_add(&tally->failures, sample->latency_ns);
    }
    if (recorder->open_loop) {
        hist_add(&tally->service, sample->service_ns);
        hist_add(&recorder->schedule_lag, sample->latency_ns - sample->service_ns);
    }
    for (size_t i = 0; i < PHASE_COUNT; i++) {
        if (sample->phases[i] != PHASE_NONE)
            hist_add(&tally->phases[i], sample->phases[i]);
    }
    if (__builtin_expect(recorder->windows, 0))
        add_to_windows(recorder, sample);
}

void recorder_abort(struct recorder *recorder, size_t name, uint16_t stage)
{
    recorder->tallies[name].aborted++;
    if (recorder->interval)
        recorder->interval->aborted++;
    if (recorder->stages)
        recorder->stages[stage].aborted++;
}

/* --- windows of time --- */

static struct recorder_totals totals(const struct recorder *recorder)
{
    struct recorder_totals now = {
        .iterations = recorder->iterations_completed + recorder->iterations_abandoned,
        .late_starts = recorder->late_starts,
        .dropped_starts = recorder->dropped_starts,
    };

    for (size_t i = 0; i < recorder->n_names; i++)
        now.started += recorder->tallies[i].started;
    return now;
}

void recorder_watch(struct recorder *recorder, struct window *interval, struct window *stages)
{
    recorder->interval = interval;
    recorder->stages = stages;
    recorder->windows = interval || stages;
    recorder->turned = totals(recorder);
}

struct window *recorder_turn(struct recorder *recorder, struct window *next)
{
    struct window *window = recorder->interval;
    struct recorder_totals before = recorder->turned, now = totals(recorder);

    window->started = now.started - before.started;
    window->iterations = now.iterations - before.iterations;
    window->late_starts = now.late_starts - before.late_starts;
    window->dropped_starts = now.dropped_starts - before.dropped_starts;
    recorder->turned = now;
    recorder->interval = next;
    return window;
}
