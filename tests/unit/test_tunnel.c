/* links: net base */
#include "tunnel_fixture.h"

static void start_http(struct tunnel *tunnel, struct memory *memory)
{
    tunnel_init_http(tunnel, &memory->stream, STR("h.example"), 443, STR(""));
}

static void test_connect_request(void **state)
{
    static const struct {
        const char *host;
        uint16_t port;
        const char *authorization, *want;
    } CASES[] = {
        {"h.example", 443, "",
         "CONNECT h.example:443 HTTP/1.1\r\nHost: h.example:443\r\nUser-Agent: driller\r\n\r\n"},
        {"[::1]", 8080, "Basic YTpi",
         "CONNECT [::1]:8080 HTTP/1.1\r\nHost: [::1]:8080\r\n"
         "Proxy-Authorization: Basic YTpi\r\nUser-Agent: driller\r\n\r\n"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        for (size_t step = 1; step < 300; step++) {
            struct memory memory;
            struct tunnel tunnel;
            memory_init(&memory, BYTES("HTTP/1.1 200 OK\r\n\r\n"), step);
            tunnel_init_http(&tunnel, &memory.stream, str_of(CASES[i].host), CASES[i].port,
                             str_of(CASES[i].authorization));
            assert_int_equal(memory.out.n, 0);
            assert_int_equal(run(&tunnel, &memory), IO_OK);
            assert_false(memory.wants_write);
            expect_bytes(buf_str(&memory.out), str_of(CASES[i].want));
            finish(&tunnel, &memory);
        }
    }
}

/* What is behind the head comes out, whatever the split. */
static void test_connect_answers(void **state)
{
    static const char *const HEADS[] = {
        "HTTP/1.1 200 Connection established\r\n\r\n",
        "HTTP/1.0 200 OK\r\n\r\n",
        "HTTP/1.1 200\r\n\r\n",
        "HTTP/1.1 200 \r\n\r\n",
        "HTTP/1.9 204 \xff\t\r\n\r\n",
        "HTTP/1.1 299 x\r\na:b\r\n folded\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 103 x\r\na: b\r\n\r\nHTTP/1.1 102\r\n\r\nHTTP/1.1 200 OK\r\na: b\r\n\r\n",
    };
    static const char *const RESTS[] = {"", "x", "\r\n\r\nHTTP/1.1 200 OK\r\n\r\nfirst words"};
    (void)state;
    for (size_t i = 0; i < COUNT(HEADS) * COUNT(RESTS); i++) {
        struct buf all;
        const char *rest = RESTS[i % COUNT(RESTS)];
        buf_init(&all, BUF_NO_MAX);
        buf_add_str(&all, str_of(HEADS[i / COUNT(RESTS)]));
        buf_add_str(&all, str_of(rest));
        for (size_t step = 1; step <= all.n; step++) {
            struct memory memory;
            struct tunnel tunnel;
            memory_init(&memory, buf_str(&all), step);
            start_http(&tunnel, &memory);
            assert_int_equal(run(&tunnel, &memory), IO_OK);
            assert_true(memory.most <= 16);
            assert_int_equal(tunnel.stream.ops->connect(&tunnel.stream), IO_OK);
            expect_rest(&tunnel, str_of(rest));
            finish(&tunnel, &memory);
        }
        buf_fini(&all);
    }
}

#define NO_HTTP "the proxy answered with something that is not HTTP/1.1"

static void test_connect_refusals(void **state)
{
    static const struct {
        struct str answer;
        const char *text;
    } CASES[] = {
        {BYTES("HTTP/1.1 407 Who\r\nContent-Length: 3\r\n\r\nabc"),
         "the proxy answered 407 Proxy Authentication Required"},
        {BYTES("HTTP/1.1 405 No\r\n"), "the proxy answered 405 Method Not Allowed"},
        {BYTES("HTTP/1.0 502 x\r\n\r\n<html>"), "the proxy answered 502 Bad Gateway"},
        {BYTES("HTTP/1.1 511\r\n\r\n"), "the proxy answered 511 Network Authentication Required"},
        {BYTES("HTTP/1.1 302 x\r\n\r\n"), "the proxy answered 302 Found"},
        {BYTES("HTTP/1.1 101 x\r\n\r\n"), "the proxy answered 101 Switching Protocols"},
        {BYTES("HTTP/1.1 100 x\r\n\r\nHTTP/1.1 403 x\r\n"), "the proxy answered 403 Forbidden"},
        {BYTES("HTTP/1.1 399 x\r\n"), "the proxy answered with an unusual status, a 3xx"},
        {BYTES("HTTP/1.1 499 x\r\n"), "the proxy answered with an unusual status, a 4xx"},
        {BYTES("HTTP/1.1 599 x\r\n"), "the proxy answered with an unusual status, a 5xx"},
        {BYTES("HTTP/1.1 600 x\r\n"), NO_HTTP},
        {BYTES("HTTP/1.1 000 x\r\n"), NO_HTTP},
        {BYTES("HTTP/2 200 x\r\n\r\n........"), NO_HTTP},
        {BYTES("HTTP/2.0 200 x\r\n\r\n"), NO_HTTP},
        {BYTES("http/1.1 200 OK\r\n\r\n"), NO_HTTP},
        {BYTES("HTTP/1.1  200 OK\r\n\r\n"), NO_HTTP},
        {BYTES("HTTP/1.1 20 OK\r\n\r\n..."), NO_HTTP},
        {BYTES("HTTP/1.1 2000 OK\r\n\r\n"), NO_HTTP},
        {BYTES("HTTP/1.1 200\tOK\r\n\r\n"), NO_HTTP},
        {BYTES("\r\nHTTP/1.1 200 OK\r\n\r\n"), NO_HTTP},
        {BYTES("SSH-2.0-OpenSSH_9.2\r\n"), NO_HTTP},
        {BYTES("\x15\x03\x01\0\2\2\x28................"), NO_HTTP},
        {BYTES("HTTP/1.1 200 OK\n\n...."), NO_HTTP},
        {BYTES("HTTP/1.1 200 OK\r\na: b\n\r\n"), NO_HTTP},
        {BYTES("HTTP/1.1 200 OK\r\n\n..."), NO_HTTP},
        {BYTES("HTTP/1.1 200 OK\rx\r\n\r\n"), NO_HTTP},
        {BYTES("HTTP/1.1 200 OK\r\r\n\r\n"), NO_HTTP},
        {BYTES("HTTP/1.1 200 OK\r\n\rx\r\n\r\n"), NO_HTTP},
        {BYTES("HTTP/1.1 200 OK\r\na\rb: c\r\n\r\n"), NO_HTTP},
        {BYTES("HTTP/1.1 200 O\0K\r\n\r\n"), NO_HTTP},
        {BYTES("HTTP/1.1 200 OK\r\na: \0\r\n\r\n"), NO_HTTP},
        {BYTES("HTTP/1.1 200 OK\r\n\0a: b\r\n\r\n"), NO_HTTP},
        {BYTES(""), CLOSED},
        {BYTES("H"), CLOSED},
        {BYTES("HTTP/1.1 200"), CLOSED},
        {BYTES("HTTP/1.1 407 x"), CLOSED},
        {BYTES("HTTP/1.1 200 OK\r\na: b\r\n\r"), CLOSED},
        {BYTES("HTTP/1.1 100 OK\r\n\r\n"), CLOSED},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        for (size_t step = 1; step < 20; step++) {
            struct memory memory;
            struct tunnel tunnel;
            memory_init(&memory, CASES[i].answer, step);
            start_http(&tunnel, &memory);
            assert_int_equal(run(&tunnel, &memory), IO_FAILED);
            expect_failure(&tunnel, OUTCOME_CONNECT_PROXY, CASES[i].text);
            assert_int_equal(tunnel.stream.ops->connect(&tunnel.stream), IO_FAILED);
            expect_failure(&tunnel, OUTCOME_CONNECT_PROXY, CASES[i].text);
            finish(&tunnel, &memory);
        }
    }
}

/* An answer of n times `piece` and `tail`; NULL: the tunnel opens. */
static void check_long(const char *head, const char *piece, size_t n, const char *tail,
                       const char *text)
{
    struct memory memory;
    struct tunnel tunnel;
    struct buf all;
    buf_init(&all, BUF_NO_MAX);
    buf_add_str(&all, str_of(head));
    for (size_t i = 0; i < n; i++) {
        buf_add_str(&all, str_of(piece));
    }
    buf_add_str(&all, str_of(tail));
    memory_init(&memory, buf_str(&all), SIZE_MAX);
    start_http(&tunnel, &memory);
    assert_int_equal(run(&tunnel, &memory), text ? IO_FAILED : IO_OK);
    if (text) {
        expect_failure(&tunnel, OUTCOME_CONNECT_PROXY, text);
        assert_true(all.n - memory.in.n <= TUNNEL_HEAD_MAX + 16);
    }
    finish(&tunnel, &memory);
    buf_fini(&all);
}

static void test_connect_limits(void **state)
{
    static const char OK[] = "HTTP/1.1 200 OK\r\n\r\n", INTERIM[] = "HTTP/1.1 102\r\n\r\n";
    static const char LARGE[] = "the head of the proxy's answer is larger than 64 KiB";
    (void)state;
    check_long("", INTERIM, TUNNEL_INTERIM_MAX, OK, NULL);
    check_long("", INTERIM, TUNNEL_INTERIM_MAX + 1, OK,
               "the proxy answered with too many interim responses");
    check_long("HTTP/1.1 200 ", "x", 65000, "\r\n\r\n", NULL);
    check_long("HTTP/1.1 200 ", "x", 70000, "\r\n\r\n", LARGE);
    check_long("HTTP/1.1 200 OK\r\n", "a: b\r\n", 10900, "\r\n", NULL);
    check_long("HTTP/1.1 200 OK\r\n", "a: b\r\n", 1000000, "", LARGE);
    check_long("HTTP/1.1 102 OK\r\na:", "x", 30000, "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", NULL);
    check_long("HTTP/1.1 102 OK\r\na:", "x", 70000, "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", LARGE);
}

static void test_hosts_that_cannot_be_told(void **state)
{
    char name[TUNNEL_HOST_MAX + 2];
    memset(name, 'a', sizeof(name));
    const struct {
        struct str host;
        bool http, socks;
    } cases[] = {
        {STR(""), false, false},
        {STR("a\r\nb"), false, false},
        {STR("a b"), false, false},
        {STR("a\x7f"), false, false},
        {BYTES("a\0b"), false, false},
        {STR("[::g]"), true, false},
        {STR("[::1"), true, true},
        {{name, TUNNEL_HOST_MAX}, true, true},
        {{name, TUNNEL_HOST_MAX + 1}, false, false},
    };
    (void)state;
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        struct memory memory;
        struct tunnel tunnel;
        bool good = i % 2 ? cases[i / 2].http : cases[i / 2].socks;
        memory_init(&memory, STR(""), 1);
        if (i % 2) {
            tunnel_init_http(&tunnel, &memory.stream, cases[i / 2].host, 80, STR(""));
        } else {
            tunnel_init_socks(&tunnel, &memory.stream, cases[i / 2].host, 80, NULL, STR(""),
                              STR(""));
        }
        assert_int_equal(run(&tunnel, &memory), IO_FAILED);
        expect_failure(&tunnel, good ? OUTCOME_CONNECT_PROXY : OUTCOME_LOCAL,
                       good ? CLOSED : "the host cannot be told to a proxy");
        assert_int_equal(memory.out.n > 0, good);
        finish(&tunnel, &memory);
    }
}

