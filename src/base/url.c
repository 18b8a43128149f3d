#include "base/url.h"

#include "base/url_host.h"

/* What a byte is to the parser: the parts of a URL in which it is percent-encoded (the standard's
 * percent-encode sets), dropped wherever it stands, or a separator of path segments. */
enum { FRAGMENT = 1, QUERY = 2, PATH = 4, USER = 8, DROP = 16, SLASH = 32 };
#define ANYWHERE (FRAGMENT | QUERY | PATH | USER)

static const uint8_t class_of[256] = {
    [0x00 ... 0x08] = ANYWHERE,
    ['\t'] = ANYWHERE | DROP,
    ['\n'] = ANYWHERE | DROP,
    [0x0b ... 0x0c] = ANYWHERE,
    ['\r'] = ANYWHERE | DROP,
    [0x0e ... 0x20] = ANYWHERE,
    ['"'] = ANYWHERE,
    ['#'] = QUERY | PATH | USER,
    ['\''] = QUERY,
    ['/'] = USER | SLASH,
    [':'] = USER,
    [';'] = USER,
    ['<'] = ANYWHERE,
    ['='] = USER,
    ['>'] = ANYWHERE,
    ['?'] = PATH | USER,
    ['@'] = USER,
    ['['] = USER,
    ['\\'] = USER | SLASH,
    [']'] = USER,
    ['^'] = PATH | USER,
    ['`'] = FRAGMENT | PATH | USER,
    ['{'] = PATH | USER,
    ['|'] = USER,
    ['}'] = PATH | USER,
    [0x7f ... 0xff] = ANYWHERE,
};

static bool is(char c, unsigned classes)
{
    return (class_of[(unsigned char)c] & classes) != 0;
}

static struct str head(struct str s, size_t n)
{
    return (struct str){s.p, n};
}

/* Appends s, what is in the set percent-encoded; the runs between are copied. */
static void add_encoded(struct buf *out, struct str s, unsigned set)
{
    size_t run = 0;

    for (size_t i = 0; i < s.n; i++) {
        if (!is(s.p[i], set))
            continue;
        unsigned char c = (unsigned char)s.p[i];
        char code[3] = {'%', "0123456789ABCDEF"[c >> 4], "0123456789ABCDEF"[c & 15]};
        buf_add(out, s.p + run, i - run);
        run = i + 1;
        if (!is(s.p[i], DROP))
            buf_add(out, code, sizeof(code));
    }
    buf_add_str(out, str_skip(s, run));
}

/* 1 for ".", 2 for "..", 0 for any other segment; "%2e" is a dot. */
static unsigned count_dots(struct str segment)
{
    unsigned dots = 0;

    while (segment.n > 0) {
        struct str s = segment;
        if (s.p[0] == '.')
            segment = str_skip(s, 1);
        else if (s.n >= 3 && s.p[0] == '%' && s.p[1] == '2' && (s.p[2] | 0x20) == 'e')
            segment = str_skip(s, 3);
        else
            return 0;
        if (++dots > 2)
            return 0;
    }
    return dots;
}

/* Takes the last segment away from the path that begins at `path`. */
static void shorten(struct buf *out, size_t path)
{
    while (out->n > path)
        if (out->p[--out->n] == '/')
            return;
}

/* Appends s, segments without a slash before the first, to the path that begins at `path`. A
 * segment is looked at as it is written: what is dropped can make a dot segment of it. */
static void add_segments(struct buf *out, size_t path, struct str s)
{
    bool last = false;

    while (!last) {
        size_t n = 0, start = out->n;
        while (n < s.n && !is(s.p[n], SLASH))
            n++;
        last = n == s.n;
        buf_add_char(out, '/');
        add_encoded(out, head(s, n), PATH);
        if (out->full)
            return;
        unsigned dots = count_dots(buf_str_from(out, start + 1));
        if (dots) {
            out->n = start;
            if (dots == 2)
                shorten(out, path);
            if (last)
                buf_add_char(out, '/');
        }
        s = str_skip(s, n + 1);
    }
}

/* The length of the part of s before a '?' or '#'. */
static size_t find_path_end(struct str s)
{
    size_t n = 0;

    while (n < s.n && s.p[n] != '?' && s.p[n] != '#')
        n++;
    return n;
}

static struct str trim_end(struct str s)
{
    while (s.n > 0 && (unsigned char)s.p[s.n - 1] <= ' ')
        s.n--;
    return s;
}

/* How much of s can be copied as the request target; 0 if something has to be changed first. */
static size_t count_plain(struct str s)
{
    size_t i = 0;

    for (; i < s.n; i++) {
        if (!is(s.p[i], PATH | SLASH))
            continue;
        if (s.p[i] != '/')
            break;
        if (i + 1 < s.n && (s.p[i + 1] == '.' || s.p[i + 1] == '%'))
            return 0;
    }
    if (i < s.n && s.p[i] == '?')
        do
            i++;
        while (i < s.n && !is(s.p[i], QUERY));
    return i == s.n || s.p[i] == '#' ? i : 0;
}

