#include "stats/timeline.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

#define MAX_OPEN 1024 /* entries that a source may be behind; what comes later is the oldest's */
#define MAX_SPAN 100
#define REST_NS (100 * NS_PER_MS)

struct open {
    struct window window;
    uint64_t users;
};

struct recent {
    struct window window;
    uint64_t tick;
};

struct source {
    uint64_t next; /* the tick that it counts now */
    uint64_t users;
    bool ended;
};

struct timeline {
    struct timeline_options options;
    struct source *sources;
    struct timeline_entry *entries;
    size_t n, room;
    struct open **open; /* of the entries from n on */
    size_t n_open, room_open;
    uint64_t in_flight; /* at the end of the last entry */
    struct window total;
    unsigned span;         /* ticks of the last second */
    struct recent *recent; /* a ring by tick: those, and the one that some are ahead */
    unsigned n_recent;
};

uint64_t tick_of(const struct ticks *ticks, uint64_t ns)
{
    uint64_t tick = ns / ticks->interval_ns * ticks->parts +
                    ns % ticks->interval_ns * ticks->parts / ticks->interval_ns;

    /* The starts of parts are rounded down. */
    return tick_start(ticks, tick + 1) <= ns ? tick + 1 : tick;
}

/* --- which ticks an entry has: the first max are an interval long, the next max two, … --- */

static uint64_t first_tick(const struct timeline *timeline, size_t entry)
{
    uint64_t round = entry / timeline->options.max, rest = entry % timeline->options.max;
    uint64_t intervals = timeline->options.max * ((1ULL << round) - 1) + (rest << round);

    return intervals * timeline->options.ticks.parts;
}

static size_t entry_of(const struct timeline *timeline, uint64_t tick)
{
    uint64_t interval = tick / timeline->options.ticks.parts;
    uint64_t max = timeline->options.max;
    size_t round = 0;

    while (interval >= max << round) {
        interval -= max << round;
        round++;
    }
    return round * max + (interval >> round);
}

/* --- life --- */

struct timeline *timeline_new(const struct timeline_options *options)
{
    struct timeline *timeline = xcalloc(1, sizeof(*timeline));
    uint64_t second = tick_of(&options->ticks, NS_PER_S);

    timeline->options = *options;
    timeline->sources = xcalloc(options->sources, sizeof(*timeline->sources));
    window_init(&timeline->total, HIST_COARSE);
    timeline->span = second > MAX_SPAN ? MAX_SPAN : second ? (unsigned)second : 1;
    timeline->n_recent = timeline->span + 1;
    timeline->recent = xcalloc(timeline->n_recent, sizeof(*timeline->recent));
    for (size_t i = 0; i < timeline->n_recent; i++) {
        timeline->recent[i].tick = i;
        window_init(&timeline->recent[i].window, HIST_COARSE);
    }
    return timeline;
}

static void open_free(struct open *open)
{
    window_fini(&open->window);
    free(open);
}

void timeline_free(struct timeline *timeline)
{
    if (!timeline)
        return;
    for (size_t i = 0; i < timeline->n_open; i++)
        open_free(timeline->open[i]);
    for (size_t i = 0; i < timeline->n_recent; i++)
        window_fini(&timeline->recent[i].window);
    window_fini(&timeline->total);
    free(timeline->open);
    free(timeline->recent);
    free(timeline->sources);
    free(timeline->entries);
    free(timeline);
}

/* --- entries --- */

static void open_next(struct timeline *timeline)
{
    struct open *open = xcalloc(1, sizeof(*open));

    window_init(&open->window, HIST_COARSE);
    if (timeline->n_open == timeline->room_open) {
        timeline->room_open = timeline->room_open ? 2 * timeline->room_open : 8;
        timeline->open = xrealloc(timeline->open, timeline->room_open * sizeof(struct open *));
    }
    timeline->open[timeline->n_open++] = open;
}

/* What is left of the requests before it, those that it began, less those that it ended. */
static uint64_t in_flight_after(uint64_t before, const struct timeline_entry *entry)
{
    uint64_t left = entry->ended + entry->aborted;

    return before + entry->started > left ? before + entry->started - left : 0;
}

/* The oldest open entry becomes a summary that ends at that moment. */
static void close_first(struct timeline *timeline, uint64_t end_ns)
{
    struct open *open = timeline->open[0];
    const struct window *window = &open->window;
    uint64_t start_ns = tick_start(&timeline->options.ticks, first_tick(timeline, timeline->n));
    struct timeline_entry entry = {
        .start_ns = start_ns,
        .length_ns = end_ns > start_ns ? end_ns - start_ns : 0,
        .started = window->started,
        .ended = window_ended(window),
        .successful = window_successful(window),
        .aborted = window->aborted,
        .iterations = window->iterations,
        .p50_ns = hist_quantile(&window->latency, 0.5),
        .p90_ns = hist_quantile(&window->latency, 0.9),
        .p99_ns = hist_quantile(&window->latency, 0.99),
        .max_ns = window->latency.max,
        .bytes_sent = window->bytes_sent,
        .bytes_received = window->bytes_received,
        .users = open->users,
        .late_starts = window->late_starts,
        .dropped_starts = window->dropped_starts,
    };

    window_failures(window, entry.failures);
    timeline->in_flight = in_flight_after(timeline->in_flight, &entry);
    entry.in_flight = timeline->in_flight + entry.aborted;
    if (timeline->n == timeline->room) {
        timeline->room = timeline->room ? 2 * timeline->room : 64;
        timeline->entries = xrealloc(timeline->entries, timeline->room * sizeof(entry));
    }
    timeline->entries[timeline->n++] = entry;
    open_free(open);
    timeline->n_open--;
    memmove(timeline->open, timeline->open + 1, timeline->n_open * sizeof(struct open *));
}

