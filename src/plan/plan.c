#include "plan/plan.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/url.h"
#include "plan/compile.h"

void *compile_grow(void *items, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return items;
    *cap = *cap ? *cap * 2 : 8;
    return xrealloc(items, *cap * size);
}

static void compiler_init(struct compiler *c, const struct plan_options *options,
                          struct faults *faults)
{
    struct plan *plan = xcalloc(1, sizeof(*plan));

    arena_init(&plan->arena);
    plan->iterations = 1;
    plan->concurrency = 1;
    plan->base = STR("");
    *c = (struct compiler){.plan = plan, .options = options, .faults = faults};
    scope_init(&c->scope, &plan->arena);
    c->scope.relaxed = options->relaxed;
    rng_seed(&c->rng, options->seed);
    map_init(&c->names);
    map_init(&c->tags);
    map_init(&c->bodies);
    buf_init(&c->url, (size_t)4 * URL_MAX);
}

static int compare_tags(const void *a, const void *b)
{
    const struct str *tag_a = a, *tag_b = b;

    return str_cmp(*tag_a, *tag_b);
}

/* The plan, or NULL if there was an error since `errors` were counted. */
static struct plan *compiler_finish(struct compiler *c, size_t errors)
{
    struct plan *plan = c->plan;

    plan->n_slots = c->scope.n;
    plan->slot_names = xmalloc(plan->n_slots * sizeof(*plan->slot_names));
    for (size_t i = 0; i < plan->n_slots; i++)
        plan->slot_names[i] = str_of(c->scope.variables[i].name);
    if (plan->n_tags)
        qsort(plan->tags, plan->n_tags, sizeof(*plan->tags), compare_tags);
    scope_fini(&c->scope);
    map_fini(&c->names);
    map_fini(&c->tags);
    map_fini(&c->bodies);
    buf_fini(&c->url);
    if (c->faults->errors == errors)
        return plan;
    plan_free(plan);
    return NULL;
}

static void compile_plan(struct compiler *c, const struct source *source,
                         const struct yaml_node *root)
{
    const struct yaml_node *steps = yaml_get(root, "plan");

    if (root->kind != YAML_MAPPING) {
        faults_error(c->faults, yaml_place(source->file, root), "plan: [{request: {url: /}}]",
                     "a plan must be a mapping with the key 'plan'");
        return;
    }
    compile_settings(c, source, root);
    if (!steps)
        faults_error(c->faults, yaml_place(source->file, root), "plan: [{request: {url: /}}]",
                     "there is no key 'plan' with the steps");
    else if (steps->kind != YAML_SEQUENCE)
        faults_error(c->faults, yaml_place(source->file, steps), "each step begins with '- '",
                     "plan must be a list of steps");
    else
        compile_steps(c, source, steps, (struct tag_set){0});
}

struct plan *plan_load(const char *path, struct str text, const struct plan_options *options,
                       struct faults *faults)
{
    bool is_input = strcmp(path, "-") == 0;
    size_t errors = faults->errors;
    struct compiler c;
    struct source source = {0};
    struct arena arena;
    struct stat status;
    const struct yaml_node *root;

    compiler_init(&c, options, faults);
    source.file = arena_copy(&c.plan->arena, is_input ? STR("<stdin>") : str_of(path));
    if (!is_input && stat(path, &status) == 0) {
        source.has_id = true;
        source.device = status.st_dev;
        source.inode = status.st_ino;
    }
    arena_init(&arena);
    root = yaml_parse((struct yaml_source){source.file, text}, &arena, faults);
    if (root)
        compile_plan(&c, &source, root);
    arena_fini(&arena);
    return compiler_finish(&c, errors);
}

bool plan_base_of(struct str url, struct str *base)
{
    size_t n;

    url = str_trim(url);
    n = compile_origin_length(url);
    if (n)
        *base = (struct str){url.p, n};
    return n > 0;
}

static void no_base(struct faults *faults, struct str url)
{
    struct buf complete, safe;

    if (memmem(url.p, url.n, "://", 3)) {
        faults_error(faults, PLACE_NONE, NULL, "URL must begin with http:// or https://");
        return;
    }
    buf_init(&complete, BUF_NO_MAX);
    buf_init(&safe, BUF_NO_MAX);
    buf_add_str(&complete, STR("http://"));
    buf_add_str(&complete, url);
    url_hide_credentials(buf_str(&complete), &safe);
    faults_error(faults, PLACE_NONE, NULL, "URL must include a scheme, e.g. %.*s",
                 (int)(safe.n < 200 ? safe.n : 200), safe.p);
    buf_fini(&safe);
    buf_fini(&complete);
}

static void compile_adhoc(struct compiler *c, struct str path)
{
    struct plan *plan = c->plan;
    struct arena *arena = &plan->arena;
    struct step *step = plan->steps = xcalloc(1, sizeof(*step));
    struct step_request *request = &step->request;
    bool rooted = path.n && strchr("/\\", path.p[0]);
    struct template written;

    plan->n_steps = 1;
    step->kind = STEP_REQUEST;
    request->method = STR("GET");
    request->body = template_of(STR(""), arena);
    request->assign = SLOT_NONE;
    if (!template_compile(path, &c->scope, arena, PLACE_NONE, "URL", c->faults, &written))
        return;
    if (!rooted)
        written = template_prefixed(STR("/"), &written, arena);
    request->url = template_prefixed(plan->base, &written, arena);
    step->name = compile_url_name(c, request->method, &written);
    plan->names = xmalloc(sizeof(*plan->names));
    plan->names[plan->n_names++] = step->name.source;
    if (request->url.constant && !c->base_faulty)
        compile_check_url(c, template_text(&request->url), PLACE_NONE, "URL");
}

struct plan *plan_adhoc(struct str url, const struct plan_options *options, struct faults *faults)
{
    size_t errors = faults->errors;
    struct compiler c;
    struct str base;

    url = str_trim(url);
    compiler_init(&c, options, faults);
    if (plan_base_of(url, &base)) {
        compile_base(&c, options->base.p ? options->base : base, PLACE_NONE);
        compile_adhoc(&c, str_skip(url, base.n));
    } else {
        no_base(faults, url);
    }
    return compiler_finish(&c, errors);
}

void plan_free(struct plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->n_items; i++)
        items_free(plan->items[i]);
    for (size_t i = 0; i < plan->n_bodies; i++)
        free((char *)(uintptr_t)plan->bodies[i].p);
    load_fini(&plan->load);
    free(plan->items);
    free(plan->bodies);
    free(plan->steps);
    free(plan->names);
    free(plan->tags);
    free(plan->slot_names);
    arena_fini(&plan->arena);
    free(plan);
}
