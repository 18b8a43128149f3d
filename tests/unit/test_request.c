/* links: run */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/url.h"
#include "run/request.h"

#define DEFAULTS "Accept: */*\r\nUser-Agent: driller\r\n"

static struct loop *loop;
static struct blocks blocks;
static struct client *client;
static struct arena arena;
static struct plan *plan;
static struct vars vars;
static struct jar jar;
static struct buf out, scratch;
static struct prepared prepared;
static struct request request;
static struct render_problem problem;

/* The plan's second step is the request; the first sets v. */
static void load(const char *base, const char *step)
{
    struct plan_options options = {.seed = 1};
    struct faults faults;
    char text[4000];

    snprintf(
        text, sizeof(text),
        "%s%s\nplan:\n  - assign: {key: v, value: x}\n  - %s\n  - assign: {key: w, value: x}\n",
        base ? "base: " : "", base ? base : "", step);
    vars_fini(&vars);
    plan_free(plan);
    faults_init(&faults);
    plan = plan_load("plan.yml", str_of(text), &options, &faults);
    for (size_t i = 0; i < faults.n; i++)
        print_error("%s\n", faults.items[i].text);
    assert_non_null(plan);
    faults_fini(&faults);
    vars_init(&vars, plan, &jar);
    vars_reset(&vars, 0);
    arena_reset(&arena);
    request_prepare(&prepared, &plan->steps[1], plan, client, &arena);
}

/* v NULL: not set. */
static enum render_result render(const char *v)
{
    struct renderer renderer = {vars_text, &vars, &out, &scratch};

    vars_reset(&vars, 0);
    if (v)
        vars_set_text(&vars, plan->steps[0].assign.slot, str_of(v));
    problem = (struct render_problem){0};
    request = prepared.request;
    return prepared.fixed ? RENDER_OK
                          : request_render(&prepared, plan, client, &renderer, &request, &problem);
}

static int make(void **state)
{
    (void)state;
    blocks_init(&blocks);
    arena_init(&arena);
    jar_init(&jar, NULL);
    buf_init(&out, 64u << 20);
    buf_init(&scratch, 64u << 20);
    plan = NULL;
    vars = (struct vars){0};
    loop = loop_new();
    client =
        loop ? client_new(loop, &blocks, &(struct client_options){.timeout_ns = NS_PER_S}) : NULL;
    return client ? 0 : -1;
}

static int unmake(void **state)
{
    (void)state;
    vars_fini(&vars);
    plan_free(plan);
    buf_fini(&out);
    buf_fini(&scratch);
    arena_fini(&arena);
    client_close(client);
    bool freed = loop_free(loop);
    client_free(client);
    blocks_fini(&blocks);
    return freed ? 0 : -1;
}

static void check_str(struct str s, const char *expected, int line)
{
    if (!str_eq(s, str_of(expected)))
        fail_msg("line %d: '%.*s' is not '%s'", line, (int)s.n, s.p, expected);
}
#define CHECK(s, expected) check_str(s, expected, __LINE__)

static void check_origin(const char *host, uint16_t port)
{
    CHECK(request.origin->host, host);
    assert_int_equal(request.origin->port, port);
    assert_false(request.origin->https);
}

static void test_what_needs_no_variables_is_made_once(void **state)
{
    (void)state;
    load("http://h:81", "request: {url: /a b?c#d}");
    assert_true(prepared.fixed);
    assert_true(prepared.idempotent);
    assert_int_equal(render(NULL), RENDER_OK);
    CHECK(request.head, "GET /a%20b?c HTTP/1.1\r\nHost: h:81\r\n" DEFAULTS "\r\n");
    CHECK(request.target, "/a%20b?c");
    CHECK(request.shown, "http://h:81/a b?c#d");
    CHECK(request.body, "");
    check_origin("h", 81);
    assert_true(request.origin->pinned);
}

