/* links: http base */
/*
 * HTTP/2 through the client, against nghttp2's own server on the same loop. What servers do wrong
 * is in tests/e2e/test_faults_http2.py; here is what depends on who calls whom, and when.
 */
#include "client_fixture.h"
#include "http/conn.h"
#include "http/h2.h"

#include <nghttp2/nghttp2.h>

/* http/h2.c's session, as far as this test looks into it. */
struct h2_opened {
    struct session session;
    nghttp2_session *ng;
};

enum { MANY = 40 };

static struct peer {
    struct watcher watcher;
    nghttp2_session *ng;
    bool open;
} peers[8];
static unsigned n_peers, n_asked; /* connections, requests */
static uint32_t limit;            /* of streams */
static bool answers;

static ssize_t peer_send(nghttp2_session *ng, const uint8_t *bytes, size_t n, int flags, void *ctx)
{
    struct peer *peer = ctx;
    ssize_t put = send(peer->watcher.fd, bytes, n, MSG_NOSIGNAL);

    (void)ng;
    (void)flags;
    return put < 0 ? NGHTTP2_ERR_CALLBACK_FAILURE : put;
}

static void answer(struct peer *peer, int32_t stream)
{
    char status[] = ":status", two_hundred[] = "200";
    nghttp2_nv nv = {(uint8_t *)status, (uint8_t *)two_hundred, 7, 3, NGHTTP2_NV_FLAG_NONE};

    assert_int_equal(nghttp2_submit_response(peer->ng, stream, &nv, 1, NULL), 0);
}

static int peer_frame(nghttp2_session *ng, const nghttp2_frame *frame, void *ctx)
{
    (void)ng;
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM &&
        (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA)) {
        n_asked++;
        if (answers)
            answer(ctx, frame->hd.stream_id);
    }
    return 0;
}

static void peer_end(struct peer *peer)
{
    if (!peer->open)
        return;
    peer->open = false;
    loop_unwatch(loop, &peer->watcher);
    close(peer->watcher.fd);
    nghttp2_session_del(peer->ng);
}

static void peer_ready(struct watcher *watcher, unsigned events)
{
    struct peer *peer = OF(struct peer, watcher, watcher);
    static uint8_t bytes[100000];
    ssize_t n = recv(watcher->fd, bytes, sizeof(bytes), 0);

    (void)events;
    if (n <= 0 || nghttp2_session_mem_recv(peer->ng, bytes, (size_t)n) < 0 ||
        nghttp2_session_send(peer->ng) != 0)
        peer_end(peer);
}

static void peer_accept(struct watcher *watcher, unsigned events)
{
    struct peer *peer = &peers[n_peers];
    nghttp2_settings_entry entry = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limit};
    nghttp2_session_callbacks *callbacks;
    int fd = accept4(watcher->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)events;
    assert_true(fd >= 0 && n_peers++ < COUNT(peers));
    *peer = (struct peer){.watcher = {.ready = peer_ready}, .open = true};
    assert_int_equal(nghttp2_session_callbacks_new(&callbacks), 0);
    nghttp2_session_callbacks_set_send_callback(callbacks, peer_send);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, peer_frame);
    assert_int_equal(nghttp2_session_server_new(&peer->ng, callbacks, peer), 0);
    nghttp2_session_callbacks_del(callbacks);
    assert_true(loop_watch(loop, &peer->watcher, fd, LOOP_READ));
    nghttp2_submit_settings(peer->ng, NGHTTP2_FLAG_NONE, &entry, 1);
    assert_int_equal(nghttp2_session_send(peer->ng), 0);
}

static int make_h2(void **state)
{
    struct client_options options = {
        .timeout_ns = 30 * NS_PER_S, .max_body = 1 << 20, .http = HTTP_2_PRIOR, .connections = 1};

    n_peers = n_asked = 0;
    limit = 100;
    answers = true;
    if (make(state) != 0)
        return -1;
    listener.ready = peer_accept;
    client_close(client);
    client_free(client);
    client = client_new(loop, &blocks, &options);
    return client ? 0 : -1;
}

static int unmake_h2(void **state)
{
    for (unsigned i = 0; i < n_peers; i++)
        peer_end(&peers[i]);
    return unmake(state);
}

static struct conn *only_conn(void)
{
    const struct origin *origin = client_origin(client, false, STR("127.0.0.1"), port, false);

    assert_int_equal(origin->n_shared, 1);
    return origin->shared[0];
}

static void one_connection_for_all(void **state)
{
    static struct request requests[MANY];

    (void)state;
    for (unsigned i = 0; i < MANY; i++) {
        prepare(&requests[i], "GET", "/");
        send_it(&requests[i]);
    }
    run_until_ended(MANY);
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(requests[i].exchange.failure.outcome, OUTCOME_RESPONSE);
        assert_int_equal(requests[i].exchange.status, 200);
        finish(&requests[i]);
    }
    assert_int_equal(n_peers, 1);
    assert_int_equal(n_asked, MANY);
}

