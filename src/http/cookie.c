#include "http/cookie.h"

#include <stdlib.h>

#include "base/json.h"
#include "http/psl.h"

#define FOR_EVER INT64_MAX

/* A block of its own. The list has them in the order of sending: longer paths first, then as they
 * were first set. */
struct cookie {
    struct cookie *next;
    size_t cap;       /* of the block */
    uint64_t created; /* the jar's stamp when it was first set, … */
    uint64_t set;     /* … and when it was set last */
    int64_t expires_s;
    size_t name_n, pair_n, domain_n, path_n;
    bool secure, host_only;
    char text[]; /* name=value, domain, path */
};

static struct str cookie_name(const struct cookie *cookie)
{
    return (struct str){cookie->text, cookie->name_n};
}

static struct str cookie_pair(const struct cookie *cookie)
{
    return (struct str){cookie->text, cookie->pair_n};
}

static struct str cookie_value(const struct cookie *cookie)
{
    return str_skip(cookie_pair(cookie), cookie->name_n + 1);
}

static struct str cookie_domain(const struct cookie *cookie)
{
    return (struct str){cookie->text + cookie->pair_n, cookie->domain_n};
}

static struct str cookie_path(const struct cookie *cookie)
{
    return (struct str){cookie->text + cookie->pair_n + cookie->domain_n, cookie->path_n};
}

void jar_init(struct jar *jar, struct blocks *blocks)
{
    *jar = (struct jar){.blocks = blocks};
}

/* Takes away the cookie that *link points at. */
static void drop(struct jar *jar, struct cookie **link)
{
    struct cookie *cookie = *link;

    *link = cookie->next;
    jar->count--;
    if (jar->blocks)
        block_put(jar->blocks, cookie, cookie->cap);
    else
        free(cookie);
}

void jar_clear(struct jar *jar)
{
    while (jar->cookies)
        drop(jar, &jar->cookies);
}

static void drop_expired(struct jar *jar, int64_t now_s)
{
    for (struct cookie **link = &jar->cookies; *link;) {
        if ((*link)->expires_s <= now_s)
            drop(jar, link);
        else
            link = &(*link)->next;
    }
}

static void drop_oldest(struct jar *jar)
{
    struct cookie **oldest = &jar->cookies;

    for (struct cookie **link = &jar->cookies; *link; link = &(*link)->next)
        if ((*link)->set < (*oldest)->set)
            oldest = link;
    drop(jar, oldest);
}

/* Normalised hosts are addresses if they are in brackets or their last label is a number. */
static bool is_address(struct str host)
{
    size_t at = host.n;

    while (at > 0 && host.p[at - 1] >= '0' && host.p[at - 1] <= '9')
        at--;
    return host.n > 0 && (host.p[0] == '[' || (at < host.n && at > 0 && host.p[at - 1] == '.'));
}

/* RFC 6265 §5.1.3. */
static bool domain_matches(struct str host, struct str domain)
{
    if (str_eq(host, domain))
        return true;
    return domain.n > 0 && host.n > domain.n && str_ends(host, domain) &&
           host.p[host.n - domain.n - 1] == '.' && !is_address(host);
}

/* RFC 6265 §5.1.4. */
static bool path_matches(struct str path, struct str cookie_path)
{
    if (!str_starts(path, cookie_path))
        return false;
    return path.n == cookie_path.n || cookie_path.p[cookie_path.n - 1] == '/' ||
           path.p[cookie_path.n] == '/';
}

static struct str default_path(struct str path)
{
    while (path.n > 1 && path.p[--path.n] != '/')
        ;
    return path.n > 0 && path.p[0] == '/' ? path : STR("/");
}

/* What a Set-Cookie field says: slices of the field, and of the place that it came from. */
struct fields {
    struct str name, value, domain, path;
    int64_t expires_s;
    bool has_domain, has_path, has_max_age, secure, host_only;
};

/* Takes s up to the separator off the front of *rest; false if the separator is not there. */
static bool take_until(struct str *rest, char separator, struct str *part)
{
    size_t n = str_find(*rest, separator);
    bool found = n < rest->n;

    *part = str_trim((struct str){rest->p, n});
    *rest = str_skip(*rest, n + 1);
    return found;
}

static void read_max_age(struct fields *f, struct str value, int64_t now_s)
{
    bool negative = value.n > 0 && value.p[0] == '-';
    struct str digits = str_skip(value, negative);
    int64_t age = 0;

    if (digits.n == 0)
        return;
    for (size_t i = 0; i < digits.n; i++) {
        if (digits.p[i] < '0' || digits.p[i] > '9')
            return;
        if (age < INT64_C(1) << 40)
            age = age * 10 + (digits.p[i] - '0');
    }
    f->has_max_age = true;
    f->expires_s = negative ? now_s : now_s + age;
}

