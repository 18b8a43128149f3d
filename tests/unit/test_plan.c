/* links: plan base */
#include "plan_fixture.h"

#include "base/clock.h"

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

static void a_load_is_read(void **state)
{
    struct plan *plan;

    (void)state;
    setenv("DRILLER_PACE", "250", 1);
    plan = load("rate: '{{ DRILLER_PACE }}/s'\narrival: poisson\nwhen_late: drop\n"
                "duration: 1m30s\nwarmup: 5\ngrace: 500ms\npacing: 2s\nplan: []\n");
    assert_true(plan->load.rate == 250 && !plan->load.by_request);
    assert_true(plan->has_arrival && plan->load.arrival == ARRIVAL_POISSON);
    assert_true(plan->has_when_late && plan->drop_late);
    assert_int_equal(plan->duration_ns, 90 * NS_PER_S);
    assert_int_equal(plan->warmup_ns, 5 * NS_PER_S);
    assert_int_equal(plan->grace_ns, 500 * NS_PER_MS);
    assert_int_equal(plan->pacing_ns, 2 * NS_PER_S);
    plan_free(plan);

    plan = load("stages: [{duration: 30s, rate: 100r/s}, {duration: 0, rate: 50r/s}]\n"
                "iterations: 9\nconcurrency: 3\nplan: []\n");
    assert_true(load_is_open(&plan->load) && plan->load.by_request);
    assert_int_equal(plan->load.n_stages, 2);
    assert_int_equal(plan->load.stages[0].duration_ns, 30 * NS_PER_S);
    assert_int_equal(plan->load.stages[1].duration_ns, 0);
    plan_free(plan);

    plan = load("stages:\n- {duration: 1m, users: 5}\n- duration: 10\n  users: 0\nplan: []\n");
    assert_true(load_has_user_stages(&plan->load));
    assert_true(plan->load.stages[0].target == 5 && plan->load.stages[1].target == 0);
    assert_false(plan->has_arrival || plan->has_when_late || plan->drop_late);
    plan_free(plan);
}

static void delays_between_two_times(void **state)
{
    struct plan *plan = load("plan:\n"
                             "  - delay: {min: 1, max: 3}\n"
                             "  - delay: {min: 500ms, max: 2s}\n"
                             "  - delay: {min: 0.5, max: 1m}\n"
                             "  - delay: {min: 500ms, max: 2}\n"
                             "  - delay: {min: 0, max: 0}\n"
                             "  - delay: {seconds: 2}\n");

    (void)state;
    assert_int_equal(plan->steps[0].delay.ns, NS_PER_S);
    assert_int_equal(plan->steps[0].delay.max_ns, 3 * NS_PER_S);
    assert_str(plan->steps[0].delay.shown, "1-3s");
    assert_str(plan->steps[0].name.source, "delay 1-3s");
    assert_int_equal(plan->steps[1].delay.ns, 500 * NS_PER_MS);
    assert_int_equal(plan->steps[1].delay.max_ns, 2 * NS_PER_S);
    assert_str(plan->steps[1].delay.shown, "500ms-2s");
    assert_str(plan->steps[2].delay.shown, "0.5s-1m");
    assert_str(plan->steps[3].delay.shown, "500ms-2s");
    assert_int_equal(plan->steps[4].delay.max_ns, 0);
    assert_int_equal(plan->steps[5].delay.max_ns, 2 * NS_PER_S);
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
        cmocka_unit_test(a_load_is_read),
        cmocka_unit_test(delays_between_two_times),
        cmocka_unit_test(small_steps),
        cmocka_unit_test(items_make_item_known),
        cmocka_unit_test(a_command_with_data_is_warned_of),
        cmocka_unit_test(names_are_kept_once),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
