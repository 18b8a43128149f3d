#include "run/vu.h"

#include <stdlib.h>

#include "base/clock.h"

/* How much a user may do in one go before the loop has its turn. */
#define STEPS_IN_ONE_GO 256

static void vu_advance(struct vu *vu, uint64_t ended_ns);

static void run_again(struct task *task)
{
    struct vu *vu = (struct vu *)(void *)((char *)task - offsetof(struct vu, again));
    if (vu->state == VU_RUNNING) {
        vu_advance(vu, 0);
    }
}

static void begin(struct timer *timer, uint64_t now_ns)
{
    struct vu *vu = (struct vu *)(void *)((char *)timer - offsetof(struct vu, timer));
    (void)now_ns;
    vu->state = VU_RUNNING;
    vu_advance(vu, 0);
}

void vu_init(struct vu *vu, struct worker *worker)
{
    vu->worker = worker;
    vu->state = VU_IDLE;
    vu->again.run = run_again;
    jar_init(&vu->jar, &worker->blocks);
    vars_init(&vu->vars, worker->shared->options->plan, &vu->jar);
    exchange_init(&vu->exchange);
    buf_init(&vu->text, 64u << 20);
}

void vu_fini(struct vu *vu)
{
    jar_clear(&vu->jar);
    vars_fini(&vu->vars);
    exchange_fini(&vu->exchange);
    buf_fini(&vu->text);
    if (vu->incoming) {
        response_fini(vu->incoming);
        free(vu->incoming);
    }
}

void vu_start(struct vu *vu, uint64_t start_ns, uint64_t now_ns)
{
    if (start_ns > now_ns) {
        vu->state = VU_WAITING;
        vu->timer.fire = begin;
        timer_start_at(vu->worker->loop, &vu->timer, start_ns);
    } else {
        vu->state = VU_RUNNING;
        loop_defer(vu->worker->loop, &vu->again);
    }
}

bool vu_before_start(const struct vu *vu)
{
    return vu->state == VU_WAITING && vu->timer.fire == begin;
}

static bool begin_iteration(struct vu *vu)
{
    struct shared *shared = vu->worker->shared;
    uint64_t limit = shared->options->iterations;
    if (limit && atomic_load_explicit(&shared->next_iteration, memory_order_relaxed) >= limit) {
        return false;
    }
    uint64_t number = atomic_fetch_add_explicit(&shared->next_iteration, 1, memory_order_relaxed);
    if (limit && number >= limit) {
        return false;
    }
    vu->worker->recorder.iterations_started++;
    vu->in_iteration = true;
    vu->step = 0;
    vu->item = 0;
    vu->iteration_start_ns = clock_ns();
    vars_reset(&vu->vars, number);
    if (!jar_empty(&vu->jar)) {
        jar_clear(&vu->jar);
    }
    return true;
}

/* Whole, if its last step ended at ended_ns (0: just now). */
static void end_iteration(struct vu *vu, bool abandoned, uint64_t ended_ns)
{
    struct recorder *recorder = &vu->worker->recorder;
    vu->in_iteration = false;
    if (abandoned) {
        recorder->iterations_abandoned++;
        vu->worker->abandoned++;
    } else {
        recorder->iterations_completed++;
        ended_ns = ended_ns ? ended_ns : clock_ns();
        hist_add(&recorder->iterations, ended_ns - vu->iteration_start_ns);
    }
}

/* What follows from a step; true if the user can go on at once. */
static bool take_next(struct vu *vu, enum vu_next next)
{
    switch (next) {
    case VU_NEXT:
        vu->step++;
        vu->item = 0;
        return true;
    case VU_AGAIN:
        return true;
    case VU_WAIT:
        return false;
    case VU_GIVE_UP:
        end_iteration(vu, true, 0);
        return true;
    }
    return false;
}

/* ended_ns: when the step before the present one ended, if that is known; else 0. */
static void vu_advance(struct vu *vu, uint64_t ended_ns)
{
    const struct plan *plan = vu->vars.plan;
    for (unsigned i = 0; i < STEPS_IN_ONE_GO; i++) {
        uint64_t now_ns = 0;
        if (!vu->in_iteration) {
            if (!begin_iteration(vu)) {
                vu->state = VU_IDLE;
                worker_user_done(vu->worker);
                return;
            }
            now_ns = vu->iteration_start_ns;
        }
        if (vu->step == plan->n_steps) {
            end_iteration(vu, false, ended_ns);
        } else if (!take_next(vu, vu_run_step(vu, &plan->steps[vu->step], now_ns))) {
            return;
        }
        ended_ns = 0;
    }
    loop_defer(vu->worker->loop, &vu->again);
}

void vu_resume(struct vu *vu, enum vu_next next, uint64_t ended_ns)
{
    if (vu->worker->ending) {
        return;
    }
    vu->state = VU_RUNNING;
    if (take_next(vu, next)) {
        vu_advance(vu, ended_ns);
    }
}

void vu_stop(struct vu *vu)
{
    struct worker *worker = vu->worker;
    if (vu->state == VU_REQUEST) {
        const struct step *step = &vu->vars.plan->steps[vu->step];
        client_abort(&vu->exchange);
        vu_count_notes(vu, step); /* the server has seen those requests, too */
        recorder_abort(&worker->recorder, step->stat);
    }
    timer_stop(&vu->timer);
    if (vu->process) {
        process_end_now(vu->process);
    }
    if (vu->in_iteration) {
        worker->recorder.iterations_aborted++;
        vu->in_iteration = false;
    }
    vu->state = VU_IDLE;
}

/* --- rendering --- */

void vu_notice(struct vu *vu, const void *place, struct str before, struct str what,
               struct str after)
{
    struct notices *notices = vu->worker->shared->notices;
    if (!notices_count(notices, place)) {
        return;
    }
    struct buf text;
    buf_init(&text, 4096);
    buf_add_str(&text, before);
    buf_add_str(&text, what);
    buf_add_str(&text, after);
    buf_add_str(&text, STR(" in step '"));
    buf_add_str(&text, vu->vars.plan->steps[vu->step].name.source);
    buf_add_str(&text, STR("'"));
    if (notices_say(notices, place, buf_str(&text))) {
        struct event event = {.kind = EVENT_WARNING, .value = buf_str(&text)};
        worker_event(vu->worker, &event);
    }
    buf_fini(&text);
}

bool vu_resolve(void *ctx, const struct path *path, struct buf *out)
{
    struct vu *vu = ctx;
    if (vars_text(&vu->vars, path, out)) {
        return true;
    }
    if (!vu->worker->shared->options->relaxed) {
        return false;
    }
    vu_notice(vu, path, STR("unknown variable '"), path->text, STR("'"));
    return true;
}

bool vu_render(struct vu *vu, const struct template *template, struct buf *out,
               const struct path **missing)
{
    buf_reset(out);
    *missing = template_render(template, vu_resolve, vu, out);
    return *missing == NULL;
}

struct str vu_name(struct vu *vu, const struct step *step)
{
    const struct path *missing;
    if (step->name.constant) {
        return template_text(&step->name);
    }
    if (!vu_render(vu, &step->name, &vu->text, &missing)) {
        return step->name.source;
    }
    return buf_str(&vu->text);
}
