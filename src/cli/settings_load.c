#include "cli/settings_load.h"

#include <math.h>

#include "base/amount.h"

#define DEFAULT_IN_FLIGHT 1000 /* users of an open loop */

static const struct option_value *value_of(const struct arguments *arguments, enum option_id id)
{
    return &arguments->options[id];
}

static bool fail(struct faults *faults, const char *help, const char *text)
{
    faults_error(faults, PLACE_NONE, help, "%s", text);
    return false;
}

static bool check_time(const struct arguments *arguments, enum option_id id,
                       bool (*parse)(struct str text, uint64_t *ns), struct faults *faults)
{
    const struct option_value *value = value_of(arguments, id);
    uint64_t ns;

    if (!value->times || parse(str_of(value->text), &ns))
        return true;
    faults_error(faults, PLACE_NONE, "a duration is a number with ms, s, m or h: 500ms, 30s, 1m30s",
                 "%s: '%s' is not a duration", option_table[id].name, value->text);
    return false;
}

/* --rate or --stages, into a zeroed load; load_fini it in any case. */
static bool read_flags(const struct arguments *arguments, struct load *load, struct faults *faults)
{
    enum option_id id = arguments_has(arguments, OPT_RATE) ? OPT_RATE : OPT_STAGES;
    struct str text = str_of(value_of(arguments, id)->text), faulty = text;
    const char *why = NULL;

    if (arguments_has(arguments, id))
        why = id == OPT_RATE ? load_set_rate(load, text) : load_set_stages(load, text, &faulty);
    if (why)
        faults_error(faults, PLACE_NONE, NULL, "%s: '%.*s': %s", option_table[id].name,
                     faulty.n < 80 ? (int)faulty.n : 80, faulty.p, why);
    return !why;
}

bool settings_check_load(const struct arguments *arguments, struct faults *faults)
{
    struct load load = {0};
    bool good = check_time(arguments, OPT_DURATION, amount_duration, faults) &&
                check_time(arguments, OPT_WARMUP, amount_duration_or_zero, faults) &&
                check_time(arguments, OPT_GRACE, amount_duration_or_zero, faults) &&
                read_flags(arguments, &load, faults);

    load_fini(&load);
    return good;
}

static bool flags_say(const struct arguments *arguments)
{
    return arguments_has(arguments, OPT_RATE) || arguments_has(arguments, OPT_STAGES);
}

static bool choose_load(const struct arguments *arguments, const struct plan *plan,
                        struct settings *settings, struct faults *faults)
{
    struct load *load = &settings->run.load;
    bool good = true;

    if (flags_say(arguments)) {
        good = read_flags(arguments, load, faults);
        settings->stages = load->stages;
    } else {
        *load = plan->load;
    }
    load->arrival = arguments_has(arguments, OPT_ARRIVAL)
                        ? (enum arrival)value_of(arguments, OPT_ARRIVAL)->whole
                        : plan->load.arrival;
    settings->run.drop_late = arguments_has(arguments, OPT_WHEN_LATE)
                                  ? value_of(arguments, OPT_WHEN_LATE)->whole == LATE_DROP
                                  : plan->drop_late;
    return good;
}

/* What the table of exclusions cannot say, for it depends on the plan, or on the kind of stages. */
static bool check_together(const struct arguments *arguments, const struct load *load,
                           struct faults *faults)
{
    if (arguments_has(arguments, OPT_RAMPUP) && load->rate > 0)
        return fail(faults, "a rate rises by stages: --stages 10s:100/s,1m:100/s",
                    "--rampup does not go with the plan's rate");
    if (arguments_has(arguments, OPT_RAMPUP) && load->n_stages)
        return fail(faults, "the first stage is a ramp-up, from 0",
                    "--rampup does not go with the plan's stages");
    if (arguments_has(arguments, OPT_DURATION) && load->n_stages)
        return fail(faults, "the run ends with the last stage",
                    "--duration does not go with the plan's stages");
    if (arguments_has(arguments, OPT_CONCURRENCY) && load_has_user_stages(load))
        return fail(faults, "the stages say how many users there are",
                    "--concurrency does not go with stages of users");
    return true;
}

static bool set_length(const struct arguments *arguments, const struct plan *plan,
                       struct run_options *run, struct faults *faults)
{
    const struct option_value *iterations = value_of(arguments, OPT_ITERATIONS);
    const struct option_value *duration = value_of(arguments, OPT_DURATION);

    if (duration->times)
        amount_duration(str_of(duration->text), &run->duration_ns);
    else if (iterations->times)
        run->iterations = iterations->whole;
    else if (plan->duration_ns && !run->load.n_stages)
        run->duration_ns = plan->duration_ns;
    else if (plan->has_iterations || (!run->load.n_stages && !load_is_open(&run->load)))
        run->iterations = plan->iterations;
    return run->duration_ns || run->iterations || run->load.n_stages ||
           fail(faults, "--duration 30s, or --iterations 1000",
                "a rate needs a duration or a number of iterations");
}

static uint64_t most_users(const struct load *load)
{
    double most = 0;

    for (size_t i = 0; i < load->n_stages; i++)
        most = load->stages[i].target > most ? load->stages[i].target : most;
    return (uint64_t)ceil(most);
}

static void set_concurrency(const struct arguments *arguments, const struct plan *plan,
                            struct settings *settings)
{
    const struct option_value *concurrency = value_of(arguments, OPT_CONCURRENCY);
    struct run_options *run = &settings->run;
    bool lower = load_is_open(&run->load); /* to what can be */

