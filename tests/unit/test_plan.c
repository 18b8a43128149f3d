/* links: plan base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "plan/plan.h"

static char folder[] = "/tmp/driller-plan-XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "w");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    fclose(file);
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || mkdir(in_folder("sub"), 0700))
        return -1;
    return 0;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"sub/more.yml", "sub/part.yml", "sub/body.bin", "a.yml",
                                        "b.yml",        "fifo",         "body.bin",     "link.yml",
                                        "chain.yml",    "many.yml",     "users.csv",    "sub"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        remove(in_folder(names[i]));
    return rmdir(folder);
}

static void show(const struct faults *faults)
{
    for (size_t i = 0; i < faults->n; i++)
        print_error("%s:%u:%u: %s\n", faults->items[i].file ? faults->items[i].file : "-",
                    faults->items[i].line, faults->items[i].column, faults->items[i].text);
}

static struct plan *load_with(const char *text, const struct plan_options *options)
{
    struct faults faults;
    struct plan *plan;

    faults_init(&faults);
    plan = plan_load(in_folder("plan.yml"), str_of(text), options, &faults);
    if (!plan || faults.n)
        show(&faults);
    assert_non_null(plan);
    assert_int_equal(faults.n, 0);
    faults_fini(&faults);
    return plan;
}

static struct plan *load(const char *text)
{
    return load_with(text, &(struct plan_options){.seed = 1});
}

/* The only fault of a plan that cannot be loaded. */
static void refused(const char *text, const char *part)
{
    struct plan_options options = {0};
    struct faults faults;

    faults_init(&faults);
    assert_null(plan_load(in_folder("plan.yml"), str_of(text), &options, &faults));
    if (faults.n != 1 || !strstr(faults.items[0].text, part))
        show(&faults);
    assert_int_equal(faults.n, 1);
    assert_non_null(strstr(faults.items[0].text, part));
    faults_fini(&faults);
}

#define assert_str(s, expected) check_str(s, expected, __LINE__)

static void check_str(struct str s, const char *expected, int line)
{
    if (!str_eq(s, str_of(expected)))
        fail_msg("line %d: '%.*s' is not '%s'", line, (int)s.n, s.p, expected);
}

static void settings_are_read(void **state)
{
    struct plan *plan;

    (void)state;
    setenv("DRILLER_HOST", "h:9000", 1);
    setenv("DRILLER_ROUNDS", " 12 ", 1);
    plan = load("base: http://{{ DRILLER_HOST }}/api\n"
                "iterations: '{{ DRILLER_ROUNDS }}'\n"
                "concurrency: 0x10\n"
                "rampup: 0.5\n"
                "plan: []\n");
    assert_str(plan->base, "http://h:9000/api");
    assert_true(plan->has_iterations && plan->has_concurrency);
    assert_int_equal(plan->iterations, 12);
    assert_int_equal(plan->concurrency, 16);
    assert_true(plan->rampup_s == 0.5);
    assert_int_equal(plan->n_steps, 0);
    plan_free(plan);

    plan = load("plan: []\n");
    assert_int_equal(plan->base.n, 0);
    assert_false(plan->has_iterations || plan->has_concurrency);
    assert_int_equal(plan->iterations, 1);
    plan_free(plan);
}

static void a_base_from_outside_wins(void **state)
{
    struct plan_options options = {.base = STR("http://other/")};
    struct plan *plan;

    (void)state;
    plan = load_with("base: '{{ NO_SUCH_VARIABLE }}'\nplan:\n  - request: {url: /x}\n", &options);
    assert_str(plan->base, "http://other/");
    assert_str(template_text(&plan->steps[0].request.url), "http://other//x");
    plan_free(plan);
}

