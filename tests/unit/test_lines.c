/* links: out */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "out/lines.h"

static const struct style plain = {0};
static const struct style color = {.color = true};
static const struct style nanosec = {.nanosec = true};
static const struct style secrets = {.show_secrets = true};

/* What was appended, and then the buffer is empty again. */
static void assert_text(struct buf *out, const char *expected)
{
    buf_add_char(out, '\0');
    assert_string_equal(out->p, expected);
    assert_false(out->full);
    buf_reset(out);
}

static struct line_result status(unsigned code, uint64_t ns)
{
    return (struct line_result){.outcome = OUTCOME_RESPONSE, .status = code, .latency_ns = ns};
}

static void requests(void **state)
{
    struct str url = STR("http://h/api/users.json"), name = STR("Fetch users");
    struct line_result result = status(200, 1499999);
    struct buf out;

    (void)state;
    buf_init(&out, BUF_NO_MAX);
    line_request(&out, &plain, name, url, &result);
    assert_text(&out, "Fetch users               http://h/api/users.json 200 OK 1ms\n");
    result = status(404, 1500000);
    line_request(&out, &plain, name, url, &result);
    assert_text(&out, "Fetch users               http://h/api/users.json 404 Not Found 2ms\n");
    result = status(299, 0);
    line_request(&out, &plain, name, url, &result);
    assert_text(&out, "Fetch users               http://h/api/users.json 299 0ms\n");
    line_request(&out, &nanosec, STR("a name of more than 25 columns"), STR("u"),
                 &(struct line_result){.status = 503, .latency_ns = 1393914});
    assert_text(&out, "a name of more than 25 columns u 503 Service Unavailable 1393914ns\n");
    line_request(&out, &nanosec, STR(""), STR(""),
                 &(struct line_result){.status = 200, .latency_ns = UINT64_MAX});
    assert_text(&out, "                           200 OK 18446744073709551615ns\n");
    buf_fini(&out);
}

static void errors(void **state)
{
    struct line_result result = {.outcome = OUTCOME_CONNECT_REFUSED, .latency_ns = 100};
    struct buf out;

    (void)state;
    buf_init(&out, BUF_NO_MAX);
    line_request(&out, &plain, STR("gone"), STR("http://h/x"), &result);
    assert_text(&out, "gone                      http://h/x ERR connection refused 0ms\n");
    result.outcome = OUTCOME_TOO_LARGE;
    result.where = WHERE_BODY;
    line_request(&out, &plain, STR("gone"), STR("http://h/x"), &result);
    assert_text(&out, "gone                      http://h/x ERR body too large 0ms\n");
    result.where = WHERE_HEAD;
    line_request(&out, &plain, STR("gone"), STR("http://h/x"), &result);
    assert_text(&out, "gone                      http://h/x ERR request failed 0ms\n");
    line_cause(&out, &plain, STR("errno\n\x1b[2J"));
    assert_text(&out, "  cause: errno\\n\\x1B[2J\n");
    buf_fini(&out);
}

static void colours(void **state)
{
    struct line_result result = status(200, 1000000);
    struct buf out;

    (void)state;
    buf_init(&out, BUF_NO_MAX);
    line_request(&out, &color, STR("n"), STR("u"), &result);
    assert_text(&out, "\x1b[32mn                        \x1b[0m \x1b[1;34mu\x1b[0m "
                      "\x1b[33m200 OK\x1b[0m \x1b[36m1ms\x1b[0m\n");
    result = status(404, 0);
    line_request(&out, &color, STR("n"), STR("u"), &result);
    assert_non_null(strstr((buf_add_char(&out, '\0'), out.p), "\x1b[36m404 Not Found\x1b[0m"));
    buf_reset(&out);
    result = status(511, 0);
    line_request(&out, &color, STR("n"), STR("u"), &result);
    assert_non_null(strstr((buf_add_char(&out, '\0'), out.p),
                           "\x1b[31m511 Network Authentication Required\x1b[0m"));
    buf_reset(&out);
    result.outcome = OUTCOME_DNS;
    line_request(&out, &color, STR("n"), STR("u"), &result);
    assert_non_null(
        strstr((buf_add_char(&out, '\0'), out.p), " \x1b[31mERR\x1b[0m DNS resolution failed "));
    buf_reset(&out);
    line_cause(&out, &color, STR("x"));
    assert_text(&out, "\x1b[2m  cause: x\x1b[0m\n");
    line_fail(&out, &color, STR("n"), STR("k"), STR("1"), STR("2"));
    assert_text(&out, "\x1b[32mn                        \x1b[0m \x1b[1;31mFAIL:\x1b[0m "
                      "\x1b[1;36mk\x1b[0m -- expected \"\x1b[35m1\x1b[0m\", got "
                      "\"\x1b[35m2\x1b[0m\"\n");
    buf_fini(&out);
}

