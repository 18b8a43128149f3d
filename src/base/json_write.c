#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json_scan.h"
#include "base/text.h"

/* A character that must not stand in a string as it is. */
static bool add_escape(struct buf *out, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    static const char letters[] = "\"\"\\\\\bb\ff\nn\rr\tt";

    for (const char *pair = letters; *pair; pair += 2) {
        if ((unsigned char)*pair == c)
            return buf_add(out, (char[]){'\\', pair[1]}, 2);
    }
    return buf_add(out, (char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6);
}

bool json_quote(struct buf *out, struct str s)
{
    const char *p = s.p;
    const char *end = p + s.n;
    size_t start = out->n;
    bool ok = buf_add_char(out, '"');

    while (p < end && ok) {
        const char *plain = p;

        p = json_scan_plain(p, end);
        ok = buf_add(out, plain, (size_t)(p - plain));
        if (p == end || !ok)
            break;
        if (!((unsigned char)*p & 0x80)) {
            ok = add_escape(out, (unsigned char)*p++);
        } else {
            size_t len;
            uint32_t code = utf8_decode((struct str){p, (size_t)(end - p)}, &len);

            ok = utf8_encode(out, code); /* what is no UTF-8 becomes U+FFFD */
            p += len;
        }
    }
    ok = ok && buf_add_char(out, '"');
    if (!ok)
        out->n = start;
    return ok;
}

bool json_number(struct buf *out, double value)
{
    char text[32];
    int n = 0;

    if (!isfinite(value))
        return buf_add_str(out, STR("null"));
    /* Fifteen digits are always kept (but by subnormal numbers), and %g drops what is zero of them;
     * seventeen always suffice. */
    for (int digits = fpclassify(value) == FP_SUBNORMAL ? 1 : 15; digits <= 17; digits++) {
        n = snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return buf_add(out, text, (size_t)n);
}