static void test_methods_and_bodies(void **state)
{
    static const struct {
        const char *step, *head, *body;
        bool idempotent, is_head;
    } cases[] = {
        {"request: {url: /, method: post, body: 'a=1'}",
         "POST / HTTP/1.1\r\nHost: h\r\n" DEFAULTS "Content-Length: 3\r\n\r\n", "a=1", false,
         false},
        {"request: {url: /, method: POST}",
         "POST / HTTP/1.1\r\nHost: h\r\n" DEFAULTS "Content-Length: 0\r\n\r\n", "", false, false},
        {"request: {url: /, method: PATCH}",
         "PATCH / HTTP/1.1\r\nHost: h\r\n" DEFAULTS "Content-Length: 0\r\n\r\n", "", false, false},
        {"request: {url: /, method: PUT}",
         "PUT / HTTP/1.1\r\nHost: h\r\n" DEFAULTS "Content-Length: 0\r\n\r\n", "", true, false},
        {"request: {url: /, method: DELETE, body: ''}",
         "DELETE / HTTP/1.1\r\nHost: h\r\n" DEFAULTS "Content-Length: 0\r\n\r\n", "", true, false},
        {"request: {url: /, method: HEAD}", "HEAD / HTTP/1.1\r\nHost: h\r\n" DEFAULTS "\r\n", "",
         true, true},
        {"request: {url: /, body: {hex: '00 ff'}}",
         "GET / HTTP/1.1\r\nHost: h\r\n" DEFAULTS "Content-Length: 2\r\n\r\n", NULL, true, false},
        {"request: {url: /, method: POST, body: 'a={{ v }}'}",
         "POST / HTTP/1.1\r\nHost: h\r\n" DEFAULTS "Content-Length: 5\r\n\r\n", "a=\r\n!", false,
         false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        load("http://h", cases[i].step);
        assert_int_equal(render("\r\n!"), RENDER_OK);
        CHECK(request.head, cases[i].head);
        if (cases[i].body)
            CHECK(request.body, cases[i].body);
        else
            assert_memory_equal(request.body.p, "\x00\xff", 2);
        assert_int_equal(prepared.idempotent, cases[i].idempotent);
        assert_int_equal(prepared.is_head, cases[i].is_head);
    }
}

static void test_headers_replace_the_defaults(void **state)
{
    (void)state;
    load("http://h", "request: {url: /, headers: {X-B: 1, user-agent: 'u{{ v }}', HOST: other,"
                     " X-A: true, cookie: a=1}}");
    assert_true(prepared.own_cookies);
    assert_int_equal(render("\t2"), RENDER_OK);
    CHECK(request.head, "GET / HTTP/1.1\r\nAccept: */*\r\nX-B: 1\r\nuser-agent: u\t2\r\n"
                        "HOST: other\r\nX-A: true\r\ncookie: a=1\r\n\r\n");
    check_origin("h", 80);
}

static void test_a_fixed_authority(void **state)
{
    static const struct {
        const char *url, *v, *target;
    } cases[] = {
        {"http://H:80/{{ v }}", "a/../b", "/b"},
        {"http://h/a/{{ v }}", "..%2e", "/a/..%2e"},
        {"http://h/a{{ v }}", "?q='\xc3\xa4'#f", "/a?q=%27%C3%A4%27"},
        {"http://h?q={{ v }}", "1 2", "/?q=1%202"},
        {"http://h#{{ v }}", "f", "/"},
        {"http://h\\a{{ v }}", "\\b", "/a/b"},
        {"http://h/{{ v }}", "/other:1/", "//other:1/"},
        {"http://h/{{ v }}", "@other/", "/@other/"},
        {"http://h/{{ v }}", "", "/"},
        {"http://h/{{ v }}", "  ", "/"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char step[200];
        snprintf(step, sizeof(step), "request: {url: '%s'}", cases[i].url);
        load(NULL, step);
        assert_true(prepared.fixed_authority);
        assert_false(prepared.fixed);
        assert_int_equal(render(cases[i].v), RENDER_OK);
        CHECK(request.target, cases[i].target);
        check_origin("h", 80);
    }
}

static void test_an_authority_that_depends_on_variables(void **state)
{
    static const struct {
        const char *url, *v, *target, *host;
        uint16_t port;
    } cases[] = {
        {"http://{{ v }}/a", "H2:81", "/a", "h2", 81},
        {"http://h{{ v }}", "2/b?c", "/b?c", "h2", 80},
        {"http://h{{ v }}/", ".x:82/", "//", "h.x", 82},
        {"http://h:{{ v }}/a", "83", "/a", "h", 83},
        {"http://u:{{ v }}@h/", "p/@evil/", "/@evil/@h/", NULL, 0},
        {"{{ v }}", "http://h3/c", "/c", "h3", 80},
        {"{{ v }}", "/d", "/pre/d", "base", 90},
        {"{{ v }}/e", "/d", "/pre/d/e", "base", 90},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char step[200];
        snprintf(step, sizeof(step), "request: {url: '%s'}", cases[i].url);
        load("http://base:90/pre", step);
        assert_false(prepared.fixed_authority);
        enum render_result result = render(cases[i].v);
        if (!cases[i].host) { /* "http://u:p" is an authority with a bad port */
            assert_int_equal(result, RENDER_LOCAL);
            continue;
        }
        assert_int_equal(result, RENDER_OK);
        CHECK(request.target, cases[i].target);
        check_origin(cases[i].host, cases[i].port);
        assert_false(request.origin->pinned);
    }
}

static void test_a_base_is_put_before_a_path(void **state)
{
    (void)state;
    load("http://base:90/pre", "request: {url: '{{ v }}'}");
    assert_int_equal(render("/a"), RENDER_OK);
    CHECK(request.shown, "http://base:90/pre/a");
    load(NULL, "request: {url: '{{ v }}'}");
    assert_int_equal(render("/a"), RENDER_LOCAL); /* there is none */
    CHECK(problem.part, "url");
    assert_non_null(problem.text);
}

static void test_credentials_are_sent_and_not_shown(void **state)
{
    static const char *const steps[] = {"request: {url: 'http://u:p@h/a?x@y'}",
                                        "request: {url: 'http://u:p@h/a?{{ v }}'}",
                                        "request: {url: 'http://u:{{ v }}@h/a?x@y'}"};

    (void)state;
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        load(NULL, steps[i]);
        assert_int_equal(render(i < 2 ? "x@y" : "p"), RENDER_OK);
        CHECK(request.shown, "http://***@h/a?x@y");
        CHECK(request.head,
              "GET /a?x@y HTTP/1.1\r\nHost: h\r\n" DEFAULTS "Authorization: Basic dTpw\r\n\r\n");
        check_origin("h", 80);
    }
    load(NULL, "request: {url: 'http://u:p@h/', headers: {authorization: own}}");
    assert_int_equal(render(NULL), RENDER_OK);
    CHECK(request.head, "GET / HTTP/1.1\r\nHost: h\r\n" DEFAULTS "authorization: own\r\n\r\n");
}

/* I-2: nothing that a variable brings splits a request. */
static void test_control_characters_are_not_sent(void **state)
{
    static const char *const bad[] = {"a\r\nX: y", "a\nb", "\r", "a\x01", "\x7f", "\x1b[2J"};
    static const char *const steps[] = {"request: {url: '/{{ v }}'}",
                                        "request: {url: 'http://{{ v }}/'}",
                                        "request: {url: /, headers: {X-A: '{{ v }}'}}"};
    static const char *const parts[] = {"url", "url", "X-A"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        load("http://h", steps[i]);
        for (size_t k = 0; k < sizeof(bad) / sizeof(*bad); k++) {
            assert_int_equal(render(bad[k]), RENDER_LOCAL);
            CHECK(problem.part, parts[i]);
            assert_non_null(problem.where);
            CHECK(str_of(problem.text), "holds a line break or another control character");
        }
        assert_int_equal(render("fine"), RENDER_OK);
    }
}

static void test_a_nul_is_not_sent(void **state)
{
    (void)state;
    load("http://h", "request: {url: '/{{ v }}'}");
    render("");
    vars_set_text(&vars, plan->steps[0].assign.slot, (struct str){"a\0b", 3});
    struct renderer renderer = {vars_text, &vars, &out, &scratch};
    assert_int_equal(request_render(&prepared, plan, client, &renderer, &request, &problem),
                     RENDER_LOCAL);
}

static void test_urls_that_cannot_be_sent(void **state)
{
    static const char *const bad[] = {"ftp://h/", "h/path",     "http://h:99999/", "http://",
                                      "mailto:x", "",           "http://a b/",     "http://[::1/",
                                      "//h/",     "http://%zz/"};

    (void)state;
    load(NULL, "request: {url: '{{ v }}'}");
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        if (render(bad[i]) != RENDER_LOCAL)
            fail_msg("%s", bad[i]);
        CHECK(problem.part, "url");
    }
}

