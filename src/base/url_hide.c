#include "base/url.h"

static size_t skip_any(struct str s, size_t at, const char *these)
{
    while (at < s.n && s.p[at] && strchr(these, s.p[at])) {
        at++;
    }
    return at;
}

/* The length of "http://" or what a URL parser takes for it; 0 if there is none. */
static size_t scheme_length(struct str s)
{
    size_t colon = str_find(s, ':');
    struct str scheme = str_trim((struct str){s.p, colon});
    if (colon == s.n ||
        !(str_eq_nocase(scheme, STR("http")) || str_eq_nocase(scheme, STR("https")))) {
        return 0;
    }
    return skip_any(s, colon + 1, "/\\\t\r\n");
}

bool url_hide_credentials(struct str url, struct buf *out)
{
    size_t start = scheme_length(url), at_sign = start;
    for (size_t i = start; start && i < url.n && !strchr("/\\?#", url.p[i]); i++) {
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
