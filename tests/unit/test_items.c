/* links: plan base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "plan/items.h"

/* The folder of the plan and its data files. */
static char folder[] = "/tmp/driller-items-XXXXXX";
static const char *const files[] = {"u.csv", "q.csv",    "r.csv",     "h.csv", "e.csv",
                                    "l.txt", "crlf.txt", "empty.txt", "p.yml"};

static void path_of(const char *name, char path[64])
{
    snprintf(path, 64, "%s/%s", folder, name);
}

static void write_file(const char *name, struct str text)
{
    char path[64];

    path_of(name, path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text.p, 1, text.n, file), text.n);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    write_file("u.csv", STR("id,name,note\n70,Ada,\"a, b\"\n73,Grace,\"say \"\"hi\"\"\"\n"));
    write_file("q.csv", STR("t\n'it''s'\n"));
    write_file("r.csv", STR("a,b\n1,2\n3\n"));
    write_file("h.csv", STR("a,b\n"));
    write_file("e.csv", STR(""));
    write_file("l.txt", STR("alpha\nbeta\n\ngamma"));
    write_file("crlf.txt", STR("\xef\xbb\xbf"
                               "alpha\r\nbeta\r\n\r\n"));
    write_file("empty.txt", STR(""));
    return 0;
}

static int tear_down(void **state)
{
    char path[64];

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        path_of(files[i], path);
        unlink(path);
    }
    return rmdir(folder);
}

/* The step of the plan folder/p.yml that is this text. Faults are added to out, one a line
 * ("FILE:LINE:COLUMN TEXT", warnings with "! "). */
static struct items *build(const char *step, uint64_t seed, bool ok, struct buf *out)
{
    char path[64];
    struct arena arena;
    struct faults faults;
    struct rng rng;
    struct items *items = NULL;

    path_of("p.yml", path);
    arena_init(&arena);
    faults_init(&faults);
    rng_seed(&rng, seed);
    struct yaml_source source = {str_of(path), str_of(step)};
    struct yaml_node *node = yaml_parse(source, &arena, &faults);
    assert_non_null(node);
    assert_int_equal(items_build(node, source.file, &rng, &faults, &items), ok);
    assert_true((faults.errors == 0) == ok);
    for (size_t i = 0; i < faults.n; i++) {
        const struct fault *fault = &faults.items[i];
        const char *name = strrchr(fault->file, '/');

        assert_non_null(name);
        buf_addf(out, "%s%s:%u:%u %s\n", fault->severity == SEVERITY_WARNING ? "! " : "", name + 1,
                 fault->line, fault->column, fault->text);
    }
    faults_fini(&faults);
    arena_fini(&arena); /* items keep nothing of the plan's text */
    return items;
}

/* The text of `path` ("a/0/b"; NULL: the item itself) in each item, each before a ';'. */
static void add_texts(const struct items *items, const char *path, struct buf *out)
{
    struct json_key keys[4];
    char parts[32], *rest = NULL;
    size_t n = 0;

    snprintf(parts, sizeof(parts), "%s", path ? path : "");
    for (char *part = strtok_r(parts, "/", &rest); part; part = strtok_r(NULL, "/", &rest)) {
        keys[n] = (struct json_key){.text = str_of(part)};
        keys[n].is_index = str_to_u64(keys[n].text, &keys[n].index);
        n++;
    }
    for (uint64_t i = 0; i < items_count(items); i++) {
        size_t before = out->n;
        if (!items_text(items, i, keys, n, out)) {
            assert_int_equal(out->n, before);
            buf_add_char(out, '-');
        }
        buf_add_char(out, ';');
    }
}

static void check(const char *step, const char *path, const char *expected)
{
    struct buf out;

    buf_init(&out, BUF_NO_MAX);
    struct items *items = build(step, 1, true, &out);
    assert_non_null(items);
    add_texts(items, path, &out);
    items_free(items);
    buf_add_char(&out, '\0');
    assert_string_equal(out.p, expected);
    buf_fini(&out);
}

