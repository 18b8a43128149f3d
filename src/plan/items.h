/*
 * Item sources: the lists that a step is repeated over. Built when the plan is read, shared by all
 * threads, never changed.
 */
#ifndef PLAN_ITEMS_H
#define PLAN_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/faults.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/str.h"
#include "plan/yaml.h"

struct items;

/* Which of a step's keys names an item source ("with_items", …), or NULL. */
struct yaml_node *items_node(const struct yaml_node *step, const char **key);

/*
 * Builds the source that `step` (a mapping of the plan in `file`) asks for: with_items,
 * with_items_range, with_items_from_csv, with_items_from_file, shuffle, pick. *out is NULL if it
 * asks for none. Every fault is added (with its place in the plan or in the data file); false if
 * any was an error. Two sources in one step are an error; so are shuffle or pick without a source.
 * rng: for shuffles.
 */
bool items_build(const struct yaml_node *step, struct str file, struct rng *rng,
                 struct faults *faults, struct items **out);
void items_free(struct items *items);

uint64_t items_count(const struct items *items);

/* Appends the text that the path `keys` has in item i (n = 0: the item itself; a list or mapping
 * as compact JSON, null as nothing); false if the item has no such path. On the request path:
 * allocates nothing but out. */
bool items_text(const struct items *items, uint64_t i, const struct json_key *keys, size_t n,
                struct buf *out);

#endif
