/* links: cli */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/duration.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_durations(void **state)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {
        {"30", 30000000000},
        {"30s", 30000000000},
        {"0.5", 500000000},
        {"0.5s", 500000000},
        {"500ms", 500000000},
        {"1m", 60000000000},
        {"1h", 3600000000000},
        {"1m30s", 90000000000},
        {"1h2m3s4ms", 3723004000000},
        {"1m1ms", 60001000000},
        {".5s", 500000000},
        {"1.5m", 90000000000},
        {"0m1s", 1000000000},
        {"1e3", 0},
        {"1000000000", 1000000000000000000},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        uint64_t ns = 0;

        if (duration_parse(str_of(good[i].text), &ns) != (good[i].ns != 0) || ns != good[i].ns)
            fail_msg("%s: %llu", good[i].text, (unsigned long long)ns);
    }
}

static void test_bad_durations(void **state)
{
    static const char *const bad[] = {
        "",           "s",
        "5x",         "10q",
        "-1",         "-1s",
        "0",          "0s",
        "+1s",        "1s30",
        "30s1m",      "1s1s",
        "1 s",        " 1s",
        "1s ",        "1..5s",
        ".",          ".s",
        "1S",         "nan",
        "infs",       "0x1",
        "1e1s",       "1m30",
        "1000000001", "9223372036854775808h",
        "1ms1s",
    };
    uint64_t ns = 7;

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        if (duration_parse(str_of(bad[i]), &ns))
            fail_msg("accepted: %s", bad[i]);
    }
    assert_int_equal(ns, 7);
}

static void test_seconds(void **state)
{
    (void)state;
    assert_int_equal(duration_of_seconds(0), 0);
    assert_int_equal(duration_of_seconds(0.25), 250000000);
    assert_int_equal(duration_of_seconds(1e300), DURATION_MAX_NS);
}

static void test_sizes(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"0", 0},        {"1000000", 1000000},        {"10k", 10240},      {"10K", 10240},
        {"1m", 1 << 20}, {"64MiB", 64 << 20},         {"64mib", 64 << 20}, {"1G", 1 << 30},
        {"1KiB", 1024},  {"1024GiB", SIZE_MAX_BYTES},
    };
    static const char *const bad[] = {
        "", "k", "-1", "1.5k", "1kB", "10 k", "1T", "1025G", "0x10", "18446744073709551616", "1kk"};

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        uint64_t bytes = 1;

        if (!size_parse(str_of(good[i].text), &bytes) || bytes != good[i].bytes)
            fail_msg("%s: %llu", good[i].text, (unsigned long long)bytes);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        uint64_t bytes;

        if (size_parse(str_of(bad[i]), &bytes))
            fail_msg("accepted: %s", bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_bad_durations),
        cmocka_unit_test(test_seconds),
        cmocka_unit_test(test_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