static void refuse(const char *step, const char *expected)
{
    struct buf out;

    buf_init(&out, BUF_NO_MAX);
    assert_null(build(step, 1, false, &out));
    buf_add_char(&out, '\0');
    assert_string_equal(out.p, expected);
    buf_fini(&out);
}

static void test_list(void **state)
{
    (void)state;
    check("with_items: [70, two, 3.5, true, null, ~, '', yes, 010, 0x1F, 1e3, 'a: b', ~x]", NULL,
          "70;two;3.5;true;;;;yes;010;0x1F;1e3;a: b;~x;");
    check("with_items:\n- {id: 70, n: {m: [1, 2.50]}, z: 010}\n- x\n- [1, null, 'a\"']\n", NULL,
          "{\"id\":70,\"n\":{\"m\":[1,2.50]},\"z\":\"010\"};x;[1,null,\"a\\\"\"];");
    check("with_items: [{id: 70, n: {m: [1, 2.50]}}, {id: null}, x, [a]]", "id", "70;;-;-;");
    check("with_items: [{n: {m: [1, 2.50]}}, {n: [0, 1]}]", "n/m/1", "2.50;-;");
    check("with_items: [[a, b], {'1': c}]", "1", "b;c;");
    check("x: &l [1, 2]\nwith_items: *l", NULL, "1;2;");
    check("with_items: []", NULL,
          "! p.yml:1:13 with_items gives no items: the step sends nothing\n");
}

static void test_range(void **state)
{
    (void)state;
    check("with_items_range: {start: 70, step: 5, stop: 80}", NULL, "70;75;80;");
    check("with_items_range: {start: 70, step: 5, stop: 79}", NULL, "70;75;");
    check("with_items_range: {start: -1, stop: 1}", NULL, "-1;0;1;");
    check("with_items_range: {start: 5, step: -2, stop: 0}", NULL, "5;3;1;");
    check("with_items_range: {start: 0x10, stop: 16}", NULL, "16;");
    check("with_items_range: {start: 1, stop: 2}", "a", "-;-;");
    check("with_items_range: {start: -9223372036854775808, step: 9223372036854775807, "
          "stop: 9223372036854775807}",
          NULL, "-9223372036854775808;-1;9223372036854775806;");
    check("with_items_range: {start: 9223372036854775807, step: -9223372036854775808, "
          "stop: -9223372036854775808}",
          NULL, "9223372036854775807;-1;");
    check("with_items_range: {start: 5, stop: 2}", NULL,
          "! p.yml:1:19 with_items_range gives no items: the step sends nothing\n");
    check("with_items_range: {start: 1, stop: 2, setp: 1}", NULL,
          "! p.yml:1:39 with_items_range has no key 'setp'\n1;2;");
}

static void test_wide_range(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, BUF_NO_MAX);
    struct items *items = build("with_items_range: {start: -9223372036854775808, "
                                "stop: 9223372036854775806}",
                                1, true, &out);
    assert_true(items_count(items) == UINT64_MAX);
    assert_true(items_text(items, UINT64_MAX - 1, NULL, 0, &out));
    assert_true(str_eq(buf_str(&out), STR("9223372036854775806")));
    items_free(items);
    buf_fini(&out);
}

static void test_range_errors(void **state)
{
    (void)state;
    refuse("with_items_range: {start: 1, stop: foo}",
           "p.yml:1:36 stop of with_items_range is no whole number\n");
    refuse("with_items_range: {step: 1.5}",
           "p.yml:1:19 with_items_range has no start\np.yml:1:19 with_items_range has no stop\n"
           "p.yml:1:26 step of with_items_range is no whole number\n");
    refuse("with_items_range: {start: 1, step: 0, stop: 2}",
           "p.yml:1:36 step of with_items_range is 0: the range would never end\n");
    refuse("with_items_range: {start: 1, stop: 9223372036854775808}",
           "p.yml:1:36 stop of with_items_range is no whole number\n");
    refuse("with_items_range: [1, 2]", "p.yml:1:19 with_items_range must be a mapping\n");
    refuse("with_items_range: {start: '{{ a }}', stop: 2}",
           "p.yml:1:27 with_items_range cannot hold templates: it is read once, before the run\n");
}

