/* links: plan base */
#include "plan_fixture.h"

/* The names of the steps that run, with a blank between. */
static void runs(const char *text, const char *tags, const char *skip_tags, const char *expected)
{
    struct str chosen[4], left_out[4];
    struct plan_options options = {.tags = chosen, .skip_tags = left_out};
    struct plan *plan;
    struct buf names;

    for (; *tags; tags += strcspn(tags, " "), tags += *tags == ' ')
        chosen[options.n_tags++] = (struct str){tags, strcspn(tags, " ")};
    for (; *skip_tags; skip_tags += strcspn(skip_tags, " "), skip_tags += *skip_tags == ' ')
        left_out[options.n_skip_tags++] = (struct str){skip_tags, strcspn(skip_tags, " ")};
    plan = load_with(text, &options);
    buf_init(&names, BUF_NO_MAX);
    for (size_t i = 0; i < plan->n_steps; i++)
        buf_addf(&names, "%s%.*s", i ? " " : "", (int)plan->steps[i].name.source.n,
                 plan->steps[i].name.source.p);
    buf_add_char(&names, '\0');
    assert_string_equal(names.p, expected);
    buf_fini(&names);
    plan_free(plan);
}

static void tags_choose(void **state)
{
    static const char text[] = "base: http://h\n"
                               "plan:\n"
                               "  - {name: none, request: {url: /}}\n"
                               "  - {name: one, request: {url: /}, tags: [one]}\n"
                               "  - {name: two, request: {url: /}, tags: 'two, one'}\n"
                               "  - {name: always, request: {url: /}, tags: always}\n"
                               "  - {name: never, request: {url: /}, tags: [never, one]}\n"
                               "  - {name: num, request: {url: /}, tags: [5]}\n";

    (void)state;
    runs(text, "", "", "none one two always num");
    runs(text, "one", "", "one two always");
    runs(text, "two other", "", "two always");
    runs(text, "never", "", "always never");
    runs(text, "never one", "", "one two always never");
    runs(text, "", "one", "none always num");
    runs(text, "", "always", "none one two num");
    runs(text, "one", "two", "one always");
    runs(text, "zzz", "", "always");
    runs(text, "zzz", "always", "");
    runs(text, "5", "", "always num");
    runs(text, "never", "never", "always");
}

static void tags_are_listed(void **state)
{
    struct plan_options options = {.tags = &STR("zzz"), .n_tags = 1};
    struct plan *plan;

    (void)state;
    write_file("a.yml", "- {name: x, delay: {seconds: 1}, tags: [m, b]}\n");
    plan = load_with("plan:\n"
                     "  - {name: x, delay: {seconds: 1}, tags: [z, b]}\n"
                     "  - {include: a.yml, tags: [inc]}\n"
                     "  - {name: x, delay: {seconds: 1}, tags: never}\n",
                     &options);
    assert_int_equal(plan->n_steps, 0);
    assert_int_equal(plan->n_tags, 5);
    assert_str(plan->tags[0], "b");
    assert_str(plan->tags[1], "inc");
    assert_str(plan->tags[2], "m");
    assert_str(plan->tags[3], "never");
    assert_str(plan->tags[4], "z");
    plan_free(plan);
}

static void included_steps_inherit_tags(void **state)
{
    static const char text[] = "plan:\n"
                               "  - {include: a.yml, tags: [slow]}\n"
                               "  - {name: own, delay: {seconds: 1}}\n";

    (void)state;
    write_file("a.yml", "- {name: part, delay: {seconds: 1}}\n"
                        "- {name: quick, delay: {seconds: 1}, tags: [quick]}\n");
    runs(text, "slow", "", "part quick");
    runs(text, "", "slow", "own");
    runs(text, "quick", "", "quick");
}

static void what_is_filtered_away_sets_nothing(void **state)
{
    struct plan_options options = {.tags = &STR("use"), .n_tags = 1};
    static const char text[] = "base: http://h\n"
                               "plan:\n"
                               "  - request: {url: /}\n"
                               "    assign: a\n"
                               "  - request: {url: '/{{ a.body }}'}\n"
                               "    tags: use\n";
    struct faults faults;

    (void)state;
    plan_free(load(text));
    faults_init(&faults);
    assert_null(plan_load("plan.yml", str_of(text), &options, &faults));
    assert_int_equal(faults.n, 1);
    assert_int_equal(faults.items[0].line, 5);
    assert_non_null(strstr(faults.items[0].help, "left out by its tags"));
    faults_fini(&faults);
    /* What does not run may use anything and reads no files. */
    plan_free(load("base: http://h\n"
                   "plan:\n"
                   "  - request: {url: '/{{ nope }}', body: {file: none.bin}}\n"
                   "    with_items_from_csv: none.csv\n"
                   "    tags: never\n"));
}

