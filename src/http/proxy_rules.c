#include <arpa/inet.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/url.h"
#include "base/url_host.h"
#include "http/proxy.h"

static struct str head(struct str s, size_t n)
{
    return (struct str){s.p, n};
}

static bool is_between(char c)
{
    return c == ',' || c == ' ' || (c >= '\t' && c <= '\r');
}

static struct str without_brackets(struct str host)
{
    if (host.n >= 2 && host.p[0] == '[' && host.p[host.n - 1] == ']') {
        return (struct str){host.p + 1, host.n - 2};
    }
    return host;
}

static struct str without_last_dot(struct str host)
{
    return head(host, host.n - (host.n > 1 && host.p[host.n - 1] == '.'));
}

/* The family of an address, brackets allowed around an IPv6 one, or 0 if it is none. */
static int address_parse(struct str text, uint8_t address[16])
{
    char copy[INET6_ADDRSTRLEN];
    struct str bare = without_brackets(text);
    if (bare.n >= sizeof copy || (bare.n > 0 && memchr(bare.p, 0, bare.n))) {
        return 0;
    }
    for (size_t i = 0; i < bare.n; i++) {
        copy[i] = bare.p[i];
    }
    copy[bare.n] = 0;
    if (bare.n == text.n && inet_pton(AF_INET, copy, address) == 1) {
        return AF_INET;
    }
    return inet_pton(AF_INET6, copy, address) == 1 ? AF_INET6 : 0;
}

static unsigned bits_of(int family)
{
    return family == AF_INET ? 32 : 128;
}

static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    return memcmp(a, b, whole) == 0 && (rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0);
}

/* Takes ":PORT" off the end of *text. Two colons that are not in brackets are those of an IPv6
 * address. */
static bool take_port(struct str *text, uint16_t *port)
{
    size_t bracket = *text->p == '[' ? str_find(*text, ']') : 0;
    size_t colon = bracket + str_find(str_skip(*text, bracket), ':');
    struct str digits = str_skip(*text, colon + 1);
    uint64_t number = 0;
    if (colon == text->n || str_find(digits, ':') < digits.n) {
        return true;
    }
    *text = head(*text, colon);
    if (!str_to_u64(digits, &number) || number == 0 || number > UINT16_MAX) {
        return false;
    }
    *port = (uint16_t)number;
    return true;
}

static bool network_parse(struct proxy_rule *rule, struct str text, size_t slash)
{
    uint64_t bits;
    rule->family = address_parse(head(text, slash), rule->address);
    if (!rule->family || !str_to_u64(str_skip(text, slash + 1), &bits) ||
        bits > bits_of(rule->family)) {
        return false;
    }
    rule->bits = (unsigned)bits;
    return true;
}

/* A name by the same rules as the hosts that it is compared with. One that a URL would take for an
 * address ("10.0", "0x7f.1") is not what was meant. */
static bool suffix_parse(struct proxy_rule *rule, struct str text)
{
    uint8_t address[16];
    struct buf name;
    if (str_starts(text, STR("*."))) {
        text = str_skip(text, 2);
    } else if (str_starts(text, STR("."))) {
        text = str_skip(text, 1);
    }
    buf_init(&name, URL_MAX);
    bool good = url_host(text, &name) && !address_parse(buf_str(&name), address) &&
                name.p[0] != '.' && !memchr(name.p, '*', name.n);
    if (good) {
        rule->suffix = xstr_copy(without_last_dot(buf_str(&name)));
    }
    buf_fini(&name);
    return good;
}

static bool rule_parse(struct proxy_rule *rule, struct str text)
{
    size_t slash = str_find(text, '/');
    *rule = (struct proxy_rule){0};
    if (slash < text.n) {
        return network_parse(rule, text, slash);
    }
    if (!take_port(&text, &rule->port)) {
        return false;
    }
    if (str_eq(text, STR("*"))) {
        return true;
    }
    rule->family = address_parse(text, rule->address);
    if (rule->family) {
        rule->bits = bits_of(rule->family);
        return true;
    }
    return suffix_parse(rule, text);
}

bool proxy_rules_add(struct proxies *proxies, struct str list, bool strict, struct str *bad)
{
    unsigned cap = proxies->n_rules;
    for (;;) {
        struct proxy_rule rule;
        size_t n = 0;
        while (list.n > 0 && is_between(*list.p)) {
            list = str_skip(list, 1);
        }
        if (list.n == 0) {
            return true;
        }
        while (n < list.n && !is_between(list.p[n])) {
            n++;
        }
        *bad = head(list, n);
        list = str_skip(list, n);
        if (!rule_parse(&rule, *bad)) {
            if (strict) {
                return false;
            }
            continue;
        }
        if (proxies->n_rules == cap) {
            cap = cap ? 2 * cap : 8;
            proxies->rules = xrealloc(proxies->rules, cap * sizeof *proxies->rules);
        }
        proxies->rules[proxies->n_rules++] = rule;
        if (proxies->n_rules > PROXY_MAX_RULES) {
            *bad = (struct str){NULL, 0};
            return false;
        }
    }
}

static bool has_suffix(struct str host, struct str suffix)
{
    if (host.n < suffix.n || !str_eq_nocase(str_skip(host, host.n - suffix.n), suffix)) {
        return false;
    }
    return host.n == suffix.n || host.p[host.n - suffix.n - 1] == '.';
}

static bool fits(const struct proxy_rule *rule, struct str host, int family,
                 const uint8_t address[16])
{
    if (rule->family) {
        return rule->family == family && same_bits(rule->address, address, rule->bits);
    }
    return !rule->suffix.p || (!family && has_suffix(host, rule->suffix));
}

bool proxy_rules_match(const struct proxies *proxies, struct str host, uint16_t port)
{
    uint8_t address[16];
    int family = address_parse(host, address);
    host = without_last_dot(host);
    for (unsigned i = 0; i < proxies->n_rules; i++) {
        const struct proxy_rule *rule = &proxies->rules[i];
        if ((rule->port == 0 || rule->port == port) && fits(rule, host, family, address)) {
            return true;
        }
    }
    return false;
}

void proxy_rules_free(struct proxies *proxies)
{
    for (unsigned i = 0; i < proxies->n_rules; i++) {
        xstr_free(proxies->rules[i].suffix);
    }
    free(proxies->rules);
}
