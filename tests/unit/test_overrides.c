/* links: net base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "base/buf.h"
#include "net/dns.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* "ADDRESS:PORT …" */
static void describe(const struct addresses *addresses, struct buf *out)
{
    for (unsigned i = 0; addresses && i < addresses->n; i++) {
        const struct sockaddr_storage *storage = &addresses->list[i].storage;
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)storage;
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)storage;
        bool is_v4 = storage->ss_family == AF_INET;
        char text[INET6_ADDRSTRLEN];
        assert_int_equal(addresses->list[i].length, is_v4 ? sizeof(*v4) : sizeof(*v6));
        inet_ntop(storage->ss_family,
                  is_v4 ? (const void *)&v4->sin_addr : (const void *)&v6->sin6_addr, text,
                  sizeof(text));
        buf_addf(out, "%s%s:%u", i ? " " : "", text, ntohs(is_v4 ? v4->sin_port : v6->sin6_port));
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

#define RESOLVE_FORM "it must be HOST:PORT:ADDRESS[,ADDRESS...]"
#define CONNECT_FORM "it must be HOST1:PORT1:HOST2:PORT2"
#define BAD_HOST "the host cannot be"
#define BAD_PORT "a port is a number from 1 to 65535"
#define BAD_ADDRESS "an address is an IPv4 or an IPv6 one"

static void test_resolve_forms(void **state)
{
    static const char *const CASES[][2] = {
        {"h:80:127.0.0.1", "h 80 127.0.0.1:80"},
        {"H.Example:8080:10.0.0.1,10.0.0.2", "h.example 8080 10.0.0.1:8080 10.0.0.2:8080"},
        {"h:80:::1", "h 80 ::1:80"},
        {"h:80:[2001:db8::1]", "h 80 2001:db8::1:80"},
        {"h:80:10.0.0.1,::1,[::2]", "h 80 10.0.0.1:80 ::1:80 ::2:80"},
        {"*:443:10.0.0.1", "* 443 10.0.0.1:443"},
        {"[::1]:80:10.0.0.1", "[::1] 80 10.0.0.1:80"},
        {"10.1.1.1:80:10.0.0.1", "10.1.1.1 80 10.0.0.1:80"},
        {"b\xc3\xbc"
         "cher.example:80:10.0.0.1",
         "xn--bcher-kva.example 80 10.0.0.1:80"},
        {"", RESOLVE_FORM},
        {"h", RESOLVE_FORM},
        {"h:80", RESOLVE_FORM},
        {"[::1]", RESOLVE_FORM},
        {"[::1:80:10.0.0.1", RESOLVE_FORM},
        {":80:10.0.0.1", BAD_HOST},
        {"a b:80:10.0.0.1", BAD_HOST},
        {"+h:80:10.0.0.1", BAD_HOST},
        {"-h:80:10.0.0.1", BAD_HOST},
        {"::1:80:10.0.0.1", BAD_HOST},
        {"h::10.0.0.1", BAD_PORT},
        {"h:*:10.0.0.1", BAD_PORT},
        {"h:0:10.0.0.1", BAD_PORT},
        {"h:65536:10.0.0.1", BAD_PORT},
        {"h:http:10.0.0.1", BAD_PORT},
        {"h:80:", BAD_ADDRESS},
        {"h:80:10.0.0.1,", BAD_ADDRESS},
        {"h:80:,10.0.0.1", BAD_ADDRESS},
        {"h:80:10.0.0", BAD_ADDRESS},
        {"h:80:10.0.0.1 ", BAD_ADDRESS},
        {"h:80:[10.0.0.1]", BAD_ADDRESS},
        {"h:80:[::1", BAD_ADDRESS},
        {"h:80:[]", BAD_ADDRESS},
        {"h:80:name", BAD_ADDRESS},
        {"h:80:1111:2222:3333:4444:5555:6666:7777:8888:9999:0000:1111:2222", BAD_ADDRESS},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct dns_overrides overrides;
        struct buf got;
        buf_init(&got, BUF_NO_MAX);
        dns_overrides_init(&overrides);
        const char *wrong = dns_overrides_resolve(&overrides, str_of(CASES[i][0]));
        assert_int_equal(overrides.n_pins, !wrong);
        if (wrong) {
            buf_add_str(&got, str_of(wrong));
        } else {
            const struct dns_pin *pin = overrides.pins;
            buf_add_str(&got, pin->host.p ? pin->host : STR("*"));
            buf_addf(&got, " %u ", pin->port);
            describe(pin->addresses[DNS_ANY_FAMILY], &got);
        }
        expect(&got, CASES[i][1], CASES[i][0]);
        dns_overrides_fini(&overrides);
    }
}

