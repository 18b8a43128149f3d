/* links: http base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "http/proxy.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* An environment: "NAME=value" texts. */
static const char *const *environment;

static char *look(const char *name)
{
    size_t n = strlen(name);
    for (const char *const *at = environment; at && *at; at++) {
        if (strncmp(*at, name, n) == 0 && (*at)[n] == '=') {
            return (char *)(uintptr_t)*at + n + 1;
        }
    }
    return NULL;
}

static const char *const KINDS[] = {"http", "https", "socks5", "socks5h"};

/* "KIND HOST PORT [AUTHORIZATION] [USER PASSWORD]", "direct" or the error. */
static void describe(const struct proxy *proxy, struct buf *out)
{
    if (!proxy) {
        buf_add_str(out, STR("direct"));
        return;
    }
    buf_addf(out, "%s %.*s %u", KINDS[proxy->kind], (int)proxy->host.n, proxy->host.p, proxy->port);
    if (proxy->authorization.n > 0) {
        buf_add_char(out, ' ');
        buf_add_str(out, proxy->authorization);
    }
    if (proxy->user.n > 0) {
        buf_add_char(out, ' ');
        buf_add_str(out, proxy->user);
        buf_add_char(out, ' ');
        buf_add_str(out, proxy->password);
    }
}

static void expect(struct buf *got, const char *want, const char *what)
{
    if (!str_eq(buf_str(got), str_of(want))) {
        print_error("%s\n  got  %.*s\n  want %s\n", what, (int)got->n, got->p ? got->p : "", want);
    }
    assert_true(str_eq(buf_str(got), str_of(want)));
    buf_fini(got);
}

static void test_addresses(void **state)
{
    static const char *const CASES[][2] = {
        {"", "direct"},
        {"  ", "direct"},
        {"proxy", "http proxy 80"},
        {"proxy:3128", "http proxy 3128"},
        {" proxy:3128\n", "http proxy 3128"},
        {"PROXY.Example.COM:3128", "http proxy.example.com 3128"},
        {"http://proxy", "http proxy 80"},
        {"HTTP://proxy:1", "http proxy 1"},
        {"http://proxy:65535/", "http proxy 65535"},
        {"http://proxy:3128/path?query#fragment", "http proxy 3128"},
        {"http://proxy?x", "http proxy 80"},
        {"http://proxy:", "http proxy 80"},
        {"https://proxy", "https proxy 443"},
        {"https://proxy:8443", "https proxy 8443"},
        {"socks5://proxy", "socks5 proxy 1080"},
        {"socks5://proxy:80", "socks5 proxy 80"},
        {"socks5h://proxy", "socks5h proxy 1080"},
        {"SOCKS5H://proxy:9050", "socks5h proxy 9050"},
        {"127.0.0.1:3128", "http 127.0.0.1 3128"},
        {"[::1]:3128", "http [::1] 3128"},
        {"https://[2001:DB8:0::1]", "https [2001:db8::1] 443"},
        {"http://b\xc3\xbc"
         "cher.example",
         "http xn--bcher-kva.example 80"},
        {"http://user:pass@proxy:1", "http proxy 1 Basic dXNlcjpwYXNz"},
        {"user:pass@proxy", "http proxy 80 Basic dXNlcjpwYXNz"},
        {"http://user@proxy", "http proxy 80 Basic dXNlcjo="},
        {"http://:pass@proxy", "http proxy 80 Basic OnBhc3M="},
        {"http://@proxy", "http proxy 80"},
        {"http://:@proxy", "http proxy 80"},
        {"http://a%40b:c%3Ad@proxy", "http proxy 80 Basic YUBiOmM6ZA=="},
        {"http://a@b:c@proxy", "http proxy 80 Basic YUBiOmM="},
        {"https://u:%FF%00@proxy", "https proxy 443 Basic dTr/AA=="},
        {"http://u:%zz@proxy", "http proxy 80 Basic dToleno="},
        {"socks5://user:pass@proxy", "socks5 proxy 1080 user pass"},
        {"socks5h://us%20er:p%40ss@proxy:1", "socks5h proxy 1 us er p@ss"},
        {"socks5://user@proxy", "socks5 proxy 1080 user "},
        {"socks5://@proxy", "socks5 proxy 1080"},
#define SCHEME "--proxy: the scheme of a proxy is http, https, socks5 or socks5h: "
        {"ftp://proxy", SCHEME "ftp://proxy"},
        {"socks4://proxy", SCHEME "socks4://proxy"},
        {"socks://u:p@proxy", SCHEME "***@proxy"},
        {"://proxy", SCHEME "://proxy"},
#define HOST "--proxy: the host of a proxy cannot be: "
        {"http://", HOST "http://"},
        {"http:///x", HOST "http:///x"},
        {"http://:80", HOST "http://:80"},
        {"http://user:pass@", HOST "***@"},
        {"http://a b", HOST "http://a b"},
        {"http://[::1", HOST "http://[::1"},
        {"http://[::g]", HOST "http://[::g]"},
        {"http://::1", HOST "http://::1"},
        {"http://999.1.1.1", HOST "http://999.1.1.1"},
        {"http://a^b", HOST "http://a^b"},
#define PORT "--proxy: a proxy's port is a number from 1 to 65535: "
        {"http://proxy:0", PORT "http://proxy:0"},
        {"http://proxy:65536", PORT "http://proxy:65536"},
        {"http://proxy:-1", PORT "http://proxy:-1"},
        {"http://proxy:80x", PORT "http://proxy:80x"},
        {"http:proxy", PORT "http:proxy"},
        {"[::1]:1:2", PORT "[::1]:1:2"},
        {"http://u:se/cret@proxy", PORT "***@proxy"},
        {"socks5://:pass@proxy", "--proxy: a password for SOCKS needs a user name: ***@proxy"},
    };
    (void)state;
    environment = NULL;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct proxies proxies;
        struct buf got;
        buf_init(&got, BUF_NO_MAX);
        if (proxies_init(&proxies, CASES[i][0], NULL, look, &got)) {
            describe(proxy_for(&proxies, false, STR("h"), 80), &got);
            proxies_fini(&proxies);
        }
        expect(&got, CASES[i][1], CASES[i][0]);
    }
}

