/* links: run */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "run/intervals.h"

static void they_come_in_order_and_empty_ones_go_back(void **state)
{
    struct intervals *intervals = intervals_new(8);
    struct interval *first = intervals_get(intervals), *second = intervals_get(intervals);

    (void)state;
    assert_null(intervals_take(intervals));
    first->window.started = 5;
    first->last = true;
    intervals_put(intervals, first);
    intervals_put(intervals, second);
    assert_ptr_equal(intervals_take(intervals), first);
    intervals_give_back(intervals, first);
    assert_ptr_equal(intervals_get(intervals), first);
    assert_int_equal(first->window.started, 0);
    assert_false(first->last);
    intervals_put(intervals, first);
    assert_ptr_equal(intervals_take(intervals), second);
    intervals_give_back(intervals, second);
    intervals_free(intervals); /* with one that nobody took */
}

static void *put_many(void *ctx)
{
    for (uint64_t i = 0; i < 100; i++) {
        struct interval *interval = intervals_get(ctx);

        interval->from = i;
        intervals_put(ctx, interval);
    }
    return NULL;
}

/* One that may have two on their way waits until they are taken, and loses none. */
static void a_main_thread_that_is_slow_is_waited_for(void **state)
{
    struct intervals *intervals = intervals_new(2);
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, put_many, intervals), 0);
    for (uint64_t i = 0; i < 100;) {
        struct interval *interval = intervals_take(intervals);

        if (!interval)
            continue;
        assert_int_equal(interval->from, i++);
        intervals_give_back(intervals, interval);
    }
    pthread_join(thread, NULL);
    intervals_free(intervals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_come_in_order_and_empty_ones_go_back),
        cmocka_unit_test(a_main_thread_that_is_slow_is_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
