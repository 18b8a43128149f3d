#include "stats/compare.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"

#define MAX_NAMES 1000000

struct record {
    struct str name; /* owned */
    double sum_ms;
    uint64_t count;
};

struct baseline {
    struct map index; /* name → its record */
    struct record *records;
    size_t n, cap;
};

struct baseline *baseline_new(void)
{
    struct baseline *baseline = xcalloc(1, sizeof(*baseline));

    map_init(&baseline->index);
    return baseline;
}

void baseline_free(struct baseline *baseline)
{
    if (!baseline)
        return;
    for (size_t i = 0; i < baseline->n; i++)
        free((char *)(uintptr_t)baseline->records[i].name.p);
    free(baseline->records);
    map_fini(&baseline->index);
    free(baseline);
}

static struct record *add_record(struct baseline *baseline, struct str name)
{
    struct record *record;

    if (baseline->n == baseline->cap) {
        baseline->cap = baseline->cap ? baseline->cap * 2 : 16;
        baseline->records = xrealloc(baseline->records, baseline->cap * sizeof(*baseline->records));
    }
    record = &baseline->records[baseline->n];
    *record = (struct record){.name = xstr_copy(name)};
    map_add(&baseline->index, record->name, (uint32_t)baseline->n, NULL);
    baseline->n++;
    return record;
}

void baseline_add(struct baseline *baseline, struct str name, double duration_ms)
{
    struct record *record;
    uint32_t i;

    if (map_get(&baseline->index, name, &i))
        record = &baseline->records[i];
    else if (baseline->n < MAX_NAMES)
        record = add_record(baseline, name);
    else
        return;
    record->sum_ms += duration_ms;
    record->count++;
}

bool baseline_mean(const struct baseline *baseline, struct str name, double *mean_ms)
{
    uint32_t i;

    if (!map_get(&baseline->index, name, &i))
        return false;
    *mean_ms = baseline->records[i].sum_ms / (double)baseline->records[i].count;
    return true;
}

/* The mean latency of all requests in ms, out of the exact sums; false if there were none. */
static bool tally_mean(const struct tally *tally, double *mean_ms)
{
    uint64_t count = tally->responses.count + tally->failures.count;
    unsigned __int128 sum = tally->responses.sum + tally->failures.sum;

    if (count == 0)
        return false;
    *mean_ms = (double)sum / (double)count / (double)NS_PER_MS;
    return true;
}

static int by_name(const void *a, const void *b)
{
    const struct regression *left = a, *right = b;

    return str_cmp(left->name, right->name);
}

size_t compare(const struct baseline *baseline, const struct snapshot *snapshot,
               double threshold_ms, struct regression **out)
{
    struct regression *found = xcalloc(snapshot->n_names, sizeof(*found));
    size_t n = 0;

    for (size_t i = 0; i < snapshot->n_names; i++) {
        double now, before;

        if (!tally_mean(&snapshot->steps[i], &now) ||
            !baseline_mean(baseline, snapshot->names[i], &before))
            continue;
        if (now - before > threshold_ms)
            found[n++] = (struct regression){snapshot->names[i], now - before};
    }
    qsort(found, n, sizeof(*found), by_name);
    *out = found;
    return n;
}
