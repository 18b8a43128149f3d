/* links: plan base */
/*
 * Any bytes as people and other programs are shown them: on a terminal, as a JSON string, as a YAML
 * scalar, which must be read back.
 */
#include "base/json.h"
#include "base/text.h"
#include "base/yamlscalar.h"
#include "fuzz.h"
#include "plan/yaml.h"

static void check_printable(struct str text)
{
    struct buf out;
    struct str rest;

    buf_init(&out, BUF_NO_MAX);
    CHECK(text_printable(&out, text, SIZE_MAX));
    CHECK(text_width(buf_str(&out)) == text_width(text));
    for (rest = buf_str(&out); rest.n;) {
        size_t n;
        uint32_t code = utf8_decode(rest, &n);

        CHECK(code >= ' ' && code != 0x7f && !(code >= 0x80 && code < 0xa0));
        CHECK(code <= 0x10ffff && !(code >= 0x202a && code <= 0x202e));
        CHECK(!(code >= 0x2066 && code <= 0x2069));
        rest = str_skip(rest, n);
    }
    buf_reset(&out);
    CHECK(text_printable(&out, text, 10) && utf8_valid(buf_str(&out)));
    buf_reset(&out);
    CHECK(text_pad(&out, text, 20) && text_width(buf_str(&out)) >= 20);
    buf_fini(&out);
}

static void check_quoted(struct str text, struct str repaired)
{
    struct buf quoted, again;
    struct str checked;

    buf_init(&quoted, BUF_NO_MAX);
    buf_init(&again, BUF_NO_MAX);
    CHECK(json_quote(&quoted, text) && json_check(buf_str(&quoted), &checked));
    CHECK(json_text(checked, &again) && str_eq(buf_str(&again), repaired));
    buf_fini(&quoted);
    buf_fini(&again);
}

static void check_scalar(struct str text, struct str repaired, bool keep_type)
{
    struct buf list;
    struct faults faults;
    struct arena arena;
    const struct yaml_node *root;

    buf_init(&list, BUF_NO_MAX);
    faults_init(&faults);
    arena_init(&arena);
    buf_add_str(&list, STR("- "));
    yaml_scalar(&list, text, keep_type);
    CHECK(str_find(buf_str(&list), '\n') == list.n);
    buf_add_str(&list, STR("\n- end\n"));
    root = yaml_parse((struct yaml_source){STR("text"), buf_str(&list)}, &arena, &faults);
    CHECK(root && root->kind == YAML_SEQUENCE && root->n == 2);
    CHECK(root->items[0]->kind == YAML_SCALAR && str_eq(root->items[0]->text, repaired));
    if (keep_type && root->items[0]->plain) {
        double number;
        bool truth;

        CHECK(!yaml_is_null(root->items[0]) && !yaml_as_bool(root->items[0], &truth));
        CHECK(!yaml_as_double(root->items[0], &number));
    }
    arena_fini(&arena);
    faults_fini(&faults);
    buf_fini(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = fuzz_input(data, size);
    struct buf repaired;

    buf_init(&repaired, BUF_NO_MAX);
    CHECK(utf8_repair(&repaired, text) && utf8_valid(buf_str(&repaired)));
    CHECK(!utf8_valid(text) || str_eq(text, buf_str(&repaired)));
    check_printable(text);
    check_quoted(text, buf_str(&repaired));
    check_scalar(text, buf_str(&repaired), true);
    check_scalar(text, buf_str(&repaired), false);
    buf_fini(&repaired);
    return 0;
}