/* A list of exceptions, a target, and whether it is reached directly. */
static void test_exceptions(void **state)
{
    static const struct {
        const char *list, *host;
        uint16_t port;
        bool direct;
    } CASES[] = {
        {"", "example.com", 80, false},
        {" , ,\t", "example.com", 80, false},
        {"*", "example.com", 80, true},
        {"*", "127.0.0.1", 80, true},
        {"*", "[::1]", 80, true},
        {"a,*,b", "example.com", 80, true},
        {"*:81", "example.com", 80, false},
        {"*:81", "example.com", 81, true},
        {"example.com", "example.com", 80, true},
        {"example.com", "EXAMPLE.com", 80, true},
        {"Example.COM", "example.com", 80, true},
        {"example.com", "a.example.com", 80, true},
        {"example.com", "a.b.example.com", 80, true},
        {"example.com", "badexample.com", 80, false},
        {"example.com", "example.com.org", 80, false},
        {"example.com", "com", 80, false},
        {"example.com", "example.com.", 80, true},
        {"example.com.", "example.com", 80, true},
        {"a.example.com", "example.com", 80, false},
        {".example.com", "example.com", 80, true},
        {".example.com", "a.example.com", 80, true},
        {".example.com", "aexample.com", 80, false},
        {"*.example.com", "a.example.com", 80, true},
        {"*.example.com", "aexample.com", 80, false},
        {"b\xc3\xbc"
         "cher.example",
         "www.xn--bcher-kva.example", 80, true},
        {"com", "example.com", 80, true},
        {"localhost", "localhost", 80, true},
        {"localhost", "127.0.0.1", 80, false},
        {"one,two", "two", 80, true},
        {"one two", "two", 80, true},
        {"one, two", "two", 80, true},
        {"\tone ,two\n", "one", 80, true},
        {"one,two", "three", 80, false},
        {"example.com:8080", "example.com", 8080, true},
        {"example.com:8080", "example.com", 80, false},
        {".example.com:8080", "a.example.com", 8080, true},
        {"10.0.0.1", "10.0.0.1", 80, true},
        {"10.0.0.1", "10.0.0.10", 80, false},
        {"10.0.0.1", "10.0.0.1.nip.example", 80, false},
        {"10.0.0.1:81", "10.0.0.1", 80, false},
        {"10.0.0.1:81", "10.0.0.1", 81, true},
        {"10.0.0.0/8", "10.255.0.1", 80, true},
        {"10.0.0.0/8", "11.0.0.1", 80, false},
        {"10.9.9.9/8", "10.1.2.3", 80, true},
        {"192.168.1.0/25", "192.168.1.127", 80, true},
        {"192.168.1.0/25", "192.168.1.128", 80, false},
        {"192.168.1.2/31", "192.168.1.3", 80, true},
        {"192.168.1.2/31", "192.168.1.4", 80, false},
        {"192.168.1.1/32", "192.168.1.1", 80, true},
        {"192.168.1.1/32", "192.168.1.0", 80, false},
        {"0.0.0.0/0", "203.0.113.9", 80, true},
        {"0.0.0.0/0", "[::1]", 80, false},
        {"0.0.0.0/0", "example.com", 80, false},
        {"::1", "[::1]", 80, true},
        {"[::1]", "[::1]", 80, true},
        {"0:0:0:0:0:0:0:1", "[::1]", 80, true},
        {"[::1]:81", "[::1]", 80, false},
        {"[::1]:81", "[::1]", 81, true},
        {"::1", "[::2]", 80, false},
        {"2001:db8::/32", "[2001:db8:ffff::1]", 80, true},
        {"2001:DB8::/32", "[2001:db9::1]", 80, false},
        {"[2001:db8::]/32", "[2001:db8::1]", 80, true},
        {"fe80::/10", "[febf::1]", 80, true},
        {"fe80::/10", "[fec0::1]", 80, false},
        {"::/0", "[2001:db8::1]", 80, true},
        {"::/0", "10.0.0.1", 80, false},
        {"2001:db8::5/128", "[2001:db8::5]", 80, true},
        {"2001:db8::5/128", "[2001:db8::4]", 80, false},
    };
    (void)state;
    environment = NULL;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct proxies proxies;
        struct buf error;
        buf_init(&error, BUF_NO_MAX);
        assert_true(proxies_init(&proxies, "proxy", CASES[i].list, look, &error));
        for (int https = 0; https < 2; https++) {
            bool direct = !proxy_for(&proxies, https, str_of(CASES[i].host), CASES[i].port);
            if (direct != CASES[i].direct) {
                print_error("%s for %s:%u\n", CASES[i].list, CASES[i].host, CASES[i].port);
            }
            assert_int_equal(direct, CASES[i].direct);
        }
        proxies_fini(&proxies);
        buf_fini(&error);
    }
}

