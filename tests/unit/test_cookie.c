/* links: http */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/url.h"
#include "http/cookie.h"
#include "http/psl.h"

#define NOW 1700000000 /* Tue, 14 Nov 2023 22:13:20 GMT */

#define HTTP "http://www.example.com/dir/page"
#define HTTPS "https://www.example.com/dir/page"
#define LONG_16 "0123456789abcdef"
#define LONG_256                                                                            \
    LONG_16 LONG_16 LONG_16 LONG_16 LONG_16 LONG_16 LONG_16 LONG_16 LONG_16 LONG_16 LONG_16 \
        LONG_16 LONG_16 LONG_16 LONG_16 LONG_16
#define LONG_1024 LONG_256 LONG_256 LONG_256 LONG_256

/* What is set by responses from one URL, and what is then sent to another. */
struct exchange {
    const char *from, *set[4], *to, *sent;
};

static const struct exchange exchanges[] = {
    /* Names and values. */
    {HTTP, {"a=b"}, HTTP, "a=b"},
    {HTTP, {" a = b "}, HTTP, "a=b"},
    {HTTP, {"\ta\t=\tb\t;"}, HTTP, "a=b"},
    {HTTP, {"a=\"b c\""}, HTTP, "a=\"b c\""},
    {HTTP, {"a=\"b;c\""}, HTTP, "a=\"b"},
    {HTTP, {"a=b=c"}, HTTP, "a=b=c"},
    {HTTP, {"a="}, HTTP, "a="},
    {HTTP, {"a=b, c=d"}, HTTP, "a=b, c=d"},
    {HTTP, {"a=\xc3\xa9"}, HTTP, "a=\xc3\xa9"},
    {HTTP, {"a b=c"}, HTTP, "a b=c"},
    {HTTP, {"a=b", "A=c"}, HTTP, "a=b; A=c"},
    {HTTP, {"a"}, HTTP, ""},
    {HTTP, {""}, HTTP, ""},
    {HTTP, {"=b"}, HTTP, ""},
    {HTTP, {"; a=b"}, HTTP, ""},
    {HTTP, {"a=b\x01"}, HTTP, ""},
    {HTTP, {"a=b; path=/\x7f"}, HTTP, ""},
    {HTTP, {"a=b\r\nX: y"}, HTTP, ""},
    {HTTP, {"a=b\tc"}, HTTP, "a=b\tc"},
    {HTTP, {"a=b; unknown=1; HttpOnly; SameSite=Strict"}, HTTP, "a=b"},
    /* The newest counts, at the place of the first. */
    {HTTP, {"a=1", "b=2", "a=3"}, HTTP, "a=3; b=2"},
    {HTTP, {"a=1; path=/", "a=2; path=/dir"}, HTTP, "a=2; a=1"},
    {HTTP, {"a=1", "a=2; domain=www.example.com"}, HTTP, "a=2"},
    {HTTP, {"a=1", "b=2", "a=; max-age=0", "a=4"}, HTTP, "b=2; a=4"},
    /* Longer paths first. */
    {HTTP,
     {"a=1; path=/", "b=2; path=/dir/page", "c=3", "d=4; path=/"},
     HTTP,
     "b=2; c=3; a=1; d=4"},
    /* Expiry. */
    {HTTP, {"a=b; Max-Age=1"}, HTTP, "a=b"},
    {HTTP, {"a=b; max-age=0"}, HTTP, ""},
    {HTTP, {"a=b; max-age=-1"}, HTTP, ""},
    {HTTP, {"a=b; max-age=x"}, HTTP, "a=b"},
    {HTTP, {"a=b; max-age=-"}, HTTP, "a=b"},
    {HTTP, {"a=b; max-age="}, HTTP, "a=b"},
    {HTTP, {"a=b; max-age=1x"}, HTTP, "a=b"},
    {HTTP, {"a=b; max-age=99999999999999999999999999"}, HTTP, "a=b"},
    {HTTP, {"a=b; expires=Tue, 14 Nov 2023 22:13:20 GMT"}, HTTP, ""},
    {HTTP, {"a=b; expires=Tue, 14 Nov 2023 22:13:21 GMT"}, HTTP, "a=b"},
    {HTTP, {"a=b; expires=yesterday"}, HTTP, "a=b"},
    {HTTP, {"a=b; max-age=5; expires=Thu, 01 Jan 1970 00:00:00 GMT"}, HTTP, "a=b"},
    {HTTP, {"a=b; expires=Thu, 01 Jan 1970 00:00:00 GMT; max-age=5"}, HTTP, "a=b"},
    {HTTP, {"a=b; expires=Thu, 01 Jan 2099 00:00:00 GMT; max-age=0"}, HTTP, ""},
    {HTTP, {"a=b; expires=Thu, 01 Jan 1970 00:00:00 GMT; max-age=x"}, HTTP, ""},
    {HTTP, {"a=b", "a=c; path=/; max-age=0"}, HTTP, "a=b"},
    {HTTP, {"a=b", "a=c; path=/dir; max-age=0"}, HTTP, ""},
    /* Paths. */
    {HTTP, {"a=b"}, "http://www.example.com/", ""},
    {HTTP, {"a=b"}, "http://www.example.com/dir", "a=b"},
    {HTTP, {"a=b"}, "http://www.example.com/dir/", "a=b"},
    {HTTP, {"a=b"}, "http://www.example.com/directory", ""},
    {HTTP, {"a=b"}, "http://www.example.com/dir/x/y?q", "a=b"},
    {HTTP, {"a=b; path=/dir/"}, "http://www.example.com/dir", ""},
    {HTTP, {"a=b; path=/dir/"}, "http://www.example.com/dir/x", "a=b"},
    {HTTP, {"a=b; path=/other"}, "http://www.example.com/other", "a=b"},
    {HTTP, {"a=b; path=other"}, HTTP, "a=b"},
    {HTTP, {"a=b; path=/other; path="}, HTTP, "a=b"},
    {HTTP, {"a=b; path=\"/\""}, "http://www.example.com/", ""},
    {HTTP, {"a=b; PATH = /x ; path = / "}, "http://www.example.com/", "a=b"},
    {HTTP, {"a=b; path=/" LONG_1024}, HTTP, "a=b"},
    {"http://www.example.com/x", {"a=b"}, "http://www.example.com/y", "a=b"},
    {"http://www.example.com", {"a=b"}, "http://www.example.com/y", "a=b"},
    {"http://www.example.com//x", {"a=b"}, "http://www.example.com/y", "a=b"},
    {"http://www.example.com/" LONG_1024 "/x", {"a=b"}, "http://www.example.com/", ""},
    /* Domains. */
    {HTTP, {"a=b"}, "http://example.com/dir/x", ""},
    {HTTP, {"a=b"}, "http://a.www.example.com/dir/x", ""},
    {HTTP, {"a=b; domain=example.com"}, "http://example.com/dir/x", "a=b"},
    {HTTP, {"a=b; domain=.Example.COM"}, "http://shop.example.com/dir/x", "a=b"},
    {HTTP, {"a=b; domain=example.com"}, "http://anexample.com/dir/x", ""},
    {HTTP, {"a=b; domain=www.example.com"}, "http://a.www.example.com/dir/x", "a=b"},
    {HTTP, {"a=b; domain=www.example.com"}, "http://example.com/dir/x", ""},
    {HTTP, {"a=b; domain=a.www.example.com"}, "http://a.www.example.com/dir/x", ""},
    {HTTP, {"a=b; domain=other.com"}, HTTP, ""},
    {HTTP, {"a=b; domain=xample.com"}, HTTP, ""},
    {HTTP, {"a=b; domain=..example.com"}, HTTP, ""},
    {HTTP, {"a=b; domain="}, "http://example.com/dir/x", ""},
    {HTTP, {"a=b; domain="}, HTTP, "a=b"},
    {HTTP, {"a=b; domain=other.com; domain=example.com"}, HTTP, "a=b"},
    {HTTP, {"a=b; domain=example.com; domain=other.com"}, HTTP, ""},
    {HTTP, {"a=b"}, "http://www.example.com:8080/dir/x", "a=b"},
    /* Public suffixes. */
    {HTTP, {"a=b; domain=com"}, HTTP, ""},
    {HTTP, {"a=b; domain=.com"}, HTTP, ""},
    {"http://a.co.uk/", {"x=y; domain=co.uk"}, "http://a.co.uk/", ""},
    {"http://a.github.io/", {"x=y; domain=github.io"}, "http://a.github.io/", ""},
    {"http://a.github.io/", {"x=y; domain=a.github.io"}, "http://b.a.github.io/", "x=y"},
    {"http://github.io/", {"x=y; domain=github.io"}, "http://github.io/", "x=y"},
    {"http://github.io/", {"x=y; domain=github.io"}, "http://a.github.io/", ""},
    {"http://localhost/", {"x=y; domain=localhost"}, "http://localhost:9000/", "x=y"},
    {"http://a.localhost/", {"x=y; domain=localhost"}, "http://a.localhost/", ""},
    {"http://\u0444.\u0440\u0444/", {"x=y; domain=xn--p1ai"}, "http://\u0444.\u0440\u0444/", ""},
    /* Addresses. */
    {"http://127.0.0.1/", {"x=y"}, "http://127.0.0.1/", "x=y"},
    {"http://127.0.0.1/", {"x=y; domain=127.0.0.1"}, "http://127.0.0.1/", "x=y"},
    {"http://127.0.0.1/", {"x=y; domain=0.0.1"}, "http://127.0.0.1/", ""},
    {"http://127.0.0.1/", {"x=y; domain=1"}, "http://127.0.0.1/", ""},
    {"http://[::1]/", {"x=y"}, "http://[::1]/", "x=y"},
    {"http://[::1]/", {"x=y; domain=[::1]"}, "http://[::1]/", "x=y"},
    {"http://[::1]/", {"x=y"}, "http://[::2]/", ""},
    /* Secure cookies and prefixes. */
    {HTTPS, {"a=b; secure"}, HTTPS, "a=b"},
    {HTTPS, {"a=b; Secure=no"}, HTTP, ""},
    {HTTPS, {"a=b"}, HTTP, "a=b"},
    {HTTP, {"a=b; secure"}, HTTPS, ""},
    {HTTPS, {"__Secure-a=b"}, HTTPS, ""},
    {HTTPS, {"__Secure-a=b; secure"}, HTTPS, "__Secure-a=b"},
    {HTTP, {"__Secure-a=b; secure"}, HTTPS, ""},
    {HTTPS, {"__Host-a=b; secure; path=/"}, HTTPS, "__Host-a=b"},
    {HTTPS, {"__Host-a=b; path=/"}, HTTPS, ""},
    {HTTPS, {"__Host-a=b; secure"}, HTTPS, ""},
    {HTTPS, {"__Host-a=b; secure; path=/dir"}, HTTPS, ""},
    {HTTPS, {"__Host-a=b; secure; path=/; domain=www.example.com"}, HTTPS, ""},
    {"https://www.example.com/", {"__Host-a=b; secure"}, HTTPS, ""},
    {HTTPS, {"__host-a=b", "__secure-a=b"}, HTTPS, ""},
    {HTTPS, {"__Hosta=b"}, HTTPS, "__Hosta=b"},
};

