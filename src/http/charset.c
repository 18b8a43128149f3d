#include "http/charset.h"

#include <errno.h>
#include <iconv.h>
#include <strings.h>

#include "base/text.h"

#define NAME_MAX_BYTES 40
#define CHUNK_BYTES 4096

#define REPLACEMENT STR("\xEF\xBF\xBD")

/* Names in use that the C library does not know, or knows as something narrower or less certain
 * than what servers mean by them. */
static const struct alias {
    const char *label, *name;
} ALIASES[] = {
    {"utf-16", "UTF-16LE"},
    {"utf16", "UTF-16LE"},
    {"unicode", "UTF-16LE"},
    {"unicodefeff", "UTF-16LE"},
    {"unicodefffe", "UTF-16BE"},
    {"ucs-2", "UTF-16LE"},
    {"iso-10646-ucs-2", "UTF-16LE"},
    {"utf-32", "UTF-32LE"},
    {"utf32", "UTF-32LE"},
    {"shift_jis", "CP932"},
    {"shift-jis", "CP932"},
    {"x-sjis", "CP932"},
    {"gb2312", "GBK"},
    {"gb_2312-80", "GBK"},
    {"chinese", "GBK"},
    {"ks_c_5601-1987", "CP949"},
    {"korean", "CP949"},
    {"windows-949", "CP949"},
    {"x-x-big5", "BIG5"},
    {"x-mac-roman", "MACINTOSH"},
    {"x-mac-cyrillic", "MAC-CYRILLIC"},
    {"iso-8859-6-i", "ISO-8859-6"},
    {"iso-8859-8-i", "ISO-8859-8"},
    {"koi", "KOI8-R"},
    {"dos-874", "CP874"},
};

static const char *const UTF8_LABELS[] = {
    "utf-8", "utf8", "unicode-1-1-utf-8", "us-ascii", "ascii", "ansi_x3.4-1968", "iso646-us",
};

/* Longer marks first: that of UTF-32LE begins with that of UTF-16LE. */
static const struct mark {
    struct str bytes, charset;
} MARKS[] = {
    {{"\xEF\xBB\xBF", 3}, {"utf-8", 5}},    {{"\xFF\xFE\0\0", 4}, {"UTF-32LE", 8}},
    {{"\0\0\xFE\xFF", 4}, {"UTF-32BE", 8}}, {{"\xFF\xFE", 2}, {"UTF-16LE", 8}},
    {{"\xFE\xFF", 2}, {"UTF-16BE", 8}},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static struct str skip_blanks(struct str s)
{
    while (s.n > 0 && is_blank(*s.p))
        s = str_skip(s, 1);
    return s;
}

/* Cuts a parameter's value, quoted or not, off the beginning of *rest. */
static struct str cut_value(struct str *rest)
{
    size_t n = 0;
    struct str value = *rest;
    if (rest->n > 0 && *rest->p == '"') {
        for (n = 1; n < rest->n && rest->p[n] != '"'; n++)
            n += rest->p[n] == '\\';
        n = n < rest->n ? n : rest->n;
        value = (struct str){rest->p + 1, n - 1};
    } else {
        while (n < rest->n && rest->p[n] != ';')
            n++;
        value.n = n;
        value = str_trim(value);
    }
    *rest = str_skip(*rest, n);
    return value;
}

struct str charset_of(struct str content_type)
{
    struct str rest = str_skip(content_type, str_find(content_type, ';'));
    while (rest.n > 0) {
        rest = str_skip(rest, 1);
        size_t n = 0;
        while (n < rest.n && rest.p[n] != '=' && rest.p[n] != ';')
            n++;
        struct str name = str_trim((struct str){rest.p, n});
        rest = str_skip(rest, n);
        if (rest.n == 0 || *rest.p == ';')
            continue;
        rest = skip_blanks(str_skip(rest, 1));
        struct str value = cut_value(&rest);
        if (str_eq_nocase(name, STR("charset")))
            return value;
        rest = str_skip(rest, str_find(rest, ';'));
    }
    return (struct str){NULL, 0};
}

bool charset_is_utf8(struct str charset)
{
    if (charset.n == 0)
        return true;
    for (size_t i = 0; i < COUNT(UTF8_LABELS); i++)
        if (str_eq_nocase(charset, str_of(UTF8_LABELS[i])))
            return true;
    return false;
}

/* A server's word reaches iconv_open only as a plain name: nothing that asks for transliteration
 * or names a path. */
static iconv_t open_named(struct str label)
{
    char name[NAME_MAX_BYTES + 1];
    if (label.n > NAME_MAX_BYTES)
        return (iconv_t)-1;
    for (size_t i = 0; i < label.n; i++) {
        char c = label.p[i], lower = (char)(c | 0x20);
        if (!(lower >= 'a' && lower <= 'z') && !(c >= '0' && c <= '9') && !memchr("-_.:+", c, 5))
            return (iconv_t)-1;
        name[i] = c;
    }
    name[label.n] = '\0';
    iconv_t converter = iconv_open("UTF-8", name);
    if (converter == (iconv_t)-1 && strncasecmp(name, "x-", 2) == 0 && label.n > 2)
        converter = iconv_open("UTF-8", name + 2);
    return converter;
}

static struct str resolve(struct str label)
{
    for (size_t i = 0; i < COUNT(ALIASES); i++)
        if (str_eq_nocase(label, str_of(ALIASES[i].label)))
            return str_of(ALIASES[i].name);
    return label;
}

/* How many bytes to pass over where there is no character. */
static size_t unit_of(struct str charset)
{
    static const struct {
        struct str prefix;
        size_t bytes;
    } WIDE[] = {{{"utf-16", 6}, 2}, {{"utf-32", 6}, 4}, {{"ucs-4", 5}, 4}};
    for (size_t i = 0; i < COUNT(WIDE); i++) {
        size_t n = WIDE[i].prefix.n;
        if (charset.n >= n && str_eq_nocase((struct str){charset.p, n}, WIDE[i].prefix))
            return WIDE[i].bytes;
    }
    return 1;
}

static bool convert(iconv_t converter, struct str body, size_t unit, struct buf *out)
{
    char piece[CHUNK_BYTES];
    bool fits = true, more = true;
    char *in = (char *)(uintptr_t)body.p; /* iconv's prototype has no const; it does not write */
    size_t left = body.n;

    while (more && fits) {
        char *to = piece;
        size_t room = sizeof(piece);
        /* Without input: what is held back of the last character, and then it is over. */
        more = left > 0;
        size_t result = iconv(converter, more ? &in : NULL, more ? &left : NULL, &to, &room);
        int error = result == (size_t)-1 ? errno : 0;
        fits = buf_add(out, piece, (size_t)(to - piece));
        if (error != 0 && (error != E2BIG || to == piece)) {
            size_t skip = error == EINVAL || unit > left ? left : unit;
            fits = fits && buf_add_str(out, REPLACEMENT);
            in += skip;
            left -= skip;
        }
    }
    return fits;
}

bool charset_to_utf8(struct str body, struct str charset, struct buf *out)
{
    for (size_t i = 0; i < COUNT(MARKS); i++) {
        struct str mark = MARKS[i].bytes;
        if (str_starts(body, mark)) {
            body = str_skip(body, mark.n);
            charset = MARKS[i].charset;
            break;
        }
    }
    if (charset_is_utf8(charset))
        return utf8_repair(out, body);
    charset = resolve(charset);
    iconv_t converter = open_named(charset);
    if (converter == (iconv_t)-1)
        return utf8_repair(out, body);
    bool fits = convert(converter, body, unit_of(charset), out);
    iconv_close(converter);
    return fits;
}
