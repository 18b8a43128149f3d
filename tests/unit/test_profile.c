/* links: run */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "run/profile.h"

#define S NS_PER_S

static struct profile load;

static void rate(double per_second)
{
    profile_fini(&load);
    profile_init(&load, &(struct load){.rate = per_second}, 0);
}

static void staged(struct stage *stages, size_t n)
{
    profile_fini(&load);
    profile_init(&load, &(struct load){.stages = stages, .n_stages = n}, 0);
}

static void assert_near(double a, double b)
{
    if (fabs(a - b) > 1e-6 * (1 + fabs(b)))
        fail_msg("%.9g is not %.9g", a, b);
}

static void test_constant_rate(void **state)
{
    (void)state;
    rate(3);
    assert_int_equal(profile_length(&load), PROFILE_NEVER);
    assert_int_equal(profile_when(&load, 0), 0);
    assert_int_equal(profile_when(&load, 1), 333333333);
    assert_int_equal(profile_when(&load, 2), 666666667);
    assert_int_equal(profile_when(&load, 3), S);
    /* A million seconds on, no error has added up. */
    assert_int_equal(profile_when(&load, 3e6), 1000000 * S);
    assert_near(profile_arrivals(&load, 10 * S), 30);
    assert_near(profile_at(&load, 5 * S), 3);
}

/* A rate with an end: what is due there comes no more, whatever the rounding. */
static void test_rate_with_an_end(void **state)
{
    static const struct {
        double rate;
        uint64_t length_ns, count;
    } cases[] = {
        {10, 7 * S / 10, 7},
        {3, S, 3},
        {0.1, 30 * S, 3},
        {2.5, S, 3},
        {1, 1, 1},
        {7, 3 * S, 21},
        {1e7, 3600 * S, 36000000000},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double count = (double)cases[i].count;

        profile_fini(&load);
        profile_init(&load, &(struct load){.rate = cases[i].rate}, cases[i].length_ns);
        assert_int_equal(profile_length(&load), cases[i].length_ns);
        assert_true(profile_when(&load, count - 1) < cases[i].length_ns);
        assert_int_equal(profile_when(&load, count), PROFILE_NEVER);
    }
}

static void test_ramp(void **state)
{
    struct stage stages[] = {{10 * S, 100}, {10 * S, 100}, {10 * S, 0}};

    (void)state;
    staged(stages, 3);
    assert_int_equal(profile_length(&load), 30 * S);
    assert_near(profile_at(&load, 0), 0);
    assert_near(profile_at(&load, 5 * S), 50);
    assert_near(profile_at(&load, 15 * S), 100);
    assert_near(profile_at(&load, 29 * S), 10);
    assert_near(profile_at(&load, 30 * S), 0);
    assert_near(profile_arrivals(&load, 10 * S), 500);
    assert_near(profile_arrivals(&load, 20 * S), 1500);
    assert_near(profile_arrivals(&load, 30 * S), 2000);
    assert_near(profile_arrivals(&load, 99 * S), 2000);
    assert_int_equal(profile_when(&load, 500), 10 * S);
    assert_int_equal(profile_when(&load, 125), 5 * S);
    assert_int_equal(profile_when(&load, 1000), 15 * S);
    assert_int_equal(profile_when(&load, 1875), 25 * S);
    assert_int_equal(profile_when(&load, 2000), PROFILE_NEVER);
    assert_int_equal(profile_stage(&load, 0), 0);
    assert_int_equal(profile_stage(&load, 10 * S), 1);
    assert_int_equal(profile_stage(&load, 99 * S), 2);
}

static void test_jumps(void **state)
{
    struct stage stages[] = {{0, 50}, {S, 50}, {0, 0}, {S, 0}, {0, 10}, {S, 10}, {0, 99}};

    (void)state;
    staged(stages, 7);
    assert_near(profile_at(&load, 0), 50);
    assert_near(profile_at(&load, S), 0);
    assert_near(profile_at(&load, 2 * S), 10);
    assert_int_equal(profile_when(&load, 0), 0);
    assert_int_equal(profile_when(&load, 49), 980 * NS_PER_MS);
    /* Nothing comes in the second that has no load. */
    assert_int_equal(profile_when(&load, 50), 2 * S);
    assert_int_equal(profile_when(&load, 51), 2 * S + 100 * NS_PER_MS);
    assert_int_equal(profile_when(&load, 60), PROFILE_NEVER);
    assert_near(profile_arrivals(&load, 3 * S), 60);
}

/* One is the inverse of the other, wherever it is asked. */
static void test_inverse(void **state)
{
    struct stage stages[] = {{3 * S, 7}, {S, 1000}, {2 * S, 999.5}, {5 * S, 0.25}, {60 * S, 3}};
    uint64_t before = 0;
    double all;

    (void)state;
    staged(stages, 5);
    all = profile_arrivals(&load, profile_length(&load));
    for (double n = 0; n < all; n += 0.37) {
        uint64_t ns = profile_when(&load, n);

        assert_true(ns >= before && ns < profile_length(&load));
        assert_true(fabs(profile_arrivals(&load, ns) - n) < 1e-5);
        before = ns;
    }
}

static void test_users(void **state)
{
    struct stage stages[] = {{10 * S, 10}, {10 * S, 10}, {10 * S, 0}, {10 * S, 5}};

    (void)state;
    staged(stages, 4);
    /* User k begins when more than k are wanted. */
    assert_true(profile_wanted(&load, 0, 0) < NS_PER_MS);
    assert_true(profile_wanted(&load, 3, 0) - 3 * S < NS_PER_MS);
    assert_true(profile_wanted(&load, 9, 0) - 9 * S < NS_PER_MS);
    assert_int_equal(profile_wanted(&load, 9, 15 * S), 15 * S);
    assert_int_equal(profile_wanted(&load, 10, 0), PROFILE_NEVER);
    /* It is not wanted any more, and then again. */
    assert_int_equal(profile_wanted(&load, 9, 22 * S), PROFILE_NEVER);
    assert_int_equal(profile_wanted(&load, 2, 26 * S), 26 * S);
    assert_true(profile_wanted(&load, 2, 28 * S + 1) - 34 * S < NS_PER_MS);
    assert_int_equal(profile_wanted(&load, 0, 40 * S), PROFILE_NEVER);
}

/* Whoever is told a moment finds itself wanted then: nobody is woken for nothing for ever. */
static void test_woken_users_are_wanted(void **state)
{
    struct stage stages[] = {{7 * S, 1000}, {0, 3}, {3 * S, 777}, {1, 1000}, {999 * S, 1000000}};

    (void)state;
    staged(stages, 5);
    for (uint64_t k = 0; k < 1000000; k += 997) {
        uint64_t ns = profile_wanted(&load, k, 0);

        assert_int_equal(profile_wanted(&load, k, ns), ns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constant_rate),
        cmocka_unit_test(test_rate_with_an_end),
        cmocka_unit_test(test_ramp),
        cmocka_unit_test(test_jumps),
        cmocka_unit_test(test_inverse),
        cmocka_unit_test(test_users),
        cmocka_unit_test(test_woken_users_are_wanted),
    };

    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    profile_fini(&load);
    return failed;
}