static void add_pins(struct dns_overrides *overrides)
{
    static const char *const PINS[] = {
        "*:80:10.9.9.8", "a:80:10.0.0.1", "a:81:10.0.0.2,::2,10.0.0.3",
        "a:80:10.0.0.4", "*:80:10.9.9.9", "v6:80:::6",
    };
    dns_overrides_init(overrides);
    for (size_t i = 0; i < COUNT(PINS); i++) {
        assert_null(dns_overrides_resolve(overrides, str_of(PINS[i])));
    }
}

static void test_which_addresses_count(void **state)
{
    static const struct {
        const char *host;
        uint16_t port;
        enum dns_family family;
        const char *want;
    } CASES[] = {
        {"a", 80, DNS_ANY_FAMILY, "10.0.0.4:80"},
        {"a", 81, DNS_ANY_FAMILY, "10.0.0.2:81 ::2:81 10.0.0.3:81"},
        {"a", 81, DNS_IPV4, "10.0.0.2:81 10.0.0.3:81"},
        {"a", 81, DNS_IPV6, "::2:81"},
        {"a", 80, DNS_IPV6, ""},
        {"v6", 80, DNS_IPV4, ""},
        {"b", 80, DNS_ANY_FAMILY, "10.9.9.9:80"},
        {"b", 81, DNS_ANY_FAMILY, "none"},
        {"aa", 81, DNS_ANY_FAMILY, "none"},
    };
    struct dns_overrides overrides;
    (void)state;
    add_pins(&overrides);
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct buf got;
        const struct dns_pin *pin =
            dns_overrides_pin(&overrides, str_of(CASES[i].host), CASES[i].port);
        buf_init(&got, BUF_NO_MAX);
        if (pin) {
            describe(pin->addresses[CASES[i].family], &got);
        } else {
            buf_add_str(&got, STR("none"));
        }
        expect(&got, CASES[i].want, CASES[i].host);
    }
    dns_overrides_fini(&overrides);
}

