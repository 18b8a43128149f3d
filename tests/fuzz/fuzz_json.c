/* links: base */
/*
 * JSON: json_check against a plain recursive reader; the text of what is accepted must be accepted
 * again; each member of the outermost object or array must be found.
 */
#include "base/json.h"
#include "base/text.h"
#include "fuzz.h"

#define MEMBERS_MAX 64

/* A reader by the letter of RFC 8259; each function passes over what begins at *p. */
struct reader {
    const char *p, *end;
    unsigned depth;
};

static bool take(struct reader *r, char c)
{
    if (r->p == r->end || *r->p != c)
        return false;
    r->p++;
    return true;
}

static void blanks(struct reader *r)
{
    while (take(r, ' ') || take(r, '\t') || take(r, '\n') || take(r, '\r'))
        ;
}

static unsigned digits(struct reader *r, unsigned most)
{
    unsigned n = 0;

    while (n < most && r->p < r->end && *r->p >= '0' && *r->p <= '9') {
        r->p++;
        n++;
    }
    return n;
}

static bool number(struct reader *r)
{
    take(r, '-');
    if (!take(r, '0') && !digits(r, UINT32_MAX))
        return false;
    if (take(r, '.') && !digits(r, UINT32_MAX))
        return false;
    if (!take(r, 'e') && !take(r, 'E'))
        return true;
    if (!take(r, '+'))
        take(r, '-');
    return digits(r, UINT32_MAX) > 0;
}

static bool hex(struct reader *r)
{
    for (const char *c = "0123456789abcdefABCDEF"; *c; c++)
        if (take(r, *c))
            return true;
    return false;
}

static bool string(struct reader *r)
{
    if (!take(r, '"'))
        return false;
    while (r->p < r->end && *r->p != '"') {
        size_t n;

        if (take(r, '\\')) {
            if (take(r, 'u')) {
                if (!hex(r) || !hex(r) || !hex(r) || !hex(r))
                    return false;
            } else if (r->p == r->end || !memchr("\"\\/bfnrt", *r->p++, 8)) {
                return false;
            }
            continue;
        }
        if ((unsigned char)*r->p < ' ' ||
            utf8_decode((struct str){r->p, (size_t)(r->end - r->p)}, &n) == UINT32_MAX)
            return false;
        r->p += n;
    }
    return take(r, '"');
}

static bool value(struct reader *r);

static bool members(struct reader *r, bool object)
{
    char close = object ? '}' : ']';

    blanks(r);
    if (take(r, close))
        return true;
    do {
        blanks(r);
        if (object) {
            if (!string(r))
                return false;
            blanks(r);
            if (!take(r, ':'))
                return false;
        }
        if (!value(r))
            return false;
        blanks(r);
    } while (take(r, ','));
    return take(r, close);
}

static bool word(struct reader *r, const char *letters)
{
    while (*letters)
        if (!take(r, *letters++))
            return false;
    return true;
}

static bool value(struct reader *r)
{
    bool object, ok;

    blanks(r);
    if (r->p == r->end)
        return false;
    switch (*r->p) {
    case '{':
    case '[':
        if (r->depth == JSON_MAX_DEPTH)
            return false;
        object = *r->p++ == '{';
        r->depth++;
        ok = members(r, object);
        r->depth--;
        return ok;
    case '"':
        return string(r);
    case 't':
        return word(r, "true");
    case 'f':
        return word(r, "false");
    case 'n':
        return word(r, "null");
    default:
        return number(r);
    }
}

static bool is_json(struct str text)
{
    struct reader r = {text.p, text.p + text.n, 0};

    if (str_starts(text, STR("\xef\xbb\xbf")))
        r.p += 3;
    if (!value(&r))
        return false;
    blanks(&r);
    return r.p == r.end;
}

/* With the index and without it, a look-up must give the same. */
static bool find(struct str value, const struct json_index *index, const struct json_key *keys,
                 size_t n, struct str *out)
{
    struct str other;
    bool found = json_find(value, keys, n, out);

    CHECK(json_find_index(value, index, keys, n, &other) == found);
    CHECK(!found || (other.p == out->p && other.n == out->n));
    return found;
}

