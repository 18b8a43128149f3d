/* links: base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/idn.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/url.h"

#define VECTORS SOURCE_DIR "/../shared/vectors/url.json"

static void assert_str(struct str got, const char *expected)
{
    if (!str_eq(got, str_of(expected)))
        fail_msg("got \"%.*s\", expected \"%s\"", (int)got.n, got.p ? got.p : "", expected);
}

/* The text of a member of a case, on the heap; NULL if it is null or not there. */
static char *member(struct str object, const char *name)
{
    struct json_key key = {.text = str_of(name)};
    struct buf text;
    struct str value;

    if (!json_find(object, &key, 1, &value) || json_type(value) != JSON_STRING)
        return NULL;
    buf_init(&text, BUF_NO_MAX);
    assert_true(json_text(value, &text));
    assert_true(buf_add_char(&text, '\0'));
    return text.p;
}

/* As member, with its length: an input may hold NUL. */
static struct str member_bytes(struct str object, const char *name)
{
    struct json_key key = {.text = str_of(name)};
    struct buf text;
    struct str value;

    buf_init(&text, BUF_NO_MAX);
    assert_true(buf_add_char(&text, '\0'));
    buf_reset(&text);
    if (json_find(object, &key, 1, &value))
        assert_true(json_text(value, &text));
    return buf_str(&text);
}

static bool is_http(const char *url)
{
    return strncmp(url, "http:", 5) == 0 || strncmp(url, "https:", 6) == 0;
}

struct tally {
    unsigned n, compared, failures, schemes, skipped_base, differ;
};

static void compare(struct tally *tally, const char *input, const char *field, struct str got,
                    struct str object)
{
    struct str expected = member_bytes(object, field);

    if (!str_eq(got, expected)) {
        print_error("%s: %s is \"%.*s\", not \"%.*s\"\n", input, field, (int)got.n, got.p,
                    (int)expected.n, expected.p);
        tally->differ++;
    }
    xstr_free(expected);
}

/* WHATWG's search and hash are empty if only the '?' or '#' is there. */
static struct str or_nothing(struct str s)
{
    return s.n == 1 ? str_skip(s, 1) : s;
}

static void compare_url(struct tally *tally, const char *input, const struct url *url,
                        struct str object)
{
    char port[8] = "";
    struct str hash = url->fragment;

    if (url->port_given)
        snprintf(port, sizeof(port), "%u", url->port);
    if (hash.n > 0)
        hash = (struct str){hash.p - 1, hash.n + 1};
    compare(tally, input, "href", url->href, object);
    compare(tally, input, "protocol", url->https ? STR("https:") : STR("http:"), object);
    compare(tally, input, "username", url->username, object);
    compare(tally, input, "password", url->password, object);
    compare(tally, input, "hostname", url->host, object);
    compare(tally, input, "port", str_of(port), object);
    compare(tally, input, "pathname", url->path, object);
    compare(tally, input, "search", or_nothing(str_skip(url->target, url->path.n)), object);
    compare(tally, input, "hash", hash, object);
    tally->compared++;
}

static void expect_result(struct tally *tally, const char *input, enum url_result got, bool right)
{
    if (!right) {
        print_error("%s: result %d (%s)\n", input, (int)got, url_result_text(got));
        tally->differ++;
    }
}

static void run_vector(struct tally *tally, struct str object)
{
    struct buf base_out, out;
    struct url base_url, url;
    struct str text = member_bytes(object, "input");
    char *input = member(object, "input"), *base = member(object, "base");
    char *href = member(object, "href");
    const struct url *against = NULL;

    buf_init(&base_out, 3 * URL_MAX);
    buf_init(&out, 3 * URL_MAX);
    tally->n++;
    if (base && is_http(base)) {
        assert_int_equal(url_parse(str_of(base), NULL, &base_out, &base_url), URL_OK);
        against = &base_url;
    }
    enum url_result result = url_parse(text, against, &out, &url);
    if (base && !against && result == URL_NO_SCHEME) {
        tally->skipped_base++;
    } else if (!href) {
        expect_result(tally, input, result, result != URL_OK);
        tally->failures++;
    } else if (!is_http(href)) {
        expect_result(tally, input, result, result == URL_BAD_SCHEME);
        tally->schemes++;
    } else if (result != URL_OK) {
        expect_result(tally, input, result, false);
    } else {
        compare_url(tally, input, &url, object);
    }
    buf_fini(&base_out);
    buf_fini(&out);
    xstr_free(text);
    free(input);
    free(base);
    free(href);
}