/* A detour (NULL: none), a host and its port, and where that leads. */
static void test_connect_to(void **state)
{
    static const struct {
        const char *detour, *host;
        uint16_t port;
        const char *want;
    } CASES[] = {
        {"a:80:b:81", "a", 80, "b:81"},
        {"a:80:b:81", "a", 82, "a:82"},
        {"a:80:b:81", "c", 80, "c:80"},
        {"A.Example:80:B.Example:81", "a.example", 80, "b.example:81"},
        {":80:b:81", "c", 80, "b:81"},
        {":80:b:81", "c", 82, "c:82"},
        {"a::b:81", "a", 999, "b:81"},
        {"::b:81", "c", 999, "b:81"},
        {"a:80::81", "a", 80, "a:81"},
        {"a:80:b:", "a", 80, "b:80"},
        {"::b:", "c", 999, "b:999"},
        {":::", "c", 999, "c:999"},
        {"a:80::", "a", 80, "a:80"},
        {"[::1]:80:[2001:DB8::2]:81", "[::1]", 80, "[2001:db8::2]:81"},
        {"10.0.0.1::127.0.0.1:", "10.0.0.1", 80, "127.0.0.1:80"},
        {"", NULL, 0, CONNECT_FORM},
        {"a", NULL, 0, CONNECT_FORM},
        {"a:80:b", NULL, 0, CONNECT_FORM},
        {"a:80:[::1]", NULL, 0, CONNECT_FORM},
        {"a b:80:b:81", NULL, 0, BAD_HOST},
        {"a:80:b c:81", NULL, 0, BAD_HOST},
        {"[::g]:80:b:81", NULL, 0, BAD_HOST},
        {"a:0:b:81", NULL, 0, BAD_PORT},
        {"a:x:b:81", NULL, 0, BAD_PORT},
        {"a:80:b:65536", NULL, 0, BAD_PORT},
        {"a:80:b:81:", NULL, 0, BAD_PORT},
        {"a:80:::1:81", NULL, 0, BAD_PORT},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct dns_overrides overrides;
        struct str host = str_of(CASES[i].host);
        uint16_t port = CASES[i].port;
        struct buf got;
        buf_init(&got, BUF_NO_MAX);
        dns_overrides_init(&overrides);
        const char *wrong = dns_overrides_connect_to(&overrides, str_of(CASES[i].detour));
        assert_int_equal(overrides.n_detours, !wrong);
        if (wrong) {
            buf_add_str(&got, str_of(wrong));
        } else {
            dns_overrides_detour(&overrides, &host, &port);
            buf_addf(&got, "%.*s:%u", (int)host.n, host.p, port);
        }
        expect(&got, CASES[i].want, CASES[i].detour);
        dns_overrides_fini(&overrides);
    }
}

static void test_the_first_detour_counts_and_only_one(void **state)
{
    struct dns_overrides overrides;
    struct str host = STR("a");
    uint16_t port = 80;
    (void)state;
    dns_overrides_init(&overrides);
    assert_null(dns_overrides_connect_to(&overrides, STR("c:80:d:80")));
    assert_null(dns_overrides_connect_to(&overrides, STR("a:80:b:80")));
    assert_null(dns_overrides_connect_to(&overrides, STR("::c:80")));
    dns_overrides_detour(&overrides, &host, &port);
    assert_true(str_eq(host, STR("b")));
    dns_overrides_detour(&overrides, &host, &port);
    assert_true(str_eq(host, STR("c")));
    dns_overrides_fini(&overrides);
}

static void test_limits(void **state)
{
    static const char *const TOO_MANY = "there are more than 4096 of them";
    struct dns_overrides overrides;
    struct buf text;
    (void)state;
    buf_init(&text, BUF_NO_MAX);
    dns_overrides_init(&overrides);
    buf_add_str(&text, STR("h:80:10.0.0.1"));
    for (unsigned i = 1; i < DNS_MAX_ADDRESSES; i++) {
        buf_add_str(&text, STR(",10.0.0.1"));
    }
    assert_null(dns_overrides_resolve(&overrides, buf_str(&text)));
    assert_int_equal(overrides.pins[0].addresses[DNS_ANY_FAMILY]->n, DNS_MAX_ADDRESSES);
    buf_add_str(&text, STR(",::1"));
    assert_string_equal(dns_overrides_resolve(&overrides, buf_str(&text)),
                        "a host has at most 64 addresses");
    for (unsigned i = 1; i < DNS_MAX_OVERRIDES; i++) {
        assert_null(dns_overrides_resolve(&overrides, STR("h:80:10.0.0.1")));
    }
    assert_string_equal(dns_overrides_resolve(&overrides, STR("h:80:10.0.0.1")), TOO_MANY);
    for (unsigned i = 0; i < DNS_MAX_OVERRIDES; i++) {
        assert_null(dns_overrides_connect_to(&overrides, STR(":::")));
    }
    assert_string_equal(dns_overrides_connect_to(&overrides, STR(":::")), TOO_MANY);
    dns_overrides_fini(&overrides);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resolve_forms),
        cmocka_unit_test(test_which_addresses_count),
        cmocka_unit_test(test_connect_to),
        cmocka_unit_test(test_the_first_detour_counts_and_only_one),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
