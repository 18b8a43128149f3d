/* links: plan base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "plan/load.h"

static void rates(void **state)
{
    static const struct {
        const char *text;
        double rate;
        bool by_request;
    } good[] = {
        {"100", 100, false},   {"100/s", 100, false}, {"6000/m", 100, false},
        {"0.5", 0.5, false},   {"1e3", 1000, false},  {"36/h", 0.01, false},
        {"100r/s", 100, true}, {"60r/m", 1, true},    {"10000000", 1e7, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        struct load load = {0};
        const char *wrong = load_set_rate(&load, str_of(good[i].text));

        if (wrong || load.rate != good[i].rate || load.by_request != good[i].by_request)
            fail_msg("%s: %s", good[i].text, wrong ? wrong : "another rate");
        assert_true(load_is_open(&load));
    }
}

static void rates_that_are_none(void **state)
{
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"", "looks like"},   {"x", "looks like"},        {"100/d", "looks like"},
        {"100 /s", "looks"},  {"nan", "looks like"},      {"0", "above 0"},
        {"0/m", "above 0"},   {"-5", "above 0"},          {"10000001", "at most"},
        {"1e300", "at most"}, {"600000001/m", "at most"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct load load = {0};
        const char *wrong = load_set_rate(&load, str_of(bad[i].text));

        if (!wrong || !strstr(wrong, bad[i].part))
            fail_msg("%s: %s", bad[i].text, wrong ? wrong : "accepted");
    }
}

static void stages_of_users(void **state)
{
    struct load load = {0};
    struct str faulty;

    (void)state;
    assert_null(load_set_stages(&load, STR("30s:100, 0s:50 ,1m30s:2.5,10:0"), &faulty));
    assert_int_equal(load.n_stages, 4);
    assert_true(load_has_user_stages(&load) && !load_is_open(&load));
    assert_int_equal(load.stages[0].duration_ns, 30 * NS_PER_S);
    assert_true(load.stages[0].target == 100);
    assert_int_equal(load.stages[1].duration_ns, 0);
    assert_int_equal(load.stages[2].duration_ns, 90 * NS_PER_S);
    assert_true(load.stages[2].target == 2.5);
    assert_int_equal(load.stages[3].duration_ns, 10 * NS_PER_S);
    assert_true(load.stages[3].target == 0);
    load_fini(&load);
    assert_int_equal(load.n_stages, 0);
}

static void stages_of_rates(void **state)
{
    struct load load = {0};
    struct str faulty;

    (void)state;
    assert_null(load_set_stages(&load, STR("30s:100/s,1m:6000/m"), &faulty));
    assert_true(load_is_open(&load) && load.staged_rates && !load.by_request);
    assert_true(load.stages[1].target == 100);
    load_fini(&load);

    load = (struct load){0};
    assert_null(load_set_stages(&load, STR("30s:100r/s,1m:0r/s"), &faulty));
    assert_true(load.staged_rates && load.by_request);
    load_fini(&load);
}

static void stages_that_are_none(void **state)
{
    static const struct {
        const char *text, *faulty, *part;
    } bad[] = {
        {"", "", "look like"},
        {"30s", "30s", "look like"},
        {"30s:1,", "", "look like"},
        {"30s:1,,1s:1", "", "look like"},
        {"30x:1", "30x:1", "a duration is"},
        {"30s:1,:5", ":5", "a duration is"},
        {"30s:1,1s:", "1s:", "a target is"},
        {"1s:x", "1s:x", "a target is"},
        {"1s:1:2", "1s:1:2", "a target is"},
        {"1s:-1", "1s:-1", "cannot be negative"},
        {"1s:5,2s:5/s", "2s:5/s", "all stages must be users, or all rates"},
        {"1s:5/s,2s:5", "2s:5", "all stages must be users, or all rates"},
        {"1s:5/s,2s:5r/s", "2s:5r/s", "of iterations"},
        {"1s:1000001", "1s:1000001", "at most 1,000,000 users"},
        {"1s:10000001/s", "1s:10000001/s", "at most 10,000,000"},
        {"0s:5,0s:6", "0s:5,0s:6", "longer than nothing"},
        {"1s:0,1s:0", "1s:0,1s:0", "above 0"},
        {"1000000000s:1,1s:1", "1000000000s:1,1s:1", "too long"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct load load = {0};
        struct str faulty;
        const char *wrong = load_set_stages(&load, str_of(bad[i].text), &faulty);

        if (!wrong || !strstr(wrong, bad[i].part) || !str_eq(faulty, str_of(bad[i].faulty)))
            fail_msg("%s: %s", bad[i].text, wrong ? wrong : "accepted");
        load_fini(&load);
    }
}

static void kinds_that_are_told(void **state)
{
    struct load load = {0};

    (void)state;
    assert_null(load_add_stage(&load, STR("1s"), STR("5"), STAGE_RATE));
    assert_null(load_add_stage(&load, STR("1s"), STR("5/s"), STAGE_RATE));
    assert_non_null(load_add_stage(&load, STR("1s"), STR("5"), STAGE_USERS));
    assert_int_equal(load.n_stages, 2);
    load_fini(&load);
    assert_non_null(load_add_stage(&load, STR("1s"), STR("5/s"), STAGE_USERS));
    assert_non_null(load_add_stage(&load, STR("1s"), STR("x"), STAGE_USERS));
    load_fini(&load);
}

static void not_too_many(void **state)
{
    struct load load = {0};
    struct str faulty;
    struct buf text;

    (void)state;
    buf_init(&text, BUF_NO_MAX);
    for (int i = 0; i < LOAD_MAX_STAGES; i++)
        buf_addf(&text, "%s1s:%d", i ? "," : "", i);
    assert_null(load_set_stages(&load, buf_str(&text), &faulty));
    assert_int_equal(load.n_stages, LOAD_MAX_STAGES);
    assert_true(load.stages[LOAD_MAX_STAGES - 1].target == LOAD_MAX_STAGES - 1);
    load_fini(&load);
    buf_add_str(&text, STR(",1s:1"));
    assert_non_null(load_set_stages(&load, buf_str(&text), &faulty));
    load_fini(&load);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates),
        cmocka_unit_test(rates_that_are_none),
        cmocka_unit_test(stages_of_users),
        cmocka_unit_test(stages_of_rates),
        cmocka_unit_test(stages_that_are_none),
        cmocka_unit_test(kinds_that_are_told),
        cmocka_unit_test(not_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
