/* links: stats */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stats/recorder.h"

static struct sample sample(enum outcome outcome, unsigned status, uint64_t latency_ns)
{
    struct sample s = {.outcome = outcome,
                       .status = (uint16_t)status,
                       .latency_ns = latency_ns,
                       .service_ns = latency_ns,
                       .bytes_sent = 10,
                       .bytes_received = 100};

    for (size_t i = 0; i < PHASE_COUNT; i++)
        s.phases[i] = PHASE_NONE;
    return s;
}

static void add(struct window *window, enum outcome outcome, unsigned status, uint64_t latency_ns)
{
    struct sample s = sample(outcome, status, latency_ns);

    window_add(window, &s);
}

static void what_is_added_is_counted(void **state)
{
    struct window window;

    (void)state;
    window_init(&window, HIST_COARSE);
    add(&window, OUTCOME_RESPONSE, 200, 5);
    add(&window, OUTCOME_RESPONSE, 299, 7);
    add(&window, OUTCOME_RESPONSE, 404, 9);
    add(&window, OUTCOME_RESET, 0, 11);
    assert_int_equal(window_ended(&window), 4);
    assert_int_equal(window_successful(&window), 2);
    assert_int_equal(window.bytes_sent, 40);
    assert_int_equal(window.bytes_received, 400);
    assert_int_equal(window.latency.count, 4);
    assert_int_equal(window.latency.max, 11);
    window_reset(&window);
    assert_int_equal(window_ended(&window), 0);
    assert_int_equal(hist_quantile(&window.latency, 0.5), 0);
    add(&window, OUTCOME_RESPONSE, 200, 3);
    assert_int_equal(hist_quantile(&window.latency, 1), 3);
    window_fini(&window);
}

static void every_failure_is_in_one_group(void **state)
{
    uint64_t failures[FAILED_COUNT], sum = 0;
    struct window window;

    (void)state;
    window_init(&window, HIST_COARSE);
    for (unsigned i = OUTCOME_RESPONSE + 1; i < OUTCOME_COUNT; i++)
        add(&window, (enum outcome)i, 0, 1);
    for (unsigned status = 100; status < 1000; status += 100)
        add(&window, OUTCOME_RESPONSE, status, 1);
    window_failures(&window, failures);
    for (size_t i = 0; i < FAILED_COUNT; i++) {
        assert_non_null(failed_name((enum failed)i));
        sum += failures[i];
    }
    assert_int_equal(sum, window_ended(&window) - window_successful(&window));
    assert_int_equal(failures[FAILED_DNS], 1);
    assert_int_equal(failures[FAILED_CONNECT], 5);
    assert_int_equal(failures[FAILED_TLS], 3);
    assert_int_equal(failures[FAILED_PROTOCOL], 2);
    assert_int_equal(failures[FAILED_BROKEN], 2);
    assert_int_equal(failures[FAILED_TIMEOUT], 3);
    assert_int_equal(failures[FAILED_OTHER], 4);
    assert_int_equal(failures[FAILED_4XX], 1);
    assert_int_equal(failures[FAILED_5XX], 1);
    assert_int_equal(failures[FAILED_STATUS], 6);
    window_fini(&window);
}

static void merged_windows_are_their_sum(void **state)
{
    struct window a, b;

    (void)state;
    window_init(&a, HIST_COARSE);
    window_init(&b, HIST_COARSE);
    add(&a, OUTCOME_RESPONSE, 200, 5);
    add(&b, OUTCOME_TIMEOUT_TOTAL, 0, 50);
    a.started = 2;
    b.started = 3;
    b.aborted = 1;
    a.iterations = b.iterations = 4;
    b.late_starts = 5;
    b.dropped_starts = 6;
    window_merge(&a, &b);
    assert_int_equal(window_ended(&a), 2);
    assert_int_equal(window_successful(&a), 1);
    assert_int_equal(a.started, 5);
    assert_int_equal(a.aborted, 1);
    assert_int_equal(a.iterations, 8);
    assert_int_equal(a.late_starts, 5);
    assert_int_equal(a.dropped_starts, 6);
    assert_int_equal(a.latency.max, 50);
    window_fini(&a);
    window_fini(&b);
}

/* --- the recorder's --- */

static void record(struct recorder *recorder, size_t name, uint16_t stage, unsigned status)
{
    struct sample s = sample(OUTCOME_RESPONSE, status, 5);

    s.stage = stage;
    recorder_start(recorder, name);
    recorder_add(recorder, name, &s);
}

static void an_interval_has_what_happened_in_it(void **state)
{
    struct recorder recorder;
    struct window first, second;

    (void)state;
    recorder_init(&recorder, 2);
    window_init(&first, HIST_COARSE);
    window_init(&second, HIST_COARSE);
    record(&recorder, 0, 0, 200); /* nobody watches yet */
    recorder_watch(&recorder, &first, NULL);
    record(&recorder, 0, 0, 200);
    record(&recorder, 1, 0, 500);
    recorder_start(&recorder, 1);
    recorder.iterations_started = 3;
    recorder.iterations_completed = 1;
    assert_int_equal(recorder_users(&recorder), 2);
    assert_ptr_equal(recorder_turn(&recorder, &second), &first);
    assert_int_equal(first.started, 3);
    assert_int_equal(window_ended(&first), 2);
    assert_int_equal(first.iterations, 1);
    recorder_abort(&recorder, 1, 0);
    recorder.late_starts = 2;
    assert_ptr_equal(recorder_turn(&recorder, NULL), &second);
    assert_int_equal(second.started, 0);
    assert_int_equal(second.aborted, 1);
    assert_int_equal(second.late_starts, 2);
    record(&recorder, 0, 0, 200);
    assert_int_equal(window_ended(&second), 0);
    window_fini(&first);
    window_fini(&second);
    recorder_fini(&recorder);
}

static void stages_have_the_requests_that_name_them(void **state)
{
    struct recorder recorder;
    struct window stages[2];

    (void)state;
    recorder_init(&recorder, 1);
    window_init(&stages[0], HIST_FINE);
    window_init(&stages[1], HIST_FINE);
    recorder_watch(&recorder, NULL, stages);
    record(&recorder, 0, 0, 200);
    record(&recorder, 0, 1, 200);
    record(&recorder, 0, 1, 404);
    recorder_start(&recorder, 0);
    recorder_abort(&recorder, 0, 0);
    assert_int_equal(window_ended(&stages[0]), 1);
    assert_int_equal(stages[0].aborted, 1);
    assert_int_equal(window_ended(&stages[1]), 2);
    assert_int_equal(window_successful(&stages[1]), 1);
    window_fini(&stages[0]);
    window_fini(&stages[1]);
    recorder_fini(&recorder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_added_is_counted),
        cmocka_unit_test(every_failure_is_in_one_group),
        cmocka_unit_test(merged_windows_are_their_sum),
        cmocka_unit_test(an_interval_has_what_happened_in_it),
        cmocka_unit_test(stages_have_the_requests_that_name_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
