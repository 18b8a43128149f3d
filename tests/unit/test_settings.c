/* links: cli */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cli/arguments.h"
#include "cli/settings.h"

#define MAX_WORDS 32

/* A command line against a plan that has only settings. */
struct trial {
    char *copy;
    char *argv[MAX_WORDS];
    struct arguments args;
    struct faults faults;
    struct plan plan;
    struct settings settings;
};

static void start(struct trial *trial, const char *text)
{
    static char program[] = "driller";
    int argc = 0;

    *trial = (struct trial){.copy = xstrdup(text)};
    trial->plan.iterations = 1;
    trial->argv[argc++] = program;
    for (char *at, *word = strtok_r(trial->copy, " ", &at); word; word = strtok_r(NULL, " ", &at))
        trial->argv[argc++] = word;
    faults_init(&trial->faults);
    if (!arguments_parse(argc, trial->argv, &trial->args, &trial->faults))
        fail_msg("%s: %s", text, trial->faults.items[0].text);
}

static void end(struct trial *trial)
{
    settings_fini(&trial->settings);
    arguments_fini(&trial->args);
    faults_fini(&trial->faults);
    free(trial->copy);
}

static void plan_says(struct trial *trial, uint64_t iterations, uint64_t concurrency)
{
    trial->plan.has_iterations = iterations > 0;
    trial->plan.iterations = iterations ? iterations : 1;
    trial->plan.has_concurrency = concurrency > 0;
    trial->plan.concurrency = concurrency;
}

/* What flags and the plan's numbers (0: not there) make of iterations and concurrency. */
static void test_concurrency(void **state)
{
    static const struct {
        const char *flags;
        uint64_t plan_iterations, plan_concurrency;
        uint64_t iterations, concurrency; /* 0, 0: refused */
    } cases[] = {
        {"run u", 0, 0, 1, 1},
        {"run u -i 5", 0, 0, 5, 1},
        {"run u -i 6 -p 3", 0, 0, 6, 3},
        {"run u -p 4", 0, 0, 0, 0},
        {"run u", 4, 0, 4, 4},
        {"run u", 6, 2, 6, 2},
        {"run u -i 2", 4, 0, 2, 2},
        {"run u -i 9", 4, 0, 9, 4},
        {"run u -i 2 -p 1", 6, 2, 2, 1},
        {"run u", 2, 5, 0, 0},
        {"run u -i 2", 6, 3, 0, 0},
        {"run u", 0, 2, 0, 0},
        {"run u -i 2 -p 3", 4, 0, 0, 0},
        {"run u", 2000000, 0, 0, 0},
        {"run u -p 7", 2000000, 0, 2000000, 7},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct trial trial;
        bool good;

        start(&trial, cases[i].flags);
        plan_says(&trial, cases[i].plan_iterations, cases[i].plan_concurrency);
        good = settings_make(&trial.args, &trial.plan, &trial.settings, &trial.faults);
        if (good != (cases[i].concurrency > 0))
            fail_msg("case %zu", i);
        assert_int_equal(trial.faults.errors, !good);
        if (good) {
            assert_int_equal(trial.settings.run.iterations, cases[i].iterations);
            assert_int_equal(trial.settings.run.concurrency, cases[i].concurrency);
            assert_int_equal(trial.settings.run.duration_ns, 0);
            assert_int_equal(trial.settings.banner.iterations, cases[i].iterations);
            assert_int_equal(trial.settings.banner.concurrency, cases[i].concurrency);
        }
        end(&trial);
    }
}

static void test_the_original_words(void **state)
{
    struct trial trial;

    (void)state;
    start(&trial, "run u -p 4");
    assert_false(settings_make(&trial.args, &trial.plan, &trial.settings, &trial.faults));
    assert_string_equal(trial.faults.items[0].text,
                        "the concurrency can not be higher than the number of iterations");
    end(&trial);
}

static void test_duration(void **state)
{
    struct trial trial;

    (void)state;
    start(&trial, "run u -d 1.5s -p 9");
    plan_says(&trial, 4, 0);
    assert_true(settings_make(&trial.args, &trial.plan, &trial.settings, &trial.faults));
    assert_int_equal(trial.settings.run.iterations, 0);
    assert_int_equal(trial.settings.run.duration_ns, 1500000000);
    assert_int_equal(trial.settings.banner.duration_ns, 1500000000);
    assert_int_equal(trial.settings.run.concurrency, 9);
    end(&trial);

    start(&trial, "run u -d 2");
    plan_says(&trial, 4, 0);
    assert_true(settings_make(&trial.args, &trial.plan, &trial.settings, &trial.faults));
    assert_int_equal(trial.settings.run.concurrency, 4);
    end(&trial);
}

