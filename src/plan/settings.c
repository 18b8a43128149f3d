#include "base/url.h"
#include "plan/compile.h"

static bool add_env(void *ctx, const struct path *path, struct buf *out)
{
    (void)ctx;
    return path->has_env && buf_add_str(out, path->env);
}

bool compile_env_text(struct compiler *c, struct str text, struct place at, const char *what,
                      struct str *out)
{
    struct arena *arena = &c->plan->arena;
    struct template template;
    struct buf rendered;
    bool ok;

    c->scope.env_only = true;
    ok = template_compile(text, &c->scope, arena, at, what, c->faults, &template);
    c->scope.env_only = false;
    if (!ok)
        return false;
    buf_init(&rendered, BUF_NO_MAX);
    if (!template_render(&template, add_env, NULL, &rendered))
        *out = arena_copy(arena, buf_str(&rendered));
    else
        *out = STR(""); /* --relaxed-interpolations */
    buf_fini(&rendered);
    return true;
}

bool compile_env_scalar(struct compiler *c, const struct source *source,
                        const struct yaml_node *node, const char *what, struct str *out)
{
    struct place at = yaml_place(source->file, node);

    if (node->kind != YAML_SCALAR || yaml_is_null(node)) {
        faults_error(c->faults, at, NULL, "%s must be a text or a number", what);
        return false;
    }
    if (!compile_env_text(c, node->text, at, what, out))
        return false;
    *out = str_trim(*out);
    return true;
}

void compile_base(struct compiler *c, struct str text, struct place at)
{
    struct str base;

    c->base_faulty = true;
    if (!compile_env_text(c, str_trim(text), at, "base", &base))
        return;
    base = str_trim(base);
    if (base.n && !compile_check_url(c, base, at, "base"))
        return;
    c->base_faulty = false;
    c->plan->base = base;
}

static void wrong_count(struct compiler *c, struct place at, const char *what, struct str text)
{
    faults_error(c->faults, at, NULL, "%s must be a whole number of at least 1, not '%.*s'", what,
                 text.n < 80 ? (int)text.n : 80, text.p);
}

/* A whole number from 1 to max, or a text that holds one once the environment is filled in. */
static bool read_count(struct compiler *c, const struct source *source,
                       const struct yaml_node *node, const char *what, uint64_t max, uint64_t *out)
{
    struct place at = yaml_place(source->file, node);
    struct str text;
    int64_t value;

    if (node->kind != YAML_SCALAR) {
        faults_error(c->faults, at, NULL, "%s must be a whole number of at least 1", what);
        return false;
    }
    if (!yaml_as_i64(node, &value)) {
        if (!compile_env_text(c, node->text, at, what, &text))
            return false;
        text = str_trim(text);
        if (!str_to_i64(text, &value)) {
            size_t digits = 0;

            while (digits < text.n && text.p[digits] >= '0' && text.p[digits] <= '9')
                digits++;
            if (digits < text.n || digits == 0) {
                wrong_count(c, at, what, text);
                return false;
            }
            value = INT64_MAX;
        }
    }
    if (value < 1) {
        wrong_count(c, at, what, node->text);
        return false;
    }
    if ((uint64_t)value > max) {
        faults_error(c->faults, at, NULL, "%s is at most %llu", what, (unsigned long long)max);
        return false;
    }
    *out = (uint64_t)value;
    return true;
}

static void read_rampup(struct compiler *c, const struct source *source,
                        const struct yaml_node *node)
{
    struct place at = yaml_place(source->file, node);
    struct str text;
    double value;

    if (node->kind != YAML_SCALAR) {
        faults_error(c->faults, at, NULL, "rampup must be a number of seconds");
        return;
    }
    if (!yaml_as_double(node, &value)) {
        if (!compile_env_text(c, node->text, at, "rampup", &text))
            return;
        text = str_trim(text);
        if (!str_to_double(text, &value)) {
            faults_error(c->faults, at, NULL, "rampup must be a number of seconds, not '%.*s'",
                         text.n < 80 ? (int)text.n : 80, text.p);
            return;
        }
    }
    if (!(value >= 0 && value <= PLAN_MAX_SECONDS))
        faults_error(c->faults, at, NULL, "rampup must be from 0 to %.0f seconds, not %g",
                     PLAN_MAX_SECONDS, value);
    else
        c->plan->rampup_s = value;
}

static void read_concurrency(struct compiler *c, const struct source *source,
                             const struct yaml_node *root)
{
    const struct yaml_node *node = yaml_get(root, "concurrency");
    const struct yaml_node *threads = yaml_get(root, "threads");
    const char *what = node ? "concurrency" : "threads";

    if (threads)
        faults_warning(c->faults, yaml_place(source->file, threads), "write 'concurrency'",
                       node ? "'threads' is passed over: 'concurrency' is there"
                            : "'threads' is read as 'concurrency'");
    if (!node)
        node = threads;
    if (node)
        c->plan->has_concurrency =
            read_count(c, source, node, what, PLAN_MAX_CONCURRENCY, &c->plan->concurrency);
}

void compile_settings(struct compiler *c, const struct source *source, const struct yaml_node *root)
{
    const struct yaml_node *base = yaml_get(root, "base");
    const struct yaml_node *iterations = yaml_get(root, "iterations");
    const struct yaml_node *rampup = yaml_get(root, "rampup");
    const struct yaml_node *tls = yaml_get(root, "tls");
    struct plan *plan = c->plan;

    schema_check(SCHEMA_SETTINGS, root, source->file, c->options->strict_keys, c->faults);
    if (c->options->base.p) {
        compile_base(c, c->options->base, PLACE_NONE);
    } else if (base && base->kind != YAML_SCALAR) {
        c->base_faulty = true;
        faults_error(c->faults, yaml_place(source->file, base), NULL, "base must be a URL");
    } else if (base && !yaml_is_null(base)) {
        compile_base(c, base->text, yaml_place(source->file, base));
    }
    if (iterations)
        plan->has_iterations =
            read_count(c, source, iterations, "iterations", PLAN_MAX_ITERATIONS, &plan->iterations);
    read_concurrency(c, source, root);
    if (rampup)
        read_rampup(c, source, rampup);
    compile_load(c, source, root);
    if (tls)
        compile_tls(c, source, tls);
}
