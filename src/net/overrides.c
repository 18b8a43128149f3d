#include "net/overrides.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/url_host.h"
#include "net/dns.h"

#define HOST_MAX 1024

static const char *const TOO_MANY = "there are more than 4096 of them";
static const char *const BAD_HOST = "the host cannot be";
static const char *const BAD_PORT = "a port is a number from 1 to 65535";

void dns_overrides_init(struct dns_overrides *overrides)
{
    *overrides = (struct dns_overrides){0};
}

static void pin_fini(struct dns_pin *pin)
{
    xstr_free(pin->host);
    for (unsigned i = 0; i < 3; i++) {
        free(pin->addresses[i]);
    }
}

static void detour_fini(struct dns_detour *detour)
{
    xstr_free(detour->host);
    xstr_free(detour->to);
}

void dns_overrides_fini(struct dns_overrides *overrides)
{
    for (unsigned i = 0; i < overrides->n_pins; i++) {
        pin_fini(&overrides->pins[i]);
    }
    for (unsigned i = 0; i < overrides->n_detours; i++) {
        detour_fini(&overrides->detours[i]);
    }
    free(overrides->pins);
    free(overrides->detours);
    dns_overrides_init(overrides);
}

/* --- parts --- */

/* Takes what is before the next colon, and that, off *rest; colons in brackets do not count. False
 * if there is none. */
static bool take_part(struct str *rest, struct str *part)
{
    size_t bracket = rest->n > 0 && *rest->p == '[' ? str_find(*rest, ']') : 0;
    size_t colon = bracket + str_find(str_skip(*rest, bracket), ':');
    if (colon == rest->n) {
        return false;
    }
    *part = (struct str){rest->p, colon};
    *rest = str_skip(*rest, colon + 1);
    return true;
}

/* The host on the heap. A sign before it has a meaning for curl that there is not here. */
static bool parse_host(struct str text, struct str *out)
{
    struct buf host;
    buf_init(&host, HOST_MAX);
    bool good = text.n > 0 && *text.p != '+' && *text.p != '-' && url_host(text, &host);
    if (good) {
        *out = xstr_copy(buf_str(&host));
    }
    buf_fini(&host);
    return good;
}

static bool parse_port(struct str text, uint16_t *out)
{
    uint64_t port;
    if (!str_to_u64(text, &port) || port == 0 || port > UINT16_MAX) {
        return false;
    }
    *out = (uint16_t)port;
    return true;
}

/* --- --resolve --- */

static bool parse_address(struct str text, uint16_t port, struct address *out)
{
    char copy[INET6_ADDRSTRLEN];
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    bool bracketed = text.n >= 2 && *text.p == '[' && text.p[text.n - 1] == ']';
    if (bracketed) {
        text = (struct str){text.p + 1, text.n - 2};
    }
    if (text.n == 0 || text.n >= sizeof copy) {
        return false;
    }
    memcpy(copy, text.p, text.n);
    copy[text.n] = 0;
    *out = (struct address){0};
    if (!bracketed && inet_pton(AF_INET, copy, &v4.sin_addr) == 1) {
        memcpy(&out->storage, &v4, sizeof v4);
        out->length = sizeof v4;
        return true;
    }
    if (inet_pton(AF_INET6, copy, &v6.sin6_addr) == 1) {
        memcpy(&out->storage, &v6, sizeof v6);
        out->length = sizeof v6;
        return true;
    }
    return false;
}

static void add_address(struct addresses **list, const struct address *address)
{
    unsigned n = *list ? (*list)->n : 0;
    *list = xrealloc(*list, sizeof **list + (n + 1) * sizeof *address);
    (*list)->list[n] = *address;
    (*list)->n = n + 1;
}

