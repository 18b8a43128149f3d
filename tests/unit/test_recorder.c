/* links: stats */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stats/recorder.h"

static struct sample response(unsigned status, uint64_t latency_ns)
{
    struct sample sample = {.outcome = OUTCOME_RESPONSE,
                            .status = (uint16_t)status,
                            .latency_ns = latency_ns,
                            .service_ns = latency_ns,
                            .bytes_sent = 10,
                            .bytes_received = 100};

    for (size_t i = 0; i < PHASE_COUNT; i++)
        sample.phases[i] = PHASE_NONE;
    return sample;
}

static struct sample failure(enum outcome outcome, uint64_t latency_ns)
{
    struct sample sample = response(0, latency_ns);

    sample.outcome = outcome;
    sample.bytes_received = 0;
    return sample;
}

static size_t statuses_made(const struct tally *tally)
{
    size_t n = 0;

    for (size_t i = 0; i < STATUS_ROWS; i++)
        n += tally->statuses[i] != NULL;
    return n;
}

static void names_are_those_of_the_manual(void **state)
{
    (void)state;
    assert_string_equal(extra_name(EXTRA_RECONNECTS), "reconnects");
    assert_string_equal(extra_name(EXTRA_REDIRECTS), "redirects");
    assert_string_equal(extra_name(EXTRA_EXTRA_BYTES), "extra_bytes");
    assert_string_equal(extra_name(EXTRA_LENIENT), "lenient");
    assert_string_equal(extra_name(EXTRA_BOTH_LENGTHS), "both_lengths");
    assert_string_equal(extra_name(EXTRA_INTERIM), "interim");
    assert_string_equal(phase_name(PHASE_DNS), "dns");
    assert_string_equal(phase_name(PHASE_CONNECT), "connect");
    assert_string_equal(phase_name(PHASE_TLS), "tls");
    assert_string_equal(phase_name(PHASE_FIRST_BYTE), "first_byte");
    assert_string_equal(phase_name(PHASE_BODY), "body");
}

static void responses_are_counted_by_status(void **state)
{
    struct recorder recorder;
    struct sample ok = response(200, 1000), created = response(201, 3000);
    struct tally *tally;

    (void)state;
    recorder_init(&recorder, 2);
    for (int i = 0; i < 3; i++) {
        recorder_start(&recorder, 1);
        recorder_add(&recorder, 1, i < 2 ? &ok : &created);
    }
    tally = &recorder.tallies[1];
    assert_int_equal(tally->started, 3);
    assert_int_equal(tally->causes[OUTCOME_RESPONSE], 3);
    assert_int_equal(tally->statuses[2][0], 2);
    assert_int_equal(tally->statuses[2][1], 1);
    assert_int_equal(statuses_made(tally), 1);
    assert_int_equal(tally->bytes_sent, 30);
    assert_int_equal(tally->bytes_received, 300);
    assert_int_equal(tally->responses.count, 3);
    assert_true(tally->responses.sum == 5000);
    assert_int_equal(tally->failures.count, 0);
    assert_int_equal(recorder.tallies[0].started, 0);
    assert_int_equal(recorder.tallies[0].responses.count, 0);
    recorder_fini(&recorder);
}

static void every_status_has_its_counter(void **state)
{
    struct recorder recorder;

    (void)state;
    recorder_init(&recorder, 1);
    for (unsigned status = 100; status < 1000; status++) {
        struct sample sample = response(status, 1);

        recorder_add(&recorder, 0, &sample);
    }
    for (unsigned status = 100; status < 1000; status++)
        assert_int_equal(recorder.tallies[0].statuses[status / 100][status % 100], 1);
    recorder_fini(&recorder);
}