static bool load_vectors(struct str *text, struct str *array)
{
    const char *why;

    if (!file_read(VECTORS, 1 << 24, text, &why)) {
        print_message("%s: %s\n", VECTORS, why);
        return false;
    }
    assert_true(json_check(*text, array));
    return true;
}

static void vectors(void **state)
{
    struct str text, array, object;
    struct tally tally = {0};
    struct json_key key = {.is_index = true};

    (void)state;
    if (!load_vectors(&text, &array))
        skip();
    for (; json_find(array, &key, 1, &object); key.index++)
        run_vector(&tally, object);
    print_message("%u cases: %u URLs compared, %u that must fail, %u of another scheme, "
                  "%u skipped (relative to a base of another scheme)\n",
                  tally.n, tally.compared, tally.failures, tally.schemes, tally.skipped_base);
    assert_int_equal(tally.differ, 0);
    assert_true(tally.compared > 200);
    xstr_free(text);
}

/* wss: and ws: are special schemes with the same default ports: with https: and http: in their
 * place, those cases (some hold every character of a set) are ours too. */
static void as_http(struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.n;) {
        bool secure = str_starts(str_skip(text, i), STR("\"wss:"));
        if (secure || str_starts(str_skip(text, i), STR("\"ws:"))) {
            buf_add_str(out, secure ? STR("\"https:") : STR("\"http:"));
            i += secure ? 5 : 4;
        } else {
            buf_add_char(out, text.p[i++]);
        }
    }
}

static void websocket_vectors(void **state)
{
    struct str text, array, object;
    struct tally tally = {0};
    struct json_key key = {.is_index = true};
    struct buf changed;

    (void)state;
    if (!load_vectors(&text, &array))
        skip();
    buf_init(&changed, BUF_NO_MAX);
    for (; json_find(array, &key, 1, &object); key.index++) {
        char *base = member(object, "base");
        buf_reset(&changed);
        as_http(object, &changed);
        if (!base && changed.n != object.n)
            run_vector(&tally, buf_str(&changed));
        free(base);
    }
    print_message("%u URLs compared, %u that must fail, with ws: read as http:, wss: as https:\n",
                  tally.compared, tally.failures);
    assert_int_equal(tally.differ, 0);
    buf_fini(&changed);
    xstr_free(text);
}

/* url_target(t) must be what url_parse makes of "http://h" + t. */
static void check_target(struct str t)
{
    struct buf whole, out, target;
    struct url url;

    buf_init(&whole, BUF_NO_MAX);
    buf_init(&out, 3 * URL_MAX);
    buf_init(&target, 3 * URL_MAX);
    buf_add_str(&whole, STR("http://h"));
    buf_add_str(&whole, t);
    buf_add_str(&target, STR("GET "));
    assert_int_equal(url_parse(buf_str(&whole), NULL, &out, &url), URL_OK);
    assert_true(url_target(t, &target));
    struct str got = buf_str_from(&target, 4);
    if (!str_eq(got, url.target))
        fail_msg("\"%.*s\": \"%.*s\", not \"%.*s\"", (int)t.n, t.p, (int)got.n, got.p,
                 (int)url.target.n, url.target.p);
    buf_fini(&whole);
    buf_fini(&out);
    buf_fini(&target);
}

static void target_of_vectors(void **state)
{
    struct str text, array, object;
    struct json_key key = {.is_index = true};
    unsigned n = 0;

    (void)state;
    if (!load_vectors(&text, &array))
        skip();
    for (; json_find(array, &key, 1, &object); key.index++) {
        struct str input = member_bytes(object, "input");
        for (size_t i = 0; i < input.n; i++)
            if (input.p[i] == '/' || input.p[i] == '\\') {
                check_target(str_skip(input, i));
                n++;
            }
        xstr_free(input);
    }
    print_message("%u targets compared\n", n);
    xstr_free(text);
}

static void target_of_random_strings(void **state)
{
    static const char *const bits[] = {"/",  "/",   ".", ".", "%2e", "%2E",  "%2",       "%",   "e",
                                       "a",  "bcd", "?", "#", "'",   "\\",   "\t",       "\n",  " ",
                                       "\"", "^",   "`", "{", "|",   "&a=b", "\r",       ";",   ":",
                                       "@",  "+",   "~", "<", "\0",  "\x7f", "\xc3\xa9", "\xff"};
    struct rng rng;
    struct buf text;

    (void)state;
    rng_seed(&rng, 7);
    buf_init(&text, BUF_NO_MAX);
    for (unsigned round = 0; round < 20000; round++) {
        buf_reset(&text);
        buf_add_char(&text, rng_below(&rng, 8) ? '/' : '\\');
        for (uint64_t n = rng_below(&rng, 16); n > 0; n--) {
            const char *bit = bits[rng_below(&rng, sizeof(bits) / sizeof(*bits))];
            buf_add(&text, bit, *bit ? strlen(bit) : 1);
        }
        check_target(buf_str(&text));
    }
    buf_fini(&text);
}

