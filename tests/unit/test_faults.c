/* links: base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/faults.h"

static void test_adding(void **state)
{
    struct faults faults;
    struct place at = {{"plan.ymlXXX", 8}, 3, 5};

    (void)state;
    faults_init(&faults);
    faults_error(&faults, at, "help 100%", "no such key '%s'", "a\nb\x1b");
    faults_warning(&faults, PLACE_NONE, NULL, "odd");
    assert_int_equal(faults.n, 2);
    assert_int_equal(faults.errors, 1);
    assert_int_equal(faults.items[0].severity, SEVERITY_ERROR);
    assert_string_equal(faults.items[0].file, "plan.yml");
    assert_int_equal(faults.items[0].line, 3);
    assert_int_equal(faults.items[0].column, 5);
    assert_string_equal(faults.items[0].text, "no such key 'a\\nb\\x1B'");
    assert_string_equal(faults.items[0].help, "help 100%");
    assert_int_equal(faults.items[1].severity, SEVERITY_WARNING);
    assert_null(faults.items[1].file);
    assert_null(faults.items[1].help);
    assert_int_equal(faults.items[1].line, 0);
    faults_fini(&faults);
    assert_int_equal(faults.n, 0);
    faults_fini(&faults);
}

static void test_long(void **state)
{
    struct faults faults;
    struct buf text;

    (void)state;
    faults_init(&faults);
    buf_init(&text, BUF_NO_MAX);
    buf_add_fill(&text, 'x', 1 << 20);
    buf_add_char(&text, '\0');
    faults_error(&faults, PLACE_NONE, NULL, "%s", text.p);
    assert_int_equal(strlen(faults.items[0].text), 2000 + strlen("…"));
    buf_fini(&text);
    faults_fini(&faults);
}

static void test_limit(void **state)
{
    struct faults faults;
    size_t warnings = 0;

    (void)state;
    faults_init(&faults);
    for (int i = 0; i < FAULTS_MAX + 100; i++) {
        faults_error(&faults, PLACE_NONE, NULL, "%d", i);
        faults_warning(&faults, PLACE_NONE, NULL, "%d", i);
        faults_warning(&faults, PLACE_NONE, NULL, "%d", i);
    }
    assert_int_equal(faults.errors, FAULTS_MAX + 100);
    assert_int_equal(faults.n, 2 * FAULTS_MAX);
    for (size_t i = 0; i < faults.n; i++)
        warnings += faults.items[i].severity == SEVERITY_WARNING;
    assert_int_equal(warnings, FAULTS_MAX);
    faults_fini(&faults);
}

static void test_did_you_mean(void **state)
{
    static const char *const names[] = {"url", "method"};

    (void)state;
    assert_string_equal(faults_did_you_mean(STR("methid"), names, 2), "did you mean 'method'?");
    assert_null(faults_did_you_mean(STR("something"), names, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adding),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_did_you_mean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
