/* links: base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "base/hist.h"
#include "base/mem.h"
#include "base/rng.h"

static const double quantiles[] = {0.0001, 0.01, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 1};

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Random values of all magnitudes below 2^63, or of one. */
static uint64_t random_value(struct rng *rng, unsigned bits)
{
    return rng_next(rng) >> (bits ? 64 - bits : 1 + rng_below(rng, 63));
}

static void check_against_sorted(unsigned sub_bits, unsigned bits, size_t n)
{
    uint64_t *values = xmalloc(n * sizeof(*values));
    struct hist hist;
    struct rng rng;

    rng_seed(&rng, n + bits);
    hist_init(&hist, sub_bits);
    for (size_t i = 0; i < n; i++) {
        values[i] = random_value(&rng, bits);
        hist_add(&hist, values[i]);
    }
    qsort(values, n, sizeof(*values), compare);
    assert_int_equal(hist.count, n);
    assert_int_equal(hist.min, values[0]);
    assert_int_equal(hist.max, values[n - 1]);
    for (size_t i = 0; i < sizeof(quantiles) / sizeof(*quantiles); i++) {
        size_t rank = (size_t)ceil(quantiles[i] * (double)n - 1e-6);
        uint64_t exact = values[rank ? rank - 1 : 0];
        uint64_t got = hist_quantile(&hist, quantiles[i]);

        assert_true(got >= exact);
        assert_true(got - exact <= exact >> sub_bits);
    }
    hist_fini(&hist);
    free(values);
}

static void test_quantiles(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits <= 40; bits += 8) {
        check_against_sorted(HIST_FINE, bits, 20000);
        check_against_sorted(HIST_COARSE, bits, 5000);
        check_against_sorted(HIST_FINE, bits, 3);
        check_against_sorted(HIST_FINE, bits, 1);
    }
}

static void test_ranks(void **state)
{
    struct hist hist;

    (void)state;
    hist_init(&hist, HIST_FINE);
    for (uint64_t ns = 1; ns <= 1000; ns++)
        hist_add(&hist, ns);
    /* Exact below 1,024, and 0.07 is meant, not the double a little above it. */
    for (uint64_t i = 1; i <= 1000; i++)
        assert_int_equal(hist_quantile(&hist, (double)i / 1000), i);
    assert_int_equal(hist_quantile(&hist, 0.0005), 1);
    assert_int_equal(hist_quantile(&hist, 0.5001), 501);
    hist_fini(&hist);
}

static void test_edges(void **state)
{
    static const uint64_t edges[] = {0,    1,    127,  128,        255,       256,       1023,
                                     1024, 2047, 2048, 1ULL << 32, INT64_MAX, UINT64_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof(edges) / sizeof(*edges); i++) {
        for (unsigned bits = HIST_COARSE; bits <= HIST_FINE; bits += HIST_FINE - HIST_COARSE) {
            struct hist hist;
            size_t rows = 0;

            hist_init(&hist, bits);
            hist_add(&hist, edges[i]);
            for (unsigned row = 0; row < HIST_ROWS; row++)
                rows += hist.rows[row] != NULL;
            assert_int_equal(rows, 1);
            assert_int_equal(hist_quantile(&hist, 0.5), edges[i]);
            assert_true(hist_mean(&hist) == (double)edges[i]);
            assert_true(hist_stdev(&hist) == 0);
            hist_fini(&hist);
        }
    }
}

/* Neighbours on either side of a row's edge are told apart, and buckets are as wide as they say. */
static void test_buckets(void **state)
{
    struct hist hist;

    (void)state;
    hist_init(&hist, HIST_FINE);
    hist_add(&hist, 1023);
    hist_add(&hist, 1024);
    hist_add(&hist, 2047);
    hist_add(&hist, 2048);
    hist_add(&hist, 1 << 20);
    assert_int_equal(hist_quantile(&hist, 0.2), 1023);
    assert_int_equal(hist_quantile(&hist, 0.4), 1024);
    assert_int_equal(hist_quantile(&hist, 0.6), 2047);
    assert_int_equal(hist_quantile(&hist, 0.8), 2049);
    assert_int_equal(hist_quantile(&hist, 1), 1 << 20);
    hist_fini(&hist);
}

static void test_empty(void **state)
{
    struct hist hist;

    (void)state;
    hist_init(&hist, HIST_FINE);
    for (unsigned row = 0; row < HIST_ROWS; row++)
        assert_null(hist.rows[row]);
    assert_int_equal(hist_quantile(&hist, 0.5), 0);
    assert_true(hist_mean(&hist) == 0);
    assert_true(hist_stdev(&hist) == 0);
    hist_fini(&hist);
}

static void test_merge(void **state)
{
    struct hist all, parts[3], sum;
    struct rng rng;

    (void)state;
    rng_seed(&rng, 3);
    hist_init(&all, HIST_FINE);
    hist_init(&sum, HIST_FINE);
    for (int i = 0; i < 3; i++)
        hist_init(&parts[i], HIST_FINE);
    for (int i = 0; i < 10000; i++) {
        uint64_t value = random_value(&rng, 0) >> 10;

        hist_add(&all, value);
        hist_add(&parts[i % 2], value);
    }
    for (int i = 0; i < 3; i++)
        hist_merge(&sum, &parts[i]); /* the last one is empty */
    assert_int_equal(sum.count, all.count);
    assert_int_equal(sum.min, all.min);
    assert_int_equal(sum.max, all.max);
    assert_true(sum.sum == all.sum && sum.sum2 == all.sum2);
    for (unsigned row = 0; row < HIST_ROWS; row++) {
        assert_int_equal(!sum.rows[row], !all.rows[row]);
        if (all.rows[row])
            assert_memory_equal(sum.rows[row], all.rows[row], 1024 * sizeof(uint64_t));
    }
    hist_fini(&all);
    hist_fini(&sum);
    for (int i = 0; i < 3; i++)
        hist_fini(&parts[i]);
}

static void test_moments(void **state)
{
    struct hist hist;

    (void)state;
    hist_init(&hist, HIST_FINE);
    for (int i = 0; i < 1000; i++) {
        hist_add(&hist, 2);
        hist_add(&hist, 5);
    }
    assert_true(hist_mean(&hist) == 3.5);
    assert_true(fabs(hist_stdev(&hist) - 1.5 * sqrt(2000.0 / 1999)) < 1e-12);
    hist_fini(&hist);

    /* A day, give or take a nanosecond: floating point alone would say 0. */
    for (int i = 0; i < 1000; i++)
        hist_add(&hist, 86400000000000 + (i % 2 ? 1 : 3));
    assert_true(fabs(hist_mean(&hist) - 86400000000002) < 0.1);
    assert_true(fabs(hist_stdev(&hist) - sqrt(1000.0 / 999)) < 1e-9);
    hist_fini(&hist);

    /* Squares that do not fit: no figure rather than a wrong one. */
    for (int i = 0; i < 10; i++)
        hist_add(&hist, i % 2 ? 0 : UINT64_MAX);
    assert_true(hist_stdev(&hist) == 0);
    assert_true(hist_mean(&hist) == 0x1p63);
    hist_fini(&hist);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantiles), cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_edges),     cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_empty),     cmocka_unit_test(test_merge),
        cmocka_unit_test(test_moments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
