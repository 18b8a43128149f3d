#include "net/dns.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/loop_uv.h"

#define FAILURE_KEPT_NS NS_PER_S
#define HOST_MAX 255

struct name {
    struct name *next;
    struct loop *loop;
    bool orphaned; /* the resolver is gone: nobody waits for the thread's answer any more */
    uv_getaddrinfo_t request;
    bool asking;
    const char *error;
    uint64_t failed_ns;
    struct addresses *addresses;
    struct lookup *waiting;
    uint16_t port;
    char host[HOST_MAX + 1];
};

struct resolver {
    struct loop *loop;
    struct resolver_options options;
    struct name *names; /* newest first */
    unsigned n_names;
    struct addresses *numeric; /* of the last numeric host asked for */
};

struct resolver *resolver_new(struct loop *loop, const struct resolver_options *options)
{
    struct resolver *resolver = xcalloc(1, sizeof *resolver);
    resolver->loop = loop;
    if (options) {
        resolver->options = *options;
    }
    return resolver;
}

static void name_free(struct name *name)
{
    free(name->addresses);
    free(name);
}

void resolver_free(struct resolver *resolver)
{
    if (!resolver) {
        return;
    }
    while (resolver->names) {
        struct name *name = resolver->names;
        resolver->names = name->next;
        if (name->asking) {
            name->orphaned = true;
            uv_cancel((uv_req_t *)&name->request);
        } else {
            name_free(name);
        }
    }
    loop_uv_due(resolver->loop);
    free(resolver->numeric);
    free(resolver);
}

static void set_port(struct sockaddr_storage *storage, uint16_t port)
{
    if (storage->ss_family == AF_INET) {
        ((struct sockaddr_in *)storage)->sin_port = htons(port);
    } else {
        ((struct sockaddr_in6 *)storage)->sin6_port = htons(port);
    }
}

static struct addresses *addresses_of(const struct addrinfo *info, uint16_t port)
{
    struct addresses *all = xcalloc(1, sizeof *all + DNS_MAX_ADDRESSES * sizeof(struct address));
    for (; info && all->n < DNS_MAX_ADDRESSES; info = info->ai_next) {
        if (info->ai_family != AF_INET && info->ai_family != AF_INET6) {
            continue;
        }
        struct address *one = &all->list[all->n++];
        memcpy(&one->storage, info->ai_addr, info->ai_addrlen);
        one->length = info->ai_addrlen;
        set_port(&one->storage, port);
    }
    return xrealloc(all, sizeof *all + all->n * sizeof(struct address));
}

static void answered(uv_getaddrinfo_t *request, int status, struct addrinfo *info)
{
    struct name *name = request->data;
    name->asking = false;
    loop_uv_pending(name->loop, -1);
    if (name->orphaned) {
        uv_freeaddrinfo(info);
        name_free(name);
        return;
    }
    if (status == 0) {
        free(name->addresses);
        name->addresses = addresses_of(info, name->port);
        name->error = name->addresses->n ? NULL : "the name has no addresses";
    } else {
        name->error = uv_strerror(status);
    }
    uv_freeaddrinfo(info);
    name->failed_ns = clock_ns();
    while (name->waiting) {
        struct lookup *lookup = name->waiting;
        resolver_cancel(lookup);
        lookup->done(lookup, name->error ? NULL : name->addresses, name->error);
    }
}

static struct name *name_find(struct resolver *resolver, struct str host, uint16_t port)
{
    for (struct name *name = resolver->names; name; name = name->next) {
        if (name->port == port && str_eq(str_of(name->host), host)) {
            return name;
        }
    }
    return NULL;
}

/* The oldest answer that nobody waits for makes room. */
static void forget_one(struct resolver *resolver)
{
    struct name **oldest = NULL;
    for (struct name **at = &resolver->names; *at; at = &(*at)->next) {
        if (!(*at)->asking) {
            oldest = at;
        }
    }
    if (oldest) {
        struct name *name = *oldest;
        *oldest = name->next;
        name_free(name);
        resolver->n_names--;
    }
}

static struct name *name_add(struct resolver *resolver, struct str host, uint16_t port)
{
    if (resolver->n_names >= DNS_MAX_NAMES) {
        forget_one(resolver);
    }
    struct name *name = xcalloc(1, sizeof *name);
    memcpy(name->host, host.p, host.n);
    name->port = port;
    name->loop = resolver->loop;
    name->request.data = name;
    name->next = resolver->names;
    resolver->names = name;
    resolver->n_names++;
    return name;
}

