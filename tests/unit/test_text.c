/* links: base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"

static void check(struct buf *buf, const char *expected)
{
    buf_add_char(buf, '\0');
    assert_string_equal(buf->p, expected);
    buf_reset(buf);
}

static void test_utf8_all(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, 100);
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        size_t len;

        if (code == 0xD800)
            code = 0xE000;
        buf_reset(&buf);
        utf8_encode(&buf, code);
        buf_add_char(&buf, 'x');
        assert_int_equal(utf8_decode(buf_str(&buf), &len), code);
        assert_int_equal(len, buf.n - 1);
        for (size_t cut = 1; cut < len; cut++) {
            size_t one;

            assert_int_equal(utf8_decode((struct str){buf.p, cut}, &one), UINT32_MAX);
            assert_int_equal(one, 1);
        }
    }
    buf_reset(&buf);
    utf8_encode(&buf, 0xD800);
    utf8_encode(&buf, 0x110000);
    check(&buf, "\xEF\xBF\xBD\xEF\xBF\xBD");
    buf_fini(&buf);
}

static void test_utf8_invalid(void **state)
{
    static const char *const bad[] = {
        "\x80",         "\xC0\xAF",     "\xC1\xBF",         "\xE0\x80\x80",     "\xE0\x9F\xBF",
        "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80",
        "\xFF",         "\xC3(",        "\xE2\x82(",        "\xF0\x9F\x98("};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        char text[32] = "abcdefgh1234567";

        assert_true(utf8_valid(str_of(text)));
        assert_false(utf8_valid(str_of(bad[i])));
        memcpy(text + 9, bad[i], strlen(bad[i]));
        assert_false(utf8_valid(str_of(text)));
    }
    assert_true(utf8_valid(STR("")));
    assert_true(utf8_valid(STR("äöü €uro 😀 and some more ASCII")));
}

static void test_repair(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, 40);
    assert_true(utf8_repair(&buf, STR("a\xE2\x82z\xFFä")));
    check(&buf, "a\xEF\xBF\xBD\xEF\xBF\xBDz\xEF\xBF\xBDä");
    buf_add_char(&buf, 'k');
    assert_false(
        utf8_repair(&buf, STR("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF")));
    assert_true(buf.full);
    check(&buf, "k");
    buf_fini(&buf);
}

static void test_width(void **state)
{
    static const struct {
        const char *text;
        size_t width;
    } cases[] = {
        {"", 0},
        {"abc", 3},
        {"äöü", 3},
        {"a\u0301", 1}, /* a combining accent */
        {"日本語", 6},
        {"ﾊﾝｶｸ", 4}, /* half-width */
        {"ＡＢ", 4}, /* full-width */
        {"한글", 4},
        {"\u1112\u1161\u11AB", 2}, /* the same in letters */
        {"😀", 2},
        {"a\u200Bb", 2}, /* a blank of no width */
        {"❤\uFE0F", 1},
        {"€·–…", 4},
        {"\U00020000\U0003FFFD", 4},
        {"שלום", 4},
        {"\u05E9\u05C1", 1},
        {"a\nb", 4},
        {"\x01", 4},
        {"\xFF", 4},
        {"\xC2\x85", 8},
        {"\u202E", 8},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        if (text_width(str_of(cases[i].text)) != cases[i].width)
            fail_msg("the width of \"%s\" is %zu", cases[i].text,
                     text_width(str_of(cases[i].text)));
    }
    assert_int_equal(text_code_width(0x300), 0);
    assert_int_equal(text_code_width(0x2FF), 1);
    assert_int_equal(text_code_width(0x10FFFF), 1);
    assert_int_equal(text_code_width(0xE0FFF), 0);
    assert_int_equal(text_code_width(0x3FFFE), 1);
}

static void test_printable(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, 100);
    text_printable(&buf, STR("a\\b\tc\r\nd\x1b[0m\x7f\0z"), SIZE_MAX);
    check(&buf, "a\\b\\tc\\r\\nd\\x1B[0m\\x7F\\x00z");
    text_printable(&buf, STR("ä\xC2\x85\u202Ex\u2066\u2069\u2065\xC3(日"), SIZE_MAX);
    check(&buf, "ä\\u{0085}\\u{202E}x\\u{2066}\\u{2069}\u2065\\xC3(日");
    text_printable(&buf, STR("abcdef"), 6);
    check(&buf, "abcdef");
    text_printable(&buf, STR("abcdef"), 5);
    check(&buf, "abcde…");
    text_printable(&buf, STR("abäöü"), 5); /* not half a character */
    check(&buf, "abä…");
    text_printable(&buf, STR("ab"), 0);
    check(&buf, "…");
    assert_true(text_pad(&buf, STR("日\n"), 6));
    check(&buf, "日\\n  ");
    assert_true(text_pad(&buf, STR("abc"), 2));
    check(&buf, "abc");
    assert_false(text_pad(&buf, STR("abc"), 101));
    assert_int_equal(buf.n, 0);
    buf_fini(&buf);
}

static void test_nearest(void **state)
{
    static const char *const names[] = {"url", "method", "headers", "body", "with_items", "tags"};
    static const struct {
        const char *name, *nearest;
    } cases[] = {
        {"ulr", "url"},
        {"URL", "url"},
        {"metod", "method"},
        {"mehtod", "method"},
        {"header", "headers"},
        {"haeders", "headers"},
        {"bdy", "body"},
        {"with_itmes", "with_items"},
        {"wiht_itmes", "with_items"},
        {"tga", NULL},
        {"x", NULL},
        {"", NULL},
        {"completely", NULL},
        {"boydd", NULL},
        {"urls", "url"},
    };
    char longest[2000];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *nearest = text_nearest(str_of(cases[i].name), names, 6);

        if (!cases[i].nearest)
            assert_null(nearest);
        else
            assert_string_equal(nearest ? nearest : "nothing", cases[i].nearest);
    }
    memset(longest, 'a', sizeof(longest));
    assert_null(text_nearest((struct str){longest, sizeof(longest)}, names, 6));
    assert_null(text_nearest(STR("url"), names, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8_all),  cmocka_unit_test(test_utf8_invalid),
        cmocka_unit_test(test_repair),    cmocka_unit_test(test_width),
        cmocka_unit_test(test_printable), cmocka_unit_test(test_nearest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