static void includes_nest(void **state)
{
    struct plan_options options = {.listings = true};
    struct plan *plan;

    (void)state;
    write_file("sub/part.yml", "---\n- name: part\n  request:\n    url: http://h/p\n  assign: p\n"
                               "- name: deeper\n  include: more.yml\n");
    write_file("sub/more.yml", "- name: more\n  request:\n    url: 'http://h/{{ p.body }}'\n"
                               "  tags: [slow]\n");
    plan = load_with("plan:\n  - include: sub/part.yml\n  - include: sub/more.yml\n"
                     "  - {name: last, delay: {seconds: 1}}\n",
                     &options);
    assert_int_equal(plan->n_steps, 4);
    assert_str(plan->steps[0].name.source, "part");
    assert_str(plan->steps[1].name.source, "more");
    assert_str(plan->steps[2].name.source, "more");
    assert_true(str_ends(plan->steps[1].at.file, STR("/sub/more.yml")));
    assert_int_equal(plan->steps[1].at.line, 1);
    assert_str(plan->steps[1].listing,
               "name: more\nrequest:\n  url: http://h/{{ p.body }}\ntags:\n- slow\n");
    assert_str(plan->steps[3].listing, "name: last\ndelay:\n  seconds: 1\n");
    plan_free(plan);
}

static void circles_of_includes_end(void **state)
{
    char target[256];

    (void)state;
    write_file("a.yml", "- include: b.yml\n");
    write_file("b.yml", "- include: ./a.yml\n");
    refused("plan: [{include: a.yml}]\n", "include goes round in a circle");
    write_file("b.yml", "- include: b.yml\n");
    refused("plan: [{include: b.yml}]\n", "include goes round in a circle");
    snprintf(target, sizeof(target), "%s", in_folder("b.yml"));
    assert_int_equal(symlink(target, in_folder("link.yml")), 0);
    write_file("b.yml", "- include: link.yml\n");
    refused("plan: [{include: b.yml}]\n", "include goes round in a circle");
}

static void included_files_must_be_lists(void **state)
{
    (void)state;
    write_file("a.yml", "plan: [{delay: {seconds: 1}}]\n");
    refused("plan: [{include: a.yml}]\n", "must be a bare list");
    write_file("a.yml", "");
    refused("plan: [{include: a.yml}]\n", "empty");
    write_file("a.yml", "- {delay: {seconds: -1}}\n");
    refused("plan: [{include: a.yml}]\n", "seconds");
    write_file("a.yml", "- [\n");
    refused("plan: [{include: a.yml}, {assert: {key: x, value: y}}]\n", "");
    assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
    refused("plan: [{include: fifo}]\n", "not a regular file");
}

/* 2^64 includes of nothing are not followed. */
static void includes_have_a_maximum(void **state)
{
    char name[32], text[128];

    (void)state;
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "c%d.yml", i);
        snprintf(text, sizeof(text), i < 19 ? "- include: c%d.yml\n- include: c%d.yml\n" : "[]\n",
                 i + 1, i + 1);
        write_file(name, text);
    }
    refused("plan: [{include: c0.yml}]\n", "more than 10000 files");
    for (int i = 0; i < 70; i++) {
        snprintf(name, sizeof(name), "c%d.yml", i);
        snprintf(text, sizeof(text), "- include: c%d.yml\n", i + 1);
        write_file(name, text);
    }
    refused("plan: [{include: c0.yml}]\n", "nested more than 64 deep");
    for (int i = 0; i < 70; i++) {
        snprintf(name, sizeof(name), "c%d.yml", i);
        remove(in_folder(name));
    }
}