/* Names are padded by display width, whatever their bytes; nothing raw reaches a terminal. */
static void odd_texts(void **state)
{
    struct line_result result = status(200, 0);
    struct buf out;

    (void)state;
    buf_init(&out, BUF_NO_MAX);
    line_request(&out, &plain, STR("caf\xc3\xa9"), STR("u\xe6\x97\xa5"), &result);
    assert_text(&out, "caf\xc3\xa9                      u\xe6\x97\xa5 200 OK 0ms\n");
    line_request(&out, &plain, STR("\xe6\x97\xa5\xe6\x9c\xac"), STR("u"), &result);
    assert_text(&out, "\xe6\x97\xa5\xe6\x9c\xac                      u 200 OK 0ms\n");
    line_request(&out, &plain, STR("a\nb"), STR("http://h/\x1b]52;c;x\x07?\x7f\xff"), &result);
    assert_text(&out,
                "a\\nb                      http://h/\\x1B]52;c;x\\x07?\\x7F\\xFF 200 OK 0ms\n");
    buf_fini(&out);
}

/* Each byte at each place of a text of each length up to three words is shown or escaped as
 * base/text.h says. */
static void every_byte_at_every_place(void **state)
{
    struct line_result result = status(200, 0);
    struct buf out;

    (void)state;
    buf_init(&out, BUF_NO_MAX);
    for (size_t n = 1; n <= 24; n++) {
        for (size_t at = 0; at < n; at++) {
            for (unsigned byte = 0; byte < 256; byte++) {
                char url[24];
                bool shown = byte >= 0x20 && byte < 0x7f;

                memset(url, 'u', sizeof(url));
                url[at] = (char)byte;
                buf_reset(&out);
                line_request(&out, &plain, STR("n"), (struct str){url, n}, &result);
                assert_int_equal(memcmp(out.p + 26, url, n) == 0, shown);
            }
        }
    }
    buf_fini(&out);
}

static void long_texts_are_cut(void **state)
{
    struct line_result result = status(200, 0);
    char *text = xmalloc(100000);
    struct str s = {text, 100000};
    struct line_field field = {STR("x"), s};
    struct buf out;

    (void)state;
    memset(text, 'a', s.n);
    buf_init(&out, BUF_NO_MAX);
    line_request(&out, &plain, s, s, &result);
    assert_int_equal(out.n, 4096 + 3 + 1 + 65536 + 3 + strlen(" 200 OK 0ms\n"));
    buf_reset(&out);
    line_cause(&out, &plain, s);
    assert_int_equal(out.n, strlen("  cause: ") + 4096 + 3 + 1);
    buf_reset(&out);
    line_verbose_request(&out, &plain, STR("u"), STR("GET"), &field, 1);
    assert_int_equal(out.n, strlen(">>> URL: u, METHOD: GET, HEADERS: {\"x\": \"\"}\n") + 4096 + 3);
    memset(text, '"', s.n);
    buf_reset(&out);
    line_verbose_request(&out, &plain, STR("u"), STR("GET"), &field, 1);
    assert_int_equal(out.n,
                     strlen(">>> URL: u, METHOD: GET, HEADERS: {\"x\": \"\"}\n") + 2 * 4096 + 3);
    buf_fini(&out);
    free(text);
}

