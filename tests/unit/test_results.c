/* links: out */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/text.h"
#include "out/banner.h"
#include "out/results_json.h"
#include "out/results_text.h"

#define MS 1000000ULL

static const struct style plain = {0};
static const struct style color = {.color = true};
static const struct style nanosec = {.nanosec = true};

static void assert_text(struct buf *out, const char *expected)
{
    buf_add_char(out, '\0');
    assert_string_equal(out->p, expected);
    buf_reset(out);
}

static bool has(struct buf *out, const char *text)
{
    return memmem(out->p, out->n, text, strlen(text)) != NULL;
}

static struct sample sample(enum outcome outcome, unsigned status, uint64_t latency_ns)
{
    struct sample s = {.outcome = outcome,
                       .status = (uint16_t)status,
                       .latency_ns = latency_ns,
                       .service_ns = latency_ns};

    for (size_t i = 0; i < PHASE_COUNT; i++)
        s.phases[i] = PHASE_NONE;
    return s;
}

static void add(struct recorder *recorder, size_t name, enum outcome outcome, unsigned status,
                uint64_t latency_ns)
{
    struct sample s = sample(outcome, status, latency_ns);

    recorder_start(recorder, name);
    recorder_add(recorder, name, &s);
}

/* A run of ten seconds: two 200 and a 404 of the step "one", a refused connection and two real 520
 * of "two", nothing of "three". */
static void make_run(struct snapshot *snapshot)
{
    struct str names[] = {STR("one"), STR("two"), STR("three")};
    struct recorder recorder;

    recorder_init(&recorder, 3);
    add(&recorder, 0, OUTCOME_RESPONSE, 200, 1 * MS);
    add(&recorder, 0, OUTCOME_RESPONSE, 200, 2 * MS);
    add(&recorder, 0, OUTCOME_RESPONSE, 404, 3 * MS);
    add(&recorder, 1, OUTCOME_CONNECT_REFUSED, 0, 0);
    add(&recorder, 1, OUTCOME_RESPONSE, 520, 4 * MS);
    add(&recorder, 1, OUTCOME_RESPONSE, 520, 4 * MS);
    snapshot_init(snapshot, names, 3);
    snapshot_add(snapshot, &recorder);
    snapshot->duration_ns = 10000 * MS;
    snapshot->version = "1.2.3";
    recorder_fini(&recorder);
}

static const char run_text[] = "\n"
                               "one                       Total requests            3\n"
                               "one                       Successful requests       2\n"
                               "one                       Failed requests           1\n"
                               "one                       Median time per request   2ms\n"
                               "one                       Average time per request  2ms\n"
                               "one                       Sample standard deviation 1ms\n"
                               "one                       99.0'th percentile        3ms\n"
                               "one                       99.5'th percentile        3ms\n"
                               "one                       99.9'th percentile        3ms\n"
                               "\n"
                               "two                       Total requests            3\n"
                               "two                       Successful requests       0\n"
                               "two                       Failed requests           3\n"
                               "two                       Median time per request   4ms\n"
                               "two                       Average time per request  3ms\n"
                               "two                       Sample standard deviation 2ms\n"
                               "two                       99.0'th percentile        4ms\n"
                               "two                       99.5'th percentile        4ms\n"
                               "two                       99.9'th percentile        4ms\n"
                               "\n"
                               "Time taken for tests      10.0 seconds\n"
                               "Total requests            6\n"
                               "Successful requests       2\n"
                               "Failed requests           4\n"
                               "Status codes\n"
                               "  200                     2\n"
                               "  404                     1\n"
                               "  520                     2\n"
                               "  520 (connection error)  1\n"
                               "  2xx 2 · 4xx 1 · 5xx 2 · conn 1\n"
                               "Requests per second       0.60 [#/sec]\n"
                               "Median time per request   2ms\n"
                               "Average time per request  2ms\n"
                               "Sample standard deviation 2ms\n"
                               "99.0'th percentile        4ms\n"
                               "99.5'th percentile        4ms\n"
                               "99.9'th percentile        4ms\n";

static void text_is_the_original_s(void **state)
{
    struct snapshot snapshot;
    struct buf out;

    (void)state;
    make_run(&snapshot);
    buf_init(&out, BUF_NO_MAX);
    results_text(&out, &plain, false, &snapshot);
    assert_text(&out, run_text);
    snapshot_fini(&snapshot);
    buf_fini(&out);
}

