/* links: base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"

static bool is_json(struct str text)
{
    /* A copy of its exact size, so that a look past its end is seen. */
    char *copy = xmalloc(text.n);
    struct str value;
    bool ok;

    if (text.n)
        memcpy(copy, text.p, text.n);
    ok = json_check((struct str){copy, text.n}, &value);
    free(copy);
    return ok;
}

static struct json_key key(const char *name)
{
    struct json_key k = {.text = str_of(name)};

    k.is_index = str_to_u64(k.text, &k.index);
    return k;
}

/* The text of what `path` ("a/0/b") leads to in a document, or "(none)". */
static const char *look_up(struct str text, const char *path, struct buf *out)
{
    struct json_key keys[8];
    char parts[64];
    char *rest = NULL;
    size_t n = 0;
    struct str value;

    snprintf(parts, sizeof(parts), "%s", path);
    for (char *part = strtok_r(parts, "/", &rest); part; part = strtok_r(NULL, "/", &rest))
        keys[n++] = key(part);
    buf_reset(out);
    assert_true(json_check(text, &value));
    if (!json_find(value, keys, n, &value))
        return "(none)";
    assert_true(json_text(value, out));
    buf_add_char(out, '\0');
    return out->p;
}

static void test_accepted(void **state)
{
    static const char *const good[] = {"0",
                                       "-0",
                                       "-0.5e+10",
                                       "1E400",
                                       " [ ] ",
                                       "{}",
                                       "\t{\"a\" : 1 , \"a\":[{}]}\r\n",
                                       "\"\"",
                                       "\"\\u12aF\\n\\/\"",
                                       "\"\\ud800\"",
                                       "\"日本 is a text of more than sixteen bytes 😀\"",
                                       "\xEF\xBB\xBF[null,true,false]",
                                       "\"\x7f\"",
                                       "[[[[]],{\"\":{}}]]"};
    static const char *const bad[] = {"",
                                      " ",
                                      "01",
                                      "-",
                                      "+1",
                                      "1.",
                                      ".5",
                                      "1e",
                                      "1e+",
                                      "0x1",
                                      "NaN",
                                      "tru",
                                      "truee",
                                      "nul",
                                      "[1,]",
                                      "[,1]",
                                      "[1 2]",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{a:1}",
                                      "{\"a\":1,}",
                                      "{\"a\":1]",
                                      "[1}",
                                      "]",
                                      "}",
                                      "[",
                                      "{",
                                      "{\"a\":",
                                      "\"",
                                      "\"\\",
                                      "\"\\x\"",
                                      "\"\\u123\"",
                                      "\"\\u123g\"",
                                      "\"a\nb\"",
                                      "\"sixteen bytes and a tab \t\"",
                                      "\"\xFF\"",
                                      "\"\xC3\"",
                                      "\"\xED\xA0\x80\"",
                                      "1 1",
                                      "[] []",
                                      "\f1",
                                      "\xEF\xBB\xBF",
                                      "\xEF\xBB\xBF\xEF\xBB\xBF[]",
                                      "'a'",
                                      "/**/1",
                                      "[1]\xC2\xA0"};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        if (!is_json(str_of(good[i])))
            fail_msg("refused: %s", good[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        if (is_json(str_of(bad[i])))
            fail_msg("accepted: %s", bad[i]);
    }
    assert_false(is_json(STR("\0")));
    assert_false(is_json(STR("1\0")));
    assert_false(is_json(STR("\"\0\"")));
    assert_false(is_json(STR("\"\\\0\"")));
}

static void test_depth(void **state)
{
    enum { MANY = 1000000 };
    char *text = xmalloc(MANY);

    (void)state;
    for (size_t depth = JSON_MAX_DEPTH; depth <= JSON_MAX_DEPTH + 1; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        assert_int_equal(is_json((struct str){text, 2 * depth}), depth == JSON_MAX_DEPTH);
    }
    memset(text, '[', MANY);
    assert_false(is_json((struct str){text, MANY}));
    free(text);
}

/* No beginning of a document with brackets around it is one, and none is read past its end. */
static void test_truncations(void **state)
{
    static const char *const documents[] = {
        "{\"users\": [{\"name\": \"J\\u00fcrgen \\ud83d\\ude00 ä日😀\", \"id\": -12.5e+3}, null],"
        " \"ok\": true, \"more\": {\"no\": false, \"list\": [[], {}, \"x\"]}}",
        "[\"a string that is long enough for two steps of sixteen bytes\",\"\\\\\\\"\", 0, 1.25]",
    };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct str text = str_of(documents[i]);

        assert_true(is_json(text));
        for (size_t n = 0; n < text.n; n++)
            assert_false(is_json((struct str){text.p, n}));
        /* Strings that lie differently to the steps of the scan. */
        for (size_t n = 0; n < 40; n++) {
            struct buf buf;

            buf_init(&buf, BUF_NO_MAX);
            buf_add_fill(&buf, ' ', n);
            buf_add_str(&buf, text);
            assert_true(is_json(buf_str(&buf)));
            buf_fini(&buf);
        }
    }
}

