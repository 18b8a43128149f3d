/* When a user begins its next iteration: at once, when its pacing is over, when the stages want it,
 * or, in an open loop, with an arrival. */
#include "base/clock.h"
#include "run/vu.h"

/* No iteration is left to begin; those of a warm-up have no limit. */
static bool none_left(const struct vu *vu)
{
    struct shared *shared = vu->worker->shared;
    uint64_t limit = shared->options->iterations;
    return limit && vu->worker->counting == &vu->worker->recorder &&
           atomic_load_explicit(&shared->next_iteration, memory_order_relaxed) >= limit;
}

/* A number for the next iteration; false if none is left. Those of a warm-up are not the run's. */
static bool take_number(struct vu *vu, uint64_t *number)
{
    struct shared *shared = vu->worker->shared;
    uint64_t limit = shared->options->iterations;
    if (vu->worker->counting != &vu->worker->recorder) {
        *number = atomic_fetch_add_explicit(&shared->next_warmup, 1, memory_order_relaxed);
        return true;
    }
    if (none_left(vu)) {
        return false;
    }
    *number = atomic_fetch_add_explicit(&shared->next_iteration, 1, memory_order_relaxed);
    return limit == 0 || *number < limit;
}

static void begin(struct vu *vu, uint64_t number, uint64_t now_ns)
{
    vu->recorder = vu->worker->counting;
    vu->recorder->iterations_started++;
    vu->in_iteration = true;
    vu->step = 0;
    vu->item = 0;
    vu->iteration_start_ns = vu->due_ns ? vu->due_ns : now_ns;
    vars_reset(&vu->vars, number);
    if (!jar_empty(&vu->jar)) {
        jar_clear(&vu->jar);
    }
}

/* From when on, at_ns or later, the stages want the user. */
static uint64_t wanted_from(const struct vu *vu, uint64_t at_ns)
{
    const struct shared *shared = vu->worker->shared;
    uint64_t number = vu_number(vu);
    if (at_ns < shared->start_ns) {
        if ((double)number < shared->options->load.stages[0].target) {
            return at_ns; /* the warm-up has the first stage's users */
        }
        at_ns = shared->start_ns;
    }
    uint64_t ns = profile_wanted(&shared->profile, number, at_ns - shared->start_ns);
    return ns == PROFILE_NEVER ? PROFILE_NEVER : shared->start_ns + ns;
}

/* Closed loop: is it time? If not, a timer is set for when it is. */
static bool due(struct vu *vu, uint64_t now_ns)
{
    const struct run_options *options = vu->worker->shared->options;
    uint64_t at_ns = now_ns, paced_ns = vu->iteration_start_ns + options->plan->pacing_ns;
    if (vu->iteration_start_ns && paced_ns > at_ns) {
        at_ns = paced_ns;
    }
    if (load_has_user_stages(&options->load)) {
        at_ns = wanted_from(vu, at_ns);
    }
    if (at_ns > now_ns) {
        vu_sleep(vu, at_ns);
    }
    return at_ns <= now_ns;
}

uint64_t vu_begin_iteration(struct vu *vu)
{
    struct worker *worker = vu->worker;
    const struct shared *shared = worker->shared;
    uint64_t number, now_ns;
    /* An arrival is not used up on an iteration that will not be. */
    if (shared->open && !vu->has_arrival && !none_left(vu) && !arrivals_wait(worker, vu)) {
        return 0;
    }
    now_ns = clock_ns();
    if (shared->users_wait && !none_left(vu) && !due(vu, now_ns)) {
        return 0;
    }
    if (!take_number(vu, &number)) {
        vu->state = VU_IDLE;
        worker_exhausted(worker);
        worker_user_done(worker);
        return 0;
    }
    begin(vu, number, now_ns);
    return now_ns;
}