static void numbers_run_out(void **state)
{
    struct conn *conn;
    struct h2_opened *h2;

    (void)state; /* fault: F-18 */
    expect_status("GET", "/", 200);
    conn = only_conn();
    h2 = (struct h2_opened *)conn->session;
    assert_int_equal(nghttp2_session_set_next_stream_id(h2->ng, INT32_MAX), 0);
    assert_int_not_equal(conn->session->ops->capacity(conn->session), 0);
    expect_status("GET", "/", 200); /* the last one */
    expect_status("GET", "/", 200);
    expect_status("GET", "/", 200);
    assert_int_equal(n_peers, 2);
    assert_int_equal(n_asked, 4);
    only_conn();
}

static void too_many_fields(void **state)
{
    struct request request;
    char fields[1600] = "";

    (void)state;
    for (unsigned i = 0; i < 300; i++)
        strcat(fields, "a:b\r\n");
    prepare_at(&request, "127.0.0.1", "GET", "/", fields, (struct str){0});
    send_and_wait(&request);
    assert_int_equal(request.exchange.failure.outcome, OUTCOME_LOCAL);
    finish(&request);
    expect_status("GET", "/", 200);
    assert_int_equal(n_asked, 1);
    assert_int_equal(n_peers, 1);
}

static struct request again[3];

static void send_again(struct exchange *exchange)
{
    struct request *request = OF(struct request, exchange, exchange);

    assert_int_equal(exchange->failure.outcome, OUTCOME_LOCAL);
    if (++request->ends < 3)
        client_send(client, exchange, clock_ns());
    else if (--to_end == 0)
        loop_stop(loop);
}

/* Those that cannot be submitted end although they come again from within `done`; one of them is
 * given up by another's. */
static void too_many_fields_again(void **state)
{
    char fields[1600] = "";

    (void)state;
    expect_status("GET", "/", 200);
    for (unsigned i = 0; i < 300; i++)
        strcat(fields, "a:b\r\n");
    for (unsigned i = 0; i < COUNT(again); i++) {
        prepare_at(&again[i], "127.0.0.1", "GET", "/", fields, (struct str){0});
        again[i].exchange.done = send_again;
        send_it(&again[i]);
    }
    client_abort(&again[1].exchange);
    run_until_ended(2);
    for (unsigned i = 0; i < COUNT(again); i++) {
        assert_int_equal(again[i].ends, i == 1 ? 0 : 3);
        finish(&again[i]);
    }
}

/* Streams that are given up do no harm, whether their frames have gone out or not. */
static void given_up(void **state)
{
    static struct request requests[MANY];

    (void)state;
    expect_status("GET", "/", 200);
    answers = false;
    for (unsigned i = 0; i < MANY; i++) {
        prepare(&requests[i], i % 2 ? "GET" : "POST", "/");
        send_it(&requests[i]);
        if (i == MANY / 2)
            turn();
    }
    for (unsigned i = 0; i < MANY; i++) {
        client_abort(&requests[i].exchange);
        finish(&requests[i]);
    }
    turn();
    answers = true;
    expect_status("GET", "/", 200);
    assert_int_equal(n_peers, 1);
}

/* With all requests given up, the connection that is being opened goes with the client. */
static void given_up_while_opening(void **state)
{
    struct request request;

    (void)state;
    prepare(&request, "GET", "/");
    send_it(&request);
    client_abort(&request.exchange);
    finish(&request);
}

static void goaway_while_idle(void **state)
{
    (void)state;
    expect_status("GET", "/", 200);
    nghttp2_submit_goaway(peers[0].ng, NGHTTP2_FLAG_NONE, 1, NGHTTP2_NO_ERROR, NULL, 0);
    assert_int_equal(nghttp2_session_send(peers[0].ng), 0);
    for (unsigned i = 0; i < 500 && peers[0].open; i++)
        turn();
    assert_false(peers[0].open); /* the client has ended it */
    expect_status("GET", "/", 200);
    assert_int_equal(n_peers, 2);
}

static void no_room_for_anybody(void **state)
{
    struct request requests[3];

    (void)state; /* fault: F-13 */
    limit = 0;
    for (unsigned i = 0; i < 3; i++) {
        prepare(&requests[i], "GET", "/");
        send_it(&requests[i]);
        turn();
    }
    assert_int_equal(n_peers, 1);
    nghttp2_settings_entry entry = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1};
    nghttp2_submit_settings(peers[0].ng, NGHTTP2_FLAG_NONE, &entry, 1);
    limit = 2;
    assert_int_equal(nghttp2_session_send(peers[0].ng), 0);
    run_until_ended(3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(requests[i].exchange.status, 200);
        finish(&requests[i]);
    }
}

#define H2_TEST(name) cmocka_unit_test_setup_teardown(name, make_h2, unmake_h2)

int main(void)
{
    const struct CMUnitTest tests[] = {
        H2_TEST(one_connection_for_all),
        H2_TEST(numbers_run_out),
        H2_TEST(too_many_fields),
        H2_TEST(too_many_fields_again),
        H2_TEST(given_up),
        H2_TEST(given_up_while_opening),
        H2_TEST(goaway_while_idle),
        H2_TEST(no_room_for_anybody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
