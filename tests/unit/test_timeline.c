/* links: stats */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stats/recorder.h"
#include "stats/timeline.h"

#define MS 1000000ULL
#define S (1000 * MS)

static struct timeline *make(uint64_t interval_ns, unsigned parts, unsigned sources, size_t max)
{
    struct timeline_options options = {{interval_ns, parts}, sources, max};

    return timeline_new(&options);
}

/* A source hands in that it has seen `n` responses of that latency, and one more begun. */
static void hand_in(struct timeline *timeline, unsigned source, uint64_t from, uint64_t to,
                    uint64_t n, bool last)
{
    struct interval interval = {.from = from, .to = to, .source = source, .last = last};
    struct sample sample = {.outcome = OUTCOME_RESPONSE, .status = 200, .latency_ns = 5 * MS};

    window_init(&interval.window, HIST_COARSE);
    for (uint64_t i = 0; i < n; i++)
        window_add(&interval.window, &sample);
    interval.window.started = n;
    interval.window.users = source + 1;
    timeline_add(timeline, &interval);
    window_fini(&interval.window);
}

static size_t count(const struct timeline *timeline)
{
    const struct timeline_entry *entries;

    return timeline_entries(timeline, &entries);
}

static const struct timeline_entry *entry(const struct timeline *timeline, size_t i)
{
    const struct timeline_entry *entries;

    assert_true(i < timeline_entries(timeline, &entries));
    return &entries[i];
}

static uint64_t sum(const struct timeline *timeline)
{
    const struct timeline_entry *entries;
    size_t n = timeline_entries(timeline, &entries);
    uint64_t ended = 0;

    for (size_t i = 0; i < n; i++)
        ended += entries[i].ended;
    return ended;
}

static void a_tick_begins_where_the_last_ended(void **state)
{
    struct ticks ticks = {S, 3};

    (void)state;
    assert_int_equal(tick_start(&ticks, 0), 0);
    assert_int_equal(tick_start(&ticks, 3), S);
    for (uint64_t tick = 0; tick < 1000; tick++) {
        uint64_t start_ns = tick_start(&ticks, tick);

        assert_int_equal(tick_of(&ticks, start_ns), tick);
        if (tick)
            assert_int_equal(tick_of(&ticks, start_ns - 1), tick - 1);
    }
}

static void sources_are_merged_by_their_moment(void **state)
{
    struct timeline *timeline = make(S, 1, 2, 100);

    (void)state;
    hand_in(timeline, 0, 0, 1, 10, false);
    hand_in(timeline, 0, 1, 2, 20, false);
    hand_in(timeline, 0, 2, 3, 30, false);
    assert_int_equal(count(timeline), 0); /* the other has said nothing yet */
    hand_in(timeline, 1, 0, 1, 1, false);
    hand_in(timeline, 1, 1, 2, 2, false);
    assert_int_equal(count(timeline), 1);
    assert_int_equal(entry(timeline, 0)->ended, 11);
    assert_int_equal(entry(timeline, 0)->users, 3);
    assert_int_equal(entry(timeline, 0)->start_ns, 0);
    assert_int_equal(entry(timeline, 0)->length_ns, S);
    assert_int_equal(entry(timeline, 0)->max_ns, 5 * MS);
    hand_in(timeline, 0, 3, 4, 1, true);
    hand_in(timeline, 1, 2, 3, 3, true);
    timeline_end(timeline, 3 * S + 500 * MS);
    assert_int_equal(count(timeline), 4);
    assert_int_equal(entry(timeline, 1)->ended, 22);
    assert_int_equal(entry(timeline, 2)->ended, 33);
    assert_int_equal(entry(timeline, 3)->ended, 1);
    assert_int_equal(entry(timeline, 3)->start_ns, 3 * S);
    assert_int_equal(entry(timeline, 3)->length_ns, 500 * MS);
    timeline_free(timeline);
}

static void parts_of_an_interval_are_one_entry(void **state)
{
    struct timeline *timeline = make(S, 5, 1, 100);

    (void)state;
    for (uint64_t tick = 0; tick < 10; tick++)
        hand_in(timeline, 0, tick, tick + 1, 1, false);
    assert_int_equal(count(timeline), 1);
    hand_in(timeline, 0, 10, 11, 0, true);
    timeline_end(timeline, 2 * S + MS); /* a rest that is no entry of its own */
    assert_int_equal(count(timeline), 2);
    assert_int_equal(entry(timeline, 1)->ended, 5);
    assert_int_equal(entry(timeline, 1)->length_ns, S + MS);
    assert_int_equal(entry(timeline, 1)->users, 1);
    timeline_free(timeline);
}

static void one_who_was_away_is_in_the_sum(void **state)
{
    struct timeline *timeline = make(S, 1, 2, 100);

    (void)state;
    for (uint64_t tick = 0; tick < 5; tick++)
        hand_in(timeline, 0, tick, tick + 1, 1, false);
    hand_in(timeline, 1, 0, 4, 100, false);
    assert_int_equal(count(timeline), 3);
    assert_int_equal(entry(timeline, 0)->ended, 101);
    assert_int_equal(entry(timeline, 1)->ended, 1);
    assert_int_equal(entry(timeline, 2)->users, 3);
    hand_in(timeline, 0, 5, 6, 1, true);
    hand_in(timeline, 1, 4, 5, 7, true);
    timeline_end(timeline, 5 * S + 300 * MS);
    assert_int_equal(sum(timeline), 113);
    assert_int_equal(count(timeline), 6);
    timeline_free(timeline);
}