static void target_is_refused(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 8);
    assert_false(url_target(STR(""), &out));
    assert_false(url_target(STR("a/b"), &out));
    assert_false(url_target(STR("?a"), &out));
    assert_true(url_target(STR("/1234567"), &out));
    assert_false(url_target(STR("/"), &out));
    assert_str(buf_str(&out), "/1234567");
    buf_reset(&out);
    assert_false(url_target(STR("/a b c d"), &out));
    assert_int_equal(out.n, 0);
    buf_fini(&out);
}

static void parse_is(const char *base, const char *text, const char *href)
{
    struct buf base_out, out;
    struct url base_url, url;

    buf_init(&base_out, 3 * URL_MAX);
    buf_init(&out, 3 * URL_MAX);
    if (base)
        assert_int_equal(url_parse(str_of(base), NULL, &base_out, &base_url), URL_OK);
    assert_int_equal(url_parse(str_of(text), base ? &base_url : NULL, &out, &url), URL_OK);
    assert_str(url.href, href);
    buf_fini(&base_out);
    buf_fini(&out);
}

/* K-4: what servers write into Location. */
static void locations(void **state)
{
    static const char base[] = "https://u:p@h.example:8443/a/b/c?q=1#f";

    (void)state;
    parse_is(base, "", "https://u:p@h.example:8443/a/b/c?q=1");
    parse_is(base, "#x", "https://u:p@h.example:8443/a/b/c?q=1#x");
    parse_is(base, "?x", "https://u:p@h.example:8443/a/b/c?x");
    parse_is(base, "d", "https://u:p@h.example:8443/a/b/d");
    parse_is(base, "../..", "https://u:p@h.example:8443/");
    parse_is(base, "../../../../d", "https://u:p@h.example:8443/d");
    parse_is(base, "/d e\xc3\xa9?\xc3\xa9 '",
             "https://u:p@h.example:8443/d%20e%C3%A9?%C3%A9%20%27");
    parse_is(base, "//Other", "https://other/");
    parse_is(base, "\\\\other\\x", "https://other/x");
    parse_is(base, "/\\other", "https://other/");
    parse_is(base, "http:d", "http://d/");
    parse_is(base, "https:d", "https://u:p@h.example:8443/a/b/d");
    parse_is(base, " /d\t\r\n", "https://u:p@h.example:8443/d");
    parse_is("http://h", "d", "http://h/d");
    parse_is("http://h/?q", "#", "http://h/?q#");
    parse_is(NULL, "http://h/echo?q='x'&p=a|b<>", "http://h/echo?q=%27x%27&p=a|b%3C%3E");
    parse_is(NULL, "http://h?q=a|b", "http://h/?q=a|b");
    parse_is(NULL, "http://h/\xff", "http://h/%FF");
}

static void hosts(void **state)
{
    (void)state;
    parse_is(NULL, "http://EXAMPLE.com.", "http://example.com./");
    parse_is(NULL, "http://0x7f.1:080", "http://127.0.0.1/");
    parse_is(NULL, "http://4294967295", "http://255.255.255.255/");
    parse_is(NULL, "http://1.2.3.4.", "http://1.2.3.4/");
    parse_is(NULL, "http://0x", "http://0.0.0.0/");
    parse_is(NULL, "http://[::FFFF:1.2.3.4]", "http://[::ffff:102:304]/");
    parse_is(NULL, "http://[0:0:1:0:0:0:0:1]", "http://[0:0:1::1]/");
    parse_is(NULL, "http://[1:0:1:0:1:0:1:0]", "http://[1:0:1:0:1:0:1:0]/");
    parse_is(NULL, "http://[1:2:3:4:5:6::]", "http://[1:2:3:4:5:6::]/");
    parse_is(NULL, "http://[::]:81", "http://[::]:81/");
    parse_is(NULL, "http://[0012:00a0:0b00:1000::1]", "http://[12:a0:b00:1000::1]/");
    parse_is(NULL,
             "http://b\xc3\xbc"
             "cher.example",
             "http://xn--bcher-kva.example/");
    parse_is(NULL, "http://XN--BCHER-KVA.example", "http://xn--bcher-kva.example/");
    parse_is(NULL, "http://%62%C3%BCcher.example", "http://xn--bcher-kva.example/");
    parse_is(NULL,
             "http://stra\xc3\x9f"
             "e.de",
             "http://xn--strae-oqa.de/");
}

