#include "out/progress.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"

#define LEVELS 8
#define MIN_COURSE 8
#define MAX_COURSE 60

struct line {
    struct buf *out;
    const struct style *style;
    size_t left; /* columns */
};

/* ASCII of our own making, cut where the line ends. */
static __attribute__((format(printf, 3, 4))) void add(struct line *line, enum paint paint,
                                                      const char *format, ...)
{
    char text[160];
    size_t n;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    n = strlen(text);
    if (n > line->left)
        n = line->left;
    if (n == 0)
        return;
    style_add(line->out, line->style, paint, (struct str){text, n});
    line->left -= n;
}

static void add_clock(struct line *line, uint64_t ns, const char *after)
{
    uint64_t s = (ns + NS_PER_S - 1) / NS_PER_S;

    if (s >= 3600)
        add(line, PAINT_CYAN, "%llu:%02u:%02u", (unsigned long long)(s / 3600),
            (unsigned)(s / 60 % 60), (unsigned)(s % 60));
    else
        add(line, PAINT_CYAN, "%u:%02u", (unsigned)(s / 60), (unsigned)(s % 60));
    add(line, PAINT_NONE, "%s", after);
}

static void add_goal(struct line *line, const struct progress *progress)
{
    const struct progress_goal *goal = &progress->goal;

    if (progress->elapsed_ns == 0)
        add(line, PAINT_CYAN, "warming up");
    else if (goal->duration_ns > progress->elapsed_ns)
        add_clock(line, goal->duration_ns - progress->elapsed_ns, " left");
    else if (goal->duration_ns)
        add_clock(line, 0, " left");
    else if (goal->iterations)
        add(line, PAINT_CYAN, "%llu of %llu", (unsigned long long)progress->now.total.iterations,
            (unsigned long long)goal->iterations);
    else
        add_clock(line, progress->elapsed_ns, "");
}

/* "5 failed (5xx 3, timeout 2)" */
static void add_failures(struct line *line, const struct window *total)
{
    uint64_t failures[FAILED_COUNT], failed = window_ended(total) - window_successful(total);
    const char *before = " (";

    if (failed == 0)
        return;
    window_failures(total, failures);
    add(line, PAINT_RED, "  %llu failed", (unsigned long long)failed);
    for (unsigned i = 0; i < FAILED_COUNT; i++) {
        if (failures[i] == 0)
            continue;
        add(line, PAINT_NONE, "%s%s %llu", before, failed_name((enum failed)i),
            (unsigned long long)failures[i]);
        before = ", ";
    }
    add(line, PAINT_NONE, ")");
}

static double rate_of(const struct timeline_entry *entry)
{
    return entry->length_ns ? (double)entry->ended / (double)entry->length_ns : 0;
}

static void add_course(struct line *line, const struct progress *progress, bool utf8)
{
    static const char *const ascii[LEVELS] = {"_", ".", ":", "-", "=", "+", "*", "#"};
    static const char *const blocks[LEVELS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    size_t n = progress->n, room = line->left > 2 ? line->left - 2 : 0;
    double most = 0;

    if (room > MAX_COURSE)
        room = MAX_COURSE;
    if (n == 0 || room < MIN_COURSE)
        return;
    n = n < room ? n : room;
    for (size_t i = progress->n - n; i < progress->n; i++) {
        double rate = rate_of(&progress->entries[i]);

        most = rate > most ? rate : most;
    }
    add(line, PAINT_NONE, "  ");
    for (size_t i = progress->n - n; i < progress->n; i++) {
        double part = most > 0 ? rate_of(&progress->entries[i]) / most : 0;
        size_t level = (size_t)(part * (LEVELS - 1) + 0.5);

        buf_add_str(line->out, str_of(utf8 ? blocks[level] : ascii[level]));
        line->left--;
    }
}

void progress_line(struct buf *out, const struct style *style, const struct progress *progress,
                   size_t columns, bool utf8)
{
    const struct timeline_now *now = &progress->now;
    double seconds = (double)now->seconds_ns / (double)NS_PER_S;
    struct line line = {out, style, columns};

    add_goal(&line, progress);
    add(&line, PAINT_NONE, "  ");
    add(&line, PAINT_GREEN, "%.0f/s", seconds > 0 ? (double)now->ended / seconds : 0.0);
    add(&line, PAINT_NONE, "  p50 %.*f ms  p99 %.*f ms", now->p50_ns < NS_PER_S ? 2 : 0,
        (double)now->p50_ns / (double)NS_PER_MS, now->p99_ns < NS_PER_S ? 2 : 0,
        (double)now->p99_ns / (double)NS_PER_MS);
    add(&line, PAINT_NONE, "  %llu users  %llu in flight", (unsigned long long)now->users,
        (unsigned long long)now->in_flight);
    add_failures(&line, &now->total);
    add_course(&line, progress, utf8);
}