static void test_find(void **state)
{
    static const struct {
        const char *path, *text;
    } cases[] = {
        {"a", "last"},
        {"n", "12345678901234567890.50"},
        {"list", "[1,{\"x\":[]},\"] }\",null,\"\"]"},
        {"list/0", "1"},
        {"list/1/x", "[]"},
        {"list/1", "{\"x\":[]}"},
        {"list/2", "] }"},
        {"list/3", ""},
        {"list/4", ""},
        {"list/5", "(none)"},
        {"list/x", "(none)"},
        {"nested/0", "by name"},
        {"nested/ü😀", "escaped key"},
        {"nested/ü", "(none)"},
        {"nested/ü😀x", "(none)"},
        {"nested/a\"b", "quote"},
        {"nested/\\u0041", "(none)"},
        {"nested/A", "letter"},
        {"a/b", "(none)"},
        {"t", "true"},
        {"f", "false"},
        {"f/0", "(none)"},
        {"missing", "(none)"},
        {"",
         "{\"a\":\"first\",\"n\":12345678901234567890.50,\"list\":[1,{\"x\":[]},\"] }\",null,\"\"],"
         "\"nested\":{\"0\":\"by name\",\"\\u00fC\\uD83d\\uDE00\":\"escaped "
         "key\",\"a\\\"b\":\"quote\","
         "\"\\u0041\":\"letter\"},\"t\":true,\"f\":false,\"\":{},\"a\":\"last\"}"},
    };
    struct str text = STR(" {\"a\": \"first\", \"n\" :12345678901234567890.50 ,\"list\": [ 1 "
                          ",{\"x\" : [ ] }, \"] }\","
                          " null,\"\"],\n\t\"nested\": {\"0\": \"by name\", "
                          "\"\\u00fC\\uD83d\\uDE00\": \"escaped key\","
                          " \"a\\\"b\":\"quote\", \"\\u0041\": \"letter\"}, \"t\":true,\"f\": "
                          "false, \"\":{}, \"a\": \"last\" } ");
    struct buf out;

    (void)state;
    buf_init(&out, BUF_NO_MAX);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_string_equal(look_up(text, cases[i].path, &out), cases[i].text);
    assert_string_equal(look_up(STR("[]"), "0", &out), "(none)");
    assert_string_equal(look_up(STR("{}"), "0", &out), "(none)");
    assert_string_equal(look_up(STR("[[[7]]]"), "0/0/0", &out), "7");
    assert_string_equal(look_up(STR("[0,1]"), "18446744073709551615", &out), "(none)");
    assert_string_equal(look_up(STR("1.50"), "", &out), "1.50");
    buf_fini(&out);
}

static void test_text(void **state)
{
    struct buf out;
    struct str value;

    (void)state;
    buf_init(&out, BUF_NO_MAX);
    assert_string_equal(
        look_up(STR("\"\\\"\\\\\\/\\b\\f\\n\\r\\tx\\u00e4\\uD83D\\uDE00\""), "", &out),
        "\"\\/\b\f\n\r\txä😀");
    assert_string_equal(look_up(STR("\"\\uD83Dx\\uDE00\\uD83D\\uD83D\\uDE00\\uD800\""), "", &out),
                        "\uFFFDx\uFFFD\uFFFD😀\uFFFD");
    assert_string_equal(look_up(STR("\"\\uD800\\n\\uD800\\u0041\""), "", &out), "\uFFFD\n\uFFFDA");
    look_up(STR("\"a\\u0000b\""), "", &out);
    assert_memory_equal(out.p, "a\0b", 4);
    buf_fini(&out);

    buf_init(&out, 5);
    buf_add_char(&out, 'k');
    assert_true(json_check(STR("\"ab\\ncd\""), &value));
    assert_false(json_text(value, &out));
    assert_true(json_check(STR("[1, 2 ]"), &value));
    assert_false(json_text(value, &out));
    assert_int_equal(out.n, 1);
    buf_fini(&out);
}