static struct cookie_place place_of(const char *text, struct buf *out)
{
    struct url url;

    buf_init(out, 3 * URL_MAX);
    assert_int_equal(url_parse(str_of(text), NULL, out, &url), URL_OK);
    return (struct cookie_place){url.host, url.path, url.https};
}

static bool set_at(struct jar *jar, const char *text, const char *from, int64_t now_s)
{
    struct buf out;
    struct cookie_place place = place_of(from, &out);
    bool changed = jar_set(jar, str_of(text), &place, now_s);

    buf_fini(&out);
    return changed;
}

static bool set(struct jar *jar, const char *text, const char *from)
{
    return set_at(jar, text, from, NOW);
}

static unsigned sent_at(struct jar *jar, const char *to, int64_t now_s, const char *expected)
{
    struct buf url, out;
    struct cookie_place place = place_of(to, &url);

    buf_init(&out, 1 << 20);
    unsigned n = jar_header(jar, &place, now_s, &out);
    if (!str_eq(buf_str(&out), str_of(expected)))
        fail_msg("sent to %s: \"%.*s\", expected \"%s\"", to, (int)out.n, out.n ? out.p : "",
                 expected);
    assert_int_equal(n > 0, *expected != '\0');
    buf_fini(&url);
    buf_fini(&out);
    return n;
}

