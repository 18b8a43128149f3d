#include "out/lines.h"

#include "base/text.h"

#define MAX_LONG ((size_t)64 << 10) /* of a URL, a command, a body */

static void add_quote(struct buf *out)
{
    buf_add_char(out, '"');
}

/* "200 OK", at most STATUS_MAX bytes; its end. */
#define STATUS_MAX 80
static char *put_status(char *p, const struct style *style, unsigned status)
{
    enum paint paint = status / 100 == 5   ? PAINT_RED
                       : status / 100 == 4 ? PAINT_CYAN
                                           : PAINT_YELLOW;
    struct str phrase = str_of(status_phrase(status));

    p = style_put(p, style_on(style, paint));
    p = style_put_u64(p, status);
    if (phrase.n) {
        *p++ = ' ';
        p = style_put(p, phrase);
    }
    return style_put(p, style_off(style, paint));
}

static char *put_error(char *p, const struct style *style, const struct line_result *result)
{
    p = style_put(p, style_on(style, PAINT_RED));
    p = style_put(p, STR("ERR"));
    p = style_put(p, style_off(style, PAINT_RED));
    *p++ = ' ';
    return style_put(p, str_of(outcome_label(result->outcome, result->where)));
}

void line_request(struct buf *out, const struct style *style, struct str name, struct str url,
                  const struct line_result *result)
{
    char *p;

    style_column(out, style, PAINT_GREEN, name);
    style_printable(out, style, PAINT_BOLD_BLUE, url, MAX_LONG);
    if (!buf_reserve(out, STATUS_MAX + STYLE_TIME_MAX + 2 * STYLE_CODE_MAX + 3))
        return;
    p = out->p + out->n;
    *p++ = ' ';
    p = result->outcome == OUTCOME_RESPONSE ? put_status(p, style, result->status)
                                            : put_error(p, style, result);
    *p++ = ' ';
    p = style_put(p, style_on(style, PAINT_CYAN));
    p = style_put_time(p, style, result->latency_ns);
    p = style_put(p, style_off(style, PAINT_CYAN));
    *p++ = '\n';
    out->n = (size_t)(p - out->p);
}

void line_cause(struct buf *out, const struct style *style, struct str cause)
{
    style_begin(out, style, PAINT_DIM);
    buf_add_str(out, STR("  cause: "));
    text_printable(out, cause, STYLE_MAX);
    style_end(out, style, PAINT_DIM);
    buf_add_char(out, '\n');
}

static void add_assignment(struct buf *out, const struct style *style, struct str name,
                           struct str key, struct str value)
{
    style_column(out, style, PAINT_GREEN, name);
    style_printable(out, style, PAINT_BOLD_CYAN, key, STYLE_MAX);
    buf_add_char(out, '=');
    style_printable(out, style, PAINT_MAGENTA, value, STYLE_MAX);
}

void line_assign(struct buf *out, const struct style *style, struct str name, struct str key,
                 struct str value)
{
    add_assignment(out, style, name, key, value);
    buf_add_char(out, '\n');
}

void line_assert(struct buf *out, const struct style *style, struct str name, struct str key,
                 struct str value)
{
    add_assignment(out, style, name, key, value);
    buf_add_str(out, STR("?\n"));
}

void line_fail(struct buf *out, const struct style *style, struct str name, struct str key,
               struct str expected, struct str got)
{
    style_column(out, style, PAINT_GREEN, name);
    style_add(out, style, PAINT_BOLD_RED, STR("FAIL:"));
    buf_add_char(out, ' ');
    style_printable(out, style, PAINT_BOLD_CYAN, key, STYLE_MAX);
    buf_add_str(out, STR(" -- expected \""));
    style_printable(out, style, PAINT_MAGENTA, expected, STYLE_MAX);
    buf_add_str(out, STR("\", got "));
    if (got.p) {
        add_quote(out);
        style_printable(out, style, PAINT_MAGENTA, got, STYLE_MAX);
        add_quote(out);
    } else {
        buf_add_str(out, STR("nothing"));
    }
    buf_add_char(out, '\n');
}

