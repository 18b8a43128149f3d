/*
 * Names to addresses: the system's resolver, off the loop, one look-up a name however many ask at
 * once. Answers are kept for the run, failures for a second. One resolver a worker.
 */
#ifndef NET_DNS_H
#define NET_DNS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/str.h"
#include "net/addresses.h"
#include "net/loop.h"
#include "net/overrides.h"

#define DNS_MAX_ADDRESSES 64
#define DNS_MAX_NAMES 4096 /* kept by one resolver; beyond it the oldest answer goes */

struct resolver;

/* Embedded by who asks; zeroed is idle. */
struct lookup {
    struct lookup *next, **link;
    /* addresses NULL: it failed, error is a static text ("Name or service not known"). Otherwise
     * borrowed until the callback returns. */
    void (*done)(struct lookup *lookup, const struct addresses *addresses, const char *error);
    bool no_detour; /* the overrides' detours are not for this host: it is a proxy's */
};

/* Zeroed is what NULL is. */
struct resolver_options {
    enum dns_family family;                /* addresses of another one are none */
    const struct dns_overrides *overrides; /* or NULL; must outlive the resolver */
};

/* options may be NULL. */
struct resolver *resolver_new(struct loop *loop, const struct resolver_options *options);
/* No look-up may be waiting. NULL is allowed. */
void resolver_free(struct resolver *resolver);

/*
 * host: a name, an IPv4 address or an IPv6 address in brackets. If the answer is known, it is
 * returned in *addresses (borrowed until the next call) with true, or *addresses NULL and *error.
 * Otherwise false, and done is called later. After a detour the addresses' port is not `port`.
 */
bool resolver_ask(struct resolver *resolver, struct str host, uint16_t port, struct lookup *lookup,
                  const struct addresses **addresses, const char **error);
/* done will not be called. */
void resolver_cancel(struct lookup *lookup);

#endif