static void exchanges_are_right(void **state)
{
    const size_t n = sizeof(exchanges) / sizeof(*exchanges);
    struct blocks blocks;

    (void)state;
    blocks_init(&blocks);
    for (size_t i = 0; i < n; i++) {
        const struct exchange *e = &exchanges[i];
        struct jar jar;
        jar_init(&jar, i % 2 ? &blocks : NULL);
        for (size_t k = 0; k < 4 && e->set[k]; k++)
            set(&jar, e->set[k], e->from);
        sent_at(&jar, e->to, NOW, e->sent);
        jar_clear(&jar);
        assert_true(jar_empty(&jar));
    }
    blocks_fini(&blocks);
    print_message("%zu exchanges\n", n);
}

static void changes_are_told(void **state)
{
    struct jar jar;

    (void)state;
    jar_init(&jar, NULL);
    assert_true(jar_empty(&jar));
    assert_false(set(&jar, "a", HTTP));
    assert_false(set(&jar, "a=b; max-age=0", HTTP));
    assert_true(jar_empty(&jar));
    assert_true(set(&jar, "a=b", HTTP));
    assert_true(set(&jar, "a=b", HTTP));
    assert_int_equal(jar.count, 1);
    assert_true(set(&jar, "a=b; max-age=0", HTTP));
    assert_true(jar_empty(&jar));
    assert_int_equal(jar.count, 0);
    jar_clear(&jar);
}

