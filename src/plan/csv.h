/*
 * CSV by RFC 4180 over a file kept whole in memory: a table of where each row begins, and a reader
 * of one field of one row, so that a million rows cost the file and four bytes each. Pure.
 */
#ifndef PLAN_CSV_H
#define PLAN_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

#define CSV_MAX_BYTES 0xffffffffu
#define CSV_MAX_FIELDS 4096
#define CSV_MAX_CELL (10u << 20)

struct csv {
    struct str text; /* borrowed, a byte-order mark passed over */
    char quote;
    struct str *columns; /* the names of the first row, unquoted; owned */
    size_t n_columns;
    char *names;    /* their bytes; owned */
    uint32_t *rows; /* where each data row begins; owned */
    size_t n_rows;
};

/* Where and why a table is none; line counts physical lines from 1, column bytes from 1. */
struct csv_error {
    unsigned line, column;
    const char *text; /* static */
    size_t fields;    /* for a row of the wrong length: how many it has; else 0 */
};

/*
 * Checks all of text and fills csv (csv_fini frees it; text stays the caller's). quote is neither a
 * comma nor a line break. Lines end with LF, CR LF or CR, the last one need not; blank lines are
 * passed over; a field is quoted if it begins with the quote, which stands twice in it for itself.
 * A row of the wrong length, an unclosed quote, text after a closing quote, a column name that is
 * empty or stands twice, a NUL, no heading at all: false, *error, and nothing to free. Linear in
 * text.n.
 */
bool csv_parse(struct str text, char quote, struct csv *csv, struct csv_error *error);
void csv_fini(struct csv *csv);

/* The column of that name, or SIZE_MAX. */
size_t csv_column(const struct csv *csv, struct str name);
/* Appends the text of one field, unquoted; row < n_rows, column < n_columns. */
bool csv_field(const struct csv *csv, size_t row, size_t column, struct buf *out);
/* Appends a row as a JSON object of strings, without blanks. */
bool csv_row_json(const struct csv *csv, size_t row, struct buf *out);

#endif
