/* links: http net base */
#include "client_fixture.h"

/* A response that is kept; its body. */
static void expect_body(const char *method, const char *body)
{
    struct request request;

    prepare(&request, method, "/");
    request.exchange.keep = &request.response;
    request.exchange.keep_body = true;
    send_and_wait(&request);
    assert_int_equal(request.exchange.failure.outcome, OUTCOME_RESPONSE);
    if (!str_eq(buf_str(&request.response.body), str_of(body)))
        fail_msg("'%.*s' is not '%s'", (int)request.response.body.n, request.response.body.p, body);
    finish(&request);
}

static void expect_failure(enum outcome outcome, enum outcome_where where)
{
    struct failure failure = outcome_of("GET", "/");

    if (failure.outcome != outcome)
        fail_msg("%s (%s) is not %s", outcome_name(failure.outcome),
                 failure.text ? failure.text : "-", outcome_name(outcome));
    assert_int_equal(failure.where, where);
}

/* --- whole ones --- */

static void test_what_is_kept_of_a_response(void **state)
{
    struct request request;

    (void)state;
    SERVE({.head = "HTTP/1.1 404 Nope\r\nX-A: 1\r\nContent-Length: 5\r\n\r\nhello"});
    prepare(&request, "GET", "/a?b");
    request.exchange.keep = &request.response;
    request.exchange.keep_body = true;
    send_and_wait(&request);
    assert_int_equal(request.exchange.status, 404);
    assert_int_equal(request.response.status, 404);
    assert_true(str_eq(buf_str(&request.response.body), STR("hello")));
    assert_true(str_starts(buf_str(&request.response.fields), STR("X-A: 1\r\n")));
    char url[64];
    snprintf(url, sizeof(url), "http://127.0.0.1:%u/a?b", port);
    assert_true(str_eq(buf_str(&request.response.url), str_of(url)));
    finish(&request);
}

static void test_bytes_and_times_are_told(void **state)
{
    struct request request;
    const struct exchange *exchange = &request.exchange;

    (void)state;
    SERVE({.head = OK_2}, {.head = OK_2});
    for (int i = 0; i < 2; i++) {
        prepare(&request, "GET", "/");
        send_and_wait(&request);
        assert_int_equal(exchange->bytes_sent, exchange->head.n);
        assert_int_equal(exchange->bytes_received, strlen(OK_2));
        assert_int_equal(exchange->phases[EXCHANGE_CONNECT] == EXCHANGE_NONE, i);
        assert_int_equal(exchange->phases[EXCHANGE_TLS], EXCHANGE_NONE);
        assert_int_not_equal(exchange->phases[EXCHANGE_FIRST_BYTE], EXCHANGE_NONE);
        assert_int_not_equal(exchange->phases[EXCHANGE_BODY], EXCHANGE_NONE);
        uint64_t sum = exchange->phases[EXCHANGE_FIRST_BYTE] + exchange->phases[EXCHANGE_BODY];
        assert_true(sum <= exchange->done_ns - exchange->start_ns);
        finish(&request);
    }
}

