/* links: plan base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "base/mem.h"
#include "plan/csv.h"

#include "vectors.h"

/* The whole table as JSON rows, one a line; or "LINE:COLUMN (FIELDS) TEXT" of the error. */
static void show(struct str text, char quote, struct buf *out)
{
    /* A copy of its exact size, so that a look past its end is seen. */
    char *copy = xmalloc(text.n);
    struct csv csv;
    struct csv_error error;

    if (text.n)
        memcpy(copy, text.p, text.n);
    buf_reset(out);
    if (csv_parse((struct str){copy, text.n}, quote, &csv, &error)) {
        for (size_t i = 0; i < csv.n_rows; i++) {
            csv_row_json(&csv, i, out);
            buf_add_char(out, '\n');
        }
        csv_fini(&csv);
    } else {
        buf_addf(out, "%u:%u (%zu) %s", error.line, error.column, error.fields, error.text);
    }
    free(copy);
}

static void check(struct str text, char quote, const char *expected)
{
    struct buf out;

    buf_init(&out, BUF_NO_MAX);
    show(text, quote, &out);
    buf_add_char(&out, '\0');
    assert_string_equal(out.p, expected);
    buf_fini(&out);
}

static void test_tables(void **state)
{
    static const struct {
        struct str text;
        char quote;
        const char *expected;
    } cases[] = {
        {STR("a,b\n1,2\n3,4\n"), '"', "{\"a\":\"1\",\"b\":\"2\"}\n{\"a\":\"3\",\"b\":\"4\"}\n"},
        {STR("a,b\r\n1,2\r\n3,4"), '"', "{\"a\":\"1\",\"b\":\"2\"}\n{\"a\":\"3\",\"b\":\"4\"}\n"},
        {STR("a\r1\r2"), '"', "{\"a\":\"1\"}\n{\"a\":\"2\"}\n"},
        {STR("\xef\xbb\xbf\"a\"\n1\n"), '"', "{\"a\":\"1\"}\n"},
        {STR("\n\r\na,b\n\n1,2\n\n\r\n3,4\n\n"), '"',
         "{\"a\":\"1\",\"b\":\"2\"}\n{\"a\":\"3\",\"b\":\"4\"}\n"},
        {STR("a,b\n,\n"), '"', "{\"a\":\"\",\"b\":\"\"}\n"},
        {STR("a,b\n1,"), '"', "{\"a\":\"1\",\"b\":\"\"}\n"},
        {STR("a\n\"\"\n"), '"', "{\"a\":\"\"}\n"},
        {STR("a,b\n\"x, y\",\"say \"\"hi\"\"\"\n"), '"',
         "{\"a\":\"x, y\",\"b\":\"say \\\"hi\\\"\"}\n"},
        {STR("a\n\"\"\"\"\n\"\"\"\"\"\"\n"), '"', "{\"a\":\"\\\"\"}\n{\"a\":\"\\\"\\\"\"}\n"},
        {STR("a,b\n\"1\n2\r\n3\",4"), '"', "{\"a\":\"1\\n2\\r\\n3\",\"b\":\"4\"}\n"},
        {STR("a\nit \"is\" bare\n"), '"', "{\"a\":\"it \\\"is\\\" bare\"}\n"},
        {STR("t\n'{\"a\": \"it''s\"}'\n"), '\'', "{\"t\":\"{\\\"a\\\": \\\"it's\\\"}\"}\n"},
        {STR("\"a\"\"b\",\" c \"\n 1 ,2\n"), '"', "{\"a\\\"b\":\" 1 \",\" c \":\"2\"}\n"},
        {STR("a,b\n"), '"', ""},
        {STR("a,b"), '"', ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        check(cases[i].text, cases[i].quote, cases[i].expected);
}

static void test_errors(void **state)
{
    static const struct {
        struct str text;
        const char *expected;
    } cases[] = {
        {STR(""), "1:1 (0) there is no heading: the file is empty"},
        {STR("\xef\xbb\xbf\n\n"), "3:1 (0) there is no heading: the file is empty"},
        {STR("a,b\n1,2\n3\n4,5\n"), "3:1 (1) a row of the wrong length"},
        {STR("a,b\n\"1\n1\",2\n1,2,3\n"), "4:1 (3) a row of the wrong length"},
        {STR("a,b\n1,\"x\ny\n"), "2:3 (0) the quote that opens here is never closed"},
        {STR("a\n\""), "2:1 (0) the quote that opens here is never closed"},
        {STR("a\n\"\"\""), "2:1 (0) the quote that opens here is never closed"},
        {STR("a\n\"1\"x\n"), "2:4 (0) text after the closing quote"},
        {STR("a\n\"1\r\n2\" \n"), "3:3 (0) text after the closing quote"},
        {STR("a,b,a\n"), "1:5 (0) a column name that stands twice"},
        {STR("a,\"a\"\n"), "1:3 (0) a column name that stands twice"},
        {STR("a,,b\n"), "1:3 (0) a column without a name"},
        {STR("a,\n"), "1:3 (0) a column without a name"},
        {STR("a\nx\0y\n"), "2:2 (0) a NUL byte: this is no text"},
        {STR("a\n\"x\0y\"\n"), "2:3 (0) a NUL byte: this is no text"},
        {STR("\0"), "1:1 (0) a NUL byte: this is no text"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        check(cases[i].text, '"', cases[i].expected);
}

static void test_limits(void **state)
{
    struct buf text;

    (void)state;
    buf_init(&text, BUF_NO_MAX);
    for (unsigned i = 0; i < CSV_MAX_FIELDS; i++)
        buf_addf(&text, "%sc%u", i ? "," : "", i);
    check(buf_str(&text), '"', "");
    buf_add_str(&text, STR(",x"));
    check(buf_str(&text), '"', "1:1 (0) more than 4096 columns");

    struct csv csv;
    struct csv_error error;
    buf_reset(&text);
    buf_add_char(&text, 'a');
    for (unsigned i = 0; i < 1000; i++)
        buf_addf(&text, "\n%u", i);
    assert_true(csv_parse(buf_str(&text), '"', &csv, &error));
    assert_int_equal(csv.n_rows, 1000);
    struct buf last;
    buf_init(&last, BUF_NO_MAX);
    assert_true(csv_field(&csv, 999, 0, &last) && str_eq(buf_str(&last), STR("999")));
    buf_fini(&last);
    csv_fini(&csv);

    buf_reset(&text);
    buf_add_str(&text, STR("a\n\""));
    buf_add_fill(&text, 'x', CSV_MAX_CELL + 1);
    buf_add_char(&text, '"');
    check(buf_str(&text), '"', "2:10485764 (0) a field of more than 10 MiB ends here");
    buf_fini(&text);
}

static void test_field(void **state)
{
    struct str text = STR("id,name,note\n1,Ada,\"a, \"\"b\"\"\"\n2,\"\",c");
    struct csv csv;
    struct csv_error error;
    struct buf out;

    (void)state;
    buf_init(&out, 8);
    assert_true(csv_parse(text, '"', &csv, &error));
    assert_int_equal(csv.n_rows, 2);
    assert_int_equal(csv_column(&csv, STR("id")), 0);
    assert_int_equal(csv_column(&csv, STR("note")), 2);
    assert_true(csv_column(&csv, STR("Note")) == SIZE_MAX);
    assert_true(csv_field(&csv, 0, 0, &out) && csv_field(&csv, 0, 2, &out));
    assert_true(str_eq(buf_str(&out), STR("1a, \"b\"")));
    assert_true(csv_field(&csv, 1, 1, &out));
    assert_int_equal(out.n, 7);
    assert_true(csv_field(&csv, 1, 2, &out));
    assert_false(csv_field(&csv, 1, 0, &out));
    assert_true(out.full);
    csv_fini(&csv);
    buf_fini(&out);
}

/* A buffer that ends anywhere in a field or a row: refused, unless all of it fits. */
static void test_full(void **state)
{
    struct str text = STR("a,\"b\"\"\",c\n1,\"x\"\"y\"\"\"\"z\",\"\"\n\"\"\"\",2,\"\n\"\n");
    struct csv csv;
    struct csv_error error;

    (void)state;
    assert_true(csv_parse(text, '"', &csv, &error));
    for (size_t i = 0; i < csv.n_rows * (csv.n_columns + 1); i++) {
        size_t row = i / (csv.n_columns + 1), column = i % (csv.n_columns + 1);
        bool one = column < csv.n_columns;
        struct buf whole, out;

        buf_init(&whole, BUF_NO_MAX);
        assert_true(one ? csv_field(&csv, row, column, &whole) : csv_row_json(&csv, row, &whole));
        for (size_t max = 0; max <= whole.n; max++) {
            buf_init(&out, max);
            bool ok = one ? csv_field(&csv, row, column, &out) : csv_row_json(&csv, row, &out);
            assert_int_equal(ok, max == whole.n);
            assert_int_equal(out.full, !ok);
            if (ok)
                assert_true(str_eq(buf_str(&out), buf_str(&whole)));
            buf_fini(&out);
        }
        buf_fini(&whole);
    }
    csv_fini(&csv);
}

/* Whatever is cut off, what is left is read or refused, never read beyond. */
static void test_truncations(void **state)
{
    struct str text = STR("\xef\xbb\xbf\"a\",b\r\n\"x\"\"y\r\n\",\"2\"\r\n\n\"\",\"\"\n1,2");
    struct buf out;

    (void)state;
    buf_init(&out, BUF_NO_MAX);
    for (size_t n = 0; n <= text.n; n++)
        show((struct str){text.p, n}, '"', &out);
    assert_true(str_ends(buf_str(&out), STR("{\"a\":\"1\",\"b\":\"2\"}\n")));
    buf_fini(&out);
}

/* Each field of each row against the value that an object of rows has of that name. */
static void compare(const struct csv *csv, struct str rows)
{
    struct json_key row = {.is_index = true};
    struct str values, value;
    struct buf field, expected;

    buf_init(&field, BUF_NO_MAX);
    buf_init(&expected, BUF_NO_MAX);
    for (; json_find(rows, &row, 1, &values); row.index++) {
        assert_true(row.index < csv->n_rows);
        for (size_t i = 0; i < csv->n_columns; i++) {
            struct json_key name = {.text = csv->columns[i]};

            buf_reset(&field);
            buf_reset(&expected);
            assert_true(json_find(values, &name, 1, &value) && json_text(value, &expected));
            assert_true(csv_field(csv, row.index, i, &field));
            assert_true(str_eq(buf_str(&field), buf_str(&expected)));
        }
    }
    assert_int_equal(row.index, csv->n_rows);
    buf_fini(&field);
    buf_fini(&expected);
}

/* csv-spectrum. One of its answers is not that of its file and is passed over. */
static void test_spectrum(void **state)
{
    struct vectors vectors;
    struct str one, rows;
    struct buf name, text;

    (void)state;
    vectors_open(&vectors, "csv");
    buf_init(&name, BUF_NO_MAX);
    buf_init(&text, BUF_NO_MAX);
    while (vectors_next(&vectors, &one)) {
        struct json_key key = {.text = STR("rows")};
        struct csv csv;
        struct csv_error error;

        vectors_text(one, "name", &name);
        vectors_bytes(one, &text);
        assert_true(csv_parse(buf_str(&text), '"', &csv, &error));
        assert_true(json_find(one, &key, 1, &rows));
        if (!str_eq(buf_str(&name), STR("location_coordinates")))
            compare(&csv, rows);
        csv_fini(&csv);
    }
    assert_true(vectors.count >= 12);
    buf_fini(&name);
    buf_fini(&text);
    vectors_close(&vectors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),      cmocka_unit_test(test_errors),
        cmocka_unit_test(test_limits),      cmocka_unit_test(test_field),
        cmocka_unit_test(test_truncations), cmocka_unit_test(test_spectrum),
        cmocka_unit_test(test_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