/* Entries that cannot be: an error in the flag, passed over in the variable. */
static void test_entries_that_cannot_be(void **state)
{
    static const char *const CASES[] = {
        "10.0.0.0/33", "10.0.0.0/",     "10.0.0.0/x",
        "10.0.0.0/-1", "10.0.0/8",      "name/8",
        "::/129",      "[::/8",         ".",
        "..",          "..example.com", "*.",
        "a*b",         "192.168.*",     "**",
        "http://name", "10.0",          "0x7f.1",
        "127",         "name:",         "name:0",
        "name:65536",  "name:http",     ":80",
        "[::1",        "a^b",           "10.0.0.0/8:80",
        "::g",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        char variable[100], want[100];
        const char *const variables[] = {variable, "HTTP_PROXY=proxy", NULL};
        struct proxies proxies;
        struct buf got;
        buf_init(&got, BUF_NO_MAX);
        environment = variables;
        snprintf(variable, sizeof(variable), "NO_PROXY=one,%s,two", CASES[i]);
        assert_true(proxies_init(&proxies, NULL, NULL, look, &got));
        assert_int_equal(proxies.n_rules, 2);
        assert_null(proxy_for(&proxies, false, STR("two"), 80));
        proxies_fini(&proxies);
        snprintf(want, sizeof(want), "--no-proxy: neither a name, an address, a network nor *: %s",
                 CASES[i]);
        if (proxies_init(&proxies, NULL, strchr(variable, '=') + 1, look, &got)) {
            print_error("taken: %s\n", CASES[i]);
            fail();
        }
        assert_int_equal(proxies.n_rules, 0);
        expect(&got, want, CASES[i]);
    }
}

