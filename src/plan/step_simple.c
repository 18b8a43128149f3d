#include "base/amount.h"
#include "base/clock.h"
#include "plan/compile.h"

static const char delay_help[] = "delay: {seconds: 3}";

static void key_and_value(struct compiler *c, const struct step_in *in, const char *step,
                          const struct yaml_node *mapping, const struct yaml_node **key,
                          const struct yaml_node **value)
{
    *key = yaml_get(mapping, "key");
    *value = yaml_get(mapping, "value");
    if (mapping && (!*key || !*value))
        faults_error(c->faults, compile_at(in, mapping), "{key: name, value: text}",
                     "%s needs a '%s'", step, *key ? "value" : "key");
}

static unsigned template_origin(const struct compiler *c, const struct template *t)
{
    unsigned origin = ORIGIN_PLAN;

    for (size_t i = 0; i < t->n; i++) {
        if (t->parts[i].is_path)
            origin |= path_origin(&t->parts[i].path, &c->scope);
    }
    return origin;
}

void compile_assign(struct compiler *c, const struct step_in *in, struct step *step)
{
    const struct yaml_node *key, *value,
        *mapping =
            compile_mapping(c, in, "assign", SCHEMA_ASSIGN, "assign: {key: name, value: text}");
    unsigned origin = ORIGIN_PLAN;

    step->kind = STEP_ASSIGN;
    key_and_value(c, in, "assign", mapping, &key, &value);
    if (value && compile_text(c, in, value, "value", &step->assign.value))
        origin = template_origin(c, &step->assign.value);
    step->assign.slot = compile_variable(c, in, key, origin);
    if (key && key->kind == YAML_SCALAR)
        step->assign.key = arena_copy(&c->plan->arena, key->text);
    compile_name_of(c, step, "assign", step->assign.key);
}

void compile_assert(struct compiler *c, const struct step_in *in, struct step *step)
{
    const struct yaml_node *key, *value,
        *mapping = compile_mapping(c, in, "assert", SCHEMA_ASSERT,
                                   "assert: {key: name.status, value: 200}");
    struct step_assert *assertion = &step->assertion;

    step->kind = STEP_ASSERT;
    key_and_value(c, in, "assert", mapping, &key, &value);
    if (key && (key->kind != YAML_SCALAR || key->text.n == 0))
        faults_error(c->faults, compile_at(in, key), NULL, "key must be the path of a variable");
    else if (key)
        path_compile(key->text, &c->scope, &c->plan->arena, compile_at(in, key), "key", c->faults,
                     &assertion->key);
    if (value)
        compile_text(c, in, value, "value", &assertion->value);
    compile_name_of(c, step, "assert", assertion->key.text);
}

/* "3s", "0.5s", "250ms" */
static struct str shown_time(struct compiler *c, const struct yaml_node *node, const char *unit)
{
    struct str shown;
    struct buf text;
    int64_t whole;
    double value = 0;

    buf_init(&text, BUF_NO_MAX);
    if (yaml_as_i64(node, &whole))
        buf_add_i64(&text, whole);
    else if (yaml_as_double(node, &value))
        json_number(&text, value);
    buf_add_str(&text, str_of(unit));
    shown = arena_copy(&c->plan->arena, buf_str(&text));
    buf_fini(&text);
    return shown;
}

/* One end of a delay between two times: a number of seconds, or a text with units. */
static bool read_bound(struct compiler *c, const struct step_in *in, const struct yaml_node *node,
                       const char *what, uint64_t *ns)
{
    if (node->kind == YAML_SCALAR && amount_duration_or_zero(node->text, ns))
        return true;
    faults_error(c->faults, compile_at(in, node), NULL,
                 "%s must be a time: a number of seconds, or 500ms, 2s, 1m30s", what);
    return false;
}

/* "1-3s" of numbers, "500ms-2s" of texts. */
static struct str shown_range(struct compiler *c, const struct yaml_node *min,
                              const struct yaml_node *max)
{
    double number;
    bool min_alone = str_to_double(min->text, &number);
    bool max_alone = str_to_double(max->text, &number);
    struct str shown;
    struct buf text;

    buf_init(&text, BUF_NO_MAX);
    buf_add_str(&text, min->text);
    buf_add_str(&text, min_alone && !max_alone ? STR("s-") : STR("-"));
    buf_add_str(&text, max->text);
    buf_add_str(&text, max_alone ? STR("s") : STR(""));
    shown = arena_copy(&c->plan->arena, buf_str(&text));
    buf_fini(&text);
    return shown;
}

