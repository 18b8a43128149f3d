#include "cli/settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "cli/settings_load.h"

#define DEFAULT_INTERVAL_NS NS_PER_S
#define MIN_INTERVAL_NS (10 * NS_PER_MS)
#define MAX_INTERVAL_NS (3600 * NS_PER_S)
#define MAX_INTERVALS 100000       /* of a length that was asked for */
#define MAX_INTERVALS_DEFAULT 7200 /* then they get longer */
#define DEFAULT_TIMEOUT_S 10
#define DEFAULT_MAX_REDIRECTS 10
#define DEFAULT_MAX_BODY (64ULL << 20)

static const struct option_value *value_of(const struct arguments *arguments, enum option_id id)
{
    return &arguments->options[id];
}

bool settings_json(const struct arguments *arguments)
{
    return value_of(arguments, OPT_STATS_FORMAT)->whole == STATS_JSON;
}

static bool check_interval(const struct arguments *arguments, struct faults *faults)
{
    const struct option_value *interval = value_of(arguments, OPT_INTERVAL);
    uint64_t ns;

    if (!interval->times || (amount_duration(str_of(interval->text), &ns) &&
                             ns >= MIN_INTERVAL_NS && ns <= MAX_INTERVAL_NS))
        return true;
    faults_error(faults, PLACE_NONE, "a time from 10ms to 1h: 100ms, 1s, 1m",
                 "--interval: '%s' is no interval", interval->text);
    return false;
}

bool settings_check(const struct arguments *arguments, struct faults *faults)
{
    bool compares = arguments_has(arguments, OPT_COMPARE);
    bool from_stdin = arguments->n_operands && strcmp(arguments->operands[0], "-") == 0;

    if (from_stdin && arguments_has(arguments, OPT_BENCHMARK)) {
        faults_error(faults, PLACE_NONE, NULL,
                     "`run -` reads an ad-hoc target URL from stdin and cannot be combined with "
                     "--benchmark");
        return false;
    }
    if (arguments_has(arguments, OPT_LIST_TAGS) && !arguments_has(arguments, OPT_BENCHMARK)) {
        faults_error(faults, PLACE_NONE, NULL, "--list-tags requires --benchmark");
        return false;
    }
    if (compares && settings_json(arguments)) {
        faults_error(faults, PLACE_NONE, NULL,
                     "--compare cannot be combined with --stats-format json");
        return false;
    }
    if (compares && !arguments_has(arguments, OPT_THRESHOLD)) {
        faults_error(faults, PLACE_NONE, "how many milliseconds slower is too slow?",
                     "--compare needs --threshold");
        return false;
    }
    if (!compares && arguments_has(arguments, OPT_THRESHOLD))
        faults_warning(faults, PLACE_NONE, NULL, "--threshold does nothing without --compare");
    return check_interval(arguments, faults) && settings_check_load(arguments, faults);
}

static void set_limits(const struct arguments *arguments, struct run_options *run)
{
    const struct option_value *timeout = value_of(arguments, OPT_TIMEOUT);
    const struct option_value *max_body = value_of(arguments, OPT_MAX_BODY);
    const struct option_value *max_redirects = value_of(arguments, OPT_MAX_REDIRECTS);
    const struct option_value *workers = value_of(arguments, OPT_WORKER_THREADS);

    run->client.timeout_ns =
        amount_of_seconds(timeout->times ? timeout->number : DEFAULT_TIMEOUT_S);
    run->client.max_body = max_body->times ? max_body->whole : DEFAULT_MAX_BODY;
    run->client.max_redirects =
        max_redirects->times ? (unsigned)max_redirects->whole : DEFAULT_MAX_REDIRECTS;
    run->client.kernel_timestamps = value_of(arguments, OPT_TIMESTAMPS)->whole == TIMESTAMPS_KERNEL;
    run->workers = workers->times ? (unsigned)workers->whole : 1;
    if (run->workers > run->concurrency)
        run->workers = (unsigned)run->concurrency;
}

