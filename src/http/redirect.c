#include "http/redirect.h"

#include "http/auth.h"

bool redirect_status(unsigned status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool redirect_drops_body(unsigned status, struct str method)
{
    if (status == 303) {
        return !str_eq(method, STR("HEAD"));
    }
    return (status == 301 || status == 302) && str_eq(method, STR("POST"));
}

static bool one_of(struct str name, const char *const *names)
{
    for (; *names; names++) {
        if (str_eq_nocase(name, str_of(*names))) {
            return true;
        }
    }
    return false;
}

static bool goes_along(struct str name, bool same_origin, bool drop_body)
{
    static const char *const of_body[] = {"content-length",
                                          "content-type",
                                          "content-encoding",
                                          "content-language",
                                          "content-location",
                                          "transfer-encoding",
                                          NULL};
    static const char *const of_origin[] = {"host", "authorization", "cookie",
                                            "proxy-authorization", NULL};
    return !(drop_body && one_of(name, of_body)) && !(!same_origin && one_of(name, of_origin));
}

void redirect_head(struct str from, const struct url *to, struct str method, struct str authority,
                   bool same_origin, bool drop_body, struct buf *out, struct str *target)
{
    buf_add_str(out, method);
    buf_add_char(out, ' ');
    size_t at = out->n;
    buf_add_str(out, to->target);
    buf_add_str(out, STR(" HTTP/1.1\r\n"));
    if (!same_origin) {
        buf_add_str(out, STR("Host: "));
        buf_add_str(out, authority);
        buf_add_str(out, STR("\r\n"));
        size_t line = out->n;
        buf_add_str(out, STR("Authorization: "));
        if (auth_basic(to, out)) {
            buf_add_str(out, STR("\r\n"));
        } else {
            out->n = line;
        }
    }
    struct str rest = str_skip(from, str_find(from, '\n') + 1);
    while (rest.n) {
        struct str line = {rest.p, str_find(rest, '\n') + 1};
        struct str name = {line.p, str_find(line, ':')};
        if (name.n >= line.n || goes_along(name, same_origin, drop_body)) {
            buf_add_str(out, line);
        }
        rest = str_skip(rest, line.n);
    }
    *target = (struct str){out->p + at, to->target.n};
}
