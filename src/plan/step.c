#include <math.h>

#include "base/clock.h"
#include "plan/compile.h"

/* Of a command that a step is called after. */
#define NAME_MAX_BYTES 60

struct place compile_at(const struct step_in *in, const struct yaml_node *node)
{
    return yaml_place(in->source->file, node);
}

void compile_check(struct compiler *c, const struct step_in *in, enum schema_place where,
                   const struct yaml_node *mapping)
{
    schema_check(where, mapping, in->source->file, c->options->strict_keys, c->faults);
}

const struct yaml_node *compile_mapping(struct compiler *c, const struct step_in *in,
                                        const char *key, enum schema_place where, const char *help)
{
    const struct yaml_node *node = yaml_get(in->node, key);

    if (node->kind == YAML_MAPPING) {
        compile_check(c, in, where, node);
        return node;
    }
    faults_error(c->faults, compile_at(in, node), help, "%s must be a mapping", key);
    return NULL;
}

bool compile_text(struct compiler *c, const struct step_in *in, const struct yaml_node *node,
                  const char *what, struct template *out)
{
    struct place at = compile_at(in, node);

    if (node->kind != YAML_SCALAR) {
        faults_error(c->faults, at, NULL, "%s must be a text, a number or a truth value", what);
        return false;
    }
    return template_compile(yaml_is_null(node) ? STR("") : node->text, &c->scope, &c->plan->arena,
                            at, what, c->faults, out);
}

bool compile_file_name(struct compiler *c, const struct step_in *in, const struct yaml_node *node,
                       const char *key)
{
    struct place at = compile_at(in, node);

    if (node->kind != YAML_SCALAR || node->text.n == 0 || yaml_is_null(node) ||
        memchr(node->text.p, '\0', node->text.n)) {
        faults_error(c->faults, at, NULL, "%s must name a file", key);
        return false;
    }
    if (!memmem(node->text.p, node->text.n, "{{", 2))
        return true;
    faults_error(c->faults, at, "files are read once, before there are any variables",
                 "%s: no templates in a file's name", key);
    return false;
}

uint32_t compile_variable(struct compiler *c, const struct step_in *in,
                          const struct yaml_node *node, unsigned origin)
{
    struct str name, root;
    struct path path;

    if (!node)
        return SLOT_NONE;
    if (node->kind != YAML_SCALAR || node->text.n == 0 || yaml_is_null(node)) {
        faults_error(c->faults, compile_at(in, node), NULL, "a variable needs a name");
        return SLOT_NONE;
    }
    root = name = node->text;
    if (scope_find(&c->scope, name) < SLOT_FIRST_OWN) {
        faults_error(c->faults, compile_at(in, node), "choose another name",
                     "driller itself sets the variable '%.*s'", (int)name.n, name.p);
        return SLOT_NONE;
    }
    if (!scope_name_valid(name)) {
        faults_error(c->faults, compile_at(in, node), "a letter, then letters, digits and - _ $",
                     "a variable cannot be called '%.*s'", name.n < 80 ? (int)name.n : 80, name.p);
        /* What uses it is not a second fault. */
        if (!path_parse(name, &c->plan->arena, &root, &path) ||
            scope_find(&c->scope, root) < SLOT_FIRST_OWN)
            return SLOT_NONE;
    }
    if (in->runs)
        return scope_set(&c->scope, root, origin);
    scope_leave_out(&c->scope, root);
    return SLOT_NONE;
}

bool compile_time(struct compiler *c, const struct step_in *in, const struct yaml_node *node,
                  const char *what, uint64_t unit_ns, uint64_t *ns)
{
    double value, unit = (double)unit_ns;

    if (!yaml_as_double(node, &value)) {
        faults_error(c->faults, compile_at(in, node), NULL, "%s must be a number", what);
        return false;
    }
    if (!(value >= 0 && value * unit <= PLAN_MAX_SECONDS * (double)NS_PER_S)) {
        faults_error(c->faults, compile_at(in, node), NULL, "%s must be from 0 to %.0f, not %g",
                     what, PLAN_MAX_SECONDS * (double)NS_PER_S / unit, value);
        return false;
    }
    *ns = (uint64_t)llround(value * unit);
    return true;
}

void compile_name_of(struct compiler *c, struct step *step, const char *what, struct str object)
{
    size_t shown = str_find(object, '\n');
    struct buf name;

    if (step->name.source.n)
        return;
    if (shown > NAME_MAX_BYTES) {
        shown = NAME_MAX_BYTES;
        while (((unsigned char)object.p[shown] & 0xc0) == 0x80)
            shown--;
    }
    buf_init(&name, BUF_NO_MAX);
    buf_addf(&name, "%s ", what);
    buf_add(&name, object.p, shown);
    if (shown < object.n)
        buf_add_str(&name, STR("…"));
    step->name = template_of(arena_copy(&c->plan->arena, buf_str(&name)), &c->plan->arena);
    buf_fini(&name);
}

/* What a step does: the first of these keys that it has, in this order. */
static enum schema_place kind_of(const struct yaml_node *node)
{
    const struct yaml_node *assign = yaml_get(node, "assign");
    const char *key;