void line_delay(struct buf *out, const struct style *style, struct str name, struct str shown)
{
    style_column(out, style, PAINT_GREEN, name);
    style_printable(out, style, PAINT_BOLD_CYAN, shown, STYLE_MAX);
    buf_add_char(out, '\n');
}

void line_exec(struct buf *out, const struct style *style, struct str name, struct str command)
{
    style_column(out, style, PAINT_GREEN, name);
    style_printable(out, style, PAINT_BOLD_CYAN, command, MAX_LONG);
    buf_add_char(out, '\n');
}

/* In quotes, printable, with a backslash before the quotes and backslashes of the text itself. */
static void add_quoted(struct buf *out, struct str s, size_t max_bytes)
{
    add_quote(out);
    while (s.n) {
        size_t n = 0;

        while (n < s.n && s.p[n] != '"' && s.p[n] != '\\')
            n++;
        text_printable(out, (struct str){s.p, n}, max_bytes);
        if (n > max_bytes)
            break;
        max_bytes -= n;
        s = str_skip(s, n);
        if (s.n && max_bytes == 0) {
            buf_add_str(out, STR("…"));
            break;
        }
        if (s.n) {
            buf_add(out, (char[]){'\\', *s.p}, 2);
            s = str_skip(s, 1);
            max_bytes--;
        }
    }
    add_quote(out);
}

static bool is_secret(struct str name)
{
    return str_eq_nocase(name, STR("authorization")) ||
           str_eq_nocase(name, STR("proxy-authorization")) || str_eq_nocase(name, STR("cookie")) ||
           str_eq_nocase(name, STR("set-cookie"));
}

/* {"name": "value", …} */
static void add_fields(struct buf *out, const struct style *style, const struct line_field *fields,
                       size_t n)
{
    buf_add_char(out, '{');
    for (size_t i = 0; i < n; i++) {
        bool hidden = !style->show_secrets && is_secret(fields[i].name);

        if (i)
            buf_add_str(out, STR(", "));
        add_quoted(out, fields[i].name, STYLE_MAX);
        buf_add_str(out, STR(": "));
        add_quoted(out, hidden ? STR("***") : fields[i].value, STYLE_MAX);
    }
    buf_add_char(out, '}');
}

void line_verbose_request(struct buf *out, const struct style *style, struct str url,
                          struct str method, const struct line_field *fields, size_t n)
{
    style_add(out, style, PAINT_BOLD_GREEN, STR(">>>"));
    buf_add_str(out, STR(" URL: "));
    text_printable(out, url, MAX_LONG);
    buf_add_str(out, STR(", METHOD: "));
    text_printable(out, method, STYLE_MAX);
    buf_add_str(out, STR(", HEADERS: "));
    add_fields(out, style, fields, n);
    buf_add_char(out, '\n');
}

void line_verbose_response(struct buf *out, const struct style *style, struct str url,
                           unsigned status, const struct line_field *fields, size_t n,
                           uint64_t latency_ns, struct str body)
{
    char shown[STATUS_MAX];

    style_add(out, style, PAINT_BOLD_GREEN, STR("<<<"));
    buf_add_str(out, STR(" URL: "));
    text_printable(out, url, MAX_LONG);
    buf_add_str(out, STR(", STATUS: "));
    buf_add(out, shown, (size_t)(put_status(shown, style, status) - shown));
    buf_add_str(out, STR(", HEADERS: "));
    add_fields(out, style, fields, n);
    buf_add_str(out, STR(" DURATION: "));
    style_decimal(out, latency_ns, 6, 1);
    buf_add_str(out, STR(" ms,"));
    if (body.p) {
        buf_add_str(out, STR(" BODY: "));
        add_quoted(out, body, MAX_LONG);
    }
    buf_add_char(out, '\n');
}

void line_verbose_nothing(struct buf *out, const struct style *style)
{
    style_add(out, style, PAINT_BOLD_GREEN, STR("<<<"));
    buf_add_str(out, STR("No response from server!\n"));
}