static void test_defaults(void **state)
{
    struct trial trial;

    (void)state;
    start(&trial, "run u");
    trial.plan.rampup_s = 2.5;
    assert_true(settings_make(&trial.args, &trial.plan, &trial.settings, &trial.faults));
    assert_ptr_equal(trial.settings.run.plan, &trial.plan);
    assert_int_equal(trial.settings.run.client.timeout_ns, 10000000000);
    assert_int_equal(trial.settings.run.client.max_body, 64 << 20);
    assert_int_equal(trial.settings.run.client.max_redirects, 10);
    assert_int_equal(trial.settings.run.workers, 1);
    assert_int_equal(trial.settings.run.rampup_ns, 2500000000);
    assert_true(trial.settings.banner.rampup_s == 2.5);
    assert_int_equal(trial.settings.banner.report.n, 0);
    assert_false(trial.settings.run.relaxed || trial.settings.run.wants_report);
    assert_false(trial.settings.stats || trial.settings.json);
    end(&trial);
}

static void test_flags_beat_the_plan(void **state)
{
    struct trial trial;

    (void)state;
    start(&trial, "run u -i 8 -p 2 -w 9 -e 0.5 -o 1.25 --max-body 10k --max-redirects 0 "
                  "--relaxed-interpolations -r out.yml -s");
    trial.plan.rampup_s = 9;
    assert_true(settings_make(&trial.args, &trial.plan, &trial.settings, &trial.faults));
    assert_int_equal(trial.settings.run.workers, 2); /* no more than users */
    assert_int_equal(trial.settings.run.rampup_ns, 500000000);
    assert_int_equal(trial.settings.run.client.timeout_ns, 1250000000);
    assert_int_equal(trial.settings.run.client.max_body, 10240);
    assert_int_equal(trial.settings.run.client.max_redirects, 0);
    assert_true(trial.settings.run.relaxed && trial.settings.run.wants_report);
    assert_true(trial.settings.stats && !trial.settings.json);
    assert_true(str_eq(trial.settings.banner.report, STR("out.yml")));
    end(&trial);
}