static void new_lines_come_last(void **state)
{
    struct snapshot snapshot;
    struct buf out;
    size_t old = strlen(run_text);

    (void)state;
    make_run(&snapshot);
    snapshot.global.causes[OUTCOME_TRUNCATED] = 2;
    snapshot.global.aborted = 5;
    snapshot.global.extra[EXTRA_REDIRECTS] = 7;
    snapshot.iterations_abandoned = 3;
    snapshot.late_starts = 9;
    snapshot.interrupted = "SIGINT";
    snapshot.tls_verified = 0;
    buf_init(&out, BUF_NO_MAX);
    results_text(&out, &plain, false, &snapshot);
    assert_true(out.n > old);
    assert_true(str_ends(buf_str(&out), STR("Causes\n"
                                            "  connect/refused         1\n"
                                            "  truncated               2\n"
                                            "Also counted\n"
                                            "  redirects               7\n"
                                            "Aborted requests          5\n"
                                            "Abandoned iterations      3\n"
                                            "Late starts               9\n"
                                            "Interrupted by            SIGINT\n"
                                            "TLS certificates          NOT verified\n")));
    snapshot_fini(&snapshot);
    buf_fini(&out);
}

static void verbose_text_tells_more(void **state)
{
    struct snapshot snapshot;
    struct buf out;

    (void)state;
    make_run(&snapshot);
    hist_add(&snapshot.steps[0].phases[PHASE_FIRST_BYTE], 1500000);
    hist_add(&snapshot.global.phases[PHASE_FIRST_BYTE], 1500000);
    buf_init(&out, BUF_NO_MAX);
    results_text(&out, &plain, true, &snapshot);
    assert_true(has(&out, "one                       Status codes              200:2 404:1\n"));
    assert_true(has(&out, "two                       Status codes              520:2 conn:1\n"));
    assert_true(has(&out, "one                       Phases (ms)                     count        "
                          "mean      median         99%         max\n"
                          "one                         first_byte                        1       "
                          "1.500       1.500       1.500       1.500\n"));
    assert_true(has(&out, "\nCauses\n  connect/refused         1\n"));
    buf_reset(&out);
    results_text(&out, &nanosec, true, &snapshot);
    assert_true(has(&out, "\n  first_byte                        1     1500000     1500000"));
    assert_true(has(&out, "Average time per request  2333333ns\n"));
    snapshot_fini(&snapshot);
    buf_fini(&out);
}

static void a_run_without_a_request_is_zeros(void **state)
{
    struct snapshot snapshot;
    struct buf out;

    (void)state;
    snapshot_init(&snapshot, NULL, 0);
    buf_init(&out, BUF_NO_MAX);
    results_text(&out, &plain, true, &snapshot);
    assert_text(&out, "\nTime taken for tests      0.0 seconds\n"
                      "Total requests            0\n"
                      "Successful requests       0\n"
                      "Failed requests           0\n"
                      "Requests per second       0.00 [#/sec]\n"
                      "Median time per request   0ms\n"
                      "Average time per request  0ms\n"
                      "Sample standard deviation 0ms\n"
                      "99.0'th percentile        0ms\n"
                      "99.5'th percentile        0ms\n"
                      "99.9'th percentile        0ms\n");
    snapshot_fini(&snapshot);
    buf_fini(&out);
}

static void text_in_colours(void **state)
{
    struct snapshot snapshot;
    struct buf out;

    (void)state;
    make_run(&snapshot);
    buf_init(&out, BUF_NO_MAX);
    results_text(&out, &color, false, &snapshot);
    assert_true(has(&out, "\x1b[32mone                      \x1b[0m "
                          "\x1b[33mTotal requests           \x1b[0m \x1b[36m3\x1b[0m\n"));
    assert_true(has(&out, "\x1b[2m  2xx 2 · 4xx 1 · 5xx 2 · conn 1\x1b[0m\n"));
    snapshot_fini(&snapshot);
    buf_fini(&out);
}

/* The text of the value at a path of names and numbers, in a static buffer. */
static const char *at(struct str document, const char *path)
{
    static char text[256];
    struct json_key keys[8] = {0};
    struct str rest = str_of(path), value;
    size_t n = 0;

    for (; n < 8 && rest.n; n++) {
        size_t end = str_find(rest, '.');

        keys[n].text = (struct str){rest.p, end};
        keys[n].is_index = str_to_u64(keys[n].text, &keys[n].index);
        rest = str_skip(rest, end + 1);
    }
    if (!json_find(document, keys, n, &value))
        return "(not there)";
    assert_true(value.n < sizeof(text));
    memcpy(text, value.p, value.n);
    text[value.n] = '\0';
    return text;
}

static struct str checked(struct buf *out)
{
    struct str document;

