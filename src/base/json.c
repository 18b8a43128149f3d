#include "base/json.h"

#include "base/json_scan.h"
#include "base/text.h"

/* How deep an index looks. */
#define INDEX_DEPTH 8
/* A look-up is as fast without an entry for what is smaller. */
#define INDEX_LEAST 48

/* What is open: one bit a level, is it an object? And where the outermost ones begin. */
struct nesting {
    unsigned depth;
    bool object; /* the innermost */
    uint64_t is_object[JSON_MAX_DEPTH / 64];
    const char *start[INDEX_DEPTH];
};

static inline bool enter(struct nesting *nesting, const char *p)
{
    unsigned depth = nesting->depth;
    uint64_t *word = &nesting->is_object[depth / 64];

    if (depth == JSON_MAX_DEPTH)
        return false;
    if (depth < INDEX_DEPTH)
        nesting->start[depth] = p;
    nesting->object = *p == '{';
    *word = (*word & ~(1ULL << depth % 64)) | (uint64_t)nesting->object << depth % 64;
    nesting->depth = depth + 1;
    return true;
}

/* Adds value, which is large enough; if there is no room, in the place of the smallest. */
static void index_add(struct json_index *index, struct str value)
{
    unsigned smallest = 0;

    if (index->n < JSON_INDEX_MAX) {
        index->values[index->n++] = value;
        return;
    }
    for (unsigned i = 1; i < JSON_INDEX_MAX; i++)
        smallest = index->values[i].n < index->values[smallest].n ? i : smallest;
    index->least = index->values[smallest].n + 1;
    if (value.n >= index->least)
        index->values[smallest] = value;
}

