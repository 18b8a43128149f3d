#include "run/pacer.h"

#include <math.h>

static void find_next(struct pacer *pacer)
{
    double index = pacer->arrival == ARRIVAL_POISSON
                       ? pacer->expected
                       : (double)(pacer->id + pacer->taken * pacer->workers);
    uint64_t ns = pacer->taken < pacer->limit ? profile_when(pacer->profile, index) : PROFILE_NEVER;
    pacer->next_ns = ns == PROFILE_NEVER ? PROFILE_NEVER : pacer->start_ns + ns;
}

/* Exponential gaps: the expected arrivals between two of one worker. */
static void pass_gap(struct pacer *pacer)
{
    double u = (double)(rng_next(&pacer->rng) >> 11) * 0x1p-53;
    pacer->expected -= log1p(-u) * pacer->workers;
}

void pacer_init(struct pacer *pacer, const struct profile *profile, enum arrival arrival,
                unsigned id, unsigned workers, uint64_t limit, uint64_t seed)
{
    *pacer = (struct pacer){.profile = profile,
                            .arrival = arrival,
                            .id = id,
                            .workers = workers,
                            .limit = limit ? limit / workers + (id < limit % workers) : UINT64_MAX,
                            .next_ns = PROFILE_NEVER};
    rng_seed(&pacer->rng, seed + id);
}

void pacer_start(struct pacer *pacer, uint64_t start_ns)
{
    pacer->start_ns = start_ns;
    pacer->taken = 0;
    pacer->expected = 0;
    if (pacer->arrival == ARRIVAL_POISSON) {
        pass_gap(pacer);
    }
    find_next(pacer);
}

void pacer_take(struct pacer *pacer)
{
    pacer->taken++;
    if (pacer->arrival == ARRIVAL_POISSON) {
        pass_gap(pacer);
    }
    find_next(pacer);
}

uint64_t pacer_overdue(struct pacer *pacer, uint64_t now_ns)
{
    uint64_t before = pacer->taken;
    if (pacer->next_ns >= now_ns) { /* and thus not PROFILE_NEVER below */
        return 0;
    }
    if (pacer->arrival == ARRIVAL_POISSON) {
        while (pacer->next_ns < now_ns) {
            pacer_take(pacer);
        }
        return pacer->taken - before;
    }
    /* Of the arrivals 0, 1, … that are due by then, every workers-th is this worker's. */
    double arrivals = profile_arrivals(pacer->profile, now_ns - pacer->start_ns);
    double due = ceil(arrivals * PROFILE_ALL_BUT_ROUNDING - pacer->id);
    uint64_t mine = due > 0 ? ((uint64_t)due + pacer->workers - 1) / pacer->workers : 0;
    mine = mine < pacer->limit ? mine : pacer->limit;
    return mine > before ? mine - before : 0;
}