/* --- what lies below --- */

static void test_failures_below(void **state)
{
    static const struct {
        struct failure below, above;
    } CASES[] = {
        {{.outcome = OUTCOME_RESET, .error = 104},
         {.outcome = OUTCOME_CONNECT_PROXY,
          .error = 104,
          .text = "the connection to the proxy broke"}},
        {{.outcome = OUTCOME_TRUNCATED, .text = "x"},
         {.outcome = OUTCOME_CONNECT_PROXY, .text = CLOSED}},
        {{.outcome = OUTCOME_TLS_HANDSHAKE, .text = "alert"},
         {.outcome = OUTCOME_TLS_HANDSHAKE, .text = "alert"}},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct memory memory;
        struct tunnel tunnel;
        memory_init(&memory, STR("HTTP/1.1"), 3);
        memory.end = IO_FAILED;
        memory.stream.failure = CASES[i].below;
        start_http(&tunnel, &memory);
        assert_int_equal(run(&tunnel, &memory), IO_FAILED);
        expect_failure(&tunnel, CASES[i].above.outcome, CASES[i].above.text);
        assert_int_equal(tunnel.stream.failure.error, CASES[i].above.error);
        finish(&tunnel, &memory);
    }
}

static void test_connecting_below(void **state)
{
    struct memory memory;
    struct tunnel tunnel;
    (void)state;
    memory_init(&memory, STR(""), 3);
    start_http(&tunnel, &memory);
    memory.connected = IO_AGAIN;
    assert_int_equal(tunnel.stream.ops->connect(&tunnel.stream), IO_AGAIN);
    memory.connected = IO_FAILED;
    memory.stream.failure = (struct failure){.outcome = OUTCOME_CONNECT_REFUSED, .error = 111};
    assert_int_equal(tunnel.stream.ops->connect(&tunnel.stream), IO_FAILED);
    assert_int_equal(tunnel.stream.failure.outcome, OUTCOME_CONNECT_REFUSED);
    assert_int_equal(tunnel.stream.failure.error, 111);
    assert_int_equal(memory.out.n, 0);
    finish(&tunnel, &memory);
}