    assert_true(json_check(buf_str(out), &document));
    assert_true(utf8_valid(buf_str(out)));
    assert_true(out->n && out->p[out->n - 1] == '\n');
    return document;
}

static void json_has_the_original_s_keys(void **state)
{
    struct snapshot snapshot;
    struct str doc;
    struct buf out;

    (void)state;
    make_run(&snapshot);
    buf_init(&out, BUF_NO_MAX);
    results_json(&out, &snapshot);
    doc = checked(&out);
    assert_true(str_starts(buf_str(&out), STR("{\n  \"schema\": 1,\n  \"duration_s\": 10.0,\n"
                                              "  \"requests_per_second\": 0.6,\n"
                                              "  \"global\": {\n    \"total_requests\": 6,\n")));
    assert_string_equal(at(doc, "global.successful_requests"), "2");
    assert_string_equal(at(doc, "global.failed_requests"), "4");
    assert_string_equal(at(doc, "global.status_counts"), "{\n      \"200\": 2,\n      \"404\": 1,\n"
                                                         "      \"520\": 3\n    }");
    assert_string_equal(at(doc, "global.class_rollup"),
                        "{\n      \"2xx\": 2,\n      \"4xx\": 1,\n      \"5xx\": 2,\n"
                        "      \"connection_errors\": 1\n    }");
    assert_string_equal(at(doc, "steps.0.name"), "\"one\"");
    assert_string_equal(at(doc, "steps.0.class_rollup.connection_errors"), "0");
    assert_string_equal(at(doc, "steps.0.latency_ms.mean"), "2.0");
    assert_string_equal(at(doc, "steps.0.latency_ms.stdev"), "1.0");
    assert_string_equal(at(doc, "steps.0.latency_ms.median"), at(doc, "steps.0.latency_ms.p50"));
    assert_string_equal(at(doc, "steps.0.latency_ms.p999"), "3.0");
    assert_string_equal(at(doc, "steps.1.status_counts"), "{\n        \"520\": 3\n      }");
    assert_string_equal(at(doc, "steps.2"), "(not there)");
    snapshot_fini(&snapshot);
    buf_fini(&out);
}

static void json_has_this_project_s_keys(void **state)
{
    static const char *const times[] = {"mean", "median", "stdev", "p99", "p995", "p999", "min",
                                        "max",  "p50",    "p75",   "p90", "p95",  "p9999"};
    struct snapshot snapshot;
    struct str doc;
    struct buf out;

    (void)state;
    make_run(&snapshot);
    snapshot.global.aborted = 2;
    snapshot.iterations_started = 4;
    snapshot.iterations_aborted = 1;
    snapshot.interrupted = "SIGTERM";
    snapshot.tls_verified = 0;
    snapshot.connections_reused = 11;
    snapshot_add_address(&snapshot, STR("[::1]:80"), 13, 14);
    snapshot.checks_failed = 12;
    snapshot.cpu_s = 0.25;
    snapshot.max_rss_bytes = 1 << 20;
    buf_init(&out, BUF_NO_MAX);
    results_json(&out, &snapshot);
    doc = checked(&out);
    assert_string_equal(at(doc, "global.started"), "6");
    assert_string_equal(at(doc, "global.aborted"), "2");
    assert_string_equal(at(doc, "global.causes"), "{\n      \"connect/refused\": 1\n    }");
    assert_string_equal(at(doc, "steps.0.causes"), "{}");
    assert_string_equal(at(doc, "global.extra.both_lengths"), "0");
    assert_string_equal(at(doc, "global.responses_ms.min"), "1.0");
    assert_string_equal(at(doc, "global.latency_ms.min"), "0.0");
    assert_string_equal(at(doc, "global.service_ms.mean"), at(doc, "global.latency_ms.mean"));
    assert_string_equal(at(doc, "global.phases_ms.dns.count"), "0");
    assert_string_equal(at(doc, "global.phases_ms.body.p99"), "null");
    assert_string_equal(at(doc, "global.bytes_received"), "0");
    assert_string_equal(at(doc, "global.bytes_sent"), "0");
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        char path[64];

        snprintf(path, sizeof(path), "steps.1.latency_ms.%s", times[i]);
        assert_string_not_equal(at(doc, path), "null");
        assert_string_not_equal(at(doc, path), "(not there)");
        snprintf(path, sizeof(path), "iteration_ms.%s", times[i]);
        assert_string_equal(at(doc, path), "null");
    }
    assert_string_equal(at(doc, "iterations.started"), "4");
    assert_string_equal(at(doc, "iterations.aborted"), "1");
    assert_string_equal(at(doc, "interrupted"), "\"SIGTERM\"");
    assert_string_equal(at(doc, "tls_verified"), "false");
    assert_string_equal(at(doc, "connections.reused"), "11");
    assert_string_equal(at(doc, "addresses.0.address"), "\"[::1]:80\"");
    assert_string_equal(at(doc, "addresses.0.connections"), "13");
    assert_string_equal(at(doc, "addresses.0.failed"), "14");
    assert_string_equal(at(doc, "checks.failed"), "12");
    assert_string_equal(at(doc, "generator.version"), "\"1.2.3\"");
    assert_string_equal(at(doc, "generator.cpu_s"), "0.25");
    assert_string_equal(at(doc, "generator.max_rss_bytes"), "1048576");
    assert_string_equal(at(doc, "generator.late_starts"), "0");
    assert_string_equal(at(doc, "generator.schedule_lag_ms"), "null");
    snapshot_fini(&snapshot);
    buf_fini(&out);
}

