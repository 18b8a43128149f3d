#include "stats/snapshot.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

void snapshot_init(struct snapshot *snapshot, const struct str *names, size_t n_names)
{
    *snapshot = (struct snapshot){.n_names = n_names, .tls_verified = -1};
    snapshot->names = xcalloc(n_names, sizeof(*snapshot->names));
    snapshot->steps = xcalloc(n_names, sizeof(*snapshot->steps));
    for (size_t i = 0; i < n_names; i++) {
        snapshot->names[i] = xstr_copy(names[i]);
        tally_init(&snapshot->steps[i]);
    }
    map_init(&snapshot->address_index);
    tally_init(&snapshot->global);
    hist_init(&snapshot->iteration, HIST_FINE);
    hist_init(&snapshot->schedule_lag, HIST_FINE);
}

void snapshot_fini(struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->n_names; i++) {
        free((char *)(uintptr_t)snapshot->names[i].p);
        tally_fini(&snapshot->steps[i]);
    }
    for (size_t i = 0; i < snapshot->n_addresses; i++)
        xstr_free(snapshot->addresses[i].text);
    map_fini(&snapshot->address_index);
    for (size_t i = 0; i < snapshot->n_stages; i++)
        window_fini(&snapshot->stages[i].window);
    free(snapshot->stages);
    timeline_free(snapshot->timeline);
    free(snapshot->addresses);
    free(snapshot->names);
    free(snapshot->steps);
    tally_fini(&snapshot->global);
    hist_fini(&snapshot->iteration);
    hist_fini(&snapshot->schedule_lag);
    *snapshot = (struct snapshot){0};
}

void snapshot_add(struct snapshot *snapshot, const struct recorder *recorder)
{
    assert(snapshot->n_names == recorder->n_names);
    for (size_t i = 0; i < snapshot->n_names; i++) {
        tally_merge(&snapshot->steps[i], &recorder->tallies[i]);
        tally_merge(&snapshot->global, &recorder->tallies[i]);
    }
    hist_merge(&snapshot->iteration, &recorder->iterations);
    hist_merge(&snapshot->schedule_lag, &recorder->schedule_lag);
    snapshot->open_loop |= recorder->open_loop;
    snapshot->iterations_started += recorder->iterations_started;
    snapshot->iterations_completed += recorder->iterations_completed;
    snapshot->iterations_abandoned += recorder->iterations_abandoned;
    snapshot->iterations_aborted += recorder->iterations_aborted;
    snapshot->late_starts += recorder->late_starts;
    snapshot->dropped_starts += recorder->dropped_starts;
    snapshot->missed_starts += recorder->missed_starts;
    snapshot->checks_passed += recorder->checks_passed;
    snapshot->checks_failed += recorder->checks_failed;
    snapshot->connections_opened += recorder->connections_opened;
    snapshot->connections_reused += recorder->connections_reused;
    snapshot->connections_failed += recorder->connections_failed;
}

void snapshot_add_stages(struct snapshot *snapshot, const struct window *stages, size_t n)
{
    if (!snapshot->stages && n) {
        snapshot->n_stages = n;
        snapshot->stages = xcalloc(n, sizeof(*snapshot->stages));
        for (size_t i = 0; i < n; i++)
            window_init(&snapshot->stages[i].window, stages[i].latency.sub_bits);
    }
    assert(snapshot->n_stages == n);
    for (size_t i = 0; i < n; i++) {
        struct window *window = &snapshot->stages[i].window;

        window_merge(window, &stages[i]);
        window->started = window_ended(window) + window->aborted;
    }
}

void snapshot_add_address(struct snapshot *snapshot, struct str text, uint64_t connections,
                          uint64_t failed)
{
    uint32_t at = (uint32_t)snapshot->n_addresses;

    if (!map_get(&snapshot->address_index, text, &at)) {
        if (at == SNAPSHOT_MAX_ADDRESSES)
            return;
        if (!snapshot->addresses)
            snapshot->addresses = xcalloc(SNAPSHOT_MAX_ADDRESSES, sizeof(*snapshot->addresses));
        snapshot->addresses[at].text = xstr_copy(text);
        map_add(&snapshot->address_index, snapshot->addresses[at].text, at, NULL);
        snapshot->n_addresses++;
    }
    snapshot->addresses[at].connections += connections;
    snapshot->addresses[at].failed += failed;
}

uint64_t tally_total(const struct tally *tally)
{
    return tally->causes[OUTCOME_RESPONSE] + tally_no_response(tally);
}

uint64_t tally_successful(const struct tally *tally)
{
    return tally_status_class(tally, 2);
}

uint64_t tally_failed(const struct tally *tally)
{
    return tally_total(tally) - tally_successful(tally);
}

uint64_t tally_no_response(const struct tally *tally)
{
    uint64_t n = 0;

    for (size_t i = OUTCOME_RESPONSE + 1; i < OUTCOME_COUNT; i++)
        n += tally->causes[i];
    return n;
}

uint64_t tally_status(const struct tally *tally, unsigned status)
{
    const uint64_t *row = status / 100 < STATUS_ROWS ? tally->statuses[status / 100] : NULL;

    return row ? row[status % 100] : 0;
}

uint64_t tally_status_class(const struct tally *tally, unsigned hundred)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < 100; i++)
        n += tally_status(tally, hundred * 100 + i);
    return n;
}

void tally_latency(const struct tally *tally, struct hist *out)
{
    hist_init(out, HIST_FINE);
    hist_merge(out, &tally->responses);
    hist_merge(out, &tally->failures);
}
