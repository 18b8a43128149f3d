/* links: run */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "run/vars.h"

/* A plan that sets r (a response), t (a text) and has items, and one template more. */
#define PLAN                              \
    "base: http://h:1/x\n"                \
    "plan:\n"                             \
    "  - name: r\n"                       \
    "    request: {url: /}\n"             \
    "    assign: r\n"                     \
    "  - assign: {key: t, value: one}\n"  \
    "  - request: {url: '/{{ item }}'}\n" \
    "    with_items: [a, {b: [1, 2]}]\n"  \
    "  - assign: {key: u, value: '%s'}\n"

static struct plan *plan;
static struct jar jar;
static struct vars vars;

/* Loads the plan with that template; variables stay what they are, since slots do. */
static void load(const char *template)
{
    struct plan_options options = {.seed = 1};
    struct faults faults;
    char text[1000];

    snprintf(text, sizeof(text), PLAN, template);
    plan_free(plan);
    faults_init(&faults);
    plan = plan_load("plan.yml", str_of(text), &options, &faults);
    for (size_t i = 0; i < faults.n; i++)
        print_error("%s\n", faults.items[i].text);
    assert_non_null(plan);
    assert_int_equal(faults.n, 0);
    faults_fini(&faults);
    vars.plan = plan;
    if (vars.items)
        vars.items = plan->steps[2].items;
}

#define R (plan->steps[0].request.assign)
#define T (plan->steps[1].assign.slot)

static int make(void **state)
{
    (void)state;
    plan = NULL;
    jar_init(&jar, NULL);
    vars = (struct vars){0};
    load("x");
    vars_init(&vars, plan, &jar);
    vars_reset(&vars, 5);
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    vars_fini(&vars);
    jar_clear(&jar);
    plan_free(plan);
    return 0;
}

/* What a template comes to; NULL: a variable is missing. */
static void check(const char *template, const char *expected, int line)
{
    struct buf out;

    load(template);
    buf_init(&out, BUF_NO_MAX);
    const struct path *missing =
        template_render(&plan->steps[3].assign.value, vars_text, &vars, &out);
    if (!missing != (expected != NULL))
        fail_msg("line %d: %s is %s", line, template, missing ? "missing" : "there");
    if (expected && !str_eq(buf_str(&out), str_of(expected)))
        fail_msg("line %d: %s is '%.*s'", line, template, (int)out.n, out.p);
    if (missing && out.n)
        fail_msg("line %d: something was added", line);
    buf_fini(&out);
}
#define CHECK(template, expected) check(template, expected, __LINE__)

static void respond_bytes(unsigned status, const char *fields, struct str body)
{
    struct response *response = xmalloc(sizeof(*response));

    response_init(response);
    response->status = status;
    buf_add_str(&response->fields, str_of(fields));
    buf_add_str(&response->body, body);
    buf_add_str(&response->url, STR("http://h:1/end"));
    vars_set_response(&vars, R, &response);
    if (response) {
        response_fini(response);
        free(response);
    }
}

static void respond(unsigned status, const char *fields, const char *body)
{
    respond_bytes(status, fields, str_of(body));
}

static void test_what_is_always_there(void **state)
{
    (void)state;
    CHECK("{{ base }} {{ iteration }} {{ index }}", "http://h:1/x 5 5");
    CHECK("{{ base.x }}", NULL);
    CHECK("{{ iteration.x }}", NULL);
    CHECK("{{ index[0] }}", NULL);
    CHECK("{{ cookies }}", "{}");
    vars.items = plan->steps[2].items;
    CHECK("{{ item }}", "a");
    vars.item = vars.index = 1;
    CHECK("{{ item }} {{ item.b[1] }} {{ index }} {{ iteration }}", "{\"b\":[1,2]} 2 1 5");
    CHECK("{{ item.c }}", NULL);
    vars_reset(&vars, 6);
    CHECK("{{ item }}", NULL);
    CHECK("{{ index }}", "6");
}

