/* links: plan base */
/*
 * Templates: compiled, put together again from their parts, rendered with values that depend on the
 * path; a value is never looked at again.
 */
#include "fuzz.h"
#include "plan/template.h"

/* One path in eight is not there. */
static bool resolve(void *ctx, const struct path *path, struct buf *out)
{
    uint64_t hash = fuzz_hash(path->text);

    (*(size_t *)ctx)++;
    CHECK(path->text.n > 0);
    for (size_t i = 0; i < path->n_keys; i++)
        CHECK(path->keys[i].text.n > 0);
    return hash % 8 && buf_add_str(out, STR("{{ base }}"));
}

/* Passes over what must stand there. */
static void take(struct str *rest, struct str what)
{
    CHECK(str_starts(*rest, what));
    *rest = str_skip(*rest, what.n);
}

static void take_blanks(struct str *rest)
{
    while (rest->n && (rest->p[0] == ' ' || rest->p[0] == '\t'))
        *rest = str_skip(*rest, 1);
}

static void check_parts(const struct template *t)
{
    struct str rest = t->source;
    bool constant = true;

    for (size_t i = 0; i < t->n; i++) {
        const struct part *part = &t->parts[i];

        constant = constant && !part->is_path;
        if (!part->is_path) {
            CHECK(part->text.n > 0 && (i == 0 || t->parts[i - 1].is_path));
            take(&rest, part->text);
            continue;
        }
        take(&rest, STR("{{"));
        take_blanks(&rest);
        take(&rest, part->path.text);
        take_blanks(&rest);
        take(&rest, STR("}}"));
    }
    CHECK(rest.n == 0 && constant == t->constant);
    CHECK(!constant || str_eq(template_text(t), t->source));
}

static void check_render(const struct template *t)
{
    struct buf out, expected;
    const struct path *missing, *first = NULL;
    size_t calls = 0;

    buf_init(&out, BUF_NO_MAX);
    buf_init(&expected, BUF_NO_MAX);
    missing = template_render(t, resolve, &calls, &out);
    for (size_t i = 0; i < t->n && !first; i++) {
        size_t n = 0;

        if (!t->parts[i].is_path)
            buf_add_str(&expected, t->parts[i].text);
        else if (!resolve(&n, &t->parts[i].path, &expected))
            first = &t->parts[i].path;
    }
    CHECK(missing == first);
    CHECK(str_eq(buf_str(&out), buf_str(&expected)));
    buf_fini(&out);
    buf_fini(&expected);
}

static void compile(struct str text, bool relaxed, bool item_known)
{
    struct arena arena;
    struct scope scope;
    struct faults faults;
    struct template t, prefixed;
    struct path path;
    bool ok;

    arena_init(&arena);
    faults_init(&faults);
    scope_init(&scope, &arena);
    scope.relaxed = relaxed;
    scope.item_known = item_known;
    scope_set(&scope, STR("login"), ORIGIN_RESPONSE);
    scope_set(&scope, STR("a"), ORIGIN_PLAN);
    scope_leave_out(&scope, STR("gone"));
    ok = template_compile(text, &scope, &arena, PLACE_NONE, "text", &faults, &t);
    CHECK(ok == (faults.errors == 0));
    CHECK(str_eq(t.source, text));
    if (ok) {
        check_parts(&t);
        check_render(&t);
        prefixed = template_prefixed(STR("http://h"), &t, &arena);
        check_parts(&prefixed);
        check_render(&prefixed);
    }
    path_compile(text, &scope, &arena, PLACE_NONE, "key", &faults, &path);
    scope_fini(&scope);
    faults_fini(&faults);
    arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = fuzz_input(data, size);

    compile(text, true, true);
    compile(text, false, false);
    return 0;
}