/* Closes the innermost; p is behind its bracket. The document itself needs no entry. */
static inline void leave(struct nesting *nesting, const char *p, struct json_index *index)
{
    unsigned depth = --nesting->depth;

    if (depth == 0)
        return;
    nesting->object = nesting->is_object[(depth - 1) / 64] >> (depth - 1) % 64 & 1;
    if (depth < INDEX_DEPTH) {
        const char *start = nesting->start[depth];

        if ((size_t)(p - start) >= index->least)
            index_add(index, (struct str){start, (size_t)(p - start)});
    }
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* Each of these takes what begins at p and returns where it ends, NULL if it is not well-formed. */

static const char *check_escape(const char *p, const char *end)
{
    if (end - p < 2)
        return NULL;
    if (p[1] != 'u')
        return p[1] && strchr("\"\\/bfnrt", p[1]) ? p + 2 : NULL;
    if (end - p < 6 || !is_hex(p[2]) || !is_hex(p[3]) || !is_hex(p[4]) || !is_hex(p[5]))
        return NULL;
    return p + 6;
}

/* A run of UTF-8, which seldom is one character long. */
static const char *check_utf8(const char *p, const char *end)
{
    do {
        size_t len;

        if (utf8_decode((struct str){p, (size_t)(end - p)}, &len) == UINT32_MAX)
            return NULL;
        p += len;
    } while (p < end && (unsigned char)*p & 0x80);
    return p;
}

/* The rest of a string, from a byte in it that is not plain. */
static __attribute__((noinline)) const char *check_string_rest(const char *p, const char *end)
{
    while (p < end && *p != '"') {
        if (*p == '\\') {
            p = check_escape(p, end);
            if (!p)
                return NULL;
        } else if (!((unsigned char)*p & 0x80)) {
            return NULL; /* a control character */
        } else {
            p = check_utf8(p, end);
            if (!p)
                return NULL;
        }
        p = json_scan_plain(p, end);
    }
    return p < end ? p + 1 : NULL;
}

static inline const char *check_string(const char *p, const char *end)
{
    p = json_scan_plain(p + 1, end);
    return p < end && *p == '"' ? p + 1 : check_string_rest(p, end);
}

static const char *check_digits(const char *p, const char *end)
{
    const char *start = p;

    while (p < end && is_digit(*p))
        p++;
    return p > start ? p : NULL;
}

static const char *check_number(const char *p, const char *end)
{
    if (*p == '-')
        p++;
    if (p < end && *p == '0')
        p++;
    else
        p = check_digits(p, end);
    if (p && p < end && *p == '.')
        p = check_digits(p + 1, end);
    if (p && p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-'))
            p++;
        p = check_digits(p, end);
    }
    return p;
}

static const char *check_word(const char *p, const char *end, struct str word)
{
    return str_starts((struct str){p, (size_t)(end - p)}, word) ? p + word.n : NULL;
}

static const char *check_scalar(const char *p, const char *end)
{
    switch (*p) {
    case 't':
        return check_word(p, end, STR("true"));
    case 'f':
        return check_word(p, end, STR("false"));
    case 'n':
        return check_word(p, end, STR("null"));
    default:
        return check_number(p, end);
    }
}

/* The last byte of an object or array is a bracket. What is well-formed and begins before it, other
 * than a bracket, ends before it too, so that behind such a token there always is a byte. */

/* A key, its colon and the blanks around them. */
static inline const char *check_key(const char *p, const char *end)
{
    p = json_skip_blanks(p, end);
    if (*p != '"')
        return NULL;
    p = check_string(p, end);
    if (!p)
        return NULL;
    p = json_skip_blanks(p, end);
    return *p == ':' ? p + 1 : NULL;
}

/* From behind a value to where the next one begins: closes what ends here, passes a comma and a
 * key. Nothing is open any more behind the document. */
static inline const char *check_after(const char *p, const char *end, struct nesting *nesting,
                                      struct json_index *index)
{
    for (;;) {
        p = json_skip_blanks(p, end);
        if (*p == ',')
            return nesting->object ? check_key(p + 1, end) : p + 1;
        if (*p != (nesting->object ? '}' : ']'))
            return NULL;
        p++;
        leave(nesting, p, index);
        if (nesting->depth == 0)
            return p;
        if (p == end)
            return NULL;
    }
}

static const char *check_nested(const char *p, const char *end, struct json_index *index)
{
    struct nesting nesting;

    nesting.depth = 0;
    nesting.object = false;
    do {
        p = json_skip_blanks(p, end);
        if (*p == '"') {
            p = check_string(p, end);
        } else if (*p == '{' || *p == '[') {
            if (!enter(&nesting, p))
                return NULL;
            p = json_skip_blanks(p + 1, end);
            if (*p != (nesting.object ? '}' : ']')) {
                p = nesting.object ? check_key(p, end) : p;
                continue;
            }
        } else {
            p = check_scalar(p, end);
        }
        p = p ? check_after(p, end, &nesting, index) : NULL;
    } while (p && nesting.depth);
    return p;
}

bool json_check_index(struct str text, struct str *value, struct json_index *index)
{
    const char *end = text.p + text.n;
    const char *start, *p;

    index->n = 0;
    index->least = INDEX_LEAST;
    if (str_starts(text, STR("\xEF\xBB\xBF")))
        text = str_skip(text, 3);
    while (end > text.p && json_is_blank(end[-1]))
        end--;
    if (end == text.p)
        return false;
    start = json_skip_blanks(text.p, end);
    if (*start == '"')
        p = check_string(start, end);
    else if (*start != '{' && *start != '[')
        p = check_scalar(start, end);
    else
        p = end[-1] == '}' || end[-1] == ']' ? check_nested(start, end, index) : NULL;
    *value = (struct str){start, (size_t)(end - start)};
    return p == end;
}

bool json_check(struct str text, struct str *value)
{
    struct json_index index;

    return json_check_index(text, value, &index);
}

enum json_type json_type(struct str value)
{
    switch (*value.p) {
    case '{':
        return JSON_OBJECT;
    case '[':
        return JSON_ARRAY;
    case '"':
        return JSON_STRING;
    case 't':
        return JSON_TRUE;
    case 'f':
        return JSON_FALSE;
    case 'n':
        return JSON_NULL;
    default:
        return JSON_NUMBER;
    }
}
