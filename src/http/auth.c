#include "http/auth.h"

static void base64(struct str s, struct buf *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)s.p;
    for (size_t i = 0; i < s.n; i += 3) {
        size_t left = s.n - i;
        unsigned bits = (unsigned)p[i] << 16 | (left > 1 ? (unsigned)p[i + 1] << 8 : 0) |
                        (left > 2 ? p[i + 2] : 0);
        buf_add_char(out, digits[bits >> 18]);
        buf_add_char(out, digits[bits >> 12 & 63]);
        buf_add_char(out, left > 1 ? digits[bits >> 6 & 63] : '=');
        buf_add_char(out, left > 2 ? digits[bits & 63] : '=');
    }
}

bool auth_basic(const struct url *url, struct buf *out)
{
    if (url->username.n + url->password.n == 0) {
        return false;
    }
    struct buf plain;
    buf_init(&plain, 3 * URL_MAX);
    url_decode(url->username, &plain);
    buf_add_char(&plain, ':');
    url_decode(url->password, &plain);
    buf_add_str(out, STR("Basic "));
    base64(buf_str(&plain), out);
    buf_fini(&plain);
    return true;
}
