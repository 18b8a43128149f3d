#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rng.h"
#include "cli/baseline.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/help.h"
#include "cli/listing.h"
#include "cli/live.h"
#include "cli/printer.h"
#include "cli/settings.h"
#include "cli/source.h"
#include "cli/wire.h"
#include "out/results_json.h"
#include "out/results_text.h"
#include "plan/plan.h"
#include "run/run.h"
#include "stats/compare.h"
#include "stats/verdict.h"

struct job {
    const struct arguments *arguments;
    struct faults faults; /* found since the last were printed */
    struct str url;       /* ad-hoc; p NULL: none */
    struct str url_input; /* the same, read from standard input; owned */
    struct str plan_text; /* owned */
    uint64_t seed;
    struct plan *plan;
    struct settings settings;
    struct wire wire;
    struct baseline *baseline;
    struct live live;
    struct printer printer;
    struct run_result result;
};

static const char *text_of(const struct job *job, enum option_id id)
{
    return job->arguments->options[id].text;
}

static bool asked(const struct job *job, enum option_id id)
{
    return arguments_has(job->arguments, id);
}

/* What was found wrong is said as soon as it is known; then there is nothing left to say. */
static void print_faults(struct job *job)
{
    console_faults(&job->faults);
    faults_fini(&job->faults);
}

static bool find_url(struct job *job)
{
    const char *operand = job->arguments->n_operands ? job->arguments->operands[0] : NULL;

    if (operand && strcmp(operand, "-") == 0) {
        if (!source_url(&job->url_input, &job->faults))
            return false;
        if (job->url_input.n)
            job->url = job->url_input;
    } else if (operand) {
        job->url = str_of(operand);
    }
    if (job->url.p || asked(job, OPT_BENCHMARK))
        return true;
    print_faults(job);
    console_write(STDERR_FILENO, STR("error: either a URL or --benchmark is required\n"
                                     "usage: driller run <URL>\n"
                                     "       driller run --benchmark <FILE>\n"));
    return false;
}

static bool load_plan(struct job *job)
{
    const struct option_value *values = job->arguments->options;
    struct plan_options options = {
        .base = str_of(text_of(job, OPT_BASE_URL)),
        .tags = values[OPT_TAGS].items,
        .n_tags = values[OPT_TAGS].n,
        .skip_tags = values[OPT_SKIP_TAGS].items,
        .n_skip_tags = values[OPT_SKIP_TAGS].n,
        .seed = job->seed,
        .relaxed = asked(job, OPT_RELAXED),
        .listings = asked(job, OPT_LIST_TASKS),
    };

    /* An ad-hoc URL without a scheme is told so by plan_adhoc, whatever it was meant for. */
    if (job->url.p && !options.base.p && !plan_base_of(job->url, &options.base)) {
        plan_free(plan_adhoc(job->url, &options, &job->faults));
        return false;
    }
    if (!asked(job, OPT_BENCHMARK)) {
        job->plan = plan_adhoc(job->url, &options, &job->faults);
        return job->plan;
    }
    if (!source_plan(text_of(job, OPT_BENCHMARK), &job->plan_text, &job->faults))
        return false;
    job->plan = plan_load(text_of(job, OPT_BENCHMARK), job->plan_text, &options, &job->faults);
    return job->plan;
}

static int print_listing(const struct job *job)
{
    struct buf out;
    bool found = true;
    int status;

    buf_init(&out, BUF_NO_MAX);
    if (asked(job, OPT_LIST_TAGS))
        listing_tags(&out, job->plan);
    else
        found = listing_tasks(&out, job->arguments, job->plan);
    status = console_print(buf_str(&out));
    buf_fini(&out);
    return status == CLI_OK && !found ? CLI_FAILED : status;
}

/* So many users that the limit of descriptors allows; false if it is none. */
static bool lower_users(struct settings *settings, uint64_t needed, uint64_t limit)
{
    uint64_t other = needed - settings->run.concurrency;

    if (!settings->may_lower || limit <= other)
        return false;
    settings_lower(settings, limit - other);
    return true;
}

static bool check_descriptors(struct job *job)
{
    const struct run_options *run = &job->settings.run;
    uint64_t needed, limit;

    if (run_check_descriptors(run->concurrency, run->workers, &needed, &limit) ||
        lower_users(&job->settings, needed, limit))
        return true;
    faults_error(&job->faults, PLACE_NONE, "lower --concurrency, or raise the limit (ulimit -Hn)",
                 "%llu users need %llu file descriptors, and the limit is %llu",
                 (unsigned long long)run->concurrency, (unsigned long long)needed,
                 (unsigned long long)limit);
    return false;
}

