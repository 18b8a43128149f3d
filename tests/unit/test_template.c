/* links: plan base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plan/template.h"

struct fixture {
    struct arena arena;
    struct scope scope;
    struct faults faults;
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));

    arena_init(&f->arena);
    scope_init(&f->scope, &f->arena);
    faults_init(&f->faults);
    scope_set(&f->scope, STR("account"), ORIGIN_RESPONSE);
    scope_set(&f->scope, STR("a"), ORIGIN_PLAN);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    faults_fini(&f->faults);
    scope_fini(&f->scope);
    arena_fini(&f->arena);
    free(f);
    return 0;
}

static bool compile(struct fixture *f, struct str text, struct template *out)
{
    return template_compile(text, &f->scope, &f->arena, (struct place){STR("plan.yml"), 3, 5},
                            "url", &f->faults, out);
}

/* Shows a path as <slot:key,key>; "a.gone" is missing. */
static bool show(void *ctx, const struct path *path, struct buf *out)
{
    (void)ctx;
    if (str_eq(path->text, STR("a.gone")))
        return false;
    if (path->slot == SLOT_NONE)
        return path->has_env && buf_add_str(out, path->env);
    buf_addf(out, "<%u", path->slot);
    for (size_t i = 0; i < path->n_keys; i++)
        buf_addf(out, "%s%.*s%s", i ? "," : ":", (int)path->keys[i].text.n, path->keys[i].text.p,
                 path->keys[i].is_index ? "#" : "");
    return buf_add_char(out, '>');
}

static void check(struct fixture *f, const char *text, const char *expected)
{
    struct template t;
    struct buf out;

    assert_true(compile(f, str_of(text), &t));
    buf_init(&out, BUF_NO_MAX);
    assert_null(template_render(&t, show, NULL, &out));
    buf_add_char(&out, '\0');
    assert_string_equal(out.p, expected);
    assert_true(str_eq(t.source, str_of(text)));
    for (size_t i = 0; i + 1 < t.n; i++)
        assert_true(t.parts[i].is_path || t.parts[i + 1].is_path);
    buf_fini(&out);
}

static void fills_paths_in(void **state)
{
    struct fixture *f = *state;

    check(f, "", "");
    check(f, "plain", "plain");
    check(f, "{{ a }}", "<6>");
    check(f, "{{a}}", "<6>");
    check(f, "{{   a \t }}", "<6>");
    check(f, "x{{ a }}y{{ account.body.id }}z", "x<6>y<5:body,id>z");
    check(f, "{{ a }}{{ a }}", "<6><6>");
    check(f, "{{ iteration }}-{{ index }}-{{ base }}-{{ cookies.sid }}", "<1>-<2>-<0>-<4:sid>");
    check(f, "{{ account.body.phones[1] }}", "<5:body,phones,1#>");
    check(f, "{{ account.body.phones.1 }}", "<5:body,phones,1#>");
    check(f, "{{ account.body[id] }}", "<5:body,id>");
    check(f, "{{ account[0][12].x-y_z$ }}", "<5:0#,12#,x-y_z$>");
    check(f, "{{ account[a.b] }}", "<5:a.b>");
    check(f, "{{{ a }}}", "{<6>}");
    check(f, "{{{{ a }}", "{{<6>");
    check(f, "{\"a\":{\"b\":{}}}", "{\"a\":{\"b\":{}}}");
    assert_int_equal(f->faults.n, 0);
}

static void leaves_what_is_no_template(void **state)
{
    static const char *const texts[] = {
        "{{}}",      "{{ }}",      "{{ a",        "{{ a }",         "{{",        "{{ 5x }}",
        "{{ a b }}", "{{ a..b }}", "{{ a. }}",    "{{ a[ }}",       "{{ a[] }}", "{{ a]b }}",
        "{{ a[b[c]", "{{ .a }}",   "{{ a[1]b }}", "{{ \xc3\xa9 }}", "{{ -a }}",  "{{ a | upper }}",
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        check(f, texts[i], texts[i]);
        if (f->faults.n != i + 1 || f->faults.errors)
            fail_msg("%s: %zu faults", texts[i], f->faults.n);
        assert_int_equal(f->faults.items[i].severity, SEVERITY_WARNING);
        assert_int_equal(f->faults.items[i].line, 3);
        assert_int_equal(f->faults.items[i].column, 5);
    }
    assert_string_equal(f->faults.items[5].text,
                        "url: '{{ 5x }}' is no template and is left as it stands");
}

