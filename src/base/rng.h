/* A seeded generator of pseudo-random numbers (xoshiro256**, Blackman and Vigna 2018; seeded by
 * splitmix64). Not for secrets. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng {
    uint64_t s[4];
};

void rng_seed(struct rng *rng, uint64_t seed);
/* A seed from the kernel, for runs without --seed. */
uint64_t rng_random_seed(void);
uint64_t rng_next(struct rng *rng);
/* Uniform in 0 … bound-1 without bias; bound > 0. */
uint64_t rng_below(struct rng *rng, uint64_t bound);
/* Fisher–Yates over n numbers. */
void rng_shuffle_u32(struct rng *rng, uint32_t *items, size_t n);

#endif