static void fails(struct str text, enum url_result expected)
{
    struct buf out;
    struct url url = {.port = 7};

    buf_init(&out, 3 * URL_MAX);
    enum url_result result = url_parse(text, NULL, &out, &url);
    if (result != expected)
        fail_msg("\"%.*s\": %s", (int)text.n, text.p, url_result_text(result));
    assert_int_equal(url.port, 7);
    buf_fini(&out);
}

static void failures(void **state)
{
    static char text[URL_MAX + 1];

    (void)state;
    fails(STR(""), URL_NO_SCHEME);
    fails(STR("/a"), URL_NO_SCHEME);
    fails(STR("localhost"), URL_NO_SCHEME);
    fails(STR("1http://h"), URL_NO_SCHEME);
    fails(STR("://h"), URL_NO_SCHEME);
    fails(STR("localhost:80"), URL_BAD_SCHEME);
    fails(STR("ftp://h"), URL_BAD_SCHEME);
    fails(STR("javascript:alert(1)"), URL_BAD_SCHEME);
    fails(STR("http://"), URL_BAD_HOST);
    fails(STR("http://?"), URL_BAD_HOST);
    fails(STR("http://[1111:2222:3333:4444:5555:6666:123.123.123.1234]"), URL_BAD_HOST);
    memset(text, 'a', sizeof(text));
    memcpy(text, "http://\u00e9", 9);
    fails((struct str){text, 9 + IDN_MAX - 2}, URL_BAD_HOST);
    fails((struct str){text, 9 + IDN_MAX - 1}, URL_BAD_HOST);
    fails(STR("http://u@"), URL_BAD_HOST);
    fails(STR("http://:80"), URL_BAD_HOST);
    fails(STR("http://a b"), URL_BAD_HOST);
    fails(STR("http://a\0b"), URL_BAD_HOST);
    fails(STR("http://a%00b"), URL_BAD_HOST);
    fails(STR("http://a%0d%0ab"), URL_BAD_HOST);
    fails(STR("http://\xff"), URL_BAD_HOST);
    fails(STR("http://\xc3\xa9\0.com"), URL_BAD_HOST);
    fails(STR("http://1.2.3.256"), URL_BAD_HOST);
    fails(STR("http://1.2.3.4.5"), URL_BAD_HOST);
    fails(STR("http://1..2"), URL_BAD_HOST);
    fails(STR("http://a.7"), URL_BAD_HOST);
    fails(STR("http://4294967296"), URL_BAD_HOST);
    fails(STR("http://99999999999999999999999999999999999999"), URL_BAD_HOST);
    fails(STR("http://[]"), URL_BAD_HOST);
    fails(STR("http://[::1"), URL_BAD_HOST);
    fails(STR("http://[::1]x"), URL_BAD_HOST);
    fails(STR("http://[::1\0]"), URL_BAD_HOST);
    fails(STR("http://[fe80::1%25eth0]"), URL_BAD_HOST);
    fails(STR("http://[1:2:3:4:5:6:7:8:9]"), URL_BAD_HOST);
    fails(STR("http://h:65536"), URL_BAD_PORT);
    fails(STR("http://h:-1"), URL_BAD_PORT);
    fails(STR("http://h:1 "
              "2"),
          URL_BAD_PORT);
    fails(STR("http://h:18446744073709551696"), URL_BAD_PORT);
    memset(text, 'a', sizeof(text));
    memcpy(text, "http://h/", 9);
    fails((struct str){text, sizeof(text)}, URL_TOO_LONG);
}

/* The largest input, all of it encoded, fits the room that the contract asks for. */
static void longest(void **state)
{
    static char text[URL_MAX];
    struct buf out;
    struct url url;

    (void)state;
    buf_init(&out, 3 * URL_MAX);
    memset(text, '"', sizeof(text));
    memcpy(text, "http://h/", 9);
    assert_int_equal(url_parse((struct str){text, sizeof(text)}, NULL, &out, &url), URL_OK);
    assert_int_equal(url.path.n, 1 + 3 * (URL_MAX - 9));
    buf_fini(&out);
    buf_init(&out, 12);
    assert_int_equal(url_parse(STR("http://hh/path"), NULL, &out, &url), URL_TOO_LONG);
    assert_int_equal(url_parse(STR("http://1.2.3.4/"), NULL, &out, &url), URL_TOO_LONG);
    assert_int_equal(url_parse(STR("http://[1::2]/"), NULL, &out, &url), URL_TOO_LONG);
    assert_int_equal(url_parse(STR("http://hh/../.."), NULL, &out, &url), URL_OK);
    assert_str(url.href, "http://hh/");
    buf_fini(&out);
}