static bool open_report(struct job *job)
{
    const char *why;

    job->printer.report_path = text_of(job, OPT_REPORT);
    if (!job->printer.report_path)
        return true;
    job->printer.report = outfile_open(job->printer.report_path, &why);
    if (!job->printer.report)
        faults_error(&job->faults, PLACE_NONE, NULL, "couldn't open the report %s: %s",
                     job->printer.report_path, why);
    return job->printer.report;
}

static bool open_timeline(struct job *job)
{
    const char *path = text_of(job, OPT_TIMELINE), *why;

    if (!path || live_open(&job->live, path, &why))
        return true;
    faults_error(&job->faults, PLACE_NONE, NULL, "couldn't open the time line %s: %s", path, why);
    return false;
}

/* What of the run is shown and written while it goes on. */
static bool prepare_live(struct job *job)
{
    const struct color_env env = {getenv("NO_COLOR"), getenv("CLICOLOR_FORCE"), getenv("TERM")};
    const struct terminals terminals = {
        .out = isatty(STDOUT_FILENO),
        .err = isatty(STDERR_FILENO),
        .dumb = env.term && strcmp(env.term, "dumb") == 0,
    };
    struct live *live = &job->live;

    live->progress = settings_progress(job->arguments, &job->settings, &terminals);
    live->on_terminal = terminals.err && !terminals.dumb;
    live->out_is_terminal = terminals.out;
    live->utf8 = live_utf8();
    live->style.color = settings_color((enum color)job->arguments->options[OPT_COLOR].whole,
                                       live->on_terminal, &env);
    live->goal =
        (struct progress_goal){settings_length(&job->settings), job->settings.run.iterations};
    return settings_time(job->arguments, live->progress, &job->settings, &job->faults) &&
           open_timeline(job);
}

static bool read_baseline(struct job *job)
{
    if (asked(job, OPT_COMPARE))
        job->baseline = baseline_read(text_of(job, OPT_COMPARE), &job->faults);
    return job->baseline || !asked(job, OPT_COMPARE);
}

/* All that can go wrong before the first request. */
static bool prepare(struct job *job)
{
    if (job->plan->n_steps == 0) {
        faults_error(&job->faults, PLACE_NONE, NULL, "empty benchmark");
        return false;
    }
    return settings_make(job->arguments, job->plan, &job->settings, &job->faults) &&
           wire_make(job->arguments, job->plan, &job->wire, &job->settings.run.client,
                     &job->faults) &&
           read_baseline(job) && check_descriptors(job) && open_report(job) && prepare_live(job);
}

static void tick(void *ctx, const struct run_now *now)
{
    live_tick(((struct printer *)ctx)->live, now);
}

static void init_printer(struct job *job)
{
    const struct option_value *values = job->arguments->options;
    const struct color_env env = {getenv("NO_COLOR"), getenv("CLICOLOR_FORCE"), getenv("TERM")};
    bool json = job->settings.json;
    bool is_terminal = isatty(json ? STDERR_FILENO : STDOUT_FILENO);
    struct printer *printer = &job->printer;

    printer->live = &job->live;
    printer->lines = json ? OUTPUT_ERR : OUTPUT_OUT;
    printer->quiet = json || asked(job, OPT_QUIET);
    printer->verbose = job->settings.run.wants_verbose;
    printer->style = (struct style){
        .color = settings_color((enum color)values[OPT_COLOR].whole, is_terminal, &env),
        .nanosec = asked(job, OPT_NANOSEC),
        .show_secrets = values[OPT_VERBOSE].times > 1,
    };
    job->settings.run.seed = job->seed;
    job->settings.run.format = printer_format;
    job->settings.run.write = printer_write;
    job->settings.run.tick = tick;
    job->settings.run.ctx = printer;
    job->settings.run.reader_fd = STDOUT_FILENO;
}

static bool print_banner(struct job *job)
{
    struct buf out;
    bool good;

    buf_init(&out, BUF_NO_MAX);
    banner_write(&out, &job->printer.style, &job->settings.banner);
    good = printer_write(&job->printer, job->printer.lines, buf_str(&out));
    buf_fini(&out);
    return good;
}

/* A report that could not be written whole does not take FILE's place. */
static void close_report(struct job *job, bool commit)
{
    struct printer *printer = &job->printer;
    const char *why;

    if (!printer->report)
        return;
    if (!outfile_close(printer->report, commit && !printer->report_failed, &why) &&
        !printer->report_failed) {
        console_error("couldn't write the report %s: %s", printer->report_path, why);
        printer->report_failed = true;
    }
    printer->report = NULL;
}

/* An interrupted run's report is kept too; one of nothing is not. */
static void keep_report(struct job *job)
{
    const struct printer *printer = &job->printer;

    if (printer->report && !printer->report_written && !printer->report_failed &&
        printer->status == CLI_OK)
        faults_warning(&job->faults, PLACE_NONE, NULL,
                       "no requests completed; report file '%s' not written", printer->report_path);
    print_faults(job);
    close_report(job, printer->report_written);
}

