/* A mapping's pairs as they stand in a file, made into the pairs that hold. For plan/yaml.c. */
#ifndef PLAN_YAML_PAIRS_H
#define PLAN_YAML_PAIRS_H

#include <stddef.h>

#include "base/faults.h"
#include "base/mem.h"
#include "base/str.h"
#include "plan/yaml.h"

/*
 * Fills mapping (n, keys, values in the arena) from n pairs, key and value in turn: `<<` gives way
 * to the pairs it merges, unless the mapping has their key itself or an earlier mapping of the
 * merge has it. A key that stands twice and a `<<` of anything but mappings are added as errors.
 * O(n log n).
 */
void yaml_pairs(struct yaml_node *mapping, struct yaml_node *const *pairs, size_t n,
                struct str file, struct arena *arena, struct faults *faults);

#endif
