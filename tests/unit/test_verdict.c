/* links: stats */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stats/verdict.h"

#define MS 1000000ULL

/* A run of ten seconds without fault: 1,000 iterations of a request of 2 ms. */
static void make(struct snapshot *snapshot, bool open_loop)
{
    struct str names[] = {STR("one")};

    snapshot_init(snapshot, names, 1);
    snapshot->duration_ns = 10000 * MS;
    snapshot->iterations_started = snapshot->global.started = 1000;
    snapshot->busy = 0.5;
    snapshot->open_loop = open_loop;
    for (int i = 0; i < 1000; i++) {
        hist_add(&snapshot->global.responses, 2 * MS);
        hist_add(&snapshot->schedule_lag, 10000);
    }
}

static size_t warnings(struct snapshot *snapshot, const char *text)
{
    struct verdict verdict;

    verdict_make(&verdict, snapshot);
    if (verdict.n && !strstr(verdict.warnings[0], text))
        fail_msg("%s", verdict.warnings[0]);
    return verdict.n;
}

static void a_good_run_has_none(void **state)
{
    struct snapshot snapshot;

    (void)state;
    for (int open_loop = 0; open_loop < 2; open_loop++) {
        make(&snapshot, open_loop);
        assert_int_equal(warnings(&snapshot, ""), 0);
        snapshot_fini(&snapshot);
    }
}

static void a_busy_thread(void **state)
{
    struct snapshot snapshot;

    (void)state;
    make(&snapshot, false);
    snapshot.busy = 0.96;
    assert_int_equal(warnings(&snapshot, "at 96 % of a CPU"), 1);
    snapshot.spins = true;
    assert_int_equal(warnings(&snapshot, ""), 0);
    snapshot.spins = false;
    snapshot.duration_ns = 999 * MS;
    assert_int_equal(warnings(&snapshot, ""), 0);
    snapshot_fini(&snapshot);
}

static void a_process_that_was_stopped(void **state)
{
    struct snapshot snapshot;

    (void)state;
    make(&snapshot, false);
    snapshot.stopped = 1;
    assert_int_equal(warnings(&snapshot, "stopped and continued 1 time:"), 1);
    snapshot.stopped = 2;
    assert_int_equal(warnings(&snapshot, "stopped and continued 2 times:"), 1);
    snapshot_fini(&snapshot);
}

static void requests_sent_late(void **state)
{
    struct snapshot snapshot;

    (void)state;
    make(&snapshot, true);
    for (int i = 0; i < 20; i++)
        hist_add(&snapshot.schedule_lag, 5 * MS);
    assert_int_equal(warnings(&snapshot, "sent 5.0 ms or more after it was due"), 1);
    /* It does not matter beside what the server takes. */
    for (int i = 0; i < 5000; i++)
        hist_add(&snapshot.global.responses, 100 * MS);
    assert_int_equal(warnings(&snapshot, ""), 0);
    snapshot_fini(&snapshot);
}

static void starts_without_a_user(void **state)
{
    struct snapshot snapshot;

    (void)state;
    make(&snapshot, true);
    snapshot.late_starts = 10;
    assert_int_equal(warnings(&snapshot, ""), 0);
    snapshot.late_starts = 500;
    snapshot.dropped_starts = 250;
    assert_int_equal(warnings(&snapshot, "40.0 % of the starts"), 1);
    snapshot.by_request = true;
    snapshot.global.started = 99750;
    assert_int_equal(warnings(&snapshot, ""), 0);
    snapshot_fini(&snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_run_has_none),        cmocka_unit_test(a_busy_thread),
        cmocka_unit_test(a_process_that_was_stopped), cmocka_unit_test(requests_sent_late),
        cmocka_unit_test(starts_without_a_user),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
