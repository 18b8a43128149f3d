#include "base/yamlscalar.h"

#include "base/text.h"

enum style { PLAIN, SINGLE, DOUBLE };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Is it one of the words that stand for null, a truth value or no finite number? */
static bool is_word(struct str s)
{
    static const char *const words[] = {"null", "~", "true", "false", "yes",   "no",    "on",
                                        "off",  "y", "n",    ".inf",  "-.inf", "+.inf", ".nan"};

    if (s.n > STR("false").n || !memchr("~.+-NnTtFfYyOo", *s.p, 14))
        return false;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (str_eq_nocase(s, str_of(words[i])))
            return true;
    }
    return false;
}

static size_t skip_digits(struct str s, size_t at, const char *others)
{
    while (at < s.n && (is_digit(s.p[at]) || (s.p[at] && strchr(others, s.p[at]))))
        at++;
    return at;
}

/* Numbers of YAML 1.1 or 1.2: 0x, 0o and 0b, underscores, base 60, floating point. */
static bool is_number(struct str s)
{
    size_t at, end;

    if (s.n && (*s.p == '-' || *s.p == '+'))
        s = str_skip(s, 1);
    if (s.n > 2 && *s.p == '0' && strchr("xXoObB", s.p[1]) && s.p[1])
        return skip_digits(s, 2, "_abcdefABCDEF") == s.n;
    at = skip_digits(s, 0, "_:");
    if (at && !is_digit(*s.p))
        return false;
    if (at < s.n && s.p[at] == '.') {
        end = skip_digits(s, at + 1, "_");
        if (at == 0 && (end == 1 || !is_digit(s.p[1])))
            return false;
        at = end;
    }
    if (at && at < s.n && (s.p[at] | 0x20) == 'e') {
        at++;
        if (at < s.n && (s.p[at] == '-' || s.p[at] == '+'))
            at++;
        end = skip_digits(s, at, "");
        return end > at && end == s.n;
    }
    return at && at == s.n;
}

/* 2024-02-29, perhaps with a time. */
static bool is_date(struct str s)
{
    size_t year = skip_digits(s, 0, "");
    size_t month, day;

    if (year != 4 || year == s.n || s.p[year] != '-')
        return false;
    month = skip_digits(s, year + 1, "");
    if (month - year < 2 || month - year > 3 || month == s.n || s.p[month] != '-')
        return false;
    day = skip_digits(s, month + 1, "");
    if (day - month < 2 || day - month > 3)
        return false;
    return day == s.n || is_blank(s.p[day]) || (s.p[day] | 0x20) == 't';
}

/* Is a plain scalar of this text, of one line of printable characters, one in a block? */
static bool can_be_plain(struct str s)
{
    if (s.n == 0 || is_blank(*s.p) || is_blank(s.p[s.n - 1]) || s.p[s.n - 1] == ':')
        return false;
    if (strchr("?:,[]{}#&*!|>'\"%@`", *s.p))
        return false;
    if (*s.p == '-' && (s.n == 1 || is_blank(s.p[1])))
        return false;
    if (str_starts(s, STR("---")) || str_starts(s, STR("...")))
        return false;
    /* YAML 1.1's marks of merge and default, which some readers stumble over. */
    if (str_eq(s, STR("<<")) || str_eq(s, STR("=")))
        return false;
    for (size_t i = 1; i < s.n; i++) {
        if (s.p[i] == '\t' || (s.p[i] == '#' && is_blank(s.p[i - 1])) ||
            (is_blank(s.p[i]) && s.p[i - 1] == ':'))
            return false;
    }
    return true;
}

/* What YAML does not allow in a scalar as it is, breaks its line, or turns a terminal's text. */
static bool must_escape(uint32_t code)
{
    return (code < 0x20 && code != '\t') || (code >= 0x7F && code < 0xA0) ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) ||
           code == 0xFEFF || code == 0xFFFE || code == 0xFFFF;
}

static enum style choose(struct str text, bool keep_type)
{
    for (size_t at = 0, len; at < text.n; at += len) {
        uint32_t code;

        if (text.p[at] >= ' ' && text.p[at] <= '~') {
            len = 1;
            continue;
        }
        code = utf8_decode(str_skip(text, at), &len);
        if (must_escape(code) || code == UINT32_MAX)
            return DOUBLE;
    }
    if (!can_be_plain(text))
        return SINGLE;
    if (keep_type && (is_word(text) || is_number(text) || is_date(text)))
        return SINGLE;
    return PLAIN;
}

static bool add_single(struct buf *out, struct str text)
{
    bool ok = buf_add_char(out, '\'');

    while (text.n && ok) {
        size_t n = str_find(text, '\'');

        ok = buf_add(out, text.p, n);
        text = str_skip(text, n);
        if (text.n)
            ok = ok && buf_add_str(out, STR("''"));
        text = str_skip(text, 1);
    }
    return ok && buf_add_char(out, '\'');
}

static bool add_double(struct buf *out, struct str text)
{
    bool ok = buf_add_char(out, '"');

    for (size_t len; text.n && ok; text = str_skip(text, len)) {
        uint32_t code = utf8_decode(text, &len);

        if (code == UINT32_MAX)
            ok = utf8_encode(out, 0xFFFD);
        else if (code == '"' || code == '\\')
            ok = buf_add(out, (char[]){'\\', (char)code}, 2);
        else if (code == '\n' || code == '\r' || code == '\t')
            ok = buf_add_str(out, code == '\n'   ? STR("\\n")
                                  : code == '\r' ? STR("\\r")
                                                 : STR("\\t"));
        else if (must_escape(code))
            ok = buf_addf(out, code < 0x100 ? "\\x%02X" : "\\u%04X", (unsigned)code);
        else
            ok = buf_add(out, text.p, len);
    }
    return ok && buf_add_char(out, '"');
}

bool yaml_scalar(struct buf *out, struct str text, bool keep_type)
{
    size_t start = out->n;
    enum style style = choose(text, keep_type);
    bool ok = style == PLAIN    ? buf_add_str(out, text)
              : style == SINGLE ? add_single(out, text)
                                : add_double(out, text);

    if (!ok)
        out->n = start;
    return ok;
}