static void test_csv(void **state)
{
    (void)state;
    check("with_items_from_csv: u.csv", "id", "70;73;");
    check("with_items_from_csv: ./u.csv", "note", "a, b;say \"hi\";");
    check("with_items_from_csv: {file_name: u.csv}", NULL,
          "{\"id\":\"70\",\"name\":\"Ada\",\"note\":\"a, b\"};"
          "{\"id\":\"73\",\"name\":\"Grace\",\"note\":\"say \\\"hi\\\"\"};");
    check("with_items_from_csv: u.csv", "nope", "-;-;");
    check("with_items_from_csv: u.csv", "id/0", "-;-;");
    check("with_items_from_csv: {file_name: q.csv, quote_char: \"'\"}", "t", "it's;");
    check("with_items_from_csv: h.csv", NULL,
          "! p.yml:1:22 with_items_from_csv gives no items: the step sends nothing\n");
    refuse("with_items_from_csv: r.csv",
           "r.csv:3:1 the row has another number of fields (1) than the heading\n");
    refuse("with_items_from_csv: e.csv", "e.csv:1:1 there is no heading: the file is empty\n");
    refuse("with_items_from_csv: {quote_char: x}",
           "p.yml:1:22 with_items_from_csv has no file_name\n");
    refuse("with_items_from_csv: {file_name: u.csv, quote_char: ab}",
           "p.yml:1:53 quote_char must be one ASCII character that is neither blank nor comma\n");
    refuse("with_items_from_csv: {file_name: u.csv, quote_char: ','}",
           "p.yml:1:53 quote_char must be one ASCII character that is neither blank nor comma\n");
    refuse("with_items_from_csv: '{{ f }}.csv'", "p.yml:1:22 with_items_from_csv cannot hold "
                                                 "templates: it is read once, before the run\n");
    refuse("with_items_from_csv: [u.csv]", "p.yml:1:22 with_items_from_csv must name a file\n");
    refuse("with_items_from_csv: \"u\\0.csv\"",
           "p.yml:1:22 with_items_from_csv must name a file\n");
}

static void test_file(void **state)
{
    (void)state;
    check("with_items_from_file: l.txt", NULL, "alpha;beta;;gamma;");
    check("with_items_from_file: crlf.txt", NULL, "alpha;beta;;");
    check("with_items_from_file: l.txt", "a", "-;-;-;-;");
    check("with_items_from_file: empty.txt", NULL,
          "! p.yml:1:23 with_items_from_file gives no items: the step sends nothing\n");
}

static void test_missing_file(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, BUF_NO_MAX);
    assert_null(build("a: 1\nwith_items_from_file: sub/none.txt", 1, false, &out));
    assert_true(str_starts(buf_str(&out), STR("p.yml:2:23 cannot read '")));
    assert_true(str_ends(buf_str(&out), STR("/sub/none.txt': No such file or directory\n")));
    buf_reset(&out);
    assert_null(build("with_items_from_csv: /dev/zero", 1, false, &out));
    assert_true(
        str_eq(buf_str(&out), STR("p.yml:1:22 cannot read '/dev/zero': is not a regular file\n")));
    buf_fini(&out);
}

static void test_pick(void **state)
{
    (void)state;
    check("with_items: [a, b, c]\npick: 2", NULL, "a;b;");
    check("with_items: [a, b, c]\npick: 3\nshuffle: false", NULL, "a;b;c;");
    check("with_items_range: {start: 1, stop: 9}\npick: 1", NULL, "1;");
    refuse("with_items: [a]\npick: 9", "p.yml:2:7 pick is 9, more than there are items (1)\n");
    refuse("with_items: [a]\npick: 0", "p.yml:2:7 pick must be a whole number from 1 on\n");
    refuse("with_items: [a]\npick: two", "p.yml:2:7 pick must be a whole number from 1 on\n");
    refuse("pick: 2", "p.yml:1:7 pick without items to take from\n");
    refuse("shuffle: true", "p.yml:1:10 shuffle without items to take from\n");
    refuse("with_items: [a]\nshuffle: yes", "p.yml:2:10 shuffle must be true or false\n");
    refuse("with_items_range: {start: 1, stop: 100000001}\nshuffle: true",
           "p.yml:2:10 more than 100000000 items cannot be shuffled\n");
}

