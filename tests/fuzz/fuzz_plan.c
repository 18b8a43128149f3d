/* links: plan base */
/*
 * Plans: loaded, and every template of what is accepted rendered, every item looked at. No file is
 * touched: this program's own file_read knows only the files of the input, under any path.
 *
 * Input: 1 byte (bit 0 relaxed, 1 strict keys, 2 with --tags a, 3 with --skip-tags b), the plan,
 * and behind each byte 0x1f another file: its name, a newline, what it holds.
 */
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "fuzz.h"
#include "plan/plan.h"
#include "plan/yaml.h"

#define SEPARATOR '\x1f'
#define READS_MAX 100 /* of files for one plan: what includes what can grow beyond all bounds */
#define ITEMS_MAX 20

static struct str files;
static unsigned reads;

bool file_read(const char *path, size_t max_bytes, struct str *out, const char **why)
{
    struct str rest = files;

    *why = "No such file or directory";
    if (++reads > READS_MAX)
        return false;
    while (rest.n) {
        struct str file = fuzz_until(&rest, SEPARATOR), name = fuzz_until(&file, '\n');

        if (str_eq(name, str_of(path)) && file.n <= max_bytes) {
            *out = xstr_copy(file);
            return true;
        }
    }
    return false;
}

char *file_beside(const char *from, struct str name)
{
    (void)from;
    return xstrndup(name.p, name.n);
}

static bool resolve(void *ctx, const struct path *path, struct buf *out)
{
    (void)ctx;
    return buf_add_str(out, path->text);
}

static void render(const struct template *t)
{
    struct buf out;

    buf_init(&out, 1 << 20);
    CHECK(!template_render(t, resolve, NULL, &out));
    CHECK(!t->constant || out.full || str_eq(buf_str(&out), template_text(t)));
    buf_fini(&out);
}

static bool is_token(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] >= 0x7f || strchr("()<>@,;:\\\"/[]?={}", s.p[i]))
            return false;
    return s.n > 0;
}

static void check_request(const struct plan *plan, const struct step *step)
{
    const struct step_request *request = &step->request;

    CHECK(step->stat < plan->n_names);
    CHECK(is_token(request->method));
    CHECK(request->assign == SLOT_NONE || request->assign < plan->n_slots);
    CHECK(request->n_headers <= PLAN_MAX_HEADERS);
    render(&request->url);
    for (size_t i = 0; i < request->n_headers; i++) {
        const struct template *value = &request->headers[i].value;

        CHECK(is_token(request->headers[i].name));
        for (size_t n = 0; n < value->n; n++) {
            struct str text = value->parts[n].text;

            CHECK(!memchr(text.n ? text.p : "", '\n', text.n));
            CHECK(!memchr(text.n ? text.p : "", '\r', text.n));
            CHECK(!memchr(text.n ? text.p : "", '\0', text.n));
        }
        render(value);
    }
    if (request->has_body)
        render(&request->body);
}

static void check_items(const struct items *items)
{
    static const struct json_key key = {.text = {"id", 2}};
    uint64_t n = items_count(items);
    struct buf out;

    buf_init(&out, 1 << 20);
    for (uint64_t i = 0; i < n && i < ITEMS_MAX; i++) {
        buf_reset(&out);
        CHECK(items_text(items, i, NULL, 0, &out) || out.full);
        items_text(items, n - 1 - i, &key, 1, &out);
    }
    buf_fini(&out);
}

static void check_listing(struct str listing)
{
    struct arena arena;
    struct faults faults;

    arena_init(&arena);
    faults_init(&faults);
    CHECK(yaml_parse((struct yaml_source){STR("listing"), listing}, &arena, &faults));
    faults_fini(&faults);
    arena_fini(&arena);
}

static void check_step(const struct plan *plan, const struct step *step)
{
    render(&step->name);
    check_listing(step->listing);
    if (step->items)
        check_items(step->items);
    switch (step->kind) {
    case STEP_REQUEST:
        check_request(plan, step);
        break;
    case STEP_ASSIGN:
        CHECK(step->assign.slot < plan->n_slots);
        render(&step->assign.value);
        break;
    case STEP_ASSERT:
        CHECK(step->assertion.key.slot == SLOT_NONE || step->assertion.key.slot < plan->n_slots);
        render(&step->assertion.value);
        break;
    case STEP_DELAY:
        CHECK(step->delay.shown.n > 0);
        break;
    case STEP_EXEC:
        CHECK(step->exec.assign == SLOT_NONE || step->exec.assign < plan->n_slots);
        render(&step->exec.command);
        break;
    }
}

static void check_plan(const struct plan *plan)
{
    CHECK(plan->iterations >= 1 && plan->iterations <= PLAN_MAX_ITERATIONS);
    CHECK(!plan->has_concurrency ||
          (plan->concurrency >= 1 && plan->concurrency <= PLAN_MAX_CONCURRENCY));
    CHECK(plan->rampup_s >= 0 && plan->rampup_s <= PLAN_MAX_SECONDS);
    for (size_t i = 0; i < plan->n_steps; i++)
        check_step(plan, &plan->steps[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct str tags[] = {{"a", 1}}, skip_tags[] = {{"b", 1}};
    struct str rest = fuzz_input(data, size), text;
    uint8_t how = fuzz_byte(&rest);
    const struct plan_options options = {
        .tags = tags,
        .n_tags = how >> 2 & 1,
        .skip_tags = skip_tags,
        .n_skip_tags = how >> 3 & 1,
        .seed = 1,
        .relaxed = how & 1,
        .strict_keys = how & 2,
        .listings = true,
    };
    struct faults faults;
    struct plan *plan;

    text = fuzz_until(&rest, SEPARATOR);
    files = rest;
    reads = 0;
    faults_init(&faults);
    plan = plan_load("-", text, &options, &faults);
    CHECK((plan == NULL) == (faults.errors > 0));
    if (plan)
        check_plan(plan);
    plan_free(plan);
    faults_fini(&faults);
    return 0;
}
