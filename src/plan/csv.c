#include "plan/csv.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"

/* One pass over the text, from field to field. */
struct scan {
    struct str text;
    char quote;
    size_t at;
    unsigned line;
    size_t line_start;
    const unsigned char *stops; /* of each byte: which runs it ends */
    struct csv_error *error;
};

enum { STOP_BARE = 1, STOP_QUOTED = 2 };

/* A field without its quotes; within quoted ones each doubled quote is still two. */
struct cell {
    struct str raw;
    bool quoted;
};

static bool fail(const struct scan *scan, size_t at, const char *text)
{
    *scan->error = (struct csv_error){scan->line, (unsigned)(at - scan->line_start) + 1, text, 0};
    return false;
}

/* Passes the next byte that stops a run, or the end of text. */
static void run_to_stop(struct scan *scan, unsigned char stop)
{
    const char *p = scan->text.p;
    size_t at = scan->at, n = scan->text.n;
    while (at < n && !(scan->stops[(unsigned char)p[at]] & stop))
        at++;
    scan->at = at;
}

/* Passes a line break if there is one. */
static bool pass_break(struct scan *scan)
{
    const char *p = scan->text.p;
    size_t n = scan->text.n;
    if (scan->at == n || (p[scan->at] != '\n' && p[scan->at] != '\r'))
        return false;
    scan->at += p[scan->at] == '\r' && scan->at + 1 < n && p[scan->at + 1] == '\n' ? 2 : 1;
    scan->line++;
    scan->line_start = scan->at;
    return true;
}

static bool scan_quoted(struct scan *scan, struct cell *cell)
{
    struct str text = scan->text;
    size_t start = ++scan->at;
    struct scan opening = *scan; /* its place, for messages */
    for (;;) {
        run_to_stop(scan, STOP_QUOTED);
        if (scan->at == text.n)
            return fail(&opening, start - 1, "the quote that opens here is never closed");
        if (text.p[scan->at] == '\0')
            return fail(scan, scan->at, "a NUL byte: this is no text");
        if (pass_break(scan))
            continue;
        size_t behind = scan->at + 1;
        if (behind == text.n || text.p[behind] != scan->quote)
            break;
        scan->at += 2;
    }
    *cell = (struct cell){{text.p + start, scan->at - start}, true};
    scan->at++;
    if (scan->at < text.n && !(scan->stops[(unsigned char)text.p[scan->at]] & STOP_BARE))
        return fail(scan, scan->at, "text after the closing quote");
    return true;
}

/* Passes one field; what follows is a comma, a line break or the end. */
static bool scan_field(struct scan *scan, struct cell *cell)
{
    size_t start = scan->at;
    if (start < scan->text.n && scan->text.p[start] == scan->quote) {
        if (!scan_quoted(scan, cell))
            return false;
    } else {
        run_to_stop(scan, STOP_BARE);
        *cell = (struct cell){{scan->text.p + start, scan->at - start}, false};
    }
    if (scan->at < scan->text.n && scan->text.p[scan->at] == '\0')
        return fail(scan, scan->at, "a NUL byte: this is no text");
    if (cell->raw.n > CSV_MAX_CELL)
        return fail(scan, scan->at, "a field of more than 10 MiB ends here");
    return true;
}

/* Cuts the next piece off a quoted cell: its text is that of all pieces in turn. */
static struct str take_piece(struct str *raw, char quote)
{
    size_t n = str_find(*raw, quote);
    struct str piece = {raw->p, n < raw->n ? n + 1 : n};
    *raw = str_skip(*raw, piece.n + 1);
    return piece;
}

static bool add_cell(struct cell cell, char quote, struct buf *out)
{
    if (!cell.quoted)
        return buf_add_str(out, cell.raw);
    while (cell.raw.n)
        if (!buf_add_str(out, take_piece(&cell.raw, quote)))
            return false;
    return true;
}

/* Passes blank lines; false at the end of the text. */
static bool find_row(struct scan *scan)
{
    while (pass_break(scan))
        ;
    return scan->at < scan->text.n;
}

/* Passes one row and counts its fields. */
static bool scan_row(struct scan *scan, size_t *fields)
{
    struct cell cell;
    *fields = 0;
    do {
        scan->at += *fields > 0;
        if (!scan_field(scan, &cell))
            return false;
        ++*fields;
    } while (scan->at < scan->text.n && scan->text.p[scan->at] == ',');
    return true;
}