static void test_sizes_have_limits(void **state)
{
    char *large = test_malloc((64u << 20) + 1);

    (void)state;
    memset(large, 'a', 64u << 20);
    large[64u << 20] = '\0';
    load("http://h", "request: {url: '/', method: POST, body: '{{ v }}'}");
    assert_int_equal(render(large), RENDER_LOCAL);
    CHECK(problem.part, "request");
    large[URL_MAX] = '\0';
    load("http://h", "request: {url: '/{{ v }}'}");
    assert_int_equal(render(large), RENDER_LOCAL);
    CHECK(problem.part, "url");
    large[URL_MAX - 20] = '\0';
    assert_int_equal(render(large), RENDER_OK);
    assert_int_equal(request.target.n, URL_MAX - 19);
    test_free(large);
}

static void test_missing_variables(void **state)
{
    static const char *const steps[] = {
        "{name: 'n {{ v }}', request: {url: '/x'}}", "{name: n, request: {url: '/{{ v }}'}}",
        "{name: n, request: {url: /x, headers: {A: '{{ v }}'}}}",
        "{name: n, request: {url: /x, method: POST, body: '{{ v }}'}}"};

    (void)state;
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        load("http://h", steps[i]);
        assert_int_equal(render(NULL), RENDER_MISSING);
        CHECK(problem.path->text, "v");
        CHECK(request.shown, i == 1 ? "http://h/" : "http://h/x"); /* as far as it goes */
        CHECK(request.name, i == 0 ? "n " : "n");
        assert_int_equal(render("1"), RENDER_OK);
        CHECK(request.name, i == 0 ? "n 1" : "n");
    }
}

