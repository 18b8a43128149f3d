/* links: cli */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/baseline.h"

static char path[64];

static int make_file(void **state)
{
    int fd;

    (void)state;
    snprintf(path, sizeof(path), "/tmp/driller-test-XXXXXX");
    fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static struct baseline *reading(const char *text, size_t n, struct faults *faults)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, n, file), n);
    fclose(file);
    faults_init(faults);
    return baseline_read(path, faults);
}

static struct baseline *well_read(const char *text)
{
    struct faults faults;
    struct baseline *baseline = reading(text, strlen(text), &faults);

    if (!baseline)
        fail_msg("%s", faults.n ? faults.items[0].text : "no fault told");
    assert_int_equal(faults.errors, 0);
    faults_fini(&faults);
    return baseline;
}

static void assert_fault(const char *text, size_t n, unsigned line, const char *expected)
{
    struct faults faults;

    assert_null(reading(text, n, &faults));
    assert_int_equal(faults.errors, 1);
    assert_string_equal(faults.items[0].file, path);
    assert_int_equal(faults.items[0].line, line);
    if (expected)
        assert_string_equal(faults.items[0].text, expected);
    faults_fini(&faults);
}

static double mean_of(const struct baseline *baseline, const char *name)
{
    double mean = -1;

    return baseline_mean(baseline, str_of(name), &mean) ? mean : -1;
}

static void reports_of_the_original(void **state)
{
    struct baseline *baseline = well_read("\n- name: bad\n  duration: 1.34412\n  status: 500\n"
                                          "\n- name: n {{ iteration }}\n"
                                          "  duration: 0.44822999999999996\n  status: 200\n"
                                          "\n- name: 404\n  duration: 2\n  status: 200\n"
                                          "\n- name: bad\n  duration: 0.65588\n  status: 500\n");

    (void)state;
    assert_true(mean_of(baseline, "bad") == 1.0);
    assert_true(mean_of(baseline, "n {{ iteration }}") == 0.44822999999999996);
    assert_true(mean_of(baseline, "404") == 2);
    baseline_free(baseline);
}

static void other_forms_and_records_passed_over(void **state)
{
    struct baseline *baseline =
        well_read("# recorded\n---\n- {duration: 1, name: 'a: b #c'}\n"
                  "- name: no duration\n"
                  "- duration: 5\n"
                  "- name: no number\n  duration: fast\n"
                  "- name: [a, list]\n  duration: 5\n"
                  "- name:\n  duration: 5\n"
                  "- name: minus\n  duration: -5\n"
                  "- plain\n- [name, duration]\n"
                  "- {other: {name: inner, duration: 9}, ? [name] : 1, name: ok, duration: 3}\n"
                  "- name: ''\n  duration: 4\n");

    (void)state;
    assert_true(mean_of(baseline, "a: b #c") == 1);
    assert_true(mean_of(baseline, "ok") == 3);
    assert_true(mean_of(baseline, "") == 4);
    assert_true(mean_of(baseline, "no duration") == -1);
    assert_true(mean_of(baseline, "no number") == -1);
    assert_true(mean_of(baseline, "minus") == -1);
    assert_true(mean_of(baseline, "inner") == -1);
    assert_true(mean_of(baseline, "name") == -1);
    baseline_free(baseline);
}

static void what_is_no_report(void **state)
{
    static const char *const lists[] = {"name: a\nduration: 1\n", "text", "---\n", "null\n"};
    static const char *const empties[] = {"", "\n\n", "# nothing\n", "[]\n"};

    (void)state;
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        assert_fault(lists[i], strlen(lists[i]), 0, "this is no report: not a list of records");
    for (size_t i = 0; i < sizeof(empties) / sizeof(*empties); i++)
        assert_fault(empties[i], strlen(empties[i]), 0, "the report is empty");
    assert_fault("- name: a: b\n", 13, 1, NULL);
    assert_fault("- name: a\n- [\n", 14, 3, NULL);
    assert_fault("- a\n- \0\n", 8, 2, NULL);
}

static void what_cannot_be_read(void **state)
{
    struct faults faults;

    (void)state;
    faults_init(&faults);
    assert_null(baseline_read("/nowhere/gone.yml", &faults));
    assert_null(baseline_read("/tmp", &faults));
    assert_null(baseline_read("/dev/zero", &faults));
    assert_int_equal(faults.errors, 3);
    assert_string_equal(faults.items[0].file, "/nowhere/gone.yml");
    assert_string_equal(faults.items[0].text, "No such file or directory");
    assert_string_equal(faults.items[1].text, "is a directory");
    assert_string_equal(faults.items[2].text, "is not a regular file");
    faults_fini(&faults);
}

/* More than one part: every record is read, and once, as the mean tells; and a fault has its line
 * in the file. */
static void a_large_report(void **state)
{
    static const char record[] =
        "\n- name: a step with a name of some length, so that there is more "
        "of it, and more, and more\n  duration: 1.5\n  status: 200\n";
    struct baseline *baseline;
    struct faults faults;
    unsigned n = 0;
    struct buf text;

    (void)state;
    buf_init(&text, BUF_NO_MAX);
    while (text.n < (17u << 20)) {
        buf_add(&text, record, sizeof(record) - 1);
        n++;
    }
    buf_add_str(&text, STR("\n- name: a step with a name of some length, so that there is more of "
                           "it, and more, and more\n  duration: 1000.5\n"));
    baseline = reading(text.p, text.n, &faults);
    assert_non_null(baseline);
    assert_int_equal(faults.n, 0);
    assert_true(mean_of(baseline, "a step with a name of some length, so that there is more of it, "
                                  "and more, and more") == (1.5 * n + 1000.5) / (n + 1));
    baseline_free(baseline);
    buf_add_str(&text, STR("- name: bad: worse\n"));
    assert_fault(text.p, text.n, 4 * n + 4, NULL);

    buf_reset(&text);
    buf_add_fill(&text, '\n', 17u << 20);
    assert_fault(text.p, text.n, 0, "this is no report: 16 MiB without an end of a record");
    buf_fini(&text);
}

int main(void)
{
#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, make_file, remove_file)
    const struct CMUnitTest tests[] = {
        WITH_FILE(reports_of_the_original), WITH_FILE(other_forms_and_records_passed_over),
        WITH_FILE(what_is_no_report),       WITH_FILE(what_cannot_be_read),
        WITH_FILE(a_large_report),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