static void cookies_expire(void **state)
{
    struct jar jar;

    (void)state;
    jar_init(&jar, NULL);
    set(&jar, "a=1; max-age=10", HTTP);
    set(&jar, "b=2; expires=Tue, 14 Nov 2023 22:13:40 GMT", HTTP);
    set(&jar, "c=3", HTTP);
    sent_at(&jar, HTTP, NOW + 9, "a=1; b=2; c=3");
    sent_at(&jar, HTTP, NOW + 10, "b=2; c=3");
    assert_int_equal(jar.count, 2);
    assert_true(set_at(&jar, "b=4", HTTP, NOW + 20));
    sent_at(&jar, HTTP, NOW + 20, "c=3; b=4");
    jar_clear(&jar);
}

/* RFC 6265bis §5.7: a plain response neither replaces nor hides what a secure one has set. */
static void secure_cookies_are_left_alone(void **state)
{
    struct jar jar;

    (void)state;
    jar_init(&jar, NULL);
    assert_true(set(&jar, "a=1; secure; path=/dir", HTTPS));
    assert_false(set(&jar, "a=2; path=/dir", HTTP));
    assert_false(set(&jar, "a=2; path=/dir/page", HTTP));
    assert_false(set(&jar, "a=2; path=/dir; domain=example.com", HTTP));
    assert_false(set(&jar, "a=; path=/dir; max-age=0", HTTP));
    assert_true(set(&jar, "b=2; path=/dir", HTTP));
    assert_true(set(&jar, "a=3; path=/", HTTP));
    assert_true(set(&jar, "a=4; path=/dir", "http://other.example.com/"));
    sent_at(&jar, HTTPS, NOW, "a=1; b=2; a=3");
    assert_true(set(&jar, "a=5; path=/dir", HTTPS));
    sent_at(&jar, HTTP, NOW, "a=5; b=2; a=3");
    jar_clear(&jar);
}

static void sizes_are_limited(void **state)
{
    static char text[2 + COOKIE_BYTES_MAX + 1];
    struct jar jar;

    (void)state;
    jar_init(&jar, NULL);
    memset(text, 'x', COOKIE_BYTES_MAX + 2);
    text[1] = '=';
    assert_false(set(&jar, text, HTTP));
    text[COOKIE_BYTES_MAX + 1] = '\0';
    assert_true(set(&jar, text, HTTP));
    jar_clear(&jar);
}

