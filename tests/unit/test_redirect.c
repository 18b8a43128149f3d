/* links: http base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http/redirect.h"

#define FROM                                                                                \
    "POST /a HTTP/1.1\r\nHost: one:81\r\nUser-Agent: driller\r\nAuthorization: Basic x\r\n" \
    "COOKIE: c\r\nProxy-Authorization: y\r\nX-Key: k: v\r\nContent-Type: text/plain\r\n"    \
    "content-language: en\r\nContent-Length: 4\r\n\r\n"

static void check(const char *to, const char *method, bool same_origin, bool drop_body,
                  const char *expected)
{
    struct buf href, out;
    struct url url;
    struct str target;

    buf_init(&href, 4 * URL_MAX);
    buf_init(&out, BUF_NO_MAX);
    assert_int_equal(url_parse(str_of(to), NULL, &href, &url), URL_OK);
    redirect_head(STR(FROM), &url, str_of(method), STR("two:82"), same_origin, drop_body, &out,
                  &target);
    if (!str_eq(buf_str(&out), str_of(expected)))
        fail_msg("%.*s", (int)out.n, out.p);
    assert_true(str_eq(target, url.target));
    assert_true(target.p > out.p && target.p < out.p + out.n);
    buf_fini(&href);
    buf_fini(&out);
}

static void test_which_are_followed(void **state)
{
    (void)state;
    for (unsigned status = 100; status < 1000; status++)
        assert_int_equal(redirect_status(status), status == 301 || status == 302 || status == 303 ||
                                                      status == 307 || status == 308);
}

static void test_which_drop_the_body(void **state)
{
    static const struct {
        unsigned status;
        const char *method;
        bool drops;
    } cases[] = {{301, "POST", true},  {302, "POST", true},  {303, "POST", true},
                 {307, "POST", false}, {308, "POST", false}, {301, "PUT", false},
                 {302, "GET", false},  {303, "PUT", true},   {303, "GET", true},
                 {303, "HEAD", false}, {302, "HEAD", false}, {303, "DELETE", true}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(redirect_drops_body(cases[i].status, str_of(cases[i].method)),
                         cases[i].drops);
}

static void test_the_same_origin_gets_all(void **state)
{
    (void)state;
    check("http://one:81/b?c#d", "POST", true, false,
          "POST /b?c HTTP/1.1\r\nHost: one:81\r\nUser-Agent: driller\r\nAuthorization: Basic x\r\n"
          "COOKIE: c\r\nProxy-Authorization: y\r\nX-Key: k: v\r\nContent-Type: text/plain\r\n"
          "content-language: en\r\nContent-Length: 4\r\n\r\n");
    check("http://one:81/", "GET", true, true,
          "GET / HTTP/1.1\r\nHost: one:81\r\nUser-Agent: driller\r\nAuthorization: Basic x\r\n"
          "COOKIE: c\r\nProxy-Authorization: y\r\nX-Key: k: v\r\n\r\n");
}

static void test_another_origin_gets_no_secrets(void **state)
{
    (void)state;
    check("http://two:82/b", "POST", false, false,
          "POST /b HTTP/1.1\r\nHost: two:82\r\nUser-Agent: driller\r\nX-Key: k: v\r\n"
          "Content-Type: text/plain\r\ncontent-language: en\r\nContent-Length: 4\r\n\r\n");
    check("http://u:p@two:82/b", "GET", false, true,
          "GET /b HTTP/1.1\r\nHost: two:82\r\nAuthorization: Basic dTpw\r\nUser-Agent: driller\r\n"
          "X-Key: k: v\r\n\r\n");
}

/* What does not fit is seen by the caller. */
static void test_a_limit(void **state)
{
    struct buf href, out;
    struct url url;
    struct str target;

    (void)state;
    buf_init(&href, 4 * URL_MAX);
    buf_init(&out, 100);
    assert_int_equal(url_parse(STR("http://two:82/b"), NULL, &href, &url), URL_OK);
    redirect_head(STR(FROM), &url, STR("GET"), STR("two:82"), false, false, &out, &target);
    assert_true(out.full);
    buf_fini(&href);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_are_followed),
        cmocka_unit_test(test_which_drop_the_body),
        cmocka_unit_test(test_the_same_origin_gets_all),
        cmocka_unit_test(test_another_origin_gets_no_secrets),
        cmocka_unit_test(test_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
