/* links: net base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/tcp.h"

#define SCRATCH 65536
#define MEGABYTE (1u << 20)

static struct loop *loop;
static struct tcp tcp;
static int listener, peer; /* the other side */
static struct sockaddr_in address;
static char scratch[SCRATCH];
static unsigned wakes;

static void count_and_stop(struct stream *stream, unsigned events)
{
    assert_ptr_equal(stream, &tcp.stream);
    assert_int_not_equal(events, 0);
    wakes++;
    loop_stop(loop);
}

static void too_late(struct timer *timer, uint64_t now_ns)
{
    (void)timer;
    (void)now_ns;
    fail_msg("nothing happens");
}

static void wait_ready(void)
{
    struct timer guard = {.fire = too_late};

    timer_start(loop_timers(loop, 30 * NS_PER_S), &guard, clock_ns());
    loop_run(loop);
    timer_stop(&guard);
}

static enum io begin(void)
{
    struct tcp_ends ends = {.address = (const struct sockaddr *)&address,
                            .length = sizeof(address)};

    return tcp_connect(&tcp, loop, &ends, count_and_stop);
}

static int make(void **state)
{
    socklen_t size = sizeof(address);

    (void)state;
    wakes = 0;
    peer = -1;
    loop = loop_new();
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address = (struct sockaddr_in){.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return loop && bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0 &&
                   getsockname(listener, (struct sockaddr *)&address, &size) == 0 &&
                   listen(listener, 5) == 0
               ? 0
               : -1;
}

static int make_connected(void **state)
{
    if (make(state) != 0 || begin() != IO_AGAIN)
        return -1;
    wait_ready();
    peer = accept(listener, NULL, NULL);
    wakes = 0;
    return peer >= 0 && tcp.stream.ops->connect(&tcp.stream) == IO_OK ? 0 : -1;
}

static int unmake(void **state)
{
    (void)state;
    tcp.stream.ops->close(&tcp.stream);
    tcp.stream.ops->close(&tcp.stream); /* the second time is nothing */
    if (peer >= 0)
        close(peer);
    close(listener);
    return loop_free(loop) ? 0 : -1;
}

static void peer_writes(const char *bytes, size_t n)
{
    while (n) {
        ssize_t put = send(peer, bytes, n, MSG_NOSIGNAL);

        assert_true(put > 0);
        bytes += put;
        n -= (size_t)put;
    }
}

static void reset_by_peer(void)
{
    struct linger linger = {1, 0};

    setsockopt(peer, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    close(peer);
    peer = -1;
}

static enum io read_some(size_t max, size_t *got)
{
    return tcp.stream.ops->read(&tcp.stream, scratch, max, got);
}

static void expect_byte(char c)
{
    size_t got = 0;

    wait_ready();
    assert_int_equal(read_some(SCRATCH, &got), IO_OK);
    assert_int_equal(got, 1);
    assert_int_equal(scratch[0], c);
}

/* --- connecting --- */

static void test_a_connection_is_made(void **state)
{
    (void)state;
    assert_int_equal(begin(), IO_AGAIN);
    wait_ready();
    assert_int_equal(tcp.stream.ops->connect(&tcp.stream), IO_OK);
    peer = accept(listener, NULL, NULL);
    assert_true(peer >= 0);
    peer_writes("x", 1);
    expect_byte('x');
}

static void test_a_port_where_nobody_listens(void **state)
{
    (void)state;
    close(listener);
    listener = -1;
    enum io io = begin();
    if (io == IO_AGAIN) {
        wait_ready();
        io = tcp.stream.ops->connect(&tcp.stream);
    }
    assert_int_equal(io, IO_FAILED);
    assert_int_equal(tcp.stream.failure.outcome, OUTCOME_CONNECT_REFUSED);
    assert_int_equal(tcp.stream.failure.error, ECONNREFUSED);
}

static void test_a_reset_before_anybody_looked(void **state)
{
    (void)state;
    assert_int_equal(begin(), IO_AGAIN);
    peer = accept(listener, NULL, NULL);
    assert_true(peer >= 0);
    reset_by_peer();
    wait_ready();
    assert_int_equal(tcp.stream.ops->connect(&tcp.stream), IO_FAILED);
    assert_int_equal(tcp.stream.failure.outcome, OUTCOME_RESET);
    assert_int_equal(tcp.stream.failure.error, ECONNRESET);
}

static void test_an_address_that_cannot_be_reached(void **state)
{
    (void)state;
    address.sin_addr.s_addr = INADDR_BROADCAST;
    assert_int_equal(begin(), IO_FAILED);
    assert_int_equal(tcp.stream.failure.outcome, OUTCOME_CONNECT_UNREACHABLE);
    assert_int_not_equal(tcp.stream.failure.error, 0);
}

static void test_no_descriptors_are_left(void **state)
{
    struct rlimit before, none;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){0, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    enum io io = begin();
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(io, IO_FAILED);
    assert_int_equal(tcp.stream.failure.outcome, OUTCOME_CONNECT_FD_LIMIT);
    assert_non_null(tcp.stream.failure.text);
}

/* --- reading --- */

static void test_what_comes_is_read_to_its_end(void **state)
{
    size_t got = 0;

    (void)state;
    assert_int_equal(read_some(SCRATCH, &got), IO_AGAIN);
    peer_writes("hello", 5);
    shutdown(peer, SHUT_WR);
    wait_ready();
    assert_int_equal(read_some(3, &got), IO_OK);
    assert_int_equal(got, 3);
    wait_ready();
    assert_int_equal(read_some(SCRATCH, &got), IO_OK);
    assert_memory_equal(scratch, "lo", 2);
    wait_ready();
    assert_int_equal(read_some(SCRATCH, &got), IO_END);
}

static void test_a_reset_is_a_failure(void **state)
{
    size_t got = 0;

    (void)state;
    reset_by_peer();
    wait_ready();
    assert_int_equal(read_some(SCRATCH, &got), IO_FAILED);
    assert_int_equal(tcp.stream.failure.outcome, OUTCOME_RESET);
    assert_int_equal(tcp.stream.failure.error, ECONNRESET);
}

/* --- writing --- */

static void *drain(void *ctx)
{
    static char bytes[100000];
    size_t *total = ctx;
    ssize_t n;

    while ((n = recv(peer, bytes, sizeof(bytes), 0)) > 0)
        *total += (size_t)n;
    return NULL;
}

static void test_more_is_written_than_fits(void **state)
{
    size_t size = 16 * MEGABYTE, written = 0, put, drained = 0;
    char *bytes = xcalloc(1, size);
    pthread_t thread;
    enum io io;

    (void)state;
    do { /* nobody reads: it must fill up */
        struct str parts[2] = {{bytes, 100}, {bytes, size}};
        io = tcp.stream.ops->write(&tcp.stream, parts, 2, &put);
        written += io == IO_OK ? put : 0;
    } while (io == IO_OK);
    assert_int_equal(io, IO_AGAIN);
    tcp.stream.ops->want_write(&tcp.stream, true);
    assert_int_equal(pthread_create(&thread, NULL, drain, &drained), 0);
    wait_ready();
    for (size_t more = size; more;) {
        struct str part = {bytes, more};
        io = tcp.stream.ops->write(&tcp.stream, &part, 1, &put);
        if (io == IO_AGAIN) {
            wait_ready();
            continue;
        }
        assert_int_equal(io, IO_OK);
        more -= put;
        written += put;
    }
    tcp.stream.ops->want_write(&tcp.stream, false);
    shutdown(tcp.watcher.fd, SHUT_WR);
    pthread_join(thread, NULL);
    assert_int_equal(drained, written);
    free(bytes);
}

static void test_writing_to_who_is_gone_is_a_failure_and_no_signal(void **state)
{
    struct str part = STR("hello");
    size_t put;
    enum io io = IO_OK;

    (void)state;
    reset_by_peer();
    wait_ready();
    for (int i = 0; i < 3 && io == IO_OK; i++)
        io = tcp.stream.ops->write(&tcp.stream, &part, 1, &put);
    assert_int_equal(io, IO_FAILED);
    assert_int_equal(tcp.stream.failure.outcome, OUTCOME_RESET);
}

static void stop_loop(void *ctx)
{
    loop_stop(ctx);
}

static void test_after_a_close_nothing_is_called(void **state)
{
    struct timer timer = {.fire = too_late};

    (void)state;
    peer_writes("x", 1);
    wait_ready();
    tcp.stream.ops->close(&tcp.stream);
    loop_wake(loop);
    loop_on_wake(loop, stop_loop, loop);
    timer_start(loop_timers(loop, 30 * NS_PER_S), &timer, clock_ns());
    loop_run(loop);
    timer_stop(&timer);
    assert_int_equal(wakes, 1);
}

/* --- discarding --- */

static struct plan_of_writes {
    size_t total, piece;
    bool then_byte, then_fin, then_reset;
} writes;

static void *write_in_pieces(void *ctx)
{
    static const char zeros[MEGABYTE];

    (void)ctx;
    for (size_t left = writes.total; left;) {
        size_t n = left < writes.piece ? left : writes.piece;

        peer_writes(zeros, n);
        left -= n;
    }
    if (writes.then_byte)
        peer_writes("x", 1);
    if (writes.then_fin)
        shutdown(peer, SHUT_WR);
    if (writes.then_reset)
        reset_by_peer();
    return NULL;
}

/* Throws away at most max bytes of what the other side writes; the last result. */
static enum io discard(uint64_t max, uint64_t *discarded)
{
    pthread_t thread;
    enum io io = IO_OK;

    *discarded = 0;
    assert_int_equal(pthread_create(&thread, NULL, write_in_pieces, NULL), 0);
    while (*discarded < max && (io == IO_OK || io == IO_AGAIN)) {
        uint64_t got = 0;

        wait_ready();
        io = tcp.stream.ops->discard(&tcp.stream, max == UINT64_MAX ? max : max - *discarded,
                                     scratch, SCRATCH, &got);
        *discarded += io == IO_OK ? got : 0;
    }
    pthread_join(thread, NULL);
    return io;
}

static int lowat(void)
{
    int value = 0;
    socklen_t size = sizeof(value);

    assert_int_equal(getsockopt(tcp.watcher.fd, SOL_SOCKET, SO_RCVLOWAT, &value, &size), 0);
    return value;
}

static void test_a_body_is_thrown_away_and_no_more(void **state)
{
    static const size_t totals[] = {1, TCP_DISCARD_MIN - 1, TCP_DISCARD_MIN, 3 * MEGABYTE + 17,
                                    20 * MEGABYTE};
    uint64_t discarded;

    (void)state;
    for (size_t i = 0; i < sizeof(totals) / sizeof(*totals); i++) {
        writes = (struct plan_of_writes){.total = totals[i], .piece = MEGABYTE, .then_byte = true};
        assert_int_equal(discard(totals[i], &discarded), IO_OK);
        assert_int_equal(discarded, totals[i]);
        assert_int_equal(lowat(), 1); /* what comes next is seen at its first byte */
        expect_byte('x');
    }
}

static void test_few_wakes_for_much(void **state)
{
    uint64_t discarded;

    (void)state;
    writes = (struct plan_of_writes){.total = 64 * MEGABYTE, .piece = 16384};
    assert_int_equal(discard(64 * MEGABYTE, &discarded), IO_OK);
    assert_int_equal(discarded, 64 * MEGABYTE);
    assert_true(wakes < 64 * MEGABYTE / 16384 / 2);
}

static void test_a_body_in_drips(void **state)
{
    uint64_t discarded;

    (void)state;
    writes = (struct plan_of_writes){.total = 300000, .piece = 100, .then_byte = true};
    assert_int_equal(discard(300000, &discarded), IO_OK);
    assert_int_equal(discarded, 300000);
    expect_byte('x');
}

static void test_a_body_cut_short(void **state)
{
    uint64_t discarded;

    (void)state;
    writes = (struct plan_of_writes){.total = 2 * MEGABYTE + 5, .piece = 65536, .then_fin = true};
    assert_int_equal(discard(10 * MEGABYTE, &discarded), IO_END);
    assert_int_equal(discarded, 2 * MEGABYTE + 5);
}

static void test_a_body_cut_short_by_a_reset(void **state)
{
    uint64_t discarded;

    (void)state;
    writes = (struct plan_of_writes){.total = MEGABYTE, .piece = 65536, .then_reset = true};
    assert_int_equal(discard(10 * MEGABYTE, &discarded), IO_FAILED);
    assert_int_equal(tcp.stream.failure.outcome, OUTCOME_RESET);
    assert_true(discarded <= MEGABYTE);
}

static void test_a_body_until_the_end(void **state)
{
    uint64_t discarded;

    (void)state;
    writes = (struct plan_of_writes){.total = 2 * MEGABYTE, .piece = 65536, .then_fin = true};
    assert_int_equal(discard(UINT64_MAX, &discarded), IO_END);
    assert_int_equal(discarded, 2 * MEGABYTE);
    assert_int_equal(lowat(), 1); /* nobody knows what is to come: each byte wakes */
}

static int lowat_after_a_discard(struct tcp *one)
{
    uint64_t got = 0;
    int value = 0;
    socklen_t size = sizeof(value);

    assert_int_equal(one->stream.ops->discard(&one->stream, 100 * MEGABYTE, scratch, SCRATCH, &got),
                     IO_AGAIN);
    assert_int_equal(getsockopt(one->watcher.fd, SOL_SOCKET, SO_RCVLOWAT, &value, &size), 0);
    return value;
}

static void test_many_bodies_share_what_the_kernel_may_hold(void **state)
{
    enum { MANY = 200 };
    static struct tcp many[MANY];
    int peers[MANY];
    struct tcp_ends ends = {.address = (const struct sockaddr *)&address,
                            .length = sizeof(address)};

    (void)state;
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(tcp_connect(&many[i], loop, &ends, count_and_stop), IO_AGAIN);
        peers[i] = accept(listener, NULL, NULL);
        assert_true(peers[i] >= 0);
        assert_int_equal(many[i].stream.ops->connect(&many[i].stream), IO_OK);
        assert_int_equal(lowat_after_a_discard(&many[i]),
                         i < 64 ? MEGABYTE : 64 * MEGABYTE / (unsigned)(i + 1));
    }
    assert_int_equal(lowat_after_a_discard(&many[0]), 64 * MEGABYTE / MANY);
    for (int i = 0; i < MANY; i++) {
        many[i].stream.ops->close(&many[i].stream);
        close(peers[i]);
    }
    assert_int_equal(lowat_after_a_discard(&tcp), MEGABYTE);
}

int main(void)
{
#define TCP_TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)
#define CONNECTED_TEST(name) cmocka_unit_test_setup_teardown(name, make_connected, unmake)
    const struct CMUnitTest tests[] = {
        TCP_TEST(test_a_connection_is_made),
        TCP_TEST(test_a_port_where_nobody_listens),
        TCP_TEST(test_a_reset_before_anybody_looked),
        TCP_TEST(test_an_address_that_cannot_be_reached),
        TCP_TEST(test_no_descriptors_are_left),
        CONNECTED_TEST(test_what_comes_is_read_to_its_end),
        CONNECTED_TEST(test_a_reset_is_a_failure),
        CONNECTED_TEST(test_more_is_written_than_fits),
        CONNECTED_TEST(test_writing_to_who_is_gone_is_a_failure_and_no_signal),
        CONNECTED_TEST(test_after_a_close_nothing_is_called),
        CONNECTED_TEST(test_a_body_is_thrown_away_and_no_more),
        CONNECTED_TEST(test_few_wakes_for_much),
        CONNECTED_TEST(test_many_bodies_share_what_the_kernel_may_hold),
        CONNECTED_TEST(test_a_body_in_drips),
        CONNECTED_TEST(test_a_body_cut_short),
        CONNECTED_TEST(test_a_body_cut_short_by_a_reset),
        CONNECTED_TEST(test_a_body_until_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