    if (yaml_get(node, "include"))
        return SCHEMA_STEP_INCLUDE;
    if (yaml_get(node, "request") && items_node(node, &key))
        return SCHEMA_STEP_REQUEST;
    if (yaml_get(node, "delay"))
        return SCHEMA_STEP_DELAY;
    if (yaml_get(node, "exec"))
        return SCHEMA_STEP_EXEC;
    /* Beside a request a text says where the response is kept. */
    if (assign && assign->kind == YAML_MAPPING)
        return SCHEMA_STEP_ASSIGN;
    if (yaml_get(node, "assert"))
        return SCHEMA_STEP_ASSERT;
    if (yaml_get(node, "request"))
        return SCHEMA_STEP_REQUEST;
    return SCHEMA_STEP_NONE;
}

/* A step that does nothing; most likely what it should do is misspelt. */
static void compile_none(struct compiler *c, const struct step_in *in, struct step *step)
{
    const struct yaml_node *node = in->node, *unknown = NULL, *assign = yaml_get(node, "assign");
    const char *key, *help;

    step->kind = STEP_ASSIGN;
    for (size_t i = 0; i < node->n && !unknown; i++) {
        if (!schema_is_step_key(node->keys[i]->text))
            unknown = node->keys[i];
    }
    help = unknown ? schema_nearest_step(unknown->text) : NULL;
    if (!help)
        help = "a step has one of: request, assign, assert, delay, exec, include";
    if (unknown)
        faults_error(c->faults, compile_at(in, unknown), help, "no step is called '%.*s'",
                     unknown->text.n < 80 ? (int)unknown->text.n : 80, unknown->text.p);
    else if (assign)
        faults_error(c->faults, compile_at(in, assign), "assign: {key: name, value: text}",
                     "assign must be a mapping");
    else
        faults_error(c->faults, compile_at(in, node), help, "this step does nothing");
    /* What it would set is not unknown to the steps behind it. */
    if (in->runs && assign && assign->kind == YAML_SCALAR && scope_name_valid(assign->text))
        scope_set(&c->scope, assign->text, ORIGIN_PLAN);
    c->scope.item_known = c->scope.item_known || items_node(node, &key);
}

static void compile_name(struct compiler *c, const struct step_in *in, struct step *step)
{
    const struct yaml_node *name = yaml_get(in->node, "name");

    if (name && name->kind != YAML_SCALAR)
        faults_error(c->faults, compile_at(in, name), NULL, "name must be a text or a number");
    else if (name)
        compile_text(c, in, name, "name", &step->name);
}

/* The number of its name among those that statistics are kept for. */
static uint32_t stat_of(struct compiler *c, struct str name)
{
    struct plan *plan = c->plan;
    uint32_t stat = (uint32_t)plan->n_names;

    if (map_add(&c->names, name, stat, &stat)) {
        plan->names = compile_grow(plan->names, plan->n_names, &c->cap_names, sizeof(*plan->names));
        plan->names[plan->n_names++] = name;
    }
    return stat;
}

static void add_step(struct compiler *c, const struct step_in *in, struct step *step)
{
    struct plan *plan = c->plan;
    struct buf listing;

    if (step->kind == STEP_REQUEST)
        step->stat = stat_of(c, step->name.source);
    if (c->options->listings) {
        buf_init(&listing, BUF_NO_MAX);
        yaml_emit(in->node, 0, &listing);
        step->listing = arena_copy(&plan->arena, buf_str(&listing));
        buf_fini(&listing);
    }
    plan->steps = compile_grow(plan->steps, plan->n_steps, &c->cap_steps, sizeof(*plan->steps));
    plan->steps[plan->n_steps++] = *step;
}

static bool has_room(struct compiler *c, struct place at)
{
    if (c->n_read++ < PLAN_MAX_STEPS)
        return true;
    faults_error(c->faults, at, NULL, "a plan has at most %d steps", PLAN_MAX_STEPS);
    c->full = true;
    return false;
}

void compile_step(struct compiler *c, const struct source *source, const struct yaml_node *node,
                  struct tag_set inherited)
{
    static void (*const compilers[])(struct compiler *, const struct step_in *, struct step *) = {
        [SCHEMA_STEP_NONE] = compile_none,     [SCHEMA_STEP_REQUEST] = compile_request,
        [SCHEMA_STEP_ASSIGN] = compile_assign, [SCHEMA_STEP_ASSERT] = compile_assert,
        [SCHEMA_STEP_DELAY] = compile_delay,   [SCHEMA_STEP_EXEC] = compile_exec,
    };
    struct step_in in = {.source = source, .node = node};
    struct step step = {.at = yaml_place(source->file, node)};
    enum schema_place kind;

    if (node->kind != YAML_MAPPING) {
        faults_error(c->faults, step.at, "- name: …", "a step must be a mapping");
        return;
    }
    kind = kind_of(node);
    in.tags = tags_compile(c, source, node, inherited);
    if (kind == SCHEMA_STEP_INCLUDE) {
        compile_include(c, &in);
        return;
    }
    if (!has_room(c, step.at))
        return;
    in.runs = tag_set_runs(in.tags, c->options);
    c->scope.relaxed = c->options->relaxed || c->blind || !in.runs;
    if (kind != SCHEMA_STEP_NONE)
        compile_check(c, &in, kind, node);
    if (kind == SCHEMA_STEP_REQUEST)
        compile_items(c, &in, &step);
    compile_name(c, &in, &step);
    compilers[kind](c, &in, &step);
    if (in.runs)
        add_step(c, &in, &step);
}