/* Right before the end of what an arena has got from malloc, where one byte too many shows. */
static void what_is_no_path_writes_nothing(void **state)
{
    static const char *const texts[] = {"a]b", "a]", "a[1]b", "a[1]]", "a.", "a[", "a..b"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        for (size_t used = 0; used <= 64; used += 16) {
            struct arena arena;
            struct path path;
            struct str root;

            arena_init(&arena);
            arena_alloc(&arena, 16);
            if ((size_t)(arena.end - arena.at) >= used)
                arena_alloc(&arena, (size_t)(arena.end - arena.at) - used);
            assert_false(path_parse(str_of(texts[i]), &arena, &root, &path));
            arena_fini(&arena);
        }
    }
}

static void finds_the_template_in_a_broken_one(void **state)
{
    struct fixture *f = *state;

    check(f, "{{ a {{ a }} }}", "{{ a <6> }}");
    check(f, "{{ a..b }} {{ a }}", "{{ a..b }} <6>");
    assert_int_equal(f->faults.n, 2);
}

static void tells_unknown_names(void **state)
{
    struct fixture *f = *state;
    struct template t;

    assert_false(compile(f, STR("{{ acount.body }} {{ a }} {{ zzzzzz }}"), &t));
    assert_int_equal(f->faults.errors, 2);
    assert_non_null(strstr(f->faults.items[0].text, "'acount.body'"));
    assert_string_equal(f->faults.items[0].help, "did you mean 'account'?");
    assert_null(f->faults.items[1].help);
}

static void item_is_known_after_items_only(void **state)
{
    struct fixture *f = *state;
    struct template t;

    assert_false(compile(f, STR("{{ item.id }}"), &t));
    f->scope.item_known = true;
    check(f, "{{ item.id }}", "<3:id>");
    assert_int_equal(f->faults.errors, 1);
}

static void looks_in_the_environment_by_the_whole_path(void **state)
{
    struct fixture *f = *state;
    struct template t;

    setenv("CITY", "Bern {{ a }}", 1);
    setenv("a.b", "dotted", 1);
    check(f, "[{{ CITY }}]", "[Bern {{ a }}]");
    assert_true(compile(f, STR("{{ a.b }}"), &t));
    assert_int_equal(t.parts[0].path.slot, 6);
    assert_true(t.parts[0].path.has_env);
    assert_true(str_eq(t.parts[0].path.env, STR("dotted")));
    assert_false(compile(f, STR("{{ CITY.x }}"), &t));
    unsetenv("CITY");
    unsetenv("a.b");
}

static void relaxed_takes_any_name(void **state)
{
    struct fixture *f = *state;
    struct template t;

    f->scope.relaxed = true;
    assert_true(compile(f, STR("{{ nope }}"), &t));
    assert_int_equal(f->faults.n, 0);
    assert_int_equal(t.parts[0].path.slot, SLOT_NONE);
    assert_false(t.parts[0].path.has_env);
}

static void tells_the_missing_path(void **state)
{
    struct fixture *f = *state;
    const struct path *missing;
    struct template t;
    struct buf out;

    assert_true(compile(f, STR("x{{ a.gone }}y"), &t));
    buf_init(&out, BUF_NO_MAX);
    missing = template_render(&t, show, NULL, &out);
    assert_non_null(missing);
    assert_true(str_eq(missing->text, STR("a.gone")));
    assert_true(str_eq(buf_str(&out), STR("x")));
    buf_fini(&out);
}