bool url_target(struct str text, struct buf *out)
{
    size_t start = out->n;

    if (text.n == 0 || !is(text.p[0], SLASH))
        return false;
    size_t plain = count_plain(text);
    if (plain > 0)
        return buf_add(out, text.p, plain);
    text = trim_end(text);
    size_t path = find_path_end(text);
    add_segments(out, start, str_skip(head(text, path), 1));
    text = str_skip(text, path);
    add_encoded(out, head(text, str_find(text, '#')), QUERY);
    if (out->full)
        out->n = start;
    return !out->full;
}

bool url_decode(struct str s, struct buf *out)
{
    size_t start = out->n, run = 0;

    for (size_t i = 0; i + 2 < s.n; i++) {
        unsigned high = url_digit(s.p[i + 1]), low = url_digit(s.p[i + 2]);
        if (s.p[i] != '%' || high > 15 || low > 15)
            continue;
        buf_add(out, s.p + run, i - run);
        buf_add_char(out, (char)(high << 4 | low));
        i += 2;
        run = i + 1;
    }
    buf_add_str(out, str_skip(s, run));
    if (out->full)
        out->n = start;
    return !out->full;
}

enum scheme { SCHEME_NONE, SCHEME_HTTP, SCHEME_HTTPS, SCHEME_OTHER };

/* Takes the scheme and its colon off the front of *text, if there is one. */
static enum scheme take_scheme(struct str *text)
{
    size_t n = 0;

    for (; n < text->n && text->p[n] != ':'; n++) {
        char c = text->p[n], lower = (char)(c | 0x20);
        bool letter = lower >= 'a' && lower <= 'z';
        bool other = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
        if (!letter && !(other && n > 0))
            return SCHEME_NONE;
    }
    if (n == 0 || n == text->n)
        return SCHEME_NONE;
    struct str name = head(*text, n);
    *text = str_skip(*text, n + 1);
    if (str_eq_nocase(name, STR("http")))
        return SCHEME_HTTP;
    return str_eq_nocase(name, STR("https")) ? SCHEME_HTTPS : SCHEME_OTHER;
}

/* Where the parts of the URL lie in the buffer that it is written to. */
struct layout {
    bool https, port_given, has_fragment;
    uint16_t port;
    size_t user, user_end, password, password_end, host, host_end, path, path_end, target_end;
};

/* The credentials are encoded already if set is 0. */
static void add_credentials(struct buf *out, struct layout *at, struct str user,
                            struct str password, unsigned set)
{
    buf_add_str(out, at->https ? STR("https://") : STR("http://"));
    at->user = out->n;
    add_encoded(out, user, set);
    at->user_end = at->password = at->password_end = out->n;
    if (password.n > 0) {
        buf_add_char(out, ':');
        at->password = out->n;
        add_encoded(out, password, set);
        at->password_end = out->n;
    }
    if (out->n > at->user)
        buf_add_char(out, '@');
    at->host = out->n;
}

static void add_port(struct buf *out, struct layout *at, uint16_t port)
{
    at->host_end = out->n;
    at->port = port;
    at->port_given = port != (at->https ? 443 : 80);
    if (at->port_given) {
        buf_add_char(out, ':');
        buf_add_u64(out, port);
    }
    at->path = out->n;
}

/* Where the port's colon is, or text.n. Those of an IPv6 address are in brackets. */
static size_t find_port(struct str text)
{
    bool inside = false;

    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '[')
            inside = true;
        else if (text.p[i] == ']')
            inside = false;
        else if (text.p[i] == ':' && !inside)
            return i;
    }
    return text.n;
}

static enum url_result add_authority(struct buf *out, struct layout *at, struct str text)
{
    struct str user = {text.p, 0}, password = user;
    const char *sign = text.n ? memrchr(text.p, '@', text.n) : NULL;
    uint64_t port = at->https ? 443 : 80;

    if (sign) {
        struct str both = head(text, (size_t)(sign - text.p));
        user = head(both, str_find(both, ':'));
        password = str_skip(both, user.n + 1);
        text = str_skip(text, both.n + 1);
    }
    add_credentials(out, at, user, password, USER);
    size_t colon = find_port(text);
    if (!url_host(head(text, colon), out))
        return URL_BAD_HOST;
    text = str_skip(text, colon + 1);
    if (text.n > 0 && (!str_to_u64(text, &port) || port > UINT16_MAX))
        return URL_BAD_PORT;
    add_port(out, at, (uint16_t)port);
    return URL_OK;
}