static bool scan_heading(struct scan *scan, struct csv *csv, struct map *seen)
{
    if (!find_row(scan))
        return fail(scan, scan->at, "there is no heading: the file is empty");
    struct scan again = *scan;
    size_t n;
    if (!scan_row(scan, &n))
        return false;
    if (n > CSV_MAX_FIELDS)
        return fail(&again, again.at, "more than 4096 columns");
    csv->columns = xmalloc(n * sizeof *csv->columns);
    struct buf names; /* never moves: no name is longer than its field */
    buf_init(&names, BUF_NO_MAX);
    buf_reserve(&names, scan->at - again.at + 1);
    csv->names = names.p;
    for (; csv->n_columns < n; again.at++) {
        struct scan before = again;
        struct cell cell;
        scan_field(&again, &cell);
        size_t from = names.n;
        add_cell(cell, scan->quote, &names);
        struct str name = buf_str_from(&names, from);
        if (name.n == 0)
            return fail(&before, before.at, "a column without a name");
        if (!map_add(seen, name, 0, NULL))
            return fail(&before, before.at, "a column name that stands twice");
        csv->columns[csv->n_columns++] = name;
    }
    return true;
}

static bool scan_rows(struct scan *scan, struct csv *csv)
{
    size_t cap = 0;
    while (find_row(scan)) {
        struct scan row = *scan;
        size_t fields;
        if (!scan_row(scan, &fields))
            return false;
        if (fields != csv->n_columns) {
            fail(&row, row.at, "a row of the wrong length");
            scan->error->fields = fields;
            return false;
        }
        if (csv->n_rows == cap) {
            cap = cap ? cap * 2 : 64;
            csv->rows = xrealloc(csv->rows, cap * sizeof *csv->rows);
        }
        csv->rows[csv->n_rows++] = (uint32_t)row.at;
    }
    csv->rows = xrealloc(csv->rows, csv->n_rows * sizeof *csv->rows);
    return true;
}

bool csv_parse(struct str text, char quote, struct csv *csv, struct csv_error *error)
{
    if (str_starts(text, STR("\xef\xbb\xbf")))
        text = str_skip(text, 3);
    *csv = (struct csv){.text = text, .quote = quote};
    unsigned char stops[256] = {0};
    stops['\0'] = stops['\n'] = stops['\r'] = STOP_BARE | STOP_QUOTED;
    stops[','] = STOP_BARE;
    stops[(unsigned char)quote] |= STOP_QUOTED;
    struct scan scan = {.text = text, .quote = quote, .line = 1, .stops = stops, .error = error};
    if (text.n > CSV_MAX_BYTES)
        return fail(&scan, 0, "more than 4 GiB");
    struct map seen;
    map_init(&seen);
    bool ok = scan_heading(&scan, csv, &seen) && scan_rows(&scan, csv);
    map_fini(&seen);
    if (!ok)
        csv_fini(csv);
    return ok;
}

void csv_fini(struct csv *csv)
{
    free(csv->columns);
    free(csv->names);
    free(csv->rows);
    *csv = (struct csv){0};
}

size_t csv_column(const struct csv *csv, struct str name)
{
    for (size_t i = 0; i < csv->n_columns; i++)
        if (str_eq(csv->columns[i], name))
            return i;
    return SIZE_MAX;
}

/* The cell that begins at *at of a text that is known to be sound; *at is then at the next one. */
static struct cell next_cell(const struct csv *csv, size_t *at)
{
    const char *p = csv->text.p + *at, *end = csv->text.p + csv->text.n;
    const char *start = p;
    bool quoted = p < end && *p == csv->quote;
    if (quoted) {
        start++;
        do
            p = memchr(p + 1, csv->quote, (size_t)(end - p - 1));
        while (p + 1 < end && p[1] == csv->quote && p++);
    } else {
        while (p < end && *p != ',' && *p != '\n' && *p != '\r')
            p++;
    }
    struct cell cell = {{start, (size_t)(p - start)}, quoted};
    *at = (size_t)(p - csv->text.p) + quoted + 1;
    return cell;
}

bool csv_field(const struct csv *csv, size_t row, size_t column, struct buf *out)
{
    size_t at = csv->rows[row];
    struct cell cell = next_cell(csv, &at);
    while (column--)
        cell = next_cell(csv, &at);
    return add_cell(cell, csv->quote, out);
}

static bool add_cell_json(struct cell cell, char quote, struct buf *out)
{
    if (!cell.quoted)
        return json_quote(out, cell.raw);
    if (!json_quote(out, take_piece(&cell.raw, quote)))
        return false;
    while (cell.raw.n) {
        size_t joint = --out->n; /* the piece's opening quote and the closing one before it go */
        if (!json_quote(out, take_piece(&cell.raw, quote)))
            return false;
        memmove(out->p + joint, out->p + joint + 1, out->n - joint - 1);
        out->n--;
    }
    return true;
}

bool csv_row_json(const struct csv *csv, size_t row, struct buf *out)
{
    size_t at = csv->rows[row];
    for (size_t i = 0; i < csv->n_columns; i++) {
        buf_add_char(out, i ? ',' : '{');
        json_quote(out, csv->columns[i]);
        buf_add_char(out, ':');
        if (!add_cell_json(next_cell(csv, &at), csv->quote, out))
            return false;
    }
    buf_add_char(out, '}');
    return !out->full;
}