static void json_of_nothing_has_zeros_and_nulls(void **state)
{
    struct str name = STR("never");
    struct snapshot snapshot;
    struct str doc;
    struct buf out;

    (void)state;
    snapshot_init(&snapshot, &name, 1);
    buf_init(&out, BUF_NO_MAX);
    results_json(&out, &snapshot);
    doc = checked(&out);
    assert_false(has(&out, "nan") || has(&out, "inf"));
    assert_string_equal(at(doc, "requests_per_second"), "0.0");
    assert_string_equal(at(doc, "global.latency_ms.mean"), "0.0");
    assert_string_equal(at(doc, "global.latency_ms.p999"), "0.0");
    assert_string_equal(at(doc, "global.latency_ms.min"), "null");
    assert_string_equal(at(doc, "global.latency_ms.p95"), "null");
    assert_string_equal(at(doc, "global.responses_ms.mean"), "null");
    assert_string_equal(at(doc, "global.status_counts"), "{}");
    assert_string_equal(at(doc, "global.class_rollup"), "{\n      \"connection_errors\": 0\n    }");
    assert_string_equal(at(doc, "steps"), "[]");
    assert_string_equal(at(doc, "interrupted"), "null");
    assert_string_equal(at(doc, "tls_verified"), "null");
    assert_string_equal(at(doc, "generator.version"), "null");
    snapshot_fini(&snapshot);
    buf_fini(&out);
}

static void an_open_loop_has_its_own_figures(void **state)
{
    struct str name = STR("a");
    struct sample s = sample(OUTCOME_RESPONSE, 200, 3 * MS);
    struct recorder recorder;
    struct snapshot snapshot;
    struct str doc;
    struct buf out;

    (void)state;
    s.service_ns = 1 * MS;
    recorder_init(&recorder, 1);
    recorder.open_loop = true;
    recorder_start(&recorder, 0);
    recorder_add(&recorder, 0, &s);
    snapshot_init(&snapshot, &name, 1);
    snapshot_add(&snapshot, &recorder);
    buf_init(&out, BUF_NO_MAX);
    results_json(&out, &snapshot);
    doc = checked(&out);
    assert_string_equal(at(doc, "global.latency_ms.mean"), "3.0");
    assert_string_equal(at(doc, "steps.0.service_ms.mean"), "1.0");
    assert_string_equal(at(doc, "generator.schedule_lag_ms.max"), "2.0");
    recorder_fini(&recorder);
    snapshot_fini(&snapshot);
    buf_fini(&out);
}

static void odd_names_and_statuses(void **state)
{
    struct str name = STR("a\"\\\n\xff\xf0\x9f\x98\x80\x1b[2J");
    struct recorder recorder;
    struct snapshot snapshot;
    struct str doc;
    struct buf out;

    (void)state;
    recorder_init(&recorder, 1);
    add(&recorder, 0, OUTCOME_RESPONSE, 100, MS);
    add(&recorder, 0, OUTCOME_RESPONSE, 999, MS);
    add(&recorder, 0, OUTCOME_RESPONSE, 600, MS);
    snapshot_init(&snapshot, &name, 1);
    snapshot_add(&snapshot, &recorder);
    buf_init(&out, BUF_NO_MAX);
    results_json(&out, &snapshot);
    doc = checked(&out);
    assert_string_equal(at(doc, "steps.0.name"),
                        "\"a\\\"\\\\\\n\xef\xbf\xbd\xf0\x9f\x98\x80\\u001b[2J\"");
    assert_string_equal(at(doc, "global.class_rollup.1xx"), "1");
    assert_string_equal(at(doc, "global.class_rollup.other"), "2");
    buf_reset(&out);
    results_text(&out, &plain, true, &snapshot);
    assert_false(has(&out, "\x1b"));
    assert_true(has(&out, "  1xx 1 · other 2\n"));
    recorder_fini(&recorder);
    snapshot_fini(&snapshot);
    buf_fini(&out);
}