static void responses_are_limited(void **state)
{
    struct jar jar;
    char text[32];

    (void)state;
    jar_init(&jar, NULL);
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof(text), "c%d=1", i);
        assert_int_equal(set(&jar, text, HTTP), i < COOKIES_PER_RESPONSE);
    }
    assert_int_equal(jar.count, COOKIES_PER_RESPONSE);
    jar.from_this_response = 0;
    assert_true(set(&jar, "more=1", HTTP));
    jar_clear(&jar);
}

static void jars_are_limited(void **state)
{
    struct blocks blocks;
    struct jar jar;
    struct str value;
    char text[32];

    (void)state;
    blocks_init(&blocks);
    jar_init(&jar, &blocks);
    for (int i = 0; i < COOKIES_PER_JAR; i++) {
        jar.from_this_response = 0;
        snprintf(text, sizeof(text), "c%d=%d", i, i);
        assert_true(set(&jar, text, HTTP));
    }
    assert_true(set(&jar, "c0=again", HTTP));
    assert_true(set(&jar, "new=1", HTTP));
    assert_int_equal(jar.count, COOKIES_PER_JAR);
    assert_true(jar_find(&jar, STR("c0"), &value));
    assert_false(jar_find(&jar, STR("c1"), &value));
    assert_true(jar_find(&jar, STR("c2"), &value));
    /* What is expired goes before what is old. */
    assert_true(set(&jar, "c149=x; max-age=1", HTTP));
    assert_true(set_at(&jar, "newer=1", HTTP, NOW + 1));
    assert_true(jar_find(&jar, STR("c2"), &value));
    assert_false(jar_find(&jar, STR("c149"), &value));
    jar_clear(&jar);
    blocks_fini(&blocks);
}

static void headers_are_limited(void **state)
{
    static char text[4000];
    struct buf url, out;
    struct jar jar;

    (void)state;
    jar_init(&jar, NULL);
    memset(text, 'x', sizeof(text) - 1);
    text[1] = '=';
    for (char name = 'a'; name <= 'c'; name++) {
        text[0] = name;
        assert_true(set(&jar, text, HTTP));
    }
    assert_true(set(&jar, "small=1", HTTP));
    struct cookie_place to = place_of(HTTP, &url);
    buf_init(&out, 1 << 20);
    buf_add_str(&out, STR("Cookie: "));
    assert_int_equal(jar_header(&jar, &to, NOW, &out), 3);
    assert_true(str_ends(buf_str(&out), STR("; small=1")));
    assert_int_equal(out.n, 8 + 2 * 3999 + 2 + 9);
    buf_fini(&out);
    buf_init(&out, 5000);
    assert_int_equal(jar_header(&jar, &to, NOW, &out), 1);
    assert_true(out.full);
    assert_int_equal(out.n, 3999);
    buf_fini(&out);
    buf_fini(&url);
    jar_clear(&jar);
}

static void values_are_found(void **state)
{
    struct jar jar;
    struct str value = {NULL, 0};
    struct buf out;

    (void)state;
    jar_init(&jar, NULL);
    buf_init(&out, 1 << 16);
    jar_json(&jar, &out);
    assert_true(str_eq(buf_str(&out), STR("{}")));
    buf_reset(&out);
    assert_false(jar_find(&jar, STR("a"), &value));
    set(&jar, "a=1; path=/dir/page", HTTP);
    set(&jar, "z=\"q\"", HTTP);
    set(&jar, "a=2; path=/", HTTP);
    set(&jar, "b=\xff", "http://else.example/");
    set(&jar, "e=", HTTP);
    assert_true(jar_find(&jar, STR("a"), &value));
    assert_true(str_eq(value, STR("2")));
    set(&jar, "a=3; path=/dir/page", HTTP);
    assert_true(jar_find(&jar, STR("a"), &value));
    assert_true(str_eq(value, STR("3")));
    assert_true(jar_find(&jar, STR("e"), &value));
    assert_int_equal(value.n, 0);
    assert_false(jar_find(&jar, STR("A"), &value));
    jar_json(&jar, &out);
    assert_true(str_eq(buf_str(&out),
                       STR("{\"a\":\"3\",\"z\":\"\\\"q\\\"\",\"b\":\"\ufffd\",\"e\":\"\"}")));
    buf_fini(&out);
    jar_clear(&jar);
}

