#include "stats/verdict.h"

#include <stdio.h>

#include "base/clock.h"

#define BUSY 0.95
#define LATE 0.01

static char *next(struct verdict *verdict)
{
    return verdict->warnings[verdict->n++];
}

static double to_ms(uint64_t ns)
{
    return (double)ns / (double)NS_PER_MS;
}

static void judge_cpu(struct verdict *verdict, const struct snapshot *snapshot)
{
    if (snapshot->busy < BUSY || snapshot->spins)
        return;
    snprintf(next(verdict), sizeof(*verdict->warnings),
             "a worker thread was at %.0f %% of a CPU: use more --worker-threads%s",
             snapshot->busy * 100, snapshot->open_loop ? ", or a lower rate" : "");
}

static void judge_lag(struct verdict *verdict, const struct snapshot *snapshot)
{
    uint64_t lag_ns = hist_quantile(&snapshot->schedule_lag, 0.99);
    struct hist latency;
    uint64_t median_ns;

    tally_latency(&snapshot->global, &latency);
    median_ns = hist_quantile(&latency, 0.5);
    hist_fini(&latency);
    if (lag_ns <= NS_PER_MS || lag_ns <= median_ns / 10)
        return;
    snprintf(next(verdict), sizeof(*verdict->warnings),
             "1 in 100 requests was sent %.1f ms or more after it was due: use more "
             "--worker-threads or --concurrency, or a lower rate",
             to_ms(lag_ns));
}

static void judge_starts(struct verdict *verdict, const struct snapshot *snapshot)
{
    uint64_t begun = snapshot->by_request ? snapshot->global.started : snapshot->iterations_started;
    double arrivals = (double)(begun + snapshot->dropped_starts);
    double late = arrivals > 0 ? (double)snapshot->late_starts / arrivals : 0;

    if (late <= LATE)
        return;
    snprintf(next(verdict), sizeof(*verdict->warnings),
             "%.1f %% of the starts found no free user: use more --concurrency, or a lower rate",
             late * 100 > 100 ? 100 : late * 100);
}

static void judge_stops(struct verdict *verdict, const struct snapshot *snapshot)
{
    if (snapshot->stopped == 0)
        return;
    snprintf(next(verdict), sizeof(*verdict->warnings),
             "driller itself was stopped and continued %u time%s: the slowest requests waited for "
             "that, not for the server",
             snapshot->stopped, snapshot->stopped == 1 ? "" : "s");
}

void verdict_make(struct verdict *verdict, const struct snapshot *snapshot)
{
    verdict->n = 0;
    if (snapshot->duration_ns < NS_PER_S)
        return;
    judge_stops(verdict, snapshot);
    judge_cpu(verdict, snapshot);
    if (snapshot->open_loop) {
        judge_lag(verdict, snapshot);
        judge_starts(verdict, snapshot);
    }
}