static void name_ask(struct name *name, enum dns_family family)
{
    static const int FAMILIES[] = {AF_UNSPEC, AF_INET, AF_INET6};
    struct addrinfo hints = {.ai_family = FAMILIES[family], .ai_socktype = SOCK_STREAM};
    int status =
        uv_getaddrinfo(loop_uv(name->loop), &name->request, answered, name->host, NULL, &hints);
    name->asking = status == 0;
    if (name->asking) {
        loop_uv_pending(name->loop, 1);
        loop_uv_due(name->loop); /* so that it watches for its threads' answers */
    } else {
        name->error = uv_strerror(status);
        name->failed_ns = clock_ns();
    }
}

static bool numeric(struct resolver *resolver, struct str host, uint16_t port)
{
    char text[INET6_ADDRSTRLEN + 1];
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    bool bracketed = host.n > 2 && host.p[0] == '[';
    struct str bare = bracketed ? (struct str){host.p + 1, host.n - 2} : host;
    if (bare.n >= sizeof text) {
        return false;
    }
    memcpy(text, bare.p, bare.n);
    text[bare.n] = 0;
    if (!resolver->numeric) {
        resolver->numeric = xcalloc(1, sizeof *resolver->numeric + sizeof(struct address));
        resolver->numeric->n = 1;
    }
    struct address *address = &resolver->numeric->list[0];
    if (bracketed && inet_pton(AF_INET6, text, &v6.sin6_addr) == 1) {
        memcpy(&address->storage, &v6, sizeof v6);
        address->length = sizeof v6;
        return true;
    }
    if (!bracketed && inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
        memcpy(&address->storage, &v4, sizeof v4);
        address->length = sizeof v4;
        return true;
    }
    return false;
}

/* The answer that needs no asking: *addresses, or *error. */
static bool known(struct resolver *resolver, struct str host, uint16_t port,
                  const struct addresses **addresses, const char **error)
{
    enum dns_family family = resolver->options.family;
    const struct dns_overrides *overrides = resolver->options.overrides;
    const struct dns_pin *pin = overrides ? dns_overrides_pin(overrides, host, port) : NULL;
    if (pin) {
        *addresses = pin->addresses[family];
    } else if (numeric(resolver, host, port)) {
        bool is_v4 = resolver->numeric->list[0].storage.ss_family == AF_INET;
        bool fits = family == DNS_ANY_FAMILY || family == (is_v4 ? DNS_IPV4 : DNS_IPV6);
        *addresses = fits ? resolver->numeric : NULL;
    } else {
        return false;
    }
    if (!*addresses) {
        *error = family == DNS_IPV4 ? "it has no IPv4 address, and only those are asked for"
                                    : "it has no IPv6 address, and only those are asked for";
    }
    return true;
}

bool resolver_ask(struct resolver *resolver, struct str host, uint16_t port, struct lookup *lookup,
                  const struct addresses **addresses, const char **error)
{
    *addresses = NULL;
    if (resolver->options.overrides && !lookup->no_detour) {
        dns_overrides_detour(resolver->options.overrides, &host, &port);
    }
    if (known(resolver, host, port, addresses, error)) {
        return true;
    }
    if (host.n > HOST_MAX) {
        *error = "the name is longer than 255 bytes";
        return true;
    }
    struct name *name = name_find(resolver, host, port);
    if (!name) {
        name = name_add(resolver, host, port);
        name_ask(name, resolver->options.family);
    } else if (name->error && !name->asking && clock_ns() - name->failed_ns > FAILURE_KEPT_NS) {
        name->error = NULL;
        name_ask(name, resolver->options.family);
    }
    if (name->asking) {
        lookup->next = name->waiting;
        lookup->link = &name->waiting;
        if (name->waiting) {
            name->waiting->link = &lookup->next;
        }
        name->waiting = lookup;
        return false;
    }
    *error = name->error;
    *addresses = name->error ? NULL : name->addresses;
    return true;
}

void resolver_cancel(struct lookup *lookup)
{
    if (lookup->link) {
        *lookup->link = lookup->next;
        if (lookup->next) {
            lookup->next->link = lookup->link;
        }
        lookup->link = NULL;
        lookup->next = NULL;
    }
}
