/* links: plan base */
/*
 * CSV tables: of what is accepted, each field must be what its row's JSON says.
 *
 * Input: the quote character, the table.
 */
#include "base/json.h"
#include "base/text.h"
#include "fuzz.h"
#include "plan/csv.h"

#define CELLS_MAX 20000

static void check_row(const struct csv *csv, size_t row)
{
    struct buf json, field, text;
    struct str checked, value;

    buf_init(&json, BUF_NO_MAX);
    buf_init(&field, BUF_NO_MAX);
    buf_init(&text, BUF_NO_MAX);
    CHECK(csv_row_json(csv, row, &json));
    CHECK(json_check(buf_str(&json), &checked));
    for (size_t i = 0; i < csv->n_columns; i++) {
        struct json_key key = {.text = csv->columns[i]};

        buf_reset(&field);
        buf_reset(&text);
        CHECK(csv_column(csv, csv->columns[i]) == i);
        CHECK(csv_field(csv, row, i, &field));
        CHECK(field.n <= csv->text.n);
        /* What is no UTF-8 is not the same in JSON, and two such names may be one key there. */
        if (!utf8_valid(csv->text))
            continue;
        CHECK(json_find(checked, &key, 1, &value) && json_text(value, &text));
        CHECK(str_eq(buf_str(&text), buf_str(&field)));
    }
    buf_fini(&json);
    buf_fini(&field);
    buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = fuzz_input(data, size);
    char quote = (char)fuzz_byte(&text);
    struct csv_error error = {0};
    struct csv csv;

    if (quote <= ' ' || quote == 0x7f || quote == ',')
        quote = '"';
    if (!csv_parse(text, quote, &csv, &error)) {
        CHECK(error.text && error.line > 0 && error.column > 0);
        return 0;
    }
    CHECK(csv.n_columns > 0);
    for (size_t row = 0; row < csv.n_rows && row * csv.n_columns < CELLS_MAX; row++)
        check_row(&csv, row);
    csv_fini(&csv);
    return 0;
}
