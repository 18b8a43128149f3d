#include "plan/tags.h"

#include "plan/compile.h"

static bool is_among(struct str tag, const struct str *tags, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(tag, tags[i]))
            return true;
    }
    return false;
}

static void tag_set_add(struct tag_set *set, struct str tag, const struct plan_options *options)
{
    bool chosen = is_among(tag, options->tags, options->n_tags);

    if (str_eq(tag, STR("never")))
        set->never = set->never || !chosen;
    set->always = set->always || str_eq(tag, STR("always"));
    set->chosen = set->chosen || chosen;
    set->left_out = set->left_out || is_among(tag, options->skip_tags, options->n_skip_tags);
}

bool tag_set_runs(struct tag_set set, const struct plan_options *options)
{
    if (set.left_out || set.never)
        return false;
    return options->n_tags == 0 || set.chosen || set.always;
}

static void add(struct compiler *c, struct tag_set *set, struct str tag)
{
    struct plan *plan = c->plan;

    tag_set_add(set, tag, c->options);
    if (map_get(&c->tags, tag, &(uint32_t){0}))
        return;
    tag = arena_copy(&plan->arena, tag);
    map_add(&c->tags, tag, (uint32_t)plan->n_tags, NULL);
    plan->tags = compile_grow(plan->tags, plan->n_tags, &c->cap_tags, sizeof(*plan->tags));
    plan->tags[plan->n_tags++] = tag;
}

static void bad_tag(struct compiler *c, struct place at)
{
    faults_error(c->faults, at, "tags: [one, two]", "a tag must be a text that is not empty");
}

/* One tag, or several with commas between. */
static void add_text(struct compiler *c, struct tag_set *set, struct str text, struct place at)
{
    for (;;) {
        size_t comma = str_find(text, ',');
        struct str tag = str_trim((struct str){text.p, comma});

        if (tag.n)
            add(c, set, tag);
        else
            bad_tag(c, at);
        if (comma == text.n)
            return;
        text = str_skip(text, comma + 1);
    }
}

struct tag_set tags_compile(struct compiler *c, const struct source *source,
                            const struct yaml_node *step, struct tag_set inherited)
{
    const struct yaml_node *tags = yaml_get(step, "tags");
    struct tag_set set = inherited;

    if (!tags || yaml_is_null(tags))
        return set;
    if (tags->kind == YAML_SCALAR) {
        add_text(c, &set, tags->text, yaml_place(source->file, tags));
    } else if (tags->kind == YAML_MAPPING) {
        bad_tag(c, yaml_place(source->file, tags));
    } else {
        for (size_t i = 0; i < tags->n; i++) {
            const struct yaml_node *item = tags->items[i];
            bool is_tag = item->kind == YAML_SCALAR && !yaml_is_null(item) && item->text.n;

            if (is_tag)
                add(c, &set, item->text);
            else
                bad_tag(c, yaml_place(source->file, item));
        }
    }
    return set;
}