static void compile_range(struct compiler *c, const struct step_in *in,
                          const struct yaml_node *mapping, struct step_delay *delay)
{
    static const char help[] = "delay: {min: 1, max: 3}";
    const struct yaml_node *min = yaml_get(mapping, "min");
    const struct yaml_node *max = yaml_get(mapping, "max");

    if (yaml_get(mapping, "seconds") || yaml_get(mapping, "milliseconds")) {
        faults_error(c->faults, compile_at(in, mapping), help,
                     "delay needs 'min' and 'max', or one time, not both");
    } else if (!min || !max) {
        faults_error(c->faults, compile_at(in, mapping), help, "delay has a '%s', and needs a '%s'",
                     min ? "min" : "max", min ? "max" : "min");
    } else if (read_bound(c, in, min, "min", &delay->ns) &&
               read_bound(c, in, max, "max", &delay->max_ns)) {
        delay->shown = shown_range(c, min, max);
        if (delay->ns > delay->max_ns)
            faults_error(c->faults, compile_at(in, min), help, "min must not be above max");
    }
}

static void compile_fixed(struct compiler *c, const struct step_in *in,
                          const struct yaml_node *mapping, struct step_delay *delay)
{
    const struct yaml_node *seconds = yaml_get(mapping, "seconds");
    const struct yaml_node *millis = yaml_get(mapping, "milliseconds");

    if (!seconds == !millis)
        faults_error(c->faults, compile_at(in, mapping), delay_help,
                     "delay needs 'seconds' or 'milliseconds'%s", seconds ? ", not both" : "");
    if (seconds && compile_time(c, in, seconds, "seconds", NS_PER_S, &delay->ns))
        delay->shown = shown_time(c, seconds, "s");
    if (millis && compile_time(c, in, millis, "milliseconds", NS_PER_MS, &delay->ns))
        delay->shown = shown_time(c, millis, "ms");
    delay->max_ns = delay->ns;
}

void compile_delay(struct compiler *c, const struct step_in *in, struct step *step)
{
    const struct yaml_node *mapping = compile_mapping(c, in, "delay", SCHEMA_DELAY, delay_help);

    step->kind = STEP_DELAY;
    if (!mapping)
        return;
    if (yaml_get(mapping, "min") || yaml_get(mapping, "max"))
        compile_range(c, in, mapping, &step->delay);
    else
        compile_fixed(c, in, mapping, &step->delay);
    compile_name_of(c, step, "delay", step->delay.shown);
}

/* Told once for a command: the first value that a stranger may have written. */
static void warn_of_strangers(struct compiler *c, struct place at, const struct template *command)
{
    for (size_t i = 0; i < command->n; i++) {
        const struct path *path = &command->parts[i].path;
        unsigned origin = command->parts[i].is_path ? path_origin(path, &c->scope) : ORIGIN_PLAN;

        if (origin == ORIGIN_PLAN)
            continue;
        faults_warning(c->faults, at, "whoever can choose the value can run commands here",
                       "command: '%.*s' comes from %s and is passed to the shell as it is",
                       path->text.n < 80 ? (int)path->text.n : 80, path->text.p,
                       origin & ORIGIN_RESPONSE ? "a response"
                       : origin & ORIGIN_DATA   ? "a data file"
                                                : "the environment");
        return;
    }
}

void compile_exec(struct compiler *c, const struct step_in *in, struct step *step)
{
    static const char help[] = "exec: {command: echo hello}";
    const struct yaml_node *mapping = compile_mapping(c, in, "exec", SCHEMA_EXEC, help);
    const struct yaml_node *command = yaml_get(mapping, "command");
    const struct yaml_node *timeout = yaml_get(in->node, "timeout");
    struct step_exec *exec = &step->exec;
    unsigned origin = ORIGIN_PLAN;

    step->kind = STEP_EXEC;
    exec->timeout_ns = 60 * NS_PER_S;
    if (mapping && (!command || yaml_is_null(command) ||
                    (command->kind == YAML_SCALAR && str_trim(command->text).n == 0))) {
        faults_error(c->faults, compile_at(in, command ? command : mapping), help,
                     "exec needs a 'command'");
    } else if (command && compile_text(c, in, command, "command", &exec->command)) {
        origin = template_origin(c, &exec->command);
        if (memchr(command->text.p, '\0', command->text.n))
            faults_error(c->faults, compile_at(in, command), NULL,
                         "command: a NUL cannot be passed to the shell");
        warn_of_strangers(c, compile_at(in, command), &exec->command);
    }
    if (timeout && compile_time(c, in, timeout, "timeout", NS_PER_S, &exec->timeout_ns) &&
        exec->timeout_ns == 0)
        faults_error(c->faults, compile_at(in, timeout), NULL, "timeout must be more than 0");
    exec->assign = compile_variable(c, in, yaml_get(in->node, "assign"), origin);
    compile_name_of(c, step, "exec", exec->command.source);
}
