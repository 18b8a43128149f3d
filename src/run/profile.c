#include "run/profile.h"

#include <math.h>

#include "base/clock.h"

/* More than k users are wanted if k and this part of one more are: a line that only touches k wakes
 * nobody. */
#define PART_OF_A_USER 1e-6

/* One stage: from value a at begin_ns to value b at end_ns. */
struct piece {
    uint64_t begin_ns, end_ns;
    double a, b;
};

static double seconds_of(uint64_t ns)
{
    return (double)ns / (double)NS_PER_S;
}

/* Stage i, given the one before (zeroed before the first). */
static void step_on(const struct load *load, size_t i, struct piece *piece)
{
    piece->begin_ns = piece->end_ns;
    piece->end_ns += load->stages[i].duration_ns;
    piece->a = piece->b;
    piece->b = load->stages[i].target;
}

static double value_in(const struct piece *piece, uint64_t ns)
{
    double part = (double)(ns - piece->begin_ns) / (double)(piece->end_ns - piece->begin_ns);
    return piece->a + (piece->b - piece->a) * part;
}

/* The area below a line that rises from a by `slope` a second, after so many seconds. */
static double area(double a, double slope, double seconds)
{
    return seconds * (a + slope * seconds / 2);
}

static double slope_of(const struct piece *piece)
{
    return (piece->b - piece->a) / seconds_of(piece->end_ns - piece->begin_ns);
}

uint64_t profile_length(const struct load *load)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < load->n_stages; i++) {
        sum += load->stages[i].duration_ns;
    }
    return load->n_stages ? sum : PROFILE_NEVER;
}

double profile_at(const struct load *load, uint64_t ns)
{
    struct piece piece = {0};
    if (load->n_stages == 0) {
        return load->rate;
    }
    for (size_t i = 0; i < load->n_stages; i++) {
        step_on(load, i, &piece);
        if (ns < piece.end_ns) {
            return value_in(&piece, ns);
        }
    }
    return 0;
}

size_t profile_stage(const struct load *load, uint64_t ns)
{
    uint64_t end_ns = 0;
    for (size_t i = 0; i < load->n_stages; i++) {
        end_ns += load->stages[i].duration_ns;
        if (ns < end_ns) {
            return i;
        }
    }
    return load->n_stages ? load->n_stages - 1 : 0;
}

double profile_arrivals(const struct load *load, uint64_t ns)
{
    struct piece piece = {0};
    double sum = 0;
    if (load->n_stages == 0) {
        return load->rate * seconds_of(ns);
    }
    for (size_t i = 0; i < load->n_stages && piece.end_ns < ns; i++) {
        step_on(load, i, &piece);
        uint64_t end_ns = ns < piece.end_ns ? ns : piece.end_ns;
        if (piece.end_ns > piece.begin_ns) {
            sum += area(piece.a, slope_of(&piece), seconds_of(end_ns - piece.begin_ns));
        }
    }
    return sum;
}

/* a·t + slope·t²/2 = n, in the form that loses no digits where the slope is small. */
static double time_of_area(double a, double slope, double n)
{
    double root = a * a + 2 * slope * n;
    return n > 0 ? 2 * n / (a + sqrt(root > 0 ? root : 0)) : 0;
}

uint64_t profile_when(const struct load *load, double arrivals)
{
    struct piece piece = {0};
    if (load->n_stages == 0) {
        double ns = arrivals / load->rate * (double)NS_PER_S;
        return load->rate > 0 && ns < 1e18 ? (uint64_t)llround(ns) : PROFILE_NEVER;
    }
    for (size_t i = 0; i < load->n_stages; i++) {
        step_on(load, i, &piece);
        if (piece.end_ns == piece.begin_ns) {
            continue;
        }
        double slope = slope_of(&piece), length = seconds_of(piece.end_ns - piece.begin_ns);
        double all = area(piece.a, slope, length);
        if (arrivals < all) {
            double seconds = time_of_area(piece.a, slope, arrivals);
            uint64_t ns = (uint64_t)llround(seconds * (double)NS_PER_S);
            return piece.begin_ns + ns < piece.end_ns ? piece.begin_ns + ns : piece.end_ns - 1;
        }
        arrivals -= all;
    }
    return PROFILE_NEVER;
}

uint64_t profile_wanted(const struct load *load, uint64_t k, uint64_t ns)
{
    struct piece piece = {0};
    double least = (double)k + PART_OF_A_USER;
    for (size_t i = 0; i < load->n_stages; i++) {
        step_on(load, i, &piece);
        if (ns >= piece.end_ns || piece.begin_ns == piece.end_ns) {
            continue;
        }
        uint64_t from_ns = ns > piece.begin_ns ? ns : piece.begin_ns;
        if (value_in(&piece, from_ns) >= least - PART_OF_A_USER / 2) {
            return from_ns;
        }
        if (piece.b > least) {
            double part = (least - piece.a) / (piece.b - piece.a);
            uint64_t span = piece.end_ns - piece.begin_ns;
            uint64_t at_ns = piece.begin_ns + (uint64_t)ceil(part * (double)span);
            return at_ns < piece.end_ns ? at_ns : piece.end_ns - 1;
        }
    }
    return PROFILE_NEVER;
}
