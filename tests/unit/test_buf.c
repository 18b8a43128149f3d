/* links: base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"

static void check(const struct buf *buf, const char *expected)
{
    assert_int_equal(buf->n, strlen(expected));
    assert_memory_equal(buf->p, expected, buf->n);
}

static void test_adds(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, BUF_NO_MAX);
    assert_null(buf.p);
    assert_true(buf_add(&buf, NULL, 0));
    assert_null(buf.p);
    assert_true(buf_add_str(&buf, STR("ab")));
    assert_true(buf_add_char(&buf, '-'));
    assert_true(buf_add_fill(&buf, '.', 3));
    assert_true(buf_add_u64(&buf, 0));
    assert_true(buf_add_char(&buf, ' '));
    assert_true(buf_add_u64(&buf, UINT64_MAX));
    assert_true(buf_add_i64(&buf, INT64_MIN));
    assert_true(buf_add_i64(&buf, 12));
    assert_true(buf_addf(&buf, " %s=%d", "x", 5));
    check(&buf, "ab-...0 18446744073709551615-922337203685477580812 x=5");
    assert_true(str_eq(buf_str_from(&buf, buf.n - 3), STR("x=5")));
    buf_reset(&buf);
    assert_int_equal(buf.n, 0);
    assert_true(buf_addf(&buf, "%1000s", "y"));
    assert_int_equal(buf.n, 1000);
    assert_int_equal(buf.p[999], 'y');
    buf_fini(&buf);
    assert_null(buf.p);
    assert_int_equal(buf_str(&buf).n, 0);
}

static void test_maximum(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, 100);
    assert_true(buf_add_fill(&buf, 'a', 65));
    assert_true(buf.cap <= 100);
    assert_false(buf_add_fill(&buf, 'b', 36));
    assert_true(buf.full);
    assert_int_equal(buf.n, 65);
    assert_true(buf_add_fill(&buf, 'b', 35));
    assert_false(buf_add_char(&buf, 'c'));
    assert_false(buf_addf(&buf, "c"));
    assert_false(buf_reserve(&buf, SIZE_MAX));
    assert_true(buf_addf(&buf, "%s", ""));
    assert_int_equal(buf.n, 100);
    assert_true(buf.full);
    buf_reset(&buf);
    assert_false(buf.full);
    assert_true(buf_addf(&buf, "%100d", 1));
    buf_fini(&buf);
}

/* Growth doubles: a million single bytes are few reallocations. */
static void test_growth(void **state)
{
    struct buf buf;
    size_t cap = 0;
    int grown = 0;

    (void)state;
    buf_init(&buf, BUF_NO_MAX);
    for (int i = 0; i < 1000000; i++) {
        buf_add_char(&buf, 'x');
        grown += buf.cap != cap;
        cap = buf.cap;
    }
    assert_true(grown < 20);
    buf_fini(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adds),
        cmocka_unit_test(test_maximum),
        cmocka_unit_test(test_growth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
