/*
 * Which proxy a target goes through, by flags and environment. Pure: asks nothing but the function
 * that it is given. A struct proxies does not change once it is made, and threads may share it.
 */
#ifndef HTTP_PROXY_H
#define HTTP_PROXY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum proxy_kind {
    PROXY_HTTP,   /* absolute-form requests for http targets, CONNECT for https */
    PROXY_HTTPS,  /* the same, spoken to over TLS */
    PROXY_SOCKS5, /* is told addresses */
    PROXY_SOCKS5H /* is told names */
};

struct proxy {
    enum proxy_kind kind;
    uint16_t port;
    struct str host;           /* normalised as in a URL: IPv6 in brackets */
    struct str authorization;  /* http, https: "Basic …" for Proxy-Authorization, or empty */
    struct str user, password; /* socks: at most 255 bytes; user empty: no credentials */
};

/* A host, or a group of them, that is reached directly. */
struct proxy_rule {
    struct str suffix; /* of names, without its first dot; {NULL, 0}: any host */
    int family;        /* AF_INET or AF_INET6: the first `bits` of address; 0: suffix */
    unsigned bits;
    uint8_t address[16];
    uint16_t port; /* 0: any */
};

#define PROXY_MAX_RULES 4096

struct proxies {
    struct proxy *http, *https; /* for such targets; NULL: none */
    struct proxy_rule *rules;
    unsigned n_rules;
};

/*
 * proxy (--proxy) and no_proxy (--no-proxy) beat the environment if they are not NULL; an empty
 * proxy is none. get is getenv or like it. A variable that is blank counts as not set. Of each
 * variable's names the upper-case one wins; HTTP_PROXY, which a CGI program's client could have
 * set, is passed over where REQUEST_METHOD is.
 *
 * A proxy is [SCHEME://][USER[:PASSWORD]@]HOST[:PORT][/…] with the scheme http (also if there is
 * none), https, socks5 or socks5h, and the port 80, 443 or 1080 if there is none.
 *
 * A list of exceptions has commas or blanks between names (which stand for their subdomains too,
 * with or without a first "." or "*."), addresses, networks (ADDRESS/BITS) and "*", each but
 * networks perhaps with :PORT. What cannot be read is an error in the flag, passed over in the
 * variable.
 *
 * False with a line in error that begins with the flag's or the variable's name, shows no
 * credentials and may hold any bytes; there is nothing to free then.
 */
bool proxies_init(struct proxies *proxies, const char *proxy, const char *no_proxy,
                  char *(*get)(const char *name), struct buf *error);
void proxies_fini(struct proxies *proxies);

/* The proxy for a target, or NULL if it is reached directly. host as in a normalised URL. The cost
 * is that of looking at each rule. */
const struct proxy *proxy_for(const struct proxies *proxies, bool https, struct str host,
                              uint16_t port);

/* --- between the module's own files: http/proxy_rules.c --- */

/* Adds the rules of a list; false with *bad if one cannot be read (and strict), or if there are too
 * many (*bad is empty then). */
bool proxy_rules_add(struct proxies *proxies, struct str list, bool strict, struct str *bad);
bool proxy_rules_match(const struct proxies *proxies, struct str host, uint16_t port);
void proxy_rules_free(struct proxies *proxies);

#endif
