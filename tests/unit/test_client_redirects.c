/* links: http net base */
#include "client_fixture.h"

#define NOTHING  \
    (struct str) \
    {            \
        0        \
    }
#define TO(status, location)                                                                     \
    {                                                                                            \
        .head =                                                                                  \
            "HTTP/1.1 " status " Moved\r\nContent-Length: 2\r\nLocation: " location "\r\n\r\nno" \
    }

/* Locations that name the server's port are made at run time. */
static char texts[8][300];

static struct answer to_host(unsigned i, const char *status, const char *host, const char *path)
{
    snprintf(texts[i], sizeof(texts[i]),
             "HTTP/1.1 %s Moved\r\nContent-Length: 0\r\nLocation: http://%s:%u%s\r\n\r\n", status,
             host, port, path);
    return (struct answer){.head = texts[i]};
}

static void expect_redirect_failure(enum outcome outcome, enum outcome_where where)
{
    struct failure failure = outcome_of("GET", "/a");

    if (failure.outcome != outcome || failure.where != where)
        fail_msg("%s: %s", outcome_name(failure.outcome), failure.text ? failure.text : "-");
}

static void test_locations_are_followed(void **state)
{
    struct request request;

    (void)state;
    SERVE(TO("302", "next?x y#f"), TO("301", "../c"), TO("307", "?q"), TO("308", "//127.0.0.1:1"),
          {.head = OK_2});
    prepare(&request, "GET", "/a/b/");
    request.exchange.keep = &request.response;
    request.exchange.keep_body = true;
    send_and_wait(&request);
    expect_seen("#1 GET /a/b/ HTTP/1.1\r\n");
    expect_seen("#1 GET /a/b/next?x%20y HTTP/1.1\r\nHost: 127.0.0.1:");
    expect_seen("#1 GET /a/c HTTP/1.1\r\n");
    expect_seen("#1 GET /a/c?q HTTP/1.1\r\n");
    /* The last one leads to where nobody listens. */
    assert_int_equal(request.exchange.failure.outcome, OUTCOME_CONNECT_REFUSED);
    assert_int_equal(request.exchange.notes.redirects, 4);
    assert_int_equal(request.exchange.hops, 4);
    assert_int_equal(client->opened, 1);
    finish(&request);
}

static void test_the_last_response_is_the_one(void **state)
{
    struct request request;
    char url[64];

    (void)state;
    SERVE(TO("302", "/end"), {.head = "HTTP/1.1 404 No\r\nContent-Length: 3\r\n\r\nend"});
    prepare(&request, "GET", "/a");
    request.exchange.keep = &request.response;
    request.exchange.keep_body = true;
    send_and_wait(&request);
    assert_int_equal(request.exchange.status, 404);
    assert_int_equal(request.response.status, 404);
    assert_true(str_eq(buf_str(&request.response.body), STR("end")));
    snprintf(url, sizeof(url), "http://127.0.0.1:%u/end", port);
    assert_true(str_eq(buf_str(&request.response.url), str_of(url)));
    finish(&request);
}

static void test_what_becomes_of_a_post(void **state)
{
    static const struct {
        const char *status, *seen;
    } cases[] = {{"301", "GET /b HTTP/1.1\r\n"},
                 {"302", "GET /b HTTP/1.1\r\n"},
                 {"303", "GET /b HTTP/1.1\r\n"},
                 {"307", "POST /b HTTP/1.1\r\n"},
                 {"308", "POST /b HTTP/1.1\r\n"}};
    struct request request;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct answer answers[2] = {to_host(0, cases[i].status, "127.0.0.1", "/b"), {.head = OK_2}};
        serve(answers, 2);
        seen[0] = '\0';
        prepare_at(&request, "127.0.0.1", "POST", "/a", "Content-Type: x\r\nX-Own: 1\r\n",
                   STR("body"));
        send_and_wait(&request);
        assert_int_equal(request.exchange.failure.outcome, OUTCOME_RESPONSE);
        expect_seen(cases[i].seen);
        const char *second = strstr(seen, " /b HTTP/1.1");
        bool has_body = cases[i].status[2] >= '7';
        assert_int_equal(strstr(second, "\r\n\r\nbody") != NULL, has_body);
        assert_int_equal(strstr(second, "Content-Type: x") != NULL, has_body);
        assert_int_equal(strstr(second, "Content-Length: 4") != NULL, has_body);
        assert_non_null(strstr(second, "X-Own: 1"));
        finish(&request);
    }
}