static void test_types(void **state)
{
    static const struct {
        const char *text;
        enum json_type type;
    } cases[] = {{"null", JSON_NULL},  {"false", JSON_FALSE}, {"true", JSON_TRUE},
                 {"-1", JSON_NUMBER},  {"0", JSON_NUMBER},    {"\"x\"", JSON_STRING},
                 {" [1]", JSON_ARRAY}, {"{} ", JSON_OBJECT}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct str value;

        assert_true(json_check(str_of(cases[i].text), &value));
        assert_int_equal(json_type(value), cases[i].type);
    }
}

static void test_quote(void **state)
{
    struct buf out;
    struct str value;

    (void)state;
    buf_init(&out, BUF_NO_MAX);
    assert_true(json_quote(&out, STR("a\"\\/\b\f\n\r\t\x01\x1f\0ä😀\xFF\xC3(")));
    buf_add_char(&out, '\0');
    assert_string_equal(out.p, "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\\u0000ä😀\uFFFD\uFFFD(\"");
    assert_true(json_check((struct str){out.p, out.n - 1}, &value));
    buf_reset(&out);
    assert_true(json_quote(&out, str_of(NULL)));
    assert_true(str_eq(buf_str(&out), STR("\"\"")));
    buf_fini(&out);

    buf_init(&out, 6);
    assert_false(json_quote(&out, STR("abcde")));
    assert_int_equal(out.n, 0);
    assert_true(json_quote(&out, STR("abcd")));
    buf_fini(&out);
}

/* A buffer that ends anywhere in the text: nothing of it is there, and what stood before it is. */
static void test_quote_full(void **state)
{
    static const char *const texts[] = {"",        "abc", "\n",     "a\nb", "\x01",
                                        "a\x01\"", "ä",   "aä\xff", "\n\nä"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct buf whole, out;

        buf_init(&whole, BUF_NO_MAX);
        assert_true(json_quote(&whole, str_of(texts[i])));
        for (size_t max = 0; max <= whole.n; max++) {
            buf_init(&out, 1 + max);
            buf_add_char(&out, '-');
            assert_int_equal(json_quote(&out, str_of(texts[i])), max == whole.n);
            assert_int_equal(out.full, max < whole.n);
            assert_int_equal(out.n, max < whole.n ? 1 : 1 + whole.n);
            assert_int_equal(*out.p, '-');
            buf_fini(&out);
        }
        buf_fini(&whole);
    }
}

static void test_number(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},
                 {1, "1"},
                 {-1.5, "-1.5"},
                 {0.1, "0.1"},
                 {280, "280"},
                 {NAN, "null"},
                 {INFINITY, "null"},
                 {1.0 / 3, "0.3333333333333333"},
                 {5e-324, "5e-324"},
                 {1e300, "1e+300"},
                 {4.1234567, "4.1234567"},
                 {123456789, "123456789"}};
    static const double hard[] = {DBL_MAX, DBL_MIN, 0.1 + 0.2, M_PI, 9007199254740993.0};
    struct buf out;

    (void)state;
    buf_init(&out, BUF_NO_MAX);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        buf_reset(&out);
        json_number(&out, cases[i].value);
        buf_add_char(&out, '\0');
        assert_string_equal(out.p, cases[i].text);
    }
    for (size_t i = 0; i < sizeof(hard) / sizeof(*hard); i++) {
        double back;

        buf_reset(&out);
        json_number(&out, hard[i]);
        assert_true(str_to_double(buf_str(&out), &back) && back == hard[i]);
        assert_true(is_json(buf_str(&out)));
    }
    buf_fini(&out);
}

static unsigned digit64(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    return (unsigned)(strchr(digits, c) - digits);
}

static void decode64(struct str s, struct buf *out)
{
    uint32_t bits = 0;

    for (size_t i = 0; i < s.n && s.p[i] != '='; i++) {
        bits = bits << 6 | digit64(s.p[i]);
        if (i % 4)
            buf_add_char(out, (char)(bits >> (6 - i % 4 * 2)));
    }
}

