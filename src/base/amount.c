#include "base/amount.h"

#include <stddef.h>

#include "base/clock.h"

struct unit {
    struct str name;
    uint64_t size;
};

static const struct unit time_units[] = {
    {{"h", 1}, 3600 * NS_PER_S},
    {{"m", 1}, 60 * NS_PER_S},
    {{"s", 1}, NS_PER_S},
    {{"ms", 2}, NS_PER_MS},
};

static const struct unit size_units[] = {
    {{"k", 1}, 1ULL << 10},   {{"m", 1}, 1ULL << 20},   {{"g", 1}, 1ULL << 30},
    {{"kib", 3}, 1ULL << 10}, {{"mib", 3}, 1ULL << 20}, {{"gib", 3}, 1ULL << 30},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* How many bytes of s are digits, with one decimal point among them if `point`. */
static size_t number_length(struct str s, bool point)
{
    size_t n = 0;

    while (n < s.n && (is_digit(s.p[n]) || (point && s.p[n] == '.'))) {
        if (s.p[n] == '.')
            point = false;
        n++;
    }
    return n;
}

uint64_t amount_of_seconds(double seconds)
{
    double ns = seconds * (double)NS_PER_S;

    return ns >= (double)AMOUNT_MAX_NS ? AMOUNT_MAX_NS : (uint64_t)(ns + 0.5);
}

/* Takes "30s" off the front of *text; *unit becomes the index of its unit, which must lie behind
 * the one before. */
static bool take_part(struct str *text, size_t *unit, double *ns)
{
    struct str digits = {text->p, number_length(*text, true)};
    struct str rest = str_skip(*text, digits.n);
    struct str name = {rest.p, 0};
    double value;

    while (name.n < rest.n && !is_digit(rest.p[name.n]) && rest.p[name.n] != '.')
        name.n++;
    if (!str_to_double(digits, &value))
        return false;
    while (*unit < COUNT(time_units) && !str_eq(name, time_units[*unit].name))
        ++*unit;
    if (*unit == COUNT(time_units))
        return false;
    *ns += value * (double)time_units[*unit].size;
    ++*unit;
    *text = str_skip(rest, name.n);
    return true;
}

bool amount_duration_or_zero(struct str text, uint64_t *ns)
{
    double sum = 0;

    if (text.n && number_length(text, true) == text.n) {
        if (!str_to_double(text, &sum))
            return false;
        sum *= (double)NS_PER_S;
    } else {
        size_t unit = 0;

        do {
            if (!take_part(&text, &unit, &sum))
                return false;
        } while (text.n);
    }
    if (sum > (double)AMOUNT_MAX_NS)
        return false;
    *ns = (uint64_t)(sum + 0.5);
    return true;
}

bool amount_duration(struct str text, uint64_t *ns)
{
    uint64_t any;

    if (!amount_duration_or_zero(text, &any) || any == 0)
        return false;
    *ns = any;
    return true;
}

bool amount_rate(struct str text, double *per_second, bool *has_unit, bool *requests)
{
    struct str digits = {text.p, number_length(text, true)};
    struct str rest = str_skip(text, digits.n);
    double seconds = 1;

    *requests = rest.n > 0 && rest.p[0] == 'r';
    rest = str_skip(rest, *requests);
    *has_unit = rest.n == 2 && rest.p[0] == '/';
    if (*has_unit)
        seconds = rest.p[1] == 's' ? 1 : rest.p[1] == 'm' ? 60 : rest.p[1] == 'h' ? 3600 : 0;
    if ((rest.n && !*has_unit) || seconds == 0 || !str_to_double(digits, per_second))
        return false;
    *per_second /= seconds;
    return true;
}

bool amount_size(struct str text, uint64_t *bytes)
{
    struct str digits = {text.p, number_length(text, false)};
    struct str name = str_skip(text, digits.n);
    uint64_t factor = name.n ? 0 : 1;
    uint64_t value;

    for (size_t i = 0; i < COUNT(size_units); i++) {
        if (str_eq_nocase(name, size_units[i].name))
            factor = size_units[i].size;
    }
    if (factor == 0 || !str_to_u64(digits, &value) || value > AMOUNT_MAX_BYTES / factor)
        return false;
    *bytes = value * factor;
    return true;
}
