#include "http/h1_parse.h"

#include "http/h1_chars.h"

static bool is_space(char c)
{
    return h1_is_blank(c) || c == '\r' || c == '\n';
}

bool h1_field_next(struct str *fields, struct str *name, struct str *value)
{
    const char *p = fields->p, *end = p + fields->n;
    if (fields->n == 0)
        return false;
    const char *colon = memchr(p, ':', fields->n);
    if (!colon)
        return false;
    *name = (struct str){p, (size_t)(colon - p)};
    p = colon;
    do {
        p = memchr(p, '\n', (size_t)(end - p));
        p = p ? p + 1 : end;
    } while (p < end && h1_is_blank(*p));
    *fields = (struct str){p, (size_t)(end - p)};
    *value = str_trim((struct str){colon + 1, (size_t)(p - colon - 1)});
    return true;
}

bool h1_is_folded(struct str value)
{
    return value.n > 0 && memchr(value.p, '\n', value.n) != NULL;
}

size_t h1_unfold(struct str value, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < value.n;) {
        size_t space = i;
        bool fold = false;
        while (space < value.n && is_space(value.p[space]))
            fold |= value.p[space++] == '\n';
        if (fold) {
            out[n++] = ' ';
            i = space;
            continue;
        }
        while (i < space)
            out[n++] = value.p[i++];
        while (i < value.n && !is_space(value.p[i]))
            out[n++] = value.p[i++];
    }
    return n;
}

bool h1_field_take(struct str *fields, struct str name, struct str *value)
{
    const char *p = fields->p, *end = p + fields->n;
    /* What no field is called might be part of a value that goes on in another line. */
    if (name.n == 0 || h1_is_blank(*name.p) || memchr(name.p, ':', name.n))
        return false;
    while (end - p > (ptrdiff_t)name.n) {
        struct str rest = {p, (size_t)(end - p)}, key;
        if (p[name.n] == ':' && str_eq_nocase((struct str){p, name.n}, name)) {
            *fields = rest;
            return h1_field_next(fields, &key, value);
        }
        p = memchr(p, '\n', rest.n);
        if (!p)
            break;
        p++;
    }
    return false;
}

bool h1_field_find(struct str fields, struct str name, struct str *value)
{
    return h1_field_take(&fields, name, value);
}
