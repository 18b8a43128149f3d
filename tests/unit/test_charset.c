/* links: http base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "http/charset.h"

#define FFFD "\xEF\xBF\xBD"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_parameter(void **state)
{
    (void)state;
    static const char *const CASES[][2] = {
        {"text/html; charset=utf-8", "utf-8"},
        {"text/html;charset=UTF-8", "UTF-8"},
        {"text/html ;\tCharSet = \"ISO-8859-1\" ; x=y", "ISO-8859-1"},
        {"text/html; charset=latin1 ", "latin1"},
        {"text/html; charset=latin1;charset=utf-8", "latin1"},
        {"text/html; a=\"; charset=x\"; charset=koi8-r", "koi8-r"},
        {"text/html; a=\"\\\"; charset=x\"; charset=koi8-r", "koi8-r"},
        {"text/html;;; charset=a", "a"},
        {"text/html; charset; b=c", ""},
        {"text/html; charset=", ""},
        {"text/html; charset=\"\"", ""},
        {"text/html; charset=\"open", "open"},
        {"text/html; charset=\"open\\", "open\\"},
        {"text/html; xcharset=a; charsets=b", ""},
        {"text/html", ""},
        {"charset=utf-8", ""},
        {"", ""},
        {";", ""},
    };
    for (size_t i = 0; i < COUNT(CASES); i++) {
        size_t n = strlen(CASES[i][0]);
        char *copy = xmalloc(n);
        memcpy(copy, CASES[i][0], n);
        struct str charset = charset_of((struct str){copy, n});
        if (!str_eq(charset, str_of(CASES[i][1])))
            print_error("%s: %.*s\n", CASES[i][0], (int)charset.n, charset.p);
        assert_true(str_eq(charset, str_of(CASES[i][1])));
        free(copy);
    }
}

static void test_is_utf8(void **state)
{
    (void)state;
    assert_true(charset_is_utf8(STR("")));
    assert_true(charset_is_utf8(STR("UTF-8")));
    assert_true(charset_is_utf8(STR("utf8")));
    assert_true(charset_is_utf8(STR("US-ASCII")));
    assert_false(charset_is_utf8(STR("utf-16")));
    assert_false(charset_is_utf8(STR("iso-8859-1")));
}

static void test_conversion(void **state)
{
    (void)state;
    static const struct {
        const char *charset;
        struct str body;
        const char *text;
    } CASES[] = {
#define BODY(charset, body, text) {charset, {body, sizeof(body) - 1}, text}
        BODY("", "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"),
        BODY("utf-8",
             "a\xff"
             "b\xc3",
             "a" FFFD "b" FFFD),
        BODY("us-ascii", "a\xc3\xa9", "a\xc3\xa9"),
        BODY("no-such-charset", "a\xe9", "a" FFFD),
        BODY("ISO-8859-1", "caf\xe9", "caf\xc3\xa9"),
        BODY("latin1", "\xe9", "\xc3\xa9"),
        BODY("windows-1252", "\x80", "\xe2\x82\xac"),
        BODY("x-cp1252", "\x80", "\xe2\x82\xac"),
        BODY("windows-1252",
             "a\x81"
             "b",
             "a" FFFD "b"),
        BODY("koi8-r", "\xc1", "\xd0\xb0"),
        BODY("Shift_JIS", "\x82\xa0", "\xe3\x81\x82"),
        BODY("x-sjis", "\x82\xa0", "\xe3\x81\x82"),
        BODY("euc-jp", "\xa4\xa2", "\xe3\x81\x82"),
        BODY("x-euc-jp", "\xa4\xa2\xa4", "\xe3\x81\x82" FFFD),
        BODY("iso-2022-jp", "\x1b$B$\"\x1b(B!", "\xe3\x81\x82!"),
        BODY("gb2312", "\xb0\xa1", "\xe5\x95\x8a"),
        BODY("big5", "\xa4\xa4", "\xe4\xb8\xad"),
        BODY("ks_c_5601-1987", "\xb0\xa1", "\xea\xb0\x80"),
        BODY("utf-16", "a\0b\0", "ab"),
        BODY("utf-16be", "\0a\0b", "ab"),
        BODY("utf-16le",
             "a\0\0\xd8"
             "b\0",
             "a" FFFD "b"),
        BODY("utf-16le", "a\0b", "a" FFFD),
        BODY("utf-16le", "a\0\x3d\xd8", "a" FFFD),
        BODY("utf-16le", "\x3d\xd8\0\xde", "\xf0\x9f\x98\x80"),
        BODY("utf-32le", "a\0\0\0\0\0\x11\0b\0\0\0", "a" FFFD "b"),
        /* Byte-order marks. */
        BODY("",
             "\xef\xbb\xbf"
             "a",
             "a"),
        BODY("iso-8859-1", "\xef\xbb\xbf\xc3\xa9", "\xc3\xa9"),
        BODY("",
             "\xff\xfe"
             "a\0",
             "a"),
        BODY("utf-8", "\xfe\xff\0a", "a"),
        BODY("utf-16be",
             "\xff\xfe"
             "a\0",
             "a"),
        BODY("utf-16", "\xfe\xff\0a", "a"),
        BODY("", "\xff\xfe\0\0a\0\0\0", "a"),
        BODY("", "\0\0\xfe\xff\0\0\0a", "a"),
        BODY("", "\xef\xbb\xbf", ""),
        BODY("", "", ""),
        BODY("utf-16", "", ""),
        BODY("utf-16", "a", FFFD),
        /* What must not reach iconv as it stands. */
        BODY("iso-8859-1//TRANSLIT", "\xe9", FFFD),
        BODY("../iso-8859-1", "\xe9", FFFD),
        BODY("iso-8859-1\n", "\xe9", FFFD),
        BODY("iso-8859-1iso-8859-1iso-8859-1iso-8859-1iso-8859-1", "\xe9", FFFD),
