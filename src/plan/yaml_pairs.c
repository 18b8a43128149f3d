#include "plan/yaml_pairs.h"

#include <stdlib.h>

/* A pair that may hold. Of those with one key, the first in order of rank and place does. */
struct candidate {
    struct yaml_node *key, *value;
    size_t rank; /* 0: the mapping's own; else the number of the merged mapping */
    size_t place;
    bool dropped;
};

struct candidates {
    struct candidate *items;
    size_t n, cap;
    size_t rank; /* the last one given */
};

static void add(struct candidates *list, struct yaml_node *key, struct yaml_node *value,
                size_t rank)
{
    if (list->n == list->cap) {
        list->cap = list->cap ? list->cap * 2 : 16;
        list->items = xrealloc(list->items, list->cap * sizeof *list->items);
    }
    list->items[list->n] = (struct candidate){key, value, rank, list->n, false};
    list->n++;
}

static void add_all(struct candidates *list, const struct yaml_node *mapping)
{
    list->rank++;
    for (size_t i = 0; i < mapping->n; i++)
        add(list, mapping->keys[i], mapping->items[i], list->rank);
}

static bool merge(struct candidates *list, const struct yaml_node *from)
{
    if (from->kind == YAML_MAPPING) {
        add_all(list, from);
        return true;
    }
    if (from->kind != YAML_SEQUENCE)
        return false;
    for (size_t i = 0; i < from->n; i++) {
        if (from->items[i]->kind != YAML_MAPPING)
            return false;
        add_all(list, from->items[i]);
    }
    return true;
}

static int by_place(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return x->place < y->place ? -1 : x->place > y->place;
}

static int by_key(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    int order = str_cmp(x->key->text, y->key->text);
    if (order)
        return order;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return by_place(a, b);
}

static void twice(const struct yaml_node *key, const struct yaml_node *first, struct str file,
                  struct faults *faults)
{
    faults_error(faults, yaml_place(file, key), NULL,
                 "the key '%.*s' stands twice; it is in line %u already",
                 (int)(key->text.n < 100 ? key->text.n : 100), key->text.p, first->line);
}

/* Marks what an earlier pair of the same key takes the place of. */
static void drop_shadowed(struct candidates *list, struct str file, struct faults *faults)
{
    qsort(list->items, list->n, sizeof *list->items, by_key);
    const struct candidate *first = list->items;
    for (size_t i = 1; i < list->n; i++) {
        struct candidate *at = &list->items[i];
        if (!str_eq(at->key->text, first->key->text)) {
            first = at;
            continue;
        }
        at->dropped = true;
        if (at->rank == 0)
            twice(at->key, first->key, file, faults);
    }
    qsort(list->items, list->n, sizeof *list->items, by_place);
}

void yaml_pairs(struct yaml_node *mapping, struct yaml_node *const *pairs, size_t n,
                struct str file, struct arena *arena, struct faults *faults)
{
    struct candidates list = {0};
    const struct yaml_node *merged = NULL;
    for (size_t i = 0; i < n; i++) {
        struct yaml_node *key = pairs[2 * i], *value = pairs[2 * i + 1];
        if (!key->plain || !str_eq(key->text, STR("<<"))) {
            add(&list, key, value, 0);
        } else if (merged) {
            twice(key, merged, file, faults);
        } else {
            merged = key;
            if (!merge(&list, value))
                faults_error(faults, yaml_place(file, value), "<<: *name of a mapping",
                             "'<<' merges a mapping or a list of mappings, nothing else");
        }
    }
    if (list.n)
        drop_shadowed(&list, file, faults);
    mapping->n = 0;
    mapping->keys = arena_alloc(arena, list.n * sizeof *mapping->keys);
    mapping->items = arena_alloc(arena, list.n * sizeof *mapping->items);
    for (size_t i = 0; i < list.n; i++) {
        if (list.items[i].dropped)
            continue;
        mapping->keys[mapping->n] = list.items[i].key;
        mapping->items[mapping->n++] = list.items[i].value;
    }
    free(list.items);
}
