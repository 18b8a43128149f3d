/* links: http net base */
#include "client_fixture.h"

#include <sys/resource.h>

#define NOTHING  \
    (struct str) \
    {            \
        0        \
    }

/* --- connections --- */

static void test_a_connection_is_kept(void **state)
{
    (void)state;
    SERVE({.head = OK_2}, {.head = OK_2}, {.head = OK_2});
    for (int i = 0; i < 3; i++)
        expect_status("GET", "/", 200);
    assert_int_equal(n_served, 1);
    assert_int_equal(client->opened, 1);
    assert_int_equal(client->reused, 2);
    assert_int_equal(client->failed, 0);
}

static void test_a_connection_that_is_not_to_be_kept(void **state)
{
    (void)state;
    SERVE({.head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"},
          {.head = "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"},
          {.head = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"},
          {.head = OK_2});
    for (int i = 0; i < 4; i++)
        expect_status("GET", "/", 200);
    assert_int_equal(client->opened, 3);
    assert_int_equal(client->reused, 1);
}

static struct request again;
static unsigned more;

static void ended_and_again(struct exchange *exchange)
{
    if (more-- == 0) {
        ended(exchange);
        return;
    }
    send_it(&again); /* the connection's read is still on the stack */
}

static void test_the_next_request_is_sent_from_within_the_last_ones_end(void **state)
{
    static const struct answer answers[] = {
        {.head = OK_2},
        {.head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"},
        {.head = OK_2, .piece = 1},
        {.head = "HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n", .zeros = 200000},
        {.head = "HTTP/1.1 204 No Content\r\n\r\n", .piece = 3},
        {.head = "HTTP/1.1 200 OK\r\n\r\nuntil close", .then = CLOSE},
        {.head = "nonsense, and the parser is on the stack", .then = CLOSE},
        {.head = OK_2},
        {.head = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1 and more"},
        {.head = OK_2}};

    (void)state;
    serve(answers, COUNT(answers));
    prepare(&again, "GET", "/");
    again.exchange.done = ended_and_again;
    more = COUNT(answers) - 1;
    send_it(&again);
    run_until_ended(1);
    assert_int_equal(again.ends, 1);
    assert_int_equal(script_left, 0);
    assert_int_equal(client->opened, 4);
    assert_int_equal(client->reused, 6);
    finish(&again);
}

static void test_users_at_once_have_connections_of_their_own(void **state)
{
    struct request a, b;

    (void)state;
    SERVE({.head = OK_2}, {.head = OK_2}, {.head = OK_2});
    prepare(&a, "GET", "/a");
    prepare(&b, "GET", "/b");
    send_it(&a);
    send_it(&b);
    run_until_ended(2);
    assert_int_equal(client->opened, 2);
    assert_int_equal(a.exchange.origin->users, 2);
    expect_status("GET", "/c", 200);
    assert_int_equal(client->opened, 2);
    finish(&a);
    finish(&b);
}

static void test_a_connection_closed_while_idle_is_not_used(void **state)
{
    (void)state;
    SERVE({.head = OK_2}, {.head = OK_2});
    expect_status("GET", "/", 200);
    hang_up(&served[0], false);
    turn();
    expect_status("POST", "/", 200);
    assert_int_equal(client->opened, 2);
    assert_int_equal(client->reused, 0);
    assert_int_equal(idle_bytes_calls, 0);
}

static void test_bytes_on_an_idle_connection(void **state)
{
    (void)state;
    SERVE({.head = OK_2}, {.head = OK_2});
    expect_status("GET", "/", 200);
    assert_int_equal(send(served[0].watcher.fd, OK_2, strlen(OK_2), 0), strlen(OK_2));
    turn();
    assert_int_equal(idle_bytes_calls, 1);
    assert_int_equal(idle_bytes_tag, 7);
    expect_status("GET", "/", 200);
    assert_int_equal(client->opened, 2);
}

static void test_idle_connections_make_room_for_others(void **state)
{
    struct rlimit before, low;
    int fillers[1000], n = 0, fd;
    struct request other;

    (void)state;
    SERVE({.head = OK_2}, {.head = OK_2});
    expect_status("GET", "/", 200);
    getrlimit(RLIMIT_NOFILE, &before);
    while ((fd = dup(STDOUT_FILENO)) < served[0].watcher.fd) { /* no holes below */
        assert_true(fd >= 0 && n < 1000);
        fillers[n++] = fd;
    }
    low = (struct rlimit){(rlim_t)fd + 1, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &low);
    prepare_at(&other, "127.0.0.2", "GET", "/", "", NOTHING);
    send_and_wait(&other);
    setrlimit(RLIMIT_NOFILE, &before);
    close(fd);
    while (n)
        close(fillers[--n]);
    assert_int_equal(other.exchange.failure.outcome, OUTCOME_RESPONSE);
    finish(&other);
}

static void test_an_end_without_a_call(void **state)
{
    struct request request;

    (void)state;
    SERVE({.head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"}, {.head = OK_2});
    for (int i = 0; i < 2; i++) { /* before it is connected, and in mid-body */
        prepare(&request, "GET", "/");
        send_it(&request);
        if (i)
            turn();
        client_abort(&request.exchange);
        turn();
        assert_int_equal(request.ends, 0);
        assert_int_equal(request.exchange.origin->users, 0);
        finish(&request);
    }
    expect_status("GET", "/", 200);
}

static void test_origins_are_forgotten_but_pinned_ones(void **state)
{
    struct origin *pinned = client_origin(client, false, STR("pinned"), 80, true);
    char host[32];

    (void)state;
    SERVE({.head = OK_2}, {.head = OK_2});
    expect_status("GET", "/", 200); /* an origin with an idle connection may go too */
    for (unsigned i = 0; i < 2 * CLIENT_MAX_ORIGINS; i++) {
        snprintf(host, sizeof(host), "h%u", i);
        client_origin(client, false, str_of(host), 80, false);
        assert_true(client->n_origins <= CLIENT_MAX_ORIGINS);
    }
    assert_ptr_equal(client_origin(client, false, STR("pinned"), 80, false), pinned);
    assert_ptr_not_equal(client_origin(client, true, STR("pinned"), 80, false), pinned);
    assert_ptr_not_equal(client_origin(client, false, STR("pinned"), 81, false), pinned);
    expect_status("GET", "/", 200);
}

static void test_a_dead_server_is_backed_off_from(void **state)
{
    struct origin *origin = client_origin(client, false, STR("127.0.0.1"), port, true);
    static const uint64_t ms[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 250, 250};

    (void)state;
    stop_listening();
    for (size_t i = 0; i < COUNT(ms); i++) {
        assert_int_equal(client_backoff_ns(origin), ms[i] * NS_PER_MS);
        struct failure failure = outcome_of("GET", "/");
        assert_int_equal(failure.outcome, OUTCOME_CONNECT_REFUSED);
    }
    assert_int_equal(client->failed, COUNT(ms));
    origin->failures = UINT32_MAX;
    assert_int_equal(client_backoff_ns(origin), CLIENT_BACKOFF_MAX_NS);
    assert_int_equal(start_server(), 0);
    origin = client_origin(client, false, STR("127.0.0.1"), port, true);
    origin->failures = 100;
    SERVE({.head = OK_2});
    expect_status("GET", "/", 200);
    assert_int_equal(client_backoff_ns(origin), 0);
}

/* --- the keep-alive race --- */

static void test_a_get_is_sent_once_more(void **state)
{
    struct request request;

    (void)state;
    SERVE({.head = OK_2}, {.head = "", .then = CLOSE}, {.head = OK_2}, {.head = "", .then = RESET},
          {.head = "", .then = CLOSE});
    expect_status("GET", "/", 200);
    for (int i = 0; i < 2; i++) { /* the second time the new connection fails as well */
        prepare(&request, "GET", "/again");
        send_and_wait(&request);
        assert_int_equal(request.exchange.failure.outcome, i ? OUTCOME_RESET : OUTCOME_RESPONSE);
        assert_int_equal(request.exchange.notes.reconnects, 1);
        assert_int_equal(request.exchange.bytes_sent, 2 * request.exchange.head.n);
        finish(&request);
    }
    assert_int_equal(n_served, 3);
    assert_int_equal(script_left, 0);
}

static void test_a_post_is_not(void **state)
{
    (void)state;
    SERVE({.head = OK_2}, {.head = "", .then = CLOSE}, {.head = OK_2});
    expect_status("GET", "/", 200);
    assert_int_equal(outcome_of("POST", "/").outcome, OUTCOME_RESET);
    assert_int_equal(script_left, 1);
}

static void test_nor_what_has_begun_to_be_answered(void **state)
{
    (void)state;
    SERVE({.head = OK_2}, {.head = "HTTP/1.1 2", .then = CLOSE}, {.head = OK_2});
    expect_status("GET", "/", 200);
    assert_int_equal(outcome_of("GET", "/").outcome, OUTCOME_TRUNCATED);
    assert_int_equal(script_left, 1);
}

static void test_nor_what_fails_on_a_new_connection(void **state)
{
    (void)state;
    SERVE({.head = "", .then = CLOSE}, {.head = OK_2});
    assert_int_equal(outcome_of("GET", "/").outcome, OUTCOME_RESET);
    assert_int_equal(script_left, 1);
}

static void reset_and_post(struct exchange *exchange)
{
    (void)exchange;
    hang_up(&served[0], true); /* known to the kernel before the next write, not to the loop */
    send_it(&again);
}

static void test_a_post_of_which_nothing_was_written_is(void **state)
{
    struct request request;

    (void)state;
    SERVE({.head = OK_2}, {.head = OK_2});
    prepare(&request, "GET", "/");
    prepare(&again, "POST", "/");
    request.exchange.done = reset_and_post;
    send_it(&request);
    run_until_ended(1);
    assert_int_equal(again.exchange.failure.outcome, OUTCOME_RESPONSE);
    assert_int_equal(again.exchange.notes.reconnects, 1);
    assert_int_equal(again.exchange.bytes_sent, again.exchange.head.n);
    finish(&request);
    finish(&again);
}

/* --- time limits --- */

static void test_no_byte_in_time(void **state)
{
    (void)state;
    make_client(30 * NS_PER_MS, 1 << 20, 10);
    SERVE({.head = ""}, {.head = OK_2});
    assert_int_equal(outcome_of("GET", "/").outcome, OUTCOME_TIMEOUT_FIRST_BYTE);
    assert_int_equal(client->failed, 0);
    expect_status("GET", "/", 200); /* on another connection */
    assert_int_equal(n_served, 2);
}

static void test_a_response_that_is_not_whole_in_time(void **state)
{
    (void)state;
    make_client(300 * NS_PER_MS, 1 << 20, 10);
    SERVE({.head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"}, {.head = "HTTP/1.1 2"},
          {.head = "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n",
           .zeros = 3000000,
           .piece = 1});
    for (int i = 0; i < 3; i++) { /* the third comes in drips all the time */
        assert_int_equal(outcome_of("GET", "/").outcome, OUTCOME_TIMEOUT_TOTAL);
    }
}

static void test_a_request_that_is_not_read_in_time(void **state)
{
    struct request request;
    struct buf body;

    (void)state;
    make_client(30 * NS_PER_MS, 1 << 20, 10);
    buf_init(&body, BUF_NO_MAX);
    buf_add_fill(&body, 'b', 32u << 20);
    prepare_at(&request, "127.0.0.1", "POST", "/", "", buf_str(&body));
    SERVE({.head = "", .early = true}); /* reads no more, says nothing */
    send_it(&request);
    run_until_ended(1);
    assert_int_equal(request.exchange.failure.outcome, OUTCOME_TIMEOUT_FIRST_BYTE);
    assert_true(request.exchange.bytes_sent < body.n);
    buf_fini(&body);
    finish(&request);
}

static void test_no_connection_in_time(void **state)
{
    int fds[4];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};

    (void)state;
    make_client(30 * NS_PER_MS, 1 << 20, 10);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    loop_interest(loop, &listener, 0);
    listen(listener.fd, 0); /* a queue that these fill: others hear nothing */
    for (size_t i = 0; i < COUNT(fds); i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        connect(fds[i], (struct sockaddr *)&address, sizeof(address));
    }
    assert_int_equal(outcome_of("GET", "/").outcome, OUTCOME_CONNECT_TIMEOUT);
    assert_int_equal(client->failed, 1);
    for (size_t i = 0; i < COUNT(fds); i++)
        close(fds[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENT_TEST(test_a_connection_is_kept),
        CLIENT_TEST(test_a_connection_that_is_not_to_be_kept),
        CLIENT_TEST(test_the_next_request_is_sent_from_within_the_last_ones_end),
        CLIENT_TEST(test_users_at_once_have_connections_of_their_own),
        CLIENT_TEST(test_a_connection_closed_while_idle_is_not_used),
        CLIENT_TEST(test_bytes_on_an_idle_connection),
        CLIENT_TEST(test_idle_connections_make_room_for_others),
        CLIENT_TEST(test_an_end_without_a_call),
        CLIENT_TEST(test_origins_are_forgotten_but_pinned_ones),
        CLIENT_TEST(test_a_dead_server_is_backed_off_from),
        CLIENT_TEST(test_a_get_is_sent_once_more),
        CLIENT_TEST(test_a_post_is_not),
        CLIENT_TEST(test_nor_what_has_begun_to_be_answered),
        CLIENT_TEST(test_nor_what_fails_on_a_new_connection),
        CLIENT_TEST(test_a_post_of_which_nothing_was_written_is),
        CLIENT_TEST(test_no_byte_in_time),
        CLIENT_TEST(test_a_response_that_is_not_whole_in_time),
        CLIENT_TEST(test_a_request_that_is_not_read_in_time),
        CLIENT_TEST(test_no_connection_in_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