static void test_what_is_shown_of_a_head(void **state)
{
    (void)state;
    load("http://h", "request: {url: /, headers: {X-A: '{{ v }}'}}");
    assert_int_equal(render("1"), RENDER_OK);
    CHECK(request_shown_fields(&prepared, request.head), "User-Agent: driller\r\nX-A: 1\r\n\r\n");
}

int main(void)
{
#define REQUEST_TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)
    const struct CMUnitTest tests[] = {
        REQUEST_TEST(test_what_needs_no_variables_is_made_once),
        REQUEST_TEST(test_methods_and_bodies),
        REQUEST_TEST(test_headers_replace_the_defaults),
        REQUEST_TEST(test_a_fixed_authority),
        REQUEST_TEST(test_an_authority_that_depends_on_variables),
        REQUEST_TEST(test_a_base_is_put_before_a_path),
        REQUEST_TEST(test_credentials_are_sent_and_not_shown),
        REQUEST_TEST(test_control_characters_are_not_sent),
        REQUEST_TEST(test_a_nul_is_not_sent),
        REQUEST_TEST(test_urls_that_cannot_be_sent),
        REQUEST_TEST(test_sizes_have_limits),
        REQUEST_TEST(test_missing_variables),
        REQUEST_TEST(test_what_is_shown_of_a_head),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