static void test_texts(void **state)
{
    (void)state;
    CHECK("{{ t }}", NULL);
    vars_set_text(&vars, T, STR("{{ iteration }}"));
    CHECK("<{{ t }}>", "<{{ iteration }}>"); /* not looked at again */
    CHECK("{{ t.x }}", NULL);
    vars_set_text(&vars, T, STR(""));
    CHECK("<{{ t }}>", "<>");
    vars_reset(&vars, 6);
    CHECK("{{ t }}", NULL);
}

static void test_the_environment_stands_in(void **state)
{
    (void)state;
    setenv("t", "environment's", 1);
    setenv("DRILLER_TEST_ONLY", "e", 1);
    CHECK("{{ t }} {{ DRILLER_TEST_ONLY }}", "environment\x27s e");
    vars_set_text(&vars, T, STR("own"));
    CHECK("{{ t }}", "own");
    unsetenv("t");
    unsetenv("DRILLER_TEST_ONLY");
}

static void test_cookies(void **state)
{
    struct cookie_place place = {.host = STR("h"), .path = STR("/")};

    (void)state;
    jar_set(&jar, STR("a=1"), &place, 1000);
    jar_set(&jar, STR("b=\"2\""), &place, 1000);
    CHECK("{{ cookies.a }} {{ cookies[a] }}", "1 1");
    CHECK("{{ cookies.c }}", NULL);
    CHECK("{{ cookies.a.x }}", NULL);
    CHECK("{{ cookies }}", "{\"a\":\"1\",\"b\":\"\\\"2\\\"\"}");
}

static void test_a_response(void **state)
{
    (void)state;
    CHECK("{{ r.status }}", NULL);
    respond(201, "Content-Type: application/json\r\nX-A: 1\r\nx-a: 2\r\nFold: a\r\n b\r\n",
            " {\"a\": [1, {\"b\": \"c\\n\"}], \"n\": null, \"big\": 12345678901234567890.10} ");
    CHECK("{{ r.status }}", "201");
    CHECK("{{ r.url }}", "http://h:1/end");
    CHECK("{{ r.body.a[0] }}{{ r.body.a.1.b }}", "1c\n");
    CHECK("{{ r.body.a }}", "[1,{\"b\":\"c\\n\"}]");
    CHECK("<{{ r.body.n }}>", "<>");
    CHECK("{{ r.body.big }}", "12345678901234567890.10");
    CHECK("{{ r.body.none }}", NULL);
    CHECK("{{ r.body.a[2] }}", NULL);
    CHECK("{{ r.headers.x-a }} {{ r.headers.fold }}", "2 a b"); /* the last one */
    CHECK("{{ r.headers }}",
          "{\"content-type\":\"application/json\",\"x-a\":\"2\",\"fold\":\"a b\"}");
    CHECK("{{ r.headers.none }}", NULL);
    CHECK("{{ r.headers.x-a.b }}", NULL);
    CHECK("{{ r.status.x }}", NULL);
    CHECK("{{ r.nothing }}", NULL);
    vars_reset(&vars, 6);
    CHECK("{{ r.status }}", NULL);
}

static void test_a_response_as_a_whole(void **state)
{
    (void)state;
    respond(200, "A: \"\r\n", "{\"b\": 1}");
    CHECK("{{ r }}", "{\"status\":200,\"headers\":{\"a\":\"\\\"\"},\"body\":{\"b\":1},"
                     "\"url\":\"http://h:1/end\"}");
    respond(200, "", "\"text\"");
    CHECK("{{ r }}",
          "{\"status\":200,\"headers\":{},\"body\":\"text\",\"url\":\"http://h:1/end\"}");
    CHECK("{{ r.body }}", "text");
    respond(200, "", "null");
    CHECK("{{ r }}", "{\"status\":200,\"headers\":{},\"body\":null,\"url\":\"http://h:1/end\"}");
}

