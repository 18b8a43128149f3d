/* links: plan base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/yamlscalar.h"
#include "plan/plan.h"

#define STRINGS SOURCE_DIR "/../shared/vectors/naughty_strings.json"

/* A plan in which `text` stands in every place that takes any. */
static void write_plan(struct buf *plan, struct str text)
{
    static const char *const lines[] = {
        "base: http://h\nplan:\n  - name: ",
        "\n    request:\n      url: /?q=",
        "\n      headers:\n        X-A: ",
        "\n      body: ",
        "\n  - exec:\n      command: ",
        "\n  - assign:\n      key: k\n      value: ",
        "\n  - assert:\n      key: k\n      value: ",
    };
    struct buf url;

    buf_init(&url, BUF_NO_MAX);
    buf_add_str(&url, STR("/?q="));
    buf_add_str(&url, text);
    buf_reset(plan);
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        struct str line = str_of(lines[i]);

        if (str_ends(line, STR("/?q="))) {
            line.n -= 4;
            buf_add_str(plan, line);
            yaml_scalar(plan, buf_str(&url), true);
        } else {
            buf_add_str(plan, line);
            yaml_scalar(plan, text, true);
        }
    }
    buf_add_char(plan, '\n');
    buf_fini(&url);
}

static void check_texts(const struct plan *plan, struct str text)
{
    const struct step_request *request = &plan->steps[0].request;

    assert_true(str_eq(template_text(&request->body), text));
    assert_true(str_eq(template_text(&request->headers[0].value), text));
    assert_true(str_eq(template_text(&plan->steps[1].exec.command), text));
    assert_true(str_eq(template_text(&plan->steps[2].assign.value), text));
    assert_true(str_eq(template_text(&plan->steps[3].assertion.value), text));
    if (text.n)
        assert_true(str_eq(plan->steps[0].name.source, text));
}

/* Each comes through byte for byte, or it is refused with a fault and nothing is sent. */
static void every_string_is_kept_or_refused(void **state)
{
    struct plan_options options = {0};
    struct str file, json, value;
    struct buf text, source;
    const char *why;
    uint64_t kept = 0, i = 0;

    (void)state;
    if (!file_read(STRINGS, 1 << 20, &file, &why)) {
        print_message("%s: %s\n", STRINGS, why);
        skip();
    }
    assert_true(json_check(file, &json));
    buf_init(&text, BUF_NO_MAX);
    buf_init(&source, BUF_NO_MAX);
    for (; json_find(json, &(struct json_key){{0}, i, true}, 1, &value); i++) {
        struct faults faults;
        struct plan *plan;

        buf_reset(&text);
        json_text(value, &text);
        write_plan(&source, buf_str(&text));
        faults_init(&faults);
        plan = plan_load("plan.yml", buf_str(&source), &options, &faults);
        if (plan)
            check_texts(plan, buf_str(&text));
        else if (!faults.errors)
            fail_msg("string %llu", (unsigned long long)i);
        kept += plan ? 1 : 0;
        plan_free(plan);
        faults_fini(&faults);
    }
    print_message("%llu of %llu kept\n", (unsigned long long)kept, (unsigned long long)i);
    assert_true(i > 500 && kept > 450);
    buf_fini(&text);
    buf_fini(&source);
    free((char *)(uintptr_t)file.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_string_is_kept_or_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
