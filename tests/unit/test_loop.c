/* links: net base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "net/loop.h"

#define OF(type, member, pointer) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

static struct loop *loop;
static char order[256];

static void note(char c)
{
    size_t n = strlen(order);

    assert_true(n + 1 < sizeof(order));
    order[n] = c;
    order[n + 1] = '\0';
}

static int make(void **state)
{
    (void)state;
    order[0] = '\0';
    loop = loop_new();
    return loop ? 0 : -1;
}

static int unmake(void **state)
{
    (void)state;
    return loop_free(loop) ? 0 : -1;
}

/* --- timers --- */

struct alarm {
    struct timer timer;
    char name; /* 'z' ends the loop */
    struct alarm *other;
};

static void ring(struct timer *timer, uint64_t now_ns)
{
    struct alarm *alarm = OF(struct alarm, timer, timer);

    assert_true(now_ns >= timer->due_ns);
    assert_false(timer_running(timer));
    note(alarm->name);
    if (alarm->name == 'z')
        loop_stop(loop);
}

static struct alarm alarm_of(char name)
{
    return (struct alarm){.timer = {.fire = ring}, .name = name};
}

static void test_timers_fire_when_they_are_due(void **state)
{
    struct alarm a = alarm_of('a'), b = alarm_of('b'), c = alarm_of('c'), z = alarm_of('z');
    uint64_t now = clock_ns();

    (void)state;
    timer_start(loop_timers(loop, 30 * NS_PER_MS), &z.timer, now);
    timer_start(loop_timers(loop, 20 * NS_PER_MS), &c.timer, now);
    timer_start(loop_timers(loop, 1), &a.timer, now);
    timer_start(loop_timers(loop, 10 * NS_PER_MS), &b.timer, now);
    assert_true(timer_running(&b.timer));
    loop_run(loop);
    assert_string_equal(order, "abcz");
}

static void test_equal_delays_are_first_in_first_out(void **state)
{
    struct alarm a = alarm_of('a'), b = alarm_of('b'), z = alarm_of('z');
    struct timer_queue *queue = loop_timers(loop, NS_PER_MS);
    uint64_t now = clock_ns();

    (void)state;
    assert_ptr_equal(loop_timers(loop, NS_PER_MS), queue);
    timer_start(queue, &b.timer, now);
    timer_start(queue, &a.timer, now);
    timer_start(queue, &z.timer, now);
    loop_run(loop);
    assert_string_equal(order, "baz");
}

static void test_a_timer_that_runs_can_be_stopped_and_restarted(void **state)
{
    struct alarm a = alarm_of('a'), b = alarm_of('b'), z = alarm_of('z');
    struct timer_queue *queue = loop_timers(loop, NS_PER_MS);
    uint64_t now = clock_ns();

    (void)state;
    timer_start(queue, &a.timer, now);
    timer_start(queue, &b.timer, now);
    timer_start(queue, &z.timer, now + 1);
    timer_stop(&b.timer);
    timer_stop(&b.timer);
    assert_false(timer_running(&b.timer));
    timer_start(loop_timers(loop, 2), &a.timer, now); /* moves to another queue */
    loop_run(loop);
    assert_string_equal(order, "az");
}

static void test_moments_are_sorted_in(void **state)
{
    struct alarm alarms[] = {alarm_of('z'), alarm_of('b'), alarm_of('a'), alarm_of('c')};
    static const uint64_t due[] = {4, 2, 1, 3};
    uint64_t now = clock_ns();

    (void)state;
    for (size_t i = 0; i < 4; i++)
        timer_start_at(loop, &alarms[i].timer, now + due[i]);
    loop_run(loop);
    assert_string_equal(order, "abcz");
}

#define MANY 2000

static struct alarm many[MANY];
static uint64_t last_due_ns;
static unsigned rung;

static void ring_in_order(struct timer *timer, uint64_t now_ns)
{
    assert_true(timer->due_ns >= last_due_ns && timer->due_ns <= now_ns);
    last_due_ns = timer->due_ns;
    rung++;
}

/* Started, stopped and restarted at random: those that are left fire in the order of their time. */
static void test_many_moments(void **state)
{
    struct alarm z = alarm_of('z');
    uint64_t now = clock_ns();
    unsigned left = 0;
    struct rng rng;

    (void)state;
    rng_seed(&rng, 1);
    last_due_ns = rung = 0;
    for (unsigned i = 0; i < 5 * MANY; i++) {
        struct timer *timer = &many[rng_below(&rng, MANY)].timer;

        timer->fire = ring_in_order;
        if (rng_below(&rng, 3) == 0)
            timer_stop(timer);
        else
            timer_start_at(loop, timer, now + 1 + rng_below(&rng, MANY));
    }
    for (unsigned i = 0; i < MANY; i++)
        left += timer_running(&many[i].timer);
    timer_start_at(loop, &z.timer, now + MANY + 1);
    loop_run(loop);
    assert_true(left > MANY / 3);
    assert_int_equal(rung, left);
}

