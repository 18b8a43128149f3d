/* links: http net base */
#include "client_fixture.h"

#include "base/rng.h"
#include "http/conn.h"

#define CONNS 37
#define ROOM 20

/* The heap of shared connections, over sessions that are only numbers. */
struct number {
    struct session session; /* first */
    unsigned room;
};

static unsigned room_of(const struct session *session)
{
    return ((const struct number *)session)->room;
}

static const struct session_ops ops = {.multiplexes = true, .capacity = room_of};

static struct origin origin;
static struct number numbers[CONNS];
static struct conn conns[CONNS];

static int make_conns(void **state)
{
    (void)state;
    origin = (struct origin){.shut = true};
    for (unsigned i = 0; i < CONNS; i++) {
        numbers[i] = (struct number){.session = {.ops = &ops}, .room = (i * 7) % ROOM};
        conns[i] = (struct conn){.origin = &origin, .session = &numbers[i].session};
        pool_share(&conns[i]);
    }
    return 0;
}

static int free_heap(void **state)
{
    (void)state;
    free(origin.shared);
    return 0;
}

static unsigned most_of_all(void)
{
    unsigned most = 0;

    for (unsigned i = 0; i < CONNS; i++) {
        if (conns[i].shared && numbers[i].room > most)
            most = numbers[i].room;
    }
    return most;
}

static void expect_the_roomiest(void)
{
    struct conn *conn = pool_roomiest(&origin);

    if (most_of_all() == 0)
        assert_null(conn);
    else
        assert_int_equal(room_of(conn->session), most_of_all());
}

static void test_the_one_with_the_most_room_is_taken(void **state)
{
    struct conn *conn;
    unsigned left = 0, taken = 0;

    (void)state;
    for (unsigned i = 0; i < CONNS; i++)
        left += numbers[i].room;
    while ((conn = pool_roomiest(&origin))) {
        assert_int_equal(room_of(conn->session), most_of_all());
        ((struct number *)conn->session)->room--;
        pool_room_changed(conn);
        taken++;
    }
    assert_int_equal(taken, left);
}

static void test_rooms_that_change_as_they_like(void **state)
{
    struct rng rng;

    (void)state;
    rng_seed(&rng, 1);
    for (unsigned i = 0; i < 20000; i++) {
        unsigned which = (unsigned)rng_below(&rng, CONNS);
        struct conn *conn = &conns[which];

        numbers[which].room = (unsigned)rng_below(&rng, ROOM);
        if (rng_below(&rng, 8) == 0 && conn->shared)
            pool_unshare(conn);
        else if (!conn->shared)
            pool_share(conn);
        else
            pool_room_changed(conn);
        expect_the_roomiest();
    }
}

static void test_less_room_is_seen_unsaid(void **state)
{
    (void)state;
    while (most_of_all() > 0) {
        ((struct number *)pool_roomiest(&origin)->session)->room = 0;
        expect_the_roomiest();
    }
}

static void test_one_that_goes_lets_others_be_opened(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CONNS; i++) {
        pool_remove(&conns[i]);
        assert_false(conns[i].shared);
        assert_false(origin.shut);
        expect_the_roomiest();
    }
    assert_int_equal(origin.n_shared, 0);
    pool_remove(&conns[0]); /* it is nowhere */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_one_with_the_most_room_is_taken, make_conns,
                                        free_heap),
        cmocka_unit_test_setup_teardown(test_rooms_that_change_as_they_like, make_conns, free_heap),
        cmocka_unit_test_setup_teardown(test_less_room_is_seen_unsaid, make_conns, free_heap),
        cmocka_unit_test_setup_teardown(test_one_that_goes_lets_others_be_opened, make_conns,
                                        free_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
