/* links: plan base */
/*
 * YAML documents: what is read must be written so that it reads the same; its JSON must be JSON;
 * the walk of events must agree with the tree.
 */
#include "base/json.h"
#include "base/text.h"
#include "fuzz.h"
#include "plan/yaml.h"

static const struct yaml_node *parse(struct str text, struct arena *arena, size_t *errors)
{
    struct faults faults;
    const struct yaml_node *root;

    faults_init(&faults);
    root = yaml_parse((struct yaml_source){STR("fuzz.yml"), text}, arena, &faults);
    CHECK((root == NULL) == (faults.errors > 0));
    for (size_t i = 0; i < faults.n; i++)
        CHECK(utf8_valid(str_of(faults.items[i].text)));
    *errors = faults.errors;
    faults_fini(&faults);
    return root;
}

static void check_same(const struct yaml_node *a, const struct yaml_node *b)
{
    CHECK(a->kind == b->kind && a->n == b->n);
    if (a->kind == YAML_SCALAR) {
        CHECK(yaml_is_null(a) == yaml_is_null(b));
        CHECK(yaml_is_null(a) || str_eq(a->text, b->text));
    }
    for (size_t i = 0; a->kind != YAML_SCALAR && i < a->n; i++) {
        if (a->kind == YAML_MAPPING)
            CHECK(str_eq(a->keys[i]->text, b->keys[i]->text));
        check_same(a->items[i], b->items[i]);
    }
}

/* A tree may be far larger than its text: what it is written to is not. */
static void check_emitted(const struct yaml_node *root)
{
    struct buf out;
    struct arena arena;
    size_t errors;
    const struct yaml_node *again;

    buf_init(&out, 1 << 20);
    arena_init(&arena);
    if (yaml_emit(root, 0, &out)) {
        again = parse(buf_str(&out), &arena, &errors);
        CHECK(again);
        check_same(root, again);
    }
    arena_fini(&arena);
    buf_fini(&out);
}

static void check_json(const struct yaml_node *root)
{
    struct buf out;
    struct str checked;

    buf_init(&out, 1 << 20);
    if (yaml_json(root, &out))
        CHECK(json_check(buf_str(&out), &checked));
    buf_fini(&out);
}

static size_t count(const struct yaml_node *node)
{
    size_t n = 1;

    for (size_t i = 0; node->kind != YAML_SCALAR && i < node->n; i++)
        n += count(node->items[i]) + (node->kind == YAML_MAPPING);
    return n;
}

struct walk {
    size_t nodes;
    unsigned depth;
};

static bool on_event(void *ctx, const struct yaml_event *event)
{
    struct walk *walk = ctx;

    CHECK(event->line > 0 && event->column > 0);
    if (event->kind == YAML_EV_SEQ_END || event->kind == YAML_EV_MAP_END) {
        CHECK(walk->depth > 0);
        walk->depth--;
        return true;
    }
    walk->nodes++;
    walk->depth += event->kind != YAML_EV_SCALAR;
    CHECK(walk->depth <= YAML_MAX_DEPTH);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = fuzz_input(data, size);
    struct arena arena;
    struct faults faults;
    struct walk walk = {0};
    size_t errors;

    arena_init(&arena);
    faults_init(&faults);
    const struct yaml_node *root = parse(text, &arena, &errors);
    bool walked = yaml_walk((struct yaml_source){STR("fuzz.yml"), text}, on_event, &walk, &faults);
    CHECK(walked == (faults.errors == 0));
    if (root) {
        check_emitted(root);
        check_json(root);
        /* Merges take pairs away. */
        CHECK(!walked || walk.depth == 0);
        CHECK(!walked || count(root) <= walk.nodes);
    }
    faults_fini(&faults);
    arena_fini(&arena);
    return 0;
}
