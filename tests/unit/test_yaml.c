/* links: plan base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "plan/yaml.h"

#include "vectors.h"

/* What parsing text comes to: the faults as "LINE:COLUMN TEXT" (warnings with "! "), one a line,
 * then the document as JSON or as block YAML. */
static void parse(struct str text, bool block, struct buf *out)
{
    /* A copy of its exact size, so that a look past its end is seen. */
    char *copy = xmalloc(text.n);
    struct arena arena;
    struct faults faults;

    if (text.n)
        memcpy(copy, text.p, text.n);
    arena_init(&arena);
    faults_init(&faults);
    struct yaml_source source = {STR("p.yml"), {copy, text.n}};
    struct yaml_node *node = yaml_parse(source, &arena, &faults);
    free(copy);
    assert_true((node == NULL) == (faults.errors > 0));
    for (size_t i = 0; i < faults.n; i++) {
        const struct fault *fault = &faults.items[i];

        assert_string_equal(fault->file, "p.yml");
        buf_addf(out, "%s%u:%u %s\n", fault->severity == SEVERITY_WARNING ? "! " : "", fault->line,
                 fault->column, fault->text);
    }
    if (node && block)
        yaml_emit(node, 0, out);
    else if (node)
        yaml_json(node, out);
    faults_fini(&faults);
    arena_fini(&arena);
}

static void check(struct str text, bool block, const char *expected)
{
    struct buf out;

    buf_init(&out, BUF_NO_MAX);
    parse(text, block, &out);
    buf_add_char(&out, '\0');
    assert_string_equal(out.p, expected);
    buf_fini(&out);
}

