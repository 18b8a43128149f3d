/* links: stats */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stats/compare.h"

#define MS 1000000ULL

static void means_are_by_name(void **state)
{
    struct baseline *baseline = baseline_new();
    double mean = -1;

    (void)state;
    assert_false(baseline_mean(baseline, STR("a"), &mean));
    baseline_add(baseline, STR("a"), 1);
    baseline_add(baseline, STR("b"), 10);
    baseline_add(baseline, STR("a"), 2);
    baseline_add(baseline, STR(""), 5);
    assert_true(baseline_mean(baseline, STR("a"), &mean));
    assert_true(mean == 1.5);
    assert_true(baseline_mean(baseline, STR("b"), &mean));
    assert_true(mean == 10);
    assert_true(baseline_mean(baseline, STR(""), &mean));
    assert_true(mean == 5);
    assert_false(baseline_mean(baseline, STR("A"), &mean));
    baseline_free(baseline);
    baseline_free(NULL);
}

static void names_are_kept_whatever_becomes_of_their_bytes(void **state)
{
    struct baseline *baseline = baseline_new();
    double mean;

    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        char name[16];
        int n = snprintf(name, sizeof(name), "step %u", i);

        baseline_add(baseline, (struct str){name, (size_t)n}, i);
    }
    assert_true(baseline_mean(baseline, STR("step 0"), &mean));
    assert_true(mean == 0);
    assert_true(baseline_mean(baseline, STR("step 999"), &mean));
    assert_true(mean == 999);
    baseline_free(baseline);
}

/* A million names are kept, and what comes after them is passed over. */
static void there_is_a_most_of_names(void **state)
{
    struct baseline *baseline = baseline_new();
    double mean;

    (void)state;
    for (unsigned i = 0; i < 1000001; i++) {
        char name[16];
        int n = snprintf(name, sizeof(name), "%u", i);

        baseline_add(baseline, (struct str){name, (size_t)n}, 1);
    }
    baseline_add(baseline, STR("7"), 3);
    assert_true(baseline_mean(baseline, STR("999999"), &mean));
    assert_false(baseline_mean(baseline, STR("1000000"), &mean));
    assert_true(baseline_mean(baseline, STR("7"), &mean));
    assert_true(mean == 2);
    baseline_free(baseline);
}

static void what_is_slower_is_found_in_order(void **state)
{
    struct str names[] = {STR("z"), STR("same"), STR("a"), STR("new"), STR("idle"), STR("fast")};
    struct baseline *baseline = baseline_new();
    struct regression *found;
    struct snapshot snapshot;

    (void)state;
    snapshot_init(&snapshot, names, 6);
    hist_add(&snapshot.steps[0].responses, 100 * MS);
    hist_add(&snapshot.steps[0].failures, 200 * MS); /* mean 150 */
    hist_add(&snapshot.steps[1].responses, 60 * MS);
    hist_add(&snapshot.steps[2].responses, 500 * MS);
    hist_add(&snapshot.steps[3].responses, 500 * MS);
    hist_add(&snapshot.steps[5].responses, 1 * MS);
    baseline_add(baseline, STR("z"), 20);
    baseline_add(baseline, STR("same"), 10); /* 50 slower: not more than the threshold */
    baseline_add(baseline, STR("a"), 1);
    baseline_add(baseline, STR("idle"), 1);
    baseline_add(baseline, STR("fast"), 900);
    baseline_add(baseline, STR("gone"), 1);
    assert_int_equal(compare(baseline, &snapshot, 50, &found), 2);
    assert_true(str_eq(found[0].name, STR("a")));
    assert_true(found[0].slower_ms == 499);
    assert_true(str_eq(found[1].name, STR("z")));
    assert_true(found[1].slower_ms == 130);
    free(found);
    assert_int_equal(compare(baseline, &snapshot, 1000, &found), 0);
    free(found);
    snapshot_fini(&snapshot);
    baseline_free(baseline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_are_by_name),
        cmocka_unit_test(names_are_kept_whatever_becomes_of_their_bytes),
        cmocka_unit_test(there_is_a_most_of_names),
        cmocka_unit_test(what_is_slower_is_found_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
