#include "base/rng.h"

#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

void rng_seed(struct rng *rng, uint64_t seed)
{
    for (unsigned i = 0; i < 4; i++)
        rng->s[i] = splitmix64(&seed);
}

uint64_t rng_random_seed(void)
{
    uint64_t seed;

    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == (ssize_t)sizeof(seed))
        return seed;
    seed = clock_ns() ^ (uint64_t)getpid() << 40;
    return splitmix64(&seed);
}

static uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

uint64_t rng_next(struct rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

/* Lemire, "Fast random integer generation in an interval", 2019. */
uint64_t rng_below(struct rng *rng, uint64_t bound)
{
    unsigned __int128 product = (unsigned __int128)rng_next(rng) * bound;

    if ((uint64_t)product < bound) {
        uint64_t surplus = -bound % bound; /* 2^64 mod bound */

        while ((uint64_t)product < surplus)
            product = (unsigned __int128)rng_next(rng) * bound;
    }
    return (uint64_t)(product >> 64);
}

void rng_shuffle_u32(struct rng *rng, uint32_t *items, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)rng_below(rng, i);
        uint32_t item = items[i - 1];

        items[i - 1] = items[j];
        items[j] = item;
    }
}
