/*
 * What becomes of a request: a response, or exactly one of these fine classes. The names are what
 * statistics print and must not change; the labels are what follows ERR on a line.
 */
#ifndef BASE_OUTCOME_H
#define BASE_OUTCOME_H

enum outcome {
    OUTCOME_RESPONSE, /* a whole response, whatever its status */
    OUTCOME_DNS,
    OUTCOME_CONNECT_REFUSED,
    OUTCOME_CONNECT_UNREACHABLE,
    OUTCOME_CONNECT_TIMEOUT,
    OUTCOME_CONNECT_NO_PORT,
    OUTCOME_CONNECT_FD_LIMIT,
    OUTCOME_CONNECT_PROXY,
    OUTCOME_TLS_VERIFY,
    OUTCOME_TLS_HANDSHAKE,
    OUTCOME_TLS_CLOSED,
    OUTCOME_PROTOCOL_H1,
    OUTCOME_PROTOCOL_H2,
    OUTCOME_TRUNCATED,
    OUTCOME_RESET,
    OUTCOME_TIMEOUT_FIRST_BYTE,
    OUTCOME_TIMEOUT_TOTAL,
    OUTCOME_TOO_LARGE,
    OUTCOME_REDIRECT,
    OUTCOME_LOCAL,
    OUTCOME_MISSING_VARIABLE,
    OUTCOME_COUNT
};

/* Where in the exchange it went wrong; some labels depend on it. */
enum outcome_where {
    WHERE_HEAD,  /* before or in the response's head; a Location that cannot be followed */
    WHERE_BODY,  /* in the response's body */
    WHERE_LIMIT, /* more redirects than allowed */
};

/* The synthetic status of a request without a response. */
#define STATUS_NO_RESPONSE 520

/* "connect/refused", "truncated", …; "response" for OUTCOME_RESPONSE. */
const char *outcome_name(enum outcome outcome);

/* "connection refused", "request timed out", …: the table of docs/output.md. */
const char *outcome_label(enum outcome outcome, enum outcome_where where);

/* The registered reason phrase of a status ("Not Found"; IANA's registry), or "" if there is
 * none. */
const char *status_phrase(unsigned status);

#endif
