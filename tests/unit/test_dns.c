/* links: net base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <string.h>

#include "net/dns.h"

#define OF(type, member, pointer) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

static struct loop *loop; /* static, so that one that has to be left behind is no leak */
static struct resolver *resolver;
static unsigned to_come; /* answers until the loop stops */

struct asker {
    struct lookup lookup;
    unsigned answers, n;
    unsigned n_v6;
    uint16_t port;
    bool loopback;
    char error[200];
};

static void look_at(struct asker *asker, const struct addresses *addresses, const char *error)
{
    asker->answers++;
    asker->loopback = true;
    assert_true(!addresses == !!error);
    if (error) {
        assert_true(strlen(error) < sizeof(asker->error));
        strcpy(asker->error, error);
        return;
    }
    asker->n = addresses->n;
    asker->n_v6 = 0;
    for (unsigned i = 0; i < addresses->n; i++) {
        const struct sockaddr_storage *storage = &addresses->list[i].storage;
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)storage;
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)storage;
        bool is_v4 = storage->ss_family == AF_INET;

        assert_int_equal(addresses->list[i].length, is_v4 ? sizeof(*v4) : sizeof(*v6));
        asker->n_v6 += !is_v4;
        asker->port = ntohs(is_v4 ? v4->sin_port : v6->sin6_port);
        asker->loopback &=
            is_v4 ? ntohl(v4->sin_addr.s_addr) >> 24 == 127 : IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    }
}

static void answered(struct lookup *lookup, const struct addresses *addresses, const char *error)
{
    look_at(OF(struct asker, lookup, lookup), addresses, error);
    if (--to_come == 0)
        loop_stop(loop);
}

/* True if the answer was there at once. */
static bool ask(struct asker *asker, const char *host, uint16_t port)
{
    const struct addresses *addresses;
    const char *error = NULL;

    asker->lookup.done = answered;
    if (!resolver_ask(resolver, str_of(host), port, &asker->lookup, &addresses, &error))
        return false;
    look_at(asker, addresses, error);
    return true;
}

static int make(void **state)
{
    (void)state;
    loop = loop_new();
    resolver = loop ? resolver_new(loop, NULL) : NULL;
    return resolver ? 0 : -1;
}

static int unmake(void **state)
{
    (void)state;
    resolver_free(resolver);
    return loop_free(loop) ? 0 : -1;
}

static void test_numeric_hosts_are_known(void **state)
{
    struct asker v4 = {0}, v6 = {0};

    (void)state;
    assert_true(ask(&v4, "127.0.0.3", 8080));
    assert_int_equal(v4.n, 1);
    assert_int_equal(v4.port, 8080);
    assert_true(v4.loopback);
    assert_true(ask(&v6, "[::1]", 65535));
    assert_int_equal(v6.n, 1);
    assert_int_equal(v6.port, 65535);
    assert_true(v6.loopback);
}

static void test_a_name_is_looked_up_once_for_all_who_ask(void **state)
{
    struct asker askers[3] = {0}, late = {0}, other_port = {0};

    (void)state;
    for (size_t i = 0; i < 3; i++)
        assert_false(ask(&askers[i], "localhost", 80));
    to_come = 3;
    loop_run(loop);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(askers[i].error, "");
        assert_int_equal(askers[i].answers, 1);
        assert_int_equal(askers[i].port, 80);
        assert_true(askers[i].n > 0);
        assert_true(askers[i].loopback);
    }
    assert_true(ask(&late, "localhost", 80));
    assert_int_equal(late.n, askers[0].n);
    assert_false(ask(&other_port, "localhost", 81));
    to_come = 1;
    loop_run(loop);
    assert_int_equal(other_port.port, 81);
}

static void test_failures_are_kept_for_a_while(void **state)
{
    struct asker first = {0}, second = {0};

    (void)state;
    assert_false(ask(&first, "no-such-name.invalid", 80));
    to_come = 1;
    loop_run(loop);
    assert_int_not_equal(strlen(first.error), 0);
    assert_true(ask(&second, "no-such-name.invalid", 80));
    assert_string_equal(second.error, first.error);
}

static void test_a_name_that_is_too_long(void **state)
{
    struct asker asker = {0};
    char host[300];

    (void)state;
    memset(host, 'a', sizeof(host) - 1);
    host[sizeof(host) - 1] = '\0';
    assert_true(ask(&asker, host, 80));
    assert_string_equal(asker.error, "the name is longer than 255 bytes");
}

static void test_who_has_cancelled_is_not_called(void **state)
{
    struct asker first = {0}, second = {0}, third = {0};

    (void)state;
    assert_false(ask(&first, "localhost", 80));
    assert_false(ask(&second, "localhost", 80));
    assert_false(ask(&third, "localhost", 80));
    resolver_cancel(&second.lookup);
    resolver_cancel(&second.lookup);
    to_come = 2;
    loop_run(loop);
    assert_int_equal(first.answers, 1);
    assert_int_equal(second.answers, 0);
    assert_int_equal(third.answers, 1);
    resolver_cancel(&first.lookup); /* no harm afterwards */
}

/* A resolver with those options in place of the plain one. */
static void remake(const struct resolver_options *wanted)
{
    resolver_free(resolver);
    resolver = resolver_new(loop, wanted);
}

