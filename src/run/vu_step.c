/* The steps that send nothing: assign, assert, delay, exec. */
#include <string.h>

#include "base/clock.h"
#include "run/vu.h"

static void say(struct vu *vu, const struct event *event)
{
    bool wanted = vu->worker->shared->options->wants_lines || event->kind == EVENT_FAIL;
    if ((wanted && vu_counts(vu)) || event->kind == EVENT_WARNING) {
        worker_event(vu->worker, event);
    }
}

/* A variable is missing in a step without a request: the iteration is given up, and standard error
 * says so once a place. */
static enum vu_next give_up(struct vu *vu, const struct path *missing)
{
    vu_notice(vu, missing, STR("variable '"), missing->text,
              STR("' is missing: the iteration is given up"));
    return VU_GIVE_UP;
}

static enum vu_next run_assign(struct vu *vu, const struct step *step)
{
    const struct path *missing;
    struct buf *value = &vu->worker->scratch;
    struct event event = {.kind = EVENT_ASSIGN,
                          .name = vu_name(vu, step),
                          .key = step->assign.key,
                          .value = step->assign.value.source};
    say(vu, &event);
    if (!vu_render(vu, &step->assign.value, value, &missing)) {
        return give_up(vu, missing);
    }
    vars_set_text(&vu->vars, step->assign.slot, buf_str(value));
    return VU_NEXT;
}

static enum vu_next run_assert(struct vu *vu, const struct step *step)
{
    const struct path *missing;
    struct buf *texts = &vu->worker->scratch; /* the expected one and behind it what there is */
    struct event event = {.kind = EVENT_ASSERT,
                          .name = vu_name(vu, step),
                          .key = step->assertion.key.text,
                          .value = step->assertion.value.source};
    say(vu, &event);
    bool rendered = vu_render(vu, &step->assertion.value, texts, &missing);
    size_t n = texts->n;
    bool found = vu_resolve(vu, &step->assertion.key, texts);
    struct str expected = {texts->p ? texts->p : "", n};
    struct str got = {expected.p + n, texts->n - n};
    if (found && rendered && str_eq(got, expected)) {
        vu->recorder->checks_passed++;
    } else {
        vu->recorder->checks_failed++;
        event.kind = EVENT_FAIL;
        event.value = rendered ? expected : step->assertion.value.source;
        event.got = found ? got : (struct str){0};
        say(vu, &event);
    }
    buf_shrink(texts, VARS_KEPT_BYTES);
    return VU_NEXT;
}

static void waited(struct timer *timer, uint64_t now_ns)
{
    (void)now_ns;
    vu_resume((struct vu *)(void *)((char *)timer - offsetof(struct vu, timer)), VU_NEXT, 0);
}

static enum vu_next run_delay(struct vu *vu, const struct step *step)
{
    struct worker *worker = vu->worker;
    struct event event = {
        .kind = EVENT_DELAY, .name = vu_name(vu, step), .value = step->delay.shown};
    say(vu, &event);
    if (step->delay.max_ns == 0) {
        return VU_NEXT;
    }
    vu->state = VU_WAITING;
    vu->timer.fire = waited;
    if (step->delay.ns == step->delay.max_ns) {
        timer_start(loop_timers(worker->loop, step->delay.ns), &vu->timer, clock_ns());
    } else {
        uint64_t more_ns = rng_below(&worker->rng, step->delay.max_ns - step->delay.ns + 1);
        timer_start_at(worker->loop, &vu->timer, clock_ns() + step->delay.ns + more_ns);
    }
    return VU_WAIT;
}

static void warn_command(struct vu *vu, const struct step *step, const struct process_end *end)
{
    struct buf text;
    buf_init(&text, BUF_NO_MAX);
    buf_add_str(&text, STR("the command of step '"));
    buf_add_str(&text, step->name.source);
    buf_add_str(&text, STR("' "));
    if (end->error) {
        buf_addf(&text, "could not be run: %s", strerror(end->error));
    } else if (end->timed_out) {
        buf_addf(&text, "was ended after its time of %g s",
                 (double)step->exec.timeout_ns / (double)NS_PER_S);
    } else if (end->signal) {
        buf_addf(&text, "was ended by signal %d", end->signal);
    } else {
        buf_addf(&text, "ended with status %d", end->exit_status);
    }
    if (end->first_line.n) {
        buf_add_str(&text, STR(": "));
        buf_add_str(&text, end->first_line);
    }
    struct event event = {.kind = EVENT_WARNING, .value = buf_str(&text)};
    say(vu, &event);
    buf_fini(&text);
}

static void command_ended(void *ctx, const struct process_end *end)
{
    struct vu *vu = ctx;
    const struct step *step = &vu->vars.plan->steps[vu->step];
    vu->process = NULL;
    worker_process_done(vu->worker);
    if (vu->state != VU_COMMAND) {
        return;
    }
    if (end->error || end->signal || end->timed_out || end->exit_status != 0) {
        warn_command(vu, step, end);
    }
    if (step->exec.assign != SLOT_NONE) {
        struct str output = end->output;
        while (output.n && strchr(" \t\r\n\v\f", output.p[output.n - 1])) {
            output.n--;
        }
        vars_set_text(&vu->vars, step->exec.assign, output);
    }
    vu_resume(vu, VU_NEXT, 0);
}

static enum vu_next run_exec(struct vu *vu, const struct step *step)
{
    struct worker *worker = vu->worker;
    const struct path *missing;
    struct event event = {
        .kind = EVENT_EXEC, .name = vu_name(vu, step), .value = step->exec.command.source};
    say(vu, &event);
    if (!vu_render(vu, &step->exec.command, &worker->scratch, &missing)) {
        return give_up(vu, missing);
    }
    vu->state = VU_COMMAND;
    worker->processes++;
    vu->process = process_start(worker->loop, buf_str(&worker->scratch), step->exec.timeout_ns,
                                command_ended, vu);
    return VU_WAIT;
}

enum vu_next vu_run_step(struct vu *vu, const struct step *step, uint64_t now_ns)
{
    if (vu->due_ns && step->kind != STEP_REQUEST) {
        vu->lag_ns = (now_ns ? now_ns : clock_ns()) - vu->due_ns;
        vu->due_ns = 0;
    }
    switch (step->kind) {
    case STEP_REQUEST:
        return vu_run_request(vu, step, now_ns);
    case STEP_ASSIGN:
        return run_assign(vu, step);
    case STEP_ASSERT:
        return run_assert(vu, step);
    case STEP_DELAY:
        return run_delay(vu, step);
    case STEP_EXEC:
        return run_exec(vu, step);
    }
    return VU_NEXT;
}