static void test_documents(void **state)
{
    static const struct {
        struct str text;
        const char *expected;
    } cases[] = {
        {STR("a: 1\nb: [x, {c: d}]\n"), "{\"a\":1,\"b\":[\"x\",{\"c\":\"d\"}]}"},
        {STR("# c\n---\na: 1\n"), "{\"a\":1}"},
        {STR("%YAML 1.2\n---\na: 1\n...\n# c\n...\n"), "{\"a\":1}"},
        {STR("\xef\xbb\xbf"
             "a: 1\r\nb: 2\r\n"),
         "{\"a\":1,\"b\":2}"},
        {STR("a: 1\n---\nb: [\n"), "! 2:1 only the first document is read; another begins here\n"
                                   "{\"a\":1}"},
        {STR("a: 1\n...\n# \xe2\x82\xac\n\nb\n"),
         "! 5:1 only the first document is read; another begins here\n{\"a\":1}"},
        {STR("\xe2\x82\xac: \xe2\x82\xac\n--- x\n"),
         "! 2:1 only the first document is read; another begins here\n"
         "{\"\xe2\x82\xac\":\"\xe2\x82\xac\"}"},
        {STR("a: 'x --- y'\nb: |\n  ---\n  z\n"), "{\"a\":\"x --- y\",\"b\":\"---\\nz\\n\"}"},
        {STR("a: \"x\\0y\\u20ac\"\n"), "{\"a\":\"x\\u0000y\xe2\x82\xac\"}"},
        {STR("- &a {k: 1}\n- *a\n- &a 2\n- *a\n"), "[{\"k\":1},{\"k\":1},2,2]"},
        {STR("&k a: 1\nb: *k\n*k : 2\n"),
         "3:1 the key 'a' stands twice; it is in line 1 already\n"},
        {STR("a: !!str 12\nb: !!int \"12\"\nc: !x y\n"), "{\"a\":\"12\",\"b\":12,\"c\":\"y\"}"},
        {STR("[010, 0x1F, 1e3, 2.50, +5, .5, -0, 1_000, yes, 2001-02-03, .inf, ~x]"),
         "[\"010\",\"0x1F\",1e3,2.50,\"+5\",\".5\",-0,\"1_000\",\"yes\",\"2001-02-03\",\".inf\","
         "\"~x\"]"},
        {STR("[true, False, null, ~, '', 'true', \"1\", 'null']"),
         "[true,false,null,null,\"\",\"true\",\"1\",\"null\"]"},
        {STR("\r\r\n\r%YAML\t1.2\r---\ra: 1\r...\r...\r# c\r"), "{\"a\":1}"},
        {STR("# \xc2\xa0\xc2\x85# \xe2\x80\xa7\xe2\x80\xa8#\xe2\x81\x80\xe2\x80\xa9"
             "%YAML 1.2\n---\na: 1\n"),
         "{\"a\":1}"},
        {STR("a: {q: 1, p: 2, o: 3, n: 4, m: 5, l: 6, k: 7, j: 8, i: 9, h: 0, g: 1, f: 2, e: 3, "
             "d: 4, c: 5, b: 6, a: 7}\n"),
         "{\"a\":{\"q\":1,\"p\":2,\"o\":3,\"n\":4,\"m\":5,\"l\":6,\"k\":7,\"j\":8,\"i\":9,\"h\":0,"
         "\"g\":1,\"f\":2,\"e\":3,\"d\":4,\"c\":5,\"b\":6,\"a\":7}}"},
        {STR("a:\nb: {}\nc: []\n"), "{\"a\":null,\"b\":{},\"c\":[]}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        check(cases[i].text, false, cases[i].expected);
}

static void test_merge(void **state)
{
    (void)state;
    check(STR("x: &h {A: 1, B: 2}\ny: {C: 0, <<: *h, B: 3}\n"), false,
          "{\"x\":{\"A\":1,\"B\":2},\"y\":{\"C\":0,\"A\":1,\"B\":3}}");
    check(STR("[&a {k: 1, l: 1}, &b {k: 2, m: 2}, {<<: [*a, *b]}, {<<: {n: 1}}]"), false,
          "[{\"k\":1,\"l\":1},{\"k\":2,\"m\":2},{\"k\":1,\"l\":1,\"m\":2},{\"n\":1}]");
    check(STR("'<<': 1\n"), false, "{\"<<\":1}");
    check(STR("<<: [{a: 1}, 2]\nb: 1\n"), false,
          "1:5 '<<' merges a mapping or a list of mappings, nothing else\n");
    check(STR("<<: {a: 1}\n<<: {b: 1}\n"), false,
          "2:1 the key '<<' stands twice; it is in line 1 already\n");
}

/* Of a key that is long, a fault tells a hundred bytes. */
static void test_long_key(void **state)
{
    struct buf text, expected;

    (void)state;
    buf_init(&text, BUF_NO_MAX);
    buf_init(&expected, BUF_NO_MAX);
    for (int i = 0; i < 2; i++) {
        buf_add_fill(&text, 'k', 101);
        buf_add_str(&text, STR(": 1\n"));
    }
    buf_add_str(&expected, STR("2:1 the key '"));
    buf_add_fill(&expected, 'k', 100);
    buf_add_str(&expected, STR("' stands twice; it is in line 1 already\n"));
    buf_add_char(&expected, '\0');
    check(buf_str(&text), false, expected.p);
    buf_fini(&text);
    buf_fini(&expected);
}

static void test_errors(void **state)
{
    static const struct {
        struct str text;
        const char *expected;
    } cases[] = {
        {STR(""), "1:1 the file is empty\n"},
        {STR("# only a comment\n"), "1:1 the file is empty\n"},
        {STR("---\n"), "1:1 the file is empty\n"},
        {STR("a: 1\nb: 1\n\na: 2\nb: 3\n"),
         "4:1 the key 'a' stands twice; it is in line 1 already\n"
         "5:1 the key 'b' stands twice; it is in line 2 already\n"},
        {STR("a:\n\t- b\n"), "2:1 a tab in the indentation\n"},
        {STR("a: b: c\n"), "1:5 a ': ' where no key can stand\n"},
        {STR("a:\n  - b\n c: d\n"), "3:2 this does not fit the mapping around it\n"},
        {STR("a: 1\nfoo\nb: 2\n"), "2:1 this is neither 'key: value' nor '- item'\n"},
        {STR("a: \"abc\n"), "1:4 the quote that opens here is never closed\n"},
        {STR("a: 'abc\n---\n"), "1:4 the quote that opens here is never closed\n"},
        {STR("\xe2\x82\xac: @b\n"), "1:4 text cannot begin with '@'\n"},
        {STR("[a]\nb: c\n"), "2:1 this does not belong to what stands before it\n"},
        {STR("? [a]\n: b\n"), "1:3 a key must be a text, not a list or mapping\n"},
        {STR("a: *x\n"), "1:4 nothing before the alias '*x' has that name\n"},
        {STR("a: &x [1, *x]\n"), "1:11 the alias '*x' stands within what it names\n"},
        {STR("%TAG ! x\n---\na: 1\n"), "1:1 the only directive that is read is %YAML\n"},
        {STR("# c\r\n\n%FOO\n---\n"), "3:1 the only directive that is read is %YAML\n"},
        {STR("a: \xe2\x82\xac\xff\n"), "1:5 the byte 0xFF is no UTF-8\n"},
        {STR("a: b\nc: \xe9t\xe9\n"), "2:4 the byte 0xE9 is no UTF-8\n"},
        {STR("a: b\r\nc: x\0y\n"), "2:5 a NUL byte: this is no text\n"},
        {STR("a: b\rc: d\r\xff"), "3:1 the byte 0xFF is no UTF-8\n"},
        {STR("a: b\nc: \xe2\x82x\n"), "2:4 the byte 0xE2 is no UTF-8\n"},
        {STR("# c\r\r%FOO\r"), "3:1 the only directive that is read is %YAML\n"},
        {STR("#\xc2\x85#\xe2\x80\xa8#\xe2\x80\xa9%FOO"),
         "4:1 the only directive that is read is %YAML\n"},
        {STR("# \xc2"), "1:3 the byte 0xC2 is no UTF-8\n"},
        {STR("# \xe2\x80"), "1:3 the byte 0xE2 is no UTF-8\n"},
        {STR("%YAML 1.2"), "2:1 expected '---' after the directive\n"},
        {STR("<<: 1\nb: 1\n"), "1:5 '<<' merges a mapping or a list of mappings, nothing else\n"},
        {STR("\xfe\xff\0a\0:"), "1:1 the file is UTF-16, not UTF-8\n"},
        {STR("a: \x1b\n"), "1:4 the control character U+001B may not stand in YAML\n"},
        {STR("\xff\xfe"
             "a\0:\0"),
         "1:1 the file is UTF-16, not UTF-8\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        check(cases[i].text, false, cases[i].expected);
}

static void repeat(struct buf *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_add_str(out, str_of(text));
}

static void test_depth(void **state)
{
    struct buf text;

    (void)state;
    buf_init(&text, BUF_NO_MAX);
    repeat(&text, "[", YAML_MAX_DEPTH);
    repeat(&text, "]", YAML_MAX_DEPTH);
    check(buf_str(&text), false, text.p ? strndupa(text.p, text.n) : "");

    buf_reset(&text);
    repeat(&text, "[", 100000);
    check(buf_str(&text), false, "1:65 lists and mappings are nested more than 64 deep\n");
    buf_reset(&text);
    repeat(&text, "? ", 20000);
    check(buf_str(&text), false, "1:129 lists and mappings are nested more than 64 deep\n");

    /* What an alias stands for is as deep as it is where it was written. */
    buf_reset(&text);
    buf_add_str(&text, STR("- &a "));
    repeat(&text, "[", 40);
    repeat(&text, "]", 40);
    buf_add_str(&text, STR("\n- "));
    repeat(&text, "[", 23);
    buf_add_str(&text, STR("*a"));
    repeat(&text, "]", 23);
    struct buf out;
    buf_init(&out, BUF_NO_MAX);
    parse(buf_str(&text), false, &out);
    assert_true(str_starts(buf_str(&out), STR("[[[[")));
    buf_reset(&text);
    buf_add_str(&text, STR("- &a "));
    repeat(&text, "[", 40);
    repeat(&text, "]", 40);
    buf_add_str(&text, STR("\n- "));
    repeat(&text, "[", 24);
    buf_add_str(&text, STR("*a"));
    buf_reset(&out);
    parse(buf_str(&text), false, &out);
    assert_true(str_starts(buf_str(&out), STR("2:27 lists and mappings are nested")));
    buf_fini(&out);
    buf_fini(&text);
}

static void test_counts(void **state)
{
    static const char nodes[] =
        " more than 100000 values (an alias counts as all that it stands for)\n";
    struct buf text, out;

    (void)state;
    buf_init(&text, BUF_NO_MAX);
    buf_init(&out, BUF_NO_MAX);
    /* One list and its items: exactly as many as may be, then one more. */
    repeat(&text, "- 1\n", YAML_MAX_NODES - 1);
    parse(buf_str(&text), false, &out);
    assert_int_equal(out.n, 2 * YAML_MAX_NODES - 1);
    buf_add_str(&text, STR("- 1\n"));
    buf_reset(&out);
    parse(buf_str(&text), false, &out);
    assert_true(str_starts(buf_str(&out), STR("100000:3")) &&
                str_ends(buf_str(&out), str_of(nodes)));

    /* Data has a limit of its own. */
    buf_reset(&text);
    buf_add_str(&text, STR("with_items:\n"));
    repeat(&text, "- 1\n", YAML_MAX_NODES + 1);
    buf_reset(&out);
    parse(buf_str(&text), false, &out);
    assert_true(str_starts(buf_str(&out), STR("{\"with_items\":[1,")));

    /* Ten times as much with each line. */
    buf_reset(&text);
    buf_add_str(&text, STR("a: &a [x,x,x,x,x,x,x,x,x,x]\n"));
    for (char c = 'b'; c < 'j'; c++) {
        buf_addf(&text, "%c: &%c [", c, c);
        for (int i = 0; i < 10; i++)
            buf_addf(&text, "%s*%c", i ? "," : "", c - 1);
        buf_add_str(&text, STR("]\n"));
    }
    buf_reset(&out);
    parse(buf_str(&text), false, &out);
    assert_true(str_starts(buf_str(&out), STR("5:29")) && str_ends(buf_str(&out), str_of(nodes)));

    /* Few nodes, but of much text. */
    buf_reset(&text);
    buf_add_str(&text, STR("a: &a "));
    buf_add_fill(&text, 'x', 1 << 20);
    buf_add_str(&text, STR("\nb:\n"));
    repeat(&text, "- *a\n", 64);
    buf_reset(&out);
    parse(buf_str(&text), false, &out);
    assert_true(str_eq(buf_str(&out), STR("65:3 aliases make more than 64 MiB of the file\n")));

    buf_reset(&text);
    buf_add_fill(&text, '#', YAML_MAX_BYTES + 1);
    buf_reset(&out);
    parse(buf_str(&text), false, &out);
    assert_true(str_eq(buf_str(&out), STR("0:0 the file is larger than 16 MiB\n")));
    buf_fini(&text);
    buf_fini(&out);
}

static void test_places(void **state)
{
    struct arena arena;
    struct faults faults;
    struct yaml_source source = {STR("p.yml"),
                                 STR("---\nplan:\n  - \xe2\x82\xac: x\n    b: [1, y]\n")};

    (void)state;
    arena_init(&arena);
    faults_init(&faults);
    struct yaml_node *root = yaml_parse(source, &arena, &faults);
    assert_non_null(root);
    struct yaml_node *plan = yaml_get(root, "plan");
    assert_int_equal(plan->kind, YAML_SEQUENCE);
    assert_int_equal(plan->n, 1);
    struct yaml_node *b = yaml_get(plan->items[0], "b");
    struct place at = yaml_place(source.file, b->items[1]);
    assert_int_equal(at.line, 4);
    assert_int_equal(at.column, 12);
    assert_true(str_eq(at.file, STR("p.yml")));
    assert_int_equal(plan->items[0]->items[0]->column, 8);
    assert_null(yaml_get(root, "b"));
    assert_null(yaml_get(b, "b"));
    arena_fini(&arena);
    faults_fini(&faults);
}

static void test_schema(void **state)
{
    struct yaml_node node = {.kind = YAML_SCALAR, .plain = true};
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } numbers[] = {
        {"0", true, 0},
        {"12", true, 12},
        {"-3", true, -3},
        {"+3", true, 3},
        {"010", true, 10},
        {"0x1F", true, 31},
        {"0xff", true, 255},
        {"0o17", true, 15},
        {"0o18", false, 0},
        {"0x", false, 0},
        {"0xg", false, 0},
        {"1_000", false, 0},
        {"1e3", false, 0},
        {"1.0", false, 0},
        {"", false, 0},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"0x7fffffffffffffff", true, INT64_MAX},
        {"0x8000000000000000", false, 0},
    };
    int64_t whole;
    double number;
    bool truth;

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        node.text = str_of(numbers[i].text);
        assert_int_equal(yaml_as_i64(&node, &whole), numbers[i].ok);
        if (numbers[i].ok)
            assert_int_equal(whole, numbers[i].value);
    }
    node.text = STR("0x10");
    assert_true(yaml_as_double(&node, &number) && number == 16);
    node.text = STR("2.5e1");
    assert_true(yaml_as_double(&node, &number) && number == 25);
    node.text = STR(".inf");
    assert_false(yaml_as_double(&node, &number));
    node.text = STR("True");
    assert_true(yaml_as_bool(&node, &truth) && truth);
    node.text = STR("FALSE");
    assert_true(yaml_as_bool(&node, &truth) && !truth);
    node.text = STR("yes");
    assert_false(yaml_as_bool(&node, &truth) || yaml_is_null(&node));
    node.text = STR("~");
    assert_true(yaml_is_null(&node));
    node.text = STR("");
    assert_true(yaml_is_null(&node));

    node.plain = false;
    assert_false(yaml_is_null(&node));
    node.text = STR("1");
    assert_false(yaml_as_i64(&node, &whole) || yaml_as_double(&node, &number));
    node.text = STR("true");
    assert_false(yaml_as_bool(&node, &truth));
}

static void test_emit(void **state)
{
    (void)state;
    check(STR("name: one\nrequest: {url: '/echo?t=one'}\ntags: [one, '2', yes]\n"), true,
          "name: one\nrequest:\n  url: /echo?t=one\ntags:\n- one\n- '2'\n- yes\n");
    check(STR("- [[1, []], {}]\n- {a: [b, {c: d, e: f}], g: }\n- 'a: b'\n"), true,
          "- - - 1\n    - []\n  - {}\n- a:\n  - b\n  - c: d\n    e: f\n  g: null\n- 'a: b'\n");
    check(STR("x: &h {A: 1}\n'1': *h\n"), true, "x:\n  A: 1\n'1':\n  A: 1\n");
    check(STR("just text\n"), true, "just text\n");
    check(STR("{a: 1, ? }\n"), true, "a: 1\n'': null\n");
}

/* Every event as a letter or its text; stops at "stop". */
static bool note(void *ctx, const struct yaml_event *event)
{
    struct buf *out = ctx;

    if (event->kind != YAML_EV_SCALAR)
        return buf_add_char(out, "?[]{}"[event->kind]);
    buf_addf(out, event->plain ? "%u:%u %.*s;" : "%u:%u '%.*s';", event->line, event->column,
             (int)event->text.n, event->text.p);
    return !str_eq(event->text, STR("stop"));
}

static void walk(struct str text, bool ok, const char *expected)
{
    struct buf out;
    struct faults faults;

    buf_init(&out, BUF_NO_MAX);
    faults_init(&faults);
    assert_int_equal(yaml_walk((struct yaml_source){STR("r.yml"), text}, note, &out, &faults), ok);
    assert_int_equal(faults.errors, !ok);
    buf_add_char(&out, '\0');
    assert_string_equal(out.p, expected);
    buf_fini(&out);
    faults_fini(&faults);
}

static void test_walk(void **state)
{
    struct buf text;

    (void)state;
    walk(STR("- name: a\n  duration: '1.5'\n- []\n"), true,
         "[{1:3 name;1:9 a;2:3 duration;2:13 '1.5';}[]]");
    walk(STR(""), true, "");
    walk(STR("\xff\xfe"), false, "");
    walk(STR("- stop\n- [\n"), true, "[1:3 stop;");
    walk(STR("- a\n- [\n"), false, "[1:3 a;[");
    walk(STR("- &a a\n- *a\n"), false, "[1:3 a;");
    buf_init(&text, BUF_NO_MAX);
    repeat(&text, "[", YAML_MAX_DEPTH + 1);
    walk(buf_str(&text), false, "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[");
    buf_fini(&text);
}

/* yaml-test-suite: libyaml accepts some of what it should not and refuses some of what it should
 * accept; each refusal must name its place (which parse checks), and most verdicts agree. */
static void test_suite(void **state)
{
    struct vectors vectors;
    struct str one;
    struct buf must, text, out;
    size_t refused = 0, wrong = 0;

    (void)state;
    vectors_open(&vectors, "yaml");
    buf_init(&must, BUF_NO_MAX);
    buf_init(&text, BUF_NO_MAX);
    buf_init(&out, BUF_NO_MAX);
    while (vectors_next(&vectors, &one)) {
        unsigned line = 0, column = 0;

        vectors_text(one, "must", &must);
        vectors_bytes(one, &text);
        buf_reset(&out);
        parse(buf_str(&text), false, &out);
        buf_add_char(&out, '\0');
        bool failed = sscanf(out.p, "%u:%u ", &line, &column) == 2;
        assert_true(!failed || (line > 0 && column > 0));
        refused += failed;
        wrong += failed && *must.p != 'f';
    }
    assert_true(vectors.count >= 402);
    assert_true(refused >= 79 && wrong < 90);
    buf_fini(&must);
    buf_fini(&text);
    buf_fini(&out);
    vectors_close(&vectors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documents), cmocka_unit_test(test_merge),
        cmocka_unit_test(test_errors),    cmocka_unit_test(test_depth),
        cmocka_unit_test(test_counts),    cmocka_unit_test(test_places),
        cmocka_unit_test(test_schema),    cmocka_unit_test(test_emit),
        cmocka_unit_test(test_walk),      cmocka_unit_test(test_suite),
        cmocka_unit_test(test_long_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
