#include "base/str.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

int str_cmp(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n ? memcmp(a.p, b.p, n) : 0;

    if (order)
        return order;
    return (a.n > b.n) - (a.n < b.n);
}

static unsigned char to_lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

bool str_eq_nocase(struct str a, struct str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++) {
        if (to_lower(a.p[i]) != to_lower(b.p[i]))
            return false;
    }
    return true;
}

bool str_starts(struct str s, struct str prefix)
{
    return s.n >= prefix.n && str_eq((struct str){s.p, prefix.n}, prefix);
}

bool str_ends(struct str s, struct str suffix)
{
    return s.n >= suffix.n && str_eq(str_skip(s, s.n - suffix.n), suffix);
}

size_t str_find(struct str s, char c)
{
    const char *at = s.n ? memchr(s.p, c, s.n) : NULL;

    return at ? (size_t)(at - s.p) : s.n;
}

struct str str_skip(struct str s, size_t n)
{
    if (n == 0)
        return s;
    if (n > s.n)
        n = s.n;
    return (struct str){s.p + n, s.n - n};
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct str str_trim(struct str s)
{
    while (s.n && is_blank(s.p[s.n - 1]))
        s.n--;
    while (s.n && is_blank(*s.p)) {
        s.p++;
        s.n--;
    }
    return s;
}

bool str_to_u64(struct str s, uint64_t *out)
{
    uint64_t value = 0;

    if (s.n == 0)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        unsigned digit = (unsigned)(unsigned char)s.p[i] - '0';

        if (digit > 9 || __builtin_mul_overflow(value, 10U, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *out = value;
    return true;
}

bool str_to_i64(struct str s, int64_t *out)
{
    bool negative = s.n && *s.p == '-';
    uint64_t size;

    if (s.n && (*s.p == '-' || *s.p == '+'))
        s = str_skip(s, 1);
    if (!str_to_u64(s, &size) || size > (uint64_t)INT64_MAX + negative)
        return false;
    *out = (int64_t)(negative ? -size : size);
    return true;
}

static size_t skip_digits(struct str s, size_t at)
{
    while (at < s.n && s.p[at] >= '0' && s.p[at] <= '9')
        at++;
    return at;
}

/* What strtod takes beyond this (hex, inf, nan, blanks) is no number here. */
static bool is_decimal(struct str s)
{
    size_t at = s.n && (*s.p == '-' || *s.p == '+');
    size_t end = skip_digits(s, at);
    size_t digits = end - at;

    at = end;
    if (at < s.n && s.p[at] == '.') {
        end = skip_digits(s, at + 1);
        digits += end - at - 1;
        at = end;
    }
    if (digits == 0)
        return false;
    if (at < s.n && (s.p[at] == 'e' || s.p[at] == 'E')) {
        at++;
        if (at < s.n && (s.p[at] == '-' || s.p[at] == '+'))
            at++;
        end = skip_digits(s, at);
        if (end == at)
            return false;
        at = end;
    }
    return at == s.n;
}

bool str_to_double(struct str s, double *out)
{
    char small[64];
    char *text = small;
    locale_t c_locale;
    double value;

    if (!is_decimal(s))
        return false;
    if (s.n >= sizeof(small)) {
        text = xstrndup(s.p, s.n);
    } else {
        memcpy(small, s.p, s.n);
        small[s.n] = '\0';
    }
    /* The C locale is a constant of the C library: this allocates nothing. */
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    value = strtod_l(text, NULL, c_locale);
    freelocale(c_locale);
    if (text != small)
        free(text);
    if (!isfinite(value))
        return false;
    *out = value;
    return true;
}
