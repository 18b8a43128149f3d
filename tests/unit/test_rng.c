/* links: base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"

/* The published algorithm's first numbers for the state {1, 2, 3, 4}. */
static void test_sequence(void **state)
{
    static const uint64_t expected[] = {11520, 0, 1509978240, 1215971899390074240};
    struct rng rng = {{1, 2, 3, 4}};

    (void)state;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(rng_next(&rng), expected[i]);
}

static void test_seed(void **state)
{
    struct rng a, b, c;

    (void)state;
    rng_seed(&a, 0);
    /* splitmix64's first number for the seed 0. */
    assert_int_equal(a.s[0], 0xE220A8397B1DCDAF);
    rng_seed(&b, 0);
    rng_seed(&c, 1);
    for (int i = 0; i < 100; i++) {
        uint64_t x = rng_next(&a);

        assert_int_equal(x, rng_next(&b));
        assert_int_not_equal(x, rng_next(&c));
    }
    assert_int_not_equal(rng_random_seed(), rng_random_seed());
}

static void test_below(void **state)
{
    unsigned counts[7] = {0};
    struct rng rng;
    unsigned high = 0;

    (void)state;
    rng_seed(&rng, 5);
    for (int i = 0; i < 70000; i++)
        counts[rng_below(&rng, 7)]++;
    for (int i = 0; i < 7; i++)
        assert_in_range(counts[i], 9500, 10500);
    assert_int_equal(rng_below(&rng, 1), 0);
    /* A bound at which a bare remainder or product would be far from uniform. */
    for (int i = 0; i < 30000; i++) {
        uint64_t x = rng_below(&rng, 3ULL << 62);

        assert_true(x < 3ULL << 62);
        high += x >= 1ULL << 63;
    }
    assert_in_range(high, 9500, 10500);
}

static void test_shuffle(void **state)
{
    uint32_t items[50], again[50];
    unsigned firsts[3] = {0};
    uint64_t seen = 0;
    struct rng rng;

    (void)state;
    for (int round = 0; round < 2; round++) {
        rng_seed(&rng, 9);
        for (uint32_t i = 0; i < 50; i++)
            (round ? again : items)[i] = i;
        rng_shuffle_u32(&rng, round ? again : items, 50);
    }
    assert_memory_equal(items, again, sizeof(items));
    for (size_t i = 0; i < 50; i++)
        seen |= 1ULL << items[i];
    assert_int_equal(seen, (1ULL << 50) - 1);
    for (int i = 0; i < 3000; i++) {
        uint32_t three[] = {0, 1, 2};

        rng_shuffle_u32(&rng, three, 3);
        firsts[three[0]]++;
    }
    for (int i = 0; i < 3; i++)
        assert_in_range(firsts[i], 850, 1150);
    rng_shuffle_u32(&rng, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequence),
        cmocka_unit_test(test_seed),
        cmocka_unit_test(test_below),
        cmocka_unit_test(test_shuffle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