static void dates(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds;
    } good[] = {
        {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
        {"Tue, 14 Nov 2023 22:13:20 GMT", NOW},
        {"Tuesday, 14-Nov-23 22:13:20 GMT", NOW},
        {"Tue Nov 14 22:13:20 2023", NOW},
        {"14 nov 2023 22:13:20", NOW},
        {"2023 22:13:20 14 NOVEMBER", NOW},
        {"22:13:20;2023;Nov;14th", NOW},
        {"14 Nov 2023 22:13:20 +0500", NOW},
        {"14 Nov 2023 22:13:20x", NOW},
        {"14 Nov 2023 22:13:20:07", NOW},
        {"\t14///Nov---2023 @ 22:13:20", NOW},
        {"1 Jan 69 0:0:0", 3124224000},
        {"1 Jan 70 0:0:0", 0},
        {"1 Jan 00 0:0:0", 946684800},
        {"1 Jan 099 0:0:0", 915148800},
        {"29 Feb 2000 23:59:59", 951868799},
        {"29 Feb 2024 00:00:00", 1709164800},
        {"31 Dec 9999 23:59:59", 253402300799},
        {"1 Jan 1601 00:00:00", -11644473600},
        {"14 Nov 2023 22:13:20 15 Dec 2024 23:59:59", NOW},
    };
    static const char *const bad[] = {
        "",
        "0",
        "never",
        "Tue, 14 Nov 2023",
        "14 Nov 22:13:20",
        "Nov 2023 22:13:20",
        "14 2023 22:13:20",
        "14 Nox 2023 22:13:20",
        "14 Nov 2023 24:00:00",
        "14 Nov 2023 22:60:00",
        "14 Nov 2023 22:13:60",
        "14 Nov 2023 22:13",
        "14 Nov 2023 22:13:200",
        "14 Nov 2023 022:13:20",
        "0 Nov 2023 22:13:20",
        "32 Dec 2023 22:13:20",
        "31 Nov 2023 22:13:20",
        "29 Feb 2023 00:00:00",
        "29 Feb 2100 00:00:00",
        "14 Nov 1600 22:13:20",
        "14 Nov 20233 22:13:20",
        "14 Nov 2 22:13:20",
        "99999999999999999999 Nov 2023 22:13:20",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        int64_t seconds = -1;
        if (!cookie_date(str_of(good[i].text), &seconds) || seconds != good[i].seconds)
            fail_msg("\"%s\": %lld", good[i].text, (long long)seconds);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        int64_t seconds = -1;
        if (cookie_date(str_of(bad[i]), &seconds) || seconds != -1)
            fail_msg("\"%s\" is taken for a date", bad[i]);
    }
}

static void suffixes(void **state)
{
    (void)state;
    assert_true(psl_is_suffix(STR("com")));
    assert_true(psl_is_suffix(STR("com.")));
    assert_true(psl_is_suffix(STR("co.uk")));
    assert_true(psl_is_suffix(STR("foo.ck")));
    assert_false(psl_is_suffix(STR("www.ck")));
    assert_false(psl_is_suffix(STR("example.co.uk")));
    assert_true(psl_is_suffix(STR("")));
    assert_true(psl_is_suffix(str_of(LONG_256)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exchanges_are_right),
        cmocka_unit_test(changes_are_told),
        cmocka_unit_test(cookies_expire),
        cmocka_unit_test(secure_cookies_are_left_alone),
        cmocka_unit_test(sizes_are_limited),
        cmocka_unit_test(responses_are_limited),
        cmocka_unit_test(jars_are_limited),
        cmocka_unit_test(headers_are_limited),
        cmocka_unit_test(values_are_found),
        cmocka_unit_test(dates),
        cmocka_unit_test(suffixes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
