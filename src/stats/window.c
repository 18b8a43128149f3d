#include "stats/window.h"

#include "stats/recorder.h"

const char *failed_name(enum failed failed)
{
    static const char *const names[FAILED_COUNT] = {
        [FAILED_DNS] = "dns",           [FAILED_CONNECT] = "connect", [FAILED_TLS] = "tls",
        [FAILED_PROTOCOL] = "protocol", [FAILED_BROKEN] = "broken",   [FAILED_TIMEOUT] = "timeout",
        [FAILED_OTHER] = "other",       [FAILED_4XX] = "4xx",         [FAILED_5XX] = "5xx",
        [FAILED_STATUS] = "status",
    };

    return names[failed];
}

static enum failed group_of(enum outcome outcome)
{
    switch (outcome) {
    case OUTCOME_DNS:
        return FAILED_DNS;
    case OUTCOME_CONNECT_REFUSED:
    case OUTCOME_CONNECT_UNREACHABLE:
    case OUTCOME_CONNECT_NO_PORT:
    case OUTCOME_CONNECT_FD_LIMIT:
    case OUTCOME_CONNECT_PROXY:
        return FAILED_CONNECT;
    case OUTCOME_TLS_VERIFY:
    case OUTCOME_TLS_HANDSHAKE:
    case OUTCOME_TLS_CLOSED:
        return FAILED_TLS;
    case OUTCOME_PROTOCOL_H1:
    case OUTCOME_PROTOCOL_H2:
        return FAILED_PROTOCOL;
    case OUTCOME_TRUNCATED:
    case OUTCOME_RESET:
        return FAILED_BROKEN;
    case OUTCOME_CONNECT_TIMEOUT:
    case OUTCOME_TIMEOUT_FIRST_BYTE:
    case OUTCOME_TIMEOUT_TOTAL:
        return FAILED_TIMEOUT;
    default:
        return FAILED_OTHER;
    }
}

void window_init(struct window *window, unsigned sub_bits)
{
    *window = (struct window){0};
    hist_init(&window->latency, sub_bits);
}

void window_fini(struct window *window)
{
    hist_fini(&window->latency);
}

void window_reset(struct window *window)
{
    struct hist latency = window->latency;

    hist_reset(&latency);
    *window = (struct window){.latency = latency};
}

void window_merge(struct window *into, const struct window *from)
{
    into->started += from->started;
    into->aborted += from->aborted;
    for (size_t i = 0; i < OUTCOME_COUNT; i++)
        into->causes[i] += from->causes[i];
    for (size_t i = 0; i < WINDOW_CLASSES; i++)
        into->classes[i] += from->classes[i];
    into->bytes_sent += from->bytes_sent;
    into->bytes_received += from->bytes_received;
    into->iterations += from->iterations;
    into->late_starts += from->late_starts;
    into->dropped_starts += from->dropped_starts;
    hist_merge(&into->latency, &from->latency);
}

void window_add(struct window *window, const struct sample *sample)
{
    window->causes[sample->outcome]++;
    if (sample->outcome == OUTCOME_RESPONSE)
        window->classes[sample->status / 100]++;
    window->bytes_sent += sample->bytes_sent;
    window->bytes_received += sample->bytes_received;
    hist_count(&window->latency, sample->latency_ns);
}

uint64_t window_ended(const struct window *window)
{
    uint64_t n = 0;

    for (size_t i = 0; i < OUTCOME_COUNT; i++)
        n += window->causes[i];
    return n;
}

void window_failures(const struct window *window, uint64_t failures[FAILED_COUNT])
{
    uint64_t others = window->causes[OUTCOME_RESPONSE] - window->classes[2];

    for (size_t i = 0; i < FAILED_COUNT; i++)
        failures[i] = 0;
    for (size_t i = OUTCOME_RESPONSE + 1; i < OUTCOME_COUNT; i++)
        failures[group_of((enum outcome)i)] += window->causes[i];
    failures[FAILED_4XX] = window->classes[4];
    failures[FAILED_5XX] = window->classes[5];
    failures[FAILED_STATUS] = others - window->classes[4] - window->classes[5];
}
