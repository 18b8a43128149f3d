#include "base/map.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"

#define FIRST_CAP 16 /* a power of two, as every cap */

void map_init(struct map *map)
{
    *map = (struct map){.seed = {rng_random_seed(), rng_random_seed()}};
}

void map_fini(struct map *map)
{
    free(map->entries);
    *map = (struct map){0};
}

static uint64_t rotate(uint64_t x, unsigned bits)
{
    return (x << bits) | (x >> (64 - bits));
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32) + v[3];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
}

/* SipHash-1-3 (Aumasson and Bernstein 2012). */
static uint64_t hash_of(const struct map *map, struct str key)
{
    uint64_t v[4] = {
        map->seed[0] ^ 0x736f6d6570736575,
        map->seed[1] ^ 0x646f72616e646f6d,
        map->seed[0] ^ 0x6c7967656e657261,
        map->seed[1] ^ 0x7465646279746573,
    };

    for (size_t i = 0; i <= key.n; i += 8) {
        size_t left = key.n - i;
        uint64_t word = left < 8 ? (uint64_t)key.n << 56 : 0;
        uint64_t bytes = 0;

        memcpy(&bytes, key.p + i, left < 8 ? left : 8);
        word |= bytes;
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* The entry of a key, or the free place where it belongs. There is always a free one. */
static struct map_entry *place_of(const struct map *map, struct str key, uint64_t hash)
{
    size_t i = hash & (map->cap - 1);

    for (;; i = (i + 1) & (map->cap - 1)) {
        struct map_entry *entry = &map->entries[i];

        if (!entry->key.p || (entry->hash == hash && str_eq(entry->key, key)))
            return entry;
    }
}

static void grow(struct map *map)
{
    struct map_entry *old = map->entries;
    size_t old_cap = map->cap;

    map->cap = old_cap ? old_cap * 2 : FIRST_CAP;
    map->entries = xcalloc(map->cap, sizeof(*map->entries));
    for (size_t i = 0; i < old_cap; i++) {
        if (old[i].key.p)
            *place_of(map, old[i].key, old[i].hash) = old[i];
    }
    free(old);
}

/* Free places are told by their NULL, so an empty key needs an address too. */
static struct str addressed(struct str key)
{
    return key.p ? key : STR("");
}

bool map_add(struct map *map, struct str key, uint32_t value, uint32_t *old)
{
    struct map_entry *entry;
    uint64_t hash;

    key = addressed(key);
    if (map->n * 4 >= map->cap * 3)
        grow(map);
    hash = hash_of(map, key);
    entry = place_of(map, key, hash);
    if (entry->key.p) {
        if (old)
            *old = entry->value;
        return false;
    }
    *entry = (struct map_entry){key, hash, value};
    map->n++;
    return true;
}

bool map_get(const struct map *map, struct str key, uint32_t *value)
{
    const struct map_entry *entry;

    if (map->n == 0)
        return false;
    key = addressed(key);
    entry = place_of(map, key, hash_of(map, key));
    if (!entry->key.p)
        return false;
    *value = entry->value;
    return true;
}