static void banners(void **state)
{
    struct banner banner = {.concurrency = 5,
                            .iterations = 100,
                            .rampup_s = 2,
                            .report = STR("out.yml"),
                            .base = STR("http://localhost:9000")};
    struct buf out;

    (void)state;
    buf_init(&out, BUF_NO_MAX);
    banner_write(&out, &plain, &banner);
    assert_text(&out, "Concurrency 5\nIterations 100\nRampup 2\nReport out.yml\n"
                      "Base URL http://localhost:9000\n\n");
    banner = (struct banner){.concurrency = 1, .duration_ns = 500 * MS, .rampup_s = 0.5};
    banner_write(&out, &plain, &banner);
    assert_text(&out, "Concurrency 1\nDuration 0.5s\nRampup 0.5\nBase URL \n\n");
    banner = (struct banner){.concurrency = 1, .duration_ns = 60000 * MS};
    banner_write(&out, &plain, &banner);
    assert_text(&out, "Concurrency 1\nDuration 60s\nRampup 0\nBase URL \n\n");
    banner = (struct banner){.concurrency = 1,
                             .duration_ns = 5000 * MS,
                             .load_key = STR("Rate"),
                             .load = STR("100/s"),
                             .warmup_ns = 2500 * MS,
                             .grace_ns = 1};
    banner_write(&out, &plain, &banner);
    assert_text(&out, "Concurrency 1\nDuration 5s\nRampup 0\nRate 100/s\nWarmup 2.5s\n"
                      "Grace 0.000000001s\nBase URL \n\n");
    banner_write(&out, &color, &banner);
    assert_true(has(&out, "\x1b[33mConcurrency\x1b[0m \x1b[36m1\x1b[0m\n"));
    buf_fini(&out);
}

static void banners_hide_credentials(void **state)
{
    static const char *const bases[][2] = {
        {"http://user:canary@h/x", "http://***@h/x"},
        {"HTTPS://canary@h:1", "HTTPS://***@h:1"},
        {"http://a@canary@h?b@c", "http://***@h?b@c"},
        {"http:canary:x@h", "http:***@h"},
        {"http:\\\\u:canary@h\\@", "http:\\\\***@h\\@"},
        {"http://h/a@b", "http://h/a@b"},
        {"http://@h", "http://@h"},
        {"{{ X }}", "{{ X }}"},
    };
    struct buf out;

    (void)state;
    buf_init(&out, BUF_NO_MAX);
    for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++) {
        struct banner banner = {.base = str_of(bases[i][0])};
        struct str shown;

        banner_write(&out, &plain, &banner);
        shown = buf_str_from(&out, strlen("Concurrency 0\nIterations 0\nRampup 0\nBase URL "));
        assert_int_equal(shown.n, strlen(bases[i][1]) + 2);
        assert_memory_equal(shown.p, bases[i][1], shown.n - 2);
        buf_reset(&out);
    }
    buf_fini(&out);
}

static void regressions(void **state)
{
    struct regression found[] = {{STR("one"), 120.6}, {STR("two"), -1}};
    struct buf out;

    (void)state;
    buf_init(&out, BUF_NO_MAX);
    results_compare(&out, &plain, found, 2);
    assert_text(&out, "\none                       is 121ms slower than before\n"
                      "two                       is -1ms slower than before\n");
    results_compare(&out, &nanosec, found, 1);
    assert_text(&out, "\none                       is 120600000ns slower than before\n");
    results_compare(&out, &plain, NULL, 0);
    assert_text(&out, "\n");
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_the_original_s),
        cmocka_unit_test(new_lines_come_last),
        cmocka_unit_test(verbose_text_tells_more),
        cmocka_unit_test(a_run_without_a_request_is_zeros),
        cmocka_unit_test(text_in_colours),
        cmocka_unit_test(json_has_the_original_s_keys),
        cmocka_unit_test(json_has_this_project_s_keys),
        cmocka_unit_test(json_of_nothing_has_zeros_and_nulls),
        cmocka_unit_test(an_open_loop_has_its_own_figures),
        cmocka_unit_test(odd_names_and_statuses),
        cmocka_unit_test(banners),
        cmocka_unit_test(banners_hide_credentials),
        cmocka_unit_test(regressions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
