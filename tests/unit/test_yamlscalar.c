/* links: base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/yamlscalar.h"

static void check(const char *text, bool keep_type, const char *expected)
{
    struct buf out;

    buf_init(&out, BUF_NO_MAX);
    assert_true(yaml_scalar(&out, str_of(text), keep_type));
    buf_add_char(&out, '\0');
    assert_string_equal(out.p, expected);
    buf_fini(&out);
}

static void test_plain(void **state)
{
    static const char *const plain[] = {"a",
                                        "Fetch users",
                                        "http://localhost:9000/a?b=c#d",
                                        "-x",
                                        "-5x",
                                        "it's",
                                        "a\"b",
                                        "a#b",
                                        "ä 日本 😀",
                                        "/api/{{ item }}",
                                        "a [b], c",
                                        "x:y",
                                        "a\\b",
                                        "1.2.3",
                                        "127.0.0.1",
                                        "0x",
                                        "12 a",
                                        "1e",
                                        "nullx",
                                        ".",
                                        "..",
                                        "2024-1",
                                        "2024-01-01x",
                                        "+",
                                        "=x",
                                        "<",
                                        "_1",
                                        "1.5e+"};

    (void)state;
    for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
        check(plain[i], true, plain[i]);
}

static void test_types(void **state)
{
    static const char *const typed[] = {"null",
                                        "~",
                                        "true",
                                        "False",
                                        "YES",
                                        "no",
                                        "On",
                                        "off",
                                        "y",
                                        "N",
                                        ".inf",
                                        "-.INF",
                                        "+.inf",
                                        ".NaN",
                                        "0",
                                        "12",
                                        "-5",
                                        "+7",
                                        "1_000",
                                        "0x1F",
                                        "0o17",
                                        "010",
                                        "0b101",
                                        "1.5",
                                        "1.",
                                        ".5",
                                        "-.5",
                                        "1e3",
                                        "1.5e-3",
                                        "6.E+2",
                                        "1:30",
                                        "190:20:30.15",
                                        "2024-02-29",
                                        "2024-2-9",
                                        "2024-02-29T10:00:00Z",
                                        "2024-02-29 10:00:00"};

    (void)state;
    for (size_t i = 0; i < sizeof(typed) / sizeof(*typed); i++) {
        char quoted[64] = "'";

        check(typed[i], false, typed[i]);
        strcat(strcat(quoted, typed[i]), "'");
        check(typed[i], true, quoted);
    }
}

static void test_single(void **state)
{
    (void)state;
    check("", false, "''");
    check(" a", false, "' a'");
    check("a ", false, "'a '");
    check("a: b", false, "'a: b'");
    check("a:\tb", false, "'a:\tb'");
    check("a #b", false, "'a #b'");
    check("a:", false, "'a:'");
    check("-", false, "'-'");
    check("- a", false, "'- a'");
    check("---", false, "'---'");
    check("...", false, "'...'");
    check("<<", false, "'<<'");
    check("=", false, "'='");
    check("'it''s", false, "'''it''''s'");
    check("{{ x }}", false, "'{{ x }}'");
    check("#a", false, "'#a'");
    check("a\tb", false, "'a\tb'");
    for (const char *c = "?:,[]{}&*!|>\"%@`"; *c; c++) {
        char text[] = {*c, 'x', '\0'};
        char quoted[] = {'\'', *c, 'x', '\'', '\0'};

        check(text, false, quoted);
    }
}

static void test_double(void **state)
{
    struct buf out;

    (void)state;
    check("a\nb\r\t", false, "\"a\\nb\\r\\t\"");
    check("\x1b[0m \"\\'", false, "\"\\x1B[0m \\\"\\\\'\"");
    check("\x7f\xC2\x85\u2028\u202E\uFEFF\uFFFEä😀", false,
          "\"\\x7F\\x85\\u2028\\u202E\\uFEFF\\uFFFEä😀\"");
    check("a\xFF", false, "\"a\uFFFD\"");

    buf_init(&out, 6);
    buf_add_char(&out, 'k');
    assert_false(yaml_scalar(&out, STR("\0"), false));
    assert_false(yaml_scalar(&out, STR("'''"), false));
    assert_false(yaml_scalar(&out, STR("abcdef"), false));
    assert_int_equal(out.n, 1);
    assert_true(yaml_scalar(&out, STR("abcde"), false));
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_single),
        cmocka_unit_test(test_double),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