static void test_families(void **state)
{
    static const struct resolver_options V4 = {.family = DNS_IPV4}, V6 = {.family = DNS_IPV6};
    struct asker name = {0}, v4 = {0}, v6 = {0};

    (void)state;
    remake(&V4);
    assert_false(ask(&name, "localhost", 80));
    to_come = 1;
    loop_run(loop);
    assert_true(name.n > 0);
    assert_int_equal(name.n_v6, 0);
    assert_true(ask(&v4, "127.0.0.1", 80));
    assert_int_equal(v4.n, 1);
    assert_true(ask(&v6, "[::1]", 80));
    assert_string_equal(v6.error, "it has no IPv4 address, and only those are asked for");

    remake(&V6);
    assert_true(ask(&v4, "127.0.0.1", 80));
    assert_string_equal(v4.error, "it has no IPv6 address, and only those are asked for");
    assert_true(ask(&v6, "[::1]", 80));
    assert_int_equal(v6.n_v6, 1);
}

static void test_overrides(void **state)
{
    struct dns_overrides overrides;
    struct resolver_options wanted = {.overrides = &overrides};
    struct asker pinned = {0}, detoured = {0}, proxy = {.lookup.no_detour = true}, other = {0};

    (void)state;
    dns_overrides_init(&overrides);
    assert_null(dns_overrides_resolve(&overrides, STR("a.invalid:80:127.0.0.1,::1,127.0.0.2")));
    assert_null(dns_overrides_resolve(&overrides, STR("10.0.0.1:80:127.0.0.1")));
    assert_null(dns_overrides_connect_to(&overrides, STR("b.invalid::a.invalid:80")));
    assert_null(dns_overrides_connect_to(&overrides, STR("c.invalid::[::1]:")));
    remake(&wanted);
    assert_true(ask(&pinned, "a.invalid", 80));
    assert_int_equal(pinned.n, 3);
    assert_int_equal(pinned.n_v6, 1);
    assert_int_equal(pinned.port, 80);
    assert_true(pinned.loopback);
    assert_true(ask(&pinned, "10.0.0.1", 80));
    assert_true(pinned.loopback);
    assert_true(ask(&detoured, "b.invalid", 443));
    assert_int_equal(detoured.n, 3);
    assert_int_equal(detoured.port, 80);
    assert_true(ask(&detoured, "c.invalid", 443));
    assert_int_equal(detoured.n_v6, 1);
    assert_int_equal(detoured.port, 443);
    assert_false(ask(&proxy, "b.invalid", 80));
    assert_false(ask(&other, "a.invalid", 81));
    to_come = 2;
    loop_run(loop);
    assert_int_not_equal(strlen(proxy.error), 0);
    assert_int_not_equal(strlen(other.error), 0);

    wanted.family = DNS_IPV6;
    remake(&wanted);
    assert_true(ask(&pinned, "a.invalid", 80));
    assert_int_equal(pinned.n, 1);
    assert_int_equal(pinned.n_v6, 1);
    assert_true(ask(&pinned, "10.0.0.1", 80));
    assert_string_equal(pinned.error, "it has no IPv6 address, and only those are asked for");
    remake(NULL);
    dns_overrides_fini(&overrides);
}

/* More names than are kept: the oldest go, and can be asked for again. */
static void test_what_is_kept_has_a_limit(void **state)
{
    struct asker first = {0}, again = {0};
    struct asker *askers = test_calloc(DNS_MAX_NAMES, sizeof(*askers));

    (void)state;
    to_come = 1;
    assert_false(ask(&first, "localhost", 80));
    loop_run(loop);
    to_come = DNS_MAX_NAMES;
    for (size_t i = 0; i < DNS_MAX_NAMES; i++)
        assert_false(ask(&askers[i], "localhost", (uint16_t)(1000 + i)));
    loop_run(loop);
    to_come = 1;
    assert_false(ask(&again, "localhost", 80));
    loop_run(loop);
    assert_true(again.loopback);
    test_free(askers);
}

static void test_a_resolver_goes_while_a_look_up_is_under_way(void **state)
{
    struct asker asker = {0};

    (void)state;
    assert_int_equal(make(NULL), 0);
    assert_false(ask(&asker, "localhost", 80));
    resolver_cancel(&asker.lookup);
    resolver_free(resolver);
    if (loop_free(loop)) /* else it is left to the thread that is still at work */
        loop = NULL;
    assert_int_equal(asker.answers, 0);
    resolver_free(NULL);
}

int main(void)
{
#define DNS_TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)
    const struct CMUnitTest tests[] = {
        DNS_TEST(test_numeric_hosts_are_known),
        DNS_TEST(test_a_name_is_looked_up_once_for_all_who_ask),
        DNS_TEST(test_failures_are_kept_for_a_while),
        DNS_TEST(test_a_name_that_is_too_long),
        DNS_TEST(test_who_has_cancelled_is_not_called),
        DNS_TEST(test_families),
        DNS_TEST(test_overrides),
        DNS_TEST(test_what_is_kept_has_a_limit),
        cmocka_unit_test(test_a_resolver_goes_while_a_look_up_is_under_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
