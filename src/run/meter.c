#include "run/meter.h"

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"

/* More stages than these have coarser percentiles: what is fine takes 8 KiB for each power of two.
 */
#define FINE_STAGES 64

static uint64_t thread_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* --- intervals --- */

static void hand_in(struct meter *meter, uint64_t to, bool last)
{
    struct meter_options *options = &meter->options;
    struct interval *full = meter->interval;
    struct interval *next = last ? NULL : intervals_get(options->intervals);
    recorder_turn(options->recorder, next ? &next->window : NULL);
    full->to = to;
    full->last = last;
    full->source = options->source;
    intervals_put(options->intervals, full);
    outbox_notify(options->outbox);
    meter->interval = next;
    if (next) {
        next->from = to;
    }
}

static void await_tick(struct meter *meter)
{
    uint64_t end_ns = tick_start(&meter->options.ticks, meter->interval->from + 1);
    timer_start_at(meter->options.loop, &meter->tick, meter->start_ns + end_ns);
}

/* Maybe late by more than one. */
static void tick(struct timer *timer, uint64_t now_ns)
{
    struct meter *meter = (struct meter *)(void *)((char *)timer - offsetof(struct meter, tick));
    uint64_t now = tick_of(&meter->options.ticks, now_ns - meter->start_ns);
    uint64_t next = meter->interval->from + 1;
    meter->interval->window.users = recorder_users(meter->options.recorder);
    hand_in(meter, now > next ? now : next, false);
    await_tick(meter);
}

/* --- stages --- */

static void await_stage(struct meter *meter)
{
    const struct load *load = meter->options.load;
    struct recorder *recorder = meter->options.recorder;
    size_t last = load->n_stages - 1;
    while (recorder->stage < last && load->stages[recorder->stage].duration_ns == 0) {
        recorder->stage++;
    }
    meter->stage_end_ns += load->stages[recorder->stage].duration_ns;
    if (recorder->stage < last) {
        timer_start_at(meter->options.loop, &meter->stage, meter->start_ns + meter->stage_end_ns);
    }
}

static void stage_over(struct timer *timer, uint64_t now_ns)
{
    struct meter *meter = (struct meter *)(void *)((char *)timer - offsetof(struct meter, stage));
    (void)now_ns;
    meter->options.recorder->stage++;
    await_stage(meter);
}

/* --- life --- */

void meter_init(struct meter *meter, const struct meter_options *options)
{
    size_t n_stages = options->load->n_stages;
    *meter = (struct meter){.options = *options, .tick.fire = tick, .stage.fire = stage_over};
    if (n_stages) {
        meter->stages = xcalloc(n_stages, sizeof *meter->stages);
    }
    for (size_t i = 0; i < n_stages; i++) {
        window_init(&meter->stages[i], n_stages > FINE_STAGES ? HIST_COARSE : HIST_FINE);
    }
}

void meter_fini(struct meter *meter)
{
    for (size_t i = 0; meter->stages && i < meter->options.load->n_stages; i++) {
        window_fini(&meter->stages[i]);
    }
    free(meter->stages);
}

void meter_start(struct meter *meter, uint64_t start_ns)
{
    struct recorder *recorder = meter->options.recorder;
    meter->start_ns = start_ns;
    meter->cpu_ns = thread_cpu_ns();
    if (meter->options.ticks.interval_ns) {
        meter->interval = intervals_get(meter->options.intervals);
        meter->interval->from = 0;
        await_tick(meter);
    }
    recorder_watch(recorder, meter->interval ? &meter->interval->window : NULL, meter->stages);
    if (meter->stages) {
        recorder->stage = 0;
        await_stage(meter);
    }
}

void meter_stop(struct meter *meter)
{
    timer_stop(&meter->tick);
    timer_stop(&meter->stage);
    if (meter->interval) {
        meter->interval->window.users = recorder_users(meter->options.recorder);
    }
}

void meter_end(struct meter *meter)
{
    meter->cpu_ns = thread_cpu_ns() - meter->cpu_ns;
    if (meter->interval) {
        hand_in(meter, meter->interval->from + 1, true);
    }
}