static void read_attribute(struct fields *f, struct str name, struct str value, int64_t now_s)
{
    if (value.n > COOKIE_ATTRIBUTE_MAX)
        return;
    if (str_eq_nocase(name, STR("expires"))) {
        if (!f->has_max_age)
            (void)cookie_date(value, &f->expires_s);
    } else if (str_eq_nocase(name, STR("max-age"))) {
        read_max_age(f, value, now_s);
    } else if (str_eq_nocase(name, STR("domain"))) {
        f->domain = str_skip(value, value.n > 0 && value.p[0] == '.');
        f->has_domain = f->domain.n > 0;
    } else if (str_eq_nocase(name, STR("path"))) {
        f->path = value;
        f->has_path = value.n > 0 && value.p[0] == '/';
    } else if (str_eq_nocase(name, STR("secure"))) {
        f->secure = true;
    }
}

/* RFC 6265 §5.2; false if the field is to be passed over. */
static bool read_fields(struct fields *f, struct str text, int64_t now_s)
{
    struct str pair, attribute, name;

    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return false;
    }
    *f = (struct fields){.expires_s = FOR_EVER};
    bool more = take_until(&text, ';', &pair);
    if (!take_until(&pair, '=', &f->name) || f->name.n == 0)
        return false;
    f->value = str_trim(pair);
    while (more) {
        more = take_until(&text, ';', &attribute);
        take_until(&attribute, '=', &name);
        read_attribute(f, name, str_trim(attribute), now_s);
    }
    return f->name.n + f->value.n <= COOKIE_BYTES_MAX;
}

/* RFC 6265 §5.3, steps 4 to 6. The domain becomes a part of the host, which is in lower case. */
static bool resolve_domain(struct fields *f, struct str host)
{
    struct str domain = f->domain;

    f->host_only = true;
    f->domain = host;
    if (!f->has_domain)
        return true;
    if (domain.n > host.n)
        return false;
    f->domain = str_skip(host, host.n - domain.n);
    if (!str_eq_nocase(domain, f->domain) || !domain_matches(host, f->domain))
        return false;
    if (is_address(host) || psl_is_suffix(f->domain))
        return domain.n == host.n;
    f->host_only = false;
    return true;
}

static bool has_prefix(struct str name, struct str prefix)
{
    return name.n >= prefix.n && str_eq_nocase((struct str){name.p, prefix.n}, prefix);
}

/* RFC 6265bis §5.7: what only https may set, and what the prefixes promise. */
static bool is_secure_enough(const struct jar *jar, const struct fields *f, bool https)
{
    if (f->secure && !https)
        return false;
    if (!f->secure && has_prefix(f->name, STR("__Secure-")))
        return false;
    if (has_prefix(f->name, STR("__Host-")) &&
        !(f->secure && !f->has_domain && f->has_path && f->path.n == 1))
        return false;
    if (https)
        return true;
    for (const struct cookie *c = jar->cookies; c; c = c->next)
        if (c->secure && str_eq(cookie_name(c), f->name) &&
            (domain_matches(cookie_domain(c), f->domain) ||
             domain_matches(f->domain, cookie_domain(c))) &&
            path_matches(f->path, cookie_path(c)))
            return false;
    return true;
}

static struct cookie **find_same(struct jar *jar, const struct fields *f)
{
    struct cookie **link = &jar->cookies;

    for (; *link; link = &(*link)->next)
        if (str_eq(cookie_name(*link), f->name) && str_eq(cookie_domain(*link), f->domain) &&
            str_eq(cookie_path(*link), f->path))
            break;
    return link;
}

static char *put(char *at, struct str s)
{
    if (s.n > 0)
        memcpy(at, s.p, s.n);
    return at + s.n;
}

static struct cookie *make_cookie(struct blocks *blocks, const struct fields *f)
{
    size_t pair_n = f->name.n + 1 + f->value.n;
    size_t cap, size = sizeof(struct cookie) + pair_n + f->domain.n + f->path.n;
    struct cookie *cookie;

    if (blocks) {
        cookie = block_get(blocks, size, &cap);
    } else {
        cookie = xmalloc(size);
        cap = size;
    }
    *cookie = (struct cookie){
        .cap = cap,
        .expires_s = f->expires_s,
        .name_n = f->name.n,
        .pair_n = pair_n,
        .domain_n = f->domain.n,
        .path_n = f->path.n,
        .secure = f->secure,
        .host_only = f->host_only,
    };
    char *at = put(cookie->text, f->name);
    at = put(at, STR("="));
    at = put(at, f->value);
    at = put(at, f->domain);
    put(at, f->path);
    return cookie;
}