/* As many as a head may have: in time that grows with them, not with their square. */
static void test_many_headers(void **state)
{
    struct buf fields, expected;

    (void)state;
    buf_init(&fields, BUF_NO_MAX);
    buf_init(&expected, BUF_NO_MAX);
    buf_add_char(&expected, '{');
    for (unsigned i = 0; i < 5000; i++) {
        buf_addf(&fields, "X-%u: %u\r\n", i % 2500, i);
        if (i >= 2500)
            buf_addf(&expected, "%s\"x-%u\":\"%u\"", i > 2500 ? "," : "", i - 2500, i);
    }
    buf_add_char(&fields, '\0');
    buf_add(&expected, "}", 2);
    respond(200, fields.p, "");
    CHECK("{{ r.headers }}", expected.p);
    buf_fini(&fields);
    buf_fini(&expected);
}

static void test_bodies_that_are_no_json(void **state)
{
    (void)state;
    respond(200, "", "<html>");
    CHECK("<{{ r.body }}>", "<>"); /* null */
    CHECK("{{ r.body.a }}", NULL);
    CHECK("{{ r.text }}", "<html>");
    CHECK("{{ r }}", "{\"status\":200,\"headers\":{},\"body\":null,\"url\":\"http://h:1/end\"}");
    respond(200, "", "");
    CHECK("<{{ r.body }}{{ r.text }}>", "<>");
}

static void test_another_response_takes_its_place(void **state)
{
    (void)state;
    respond(200, "", "{\"a\": 1}");
    CHECK("{{ r.body.a }}", "1");
    respond(500, "", "no");
    CHECK("<{{ r.body }}> {{ r.status }}", "<> 500");
    CHECK("{{ r.body.a }}", NULL);
}

static void test_bodies_in_other_charsets(void **state)
{
    (void)state;
    respond_bytes(200, "Content-Type: text/plain; charset=iso-8859-1\r\n", STR("caf\xe9"));
    CHECK("{{ r.text }}", "caf\xc3\xa9");
    CHECK("{{ r.text }}", "caf\xc3\xa9"); /* converted once */
    respond_bytes(200, "Content-Type: application/json; charset=iso-8859-1\r\n",
                  STR("{\"a\": \"\xe9\"}"));
    CHECK("{{ r.body.a }}", "\xc3\xa9");
    respond_bytes(200, "", STR("\xef\xbb\xbf{\"a\": \"\xc3\xa9\"}"));
    CHECK("{{ r.body.a }}", "\xc3\xa9");
    respond_bytes(200, "", STR("a\xff"));
    CHECK("{{ r.text }}", "a\xef\xbf\xbd");
}

static void test_large_bodies_do_not_stay(void **state)
{
    char *large = test_malloc(1000001);

    (void)state;
    memset(large, 'x', 1000000);
    large[1000000] = '\0';
    respond(200, "", large);
    vars_set_text(&vars, T, str_of(large));
    test_free(large);
    struct var *var = &vars.own[R - SLOT_FIRST_OWN];
    assert_true(var->response->body.cap >= 1000000);
    vars_reset(&vars, 6);
    assert_int_equal(var->response->body.cap, 0);
    assert_int_equal(vars.own[T - SLOT_FIRST_OWN].text.cap, 0);
}

static void test_nothing_is_allocated_before_it_is_needed(void **state)
{
    (void)state;
    CHECK("{{ iteration }}", "5");
    CHECK("{{ t }}", NULL);
    assert_null(vars.own);
}

int main(void)
{
#define VARS_TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)
    const struct CMUnitTest tests[] = {
        VARS_TEST(test_what_is_always_there),
        VARS_TEST(test_texts),
        VARS_TEST(test_the_environment_stands_in),
        VARS_TEST(test_cookies),
        VARS_TEST(test_a_response),
        VARS_TEST(test_a_response_as_a_whole),
        VARS_TEST(test_many_headers),
        VARS_TEST(test_bodies_that_are_no_json),
        VARS_TEST(test_another_response_takes_its_place),
        VARS_TEST(test_bodies_in_other_charsets),
        VARS_TEST(test_large_bodies_do_not_stay),
        VARS_TEST(test_nothing_is_allocated_before_it_is_needed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