/* The path of text, a reference that does not begin with two slashes, and if it has none that of
 * base; the query of base stays only if nothing replaces it. */
static void add_relative_path(struct buf *out, struct layout *at, const struct url *base,
                              struct str text)
{
    size_t n = find_path_end(text);

    if (n > 0 && is(text.p[0], SLASH)) {
        add_segments(out, at->path, str_skip(head(text, n), 1));
        at->path_end = out->n;
        return;
    }
    buf_add_str(out, base->path);
    if (n > 0) {
        shorten(out, at->path);
        add_segments(out, at->path, head(text, n));
    }
    at->path_end = out->n;
    if (text.n == 0 || text.p[0] == '#')
        buf_add_str(out, str_skip(base->target, base->path.n));
}

/* text begins behind the slashes, with an authority. */
static enum url_result add_absolute(struct buf *out, struct layout *at, struct str text)
{
    size_t path_end = find_path_end(text), n = 0;

    while (n < path_end && !is(text.p[n], SLASH))
        n++;
    enum url_result result = add_authority(out, at, head(text, n));
    if (result != URL_OK)
        return result;
    add_segments(out, at->path, str_skip(head(text, path_end), n + 1));
    at->path_end = out->n;
    return URL_OK;
}

static enum url_result write_url(struct buf *out, struct layout *at, const struct url *base,
                                 struct str text)
{
    enum scheme scheme = take_scheme(&text);
    enum url_result result = URL_OK;
    size_t slashes = 0;

    if (scheme == SCHEME_OTHER)
        return URL_BAD_SCHEME;
    if (scheme == SCHEME_NONE && !base)
        return URL_NO_SCHEME;
    at->https = scheme == SCHEME_NONE ? base->https : scheme == SCHEME_HTTPS;
    while (slashes < text.n && is(text.p[slashes], SLASH))
        slashes++;
    if (slashes < 2 && base && base->https == at->https) {
        add_credentials(out, at, base->username, base->password, 0);
        buf_add_str(out, base->host);
        add_port(out, at, base->port);
        add_relative_path(out, at, base, text);
    } else {
        text = str_skip(text, slashes);
        result = add_absolute(out, at, text);
    }
    text = str_skip(text, find_path_end(text));
    size_t query_end = str_find(text, '#');
    add_encoded(out, head(text, query_end), QUERY);
    at->target_end = out->n;
    at->has_fragment = query_end < text.n;
    add_encoded(out, str_skip(text, query_end), FRAGMENT);
    return result;
}

static void take_slices(struct url *url, const struct buf *out, const struct layout *at)
{
    const char *p = out->p;

    *url = (struct url){
        .href = buf_str(out),
        .https = at->https,
        .username = {p + at->user, at->user_end - at->user},
        .password = {p + at->password, at->password_end - at->password},
        .host = {p + at->host, at->host_end - at->host},
        .port = at->port,
        .port_given = at->port_given,
        .target = {p + at->path, at->target_end - at->path},
        .path = {p + at->path, at->path_end - at->path},
        .fragment = str_skip(buf_str_from(out, at->target_end), 1),
        .has_fragment = at->has_fragment,
    };
}

/* Is there a tab or newline in s? They are dropped wherever they stand. */
static bool has_drops(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (is(s.p[i], DROP))
            return true;
    return false;
}

enum url_result url_parse(struct str text, const struct url *base, struct buf *out, struct url *url)
{
    struct layout at = {0};
    struct buf clean;

    if (text.n > URL_MAX)
        return URL_TOO_LONG;
    text = trim_end(text);
    while (text.n > 0 && (unsigned char)text.p[0] <= ' ')
        text = str_skip(text, 1);
    buf_init(&clean, URL_MAX);
    if (has_drops(text)) {
        for (size_t i = 0; i < text.n; i++)
            if (!is(text.p[i], DROP))
                buf_add_char(&clean, text.p[i]);
        text = buf_str(&clean);
    }
    buf_reset(out);
    enum url_result result = write_url(out, &at, base, text);
    if (out->full)
        result = URL_TOO_LONG;
    if (result == URL_OK)
        take_slices(url, out, &at);
    buf_fini(&clean);
    return result;
}

const char *url_result_text(enum url_result result)
{
    switch (result) {
    case URL_OK:
        return "the URL is well-formed";
    case URL_NO_SCHEME:
        return "the URL must begin with http:// or https://";
    case URL_BAD_SCHEME:
        return "the scheme must be http or https";
    case URL_BAD_HOST:
        return "the host is missing or not well-formed";
    case URL_BAD_PORT:
        return "the port must be a number from 0 to 65535";
    case URL_TOO_LONG:
        return "the URL is too long";
    }
    return "";
}