static void test_bodies_of_each_framing(void **state)
{
    (void)state;
    SERVE({.head = OK_2},
          {.head =
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n2\r\nde\r\n0\r\n"
               "T: 1\r\n\r\n"},
          {.head = "HTTP/1.1 200 OK\r\n\r\nto the end", .then = CLOSE},
          {.head = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"});
    expect_body("GET", "ok");
    expect_body("GET", "abcde");
    expect_body("GET", "to the end");
    expect_body("GET", "");
    assert_int_equal(client->opened, 2);
}

static void test_responses_without_a_body(void **state)
{
    (void)state;
    SERVE({.head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"},
          {.head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"},
          {.head = "HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n"},
          {.head = "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n"}, {.head = OK_2});
    expect_body("HEAD", "");
    expect_body("HEAD", "");
    expect_body("GET", "");
    expect_body("GET", "");
    expect_body("GET", "ok");
    assert_int_equal(client->opened, 1);
}

static void test_any_split_is_the_same(void **state)
{
    static struct answer answers[40];
    static const char *const heads[] = {
        OK_2, ("HTTP/1.1 100 Continue\r\n\r\n" OK_2),
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: 1\r\n fold\r\nContent-Length: 2\r\n\r\nok"};

    (void)state;
    for (size_t i = 0; i < COUNT(answers); i++)
        answers[i] = (struct answer){.head = heads[i % 4], .piece = 1 + i / 4};
    serve(answers, COUNT(answers));
    for (size_t i = 0; i < COUNT(answers); i++)
        expect_body("GET", "ok");
    assert_int_equal(client->opened, 1);
}

static void test_interim_responses_are_passed_over(void **state)
{
    struct request request;

    (void)state;
    SERVE(
        {.head = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" OK_2});
    prepare(&request, "GET", "/");
    send_and_wait(&request);
    assert_int_equal(request.exchange.status, 200);
    assert_int_equal(request.exchange.notes.interim, 2);
    finish(&request);
}

static void test_large_bodies_that_nobody_keeps(void **state)
{
    (void)state;
    SERVE({.head = "HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n", .zeros = 5000000},
          {.head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7a120\r\n",
           .zeros = 500000,
           .tail = "\r\n0\r\n\r\n"},
          {.head = "HTTP/1.1 200 OK\r\n\r\n", .zeros = 3000000, .then = CLOSE}, {.head = OK_2});
    for (int i = 0; i < 4; i++)
        expect_status("GET", "/", 200);
    assert_int_equal(client->opened, 2);
}

/* --- more than was asked for --- */

static void test_bytes_behind_a_response(void **state)
{
    struct request request;

    (void)state;
    /* Read and thrown away unread; the connection serves nobody else. */
    SERVE({.head = OK_2 OK_2},
          {.head = "HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n",
           .zeros = 200000,
           .tail = "HTTP/1.1 500 No\r\n\r\n"},
          {.head = "HTTP/1.1 204 No Content\r\n\r\nbody"}, {.head = OK_2});
    for (int i = 0; i < 3; i++) {
        prepare(&request, "GET", "/");
        send_and_wait(&request);
        assert_int_equal(request.exchange.failure.outcome, OUTCOME_RESPONSE);
        assert_int_equal(request.exchange.notes.extra_bytes, 1);
        finish(&request);
    }
    expect_status("GET", "/", 200);
    assert_int_equal(client->opened, 4);
}

static void test_a_response_while_the_request_is_still_written(void **state)
{
    struct request request;
    struct buf body;

    (void)state;
    buf_init(&body, BUF_NO_MAX);
    buf_add_fill(&body, 'b', 32u << 20);
    SERVE({.head = "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno", .early = true},
          {.head = "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno",
           .early = true,
           .then = CLOSE},
          {.head = OK_2});
    for (int i = 0; i < 2; i++) { /* then a server that resets the connection behind it */
        prepare_at(&request, "127.0.0.1", "POST", "/", "", buf_str(&body));
        send_and_wait(&request);
        if (i == 0 || request.exchange.failure.outcome == OUTCOME_RESPONSE)
            assert_int_equal(request.exchange.status, 413);
        else
            assert_int_equal(request.exchange.failure.outcome, OUTCOME_RESET);
        assert_true(request.exchange.bytes_sent < body.n);
        finish(&request);
    }
    prepare_at(&request, "127.0.0.1", "POST", "/whole", "", buf_str(&body));
    send_and_wait(&request);
    assert_int_equal(request.exchange.status, 200);
    assert_int_equal(request.exchange.bytes_sent, request.exchange.head.n + body.n);
    assert_int_equal(client->opened, 3);
    buf_fini(&body);
    finish(&request);
}

/* --- failures --- */

static void test_responses_cut_short(void **state)
{
    (void)state;
    SERVE({.head = "", .then = CLOSE}, {.head = "HTTP/1.1 200 OK\r\nContent-Le", .then = CLOSE},
          {.head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", .then = CLOSE},
          {.head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
           .then = CLOSE},
          {.head = "HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n",
           .zeros = 800000,
           .then = CLOSE},
          {.head = "HTTP/1.1 100 Continue\r\n\r\n", .then = CLOSE});
    expect_failure(OUTCOME_RESET, WHERE_HEAD);
    expect_failure(OUTCOME_TRUNCATED, WHERE_HEAD);
    expect_failure(OUTCOME_TRUNCATED, WHERE_BODY);
    expect_failure(OUTCOME_TRUNCATED, WHERE_BODY);
    expect_failure(OUTCOME_TRUNCATED, WHERE_BODY);
    expect_failure(OUTCOME_TRUNCATED, WHERE_HEAD);
}

static void test_resets(void **state)
{
    (void)state;
    SERVE({.head = "", .then = RESET},
          {.head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", .then = RESET});
    expect_failure(OUTCOME_RESET, WHERE_HEAD);
    struct failure failure = outcome_of("GET", "/");
    assert_int_equal(failure.outcome, OUTCOME_RESET);
    assert_int_equal(failure.error, ECONNRESET);
}

static void test_what_is_no_http(void **state)
{
    (void)state;
    SERVE({.head = "220 mail.example ESMTP\r\n"}, {.head = "\x15\x03\x01\x00\x02\x02\x50"},
          {.head = "HTTP/1.1 101 Switching Protocols\r\n\r\n"},
          {.head = "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"},
          {.head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"},
          {.head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n"});
    for (int i = 0; i < 4; i++)
        expect_failure(OUTCOME_PROTOCOL_H1, WHERE_HEAD);
    expect_failure(OUTCOME_PROTOCOL_H1, WHERE_BODY);
    expect_failure(OUTCOME_PROTOCOL_H1, WHERE_BODY);
    assert_int_equal(client->opened, 6);
}

static void test_interim_responses_without_end(void **state)
{
    static char flood[17 * 40];

    (void)state;
    for (int i = 0; i < 17; i++)
        strcat(flood, "HTTP/1.1 102 Processing\r\n\r\n");
    const struct answer answer = {.head = flood};
    serve(&answer, 1);
    expect_failure(OUTCOME_TOO_LARGE, WHERE_HEAD);
}

static void test_heads_without_end(void **state)
{
    (void)state;
    SERVE({.head = "HTTP/1.1 200 OK\r\nX: ", .zeros = 1000000},
          {.head = "HTTP/1.1 200 OK\r\nX: ", .zeros = 400000, .piece = 10000});
    expect_failure(OUTCOME_TOO_LARGE, WHERE_HEAD);
    expect_failure(OUTCOME_TOO_LARGE, WHERE_HEAD);
}

static void test_bodies_larger_than_what_is_kept(void **state)
{
    struct request request;

    (void)state;
    make_client(30 * NS_PER_S, 1000, 10);
    SERVE({.head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", .zeros = 1000},
          {.head = "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n", .zeros = 1001},
          {.head = "HTTP/1.1 200 OK\r\n\r\n", .zeros = 100000, .piece = 999, .then = CLOSE});
    for (int i = 0; i < 3; i++) {
        prepare(&request, "GET", "/");
        request.exchange.keep = &request.response;
        request.exchange.keep_body = true;
        send_and_wait(&request);
        assert_int_equal(request.exchange.failure.outcome,
                         i ? OUTCOME_TOO_LARGE : OUTCOME_RESPONSE);
        assert_true(request.response.body.n <= 1000);
        finish(&request);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENT_TEST(test_what_is_kept_of_a_response),
        CLIENT_TEST(test_bytes_and_times_are_told),
        CLIENT_TEST(test_bodies_of_each_framing),
        CLIENT_TEST(test_responses_without_a_body),
        CLIENT_TEST(test_any_split_is_the_same),
        CLIENT_TEST(test_interim_responses_are_passed_over),
        CLIENT_TEST(test_large_bodies_that_nobody_keeps),
        CLIENT_TEST(test_bytes_behind_a_response),
        CLIENT_TEST(test_a_response_while_the_request_is_still_written),
        CLIENT_TEST(test_responses_cut_short),
        CLIENT_TEST(test_resets),
        CLIENT_TEST(test_what_is_no_http),
        CLIENT_TEST(test_interim_responses_without_end),
        CLIENT_TEST(test_heads_without_end),
        CLIENT_TEST(test_bodies_larger_than_what_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
