/* links: http net base */
#include "client_fixture.h"

#include "http/conn.h"

#define USERS (CLIENT_SHAKING_MAX + CLIENT_KNOCKING_MAX + 60)

/* Whether and when connections may connect: against a server that accepts nothing, so that only
 * time moves the queue on. */
static struct request users[USERS];
static bool https;
static struct task watch;
static bool (*enough)(const struct origin *origin);

static struct origin *origin_of_all(void)
{
    return users[0].exchange.origin;
}

static void look(struct task *task)
{
    const struct origin *origin = origin_of_all();

    assert_true(origin->knocking <= CLIENT_KNOCKING_MAX);
    assert_true(origin->knocking + origin->coming <= USERS);
    assert_true(origin->shaking <= CLIENT_SHAKING_MAX);
    if (enough(origin))
        loop_stop(loop);
    else
        loop_defer(loop, task);
}

static void send_all_and_look(bool (*until)(const struct origin *origin))
{
    struct timer guard = {.fire = no_end};

    watch = (struct task){.run = look};
    enough = until;
    for (size_t i = 0; i < USERS; i++) {
        prepare(&users[i], "GET", "/");
        if (https)
            users[i].exchange.origin = client_origin(client, true, STR("127.0.0.1"), port, false);
        send_it(&users[i]);
    }
    loop_defer(loop, &watch);
    timer_start(loop_timers(loop, 60 * NS_PER_S), &guard, clock_ns());
    loop_run(loop);
    timer_stop(&guard);
}

static void give_all_up(void)
{
    const struct origin *origin = origin_of_all();

    for (size_t i = 0; i < USERS; i++) {
        client_abort(&users[i].exchange);
        finish(&users[i]);
    }
    assert_int_equal(origin->knocking, 0);
    assert_int_equal(origin->coming, 0);
    assert_null(origin->queue);
    assert_null(origin->queue_end);
    assert_null(origin->held);
    assert_int_equal(origin->shaking, 0);
    assert_int_equal(origin->users, 0);
}

static int listen_only(void **state)
{
    if (make(state) != 0)
        return -1;
    loop_unwatch(loop, &listener);
    return 0;
}

static int close_all(void **state)
{
    close(listener.fd);
    return unmake(state);
}

static bool some_queued(const struct origin *origin)
{
    return origin->knocking == CLIENT_KNOCKING_MAX && origin->queue && origin->queue->next;
}

static bool none_to_come(const struct origin *origin)
{
    return origin->coming == 0;
}

static void test_some_connect_and_the_others_queue(void **state)
{
    struct exchange *waiting;

    (void)state;
    send_all_and_look(some_queued);
    assert_int_equal(origin_of_all()->knocking, CLIENT_KNOCKING_MAX);
    /* Who waits has not begun. */
    waiting = origin_of_all()->queue->exchange;
    assert_false(timer_running(&waiting->deadline));
    assert_int_equal(waiting->waited_ns, 0);
    for (size_t i = 0; i < USERS; i++) {
        const struct exchange *exchange = &users[i].exchange;

        assert_true(exchange->conn->turn != TURN_KNOCKS || exchange->conn->list ||
                    timer_running(&exchange->deadline));
    }
    give_all_up();
}

static void test_each_has_its_turn_in_time(void **state)
{
    (void)state;
    send_all_and_look(none_to_come);
    assert_null(origin_of_all()->queue);
    for (size_t i = 0, waited = 0; i < USERS; i++) {
        assert_true(users[i].exchange.conn->list || timer_running(&users[i].exchange.deadline));
        waited += users[i].exchange.waited_ns > 0;
        assert_true(i + 1 < USERS || waited >= USERS - CLIENT_KNOCKING_MAX);
    }
    give_all_up();
}

static void test_a_turn_that_is_given_up_is_the_next_ones(void **state)
{
    size_t knocking = 0;
    struct exchange *first, *second;

    (void)state;
    send_all_and_look(some_queued);
    while (users[knocking].exchange.conn->turn != TURN_KNOCKS)
        knocking++;
    first = origin_of_all()->queue->exchange;
    second = origin_of_all()->queue->next->exchange;
    client_abort(&users[knocking].exchange);
    assert_int_equal(first->conn->turn, TURN_NEXT);
    client_abort(first); /* before it has done anything with its turn */
    assert_int_equal(second->conn->turn, TURN_NEXT);
    assert_int_equal(origin_of_all()->knocking, CLIENT_KNOCKING_MAX);
    send_it(&users[knocking]);
    client_send(client, first, clock_ns());
    give_all_up();
}

static bool none_held(const struct origin *origin)
{
    return !origin->starting && origin->coming == 0 && !origin->held;
}

static int listen_for_https(void **state)
{
    if (listen_only(state) != 0)
        return -1;
    client->options.tls.insecure = true;
    client->options.tls.offer_h2 = false;
    https = true;
    return listen(listener.fd, USERS);
}

static int close_https(void **state)
{
    https = false;
    return close_all(state);
}

/* Though no handshake ends; look() counts how many there are. */
static void test_a_crowd_shakes_hands_by_and_by(void **state)
{
    (void)state;
    send_all_and_look(none_held);
    give_all_up();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_some_connect_and_the_others_queue, listen_only,
                                        close_all),
        cmocka_unit_test_setup_teardown(test_each_has_its_turn_in_time, listen_only, close_all),
        cmocka_unit_test_setup_teardown(test_a_turn_that_is_given_up_is_the_next_ones, listen_only,
                                        close_all),
        cmocka_unit_test_setup_teardown(test_a_crowd_shakes_hands_by_and_by, listen_for_https,
                                        close_https),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