bool settings_make(const struct arguments *arguments, const struct plan *plan,
                   struct settings *settings, struct faults *faults)
{
    struct run_options *run = &settings->run;

    *settings = (struct settings){.json = settings_json(arguments)};
    settings->stats = settings->json || arguments_has(arguments, OPT_STATS);
    run->plan = plan;
    if (!settings_make_load(arguments, plan, settings, faults))
        return false;
    set_limits(arguments, run);
    run->relaxed = arguments_has(arguments, OPT_RELAXED);
    run->wants_verbose = arguments_has(arguments, OPT_VERBOSE) && !settings->json;
    /* -q -v prints requests and responses without the lines between them. */
    run->wants_lines =
        run->wants_verbose || (!arguments_has(arguments, OPT_QUIET) && !settings->json);
    run->wants_report = arguments_has(arguments, OPT_REPORT);
    settings->banner.report = str_of(value_of(arguments, OPT_REPORT)->text);
    settings->banner.base = plan->base;
    return true;
}

uint64_t settings_length(const struct settings *settings)
{
    const struct run_options *run = &settings->run;
    uint64_t length_ns = run->load.n_stages ? 0 : run->duration_ns;

    for (size_t i = 0; i < run->load.n_stages; i++)
        length_ns += run->load.stages[i].duration_ns;
    return length_ns;
}

bool settings_time(const struct arguments *arguments, bool progress, struct settings *settings,
                   struct faults *faults)
{
    const struct option_value *interval = value_of(arguments, OPT_INTERVAL);
    struct ticks ticks = {DEFAULT_INTERVAL_NS, 1};

    if (interval->times)
        amount_duration(str_of(interval->text), &ticks.interval_ns);
    if (settings_length(settings) / ticks.interval_ns > MAX_INTERVALS && interval->times) {
        faults_error(faults, PLACE_NONE, NULL, "--interval: the run has more than %d intervals",
                     MAX_INTERVALS);
        return false;
    }
    if (!progress && !settings->json && !arguments_has(arguments, OPT_TIMELINE)) {
        if (interval->times)
            faults_warning(faults, PLACE_NONE, NULL,
                           "--interval does nothing without --timeline or JSON statistics");
        return true;
    }
    if (progress)
        ticks.parts = (unsigned)((ticks.interval_ns + RUN_TICK_NS - 1) / RUN_TICK_NS);
    settings->run.ticks = ticks;
    settings->run.max_intervals = interval->times ? MAX_INTERVALS : MAX_INTERVALS_DEFAULT;
    return true;
}

bool settings_progress(const struct arguments *arguments, const struct settings *settings,
                       const struct terminals *terminals)
{
    if (arguments_has(arguments, OPT_PROGRESS))
        return true;
    if (arguments_has(arguments, OPT_NO_PROGRESS) || !terminals->err || terminals->dumb)
        return false;
    return (arguments_has(arguments, OPT_QUIET) || settings->stats) &&
           !(settings->run.wants_lines && terminals->out);
}

void settings_lower(struct settings *settings, uint64_t concurrency)
{
    struct run_options *run = &settings->run;

    settings->banner.concurrency = run->concurrency = concurrency;
    if (run->workers > concurrency)
        run->workers = (unsigned)concurrency;
}

void settings_fini(struct settings *settings)
{
    free(settings->stages);
    buf_fini(&settings->load_text);
}

static bool is_set(const char *value)
{
    return value && *value;
}

bool settings_color(enum color wanted, bool is_terminal, const struct color_env *env)
{
    if (wanted != COLOR_AUTO)
        return wanted == COLOR_ALWAYS;
    if (is_set(env->no_color))
        return false;
    if (is_set(env->clicolor_force) && strcmp(env->clicolor_force, "0") != 0)
        return true;
    return is_terminal && !(env->term && strcmp(env->term, "dumb") == 0);
}