static int by_value(const void *a, const void *b)
{
    const char *x = a, *y = b;
    return *x - *y;
}

static void test_shuffle(void **state)
{
    static const char *const steps[] = {
        "with_items: [a, b, c, d, e, f, g, h, i, j]\nshuffle: true",
        "with_items: [a, b, c, d, e, f, g, h, i, j]\nshuffle: true\npick: 4",
    };
    struct buf first, again, other;

    (void)state;
    buf_init(&first, BUF_NO_MAX);
    buf_init(&again, BUF_NO_MAX);
    buf_init(&other, BUF_NO_MAX);
    struct items *items = build(steps[0], 1, true, &first);
    add_texts(items, NULL, &first);
    items_free(items);
    items = build(steps[0], 1, true, &again);
    add_texts(items, NULL, &again);
    items_free(items);
    items = build(steps[1], 1, true, &other);
    add_texts(items, NULL, &other);
    items_free(items);
    assert_true(str_eq(buf_str(&first), buf_str(&again)));
    assert_true(other.n == 8 && str_starts(buf_str(&first), buf_str(&other)));
    assert_false(str_eq(buf_str(&first), STR("a;b;c;d;e;f;g;h;i;j;")));
    buf_reset(&other);
    items = build(steps[0], 2, true, &other);
    add_texts(items, NULL, &other);
    items_free(items);
    assert_false(str_eq(buf_str(&first), buf_str(&other)));
    qsort(first.p, first.n / 2, 2, by_value);
    assert_true(str_eq(buf_str(&first), STR("a;b;c;d;e;f;g;h;i;j;")));
    buf_fini(&first);
    buf_fini(&again);
    buf_fini(&other);
}

static void test_sources(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, BUF_NO_MAX);
    assert_null(build("request: {url: /}", 1, true, &out));
    buf_fini(&out);
    refuse("with_items: [1]\nwith_items_from_file: l.txt",
           "p.yml:2:23 a step with both with_items and with_items_from_file\n");
    refuse("with_items: l.txt", "p.yml:1:13 with_items must be a list\n");
    refuse("with_items:", "p.yml:1:12 with_items must be a list\n");
    refuse("with_items:\n- a\n- {k: ['x {{ y }}']}",
           "p.yml:3:8 with_items cannot hold templates: it is read once, before the run\n");
    refuse("with_items:\n- {'{{ k }}': 1}",
           "p.yml:2:4 with_items cannot hold templates: it is read once, before the run\n");
}

static void test_node(void **state)
{
    struct arena arena;
    struct faults faults;
    const char *key = NULL;

    (void)state;
    arena_init(&arena);
    faults_init(&faults);
    struct yaml_source source = {STR("p.yml"), STR("- {with_items_range: {}}\n- {tags: a}\n")};
    struct yaml_node *steps = yaml_parse(source, &arena, &faults);
    assert_non_null(steps);
    assert_ptr_equal(items_node(steps->items[0], &key), steps->items[0]->items[0]);
    assert_string_equal(key, "with_items_range");
    assert_null(items_node(steps->items[1], &key));
    faults_fini(&faults);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),         cmocka_unit_test(test_range),
        cmocka_unit_test(test_wide_range),   cmocka_unit_test(test_range_errors),
        cmocka_unit_test(test_csv),          cmocka_unit_test(test_file),
        cmocka_unit_test(test_missing_file), cmocka_unit_test(test_pick),
        cmocka_unit_test(test_shuffle),      cmocka_unit_test(test_sources),
        cmocka_unit_test(test_node),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
