/* links: stats */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stats/snapshot.h"

static void add(struct recorder *recorder, size_t name, enum outcome outcome, unsigned status,
                uint64_t latency_ns)
{
    struct sample sample = {.outcome = outcome,
                            .status = (uint16_t)status,
                            .latency_ns = latency_ns,
                            .service_ns = latency_ns,
                            .bytes_sent = 1,
                            .bytes_received = 2};

    for (size_t i = 0; i < PHASE_COUNT; i++)
        sample.phases[i] = PHASE_NONE;
    recorder_start(recorder, name);
    recorder_add(recorder, name, &sample);
}

static void names_are_copied(void **state)
{
    char text[] = "first";
    struct str names[] = {{text, 5}, {NULL, 0}};
    struct snapshot snapshot;

    (void)state;
    snapshot_init(&snapshot, names, 2);
    text[0] = 'X';
    assert_int_equal(snapshot.n_names, 2);
    assert_true(str_eq(snapshot.names[0], STR("first")));
    assert_int_equal(snapshot.names[1].n, 0);
    assert_int_equal(snapshot.tls_verified, -1);
    snapshot_fini(&snapshot);
}

static void workers_are_summed_by_step_and_over_all(void **state)
{
    struct str names[] = {STR("a"), STR("b")};
    struct recorder recorders[2];
    struct snapshot snapshot;

    (void)state;
    snapshot_init(&snapshot, names, 2);
    for (size_t i = 0; i < 2; i++) {
        struct recorder *recorder = &recorders[i];

        recorder_init(recorder, 2);
        add(recorder, 0, OUTCOME_RESPONSE, 200, 100);
        add(recorder, 1, OUTCOME_RESPONSE, 503, 200);
        add(recorder, 1, OUTCOME_DNS, 0, 300);
        recorder_start(recorder, 1);
        recorder_abort(recorder, 1, 0);
        hist_add(&recorder->iterations, 1000);
        recorder->iterations_started = 5;
        recorder->iterations_completed = 2;
        recorder->iterations_abandoned = 1;
        recorder->iterations_aborted = 2;
        recorder->checks_passed = 7;
        recorder->checks_failed = 3;
        recorder->connections_opened = 4;
        recorder->connections_reused = 6;
        recorder->connections_failed = 8;
        snapshot_add(&snapshot, recorder);
        recorder_fini(recorder);
    }
    assert_int_equal(tally_total(&snapshot.steps[0]), 2);
    assert_int_equal(tally_total(&snapshot.steps[1]), 4);
    assert_int_equal(tally_total(&snapshot.global), 6);
    assert_int_equal(snapshot.global.started, tally_total(&snapshot.global) + 2);
    assert_int_equal(snapshot.global.aborted, 2);
    assert_int_equal(tally_successful(&snapshot.global), 2);
    assert_int_equal(tally_failed(&snapshot.global), 4);
    assert_int_equal(tally_no_response(&snapshot.global), 2);
    assert_int_equal(tally_status(&snapshot.global, 503), 2);
    assert_int_equal(tally_status(&snapshot.global, 404), 0);
    assert_int_equal(tally_status(&snapshot.global, 5000), 0);
    assert_int_equal(tally_status_class(&snapshot.global, 5), 2);
    assert_int_equal(tally_status_class(&snapshot.global, 99), 0);
    assert_int_equal(snapshot.iteration.count, 2);
    assert_int_equal(snapshot.iterations_started, 10);
    assert_int_equal(snapshot.iterations_completed, 4);
    assert_int_equal(snapshot.iterations_abandoned, 2);
    assert_int_equal(snapshot.iterations_aborted, 4);
    assert_int_equal(snapshot.checks_passed, 14);
    assert_int_equal(snapshot.checks_failed, 6);
    assert_int_equal(snapshot.connections_opened, 8);
    assert_int_equal(snapshot.connections_reused, 12);
    assert_int_equal(snapshot.connections_failed, 16);
    assert_false(snapshot.open_loop);
    snapshot_fini(&snapshot);
}

static void addresses_are_counted_by_text_up_to_a_limit(void **state)
{
    struct str name = STR("a");
    struct snapshot snapshot;

    (void)state;
    snapshot_init(&snapshot, &name, 1);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < SNAPSHOT_MAX_ADDRESSES + 5; i++) {
            char text[32];

            snprintf(text, sizeof(text), "10.0.%u.%u:80", i / 256, i % 256);
            snapshot_add_address(&snapshot, str_of(text), i, 1);
        }
    }
    assert_int_equal(snapshot.n_addresses, SNAPSHOT_MAX_ADDRESSES);
    assert_true(str_eq(snapshot.addresses[1].text, STR("10.0.0.1:80")));
    assert_int_equal(snapshot.addresses[999].connections, 1998);
    assert_int_equal(snapshot.addresses[999].failed, 2);
    snapshot_fini(&snapshot);
}

static void latency_is_of_responses_and_failures(void **state)
{
    struct str name = STR("a");
    struct recorder recorder;
    struct snapshot snapshot;
    struct hist latency;

    (void)state;
    snapshot_init(&snapshot, &name, 1);
    recorder_init(&recorder, 1);
    recorder.open_loop = true;
    add(&recorder, 0, OUTCOME_RESPONSE, 200, 100);
    add(&recorder, 0, OUTCOME_TRUNCATED, 0, 300);
    snapshot_add(&snapshot, &recorder);
    tally_latency(&snapshot.global, &latency);
    assert_int_equal(latency.count, 2);
    assert_int_equal(latency.min, 100);
    assert_int_equal(latency.max, 300);
    assert_true(hist_mean(&latency) == 200);
    assert_true(snapshot.open_loop);
    assert_int_equal(snapshot.global.service.count, 2);
    assert_int_equal(snapshot.schedule_lag.count, 2);
    hist_fini(&latency);
    recorder_fini(&recorder);
    snapshot_fini(&snapshot);
}

static void a_real_520_is_a_response(void **state)
{
    struct str name = STR("a");
    struct recorder recorder;
    struct snapshot snapshot;

    (void)state;
    snapshot_init(&snapshot, &name, 1);
    recorder_init(&recorder, 1);
    add(&recorder, 0, OUTCOME_RESPONSE, 520, 100);
    add(&recorder, 0, OUTCOME_CONNECT_REFUSED, 0, 0);
    snapshot_add(&snapshot, &recorder);
    assert_int_equal(tally_status(&snapshot.global, 520), 1);
    assert_int_equal(tally_status_class(&snapshot.global, 5), 1);
    assert_int_equal(tally_no_response(&snapshot.global), 1);
    recorder_fini(&recorder);
    snapshot_fini(&snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_copied),
        cmocka_unit_test(workers_are_summed_by_step_and_over_all),
        cmocka_unit_test(addresses_are_counted_by_text_up_to_a_limit),
        cmocka_unit_test(latency_is_of_responses_and_failures),
        cmocka_unit_test(a_real_520_is_a_response),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
