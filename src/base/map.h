/*
 * A table from texts to numbers, for what is looked up by name while something is set up:
 * variables, step names, tags, header names. Keyed hashing (SipHash-1-3), so that no file can
 * choose names that collide.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct map_entry {
    struct str key; /* borrowed; key.p == NULL: the place is free */
    uint64_t hash;
    uint32_t value;
};

struct map {
    struct map_entry *entries;
    size_t n, cap;
    uint64_t seed[2];
};

/* Allocates nothing. */
void map_init(struct map *map);
void map_fini(struct map *map);

/* Adds key → value and returns true; if the key is there already, its value stays, is told in *old
 * (NULL: not wanted), and the result is false. The key's bytes must outlive the map. */
bool map_add(struct map *map, struct str key, uint32_t value, uint32_t *old);

/* The value of a key; false if it has none. */
bool map_get(const struct map *map, struct str key, uint32_t *value);

#endif
