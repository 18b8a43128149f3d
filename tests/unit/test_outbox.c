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
    assert_int_equal(buf.n, 0);
    assert_int_equal(buf.max, 12345);
    buf_fini(&buf);
}

static void expect(enum output expected, const char *text)
{
    enum output output;
    struct str piece;

    assert_true(outbox_take(outbox, &output, &piece));
    assert_int_equal(output, expected);
    assert_true(str_eq(piece, str_of(text)));
}

static void test_pieces_come_in_order(void **state)
{
    enum output output;
    struct str piece;

    (void)state;
    assert_false(readable());
    assert_false(outbox_take(outbox, &output, &piece));
    put(OUTPUT_OUT, "one");
    put(OUTPUT_ERR, "two");
    assert_true(readable());
    expect(OUTPUT_OUT, "one");
    put(OUTPUT_REPORT, "three");
    expect(OUTPUT_ERR, "two");
    expect(OUTPUT_REPORT, "three");
    assert_false(outbox_take(outbox, &output, &piece));
    assert_false(readable());
    put(OUTPUT_OUT, "four");
    expect(OUTPUT_OUT, "four");
}

static void test_a_notice_makes_it_readable(void **state)
{
    enum output output;
    struct str piece;

    (void)state;
    outbox_notify(outbox);
    outbox_notify(outbox);
    assert_true(readable());
    assert_false(outbox_take(outbox, &output, &piece));
    assert_false(readable());
}

static void test_what_nobody_takes_is_freed(void **state)
{
    (void)state;
    put(OUTPUT_OUT, "left behind");
}

/* What has been taken stays until the next call; from then on its memory is used again. */
static void test_memory_comes_back(void **state)
{
    enum output output;
    struct str piece;
    struct buf buf;
    const char *memory;

    (void)state;
    buf_init(&buf, 12345);
    buf_add_str(&buf, STR("first"));
    memory = buf.p;
    outbox_put(outbox, OUTPUT_OUT, &buf);
    assert_null(buf.p);
    assert_true(outbox_take(outbox, &output, &piece) && piece.p == memory);
    buf_add_str(&buf, STR("second"));
    outbox_put(outbox, OUTPUT_OUT, &buf);
    assert_null(buf.p);
    assert_true(str_eq(piece, STR("first")));
    expect(OUTPUT_OUT, "second");
    buf_add_str(&buf, STR("third"));
    outbox_put(outbox, OUTPUT_ERR, &buf);
    assert_ptr_equal(buf.p, memory);
    assert_int_equal(buf.n, 0);
    assert_int_equal(buf.max, 12345);
    expect(OUTPUT_ERR, "third");
    buf_fini(&buf);
}

/* A large one is not kept, nor more than a few. */
static void test_memory_is_given_back(void **state)
{
    enum output output;
    struct str piece;
    struct buf buf;

    (void)state;
    buf_init(&buf, BUF_NO_MAX);
    buf_add_fill(&buf, 'x', 1u << 20);
    outbox_put(outbox, OUTPUT_OUT, &buf);
    assert_true(outbox_take(outbox, &output, &piece) && piece.n == 1u << 20);
    assert_false(outbox_take(outbox, &output, &piece));
    buf_add_char(&buf, 'y');
    outbox_put(outbox, OUTPUT_OUT, &buf);
    assert_null(buf.p);
    expect(OUTPUT_OUT, "y");
    for (unsigned i = 0; i < 100; i++)
        put(OUTPUT_OUT, "many");
    for (unsigned i = 0; i < 100; i++)
        expect(OUTPUT_OUT, "many");
    assert_false(outbox_take(outbox, &output, &piece));
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
    buf_fini(&buf);
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
    struct str piece;

    (void)state;
    start(threads);
    while (total < WRITERS * PIECES) {
        wait_readable();
        while (outbox_take(outbox, &output, &piece)) {
            unsigned who = (unsigned char)piece.p[0];

            assert_true(who < WRITERS);
            assert_int_equal(piece.n, PIECE);
            assert_int_equal((unsigned char)piece.p[1], next[who]++); /* each one's in order */
            total++;
        }
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    assert_false(outbox_take(outbox, &output, &piece));
}

int main(void)
{
#define OUTBOX_TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)
    const struct CMUnitTest tests[] = {
        OUTBOX_TEST(test_pieces_come_in_order),       OUTBOX_TEST(test_a_notice_makes_it_readable),
        OUTBOX_TEST(test_what_nobody_takes_is_freed), OUTBOX_TEST(test_memory_comes_back),
        OUTBOX_TEST(test_memory_is_given_back),       OUTBOX_TEST(test_a_full_queue_is_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