static void a_hundred_thousand_steps(void **state)
{
    enum { FILES = 20, STEPS = PLAN_MAX_STEPS / FILES };
    struct buf text;
    struct plan *plan;

    (void)state;
    buf_init(&text, BUF_NO_MAX);
    for (int i = 0; i < STEPS; i++)
        buf_addf(&text, "- {name: n%d, request: {url: 'http://h/{{ index }}'}, assign: v%d}\n", i,
                 i);
    buf_add_char(&text, '\0');
    write_file("many.yml", text.p);
    buf_reset(&text);
    buf_add_str(&text, STR("plan:\n"));
    for (int i = 0; i < FILES; i++)
        buf_add_str(&text, STR("  - include: many.yml\n"));
    buf_add_char(&text, '\0');
    plan = load(text.p);
    assert_int_equal(plan->n_steps, PLAN_MAX_STEPS);
    assert_int_equal(plan->n_names, STEPS);
    assert_int_equal(plan->n_slots, SLOT_FIRST_OWN + STEPS);
    plan_free(plan);
    text.n--;
    buf_add_str(&text, STR("  - {name: one too many, delay: {seconds: 1}}\n"));
    buf_add_char(&text, '\0');
    refused(text.p, "at most 100000 steps");
    buf_fini(&text);
}

static void adhoc(const char *url, const char *base, const char *sent, const char *name)
{
    struct plan_options options = {0};
    struct faults faults;
    struct plan *plan;

    faults_init(&faults);
    plan = plan_adhoc(str_of(url), &options, &faults);
    if (!plan)
        show(&faults);
    assert_non_null(plan);
    assert_int_equal(faults.n, 0);
    assert_str(plan->base, base);
    assert_int_equal(plan->n_steps, 1);
    assert_str(plan->steps[0].request.method, "GET");
    assert_str(plan->steps[0].request.url.source, sent);
    assert_str(plan->steps[0].name.source, name);
    assert_int_equal(plan->n_names, 1);
    assert_str(plan->names[0], name);
    assert_int_equal(plan->steps[0].request.assign, SLOT_NONE);
    plan_free(plan);
    faults_fini(&faults);
}

static void adhoc_plans(void **state)
{
    struct plan_options options = {.base = STR("http://other:1")};
    struct faults faults;
    struct plan *plan;

    (void)state;
    adhoc("http://h:9000/json/users", "http://h:9000", "http://h:9000/json/users",
          "GET /json/users");
    adhoc("http://h", "http://h", "http://h/", "GET /");
    adhoc("http://h?a=1", "http://h", "http://h/?a=1", "GET /?a=1");
    adhoc("HTTPS://H/x#frag", "HTTPS://H", "HTTPS://H/x#frag", "GET /x#frag");
    adhoc("http://h/e?i={{ iteration }}", "http://h", "http://h/e?i={{ iteration }}",
          "GET /e?i={{ iteration }}");
    adhoc("http://me:pw@h/x", "http://me:pw@h", "http://me:pw@h/x", "GET /x");
    faults_init(&faults);
    plan = plan_adhoc(STR("http://dead/x"), &options, &faults);
    assert_non_null(plan);
    assert_str(template_text(&plan->steps[0].request.url), "http://other:1/x");
    plan_free(plan);
    faults_fini(&faults);
}

static void the_base_of_a_url(void **state)
{
    struct str base;

    (void)state;
    assert_true(plan_base_of(STR("http://localhost:9000/a/b?c"), &base));
    assert_str(base, "http://localhost:9000");
    assert_true(plan_base_of(STR("https://h"), &base));
    assert_str(base, "https://h");
    assert_true(plan_base_of(STR("http://[::1]:80?x"), &base));
    assert_str(base, "http://[::1]:80");
    assert_false(plan_base_of(STR("localhost:9000/a"), &base));
    assert_false(plan_base_of(STR("ftp://h/a"), &base));
    assert_false(plan_base_of(STR("/a"), &base));
    assert_false(plan_base_of(STR(""), &base));
    assert_false(plan_base_of(STR("http"), &base));
}

static void standard_input_has_no_folder(void **state)
{
    struct plan_options options = {0};
    struct faults faults;

    (void)state;
    faults_init(&faults);
    assert_null(plan_load("-", STR("plan: 5\n"), &options, &faults));
    assert_string_equal(faults.items[0].file, "<stdin>");
    faults_fini(&faults);
    plan_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_choose),
        cmocka_unit_test(tags_are_listed),
        cmocka_unit_test(included_steps_inherit_tags),
        cmocka_unit_test(what_is_filtered_away_sets_nothing),
        cmocka_unit_test(includes_nest),
        cmocka_unit_test(circles_of_includes_end),
        cmocka_unit_test(included_files_must_be_lists),
        cmocka_unit_test(includes_have_a_maximum),
        cmocka_unit_test(a_hundred_thousand_steps),
        cmocka_unit_test(adhoc_plans),
        cmocka_unit_test(the_base_of_a_url),
        cmocka_unit_test(standard_input_has_no_folder),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