static void a_request_has_all_it_needs(void **state)
{
    struct plan *plan = load("base: http://h/v1\n"
                             "plan:\n"
                             "  - name: Make\n"
                             "    request:\n"
                             "      url: /users?x=1\n"
                             "      method: post\n"
                             "      headers:\n"
                             "        X-N: 42\n"
                             "        X-T: 'v{{ iteration }}'\n"
                             "        Content-Length: 3\n"
                             "        Host: example.test\n"
                             "      body: abc\n"
                             "    assign: made\n"
                             "  - request:\n"
                             "      url: https://other/{{ made.body.id }}\n"
                             "      method: DELETE\n");
    const struct step *step = plan->steps;
    const struct step_request *request = &step->request;

    (void)state;
    assert_int_equal(plan->n_steps, 2);
    assert_int_equal(step->kind, STEP_REQUEST);
    assert_int_equal(step->at.line, 3);
    assert_str(step->name.source, "Make");
    assert_str(request->method, "POST");
    assert_true(request->url.constant);
    assert_str(template_text(&request->url), "http://h/v1/users?x=1");
    assert_false(request->url_open);
    assert_int_equal(request->n_headers, 3);
    assert_str(request->headers[0].name, "X-N");
    assert_str(template_text(&request->headers[0].value), "42");
    assert_false(request->headers[1].value.constant);
    assert_str(request->headers[2].name, "Host");
    assert_true(request->has_body);
    assert_str(template_text(&request->body), "abc");
    assert_int_equal(request->assign, SLOT_FIRST_OWN);
    assert_null(step->items);

    request = &step[1].request;
    assert_str(step[1].name.source, "DELETE https://other/{{ made.body.id }}");
    assert_int_equal(request->url.n, 2);
    assert_int_equal(request->url.parts[1].path.slot, SLOT_FIRST_OWN);
    assert_int_equal(request->url.parts[1].path.n_keys, 2);
    assert_false(request->has_body);
    assert_true(request->body.constant);
    assert_int_equal(request->assign, SLOT_NONE);
    assert_int_equal(plan->n_slots, SLOT_FIRST_OWN + 1);
    assert_str(plan->slot_names[SLOT_ITEM], "item");
    assert_str(plan->slot_names[SLOT_FIRST_OWN], "made");
    assert_int_equal(plan->n_names, 2);
    plan_free(plan);
}

static void a_length_of_nothing_is_a_body(void **state)
{
    struct plan *plan = load("plan:\n  - request:\n      url: http://h/\n"
                             "      headers: {Content-Length: 0}\n");

    (void)state;
    assert_int_equal(plan->steps[0].request.n_headers, 0);
    assert_true(plan->steps[0].request.has_body);
    assert_int_equal(plan->steps[0].request.body.n, 0);
    plan_free(plan);
}

static void urls_that_begin_with_a_template(void **state)
{
    struct plan *plan = load("base: http://h\n"
                             "plan:\n"
                             "  - request: {url: '{{ base }}/a'}\n"
                             "  - request: {url: 'http{{ index }}://h/'}\n"
                             "  - request: {url: '/{{ index }}'}\n"
                             "  - request: {url: \"  /x\\n\"}\n");

    (void)state;
    assert_true(plan->steps[0].request.url_open);
    assert_false(plan->steps[1].request.url_open);
    assert_false(plan->steps[2].request.url_open);
    assert_str(plan->steps[2].request.url.parts[0].text, "http://h/");
    assert_str(plan->steps[2].request.url.source, "/{{ index }}");
    assert_str(plan->steps[2].name.source, "GET /{{ index }}");
    assert_str(template_text(&plan->steps[3].request.url), "http://h/x");
    plan_free(plan);
}

static void bodies_of_bytes(void **state)
{
    struct plan *plan;

    (void)state;
    write_file("body.bin", "{{ not_a_template }}");
    plan = load("base: http://h\n"
                "plan:\n"
                "  - request: {url: /, body: {hex: 65 78 00 Ff}}\n"
                "  - request: {url: /, body: {file: body.bin}}\n"
                "  - request: {url: /, body: {file: body.bin}}\n"
                "  - request: {url: /, body: ''}\n"
                "  - request: {url: /, body: {hex: ''}}\n");
    assert_int_equal(template_text(&plan->steps[0].request.body).n, 4);
    assert_memory_equal(template_text(&plan->steps[0].request.body).p, "ex\0\xff", 4);
    assert_true(plan->steps[1].request.body.constant);
    assert_str(template_text(&plan->steps[1].request.body), "{{ not_a_template }}");
    assert_int_equal(plan->n_bodies, 1);
    assert_ptr_equal(template_text(&plan->steps[1].request.body).p,
                     template_text(&plan->steps[2].request.body).p);
    assert_true(plan->steps[3].request.has_body);
    assert_true(plan->steps[4].request.has_body);
    assert_int_equal(plan->steps[4].request.body.n, 0);
    plan_free(plan);
}

