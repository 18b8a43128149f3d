/* links: base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/outcome.h"

/* The table of docs/output.md: a class's name, and its label in a head, in a body, at the limit. */
static const struct {
    enum outcome outcome;
    const char *name, *head, *body, *limit;
} rows[] = {
#define ALWAYS(text) text, text, text
    {OUTCOME_RESPONSE, "response", ALWAYS("")},
    {OUTCOME_DNS, "dns", ALWAYS("DNS resolution failed")},
    {OUTCOME_CONNECT_REFUSED, "connect/refused", ALWAYS("connection refused")},
    {OUTCOME_CONNECT_UNREACHABLE, "connect/unreachable", ALWAYS("could not connect")},
    {OUTCOME_CONNECT_TIMEOUT, "connect/timeout", ALWAYS("request timed out")},
    {OUTCOME_CONNECT_NO_PORT, "connect/no-port", ALWAYS("could not connect")},
    {OUTCOME_CONNECT_FD_LIMIT, "connect/fd-limit", ALWAYS("could not connect")},
    {OUTCOME_CONNECT_PROXY, "connect/proxy", ALWAYS("could not connect")},
    {OUTCOME_TLS_VERIFY, "tls/verify", ALWAYS("TLS error")},
    {OUTCOME_TLS_HANDSHAKE, "tls/handshake", ALWAYS("TLS error")},
    {OUTCOME_TLS_CLOSED, "tls/closed", ALWAYS("TLS error")},
    {OUTCOME_PROTOCOL_H1, "protocol/h1", "request failed", "response body error", "request failed"},
    {OUTCOME_PROTOCOL_H2, "protocol/h2", "request failed", "response body error", "request failed"},
    {OUTCOME_TRUNCATED, "truncated", "request failed", "response body error", "request failed"},
    {OUTCOME_RESET, "reset", "request failed", "response body error", "request failed"},
    {OUTCOME_TIMEOUT_FIRST_BYTE, "timeout/first-byte", ALWAYS("request timed out")},
    {OUTCOME_TIMEOUT_TOTAL, "timeout/total", ALWAYS("request timed out")},
    {OUTCOME_TOO_LARGE, "too-large", "request failed", "body too large", "request failed"},
    {OUTCOME_REDIRECT, "redirect", "request failed", "request failed", "too many redirects"},
    {OUTCOME_LOCAL, "local", ALWAYS("not sent")},
    {OUTCOME_MISSING_VARIABLE, "missing-variable", ALWAYS("missing variable")},
};

static void test_labels(void **state)
{
    (void)state;
    assert_int_equal(sizeof(rows) / sizeof(*rows), OUTCOME_COUNT);
    for (size_t i = 0; i < OUTCOME_COUNT; i++) {
        assert_int_equal(rows[i].outcome, i);
        assert_string_equal(outcome_name(rows[i].outcome), rows[i].name);
        assert_string_equal(outcome_label(rows[i].outcome, WHERE_HEAD), rows[i].head);
        assert_string_equal(outcome_label(rows[i].outcome, WHERE_BODY), rows[i].body);
        assert_string_equal(outcome_label(rows[i].outcome, WHERE_LIMIT), rows[i].limit);
    }
}

static void test_phrases(void **state)
{
    static const struct {
        unsigned status;
        const char *phrase;
    } cases[] = {
        {100, "Continue"},
        {103, "Early Hints"},
        {200, "OK"},
        {204, "No Content"},
        {226, "IM Used"},
        {304, "Not Modified"},
        {308, "Permanent Redirect"},
        {404, "Not Found"},
        {413, "Content Too Large"},
        {422, "Unprocessable Content"},
        {451, "Unavailable For Legal Reasons"},
        {500, "Internal Server Error"},
        {511, "Network Authentication Required"},
        {0, ""},
        {99, ""},
        {104, ""},
        {209, ""},
        {306, ""},
        {418, ""},
        {452, ""},
        {509, ""},
        {520, ""},
        {600, ""},
        {999, ""},
        {4294967295U, ""},
    };
    unsigned known = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_string_equal(status_phrase(cases[i].status), cases[i].phrase);
    for (unsigned status = 0; status < 2000; status++)
        known += *status_phrase(status) != '\0';
    assert_int_equal(known, 61);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_phrases),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
