/*
 * What a user says instead of the resolver, in curl's forms: addresses of a host (--resolve) and
 * where to connect to in place of a host (--connect-to). Filled while options are read, not changed
 * afterwards: threads may share it. Pure.
 */
#ifndef NET_OVERRIDES_H
#define NET_OVERRIDES_H

#include <stdint.h>

#include "base/str.h"

#define DNS_MAX_OVERRIDES 4096 /* of each kind */

struct addresses; /* net/dns.h */

enum dns_family { DNS_ANY_FAMILY, DNS_IPV4, DNS_IPV6 };

/* The addresses of a host at a port, with that port. */
struct dns_pin {
    struct str host; /* {NULL, 0}: any */
    uint16_t port;
    struct addresses *addresses[3]; /* by family; none: NULL */
};

/* Another host and port to connect to. */
struct dns_detour {
    struct str host;  /* {NULL, 0}: any */
    uint16_t port;    /* 0: any */
    struct str to;    /* {NULL, 0}: the same host */
    uint16_t to_port; /* 0: the same port */
};

struct dns_overrides {
    struct dns_pin *pins;
    struct dns_detour *detours;
    unsigned n_pins, n_detours;
};

/* Allocates nothing. */
void dns_overrides_init(struct dns_overrides *overrides);
void dns_overrides_fini(struct dns_overrides *overrides);

/*
 * Each adds one and returns NULL, or a static text that says what is wrong with it. Hosts are
 * normalised as in URLs, IPv6 addresses stand in brackets (not needed in a list of addresses).
 *
 * HOST:PORT:ADDRESS[,ADDRESS…], HOST perhaps "*". Of the same host and port the last one counts,
 * and "*" where there is none.
 */
const char *dns_overrides_resolve(struct dns_overrides *overrides, struct str text);
/* HOST1:PORT1:HOST2:PORT2; empty, the first two are any, the others the same as before. The first
 * that fits counts, and only one. */
const char *dns_overrides_connect_to(struct dns_overrides *overrides, struct str text);

/* Where to connect to for *host and *port: changes them, or not. The new host belongs to the
 * overrides. */
void dns_overrides_detour(const struct dns_overrides *overrides, struct str *host, uint16_t *port);
/* What was said of host and port, or NULL. */
const struct dns_pin *dns_overrides_pin(const struct dns_overrides *overrides, struct str host,
                                        uint16_t port);

#endif