static void test_environment(void **state)
{
    static const struct {
        const char *variables[6];
        const char *proxy, *no_proxy; /* the flags */
        const char *http, *https;     /* https NULL: http is the error */
    } CASES[] = {
        {{NULL}, NULL, NULL, "direct", "direct"},
        {{"HTTP_PROXY=a"}, NULL, NULL, "http a 80", "direct"},
        {{"HTTPS_PROXY=a"}, NULL, NULL, "direct", "http a 80"},
        {{"ALL_PROXY=socks5h://a"}, NULL, NULL, "socks5h a 1080", "socks5h a 1080"},
        {{"http_proxy=a", "https_proxy=b"}, NULL, NULL, "http a 80", "http b 80"},
        {{"all_proxy=a"}, NULL, NULL, "http a 80", "http a 80"},
        {{"HTTP_PROXY=a", "http_proxy=b"}, NULL, NULL, "http a 80", "direct"},
        {{"HTTPS_PROXY=a", "https_proxy=b"}, NULL, NULL, "direct", "http a 80"},
        {{"ALL_PROXY=a", "all_proxy=b"}, NULL, NULL, "http a 80", "http a 80"},
        {{"http_proxy=a", "ALL_PROXY=b"}, NULL, NULL, "http a 80", "http b 80"},
        {{"HTTPS_PROXY=a", "all_proxy=b"}, NULL, NULL, "http b 80", "http a 80"},
        {{"HTTP_PROXY=", "http_proxy=a"}, NULL, NULL, "http a 80", "direct"},
        {{"HTTP_PROXY= ", "ALL_PROXY=b"}, NULL, NULL, "http b 80", "http b 80"},
        {{"HTTP_PROXY=a", "REQUEST_METHOD=GET"}, NULL, NULL, "direct", "direct"},
        {{"HTTP_PROXY=a", "REQUEST_METHOD="}, NULL, NULL, "direct", "direct"},
        {{"HTTP_PROXY=a", "http_proxy=b", "REQUEST_METHOD=GET"}, NULL, NULL, "http b 80", "direct"},
        {{"HTTP_PROXY=a", "ALL_PROXY=b", "REQUEST_METHOD=GET"},
         NULL,
         NULL,
         "http b 80",
         "http b 80"},
        {{"HTTPS_PROXY=a", "REQUEST_METHOD=GET"}, NULL, NULL, "direct", "http a 80"},
        {{"HTTP_PROXY=ftp://a", "REQUEST_METHOD=GET"}, NULL, NULL, "direct", "direct"},
        {{"HTTP_PROXY=a", "HTTPS_PROXY=b"}, "c", NULL, "http c 80", "http c 80"},
        {{"HTTP_PROXY=a", "ALL_PROXY=b"}, "", NULL, "direct", "direct"},
        {{"HTTP_PROXY=ftp://a"}, "c", NULL, "http c 80", "http c 80"},
        {{"REQUEST_METHOD=GET"}, "c", NULL, "http c 80", "http c 80"},
        {{"ALL_PROXY=a", "NO_PROXY=h"}, NULL, NULL, "direct", "direct"},
        {{"ALL_PROXY=a", "no_proxy=h"}, NULL, NULL, "direct", "direct"},
        {{"ALL_PROXY=a", "no_proxy=h", "NO_PROXY=x"}, NULL, NULL, "http a 80", "http a 80"},
        {{"ALL_PROXY=a", "no_proxy=h", "NO_PROXY="}, NULL, NULL, "direct", "direct"},
        {{"ALL_PROXY=a", "NO_PROXY=h:80"}, NULL, NULL, "direct", "http a 80"},
        {{"ALL_PROXY=a", "NO_PROXY=h"}, NULL, "x", "http a 80", "http a 80"},
        {{"ALL_PROXY=a", "NO_PROXY=h"}, NULL, "", "http a 80", "http a 80"},
        {{"ALL_PROXY=a"}, NULL, "h", "direct", "direct"},
        {{"NO_PROXY=h"}, "c", NULL, "direct", "direct"},
#undef SCHEME
#define SCHEME ": the scheme of a proxy is http, https, socks5 or socks5h: "
        {{"HTTP_PROXY=ftp://a"}, NULL, NULL, "HTTP_PROXY" SCHEME "ftp://a", NULL},
        {{"http_proxy=ftp://u:p@a"}, NULL, NULL, "http_proxy" SCHEME "***@a", NULL},
        {{"HTTP_PROXY=a", "https_proxy=x://b"}, NULL, NULL, "https_proxy" SCHEME "x://b", NULL},
        {{"HTTP_PROXY=a", "all_proxy=x://b"}, NULL, NULL, "all_proxy" SCHEME "x://b", NULL},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct proxies proxies;
        struct buf http, https;
        buf_init(&http, BUF_NO_MAX);
        buf_init(&https, BUF_NO_MAX);
        environment = CASES[i].variables;
        bool good = proxies_init(&proxies, CASES[i].proxy, CASES[i].no_proxy, look, &http);
        assert_int_equal(good, CASES[i].https != NULL);
        if (good) {
            describe(proxy_for(&proxies, false, STR("h"), 80), &http);
            describe(proxy_for(&proxies, true, STR("h"), 443), &https);
            expect(&https, CASES[i].https, CASES[i].variables[0]);
            proxies_fini(&proxies);
        }
        expect(&http, CASES[i].http, CASES[i].variables[0]);
    }
}

