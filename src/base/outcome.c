#include "base/outcome.h"

#include <stddef.h>

static const char *const names[OUTCOME_COUNT] = {
    [OUTCOME_RESPONSE] = "response",
    [OUTCOME_DNS] = "dns",
    [OUTCOME_CONNECT_REFUSED] = "connect/refused",
    [OUTCOME_CONNECT_UNREACHABLE] = "connect/unreachable",
    [OUTCOME_CONNECT_TIMEOUT] = "connect/timeout",
    [OUTCOME_CONNECT_NO_PORT] = "connect/no-port",
    [OUTCOME_CONNECT_FD_LIMIT] = "connect/fd-limit",
    [OUTCOME_CONNECT_PROXY] = "connect/proxy",
    [OUTCOME_TLS_VERIFY] = "tls/verify",
    [OUTCOME_TLS_HANDSHAKE] = "tls/handshake",
    [OUTCOME_TLS_CLOSED] = "tls/closed",
    [OUTCOME_PROTOCOL_H1] = "protocol/h1",
    [OUTCOME_PROTOCOL_H2] = "protocol/h2",
    [OUTCOME_TRUNCATED] = "truncated",
    [OUTCOME_RESET] = "reset",
    [OUTCOME_TIMEOUT_FIRST_BYTE] = "timeout/first-byte",
    [OUTCOME_TIMEOUT_TOTAL] = "timeout/total",
    [OUTCOME_TOO_LARGE] = "too-large",
    [OUTCOME_REDIRECT] = "redirect",
    [OUTCOME_LOCAL] = "local",
    [OUTCOME_MISSING_VARIABLE] = "missing-variable",
};

const char *outcome_name(enum outcome outcome)
{
    return names[outcome];
}

const char *outcome_label(enum outcome outcome, enum outcome_where where)
{
    switch (outcome) {
    case OUTCOME_DNS:
        return "DNS resolution failed";
    case OUTCOME_CONNECT_REFUSED:
        return "connection refused";
    case OUTCOME_CONNECT_UNREACHABLE:
    case OUTCOME_CONNECT_NO_PORT:
    case OUTCOME_CONNECT_FD_LIMIT:
    case OUTCOME_CONNECT_PROXY:
        return "could not connect";
    case OUTCOME_TLS_VERIFY:
    case OUTCOME_TLS_HANDSHAKE:
    case OUTCOME_TLS_CLOSED:
        return "TLS error";
    case OUTCOME_PROTOCOL_H1:
    case OUTCOME_PROTOCOL_H2:
    case OUTCOME_TRUNCATED:
    case OUTCOME_RESET:
        return where == WHERE_BODY ? "response body error" : "request failed";
    case OUTCOME_CONNECT_TIMEOUT:
    case OUTCOME_TIMEOUT_FIRST_BYTE:
    case OUTCOME_TIMEOUT_TOTAL:
        return "request timed out";
    case OUTCOME_TOO_LARGE:
        return where == WHERE_BODY ? "body too large" : "request failed";
    case OUTCOME_REDIRECT:
        return where == WHERE_LIMIT ? "too many redirects" : "request failed";
    case OUTCOME_LOCAL:
        return "not sent";
    case OUTCOME_MISSING_VARIABLE:
        return "missing variable";
    case OUTCOME_RESPONSE:
    case OUTCOME_COUNT:
        break;
    }
    return "";
}

/* https://www.iana.org/assignments/http-status-codes: the permanent ones that are in use. */
static const char *const phrases_1xx[] = {
    "Continue",
    "Switching Protocols",
    "Processing",
    "Early Hints",
};

static const char *const phrases_2xx[] = {
    [0] = "OK",
    [1] = "Created",
    [2] = "Accepted",
    [3] = "Non-Authoritative Information",
    [4] = "No Content",
    [5] = "Reset Content",
    [6] = "Partial Content",
    [7] = "Multi-Status",
    [8] = "Already Reported",
    [26] = "IM Used",
};

static const char *const phrases_3xx[] = {
    [0] = "Multiple Choices",   [1] = "Moved Permanently",  [2] = "Found",
    [3] = "See Other",          [4] = "Not Modified",       [5] = "Use Proxy",
    [7] = "Temporary Redirect", [8] = "Permanent Redirect",
};

static const char *const phrases_4xx[] = {
    [0] = "Bad Request",
    [1] = "Unauthorized",
    [2] = "Payment Required",
    [3] = "Forbidden",
    [4] = "Not Found",
    [5] = "Method Not Allowed",
    [6] = "Not Acceptable",
    [7] = "Proxy Authentication Required",
    [8] = "Request Timeout",
    [9] = "Conflict",
    [10] = "Gone",
    [11] = "Length Required",
    [12] = "Precondition Failed",
    [13] = "Content Too Large",
    [14] = "URI Too Long",
    [15] = "Unsupported Media Type",
    [16] = "Range Not Satisfiable",
    [17] = "Expectation Failed",
    [21] = "Misdirected Request",
    [22] = "Unprocessable Content",
    [23] = "Locked",
    [24] = "Failed Dependency",
    [25] = "Too Early",
    [26] = "Upgrade Required",
    [28] = "Precondition Required",
    [29] = "Too Many Requests",
    [31] = "Request Header Fields Too Large",
    [51] = "Unavailable For Legal Reasons",
};

static const char *const phrases_5xx[] = {
    [0] = "Internal Server Error",
    [1] = "Not Implemented",
    [2] = "Bad Gateway",
    [3] = "Service Unavailable",
    [4] = "Gateway Timeout",
    [5] = "HTTP Version Not Supported",
    [6] = "Variant Also Negotiates",
    [7] = "Insufficient Storage",
    [8] = "Loop Detected",
    [10] = "Not Extended",
    [11] = "Network Authentication Required",
};

#define PHRASES(table)                          \
    {                                           \
        table, sizeof(table) / sizeof(*(table)) \
    }

const char *status_phrase(unsigned status)
{
    static const struct {
        const char *const *phrases;
        unsigned n;
    } classes[] = {
        PHRASES(phrases_1xx), PHRASES(phrases_2xx), PHRASES(phrases_3xx),
        PHRASES(phrases_4xx), PHRASES(phrases_5xx),
    };
    unsigned class = status / 100 - 1; /* huge below 100 */
    unsigned code = status % 100;

    if (class >= sizeof(classes) / sizeof(*classes) || code >= classes[class].n)
        return "";
    return classes[class].phrases[code] ? classes[class].phrases[code] : "";
}
