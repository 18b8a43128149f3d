#include "http/proxy.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/url.h"
#include "base/url_host.h"
#include "http/auth.h"

#define SOCKS_TEXT_MAX 255 /* RFC 1929: a length is one byte */
#define SOCKS_PORT 1080

static const struct scheme {
    struct str name;
    enum proxy_kind kind;
    uint16_t port;
} SCHEMES[] = {
    {{"http", 4}, PROXY_HTTP, 80},
    {{"https", 5}, PROXY_HTTPS, 443},
    {{"socks5", 6}, PROXY_SOCKS5, SOCKS_PORT},
    {{"socks5h", 7}, PROXY_SOCKS5H, SOCKS_PORT},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct str head(struct str s, size_t n)
{
    return (struct str){s.p, n};
}

/* Takes "SCHEME://" off the front of *text; NULL if it is one that no proxy has. */
static const struct scheme *take_scheme(struct str *text)
{
    size_t colon = str_find(*text, ':');
    struct str name = head(*text, colon);
    if (!str_starts(str_skip(*text, colon), STR("://"))) {
        return &SCHEMES[0];
    }
    for (size_t i = 0; i < COUNT(SCHEMES); i++) {
        if (str_eq_nocase(name, SCHEMES[i].name)) {
            *text = str_skip(*text, colon + 3);
            return &SCHEMES[i];
        }
    }
    return NULL;
}

static struct str take_authority(struct str text)
{
    size_t n = 0;
    while (n < text.n && text.p[n] != '/' && text.p[n] != '?' && text.p[n] != '#') {
        n++;
    }
    return head(text, n);
}

static struct str decoded(struct str s)
{
    struct buf out;
    buf_init(&out, BUF_NO_MAX);
    url_decode(s, &out);
    struct str copy = xstr_copy(buf_str(&out));
    buf_fini(&out);
    return copy;
}

/* What is wrong with the credentials, or NULL. */
static const char *set_credentials(struct proxy *proxy, struct str both)
{
    struct url url = {.username = head(both, str_find(both, ':'))};
    url.password = str_skip(both, url.username.n + 1);
    if (proxy->kind == PROXY_HTTP || proxy->kind == PROXY_HTTPS) {
        struct buf text;
        buf_init(&text, BUF_NO_MAX);
        auth_basic(&url, &text);
        proxy->authorization = xstr_copy(buf_str(&text));
        buf_fini(&text);
        return NULL;
    }
    proxy->user = decoded(url.username);
    proxy->password = decoded(url.password);
    if (proxy->user.n > SOCKS_TEXT_MAX || proxy->password.n > SOCKS_TEXT_MAX) {
        return "a user name or password for SOCKS is at most 255 bytes long";
    }
    if (proxy->user.n == 0 && proxy->password.n > 0) {
        return "a password for SOCKS needs a user name";
    }
    return NULL;
}

/* The same for HOST[:PORT]. */
static const char *set_host(struct proxy *proxy, struct str text)
{
    size_t bracket = text.n > 0 && *text.p == '[' ? str_find(text, ']') : 0;
    size_t colon = bracket + str_find(str_skip(text, bracket), ':');
    struct str port = str_skip(text, colon + 1);
    uint64_t number = proxy->port;
    struct buf host;
    buf_init(&host, URL_MAX);
    bool good = url_host(head(text, colon), &host);
    proxy->host = xstr_copy(buf_str(&host));
    buf_fini(&host);
    if (!good) {
        return "the host of a proxy cannot be";
    }
    if (port.n > 0 && (!str_to_u64(port, &number) || number == 0 || number > UINT16_MAX)) {
        return "a proxy's port is a number from 1 to 65535";
    }
    proxy->port = (uint16_t)number;
    return NULL;
}

static const char *proxy_parse(struct proxy *proxy, struct str text)
{
    if (text.n > URL_MAX) {
        return "it is too long";
    }
    const struct scheme *scheme = take_scheme(&text);
    if (!scheme) {
        return "the scheme of a proxy is http, https, socks5 or socks5h";
    }
    proxy->kind = scheme->kind;
    proxy->port = scheme->port;
    struct str authority = take_authority(text);
    const char *sign = authority.n > 0 ? memrchr(authority.p, '@', authority.n) : NULL;
    if (sign) {
        struct str both = head(authority, (size_t)(sign - authority.p));
        const char *wrong = set_credentials(proxy, both);
        if (wrong) {
            return wrong;
        }
        authority = str_skip(authority, both.n + 1);
    }
    return set_host(proxy, authority);
}

static void proxy_free(struct proxy *proxy)
{
    if (proxy) {
        xstr_free(proxy->host);
        xstr_free(proxy->authorization);
        xstr_free(proxy->user);
        xstr_free(proxy->password);
        free(proxy);
    }
}

/* What a setting says, and where. */
struct setting {
    const char *name;
    struct str text;
};

static void say(struct buf *error, struct setting setting, const char *wrong)
{
    const char *sign = setting.text.n > 0 ? memrchr(setting.text.p, '@', setting.text.n) : NULL;
    buf_add_str(error, str_of(setting.name));
    buf_add_str(error, STR(": "));
    buf_add_str(error, str_of(wrong));
    buf_add_str(error, STR(": "));
    /* Behind the last '@' there are no credentials, however broken the rest is. */
    if (sign) {
        buf_add_str(error, STR("***"));
        setting.text = str_skip(setting.text, (size_t)(sign - setting.text.p));
    }
    buf_add_str(error, setting.text);
}

/* NULL, too, if there is nothing in the setting. */
static bool proxy_new(struct setting setting, struct proxy **out, struct buf *error)
{
    *out = NULL;
    if (setting.text.n == 0) {
        return true;
    }
    struct proxy *proxy = xcalloc(1, sizeof *proxy);
    const char *wrong = proxy_parse(proxy, setting.text);
    if (wrong) {
        say(error, setting, wrong);
        proxy_free(proxy);
        return false;
    }
    *out = proxy;
    return true;
}

/* The first of the variables, up to a NULL, that is not blank. */
static struct setting first_set(char *(*get)(const char *name), const char *const *names)
{
    for (; *names; names++) {
        struct str text = str_trim(str_of(get(*names)));
        if (text.n > 0) {
            return (struct setting){*names, text};
        }
    }
    return (struct setting){NULL, {NULL, 0}};
}

static bool set_proxies(struct proxies *proxies, const char *flag, char *(*get)(const char *name),
                        struct buf *error)
{
    static const char *const HTTP[] = {"HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", NULL};
    static const char *const HTTPS[] = {"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy",
                                        NULL};
    struct setting http = {"--proxy", str_trim(str_of(flag))}, https = http;
    if (!flag) {
        http = first_set(get, get("REQUEST_METHOD") ? HTTP + 1 : HTTP);
        https = first_set(get, HTTPS);
    }
    return proxy_new(http, &proxies->http, error) && proxy_new(https, &proxies->https, error);
}

static bool set_rules(struct proxies *proxies, const char *flag, char *(*get)(const char *name),
                      struct buf *error)
{
    static const char *const NAMES[] = {"NO_PROXY", "no_proxy", NULL};
    struct setting setting = {"--no-proxy", str_of(flag)};
    struct str bad;
    if (!flag) {
        setting = first_set(get, NAMES);
    }
    if (proxy_rules_add(proxies, setting.text, flag, &bad)) {
        return true;
    }
    if (bad.n > 0) {
        setting.text = bad;
        say(error, setting, "neither a name, an address, a network nor *");
    } else {
        buf_addf(error, "%s: there are more than %d entries", setting.name, PROXY_MAX_RULES);
    }
    return false;
}

bool proxies_init(struct proxies *proxies, const char *proxy, const char *no_proxy,
                  char *(*get)(const char *name), struct buf *error)
{
    *proxies = (struct proxies){0};
    bool good = set_proxies(proxies, proxy, get, error) && set_rules(proxies, no_proxy, get, error);
    if (!good) {
        proxies_fini(proxies);
    }
    return good;
}

void proxies_fini(struct proxies *proxies)
{
    proxy_free(proxies->http);
    proxy_free(proxies->https);
    proxy_rules_free(proxies);
    *proxies = (struct proxies){0};
}

const struct proxy *proxy_for(const struct proxies *proxies, bool https, struct str host,
                              uint16_t port)
{
    const struct proxy *proxy = https ? proxies->https : proxies->http;
    return proxy && !proxy_rules_match(proxies, host, port) ? proxy : NULL;
}