/* The result is true if something has become slower. */
static bool add_comparison(const struct job *job, const struct snapshot *snapshot, struct buf *out)
{
    struct regression *regressions = NULL;
    double threshold_ms = job->arguments->options[OPT_THRESHOLD].number;
    size_t n = compare(job->baseline, snapshot, threshold_ms, &regressions);

    results_compare(out, &job->printer.style, regressions, n);
    free(regressions);
    return n > 0;
}

static bool print_results(struct job *job, const struct snapshot *snapshot)
{
    const struct settings *settings = &job->settings;
    bool slower = false;
    struct buf out;

    buf_init(&out, BUF_NO_MAX);
    if (settings->json)
        results_json(&out, snapshot);
    else if (settings->stats)
        results_text(&out, &job->printer.style, asked(job, OPT_VERBOSE), snapshot);
    if (job->baseline)
        slower = add_comparison(job, snapshot, &out);
    printer_write(&job->printer, OUTPUT_OUT, buf_str(&out));
    buf_fini(&out);
    return !slower;
}

/* Are the figures the tool's own? */
static void print_warnings(struct job *job, const struct snapshot *snapshot)
{
    struct verdict verdict;
    struct buf all;

    verdict_make(&verdict, snapshot);
    if (verdict.n == 0)
        return;
    buf_init(&all, BUF_NO_MAX);
    for (size_t i = 0; i < verdict.n; i++)
        buf_addf(&all, "%s%s", i ? "; " : "", verdict.warnings[i]);
    faults_warning(&job->faults, PLACE_NONE, NULL,
                   "the figures are the load generator's, not the server's: %.*s", (int)all.n,
                   all.p);
    buf_fini(&all);
    print_faults(job);
}

static void print_failures(const struct run_result *result)
{
    if (result->assertions_failed)
        console_error("%llu assertion(s) failed", (unsigned long long)result->assertions_failed);
    if (result->abandoned)
        console_error("%llu iteration(s) given up for a missing variable",
                      (unsigned long long)result->abandoned);
    if (result->not_sent)
        console_error("%llu request(s) could not be sent as written",
                      (unsigned long long)result->not_sent);
}

/* What is known when the run is over, and the exit status. */
static int finish(struct job *job, struct snapshot *snapshot)
{
    const struct run_result *result = &job->result;
    const struct printer *printer = &job->printer;
    bool failed;

    if (!snapshot->version)
        snapshot->version = help_version();
    if (result->reader_gone && job->printer.status == CLI_OK)
        job->printer.status = CLI_PIPE_GONE;
    live_close(&job->live, snapshot->timeline);
    keep_report(job);
    failed = !print_results(job, snapshot);
    if (printer->status != CLI_PIPE_GONE) {
        print_warnings(job, snapshot);
        print_failures(result);
    }
    if (result->signal)
        return 128 + result->signal;
    if (printer->status != CLI_OK)
        return printer->status;
    failed |= printer->report_failed || job->live.failed || result->assertions_failed ||
              result->abandoned || result->not_sent;
    return failed ? CLI_FAILED : CLI_OK;
}

/* There is no run, and nothing to write of it. */
static void drop_files(struct job *job)
{
    live_close(&job->live, NULL);
    close_report(job, false);
}

static int run_job(struct job *job)
{
    struct snapshot snapshot;
    const char *why;
    int status = CLI_FAILED;

    if (!print_banner(job)) {
        drop_files(job);
        return job->printer.status;
    }
    live_start(&job->live);
    if (run(&job->settings.run, &snapshot, &job->result, &why)) {
        status = finish(job, &snapshot);
        snapshot_fini(&snapshot);
    } else {
        drop_files(job);
        console_error("%s", why);
    }
    return status;
}

static int execute(struct job *job)
{
    if (!settings_check(job->arguments, &job->faults) || !find_url(job) || !load_plan(job))
        return CLI_FAILED;
    print_faults(job);
    if (asked(job, OPT_LIST_TAGS) || asked(job, OPT_LIST_TASKS))
        return print_listing(job);
    if (!prepare(job)) {
        drop_files(job);
        return CLI_FAILED;
    }
    print_faults(job);
    init_printer(job);
    return run_job(job);
}

int cmd_run(const struct arguments *arguments)
{
    struct job job = {
        .arguments = arguments,
        .seed = arguments_has(arguments, OPT_SEED) ? arguments->options[OPT_SEED].whole
                                                   : rng_random_seed(),
    };
    int status;

    faults_init(&job.faults);
    status = execute(&job);
    print_faults(&job);
    baseline_free(job.baseline);
    settings_fini(&job.settings);
    wire_fini(&job.wire);
    plan_free(job.plan);
    xstr_free(job.plan_text);
    xstr_free(job.url_input);
    /* exit would wait for a name look-up that may never end. */
    if (job.result.leaves_threads)
        _exit(status);
    return status;
}
