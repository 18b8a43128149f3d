/* links: base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/amount.h"

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

        if (amount_duration(str_of(good[i].text), &ns) != (good[i].ns != 0) || ns != good[i].ns)
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
        if (amount_duration(str_of(bad[i]), &ns))
            fail_msg("accepted: %s", bad[i]);
    }
    assert_int_equal(ns, 7);
}

static void test_seconds(void **state)
{
    (void)state;
    assert_int_equal(amount_of_seconds(0), 0);
    assert_int_equal(amount_of_seconds(0.25), 250000000);
    assert_int_equal(amount_of_seconds(1e300), AMOUNT_MAX_NS);
}

static void test_sizes(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"0", 0},        {"1000000", 1000000},          {"10k", 10240},      {"10K", 10240},
        {"1m", 1 << 20}, {"64MiB", 64 << 20},           {"64mib", 64 << 20}, {"1G", 1 << 30},
        {"1KiB", 1024},  {"1024GiB", AMOUNT_MAX_BYTES},
    };
    static const char *const bad[] = {
        "", "k", "-1", "1.5k", "1kB", "10 k", "1T", "1025G", "0x10", "18446744073709551616", "1kk"};

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        uint64_t bytes = 1;

        if (!amount_size(str_of(good[i].text), &bytes) || bytes != good[i].bytes)
            fail_msg("%s: %llu", good[i].text, (unsigned long long)bytes);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        uint64_t bytes;

        if (amount_size(str_of(bad[i]), &bytes))
            fail_msg("accepted: %s", bad[i]);
    }
}

static void test_or_zero(void **state)
{
    uint64_t ns = 7;

    (void)state;
    assert_true(amount_duration_or_zero(STR("0s"), &ns));
    assert_int_equal(ns, 0);
    assert_true(amount_duration_or_zero(STR("1m"), &ns));
    assert_int_equal(ns, 60000000000);
    assert_false(amount_duration_or_zero(STR(""), &ns));
}

static void test_rates(void **state)
{
    static const struct {
        const char *text;
        double per_second;
        bool has_unit, requests;
    } good[] = {
        {"100", 100, false, false},  {"100/s", 100, true, false}, {"6000/m", 100, true, false},
        {"0.5/s", 0.5, true, false}, {"36/h", 0.01, true, false}, {"100r/s", 100, true, true},
        {"2.5r", 2.5, false, true},  {"0", 0, false, false},
    };
    static const char *const bad[] = {"",      "/s",   "r/s",  "-1",    "100/",   "100/x",
                                      "100s",  "1e3",  "1 /s", "1/ss",  "100/ms", "r100",
                                      "1rr/s", "1/s ", "1..5", "nan/s", "1,5"};
    double per_second;
    bool has_unit, requests;

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        if (!amount_rate(str_of(good[i].text), &per_second, &has_unit, &requests) ||
            per_second != good[i].per_second || has_unit != good[i].has_unit ||
            requests != good[i].requests)
            fail_msg("%s: %g", good[i].text, per_second);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        if (amount_rate(str_of(bad[i]), &per_second, &has_unit, &requests))
            fail_msg("accepted: %s", bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations), cmocka_unit_test(test_bad_durations),
        cmocka_unit_test(test_seconds),   cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_or_zero),   cmocka_unit_test(test_rates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
