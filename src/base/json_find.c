/* Looking up and unescaping in text that json_check found to be JSON: nothing is checked twice. */
#include "base/json.h"

#include "base/json_scan.h"
#include "base/text.h"

/* From an object's or array's bracket to behind the one that closes it. */
static const char *skip_nested(const char *p, const char *end)
{
    size_t depth = 0;

    do {
        p = json_scan_bracket(p, end);
        if (*p == '"') {
            p = json_skip_string(p, end);
            continue;
        }
        depth += (*p | 0x20) == '{' ? 1 : SIZE_MAX;
        p++;
    } while (depth);
    return p;
}

static const char *skip_value(const char *p, const char *end, const struct json_index *index)
{
    if (*p == '"')
        return json_skip_string(p, end);
    if (*p == '{' || *p == '[') {
        for (unsigned i = 0; index && i < index->n; i++) {
            if (index->values[i].p == p)
                return p + index->values[i].n;
        }
        return skip_nested(p, end);
    }
    while (p < end && !json_is_blank(*p) && *p != ',' && *p != '}' && *p != ']')
        p++;
    return p;
}

static uint32_t hex4(const char *p)
{
    uint32_t code = 0;

    for (unsigned i = 0; i < 4; i++) {
        uint32_t digit = (uint32_t)(p[i] <= '9' ? p[i] - '0' : (p[i] | 0x20) - 'a' + 10);

        code = code << 4 | digit;
    }
    return code;
}

/* The code point of the escape that s begins with, U+FFFD for half a surrogate pair; *len is the
 * escape's length. */
static uint32_t unescape(struct str s, size_t *len)
{
    uint32_t code;

    *len = 2;
    switch (s.p[1]) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'u':
        break;
    default:
        return (unsigned char)s.p[1];
    }
    *len = 6;
    code = hex4(s.p + 2);
    if (code < 0xD800 || code > 0xDFFF)
        return code;
    if (code < 0xDC00 && s.n >= 12 && s.p[6] == '\\' && s.p[7] == 'u') {
        uint32_t low = hex4(s.p + 8);

        if (low >= 0xDC00 && low <= 0xDFFF) {
            *len = 12;
            return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
    }
    return 0xFFFD;
}

/* Is raw, which has escapes, the same text as name? */
static bool is_escaped_name(struct str raw, struct str name)
{
    while (raw.n) {
        size_t plain = str_find(raw, '\\');
        size_t len, name_len;

        if (!str_starts(name, (struct str){raw.p, plain}))
            return false;
        raw = str_skip(raw, plain);
        name = str_skip(name, plain);
        if (raw.n == 0)
            break;
        if (name.n == 0 || unescape(raw, &len) != utf8_decode(name, &name_len))
            return false;
        raw = str_skip(raw, len);
        name = str_skip(name, name_len);
    }
    return name.n == 0;
}

/* Passes over a key: is it this name? */
static inline bool take_name(const char **p, const char *end, struct str name)
{
    const char *start = *p + 1;
    const char *quote = json_scan_quote(start, end);

    if (*quote == '"') {
        *p = quote + 1;
        return str_eq((struct str){start, (size_t)(quote - start)}, name);
    }
    *p = json_skip_string(*p, end);
    return is_escaped_name((struct str){start, (size_t)(*p - 1 - start)}, name);
}

static bool find_member(struct str object, const struct json_index *index, struct str name,
                        struct str *out)
{
    const char *end = object.p + object.n;
    const char *p = json_skip_blanks(object.p + 1, end);
    bool found = false;

    while (*p != '}') {
        bool wanted = take_name(&p, end, name);
        const char *start;

        p = json_skip_blanks(p, end);
        start = p = json_skip_blanks(p + 1, end);
        p = skip_value(p, end, index);
        if (wanted) {
            *out = (struct str){start, (size_t)(p - start)};
            found = true;
        }
        p = json_skip_blanks(p, end);
        if (*p == ',')
            p = json_skip_blanks(p + 1, end);
    }
    return found;
}

static bool find_element(struct str array, const struct json_index *index, uint64_t at,
                         struct str *out)
{
    const char *end = array.p + array.n;
    const char *p = json_skip_blanks(array.p + 1, end);

    while (*p != ']') {
        const char *value = p;

        p = skip_value(p, end, index);
        if (at-- == 0) {
            *out = (struct str){value, (size_t)(p - value)};
            return true;
        }
        p = json_skip_blanks(p, end);
        if (*p == ',')
            p = json_skip_blanks(p + 1, end);
    }
    return false;
}

bool json_find_index(struct str value, const struct json_index *index, const struct json_key *keys,
                     size_t n, struct str *out)
{
    for (size_t i = 0; i < n; i++) {
        bool found = false;

        if (*value.p == '{')
            found = find_member(value, index, keys[i].text, &value);
        else if (*value.p == '[' && keys[i].is_index)
            found = find_element(value, index, keys[i].index, &value);
        if (!found)
            return false;
    }
    *out = value;
    return true;
}

bool json_find(struct str value, const struct json_key *keys, size_t n, struct str *out)
{
    return json_find_index(value, NULL, keys, n, out);
}

static bool add_string(struct str raw, struct buf *out)
{
    bool ok = true;

    while (raw.n && ok) {
        size_t plain = str_find(raw, '\\');

        ok = buf_add(out, raw.p, plain);
        raw = str_skip(raw, plain);
        if (raw.n) {
            size_t len;
            uint32_t code = unescape(raw, &len);

            ok = ok && utf8_encode(out, code);
            raw = str_skip(raw, len);
        }
    }
    return ok;
}

/* Everything but the blanks between tokens. */
static bool add_compact(struct str value, struct buf *out)
{
    const char *end = value.p + value.n;
    const char *p = value.p;
    bool ok = true;

    while (p < end && ok) {
        const char *start = p;

        while (p < end && !json_is_blank(*p))
            p = *p == '"' ? json_skip_string(p, end) : p + 1;
        ok = buf_add(out, start, (size_t)(p - start));
        if (p < end)
            p = json_skip_blanks(p, end);
    }
    return ok;
}

bool json_text(struct str value, struct buf *out)
{
    size_t start = out->n;
    bool ok;

    switch (json_type(value)) {
    case JSON_NULL:
        return true;
    case JSON_STRING:
        ok = add_string((struct str){value.p + 1, value.n - 2}, out);
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        ok = add_compact(value, out);
        break;
    default:
        return buf_add_str(out, value);
    }
    if (!ok)
        out->n = start;
    return ok;
}