static void stop_other(struct timer *timer, uint64_t now_ns)
{
    ring(timer, now_ns);
    timer_stop(&OF(struct alarm, timer, timer)->other->timer);
}

static void start_other(struct timer *timer, uint64_t now_ns)
{
    struct alarm *other = OF(struct alarm, timer, timer)->other;

    ring(timer, now_ns);
    timer_start(loop_timers(loop, 777), &other->timer, now_ns); /* a queue that is new */
}

static void test_timers_act_on_timers_while_they_fire(void **state)
{
    struct alarm a = alarm_of('a'), b = alarm_of('b'), c = alarm_of('c'), z = alarm_of('z');
    struct timer_queue *queue = loop_timers(loop, 1);
    uint64_t now = clock_ns();

    (void)state;
    a.timer.fire = stop_other;
    a.other = &b;
    c.timer.fire = start_other;
    c.other = &z;
    timer_start(queue, &a.timer, now);
    timer_start(queue, &b.timer, now);
    timer_start(queue, &c.timer, now);
    loop_run(loop);
    assert_string_equal(order, "acz");
}

/* --- tasks --- */

struct job {
    struct task task;
    char name;
    unsigned again;
};

static void work(struct task *task)
{
    struct job *job = OF(struct job, task, task);

    note(job->name);
    if (job->again) {
        job->again--;
        loop_defer(loop, task);
    } else if (job->name == 'z') {
        loop_stop(loop);
    }
}

static void test_tasks_run_once_and_in_order(void **state)
{
    struct job a = {{.run = work}, 'a', 2}, b = {{.run = work}, 'b', 0};
    struct job z = {{.run = work}, 'z', 3};

    (void)state;
    loop_defer(loop, &a.task);
    loop_defer(loop, &b.task);
    loop_defer(loop, &a.task); /* is queued already */
    loop_defer(loop, &z.task);
    loop_run(loop);
    assert_string_equal(order, "abzazazz");
}

#define CROWD 1000

static struct job crowd[CROWD];
static unsigned crowd_done;

static void work_in_crowd(struct task *task)
{
    assert_ptr_equal(task, &crowd[crowd_done].task); /* in order */
    if (++crowd_done == CROWD)
        loop_stop(loop);
}

static void see_crowd(struct timer *timer, uint64_t now_ns)
{
    (void)timer;
    (void)now_ns;
    assert_true(crowd_done < CROWD);
    note('t');
}

static void test_many_tasks_let_timers_fire(void **state)
{
    struct timer timer = {.fire = see_crowd};

    (void)state;
    crowd_done = 0;
    for (size_t i = 0; i < CROWD; i++) {
        crowd[i] = (struct job){.task = {.run = work_in_crowd}};
        loop_defer(loop, &crowd[i].task);
    }
    timer_start(loop_timers(loop, 1), &timer, clock_ns());
    loop_run(loop);
    assert_int_equal(crowd_done, CROWD);
    assert_string_equal(order, "t");
}

static void test_what_is_left_runs_at_the_end(void **state)
{
    struct job z = {{.run = work}, 'z', 0}, more[100];

    (void)state;
    loop_defer(loop, &z.task);
    for (size_t i = 0; i < 100; i++) {
        more[i] = (struct job){{.run = work}, 'm', 0};
        loop_defer(loop, &more[i].task);
    }
    loop_run(loop);
    assert_int_equal(strlen(order), 101);
    loop_defer(loop, &more[0].task);
    assert_true(loop_free(loop));
    assert_int_equal(strlen(order), 102);
    loop = loop_new();
    assert_non_null(loop);
}

/* --- watchers --- */

struct pipe_end {
    struct watcher watcher;
    int fds[2];
    struct pipe_end *other;
    unsigned calls, events;
};

static void open_pipe(struct pipe_end *end, void (*ready)(struct watcher *, unsigned))
{
    *end = (struct pipe_end){.watcher = {.ready = ready}};
    assert_int_equal(pipe(end->fds), 0);
}

static void close_pipe(struct pipe_end *end)
{
    close(end->fds[0]);
    close(end->fds[1]);
}

static void on_third_call_stop(struct watcher *watcher, unsigned events)
{
    struct pipe_end *end = OF(struct pipe_end, watcher, watcher);

    end->events = events;
    if (++end->calls == 3)
        loop_stop(loop);
}

static void test_readiness_is_told_until_it_is_dealt_with(void **state)
{
    struct pipe_end end;

    (void)state;
    open_pipe(&end, on_third_call_stop);
    assert_int_equal(write(end.fds[1], "x", 1), 1);
    assert_true(loop_watch(loop, &end.watcher, end.fds[0], LOOP_READ));
    loop_run(loop);
    assert_int_equal(end.calls, 3);
    assert_int_equal(end.events, LOOP_READ);
    loop_unwatch(loop, &end.watcher);
    loop_unwatch(loop, &end.watcher);
    close_pipe(&end);
}