/* Once open, calls and failures go through. */
static void test_open_tunnel(void **state)
{
    struct memory memory;
    struct tunnel tunnel;
    struct stream *stream = &tunnel.stream;
    char scratch[4];
    const struct str parts[] = {STR("hello")};
    uint64_t dropped = 0;
    size_t n = 0;
    (void)state;
    memory_init(&memory, STR("HTTP/1.1 200 OK\r\n\r\nabcdef"), 3);
    start_http(&tunnel, &memory);
    assert_int_equal(run(&tunnel, &memory), IO_OK);
    assert_int_equal(stream->ops->discard(stream, 2, scratch, sizeof(scratch), &dropped), IO_AGAIN);
    assert_int_equal(stream->ops->discard(stream, 2, scratch, sizeof(scratch), &dropped), IO_OK);
    assert_int_equal(dropped, 2);
    buf_reset(&memory.out);
    assert_int_equal(stream->ops->write(stream, parts, 1, &n), IO_AGAIN);
    assert_int_equal(stream->ops->write(stream, parts, 1, &n), IO_OK);
    assert_int_equal(n, 3);
    expect_bytes(buf_str(&memory.out), STR("hel"));
    stream->ops->want_write(stream, true);
    assert_true(memory.wants_write);
    memory.in.n = 0;
    memory.end = IO_FAILED;
    memory.stream.failure = (struct failure){.outcome = OUTCOME_RESET, .error = 104};
    while (stream->ops->read(stream, scratch, sizeof(scratch), &n) == IO_AGAIN) {
    }
    assert_int_equal(stream->failure.outcome, OUTCOME_RESET);
    assert_int_equal(stream->failure.error, 104);
    finish(&tunnel, &memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_connect_request),           cmocka_unit_test(test_connect_answers),
        cmocka_unit_test(test_connect_refusals),          cmocka_unit_test(test_connect_limits),
        cmocka_unit_test(test_hosts_that_cannot_be_told), cmocka_unit_test(test_failures_below),
        cmocka_unit_test(test_connecting_below),          cmocka_unit_test(test_open_tunnel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
