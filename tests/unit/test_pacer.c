/* links: run */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "run/pacer.h"

#define S NS_PER_S
#define START (1000 * S)

static struct profile profile;

static void use(const struct load *load)
{
    profile_fini(&profile);
    profile_init(&profile, load, 0);
}

static void assert_near(double a, double b, double by)
{
    if (fabs(a - b) > by)
        fail_msg("%.9g is not %.9g", a, b);
}

static void test_constant(void **state)
{
    struct load load = {.rate = 10};
    struct pacer pacer;

    (void)state;
    use(&load);
    pacer_init(&pacer, &profile, ARRIVAL_CONSTANT, 0, 1, 3, 1);
    assert_true(pacer.next_ns == PROFILE_NEVER);
    pacer_start(&pacer, START);
    for (uint64_t k = 0; k < 3; k++) {
        assert_int_equal(pacer.next_ns, START + k * S / 10);
        pacer_take(&pacer);
    }
    assert_true(pacer.next_ns == PROFILE_NEVER);
    pacer_start(&pacer, START + S);
    assert_int_equal(pacer.next_ns, START + S);
}

/* Three workers together send what one would. */
static void test_workers_share(void **state)
{
    struct load load = {.rate = 1000};
    struct pacer pacers[3], whole;

    (void)state;
    use(&load);
    pacer_init(&whole, &profile, ARRIVAL_CONSTANT, 0, 1, 100, 1);
    pacer_start(&whole, START);
    for (unsigned i = 0; i < 3; i++) {
        pacer_init(&pacers[i], &profile, ARRIVAL_CONSTANT, i, 3, 100, 1);
        pacer_start(&pacers[i], START);
    }
    for (unsigned k = 0; k < 100; k++) {
        assert_int_equal(pacers[k % 3].next_ns, whole.next_ns);
        pacer_take(&pacers[k % 3]);
        pacer_take(&whole);
    }
    for (unsigned i = 0; i < 3; i++)
        assert_true(pacers[i].next_ns == PROFILE_NEVER);
}

/* Mean and deviation of the gaps are 1/rate, and the same seed gives the same arrivals. */
static void test_poisson(void **state)
{
    struct load load = {.rate = 1000};
    struct pacer pacer, again;
    double sum = 0, squares = 0;
    const unsigned n = 100000;

    (void)state;
    use(&load);
    pacer_init(&pacer, &profile, ARRIVAL_POISSON, 1, 2, 0, 42);
    pacer_init(&again, &profile, ARRIVAL_POISSON, 1, 2, 0, 42);
    pacer_start(&pacer, START);
    pacer_start(&again, START);
    for (unsigned i = 0; i < n; i++) {
        uint64_t before = pacer.next_ns;
        double gap;

        pacer_take(&pacer);
        pacer_take(&again);
        assert_true(pacer.next_ns >= before);
        assert_int_equal(pacer.next_ns, again.next_ns);
        gap = (double)(pacer.next_ns - before) / 1e6;
        sum += gap;
        squares += gap * gap;
    }
    /* Half of the rate: 2 ms, with five standard errors' room. */
    assert_near(sum / n, 2, 5 * 2 / sqrt(n));
    assert_near(sqrt(squares / n - sum / n * sum / n), 2, 0.1);
}

static void test_poisson_follows_stages(void **state)
{
    struct stage stages[] = {{10 * S, 1000}, {10 * S, 0}};
    struct load load = {.stages = stages, .n_stages = 2, .staged_rates = true};
    unsigned first_half = 0, all = 0;
    struct pacer pacer;

    (void)state;
    use(&load);
    pacer_init(&pacer, &profile, ARRIVAL_POISSON, 0, 1, 0, 7);
    pacer_start(&pacer, START);
    for (; pacer.next_ns != PROFILE_NEVER; all++) {
        first_half += pacer.next_ns < START + 10 * S;
        pacer_take(&pacer);
    }
    assert_near(all, 10000, 500);
    assert_near(first_half, 5000, 350);
}

static void test_overdue(void **state)
{
    struct stage stages[] = {{10 * S, 100}, {10 * S, 0}};
    struct load load = {.stages = stages, .n_stages = 2, .staged_rates = true};

    (void)state;
    use(&load);
    for (int arrival = 0; arrival < 2; arrival++) {
        for (unsigned id = 0; id < 3; id++) {
            for (uint64_t at_ns = START; at_ns < START + 25 * S; at_ns += S / 3) {
                struct pacer pacer, counted;
                uint64_t n = 0, told;

                pacer_init(&pacer, &profile, (enum arrival)arrival, id, 3, 900, 7);
                pacer_init(&counted, &profile, (enum arrival)arrival, id, 3, 900, 7);
                pacer_start(&pacer, START);
                pacer_start(&counted, START);
                for (unsigned i = 0; i < 5; i++) {
                    pacer_take(&pacer);
                    pacer_take(&counted);
                }
                for (; counted.next_ns < at_ns; n++)
                    pacer_take(&counted);
                told = pacer_overdue(&pacer, at_ns);
                assert_int_equal(told, n);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constant), cmocka_unit_test(test_workers_share),
        cmocka_unit_test(test_poisson),  cmocka_unit_test(test_poisson_follows_stages),
        cmocka_unit_test(test_overdue),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    profile_fini(&profile);
    return failed;
}