static void test_a_broken_pipe_is_an_error_in_all_directions(void **state)
{
    struct pipe_end end;

    (void)state;
    open_pipe(&end, on_third_call_stop);
    assert_true(loop_watch(loop, &end.watcher, end.fds[1], 0));
    loop_interest(loop, &end.watcher, LOOP_WRITE);
    close(end.fds[0]);
    loop_run(loop);
    assert_int_equal(end.events, LOOP_READ | LOOP_WRITE | LOOP_ERROR);
    loop_unwatch(loop, &end.watcher);
    close(end.fds[1]);
}

static void test_a_descriptor_that_cannot_be_watched(void **state)
{
    struct watcher watcher = {.ready = on_third_call_stop};

    (void)state;
    assert_false(loop_watch(loop, &watcher, -1, LOOP_READ));
    assert_false(watcher.watched);
}

static void unwatch_other(struct watcher *watcher, unsigned events)
{
    struct pipe_end *end = OF(struct pipe_end, watcher, watcher);

    (void)events;
    end->calls++;
    loop_unwatch(loop, &end->other->watcher);
    loop_stop(loop);
}

static void read_and_rest(struct watcher *watcher, unsigned events)
{
    struct pipe_end *end = OF(struct pipe_end, watcher, watcher);
    char c;

    (void)events;
    end->calls++;
    assert_int_equal(read(end->fds[0], &c, 1), 1);
    /* The other was ready too, and is now watched anew for what it is not ready for: its old
     * event must not reach it. */
    loop_unwatch(loop, &end->other->watcher);
    assert_int_equal(read(end->other->fds[0], &c, 1), 1);
    assert_true(loop_watch(loop, &end->other->watcher, end->other->fds[0], LOOP_READ));
}

static void end_loop(struct timer *timer, uint64_t now_ns)
{
    (void)timer;
    (void)now_ns;
    loop_stop(loop);
}

static void test_what_is_unwatched_is_not_called_in_this_turn(void **state)
{
    struct pipe_end a, b;
    struct timer timer = {.fire = end_loop};

    (void)state;
    for (unsigned anew = 0; anew < 2; anew++) {
        open_pipe(&a, anew ? read_and_rest : unwatch_other);
        open_pipe(&b, a.watcher.ready);
        a.other = &b;
        b.other = &a;
        assert_int_equal(write(a.fds[1], "x", 1), 1);
        assert_int_equal(write(b.fds[1], "x", 1), 1);
        assert_true(loop_watch(loop, &a.watcher, a.fds[0], LOOP_READ));
        assert_true(loop_watch(loop, &b.watcher, b.fds[0], LOOP_READ));
        if (anew)
            timer_start(loop_timers(loop, 5 * NS_PER_MS), &timer, clock_ns());
        loop_run(loop);
        assert_int_equal(a.calls + b.calls, 1);
        loop_unwatch(loop, &a.watcher);
        loop_unwatch(loop, &b.watcher);
        close_pipe(&a);
        close_pipe(&b);
    }
}

/* --- waking --- */

static pthread_barrier_t barrier;
static unsigned wakes;

static void *wake_often(void *ctx)
{
    for (unsigned i = 0; i < 1000; i++)
        loop_wake(ctx);
    pthread_barrier_wait(&barrier);
    loop_wake(ctx);
    return NULL;
}

static void woken(void *ctx)
{
    assert_ptr_equal(ctx, &wakes);
    if (wakes++ == 0) {
        pthread_barrier_wait(&barrier); /* at least one wake is still to come */
        return;
    }
    loop_stop(loop);
}

static void test_other_threads_wake_the_loop(void **state)
{
    pthread_t thread;

    (void)state;
    wakes = 0;
    pthread_barrier_init(&barrier, NULL, 2);
    loop_on_wake(loop, woken, &wakes);
    assert_int_equal(pthread_create(&thread, NULL, wake_often, loop), 0);
    loop_run(loop);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&barrier);
    assert_true(wakes >= 2);
}

static void test_nothing_may_be_freed_always(void **state)
{
    (void)state;
    assert_true(loop_free(NULL));
}

int main(void)
{
#define LOOP_TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)
    const struct CMUnitTest tests[] = {
        LOOP_TEST(test_timers_fire_when_they_are_due),
        LOOP_TEST(test_equal_delays_are_first_in_first_out),
        LOOP_TEST(test_a_timer_that_runs_can_be_stopped_and_restarted),
        LOOP_TEST(test_moments_are_sorted_in),
        LOOP_TEST(test_many_moments),
        LOOP_TEST(test_timers_act_on_timers_while_they_fire),
        LOOP_TEST(test_tasks_run_once_and_in_order),
        LOOP_TEST(test_many_tasks_let_timers_fire),
        LOOP_TEST(test_what_is_left_runs_at_the_end),
        LOOP_TEST(test_readiness_is_told_until_it_is_dealt_with),
        LOOP_TEST(test_a_broken_pipe_is_an_error_in_all_directions),
        LOOP_TEST(test_a_descriptor_that_cannot_be_watched),
        LOOP_TEST(test_what_is_unwatched_is_not_called_in_this_turn),
        LOOP_TEST(test_other_threads_wake_the_loop),
        LOOP_TEST(test_nothing_may_be_freed_always),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