static void test_suite(void **state)
{
    struct str file, all, value;
    struct buf name, must, b64, text;
    const char *why;
    size_t count = 0;

    (void)state;
    if (!file_read(SOURCE_DIR "/../shared/vectors/json.json", 1 << 24, &file, &why)) {
        print_message("skipped: shared/vectors/json.json: %s\n", why);
        skip();
    }
    buf_init(&name, BUF_NO_MAX);
    buf_init(&must, BUF_NO_MAX);
    buf_init(&b64, BUF_NO_MAX);
    buf_init(&text, BUF_NO_MAX);
    assert_true(json_check(file, &all));
    while (json_find(all, &(struct json_key){.index = count, .is_index = true}, 1, &value)) {
        bool ok;

        look_up(value, "name", &name);
        look_up(value, "must", &must);
        look_up(value, "b64", &b64);
        buf_reset(&text);
        decode64(str_of(b64.p), &text);
        ok = is_json(buf_str(&text));
        if (*must.p != 'e' && ok != (*must.p == 'p'))
            fail_msg("%s: %s", name.p, ok ? "accepted" : "refused");
        if (ok) {
            buf_reset(&b64);
            assert_true(json_check(buf_str(&text), &value) && json_text(value, &b64));
            assert_true(utf8_valid(buf_str(&b64)));
        }
        count++;
    }
    assert_true(count >= 318);
    buf_fini(&name);
    buf_fini(&must);
    buf_fini(&b64);
    buf_fini(&text);
    xstr_free(file);
}

/* {"a0":{"v":0,"pad":"xx…"},"a1":…}: objects that grow longer, or shorter, by one byte each. */
static void make_objects(struct buf *out, unsigned count, bool shorter)
{
    buf_reset(out);
    buf_add_str(out, STR("{\"deep\":[[[[[[[[[[{\"v\":\"}\"}]]]]]]]]]]"));
    for (unsigned i = 0; i < count; i++) {
        buf_addf(out, ", \"a%u\" : { \"v\":%u,\"pad\":\"", i, i);
        buf_add_fill(out, ']', 20 + (shorter ? count - i : i));
        buf_add_str(out, STR("\"}"));
    }
    buf_add_char(out, '}');
}

static void test_index(void **state)
{
    const unsigned count = 3 * JSON_INDEX_MAX;
    struct json_key keys[2] = {key("a0"), key("v")};
    struct json_index index;
    struct buf text;
    struct str value, found, same;

    (void)state;
    buf_init(&text, BUF_NO_MAX);
    for (unsigned shorter = 0; shorter < 2; shorter++) {
        size_t least = SIZE_MAX;

        make_objects(&text, count, shorter);
        assert_true(json_check_index(buf_str(&text), &value, &index));
        assert_int_equal(index.n, JSON_INDEX_MAX);
        for (unsigned i = 0; i < count; i++) {
            char name[8];

            snprintf(name, sizeof(name), "a%u", i);
            keys[0] = key(name);
            assert_true(json_find_index(value, &index, keys, 2, &found));
            assert_true(json_find(value, keys, 2, &same) && same.p == found.p);
            assert_int_equal(found.n, same.n);
            assert_int_equal(found.p[found.n - 1], '0' + i % 10);
        }
        /* The largest are in it, and each is what it says. */
        for (unsigned i = 0; i < index.n; i++) {
            assert_true(json_check(index.values[i], &same) && same.n == index.values[i].n);
            least = index.values[i].n < least ? index.values[i].n : least;
        }
        keys[0] = key("a0");
        assert_true(json_find(value, keys, 1, &found));
        assert_true(shorter ? found.n >= least : found.n < least);
    }
    /* Nothing of a document that is small or flat. */
    assert_true(json_check_index(STR("{\"a\":[1,2],\"b\":{}}"), &value, &index));
    assert_int_equal(index.n, 0);
    keys[0] = key("b");
    assert_true(json_find_index(value, &index, keys, 1, &found) && str_eq(found, STR("{}")));
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted),    cmocka_unit_test(test_depth),
        cmocka_unit_test(test_truncations), cmocka_unit_test(test_find),
        cmocka_unit_test(test_text),        cmocka_unit_test(test_types),
        cmocka_unit_test(test_quote),       cmocka_unit_test(test_number),
        cmocka_unit_test(test_suite),       cmocka_unit_test(test_quote_full),
        cmocka_unit_test(test_index),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