static uint64_t end_of_first(const struct timeline *timeline)
{
    return first_tick(timeline, timeline->n + 1);
}

/* The open entry of that number; of one that is closed already, the oldest. */
static struct open *open_of(struct timeline *timeline, size_t entry)
{
    while (timeline->n + timeline->n_open <= entry) {
        open_next(timeline);
        if (timeline->n_open > MAX_OPEN)
            close_first(timeline, tick_start(&timeline->options.ticks, end_of_first(timeline)));
    }
    return timeline->open[entry > timeline->n ? entry - timeline->n : 0];
}

/* Closes entries that all sources have left behind for a tick: until then it is not known whether
 * what follows is more than a rest. */
static void close_complete(struct timeline *timeline)
{
    uint64_t all_at = UINT64_MAX;

    for (unsigned i = 0; i < timeline->options.sources; i++) {
        const struct source *source = &timeline->sources[i];

        if (!source->ended && source->next < all_at)
            all_at = source->next;
    }
    while (all_at != UINT64_MAX && timeline->n_open > 1 && end_of_first(timeline) < all_at)
        close_first(timeline, tick_start(&timeline->options.ticks, end_of_first(timeline)));
}

/* A source's users count for the entries whose end it has seen, and for that of its own end. */
static void add_users(struct timeline *timeline, const struct interval *interval)
{
    size_t last = entry_of(timeline, interval->last ? interval->from : interval->to - 1);

    for (size_t entry = entry_of(timeline, interval->from); entry <= last; entry++) {
        if (entry >= timeline->n &&
            (interval->last || first_tick(timeline, entry + 1) <= interval->to))
            open_of(timeline, entry)->users += interval->window.users;
    }
}

static void add_recent(struct timeline *timeline, const struct interval *interval)
{
    struct recent *recent = &timeline->recent[interval->from % timeline->n_recent];

    if (recent->tick > interval->from)
        return;
    if (recent->tick < interval->from) {
        recent->tick = interval->from;
        window_reset(&recent->window);
    }
    window_merge(&recent->window, &interval->window);
}

void timeline_add(struct timeline *timeline, const struct interval *interval)
{
    struct source *source = &timeline->sources[interval->source];

    assert(interval->source < timeline->options.sources && !source->ended);
    source->next = interval->to;
    source->users = interval->last ? 0 : interval->window.users;
    source->ended = interval->last;
    window_merge(&open_of(timeline, entry_of(timeline, interval->from))->window, &interval->window);
    window_merge(&timeline->total, &interval->window);
    add_users(timeline, interval);
    add_recent(timeline, interval);
    close_complete(timeline);
}

void timeline_end(struct timeline *timeline, uint64_t duration_ns)
{
    const struct ticks *ticks = &timeline->options.ticks;
    size_t last = entry_of(timeline, tick_of(ticks, duration_ns));
    uint64_t rest_ns = duration_ns - tick_start(ticks, first_tick(timeline, last));

    if (last > timeline->n && rest_ns < REST_NS && rest_ns < ticks->interval_ns / 10)
        last--;
    open_of(timeline, last);
    while (timeline->n_open > 1 && timeline->n + timeline->n_open - 1 > last) {
        struct open *rest = timeline->open[--timeline->n_open];
        struct open *into = timeline->open[timeline->n_open - 1];

        window_merge(&into->window, &rest->window);
        if (into->users < rest->users)
            into->users = rest->users;
        open_free(rest);
    }
    while (timeline->n_open > 1)
        close_first(timeline, tick_start(ticks, end_of_first(timeline)));
    close_first(timeline, duration_ns);
}

size_t timeline_entries(const struct timeline *timeline, const struct timeline_entry **entries)
{
    *entries = timeline->entries;
    return timeline->n;
}

/* --- now --- */

/* Up to which tick the sources are followed: to the last that all have counted, unless one is
 * behind by more than one. */
static uint64_t counted_to(const struct timeline *timeline)
{
    uint64_t least = UINT64_MAX, most = 0;

    for (unsigned i = 0; i < timeline->options.sources; i++) {
        const struct source *source = &timeline->sources[i];

        if (!source->ended && source->next < least)
            least = source->next;
        if (source->next > most)
            most = source->next;
    }
    if (least == UINT64_MAX)
        return most;
    return least + 1 >= most ? least : most - 1;
}

void timeline_now(const struct timeline *timeline, struct timeline_now *out)
{
    uint64_t to = counted_to(timeline);
    uint64_t from = to > timeline->span ? to - timeline->span : 0;
    struct hist latency;

    *out = (struct timeline_now){.total = timeline->total};
    hist_init(&out->total.latency, HIST_COARSE);
    hist_init(&latency, HIST_COARSE);
    for (uint64_t tick = from; tick < to; tick++) {
        const struct recent *recent = &timeline->recent[tick % timeline->n_recent];

        if (recent->tick == tick) {
            hist_merge(&latency, &recent->window.latency);
            out->ended += window_ended(&recent->window);
        }
    }
    out->seconds_ns =
        tick_start(&timeline->options.ticks, to) - tick_start(&timeline->options.ticks, from);
    out->p50_ns = hist_quantile(&latency, 0.5);
    out->p99_ns = hist_quantile(&latency, 0.99);
    hist_fini(&latency);
    for (unsigned i = 0; i < timeline->options.sources; i++)
        out->users += timeline->sources[i].users;
    uint64_t left = window_ended(&out->total) + out->total.aborted;
    out->in_flight = out->total.started > left ? out->total.started - left : 0;
}