static void bodies_are_looked_up_beside_the_file(void **state)
{
    char old[256];
    struct plan *plan;

    (void)state;
    write_file("sub/body.bin", "below");
    write_file("sub/part.yml", "- request: {url: http://h/, body: {file: body.bin}}\n");
    remove(in_folder("body.bin"));
    plan = load("plan: [{include: sub/part.yml}]\n");
    assert_str(template_text(&plan->steps[0].request.body), "below");
    plan_free(plan);

    /* … and then in the working folder. */
    assert_non_null(getcwd(old, sizeof(old)));
    assert_int_equal(chdir(in_folder("sub")), 0);
    plan = load("plan:\n  - request: {url: http://h/, body: {file: body.bin}}\n");
    assert_str(template_text(&plan->steps[0].request.body), "below");
    plan_free(plan);
    assert_int_equal(chdir(old), 0);
}

static void steps_without_a_name_get_one(void **state)
{
    static const char *const names[] = {
        "GET /a",
        "assign k",
        "assert k.x",
        "delay 3s",
        "delay 0.5s",
        "delay 250ms",
        "exec ls -l",
        "exec first…",
        "exec 012345678901234567890123456789012345678901234567890123456789…",
        "exec 0123456789012345678901234567890123456789012345678901234567\xc3\xa9…",
        "exec 01234567890123456789012345678901234567890123456789012345678…",
        "GET http://***@h/x",
        "GET http://***@h/x",
    };
    struct plan *plan = load(
        "base: http://h\n"
        "plan:\n"
        "  - request: {url: /a}\n"
        "  - assign: {key: k, value: v}\n"
        "  - assert: {key: k.x, value: v}\n"
        "  - delay: {seconds: 3}\n"
        "  - delay: {seconds: 0.50}\n"
        "  - delay: {milliseconds: 250}\n"
        "  - exec: {command: ls -l}\n"
        "  - exec: {command: \"first\\nsecond\"}\n"
        "  - exec: {command: '0123456789012345678901234567890123456789012345678901234567890'}\n"
        "  - exec: {command: "
        "'0123456789012345678901234567890123456789012345678901234567\xc3\xa9x'}\n"
        "  - exec: {command: "
        "'01234567890123456789012345678901234567890123456789012345678\xc3\xa9'}\n"
        "  - request: {url: 'http://me:secret@h/x'}\n"
        "  - request: {url: 'http://{{ k }}:{{ k.y }}@h/x'}\n");

    (void)state;
    for (size_t i = 0; i < plan->n_steps; i++) {
        assert_str(plan->steps[i].name.source, names[i]);
        assert_true(plan->steps[i].name.constant);
    }
    assert_int_equal(plan->n_steps, sizeof(names) / sizeof(*names));
    plan_free(plan);
}