/* A copy on the heap without a byte to spare. */
static struct str exact(struct str s)
{
    char *copy = malloc(s.n ? s.n : 1);

    CHECK(copy);
    if (s.n)
        memcpy(copy, s.p, s.n);
    return (struct str){copy, s.n};
}

static void check_text(struct str checked)
{
    enum json_type type = json_type(checked);
    struct buf text, again;
    struct str copy, inner;

    buf_init(&text, BUF_NO_MAX);
    buf_init(&again, BUF_NO_MAX);
    CHECK(json_text(checked, &text));
    CHECK(utf8_valid(buf_str(&text)));
    if (type == JSON_STRING) {
        CHECK(json_quote(&again, buf_str(&text)));
        copy = exact(buf_str(&again));
        CHECK(json_check(copy, &inner) && str_eq(inner, copy) && json_type(inner) == JSON_STRING);
        buf_reset(&again);
        CHECK(json_text(inner, &again) && str_eq(buf_str(&again), buf_str(&text)));
        free((char *)(uintptr_t)copy.p);
    } else if (type != JSON_NULL) {
        copy = exact(buf_str(&text));
        CHECK(json_check(copy, &inner) && str_eq(inner, copy) && json_type(inner) == type);
        CHECK(json_text(inner, &again) && str_eq(buf_str(&again), copy));
        free((char *)(uintptr_t)copy.p);
    }
    buf_fini(&text);
    buf_fini(&again);
}

/* The outermost value's members, by the plain reader, must be what json_find gives: the last of
 * those with one key. */
static void check_members(struct str checked, const struct json_index *index)
{
    struct reader r = {checked.p + 1, checked.p + checked.n, 1};
    bool object = *checked.p == '{';
    struct buf keys[MEMBERS_MAX];
    struct str values[MEMBERS_MAX], found;
    size_t n = 0;

    while (n < MEMBERS_MAX) {
        blanks(&r);
        if (take(&r, object ? '}' : ']'))
            break;
        take(&r, ',');
        blanks(&r);
        buf_init(&keys[n], BUF_NO_MAX);
        if (object) {
            const char *key = r.p;
            CHECK(string(&r));
            CHECK(json_text((struct str){key, (size_t)(r.p - key)}, &keys[n]));
            blanks(&r);
            CHECK(take(&r, ':'));
            blanks(&r);
        }
        values[n].p = r.p;
        CHECK(value(&r));
        values[n].n = (size_t)(r.p - values[n].p);
        n++;
    }
    for (size_t i = 0; i < n; i++) {
        struct json_key key = {.text = buf_str(&keys[i]), .index = i, .is_index = !object};
        bool last = n < MEMBERS_MAX;

        CHECK(find(checked, index, &key, 1, &found));
        for (size_t later = i + 1; object && later < n; later++)
            last = last && !str_eq(buf_str(&keys[i]), buf_str(&keys[later]));
        CHECK((object && !last) || (found.p == values[i].p && found.n == values[i].n));
        check_text(values[i]);
    }
    for (size_t i = 0; i < n; i++)
        buf_fini(&keys[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = fuzz_input(data, size), checked, found;
    struct json_index index;
    struct json_key keys[2] = {{.text = STR("a"), .index = 0}, {.text = STR("b"), .index = 1}};

    CHECK(json_check_index(text, &checked, &index) == is_json(text));
    if (!is_json(text))
        return 0;
    check_text(checked);
    if (json_type(checked) == JSON_OBJECT || json_type(checked) == JSON_ARRAY)
        check_members(checked, &index);
    for (unsigned i = 0; i < 4; i++) {
        keys[0].is_index = i & 1;
        keys[1].is_index = i & 2;
        if (find(checked, &index, keys, 2, &found))
            check_text(found);
    }
    return 0;
}