static void test_head_stays_head(void **state)
{
    (void)state;
    SERVE({.head = "HTTP/1.1 303 See\r\nContent-Length: 9\r\nLocation: /b\r\n\r\n"},
          {.head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"});
    expect_status("HEAD", "/a", 200);
    expect_seen("#1 HEAD /b ");
}

static void test_another_origin_gets_no_secrets(void **state)
{
    struct answer answers[3] = {
        to_host(0, "307", "127.0.0.2", "/b"), to_host(1, "307", "127.0.0.1", "/c"), {.head = OK_2}};
    struct request request;

    (void)state;
    serve(answers, 3);
    prepare_at(&request, "127.0.0.1", "GET", "/a",
               "Authorization: Basic x\r\ncookie: Cookie: a\r\nproxy-authorization: p\r\n"
               "X-Key: 1\r\n",
               NOTHING);
    send_and_wait(&request);
    assert_int_equal(request.exchange.failure.outcome, OUTCOME_RESPONSE);
    const char *second = strstr(seen, "GET /b"), *third = strstr(seen, "GET /c");
    assert_non_null(second);
    assert_non_null(third);
    assert_null(strstr(second, "Basic"));
    assert_null(strstr(second, "ookie"));
    assert_null(strstr(second, "roxy"));
    assert_non_null(strstr(third, "X-Key: 1")); /* gone for good, even on the way back */
    assert_non_null(strstr(second, "Host: 127.0.0.2:"));
    assert_non_null(strstr(third, "Host: 127.0.0.1:"));
    finish(&request);
}

static void test_credentials_of_a_location(void **state)
{
    struct answer answers[2] = {to_host(0, "302", "u:p%40@127.0.0.2", "/b"), {.head = OK_2}};

    (void)state;
    serve(answers, 2);
    expect_status("GET", "/a", 200);
    expect_seen("#2 GET /b HTTP/1.1\r\nHost: 127.0.0.2:");
    expect_seen("Authorization: Basic dTpwQA==\r\n"); /* u:p@ */
}

static void test_locations_that_cannot_be_followed(void **state)
{
    (void)state;
    SERVE(TO("302", ""), TO("302", "http://"), TO("302", "file:///etc/passwd"),
          TO("302", "javascript:1"), TO("302", "http://h:99999/"));
    while (script_left)
        expect_redirect_failure(OUTCOME_REDIRECT, WHERE_HEAD);
}

static void test_two_locations(void **state)
{
    (void)state;
    SERVE({.head = "HTTP/1.1 302 F\r\nLocation: /a\r\nlocation: /b\r\nContent-Length: 0\r\n\r\n"});
    expect_redirect_failure(OUTCOME_PROTOCOL_H1, WHERE_HEAD);
}

static void test_a_location_that_is_too_long(void **state)
{
    (void)state;
    SERVE({.head = "HTTP/1.1 302 F\r\nContent-Length: 0\r\nLocation: /",
           .zeros = 70000,
           .tail = "\r\n\r\n"});
    expect_redirect_failure(OUTCOME_REDIRECT, WHERE_HEAD);
}

static void test_other_statuses_are_responses(void **state)
{
    (void)state;
    SERVE(TO("300", "/b"), TO("304", "/b\r\nConnection: close"), TO("201", "/b"),
          {.head = "HTTP/1.1 302 F\r\nContent-Length: 0\r\n\r\n"});
    expect_status("GET", "/", 300);
    expect_status("GET", "/", 304);
    expect_status("GET", "/", 201);
    expect_status("GET", "/", 302); /* leads nowhere */
}

static void test_redirects_have_a_limit(void **state)
{
    static struct answer answers[1001];
    static const unsigned limits[] = {1, 10, 300, 1000};
    struct request request;

    (void)state;
    for (size_t i = 0; i < COUNT(limits); i++) {
        make_client(30 * NS_PER_S, 1 << 20, limits[i]);
        for (size_t k = 0; k < COUNT(answers); k++)
            answers[k] = (struct answer)TO("302", "/again");
        serve(answers, COUNT(answers));
        seen[0] = '\0';
        prepare(&request, "GET", "/a");
        send_and_wait(&request);
        assert_int_equal(request.exchange.failure.outcome, OUTCOME_REDIRECT);
        assert_int_equal(request.exchange.failure.where, WHERE_LIMIT);
        assert_int_equal(request.exchange.notes.redirects, limits[i]);
        assert_int_equal(COUNT(answers) - script_left, limits[i] + 1);
        finish(&request);
    }
    make_client(30 * NS_PER_S, 1 << 20, 0);
    serve(answers, 1);
    expect_status("GET", "/", 302);
}

static void test_the_time_limit_spans_redirects(void **state)
{
    (void)state;
    make_client(300 * NS_PER_MS, 1 << 20, 10);
    SERVE(TO("302", "/b"), {.head = ""});
    assert_int_equal(outcome_of("GET", "/").outcome, OUTCOME_TIMEOUT_FIRST_BYTE);
}

static void test_the_race_on_the_way(void **state)
{
    struct request request;

    (void)state;
    /* The redirect is sent again on a new connection: the POST has become a GET. */
    SERVE(TO("303", "/b"), {.head = "", .then = CLOSE}, {.head = OK_2});
    prepare_at(&request, "127.0.0.1", "POST", "/a", "", STR("body"));
    send_and_wait(&request);
    assert_int_equal(request.exchange.failure.outcome, OUTCOME_RESPONSE);
    assert_int_equal(request.exchange.notes.reconnects, 1);
    expect_seen("#2 GET /b ");
    finish(&request);
}

/* --- cookies --- */

static void test_cookies_come_back(void **state)
{
    struct request request;

    (void)state;
    SERVE({.head = "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nset-cookie: b=2; Path=/x\r\n"
                   "Content-Length: 0\r\n\r\n"},
          {.head = OK_2}, {.head = OK_2}, {.head = OK_2});
    expect_status("GET", "/", 200);
    expect_status("GET", "/x/y?/", 200);
    expect_seen("GET /x/y?/ HTTP/1.1\r\nHost: ");
    expect_seen("\r\nCookie: b=2; a=1\r\n\r\n");
    seen[0] = '\0';
    prepare_at(&request, "127.0.0.2", "GET", "/x", "", NOTHING);
    send_and_wait(&request);
    assert_null(strstr(seen, "Cookie")); /* another host */
    finish(&request);
    seen[0] = '\0';
    prepare_at(&request, "127.0.0.1", "GET", "/x", "Cookie: own=3\r\n", NOTHING);
    send_and_wait(&request);
    expect_seen("Cookie: own=3\r\n\r\n");
    assert_null(strstr(seen, "b=2"));
    finish(&request);
}

static void test_cookies_are_set_on_the_way(void **state)
{
    (void)state;
    SERVE({.head = "HTTP/1.1 302 F\r\nSet-Cookie: a=1;\r\n x\r\nLocation: /b\r\n"
                   "Content-Length: 0\r\n\r\n"},
          {.head = OK_2});
    expect_status("GET", "/a", 200);
    expect_seen("#1 GET /b HTTP/1.1\r\n");
    expect_seen("\r\nCookie: a=1\r\n\r\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENT_TEST(test_locations_are_followed),
        CLIENT_TEST(test_the_last_response_is_the_one),
        CLIENT_TEST(test_what_becomes_of_a_post),
        CLIENT_TEST(test_head_stays_head),
        CLIENT_TEST(test_another_origin_gets_no_secrets),
        CLIENT_TEST(test_credentials_of_a_location),
        CLIENT_TEST(test_locations_that_cannot_be_followed),
        CLIENT_TEST(test_two_locations),
        CLIENT_TEST(test_a_location_that_is_too_long),
        CLIENT_TEST(test_other_statuses_are_responses),
        CLIENT_TEST(test_redirects_have_a_limit),
        CLIENT_TEST(test_the_time_limit_spans_redirects),
        CLIENT_TEST(test_the_race_on_the_way),
        CLIENT_TEST(test_cookies_come_back),
        CLIENT_TEST(test_cookies_are_set_on_the_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
