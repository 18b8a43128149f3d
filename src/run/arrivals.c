#include "run/arrivals.h"

#include "base/clock.h"
#include "run/vu.h"

static void give(struct worker *worker, struct vu *vu)
{
    vu->has_arrival = true;
    vu->due_ns = worker->arrivals.pacer.next_ns;
    pacer_take(&worker->arrivals.pacer);
}

static struct vu *take_free(struct arrivals *arrivals)
{
    struct vu *vu = arrivals->free;
    arrivals->free = vu->next_free;
    return vu;
}

static bool exhausted(const struct pacer *pacer)
{
    return pacer->taken == pacer->limit;
}

/* What to do until the next arrival: wait for it, or, if none comes, let the free users go. */
static void wait_for_next(struct worker *worker)
{
    struct arrivals *arrivals = &worker->arrivals;
    if (arrivals->pacer.next_ns != PROFILE_NEVER) {
        timer_start_at(worker->loop, &arrivals->timer, arrivals->pacer.next_ns);
    }
    while (exhausted(&arrivals->pacer) && arrivals->free) {
        take_free(arrivals)->state = VU_IDLE;
        worker_user_done(worker);
    }
}

static void due(struct timer *timer, uint64_t now_ns)
{
    struct worker *worker =
        (struct worker *)(void *)((char *)timer - offsetof(struct worker, arrivals.timer));
    struct arrivals *arrivals = &worker->arrivals;
    while (!worker->ending && arrivals->pacer.next_ns <= now_ns) {
        if (arrivals->free) {
            struct vu *vu = take_free(arrivals);
            give(worker, vu);
            vu_arrived(vu);
        } else if (worker->shared->options->drop_late) {
            worker->counting->late_starts++;
            worker->counting->dropped_starts++;
            pacer_take(&arrivals->pacer);
        } else {
            arrivals->starved = true;
            return;
        }
    }
    if (!worker->ending) {
        wait_for_next(worker);
    }
}

void arrivals_start(struct worker *worker, const struct profile *profile, uint64_t start_ns,
                    uint64_t limit)
{
    const struct run_options *options = worker->shared->options;
    struct arrivals *arrivals = &worker->arrivals;
    pacer_init(&arrivals->pacer, profile, options->load.arrival, worker->id, options->workers,
               limit, options->seed);
    pacer_start(&arrivals->pacer, start_ns);
    arrivals->timer.fire = due;
    arrivals->starved = false;
    wait_for_next(worker);
}

void arrivals_stop(struct worker *worker, uint64_t now_ns)
{
    struct arrivals *arrivals = &worker->arrivals;
    timer_stop(&arrivals->timer);
    worker->counting->missed_starts += pacer_overdue(&arrivals->pacer, now_ns);
    arrivals->free = NULL;
}

bool arrivals_wait(struct worker *worker, struct vu *vu)
{
    struct arrivals *arrivals = &worker->arrivals;
    if (arrivals->starved && arrivals->pacer.next_ns <= clock_ns()) {
        worker->counting->late_starts++;
        give(worker, vu);
        return true;
    }
    vu->state = VU_WAITING;
    vu->next_free = arrivals->free;
    arrivals->free = vu;
    if (arrivals->starved || exhausted(&arrivals->pacer)) {
        arrivals->starved = false;
        wait_for_next(worker);
    }
    return false;
}

void arrivals_forget_stopped(struct worker *worker)
{
    struct vu **link = &worker->arrivals.free;
    while (*link) {
        if ((*link)->state == VU_IDLE) {
            *link = (*link)->next_free;
        } else {
            link = &(*link)->next_free;
        }
    }
}
