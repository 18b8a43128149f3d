#include "run/profile.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

/* More than k users are wanted if k and this part of one more are: a line that only touches k wakes
 * nobody. */
#define PART_OF_A_USER 1e-6

static double seconds_of(uint64_t ns)
{
    return (double)ns / (double)NS_PER_S;
}

/* --- one line --- */

static double slope_of(const struct profile_line *line)
{
    return line->a == line->b ? 0 : (line->b - line->a) / seconds_of(line->end_ns - line->begin_ns);
}

static double value_in(const struct profile_line *line, uint64_t ns)
{
    return line->a + slope_of(line) * seconds_of(ns - line->begin_ns);
}

static double arrivals_in(const struct profile_line *line, uint64_t ns)
{
    double seconds = seconds_of(ns - line->begin_ns);
    return seconds * (line->a + slope_of(line) * seconds / 2);
}

/* When n arrivals of the line have come: a·t + slope·t²/2 = n, solved in the form that loses no
 * digits where the slope is small. */
static uint64_t when_in(const struct profile_line *line, double n)
{
    double slope = slope_of(line), square = line->a * line->a + 2 * slope * n;
    double root = slope == 0 ? line->a : sqrt(square > 0 ? square : 0);
    double ns = n > 0 ? 2 * n / (line->a + root) * (double)NS_PER_S : 0;
    if (!(ns < 1e18)) {
        return PROFILE_NEVER;
    }
    uint64_t at_ns = line->begin_ns + (uint64_t)llround(ns);
    return at_ns < line->end_ns ? at_ns : line->end_ns - 1;
}

/* --- all of them --- */

void profile_init(struct profile *profile, const struct load *load, uint64_t length_ns)
{
    struct profile_line line = {
        .a = load->rate, .b = load->rate, .end_ns = length_ns ? length_ns : PROFILE_NEVER};
    *profile = (struct profile){.lines = xcalloc(load->n_stages + 1, sizeof line)};
    if (load->n_stages == 0 && load->rate > 0) {
        profile->lines[profile->n++] = line;
    }
    line = (struct profile_line){0};
    for (size_t i = 0; i < load->n_stages; i++) {
        line.stage = i;
        line.begin_ns = line.end_ns;
        line.end_ns += load->stages[i].duration_ns;
        line.a = line.b;
        line.b = load->stages[i].target;
        if (line.end_ns > line.begin_ns) {
            profile->lines[profile->n++] = line;
            line.before += arrivals_in(&line, line.end_ns);
        }
    }
}

void profile_fini(struct profile *profile)
{
    free(profile->lines);
}

/* The line of a moment; n behind the end. */
static size_t line_at(const struct profile *profile, uint64_t ns)
{
    size_t low = 0, high = profile->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (profile->lines[middle].end_ns <= ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

uint64_t profile_length(const struct profile *profile)
{
    return profile->n ? profile->lines[profile->n - 1].end_ns : PROFILE_NEVER;
}

double profile_at(const struct profile *profile, uint64_t ns)
{
    size_t i = line_at(profile, ns);
    return i < profile->n ? value_in(&profile->lines[i], ns) : 0;
}

size_t profile_stage(const struct profile *profile, uint64_t ns)
{
    size_t i = line_at(profile, ns);
    if (i == profile->n && i > 0) {
        i--;
    }
    return profile->n ? profile->lines[i].stage : 0;
}

double profile_arrivals(const struct profile *profile, uint64_t ns)
{
    size_t i = line_at(profile, ns);
    if (i == profile->n) {
        if (i == 0) {
            return 0;
        }
        i--;
        ns = profile->lines[i].end_ns;
    }
    return profile->lines[i].before + arrivals_in(&profile->lines[i], ns);
}

/* The last line before which no more than so many arrivals come; n > 0. */
static const struct profile_line *line_of_arrival(const struct profile *profile, double arrivals)
{
    size_t low = 0, high = profile->n;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (profile->lines[middle].before <= arrivals) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &profile->lines[low];
}

uint64_t profile_when(const struct profile *profile, double arrivals)
{
    if (profile->n == 0) {
        return PROFILE_NEVER;
    }
    const struct profile_line *line = line_of_arrival(profile, arrivals);
    double n = arrivals - line->before;
    if (line->end_ns != PROFILE_NEVER &&
        n >= arrivals_in(line, line->end_ns) * PROFILE_ALL_BUT_ROUNDING) {
        return PROFILE_NEVER;
    }
    return when_in(line, n);
}

uint64_t profile_wanted(const struct profile *profile, uint64_t k, uint64_t ns)
{
    double least = (double)k + PART_OF_A_USER;
    for (size_t i = line_at(profile, ns); i < profile->n; i++) {
        const struct profile_line *line = &profile->lines[i];
        uint64_t from_ns = ns > line->begin_ns ? ns : line->begin_ns;
        if (value_in(line, from_ns) >= least - PART_OF_A_USER / 2) {
            return from_ns;
        }
        if (line->b > least) {
            double part = (least - line->a) / (line->b - line->a);
            double span = (double)(line->end_ns - line->begin_ns);
            uint64_t at_ns = line->begin_ns + (uint64_t)ceil(part * span);
            return at_ns < line->end_ns ? at_ns : line->end_ns - 1;
        }
    }
    return PROFILE_NEVER;
}
