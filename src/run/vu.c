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
    free(vu->rendered);
    if (vu->incoming) {
        response_fini(vu->incoming);
        free(vu->incoming);
    }
}

void vu_start(struct vu *vu, uint64_t start_ns, uint64_t now_ns)
{
    if (start_ns > now_ns) {
        vu_sleep(vu, start_ns);
    } else {
        vu->state = VU_RUNNING;
        loop_defer(vu->worker->loop, &vu->again);
    }
}

void vu_sleep(struct vu *vu, uint64_t until_ns)
{
    vu->state = VU_WAITING;
    vu->timer.fire = begin;
    if (until_ns != PROFILE_NEVER) {
        timer_start_at(vu->worker->loop, &vu->timer, until_ns);
    }
}

void vu_arrived(struct vu *vu)
{
    if (vu->in_iteration) {
        vu_resume(vu, VU_AGAIN, 0);
    } else {
        vu->state = VU_RUNNING;
        vu_advance(vu, 0);
    }
}

bool vu_between_iterations(const struct vu *vu)
{
    return vu->state == VU_WAITING && !vu->in_iteration;
}

uint64_t vu_number(const struct vu *vu)
{
    const struct worker *worker = vu->worker;
    return worker->id + (uint64_t)(vu - worker->users) * worker->shared->options->workers;
}

/* It has begun an iteration and not been used for what it stands for. */
static void waste_arrival(struct vu *vu)
{
    if (vu->has_arrival && vu->worker->shared->options->load.by_request) {
        vu->worker->counting->missed_starts++;
    }
    vu->has_arrival = false;
    vu->due_ns = vu->lag_ns = 0;
}

/* Whole, if its last step ended at ended_ns (0: just now). */
static void end_iteration(struct vu *vu, bool abandoned, uint64_t ended_ns)
{
    struct recorder *recorder = vu->recorder;
    vu->in_iteration = false;
    waste_arrival(vu);
    if (abandoned) {
        recorder->iterations_abandoned++;
    } else {
        recorder->iterations_completed++;
        ended_ns = ended_ns ? ended_ns : clock_ns();
        hist_add(&recorder->iterations, ended_ns - vu->iteration_start_ns);
    }
}

static void abort_iteration(struct vu *vu)
{
    if (vu->in_iteration) {
        vu->recorder->iterations_aborted++;
        vu->in_iteration = false;
        waste_arrival(vu);
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
        if (!vu->in_iteration && !(now_ns = vu_begin_iteration(vu))) {
            return;
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

/* The run's time is over, and the user's last request has ended: the iteration is whole only if
 * that was its last step. */
static void close_iteration(struct vu *vu, enum vu_next next, uint64_t ended_ns)
{
    take_next(vu, next);
    if (vu->in_iteration && vu->step == vu->vars.plan->n_steps) {
        end_iteration(vu, false, ended_ns);
    }
    abort_iteration(vu);
    vu->state = VU_IDLE;
    worker_request_closed(vu->worker);
}

void vu_resume(struct vu *vu, enum vu_next next, uint64_t ended_ns)
{
    if (vu->worker->ending) {
        return;
    }
    vu->state = VU_RUNNING;
    if (vu->worker->closing) {
        close_iteration(vu, next, ended_ns);
    } else if (take_next(vu, next)) {
        vu_advance(vu, ended_ns);
    }
}

void vu_stop(struct vu *vu)
{
    if (vu->state == VU_REQUEST) {
        const struct step *step = &vu->vars.plan->steps[vu->step];
        client_abort(&vu->exchange);
        vu_count_notes(vu, step); /* the server has seen those requests, too */
        recorder_abort(vu->request_recorder, step->stat, vu->stage);
    }
    timer_stop(&vu->timer);
    if (vu->process) {
        process_end_now(vu->process);
    }
    abort_iteration(vu);
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
