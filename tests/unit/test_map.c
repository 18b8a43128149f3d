/* links: base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/map.h"

static void finds_what_was_added(void **state)
{
    struct map map;
    uint32_t value = 7;

    (void)state;
    map_init(&map);
    assert_false(map_get(&map, STR("a"), &value));
    assert_true(map_add(&map, STR("a"), 1, NULL));
    assert_true(map_add(&map, STR("b"), 2, &value));
    assert_true(map_get(&map, STR("a"), &value));
    assert_int_equal(value, 1);
    assert_true(map_get(&map, STR("b"), &value));
    assert_int_equal(value, 2);
    assert_false(map_get(&map, STR("ab"), &value));
    assert_int_equal(value, 2);
    map_fini(&map);
}

static void keeps_the_first_value(void **state)
{
    struct map map;
    uint32_t value = 0;

    (void)state;
    map_init(&map);
    assert_true(map_add(&map, STR("key"), 1, NULL));
    assert_false(map_add(&map, STR("key"), 2, &value));
    assert_int_equal(value, 1);
    assert_false(map_add(&map, STR("key"), 3, NULL));
    assert_int_equal(map.n, 1);
    map_fini(&map);
}

static void takes_empty_keys_and_zeros(void **state)
{
    struct map map;
    uint32_t value = 0;

    (void)state;
    map_init(&map);
    assert_true(map_add(&map, (struct str){NULL, 0}, 5, NULL));
    assert_true(map_get(&map, STR(""), &value));
    assert_int_equal(value, 5);
    assert_true(map_add(&map, (struct str){"\0", 1}, 6, NULL));
    assert_true(map_add(&map, (struct str){"\0\0", 2}, 7, NULL));
    assert_true(map_get(&map, (struct str){"\0", 1}, &value));
    assert_int_equal(value, 6);
    map_fini(&map);
}

static void holds_many_of_every_length(void **state)
{
    enum { N = 20000 };
    static char keys[N][24];
    struct map map;
    uint32_t value;

    (void)state;
    map_init(&map);
    for (uint32_t i = 0; i < N; i++) {
        snprintf(keys[i], sizeof(keys[i]), "%.*s%u", (int)(i % 12), "xxxxxxxxxxxx", i);
        assert_true(map_add(&map, str_of(keys[i]), i, NULL));
    }
    assert_int_equal(map.n, N);
    for (uint32_t i = 0; i < N; i++) {
        assert_true(map_get(&map, str_of(keys[i]), &value));
        assert_int_equal(value, i);
    }
    assert_false(map_get(&map, STR("20000"), &value));
    map_fini(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_was_added),
        cmocka_unit_test(keeps_the_first_value),
        cmocka_unit_test(takes_empty_keys_and_zeros),
        cmocka_unit_test(holds_many_of_every_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