static void other_steps(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, BUF_NO_MAX);
    line_assign(&out, &plain, STR("set"), STR("bar"), STR("2"));
    assert_text(&out, "set                       bar=2\n");
    line_assert(&out, &plain, STR("check"), STR("acc.status"), STR("200"));
    assert_text(&out, "check                     acc.status=200?\n");
    line_fail(&out, &plain, STR("check"), STR("acc.body.token"), STR("other"), STR("a43ba7b3"));
    assert_text(&out, "check                     FAIL: acc.body.token -- expected \"other\", got "
                      "\"a43ba7b3\"\n");
    line_fail(&out, &plain, STR("check"), STR("acc.x"), STR("1"), (struct str){NULL, 0});
    assert_text(&out, "check                     FAIL: acc.x -- expected \"1\", got nothing\n");
    line_fail(&out, &plain, STR("check"), STR("acc.x"), STR("1"), STR(""));
    assert_text(&out, "check                     FAIL: acc.x -- expected \"1\", got \"\"\n");
    line_delay(&out, &plain, STR("wait"), STR("3s"));
    assert_text(&out, "wait                      3s\n");
    line_exec(&out, &plain, STR("sh"), STR("printf '%s' hello | tr a-z A-Z; echo"));
    assert_text(&out, "sh                        printf '%s' hello | tr a-z A-Z; echo\n");
    buf_fini(&out);
}

static void verbose_pairs(void **state)
{
    struct line_field fields[] = {
        {STR("user-agent"), STR("driller")},
        {STR("etag"), STR("\"a\\b\"\r\n")},
    };
    struct buf out;

    (void)state;
    buf_init(&out, BUF_NO_MAX);
    line_verbose_request(&out, &plain, STR("http://h/x"), STR("GET"), fields, 2);
    assert_text(&out, ">>> URL: http://h/x, METHOD: GET, HEADERS: {\"user-agent\": \"driller\", "
                      "\"etag\": \"\\\"a\\\\b\\\"\\r\\n\"}\n");
    line_verbose_request(&out, &plain, STR("http://h/x"), STR("GET"), NULL, 0);
    assert_text(&out, ">>> URL: http://h/x, METHOD: GET, HEADERS: {}\n");
    line_verbose_response(&out, &plain, STR("http://h/x"), 200, fields, 1, 431200,
                          STR("{\"a\": 1}"));
    assert_text(&out, "<<< URL: http://h/x, STATUS: 200 OK, HEADERS: {\"user-agent\": "
                      "\"driller\"} DURATION: 0.4312 ms, BODY: \"{\\\"a\\\": 1}\"\n");
    line_verbose_response(&out, &plain, STR("http://h/x"), 299, NULL, 0, 2000000,
                          (struct str){NULL, 0});
    assert_text(&out, "<<< URL: http://h/x, STATUS: 299, HEADERS: {} DURATION: 2.0 ms,\n");
    line_verbose_nothing(&out, &plain);
    assert_text(&out, "<<<No response from server!\n");
    line_verbose_nothing(&out, &color);
    assert_text(&out, "\x1b[1;32m<<<\x1b[0mNo response from server!\n");
    buf_fini(&out);
}

static void secrets_are_hidden(void **state)
{
    static const char *const names[] = {"Authorization", "proxy-authorization", "COOKIE",
                                        "Set-Cookie"};
    struct buf out;

    (void)state;
    buf_init(&out, BUF_NO_MAX);
    for (size_t i = 0; i < 4; i++) {
        struct line_field field = {str_of(names[i]), STR("canary")};

        line_verbose_request(&out, &plain, STR("u"), STR("GET"), &field, 1);
        line_verbose_response(&out, &plain, STR("u"), 200, &field, 1, 0, (struct str){NULL, 0});
        assert_null(memmem(out.p, out.n, "canary", 6));
        assert_non_null(memmem(out.p, out.n, ": \"***\"}", 8));
        buf_reset(&out);
        line_verbose_request(&out, &secrets, STR("u"), STR("GET"), &field, 1);
        assert_non_null(memmem(out.p, out.n, "canary", 6));
        buf_reset(&out);
    }
    buf_fini(&out);
}

static void a_full_buffer_is_remembered(void **state)
{
    struct line_result result = status(200, 0);

    (void)state;
    for (size_t max = 0; max < 60; max++) {
        struct buf out;

        buf_init(&out, max);
        line_request(&out, &color, STR("n"), STR("u"), &result);
        assert_true(out.full);
        assert_true(out.n <= max);
        buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests),
        cmocka_unit_test(errors),
        cmocka_unit_test(colours),
        cmocka_unit_test(odd_texts),
        cmocka_unit_test(every_byte_at_every_place),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(other_steps),
        cmocka_unit_test(verbose_pairs),
        cmocka_unit_test(secrets_are_hidden),
        cmocka_unit_test(a_full_buffer_is_remembered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