static void insert(struct jar *jar, struct cookie *cookie)
{
    struct cookie **link = &jar->cookies;

    while (*link && ((*link)->path_n > cookie->path_n ||
                     ((*link)->path_n == cookie->path_n && (*link)->created < cookie->created)))
        link = &(*link)->next;
    cookie->next = *link;
    *link = cookie;
    jar->count++;
}

bool jar_set(struct jar *jar, struct str set_cookie, const struct cookie_place *from, int64_t now_s)
{
    struct fields f;

    if (jar->from_this_response >= COOKIES_PER_RESPONSE || !read_fields(&f, set_cookie, now_s) ||
        !resolve_domain(&f, from->host))
        return false;
    if (!f.has_path)
        f.path = default_path(from->path);
    if (f.path.n > COOKIE_ATTRIBUTE_MAX || !is_secure_enough(jar, &f, from->https))
        return false;

    struct cookie **same = find_same(jar, &f);
    bool expired = f.expires_s <= now_s;
    uint64_t created = ++jar->stamp;
    if (*same) {
        /* An expired one is as good as gone already: it does not lend its age. */
        if ((*same)->expires_s > now_s)
            created = (*same)->created;
        drop(jar, same);
    } else if (expired) {
        return false;
    }
    jar->from_this_response++;
    if (expired)
        return true;
    if (jar->count == COOKIES_PER_JAR)
        drop_expired(jar, now_s);
    if (jar->count == COOKIES_PER_JAR)
        drop_oldest(jar);
    struct cookie *cookie = make_cookie(jar->blocks, &f);
    cookie->created = created;
    cookie->set = jar->stamp;
    insert(jar, cookie);
    return true;
}

static bool belongs(const struct cookie *cookie, const struct cookie_place *to)
{
    if (cookie->secure && !to->https)
        return false;
    if (cookie->host_only ? !str_eq(to->host, cookie_domain(cookie))
                          : !domain_matches(to->host, cookie_domain(cookie)))
        return false;
    return path_matches(to->path, cookie_path(cookie));
}

unsigned jar_header(struct jar *jar, const struct cookie_place *to, int64_t now_s, struct buf *out)
{
    size_t start = out->n;
    unsigned n = 0;

    drop_expired(jar, now_s);
    for (const struct cookie *cookie = jar->cookies; cookie; cookie = cookie->next) {
        struct str separator = n > 0 ? STR("; ") : STR("");
        size_t size = separator.n + cookie->pair_n;
        if (!belongs(cookie, to) || out->n - start + size > COOKIE_HEADER_MAX)
            continue;
        if (!buf_reserve(out, size))
            break;
        buf_add_str(out, separator);
        buf_add_str(out, cookie_pair(cookie));
        n++;
    }
    return n;
}

bool jar_find(const struct jar *jar, struct str name, struct str *value)
{
    const struct cookie *newest = NULL;

    for (const struct cookie *cookie = jar->cookies; cookie; cookie = cookie->next)
        if (str_eq(cookie_name(cookie), name) && (!newest || cookie->set > newest->set))
            newest = cookie;
    if (newest)
        *value = cookie_value(newest);
    return newest != NULL;
}

/* The jar's cookies as they were first set; of those with one name only the first. */
static unsigned list_names(const struct jar *jar, struct str names[COOKIES_PER_JAR])
{
    const struct cookie *sorted[COOKIES_PER_JAR];
    unsigned n = 0, unique = 0;

    for (const struct cookie *cookie = jar->cookies; cookie; cookie = cookie->next) {
        unsigned at = n++;
        for (; at > 0 && sorted[at - 1]->created > cookie->created; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = cookie;
    }
    for (unsigned i = 0; i < n; i++) {
        unsigned seen = 0;
        while (seen < unique && !str_eq(names[seen], cookie_name(sorted[i])))
            seen++;
        if (seen == unique)
            names[unique++] = cookie_name(sorted[i]);
    }
    return unique;
}

void jar_json(const struct jar *jar, struct buf *out)
{
    struct str names[COOKIES_PER_JAR], value;
    unsigned n = list_names(jar, names);

    buf_add_char(out, '{');
    for (unsigned i = 0; i < n; i++) {
        if (i > 0)
            buf_add_char(out, ',');
        json_quote(out, names[i]);
        buf_add_char(out, ':');
        if (jar_find(jar, names[i], &value))
            json_quote(out, value);
    }
    buf_add_char(out, '}');
}