static void a_full_buffer_shows(void **state)
{
    struct fixture *f = *state;
    struct template t;
    struct buf out;

    assert_true(compile(f, STR("0123456789{{ a }}"), &t));
    buf_init(&out, 11);
    assert_null(template_render(&t, show, NULL, &out));
    assert_true(out.full);
    buf_fini(&out);
}

static void puts_a_prefix_before(void **state)
{
    struct fixture *f = *state;
    struct template t, u;
    struct buf out;

    buf_init(&out, BUF_NO_MAX);
    assert_true(compile(f, STR("{{ a }}/x"), &t));
    u = template_prefixed(STR("GET "), &t, &f->arena);
    assert_null(template_render(&u, show, NULL, &out));
    assert_true(str_eq(buf_str(&out), STR("GET <6>/x")));
    assert_true(str_eq(u.source, STR("GET {{ a }}/x")));
    assert_false(u.constant);

    assert_true(compile(f, STR("/x"), &t));
    u = template_prefixed(STR("http://h"), &t, &f->arena);
    assert_int_equal(u.n, 1);
    assert_true(u.constant);
    assert_true(str_eq(template_text(&u), STR("http://h/x")));
    t = template_of(STR(""), &f->arena);
    assert_true(t.constant && t.n == 0 && template_text(&t).n == 0);
    buf_fini(&out);
}

static void knows_where_values_come_from(void **state)
{
    struct fixture *f = *state;
    struct template t;

    setenv("FROM_OUTSIDE", "x", 1);
    assert_true(compile(f, STR("{{ account }}{{ FROM_OUTSIDE }}{{ cookies }}{{ a }}"), &t));
    assert_int_equal(path_origin(&t.parts[0].path, &f->scope), ORIGIN_RESPONSE);
    assert_int_equal(path_origin(&t.parts[1].path, &f->scope), ORIGIN_ENVIRONMENT);
    assert_int_equal(path_origin(&t.parts[2].path, &f->scope), ORIGIN_RESPONSE);
    assert_int_equal(path_origin(&t.parts[3].path, &f->scope), ORIGIN_PLAN);
    unsetenv("FROM_OUTSIDE");
}

static void names_are_letters_first(void **state)
{
    (void)state;
    assert_true(scope_name_valid(STR("a")));
    assert_true(scope_name_valid(STR("Z9-_$")));
    assert_false(scope_name_valid(STR("")));
    assert_false(scope_name_valid(STR("9a")));
    assert_false(scope_name_valid(STR("_a")));
    assert_false(scope_name_valid(STR("a.b")));
    assert_false(scope_name_valid(STR("a b")));
    assert_false(scope_name_valid((struct str){"a\0", 2}));
}

static void ten_thousand_placeholders(void **state)
{
    enum { N = 10000 };
    struct fixture *f = *state;
    struct template t;
    struct buf text;

    buf_init(&text, BUF_NO_MAX);
    for (int i = 0; i < N; i++)
        buf_add_str(&text, STR("-{{ a }}"));
    assert_true(compile(f, buf_str(&text), &t));
    assert_int_equal(t.n, 2 * N);
    buf_reset(&text);
    buf_add_fill(&text, '{', 1000000);
    assert_true(compile(f, buf_str(&text), &t));
    assert_int_equal(t.n, 1);
    assert_int_equal(f->faults.n, 1);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fills_paths_in, set_up, tear_down),
        cmocka_unit_test_setup_teardown(leaves_what_is_no_template, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_the_template_in_a_broken_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tells_unknown_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(item_is_known_after_items_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(looks_in_the_environment_by_the_whole_path, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(relaxed_takes_any_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tells_the_missing_path, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_buffer_shows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(puts_a_prefix_before, set_up, tear_down),
        cmocka_unit_test_setup_teardown(knows_where_values_come_from, set_up, tear_down),
        cmocka_unit_test(names_are_letters_first),
        cmocka_unit_test(what_is_no_path_writes_nothing),
        cmocka_unit_test_setup_teardown(ten_thousand_placeholders, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
