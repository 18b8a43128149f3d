/* links: run */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "run/outbox.h"

static struct outbox *outbox;

static int make(void **state)
{
    (void)state;
    outbox = outbox_new();
    return outbox ? 0 : -1;
}

static int unmake(void **state)
{
    (void)state;
    outbox_free(outbox);
    return 0;
}

static bool readable(void)
{
    struct pollfd fd = {.fd = outbox_fd(outbox), .events = POLLIN};

    return poll(&fd, 1, 0) == 1;
}

static void put(enum output output, const char *text)
{
    struct buf buf;

    buf_init(&buf, 12345);
    buf_add_str(&buf, str_of(text));
    outbox_put(outbox, output, &buf);
    assert_null(buf.p);
    assert_int_equal(buf.n, 0);
    assert_int_equal(buf.max, 12345);
}

static void expect(enum output expected, const char *text)
{
    enum output output;
    struct buf buf;

    assert_true(outbox_take(outbox, &output, &buf));
    assert_int_equal(output, expected);
    assert_true(str_eq(buf_str(&buf), str_of(text)));
    buf_fini(&buf);
}

static void test_pieces_come_in_order(void **state)
{
    enum output output;
    struct buf buf;

    (void)state;
    assert_false(readable());
    assert_false(outbox_take(outbox, &output, &buf));
    put(OUTPUT_OUT, "one");
    put(OUTPUT_ERR, "two");
    assert_true(readable());
    expect(OUTPUT_OUT, "one");
    put(OUTPUT_REPORT, "three");
    expect(OUTPUT_ERR, "two");
    expect(OUTPUT_REPORT, "three");
    assert_false(outbox_take(outbox, &output, &buf));
    assert_false(readable());
    put(OUTPUT_OUT, "four");
    expect(OUTPUT_OUT, "four");
}

static void test_a_notice_makes_it_readable(void **state)
{
    enum output output;
    struct buf buf;

    (void)state;
    outbox_notify(outbox);
    outbox_notify(outbox);
    assert_true(readable());
    assert_false(outbox_take(outbox, &output, &buf));
    assert_false(readable());
}

static void test_what_nobody_takes_is_freed(void **state)
{
    (void)state;
    put(OUTPUT_OUT, "left behind");
}

/* --- threads --- */

#define WRITERS 4
#define PIECES 200
#define PIECE (100u * 1024)

/* More than fits, so that a writer has to wait. */
static void *write_much(void *ctx)
{
    unsigned char who = (unsigned char)(uintptr_t)ctx;
    struct buf buf;

    buf_init(&buf, BUF_NO_MAX);
    for (unsigned i = 0; i < PIECES; i++) {
        buf_add_char(&buf, (char)who);
        buf_add_char(&buf, (char)i);
        buf_add_fill(&buf, '.', PIECE - 2);
        outbox_put(outbox, OUTPUT_OUT, &buf);
    }
    return NULL;
}

static void start(pthread_t *threads)
{
    for (uintptr_t i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_much, (void *)i), 0);
}

static void wait_readable(void)
{
    struct pollfd fd = {.fd = outbox_fd(outbox), .events = POLLIN};

    assert_int_equal(poll(&fd, 1, 60000), 1);
}

static void test_a_full_queue_is_waited_for(void **state)
{
    pthread_t threads[WRITERS];
    unsigned next[WRITERS] = {0}, total = 0;
    enum output output;
    struct buf buf;

    (void)state;
    start(threads);
    while (total < WRITERS * PIECES) {
        wait_readable();
        while (outbox_take(outbox, &output, &buf)) {
            unsigned who = (unsigned char)buf.p[0];

            assert_true(who < WRITERS);
            assert_int_equal(buf.n, PIECE);
            assert_int_equal((unsigned char)buf.p[1], next[who]++); /* each one's in order */
            total++;
            buf_fini(&buf);
        }
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    assert_false(outbox_take(outbox, &output, &buf));
}

int main(void)
{
#define OUTBOX_TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)
    const struct CMUnitTest tests[] = {
        OUTBOX_TEST(test_pieces_come_in_order),
        OUTBOX_TEST(test_a_notice_makes_it_readable),
        OUTBOX_TEST(test_what_nobody_takes_is_freed),
        OUTBOX_TEST(test_a_full_queue_is_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