static void test_what_is_printed(void **state)
{
    static const struct {
        const char *flags;
        bool lines, verbose;
    } cases[] = {
        {"run u", true, false},
        {"run u -q", false, false},
        {"run u -v", true, true},
        {"run u -q -v", true, true},
        {"run u --stats-format json", false, false},
        {"run u --stats-format json -v", false, false},
        {"run u --stats-format text", true, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct trial trial;

        start(&trial, cases[i].flags);
        assert_true(settings_make(&trial.args, &trial.plan, &trial.settings, &trial.faults));
        assert_int_equal(trial.settings.run.wants_lines, cases[i].lines);
        assert_int_equal(trial.settings.run.wants_verbose, cases[i].verbose);
        if (trial.settings.json)
            assert_true(trial.settings.stats);
        end(&trial);
    }
}

/* Whether settings_check lets a command line pass, and what it says. */
static void checks(const char *flags, const char *error, const char *warning)
{
    struct trial trial;
    const char *said;

    start(&trial, flags);
    assert_int_equal(settings_check(&trial.args, &trial.faults), error == NULL);
    assert_int_equal(trial.faults.n, error || warning);
    said = trial.faults.n ? trial.faults.items[0].text : NULL;
    if (error)
        assert_string_equal(said, error);
    if (warning)
        assert_string_equal(said, warning);
    end(&trial);
}

static void test_cross_checks(void **state)
{
    (void)state;
    checks("run u", NULL, NULL);
    checks("run u -c f -t 5", NULL, NULL);
    checks("run u -c f", "--compare needs --threshold", NULL);
    checks("run u -c f -t 5 --stats-format json",
           "--compare cannot be combined with --stats-format json", NULL);
    checks("run u -t 5", NULL, "--threshold does nothing without --compare");
    checks("run - -b f",
           "`run -` reads an ad-hoc target URL from stdin and cannot be combined with --benchmark",
           NULL);
    checks("run -b -", NULL, NULL);
    checks("--list-tags", "--list-tags requires --benchmark", NULL);
    checks("run u --list-tags", "--list-tags requires --benchmark", NULL);
    checks("--list-tags -b f", NULL, NULL);
    checks("run u -d 5x", "--duration: '5x' is not a duration", NULL);
    checks("run u --warmup 0s --grace 0", NULL, NULL);
    checks("run u --warmup x", "--warmup: 'x' is not a duration", NULL);
    checks("run u --grace 1s1", "--grace: '1s1' is not a duration", NULL);
    checks("run u --rate 0", "--rate: '0': a rate must be above 0", NULL);
    checks("run u --stages 1s:5,1s:1/s",
           "--stages: '1s:1/s': the targets of all stages must be users, or all rates (100/s)",
           NULL);
    checks("run u -d 0", "--duration: '0' is not a duration", NULL);
}

/* What is made of flags and of a plan's load: the lines of the banner say it. */
static void test_loads(void **state)
{
    static const struct {
        const char *flags;
        const char *plan_load; /* of the plan: a rate, or stages */
        uint64_t plan_iterations, plan_concurrency;
        uint64_t iterations, concurrency, seconds; /* of the banner */
        const char *load;
    } cases[] = {
        {"run u --rate 100 -d 10s", NULL, 0, 0, 0, 1000, 10, "100/s"},
        {"run u --rate 100r/s -d 10s -p 7", NULL, 0, 0, 0, 7, 10, "100r/s"},
        {"run u --rate 90/m -i 50 --arrival poisson", NULL, 0, 0, 50, 50, 0, "1.5/s (poisson)"},
        {"run u --rate 5 -i 50 -p 100", NULL, 0, 0, 50, 50, 0, "5/s"},
        {"run u --rate 5", NULL, 20000, 0, 20000, 1000, 0, "5/s"},
        {"run u --rate 5 -d 1", NULL, 20, 30, 0, 30, 1, "5/s"},
        {"run u", "7", 40, 0, 40, 40, 0, "7/s"},
        {"run u --rate 8", "7", 40, 0, 40, 40, 0, "8/s"},
        {"run u -d 5 --rate 8", "1s:5", 0, 0, 0, 1000, 5, "8/s"},
        {"run u --stages 30s:2.5,0s:10,500ms:0", NULL, 0, 0, 0, 10, 30, "30s:2.5, 0s:10, 0.5s:0"},
        {"run u --stages 30s:10 -i 5", NULL, 0, 0, 5, 10, 0, "30s:10"},
        {"run u --stages 30s:0.5", NULL, 0, 6, 0, 1, 30, "30s:0.5"},
        {"run u --stages 30s:10/s", NULL, 0, 0, 0, 1000, 30, "30s:10/s"},
        {"run u --stages 30s:10r/s -p 3", NULL, 0, 0, 0, 3, 30, "30s:10r/s"},
        {"run u --stages 9s:4", "7", 0, 0, 0, 4, 9, "9s:4"},
        {"run u", "2s:4,3s:6", 0, 0, 0, 6, 5, "2s:4, 3s:6"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct trial trial;
        const struct banner *banner = &trial.settings.banner;
        struct str text = str_of(cases[i].plan_load), faulty;

        start(&trial, cases[i].flags);
        plan_says(&trial, cases[i].plan_iterations, cases[i].plan_concurrency);
        if (str_find(text, ':') < text.n)
            assert_null(load_set_stages(&trial.plan.load, text, &faulty));
        else if (text.n)
            assert_null(load_set_rate(&trial.plan.load, text));
        if (!settings_make(&trial.args, &trial.plan, &trial.settings, &trial.faults))
            fail_msg("%s: %s", cases[i].flags, trial.faults.items[0].text);
        if (banner->iterations != cases[i].iterations ||
            banner->concurrency != cases[i].concurrency ||
            trial.settings.run.concurrency != cases[i].concurrency ||
            banner->duration_ns / 1000000000 != cases[i].seconds ||
            !str_eq(banner->load, str_of(cases[i].load)))
            fail_msg("%s, %s: %.*s", cases[i].flags, cases[i].plan_load, (int)banner->load.n,
                     banner->load.p);
        assert_int_equal(trial.faults.n, 0);
        load_fini(&trial.plan.load);
        end(&trial);
    }
}

static void test_load_reaches_the_run(void **state)
{
    struct trial trial;
    const struct run_options *run = &trial.settings.run;

    (void)state;
    start(&trial, "run u --rate 5 -d 9 --arrival constant --when-late drop --warmup 2s --grace 0s "
                  "--connections-first --timer spin --timestamps kernel");
    trial.plan.load.arrival = ARRIVAL_POISSON;
    trial.plan.grace_ns = 7;
    assert_true(settings_make(&trial.args, &trial.plan, &trial.settings, &trial.faults));
    assert_int_equal(run->load.arrival, ARRIVAL_CONSTANT);
    assert_true(run->drop_late && run->connections_first && run->spin);
    assert_true(run->client.kernel_timestamps && trial.settings.may_lower);
    assert_int_equal(run->warmup_ns, 2000000000);
    assert_int_equal(run->grace_ns, 0);
    settings_lower(&trial.settings, 1);
    assert_int_equal(run->concurrency, 1);
    assert_int_equal(trial.settings.banner.concurrency, 1);
    end(&trial);

    start(&trial, "run u --rate 5 -d 9 -p 3");
    trial.plan.load.arrival = ARRIVAL_POISSON;
    trial.plan.drop_late = true;
    trial.plan.warmup_ns = 5;
    trial.plan.grace_ns = 7;
    assert_true(settings_make(&trial.args, &trial.plan, &trial.settings, &trial.faults));
    assert_int_equal(run->load.arrival, ARRIVAL_POISSON);
    assert_true(run->drop_late && !run->connections_first && !run->spin);
    assert_false(run->client.kernel_timestamps || trial.settings.may_lower);
    assert_int_equal(run->warmup_ns, 5);
    assert_int_equal(run->grace_ns, 7);
    end(&trial);

    start(&trial, "run u");
    trial.plan.duration_ns = 5000000000;
    assert_true(settings_make(&trial.args, &trial.plan, &trial.settings, &trial.faults));
    assert_int_equal(run->duration_ns, 5000000000);
    assert_int_equal(run->iterations, 0);
    end(&trial);
    start(&trial, "run u -i 3");
    trial.plan.duration_ns = 5000000000;
    assert_true(settings_make(&trial.args, &trial.plan, &trial.settings, &trial.faults));
    assert_int_equal(run->duration_ns, 0);
    assert_int_equal(run->iterations, 3);
    end(&trial);
}

/* What settings_make says of flags with a plan that has this load ("5", "1s:5"), or none. */
static void makes(const char *flags, const char *load, const char *error, const char *warning)
{
    struct trial trial;
    struct str text = str_of(load), faulty;

    start(&trial, flags);
    trial.plan.rampup_s = warning && strstr(warning, "rampup") ? 5 : 0;
    trial.plan.pacing_ns = warning && strstr(warning, "pacing") ? 5 : 0;
    trial.plan.has_arrival = warning && strstr(warning, "plan's arrival");
    trial.plan.has_when_late = warning && strstr(warning, "plan's when_late");
    if (str_find(text, ':') < text.n)
        assert_null(load_set_stages(&trial.plan.load, text, &faulty));
    else if (text.n)
        assert_null(load_set_rate(&trial.plan.load, text));
    assert_int_equal(settings_make(&trial.args, &trial.plan, &trial.settings, &trial.faults),
                     error == NULL);
    assert_int_equal(trial.faults.n, 1);
    assert_string_equal(trial.faults.items[0].text, error ? error : warning);
    load_fini(&trial.plan.load);
    end(&trial);
}

static void test_loads_that_do_not_go_together(void **state)
{
    (void)state;
    makes("run u --rate 5", NULL, "a rate needs a duration or a number of iterations", NULL);
    makes("run u", "5", "a rate needs a duration or a number of iterations", NULL);
    makes("run u -e 5 -d 5", "5", "--rampup does not go with the plan's rate", NULL);
    makes("run u -e 5", "1s:5", "--rampup does not go with the plan's stages", NULL);
    makes("run u -d 5", "1s:5", "--duration does not go with the plan's stages", NULL);
    makes("run u -p 5", "1s:5", "--concurrency does not go with stages of users", NULL);
    makes("run u -p 5 --stages 1s:5", NULL, "--concurrency does not go with stages of users", NULL);
    makes("run u --rate 5 -d 5", NULL, NULL, "the plan's rampup does nothing with a rate");
    makes("run u --stages 5:5", NULL, NULL, "the plan's rampup does nothing with stages");
    makes("run u -d 5", "5", NULL, "the plan's pacing does nothing with a rate");
    makes("run u --arrival poisson", NULL, NULL, "--arrival does nothing without a rate");
    makes("run u --when-late queue", "1s:5", NULL, "--when-late does nothing without a rate");
    makes("run u --timer spin", NULL, NULL, "--timer spin does nothing without a rate");
    makes("run u", NULL, NULL, "the plan's arrival does nothing without a rate");
    makes("run u", NULL, NULL, "the plan's when_late does nothing without a rate");
}

static void test_color(void **state)
{
    const struct color_env none = {NULL, NULL, NULL};
    const struct color_env xterm = {NULL, NULL, "xterm"};
    const struct color_env dumb = {NULL, NULL, "dumb"};
    const struct color_env no_color = {"1", NULL, "xterm"};
    const struct color_env empty_no_color = {"", NULL, "xterm"};
    const struct color_env force = {NULL, "1", "dumb"};
    const struct color_env force_zero = {NULL, "0", "xterm"};
    const struct color_env both = {"1", "1", "xterm"};

    (void)state;
    assert_true(settings_color(COLOR_AUTO, true, &xterm));
    assert_true(settings_color(COLOR_AUTO, true, &none));
    assert_false(settings_color(COLOR_AUTO, false, &xterm));
    assert_false(settings_color(COLOR_AUTO, true, &dumb));
    assert_false(settings_color(COLOR_AUTO, true, &no_color));
    assert_true(settings_color(COLOR_AUTO, true, &empty_no_color));
    assert_true(settings_color(COLOR_AUTO, false, &force));
    assert_false(settings_color(COLOR_AUTO, false, &force_zero));
    assert_false(settings_color(COLOR_AUTO, true, &both));
    assert_true(settings_color(COLOR_ALWAYS, false, &no_color));
    assert_false(settings_color(COLOR_NEVER, true, &force));
}

/* When the progress is shown: flags, standard output a terminal, standard error one, a poor one. */
static void test_progress(void **state)
{
    static const struct {
        const char *flags;
        struct terminals terminals;
        bool shown;
    } cases[] = {
        {"run http://h/ -q", {true, true, false}, true},
        {"run http://h/ -q", {false, true, false}, true},
        {"run http://h/ -q", {true, false, false}, false},
        {"run http://h/ -q", {true, true, true}, false},
        {"run http://h/", {true, true, false}, false},
        {"run http://h/ -s", {true, true, false}, false}, /* lines go to that terminal */
        {"run http://h/ -s", {false, true, false}, true},
        {"run http://h/ -q -v", {true, true, false}, false},
        {"run http://h/ --stats-format json", {true, true, false}, true},
        {"run http://h/ -q --no-progress", {true, true, false}, false},
        {"run http://h/ --progress", {false, false, false}, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct trial trial;

        start(&trial, cases[i].flags);
        assert_true(settings_make(&trial.args, &trial.plan, &trial.settings, &trial.faults));
        if (settings_progress(&trial.args, &trial.settings, &cases[i].terminals) != cases[i].shown)
            fail_msg("%zu: %s", i, cases[i].flags);
        end(&trial);
    }
}

static void test_intervals(void **state)
{
    static const struct {
        const char *flags;
        bool progress, good;
        uint64_t interval_ms;
        unsigned parts;
    } cases[] = {
        {"run http://h/", false, true, 0, 0},
        {"run http://h/", true, true, 1000, 5},
        {"run http://h/ --timeline t.csv", false, true, 1000, 1},
        {"run http://h/ --stats-format json --interval 250ms", true, true, 250, 2},
        {"run http://h/ --timeline t.csv --interval 10ms -d 16m", false, true, 10, 1},
        {"run http://h/ --timeline t.csv --interval 10ms -d 17m", false, false, 0, 0},
        {"run http://h/ --timeline t.csv --interval 10ms --stages 9m:1,8m:1", false, false, 0, 0},
        {"run http://h/ --timeline t.csv -d 300h", false, true, 1000, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct trial trial;
        bool good;

        start(&trial, cases[i].flags);
        assert_true(settings_make(&trial.args, &trial.plan, &trial.settings, &trial.faults));
        good = settings_time(&trial.args, cases[i].progress, &trial.settings, &trial.faults);
        if (good != cases[i].good)
            fail_msg("%zu: %s", i, cases[i].flags);
        if (good && cases[i].interval_ms) {
            assert_int_equal(trial.settings.run.ticks.interval_ns, cases[i].interval_ms * 1000000);
            assert_int_equal(trial.settings.run.ticks.parts, cases[i].parts);
        } else {
            assert_int_equal(trial.settings.run.ticks.interval_ns, 0);
        }
        end(&trial);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_concurrency),
        cmocka_unit_test(test_the_original_words),
        cmocka_unit_test(test_duration),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_flags_beat_the_plan),
        cmocka_unit_test(test_what_is_printed),
        cmocka_unit_test(test_cross_checks),
        cmocka_unit_test(test_loads),
        cmocka_unit_test(test_load_reaches_the_run),
        cmocka_unit_test(test_loads_that_do_not_go_together),
        cmocka_unit_test(test_color),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_intervals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
