/* links: http base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http/auth.h"

static void check(const char *url, const char *expected, int line)
{
    struct buf href, out;
    struct url parsed;

    buf_init(&href, 4 * URL_MAX);
    buf_init(&out, BUF_NO_MAX);
    assert_int_equal(url_parse(str_of(url), NULL, &href, &parsed), URL_OK);
    buf_add_char(&out, '>');
    if (auth_basic(&parsed, &out) != (expected != NULL))
        fail_msg("line %d: %s", line, expected ? "nothing" : "something");
    out.p[0] = '>';
    if (!str_eq(str_skip(buf_str(&out), 1), str_of(expected)))
        fail_msg("line %d: '%.*s'", line, (int)out.n, out.p);
    buf_fini(&href);
    buf_fini(&out);
}
#define CHECK(url, expected) check(url, expected, __LINE__)

/* RFC 7617 §2 and §2.1, RFC 4648 §10. */
static void test_credentials(void **state)
{
    (void)state;
    CHECK("http://Aladdin:open%20sesame@h/", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    CHECK("http://test:123\xc2\xa3@h/", "Basic dGVzdDoxMjPCow==");
    CHECK("http://u@h/", "Basic dTo=");
    CHECK("http://:p@h/", "Basic OnA=");
    CHECK("http://u:@h/", "Basic dTo=");
    CHECK("http://uu@h/", "Basic dXU6");
    CHECK("http://u:a:b%40@h/", "Basic dTphOmJA");
    CHECK("http://%ff%00:%zz@h/", "Basic /wA6JXp6");
}

static void test_none(void **state)
{
    (void)state;
    CHECK("http://h/", NULL);
    CHECK("http://@h/", NULL);
    CHECK("http://:@h/", NULL);
    CHECK("http://h/u:p@x", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_credentials),
        cmocka_unit_test(test_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