/* More entries than are kept open at once: what comes for a closed one is the oldest open one's. */
static void one_who_is_very_late_is_in_the_sum_too(void **state)
{
    struct timeline *timeline = make(10 * MS, 1, 2, 100000);

    (void)state;
    for (uint64_t tick = 0; tick < 3000; tick++)
        hand_in(timeline, 0, tick, tick + 1, 1, false);
    assert_true(count(timeline) > 0);
    hand_in(timeline, 1, 0, 3000, 100, false);
    hand_in(timeline, 0, 3000, 3001, 0, true);
    hand_in(timeline, 1, 3000, 3001, 0, true);
    timeline_end(timeline, 30 * S + 5 * MS);
    assert_int_equal(sum(timeline), 3100);
    timeline_free(timeline);
}

static void long_runs_have_longer_entries(void **state)
{
    struct timeline *timeline = make(S, 1, 1, 4);
    uint64_t tick = 0, end_ns = 0;

    (void)state;
    while (tick < 30) {
        hand_in(timeline, 0, tick, tick + 1, 1, false);
        tick++;
    }
    hand_in(timeline, 0, tick, tick + 1, 0, true);
    timeline_end(timeline, 30 * S);
    /* 4 of 1 s, 4 of 2 s, 4 of 4 s, and 2 s of one of 8 s */
    assert_int_equal(count(timeline), 13);
    for (size_t i = 0; i < 13; i++) {
        assert_int_equal(entry(timeline, i)->start_ns, end_ns);
        end_ns += entry(timeline, i)->length_ns;
        assert_int_equal(entry(timeline, i)->ended, entry(timeline, i)->length_ns / S);
    }
    assert_int_equal(entry(timeline, 3)->length_ns, S);
    assert_int_equal(entry(timeline, 4)->length_ns, 2 * S);
    assert_int_equal(entry(timeline, 8)->length_ns, 4 * S);
    assert_int_equal(end_ns, 30 * S);
    timeline_free(timeline);
}

static void a_run_that_ends_at_once_is_one_entry(void **state)
{
    struct timeline *timeline = make(S, 5, 2, 100);

    (void)state;
    hand_in(timeline, 0, 0, 1, 3, true);
    hand_in(timeline, 1, 0, 1, 4, true);
    timeline_end(timeline, 2 * MS);
    assert_int_equal(count(timeline), 1);
    assert_int_equal(entry(timeline, 0)->ended, 7);
    assert_int_equal(entry(timeline, 0)->length_ns, 2 * MS);
    timeline_free(timeline);
}

static void an_empty_time_has_entries_too(void **state)
{
    struct timeline *timeline = make(S, 1, 1, 100);

    (void)state;
    hand_in(timeline, 0, 0, 7, 1, false);
    hand_in(timeline, 0, 7, 8, 1, true);
    timeline_end(timeline, 7 * S + 500 * MS);
    assert_int_equal(count(timeline), 8);
    assert_int_equal(entry(timeline, 5)->ended, 0);
    assert_int_equal(entry(timeline, 5)->p99_ns, 0);
    assert_int_equal(entry(timeline, 7)->ended, 1);
    timeline_free(timeline);
}

static void requests_in_flight_are_those_not_ended(void **state)
{
    struct timeline *timeline = make(S, 1, 1, 100);
    struct interval interval = {.from = 0, .to = 1};
    struct timeline_now now;

    (void)state;
    window_init(&interval.window, HIST_COARSE);
    interval.window.started = 5;
    timeline_add(timeline, &interval);
    timeline_now(timeline, &now);
    assert_int_equal(now.in_flight, 5);
    interval.from = 1;
    interval.to = 2;
    interval.last = true;
    interval.window.started = 2;
    interval.window.causes[OUTCOME_RESPONSE] = 4;
    interval.window.classes[2] = 4;
    interval.window.aborted = 3;
    timeline_add(timeline, &interval);
    timeline_end(timeline, 2 * S);
    assert_int_equal(entry(timeline, 0)->in_flight, 5);
    assert_int_equal(entry(timeline, 1)->in_flight, 3); /* those that were given up */
    window_fini(&interval.window);
    timeline_free(timeline);
}

static void now_is_the_last_second(void **state)
{
    struct timeline *timeline = make(S, 5, 2, 100);
    struct timeline_now now;

    (void)state;
    timeline_now(timeline, &now);
    assert_int_equal(now.seconds_ns, 0);
    for (uint64_t tick = 0; tick < 20; tick++) {
        hand_in(timeline, 0, tick, tick + 1, tick < 10 ? 1000 : 2, false);
        hand_in(timeline, 1, tick, tick + 1, 1, false);
    }
    timeline_now(timeline, &now);
    assert_int_equal(now.seconds_ns, S);
    assert_int_equal(now.ended, 15);
    assert_int_equal(now.users, 3);
    assert_int_equal(window_ended(&now.total), 10040);
    /* One who is a tick behind is waited for, one who is further behind is not. */
    hand_in(timeline, 0, 20, 21, 2, false);
    timeline_now(timeline, &now);
    assert_int_equal(now.ended, 15);
    for (uint64_t tick = 21; tick < 40; tick++)
        hand_in(timeline, 0, tick, tick + 1, 2, false);
    timeline_now(timeline, &now);
    assert_int_equal(now.ended, 10);
    timeline_free(timeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tick_begins_where_the_last_ended),
        cmocka_unit_test(sources_are_merged_by_their_moment),
        cmocka_unit_test(parts_of_an_interval_are_one_entry),
        cmocka_unit_test(one_who_was_away_is_in_the_sum),
        cmocka_unit_test(one_who_is_very_late_is_in_the_sum_too),
        cmocka_unit_test(long_runs_have_longer_entries),
        cmocka_unit_test(a_run_that_ends_at_once_is_one_entry),
        cmocka_unit_test(an_empty_time_has_entries_too),
        cmocka_unit_test(requests_in_flight_are_those_not_ended),
        cmocka_unit_test(now_is_the_last_second),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