    if (load_has_user_stages(&run->load)) {
        run->concurrency = most_users(&run->load);
    } else if (concurrency->times) {
        run->concurrency = concurrency->whole;
    } else if (plan->has_concurrency) {
        run->concurrency = plan->concurrency;
    } else if (load_is_open(&run->load)) {
        run->concurrency = DEFAULT_IN_FLIGHT;
        settings->may_lower = true;
    } else if (plan->has_iterations) {
        run->concurrency = plan->iterations;
        lower = true; /* it was not asked for */
    } else {
        run->concurrency = 1;
    }
    if (lower && run->iterations && run->concurrency > run->iterations)
        run->concurrency = run->iterations;
}

static bool check_concurrency(const struct run_options *run, struct faults *faults)
{
    if (run->iterations && run->concurrency > run->iterations && !load_has_user_stages(&run->load))
        return fail(faults, NULL,
                    "the concurrency can not be higher than the number of iterations");
    if (run->concurrency > PLAN_MAX_CONCURRENCY) {
        faults_error(faults, PLACE_NONE, "set it with --concurrency or in the plan",
                     "the concurrency follows the plan's iterations and is then above %llu",
                     (unsigned long long)PLAN_MAX_CONCURRENCY);
        return false;
    }
    return true;
}

static uint64_t time_of(const struct arguments *arguments, enum option_id id, uint64_t of_plan)
{
    const struct option_value *value = value_of(arguments, id);
    uint64_t ns = of_plan;

    if (value->times)
        amount_duration_or_zero(str_of(value->text), &ns);
    return ns;
}

static double rampup_of(const struct arguments *arguments, const struct plan *plan,
                        const struct load *load, struct faults *faults)
{
    if (arguments_has(arguments, OPT_RAMPUP))
        return value_of(arguments, OPT_RAMPUP)->number;
    if (plan->rampup_s > 0 && (load->rate > 0 || load->n_stages)) {
        faults_warning(faults, PLACE_NONE, NULL, "the plan's rampup does nothing with %s",
                       load->n_stages ? "stages" : "a rate");
        return 0;
    }
    return plan->rampup_s;
}

static void warn_of_idle(const struct arguments *arguments, const struct plan *plan,
                         const struct run_options *run, struct faults *faults)
{
    static const char without[] = "does nothing without a rate";

    if (load_is_open(&run->load)) {
        if (plan->pacing_ns)
            faults_warning(faults, PLACE_NONE, "the rate says when iterations start",
                           "the plan's pacing does nothing with a rate");
        return;
    }
    if (arguments_has(arguments, OPT_ARRIVAL) || plan->has_arrival)
        faults_warning(faults, PLACE_NONE, NULL, "%s %s",
                       plan->has_arrival ? "the plan's arrival" : "--arrival", without);
    if (arguments_has(arguments, OPT_WHEN_LATE) || plan->has_when_late)
        faults_warning(faults, PLACE_NONE, NULL, "%s %s",
                       plan->has_when_late ? "the plan's when_late" : "--when-late", without);
    if (run->spin)
        faults_warning(faults, PLACE_NONE, NULL, "--timer spin %s", without);
}

/* "100/s", "100r/s (poisson)"; "30s:100, 60s:100" */
static void say_load(struct settings *settings)
{
    const struct load *load = &settings->run.load;
    const char *unit = load->by_request ? "r/s" : load_is_open(load) ? "/s" : "";
    struct buf *text = &settings->load_text;

    buf_init(text, BUF_NO_MAX);
    if (load->rate > 0)
        buf_addf(text, "%.12g%s", load->rate, unit);
    for (size_t i = 0; i < load->n_stages; i++) {
        buf_add_str(text, i ? STR(", ") : STR(""));
        style_decimal(text, load->stages[i].duration_ns, 9, 0);
        buf_addf(text, "s:%.12g%s", load->stages[i].target, unit);
    }
    if (load_is_open(load) && load->arrival == ARRIVAL_POISSON)
        buf_add_str(text, STR(" (poisson)"));
}

static void set_banner(struct settings *settings, double rampup_s)
{
    const struct run_options *run = &settings->run;
    uint64_t length_ns = run->duration_ns;

    for (size_t i = 0; i < run->load.n_stages && !run->iterations; i++)
        length_ns += run->load.stages[i].duration_ns;
    say_load(settings);
    settings->banner = (struct banner){
        .concurrency = run->concurrency,
        .iterations = run->iterations,
        .duration_ns = length_ns,
        .rampup_s = rampup_s,
        .load_key = run->load.n_stages   ? STR("Stages")
                    : run->load.rate > 0 ? STR("Rate")
                                         : STR(""),
        .load = buf_str(&settings->load_text),
        .warmup_ns = run->warmup_ns,
        .grace_ns = run->grace_ns,
    };
}

bool settings_make_load(const struct arguments *arguments, const struct plan *plan,
                        struct settings *settings, struct faults *faults)
{
    struct run_options *run = &settings->run;
    double rampup_s;

    if (!choose_load(arguments, plan, settings, faults) ||
        !check_together(arguments, &run->load, faults) || !set_length(arguments, plan, run, faults))
        return false;
    set_concurrency(arguments, plan, settings);
    if (!check_concurrency(run, faults))
        return false;
    rampup_s = rampup_of(arguments, plan, &run->load, faults);
    run->rampup_ns = amount_of_seconds(rampup_s);
    run->warmup_ns = time_of(arguments, OPT_WARMUP, plan->warmup_ns);
    run->grace_ns = time_of(arguments, OPT_GRACE, plan->grace_ns);
    run->connections_first = arguments_has(arguments, OPT_CONNECTIONS_FIRST);
    run->spin = value_of(arguments, OPT_TIMER)->whole == TIMER_SPIN;
    warn_of_idle(arguments, plan, run, faults);
    set_banner(settings, rampup_s);
    return true;
}