static void failures_are_counted_by_cause_and_apart(void **state)
{
    struct recorder recorder;
    struct sample refused = failure(OUTCOME_CONNECT_REFUSED, 7), reset = failure(OUTCOME_RESET, 9);
    const struct tally *tally;

    (void)state;
    recorder_init(&recorder, 1);
    recorder_add(&recorder, 0, &refused);
    recorder_add(&recorder, 0, &refused);
    recorder_add(&recorder, 0, &reset);
    recorder_abort(&recorder, 0, 0);
    recorder_extra(&recorder, 0, EXTRA_LENIENT);
    tally = &recorder.tallies[0];
    assert_int_equal(tally->causes[OUTCOME_CONNECT_REFUSED], 2);
    assert_int_equal(tally->causes[OUTCOME_RESET], 1);
    assert_int_equal(tally->causes[OUTCOME_RESPONSE], 0);
    assert_int_equal(tally->failures.count, 3);
    assert_int_equal(tally->responses.count, 0);
    assert_int_equal(statuses_made(tally), 0);
    assert_int_equal(tally->aborted, 1);
    assert_int_equal(tally->extra[EXTRA_LENIENT], 1);
    recorder_fini(&recorder);
}

static void phases_that_did_not_happen_are_not_counted(void **state)
{
    struct recorder recorder;
    struct sample sample = response(200, 100);

    (void)state;
    recorder_init(&recorder, 1);
    sample.phases[PHASE_FIRST_BYTE] = 90;
    sample.phases[PHASE_BODY] = 0;
    recorder_add(&recorder, 0, &sample);
    assert_int_equal(recorder.tallies[0].phases[PHASE_DNS].count, 0);
    assert_int_equal(recorder.tallies[0].phases[PHASE_FIRST_BYTE].count, 1);
    assert_int_equal(recorder.tallies[0].phases[PHASE_FIRST_BYTE].max, 90);
    assert_int_equal(recorder.tallies[0].phases[PHASE_BODY].count, 1);
    recorder_fini(&recorder);
}

static void service_time_is_recorded_in_an_open_loop_only(void **state)
{
    struct recorder recorder;
    struct sample sample = response(200, 1000);

    (void)state;
    sample.service_ns = 400;
    recorder_init(&recorder, 1);
    recorder_add(&recorder, 0, &sample);
    assert_int_equal(recorder.tallies[0].service.count, 0);
    assert_int_equal(recorder.schedule_lag.count, 0);
    recorder.open_loop = true;
    recorder_add(&recorder, 0, &sample);
    assert_int_equal(recorder.tallies[0].service.count, 1);
    assert_int_equal(recorder.tallies[0].service.max, 400);
    assert_int_equal(recorder.schedule_lag.max, 600);
    recorder_fini(&recorder);
}

static void merging_adds_everything(void **state)
{
    struct recorder a, b;
    struct sample ok = response(200, 10), other = response(404, 20);
    struct sample late = failure(OUTCOME_TIMEOUT_TOTAL, 30);
    struct tally *into;

    (void)state;
    recorder_init(&a, 1);
    recorder_init(&b, 1);
    ok.phases[PHASE_TLS] = 5;
    recorder_add(&a, 0, &ok);
    recorder_add(&b, 0, &ok);
    recorder_add(&b, 0, &other);
    recorder_add(&b, 0, &late);
    recorder_start(&b, 0);
    recorder_abort(&b, 0, 0);
    recorder_extra(&b, 0, EXTRA_INTERIM);
    into = &a.tallies[0];
    tally_merge(into, &b.tallies[0]);
    assert_int_equal(into->statuses[2][0], 2);
    assert_int_equal(into->statuses[4][4], 1);
    assert_int_equal(into->causes[OUTCOME_RESPONSE], 3);
    assert_int_equal(into->causes[OUTCOME_TIMEOUT_TOTAL], 1);
    assert_int_equal(into->responses.count, 3);
    assert_int_equal(into->failures.count, 1);
    assert_int_equal(into->phases[PHASE_TLS].count, 2);
    assert_int_equal(into->started, 1);
    assert_int_equal(into->aborted, 1);
    assert_int_equal(into->extra[EXTRA_INTERIM], 1);
    assert_int_equal(into->bytes_sent, 40);
    assert_int_equal(into->bytes_received, 300);
    recorder_fini(&a);
    recorder_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_the_manual),
        cmocka_unit_test(responses_are_counted_by_status),
        cmocka_unit_test(every_status_has_its_counter),
        cmocka_unit_test(failures_are_counted_by_cause_and_apart),
        cmocka_unit_test(phases_that_did_not_happen_are_not_counted),
        cmocka_unit_test(service_time_is_recorded_in_an_open_loop_only),
        cmocka_unit_test(merging_adds_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
