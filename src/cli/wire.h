/*
 * From the command line, the plan and the environment to how connections are made: HTTP versions,
 * TLS, proxies, addresses.
 */
#ifndef CLI_WIRE_H
#define CLI_WIRE_H

#include <stdbool.h>

#include "base/faults.h"
#include "cli/arguments.h"
#include "http/client.h"
#include "plan/plan.h"

/* What client_options borrows from; owned. */
struct wire {
    char *key_password;
    struct dns_overrides overrides;
    bool has_proxies;
    struct proxies proxies;
    struct addresses *address; /* a Unix socket */
    struct addresses *local;
};

/* Fills the wire's part of *client. False with a fault for each thing that cannot be: a file that
 * cannot be read or is no certificate, a key that does not belong to it, a proxy that is none.
 * wire_fini it either way, when the run is over. */
bool wire_make(const struct arguments *arguments, const struct plan *plan, struct wire *wire,
               struct client_options *client, struct faults *faults);
void wire_fini(struct wire *wire);

#endif