#undef BODY
    };
    for (size_t i = 0; i < COUNT(CASES); i++) {
        size_t n = CASES[i].body.n;
        char *copy = xmalloc(n);
        struct buf out;
        memcpy(copy, CASES[i].body.p, n);
        buf_init(&out, BUF_NO_MAX);
        assert_true(charset_to_utf8((struct str){copy, n}, str_of(CASES[i].charset), &out));
        if (!str_eq(buf_str(&out), str_of(CASES[i].text)))
            print_error("case %zu, %s: \"%.*s\" is not \"%s\"\n", i, CASES[i].charset, (int)out.n,
                        out.p ? out.p : "", CASES[i].text);
        assert_true(str_eq(buf_str(&out), str_of(CASES[i].text)));
        buf_fini(&out);
        free(copy);
    }
}

/* Bodies larger than any piece it is converted in; each byte grows. */
static void test_large(void **state)
{
    (void)state;
    const size_t n = 100001;
    char *body = xmalloc(n);
    struct buf out;
    memset(body, 0xe9, n);
    buf_init(&out, BUF_NO_MAX);
    buf_add_str(&out, STR("before "));
    assert_true(charset_to_utf8((struct str){body, n}, STR("latin1"), &out));
    assert_int_equal(out.n, 7 + 2 * n);
    for (size_t i = 7; i < out.n; i += 2)
        assert_memory_equal(out.p + i, "\xc3\xa9", 2);

    /* Nothing but errors is one U+FFFD each. */
    buf_reset(&out);
    assert_true(charset_to_utf8((struct str){body, n}, STR("iso-2022-jp"), &out));
    assert_int_equal(out.n, 3 * n);
    buf_fini(&out);
    free(body);
}

static void test_full(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 3);
    assert_true(charset_to_utf8(STR("\xe9"
                                    "a"),
                                STR("latin1"), &out));
    buf_reset(&out);
    assert_false(charset_to_utf8(STR("\xe9\xe9"), STR("latin1"), &out));
    assert_true(out.full);
    buf_reset(&out);
    assert_false(charset_to_utf8(STR("abcd"), STR(""), &out));
    buf_reset(&out);
    assert_false(charset_to_utf8(STR("a\0\0\xd8"), STR("utf-16le"), &out));
    buf_fini(&out);
}

/* Whatever the bytes, the result is UTF-8 and there is one. */
static void test_any_bytes(void **state)
{
    (void)state;
    static const char *const CHARSETS[] = {
        "iso-2022-jp", "iso-2022-kr", "euc-kr", "big5-hkscs", "gb18030",        "utf-7",
        "utf-16",      "utf-32",      "tcvn",   "euc-tw",     "shift_jisx0213", "ibm1364",
    };
    char body[512];
    uint32_t seed = 1;
    for (unsigned round = 0; round < 200; round++) {
        for (size_t i = 0; i < sizeof(body); i++) {
            seed = seed * 1664525 + 1013904223;
            body[i] = (char)(seed >> 24);
            if (round % 2 && seed >> 16 & 1)
                body[i] = "\x1b$B(\x0e\x0f~"[seed >> 17 & 7];
        }
        for (size_t i = 0; i < COUNT(CHARSETS); i++) {
            struct buf out;
            buf_init(&out, BUF_NO_MAX);
            assert_true(charset_to_utf8((struct str){body, sizeof(body) - round},
                                        str_of(CHARSETS[i]), &out));
            assert_true(utf8_valid(buf_str(&out)));
            assert_true(out.n <= 6 * sizeof(body));
            buf_fini(&out);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameter),  cmocka_unit_test(test_is_utf8),
        cmocka_unit_test(test_conversion), cmocka_unit_test(test_large),
        cmocka_unit_test(test_full),       cmocka_unit_test(test_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
