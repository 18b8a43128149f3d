/* links: base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "base/str.h"

static void test_compare(void **state)
{
    (void)state;
    assert_true(str_eq(STR("ab"), STR("ab")));
    assert_false(str_eq(STR("ab"), STR("ac")));
    assert_false(str_eq(STR("ab"), STR("a")));
    assert_true(str_eq(str_of(NULL), STR("")));
    assert_true(str_cmp(STR("a"), STR("b")) < 0);
    assert_true(str_cmp(STR("ab"), STR("a")) > 0);
    assert_true(str_cmp(STR(""), STR("a")) < 0);
    assert_true(str_cmp(STR("\xff"), STR("a")) > 0);
    assert_int_equal(str_cmp(STR("ab"), STR("ab")), 0);
    assert_int_equal(str_cmp(str_of(NULL), STR("")), 0);
    assert_true(str_eq_nocase(STR("Content-TYPE"), STR("content-type")));
    assert_false(str_eq_nocase(STR("a"), STR("ab")));
    assert_false(str_eq_nocase(STR("["), STR("{")));
    assert_false(str_eq_nocase(STR("\xC4"), STR("\xE4")));
}

static void test_parts(void **state)
{
    (void)state;
    assert_true(str_starts(STR("abc"), STR("ab")));
    assert_true(str_starts(STR("abc"), STR("")));
    assert_false(str_starts(STR("a"), STR("ab")));
    assert_true(str_ends(STR("abc"), STR("bc")));
    assert_false(str_ends(STR("bc"), STR("abc")));
    assert_false(str_ends(STR("abd"), STR("bc")));
    assert_int_equal(str_find(STR("abc"), 'c'), 2);
    assert_int_equal(str_find(STR("abc"), 'x'), 3);
    assert_int_equal(str_find(str_of(NULL), 'x'), 0);
    assert_true(str_eq(str_skip(STR("abc"), 1), STR("bc")));
    assert_int_equal(str_skip(STR("abc"), 9).n, 0);
    assert_true(str_eq(str_trim(STR(" \t\r\na b\n ")), STR("a b")));
    assert_int_equal(str_trim(STR(" \n ")).n, 0);
}

static void test_integers(void **state)
{
    uint64_t u = 7;
    int64_t i = 7;

    (void)state;
    assert_true(str_to_u64(STR("18446744073709551615"), &u) && u == UINT64_MAX);
    assert_true(str_to_u64(STR("000000000000000000000012"), &u) && u == 12);
    u = 7;
    assert_false(str_to_u64(STR("18446744073709551616"), &u));
    assert_false(str_to_u64(STR("184467440737095516150"), &u));
    assert_false(str_to_u64(STR(""), &u));
    assert_false(str_to_u64(STR("+1"), &u));
    assert_false(str_to_u64(STR(" 1"), &u));
    assert_false(str_to_u64(STR("1a"), &u));
    assert_false(str_to_u64(STR("1\0"), &u));
    assert_int_equal(u, 7);

    assert_true(str_to_i64(STR("-9223372036854775808"), &i) && i == INT64_MIN);
    assert_true(str_to_i64(STR("+9223372036854775807"), &i) && i == INT64_MAX);
    assert_true(str_to_i64(STR("-0"), &i) && i == 0);
    i = 7;
    assert_false(str_to_i64(STR("9223372036854775808"), &i));
    assert_false(str_to_i64(STR("-9223372036854775809"), &i));
    assert_false(str_to_i64(STR("-"), &i));
    assert_false(str_to_i64(STR("--1"), &i));
    assert_int_equal(i, 7);
}

static void test_doubles(void **state)
{
    static const char *const bad[] = {"",    ".",   "-",     "e1",  "1e",   "1e+", "0x10",
                                      "inf", "nan", "1e400", " 1",  "1 ",   "1,5", "1.2.3",
                                      "--1", "1f",  ".e1",   "+-1", "1e1.5"};
    char many[200];
    double d = 7;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(str_to_double(str_of(bad[i]), &d));
    assert_true(d == 7);
    assert_true(str_to_double(STR("1"), &d) && d == 1);
    assert_true(str_to_double(STR("0.5"), &d) && d == 0.5);
    assert_true(str_to_double(STR("-1.5e3"), &d) && d == -1500);
    assert_true(str_to_double(STR("+.25E-1"), &d) && d == 0.025);
    assert_true(str_to_double(STR("2."), &d) && d == 2);
    assert_true(str_to_double(STR("1e-999"), &d) && d == 0);
    memset(many, '3', sizeof(many));
    many[1] = '.';
    assert_true(str_to_double((struct str){many, sizeof(many)}, &d) && fabs(d - 10.0 / 3) < 1e-15);
    /* Not a digit more than the slice has. */
    assert_true(str_to_double((struct str){"12345", 2}, &d) && d == 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_doubles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