/* Buffers that end anywhere in a URL. */
static void full(void **state)
{
    static const char *const texts[] = {
        "http://u:p@[1:2:3:4:5:6:7:8]:9/p?q#f",
        "http://[2001:db8::ffff:1]/",
        "http://[::]/",
        "http://[1::]",
        "https://1.2.3.4:5/a/../b?",
        "http://\u00e9.example/%zz",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct buf out;
        struct url url;

        buf_init(&out, BUF_NO_MAX);
        assert_int_equal(url_parse(str_of(texts[i]), NULL, &out, &url), URL_OK);
        size_t whole = out.n;
        buf_fini(&out);
        for (size_t max = 0; max < whole; max++) {
            buf_init(&out, max);
            assert_int_equal(url_parse(str_of(texts[i]), NULL, &out, &url), URL_TOO_LONG);
            buf_fini(&out);
        }
    }
}

static void parts(void **state)
{
    struct buf out;
    struct url url;

    (void)state;
    buf_init(&out, 3 * URL_MAX);
    assert_int_equal(url_parse(STR("HTTPS://a:b@c@H:8443/p?#"), NULL, &out, &url), URL_OK);
    assert_true(url.https && url.port_given && url.has_fragment);
    assert_str(url.username, "a");
    assert_str(url.password, "b%40c");
    assert_str(url.host, "h");
    assert_int_equal(url.port, 8443);
    assert_str(url.target, "/p?");
    assert_str(url.path, "/p");
    assert_str(url.fragment, "");
    assert_int_equal(url_parse(STR("https://h:443"), NULL, &out, &url), URL_OK);
    assert_false(url.port_given || url.has_fragment);
    assert_int_equal(url.port, 443);
    assert_str(url.target, "/");
    buf_fini(&out);
}

static void decodes(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 64);
    assert_true(url_decode(STR(""), &out));
    assert_true(url_decode(STR("a%20b%"), &out));
    assert_true(url_decode(STR("%2%zz%4"), &out));
    assert_true(url_decode(STR("%25%41%c3%A9%2541"), &out));
    assert_str(buf_str(&out), "a b%%2%zz%4%A\xc3\xa9%41");
    buf_fini(&out);
    buf_init(&out, 2);
    assert_false(url_decode(STR("abc"), &out));
    assert_int_equal(out.n, 0);
    buf_fini(&out);
}

static void idn(void **state)
{
    static char text[IDN_MAX + 2];
    struct buf out;

    (void)state;
    buf_init(&out, 256);
    assert_true(idn_to_ascii(STR("\xe4\xbd\xa0\xe5\xa5\xbd.Example"), &out));
    assert_str(buf_str(&out), "xn--6qq79v.example");
    buf_reset(&out);
    assert_true(idn_to_ascii(STR("i\u2764.\u2603"), &out));
    assert_str(buf_str(&out), "xn--i-7iq.xn--n3h");
    buf_reset(&out);
    assert_false(idn_to_ascii(STR("\u2764\u00df"), &out));
    assert_false(idn_to_ascii(STR("a\ufffd"), &out));
    assert_false(idn_to_ascii(STR(""), &out));
    assert_false(idn_to_ascii(STR("\xc2\xad"), &out));
    assert_false(idn_to_ascii(STR("a\xff"), &out));
    assert_false(idn_to_ascii(STR("\xc3\xa9\0"), &out));
    memset(text, 'a', sizeof(text));
    memcpy(text, "\xc3\xa9", 2);
    assert_false(idn_to_ascii((struct str){text, sizeof(text)}, &out));
    assert_int_equal(out.n, 0);
    buf_fini(&out);
}

static void results_have_texts(void **state)
{
    (void)state;
    for (int i = URL_OK; i <= URL_TOO_LONG; i++)
        assert_true(strlen(url_result_text((enum url_result)i)) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors),
        cmocka_unit_test(websocket_vectors),
        cmocka_unit_test(target_of_vectors),
        cmocka_unit_test(target_of_random_strings),
        cmocka_unit_test(target_is_refused),
        cmocka_unit_test(locations),
        cmocka_unit_test(hosts),
        cmocka_unit_test(failures),
        cmocka_unit_test(longest),
        cmocka_unit_test(full),
        cmocka_unit_test(parts),
        cmocka_unit_test(decodes),
        cmocka_unit_test(idn),
        cmocka_unit_test(results_have_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