/* HEAD, n times c, TAIL; heap. */
static char *with_run(const char *head, char c, size_t n, const char *tail)
{
    struct buf text;
    buf_init(&text, BUF_NO_MAX);
    buf_add_str(&text, str_of(head));
    buf_add_fill(&text, c, n);
    buf_add(&text, tail, strlen(tail) + 1);
    return text.p;
}

static void check_long(char *proxy, char *no_proxy, const char *want)
{
    struct proxies proxies;
    struct buf error;
    buf_init(&error, BUF_NO_MAX);
    environment = NULL;
    bool good = proxies_init(&proxies, proxy, no_proxy, look, &error);
    assert_int_equal(good, want == NULL);
    if (good) {
        proxies_fini(&proxies);
    } else {
        assert_true(str_starts(buf_str(&error), str_of(want)));
    }
    buf_fini(&error);
    free(proxy);
    free(no_proxy);
}

static void test_limits(void **state)
{
#define SOCKS "--proxy: a user name or password for SOCKS is at most 255 bytes long: ***@p"
    (void)state;
    check_long(with_run("socks5://", 'u', 255, "@p"), NULL, NULL);
    check_long(with_run("socks5://", 'u', 256, "@p"), NULL, SOCKS);
    check_long(with_run("socks5://u:", 'p', 255, "@p"), NULL, NULL);
    check_long(with_run("socks5://u:", 'p', 256, "@p"), NULL, SOCKS);
    check_long(with_run("http://u:", 'p', 60000, "@p"), NULL, NULL);
    check_long(with_run("http://u:", 'p', 70000, "@p"), NULL, "--proxy: it is too long: ***@p");
    struct buf list;
    buf_init(&list, BUF_NO_MAX);
    for (unsigned i = 0; i < PROXY_MAX_RULES; i++) {
        buf_addf(&list, "a%u,", i);
    }
    check_long(NULL, xstrndup(list.p, list.n), NULL);
    buf_add_str(&list, STR("a"));
    check_long(NULL, xstrndup(list.p, list.n), "--no-proxy: there are more than 4096 entries");
    buf_fini(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_exceptions),
        cmocka_unit_test(test_entries_that_cannot_be),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
