/* The settings of the load and of its length: what the command line's options of the same names
 * say, from the plan. */
#include "base/amount.h"
#include "plan/compile.h"

/* The value of a key as text; false if it is not there or, with an error, no text. */
static bool read_text(struct compiler *c, const struct source *source,
                      const struct yaml_node *mapping, const char *key, struct str *text)
{
    const struct yaml_node *node = yaml_get(mapping, key);

    return node && compile_env_scalar(c, source, node, key, text);
}

static void read_rate(struct compiler *c, const struct source *source, const struct yaml_node *root)
{
    struct str text;
    const char *why;

    if (!read_text(c, source, root, "rate", &text))
        return;
    why = load_set_rate(&c->plan->load, text);
    if (why)
        faults_error(c->faults, yaml_place(source->file, yaml_get(root, "rate")), NULL,
                     "rate: '%.*s': %s", text.n < 80 ? (int)text.n : 80, text.p, why);
}

static void read_time(struct compiler *c, const struct source *source, const struct yaml_node *root,
                      const char *key, bool (*parse)(struct str text, uint64_t *ns), uint64_t *ns)
{
    struct str text;

    if (read_text(c, source, root, key, &text) && !parse(text, ns))
        faults_error(c->faults, yaml_place(source->file, yaml_get(root, key)),
                     "numbers with ms, s, m or h: 500ms, 30s, 1m30s; a number alone is seconds",
                     "%s: '%.*s' is not a duration", key, text.n < 80 ? (int)text.n : 80, text.p);
}

/* One of two words; *second tells which. False if it is not there or neither of them. */
static bool read_choice(struct compiler *c, const struct source *source,
                        const struct yaml_node *root, const char *key, const char *const words[2],
                        bool *second)
{
    struct str text;

    if (!read_text(c, source, root, key, &text))
        return false;
    *second = str_eq(text, str_of(words[1]));
    if (*second || str_eq(text, str_of(words[0])))
        return true;
    faults_error(c->faults, yaml_place(source->file, yaml_get(root, key)),
                 faults_did_you_mean(text, words, 2), "%s must be '%s' or '%s', not '%.*s'", key,
                 words[0], words[1], text.n < 80 ? (int)text.n : 80, text.p);
    return false;
}

/* False, and an error, if it is no stage; nothing is then said of those behind it. */
static bool read_stage(struct compiler *c, const struct source *source,
                       const struct yaml_node *stage)
{
    static const char help[] = "{duration: 30s, users: 100} or {duration: 30s, rate: 100}";
    struct place at = yaml_place(source->file, stage);
    struct str duration, target;
    const char *why;

    if (stage->kind != YAML_MAPPING) {
        faults_error(c->faults, at, help, "a stage must be a mapping");
        return false;
    }
    schema_check(SCHEMA_STAGE, stage, source->file, c->options->strict_keys, c->faults);
    bool has_rate = yaml_get(stage, "rate"), has_users = yaml_get(stage, "users");
    if (!yaml_get(stage, "duration") || has_rate == has_users) {
        faults_error(c->faults, at, help, "a stage needs 'duration' and either 'users' or 'rate'");
        return false;
    }
    if (!read_text(c, source, stage, "duration", &duration) ||
        !read_text(c, source, stage, has_rate ? "rate" : "users", &target))
        return false;
    why = load_add_stage(&c->plan->load, duration, target, has_rate ? STAGE_RATE : STAGE_USERS);
    if (why)
        faults_error(c->faults, at, help, "stages: %s", why);
    return !why;
}

static void read_stages(struct compiler *c, const struct source *source,
                        const struct yaml_node *list)
{
    struct place at = yaml_place(source->file, list);
    const char *why;

    if (list->kind != YAML_SEQUENCE || list->n == 0) {
        faults_error(c->faults, at, "stages: [{duration: 30s, users: 100}]",
                     "stages must be a list of at least one stage");
        return;
    }
    for (size_t i = 0; i < list->n; i++) {
        if (!read_stage(c, source, list->items[i]))
            return;
    }
    why = load_check_stages(&c->plan->load);
    if (why)
        faults_error(c->faults, at, NULL, "stages: %s", why);
}

static void exclude(struct compiler *c, const struct source *source, const struct yaml_node *root,
                    const char *a, const char *b, const char *help)
{
    const struct yaml_node *node = yaml_get(root, b);

    if (node && yaml_get(root, a))
        faults_error(c->faults, yaml_place(source->file, node), help,
                     "%s and %s exclude each other", a, b);
}

static void check_together(struct compiler *c, const struct source *source,
                           const struct yaml_node *root)
{
    exclude(c, source, root, "iterations", "duration", NULL);
    exclude(c, source, root, "rate", "stages", "stages may have rates: {duration: 30s, rate: 100}");
    exclude(c, source, root, "rate", "rampup",
            "a rate rises by stages: stages: [{duration: 10s, rate: 100}]");
    exclude(c, source, root, "stages", "rampup", "the first stage is a ramp-up, from 0");
    exclude(c, source, root, "stages", "duration", "the run ends with the last stage");
    if (load_has_user_stages(&c->plan->load))
        exclude(c, source, root, "stages", "concurrency",
                "the stages say how many users there are");
}

void compile_load(struct compiler *c, const struct source *source, const struct yaml_node *root)
{
    static const char *const arrivals[] = {"constant", "poisson"};
    static const char *const when_late[] = {"queue", "drop"};
    struct plan *plan = c->plan;
    const struct yaml_node *stages = yaml_get(root, "stages");
    bool poisson = false;

    read_rate(c, source, root);
    if (stages)
        read_stages(c, source, stages);
    plan->has_arrival = read_choice(c, source, root, "arrival", arrivals, &poisson);
    plan->load.arrival = poisson ? ARRIVAL_POISSON : ARRIVAL_CONSTANT;
    plan->has_when_late = read_choice(c, source, root, "when_late", when_late, &plan->drop_late);
    read_time(c, source, root, "duration", amount_duration, &plan->duration_ns);
    read_time(c, source, root, "warmup", amount_duration_or_zero, &plan->warmup_ns);
    read_time(c, source, root, "grace", amount_duration_or_zero, &plan->grace_ns);
    read_time(c, source, root, "pacing", amount_duration_or_zero, &plan->pacing_ns);
    check_together(c, source, root);
}
