#include "base/url.h"

static bool is_dropped(char c)
{
    return c == '\t' || c == '\r' || c == '\n';
}

static bool is_scheme(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '+' ||
           c == '-' || c == '.';
}

/* The length of "http://" or what a URL parser takes for it, or of a misspelt one; 0 if there is
 * none. */
static size_t scheme_length(struct str s)
{
    size_t at = 0, n = 0;

    while (at < s.n && (unsigned char)s.p[at] <= ' ')
        at++;
    for (; at < s.n && s.p[at] != ':'; at++) {
        if (is_dropped(s.p[at]))
            continue;
        if (!is_scheme(s.p[at]))
            return 0;
        n++;
    }
    if (at == s.n || n == 0)
        return 0;
    at++;
    while (at < s.n && (s.p[at] == '/' || s.p[at] == '\\' || is_dropped(s.p[at])))
        at++;
    return at;
}

bool url_hide_credentials(struct str url, struct buf *out)
{
    size_t start = scheme_length(url), at_sign = start;
    for (size_t i = start; start && i < url.n && !memchr("/\\?#", url.p[i], 4); i++) {
        if (url.p[i] == '@') {
            at_sign = i;
        }
    }
    if (at_sign > start) {
        buf_add(out, url.p, start);
        buf_add_str(out, STR("***"));
        url = str_skip(url, at_sign);
    }
    return buf_add_str(out, url);
}
