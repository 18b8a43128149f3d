#include "base/url_host.h"

#include <arpa/inet.h>

#include "base/idn.h"
#include "base/url.h"

/* Saturates here: a value that is too large for any place in an address. */
#define NUMBER_MAX (UINT64_C(1) << 40)

/* Decimal, octal with a leading 0, hexadecimal with a leading 0x ("0x" alone is 0). */
static bool ipv4_number(struct str s, uint64_t *out)
{
    unsigned radix = 10;
    uint64_t value = 0;

    if (s.n == 0)
        return false;
    if (s.n >= 2 && s.p[0] == '0') {
        bool hex = (s.p[1] | 0x20) == 'x';
        radix = hex ? 16 : 8;
        s = str_skip(s, hex ? 2 : 1);
    }
    for (size_t i = 0; i < s.n; i++) {
        unsigned digit = url_digit(s.p[i]);
        if (digit >= radix)
            return false;
        value = value * radix + digit;
        if (value > NUMBER_MAX)
            value = NUMBER_MAX;
    }
    *out = value;
    return true;
}

static struct str without_last_dot(struct str host)
{
    if (host.n > 1 && host.p[host.n - 1] == '.')
        host.n--;
    return host;
}

/* Only an IPv4 address may end in a number: "a.b.7" is refused, not looked up. */
static bool ends_in_number(struct str host)
{
    uint64_t value;

    host = without_last_dot(host);
    size_t at = host.n;
    bool digits = at > 0;
    while (at > 0 && host.p[at - 1] != '.') {
        at--;
        digits = digits && host.p[at] >= '0' && host.p[at] <= '9';
    }
    struct str last = str_skip(host, at);
    return last.n > 0 && (digits || ipv4_number(last, &value));
}

static bool ipv4_parse(struct str host, uint32_t *out)
{
    uint64_t part[4];
    unsigned n = 0;
    uint32_t address = 0;
    bool more = true;

    host = without_last_dot(host);
    while (more) {
        size_t dot = str_find(host, '.');
        more = dot < host.n;
        if (n == 4 || !ipv4_number((struct str){host.p, dot}, &part[n++]))
            return false;
        host = str_skip(host, dot + 1);
    }
    for (unsigned i = 0; i + 1 < n; i++) {
        if (part[i] > 255)
            return false;
        address |= (uint32_t)part[i] << (24 - 8 * i);
    }
    /* The last number fills all the places that are left. */
    if (part[n - 1] >= UINT64_C(1) << (8 * (5 - n)))
        return false;
    *out = address | (uint32_t)part[n - 1];
    return true;
}

static bool add_ipv4(struct buf *out, uint32_t address)
{
    for (unsigned shift = 32; shift > 0;) {
        shift -= 8;
        buf_add_u64(out, address >> shift & 0xff);
        if (shift > 0)
            buf_add_char(out, '.');
    }
    return !out->full;
}

static void add_hex(struct buf *out, unsigned value)
{
    unsigned shift = 12;

    while (shift > 0 && value >> shift == 0)
        shift -= 4;
    for (;; shift -= 4) {
        buf_add_char(out, "0123456789abcdef"[value >> shift & 0xf]);
        if (shift == 0)
            return;
    }
}

/* RFC 5952: the first of the longest runs of zeros, if longer than one, becomes "::". Unlike
 * inet_ntop, never with an IPv4 address inside. */
static bool add_ipv6(struct buf *out, const unsigned piece[8])
{
    unsigned best = 8, best_n = 1;

    for (unsigned i = 0; i < 8;) {
        unsigned end = i;
        while (end < 8 && piece[end] == 0)
            end++;
        if (end - i > best_n) {
            best = i;
            best_n = end - i;
        }
        i = end > i ? end : i + 1;
    }
    buf_add_char(out, '[');
    for (unsigned i = 0; i < 8;) {
        if (i == best) {
            buf_add_str(out, i == 0 ? STR("::") : STR(":"));
            i += best_n;
            continue;
        }
        add_hex(out, piece[i]);
        if (++i < 8)
            buf_add_char(out, ':');
    }
    return buf_add_char(out, ']') && !out->full;
}

static bool host_ipv6(struct str text, struct buf *out)
{
    char copy[INET6_ADDRSTRLEN];
    struct in6_addr address;
    unsigned piece[8];

    if (text.n >= sizeof(copy) || memchr(text.p, '\0', text.n))
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    if (inet_pton(AF_INET6, copy, &address) != 1)
        return false;
    for (unsigned i = 0; i < 8; i++)
        piece[i] = (unsigned)address.s6_addr[2 * i] << 8 | address.s6_addr[2 * i + 1];
    return add_ipv6(out, piece);
}

/* The host that begins at start, percent-decoded, in lower case and ASCII. */
static bool to_ascii(struct buf *out, size_t start)
{
    char copy[IDN_MAX];
    bool ascii = true;
    size_t n = out->n - start;

    for (size_t i = start; i < out->n; i++) {
        char c = out->p[i];
        if (c >= 'A' && c <= 'Z')
            out->p[i] = (char)(c | 0x20);
        ascii = ascii && (unsigned char)c < 0x80;
    }
    if (ascii)
        return true;
    if (n > sizeof(copy))
        return false;
    memcpy(copy, out->p + start, n);
    out->n = start;
    return idn_to_ascii((struct str){copy, n}, out);
}

/* The standard's forbidden domain code points. */
static bool is_forbidden(char c)
{
    return (unsigned char)c <= ' ' || c == 0x7f || memchr("#%/:<>?@[\\]^|", c, 13) != NULL;
}

static bool host_name(struct str text, struct buf *out, size_t start)
{
    uint32_t address;

    if (!url_decode(text, out) || !to_ascii(out, start))
        return false;
    struct str host = buf_str_from(out, start);
    if (host.n == 0)
        return false;
    for (size_t i = 0; i < host.n; i++)
        if (is_forbidden(host.p[i]))
            return false;
    if (!ends_in_number(host))
        return true;
    if (!ipv4_parse(host, &address))
        return false;
    out->n = start;
    return add_ipv4(out, address);
}

bool url_host(struct str text, struct buf *out)
{
    size_t start = out->n;
    bool ok;

    if (text.n >= 2 && text.p[0] == '[' && text.p[text.n - 1] == ']')
        ok = host_ipv6((struct str){text.p + 1, text.n - 2}, out);
    else
        ok = host_name(text, out, start);
    if (!ok)
        out->n = start;
    return ok;
}