static const char *parse_addresses(struct dns_pin *pin, struct str text)
{
    bool more = true;
    while (more) {
        struct address address;
        size_t comma = str_find(text, ',');
        more = comma < text.n;
        if (!parse_address((struct str){text.p, comma}, pin->port, &address)) {
            return "an address is an IPv4 or an IPv6 one";
        }
        bool is_v4 = address.storage.ss_family == AF_INET;
        if (pin->addresses[DNS_ANY_FAMILY] &&
            pin->addresses[DNS_ANY_FAMILY]->n == DNS_MAX_ADDRESSES) {
            return "a host has at most 64 addresses";
        }
        add_address(&pin->addresses[DNS_ANY_FAMILY], &address);
        add_address(&pin->addresses[is_v4 ? DNS_IPV4 : DNS_IPV6], &address);
        text = str_skip(text, comma + 1);
    }
    return NULL;
}

static const char *parse_pin(struct dns_pin *pin, struct str text)
{
    struct str host, port;
    if (!take_part(&text, &host) || !take_part(&text, &port)) {
        return "it must be HOST:PORT:ADDRESS[,ADDRESS...]";
    }
    if (!str_eq(host, STR("*")) && !parse_host(host, &pin->host)) {
        return BAD_HOST;
    }
    if (!parse_port(port, &pin->port)) {
        return BAD_PORT;
    }
    return parse_addresses(pin, text);
}

const char *dns_overrides_resolve(struct dns_overrides *overrides, struct str text)
{
    struct dns_pin pin = {0};
    if (overrides->n_pins == DNS_MAX_OVERRIDES) {
        return TOO_MANY;
    }
    const char *wrong = parse_pin(&pin, text);
    if (wrong) {
        pin_fini(&pin);
        return wrong;
    }
    overrides->pins = xrealloc(overrides->pins, (overrides->n_pins + 1) * sizeof pin);
    overrides->pins[overrides->n_pins++] = pin;
    return NULL;
}

const struct dns_pin *dns_overrides_pin(const struct dns_overrides *overrides, struct str host,
                                        uint16_t port)
{
    const struct dns_pin *found = NULL;
    for (unsigned i = overrides->n_pins; i-- > 0;) {
        const struct dns_pin *pin = &overrides->pins[i];
        if (pin->port == port && pin->host.p && str_eq(pin->host, host)) {
            return pin;
        }
        if (pin->port == port && !pin->host.p && !found) {
            found = pin;
        }
    }
    return found;
}

/* --- --connect-to --- */

static const char *parse_detour(struct dns_detour *detour, struct str text)
{
    struct str host, port, to;
    if (!take_part(&text, &host) || !take_part(&text, &port) || !take_part(&text, &to)) {
        return "it must be HOST1:PORT1:HOST2:PORT2";
    }
    if ((host.n > 0 && !parse_host(host, &detour->host)) ||
        (to.n > 0 && !parse_host(to, &detour->to))) {
        return BAD_HOST;
    }
    if ((port.n > 0 && !parse_port(port, &detour->port)) ||
        (text.n > 0 && !parse_port(text, &detour->to_port))) {
        return BAD_PORT;
    }
    return NULL;
}

const char *dns_overrides_connect_to(struct dns_overrides *overrides, struct str text)
{
    struct dns_detour detour = {0};
    if (overrides->n_detours == DNS_MAX_OVERRIDES) {
        return TOO_MANY;
    }
    const char *wrong = parse_detour(&detour, text);
    if (wrong) {
        detour_fini(&detour);
        return wrong;
    }
    overrides->detours = xrealloc(overrides->detours, (overrides->n_detours + 1) * sizeof detour);
    overrides->detours[overrides->n_detours++] = detour;
    return NULL;
}

void dns_overrides_detour(const struct dns_overrides *overrides, struct str *host, uint16_t *port)
{
    for (unsigned i = 0; i < overrides->n_detours; i++) {
        const struct dns_detour *detour = &overrides->detours[i];
        if ((!detour->host.p || str_eq(detour->host, *host)) &&
            (detour->port == 0 || detour->port == *port)) {
            *host = detour->to.p ? detour->to : *host;
            *port = detour->to_port ? detour->to_port : *port;
            return;
        }
    }
}