static void small_steps(void **state)
{
    struct plan *plan = load("plan:\n"
                             "  - delay: {seconds: 1.5}\n"
                             "  - delay: {milliseconds: 0.25}\n"
                             "  - exec: {command: 'echo {{ iteration }}'}\n"
                             "    timeout: 0.5\n"
                             "    assign: out\n"
                             "  - exec: {command: echo}\n"
                             "  - assign: {key: v, value: 'x{{ out }}'}\n"
                             "  - assign: {key: v, value: null}\n"
                             "  - assert: {key: 'v', value: 2.50}\n"
                             "    name: 404\n");

    (void)state;
    assert_int_equal(plan->steps[0].delay.ns, 1500 * NS_PER_MS);
    assert_int_equal(plan->steps[1].delay.ns, 250 * NS_PER_US);
    assert_str(plan->steps[1].delay.shown, "0.25ms");
    assert_int_equal(plan->steps[2].exec.timeout_ns, 500 * NS_PER_MS);
    assert_int_equal(plan->steps[2].exec.assign, SLOT_FIRST_OWN);
    assert_int_equal(plan->steps[3].exec.timeout_ns, 60 * NS_PER_S);
    assert_int_equal(plan->steps[3].exec.assign, SLOT_NONE);
    assert_int_equal(plan->steps[4].assign.slot, SLOT_FIRST_OWN + 1);
    assert_int_equal(plan->steps[5].assign.slot, SLOT_FIRST_OWN + 1);
    assert_str(plan->steps[4].assign.key, "v");
    assert_int_equal(plan->steps[5].assign.value.n, 0);
    assert_int_equal(plan->steps[6].assertion.key.slot, SLOT_FIRST_OWN + 1);
    assert_str(template_text(&plan->steps[6].assertion.value), "2.50");
    assert_str(plan->steps[6].name.source, "404");
    assert_int_equal(plan->n_names, 0);
    plan_free(plan);
}

static void items_make_item_known(void **state)
{
    struct plan *plan;

    (void)state;
    write_file("users.csv", "id,name\n1,Ada\n2,Grace\n");
    plan = load("base: http://h\n"
                "plan:\n"
                "  - request: {url: '/{{ item }}'}\n"
                "    with_items: [1, 2, 3]\n"
                "    pick: 2\n"
                "  - request: {url: '/{{ item.id }}'}\n"
                "  - request: {url: '/{{ item.name }}'}\n"
                "    with_items_from_csv: users.csv\n");
    assert_int_equal(items_count(plan->steps[0].items), 2);
    assert_null(plan->steps[1].items);
    assert_int_equal(items_count(plan->steps[2].items), 2);
    assert_int_equal(plan->n_items, 2);
    plan_free(plan);
}

static void a_command_with_data_is_warned_of(void **state)
{
    struct plan_options options = {0};
    struct faults faults;

    (void)state;
    write_file("users.csv", "id\n1\n");
    faults_init(&faults);
    plan_free(plan_load(in_folder("plan.yml"),
                        STR("plan:\n  - request: {url: http://h/}\n    with_items: [1]\n"
                            "  - exec: {command: 'echo {{ item }}'}\n"
                            "  - request: {url: http://h/}\n    with_items_from_csv: users.csv\n"
                            "  - exec: {command: 'echo {{ index }} {{ item.id }}'}\n"),
                        &options, &faults));
    assert_int_equal(faults.n, 1);
    assert_int_equal(faults.items[0].line, 7);
    assert_non_null(strstr(faults.items[0].text, "'item.id' comes from a data file"));
    faults_fini(&faults);
}

static void names_are_kept_once(void **state)
{
    struct plan *plan = load("base: http://h\n"
                             "plan:\n"
                             "  - {name: b, request: {url: /1}}\n"
                             "  - {name: a, request: {url: /2}}\n"
                             "  - {name: none, delay: {seconds: 0}}\n"
                             "  - {name: b, request: {url: /3}}\n");

    (void)state;
    assert_int_equal(plan->n_names, 2);
    assert_str(plan->names[0], "b");
    assert_str(plan->names[1], "a");
    assert_int_equal(plan->steps[0].stat, 0);
    assert_int_equal(plan->steps[1].stat, 1);
    assert_int_equal(plan->steps[3].stat, 0);
    plan_free(plan);
}

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
        cmocka_unit_test(settings_are_read),
        cmocka_unit_test(a_base_from_outside_wins),
        cmocka_unit_test(a_request_has_all_it_needs),
        cmocka_unit_test(a_length_of_nothing_is_a_body),
        cmocka_unit_test(urls_that_begin_with_a_template),
        cmocka_unit_test(bodies_of_bytes),
        cmocka_unit_test(bodies_are_looked_up_beside_the_file),
        cmocka_unit_test(steps_without_a_name_get_one),
        cmocka_unit_test(small_steps),
        cmocka_unit_test(items_make_item_known),
        cmocka_unit_test(a_command_with_data_is_warned_of),
        cmocka_unit_test(names_are_kept_once),
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
