/* The request step: from a template to an exchange, and what its end means. */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "run/vu.h"

_Static_assert((int)PHASE_COUNT == (int)EXCHANGE_PHASES && (int)PHASE_BODY == (int)EXCHANGE_BODY &&
                   PHASE_NONE == EXCHANGE_NONE,
               "the phases of an exchange are those of a sample");

static enum vu_next next_item(struct vu *vu, const struct step *step)
{
    if (step->items && vu->item + 1 < items_count(step->items)) {
        vu->item++;
        return VU_AGAIN;
    }
    return VU_NEXT;
}

/* A request that is not sent: counted, said, and over. */
static void not_sent(struct vu *vu, const struct step *step, enum outcome outcome, struct str cause)
{
    struct worker *worker = vu->worker;
    struct sample sample = {.outcome = outcome, .stage = worker->recorder.stage};
    for (unsigned i = 0; i < PHASE_COUNT; i++) {
        sample.phases[i] = PHASE_NONE;
    }
    recorder_start(worker->counting, step->stat);
    recorder_add(worker->counting, step->stat, &sample);
    vu->has_arrival = false; /* it is used up */
    vu->due_ns = vu->lag_ns = 0;
    if (worker->counting != &worker->recorder) {
        return;
    }
    struct event event = {.kind = EVENT_DONE,
                          .name = vu->request->name,
                          .stat_name = step->name.source,
                          .url = vu->request->shown,
                          .outcome = outcome,
                          .cause = cause};
    worker_event(worker, &event);
}

static enum vu_next missing_variable(struct vu *vu, const struct step *step,
                                     const struct path *path)
{
    struct buf cause;
    buf_init(&cause, 4096);
    buf_add_str(&cause, STR("the variable '"));
    buf_add_str(&cause, path->text);
    buf_add_str(&cause, STR("' is not set"));
    not_sent(vu, step, OUTCOME_MISSING_VARIABLE, buf_str(&cause));
    buf_fini(&cause);
    vu_notice(vu, path, STR("variable '"), path->text,
              STR("' is missing: the iteration is given up"));
    return VU_GIVE_UP;
}

static enum vu_next unsendable(struct vu *vu, const struct step *step,
                               const struct render_problem *problem)
{
    struct buf cause;
    buf_init(&cause, 4096);
    buf_add_str(&cause, problem->part);
    buf_add_char(&cause, ' ');
    buf_add_str(&cause, str_of(problem->text));
    not_sent(vu, step, OUTCOME_LOCAL, buf_str(&cause));
    vu_notice(vu, problem->where, STR("not sent: "), buf_str(&cause), STR(""));
    buf_fini(&cause);
    return next_item(vu, step);
}

static void paused(struct timer *timer, uint64_t now_ns)
{
    struct vu *vu = (struct vu *)(void *)((char *)timer - offsetof(struct vu, timer));
    (void)now_ns;
    vu_resume(vu, VU_AGAIN, 0);
}

/* An origin that is down is not stormed: true if the user waits first. What an arrival begins does
 * not: the rate says when it is sent. */
static bool pause_first(struct vu *vu, const struct origin *origin)
{
    uint64_t ns = vu->paused || vu->has_arrival ? 0 : client_backoff_ns(origin);
    vu->paused = ns > 0;
    if (ns) {
        vu->state = VU_WAITING;
        vu->timer.fire = paused;
        timer_start(loop_timers(vu->worker->loop, ns), &vu->timer, clock_ns());
    }
    return ns > 0;
}

static void say_send(struct vu *vu, const struct step *step, const struct prepared *prepared)
{
    const struct request *request = vu->request;
    const struct exchange *exchange = &vu->exchange;
    struct event event = {.kind = EVENT_SEND,
                          .name = request->name,
                          .stat_name = step->name.source,
                          .url = request->shown,
                          .method = step->request.method};
    event.head = request_shown_fields(prepared,
                                      exchange->wire.n ? buf_str(&exchange->wire) : exchange->head);
    worker_event(vu->worker, &event);
}

/* The detail of a failure, with the bytes that show it. */
static struct str cause_of(const struct failure *failure, struct buf *out)
{
    struct str text = str_of(failure->text    ? failure->text
                             : failure->error ? strerror(failure->error)
                                              : NULL);
    if (!failure->seen.n) {
        return text;
    }
    buf_reset(out);
    buf_add_str(out, text);
    buf_add_str(out, STR(": "));
    buf_add_str(out, failure->seen);
    return buf_str(out);
}

static void say_done(struct vu *vu, const struct step *step, uint64_t lag_ns)
{
    const struct exchange *exchange = &vu->exchange;
    const struct run_options *options = vu->worker->shared->options;
    bool failed = exchange->failure.outcome != OUTCOME_RESPONSE;
    struct event event = {.kind = EVENT_DONE,
                          .name = vu->request->name,
                          .stat_name = step->name.source,
                          .url = vu->request->shown,
                          .outcome = exchange->failure.outcome,
                          .where = exchange->failure.where,
                          .status = exchange->status,
                          .latency_ns = exchange->done_ns - exchange->start_ns + lag_ns};
    if (failed) {
        event.cause = cause_of(&exchange->failure, &vu->worker->scratch);
    } else if (options->wants_verbose) {
        event.head = buf_str(&vu->incoming->fields);
        event.final_url = buf_str(&vu->incoming->url);
        if (step->request.assign != SLOT_NONE) {
            struct str body = buf_str(&vu->incoming->body);
            event.body = (struct str){body.p ? body.p : "", body.n};
        }
    }
    worker_event(vu->worker, &event);
}

void vu_count_notes(struct vu *vu, const struct step *step)
{
    const struct exchange *exchange = &vu->exchange;
    struct recorder *recorder = vu->request_recorder;
    if (exchange->noted) {
        uint64_t *extra = recorder->tallies[step->stat].extra;
        extra[EXTRA_RECONNECTS] += exchange->notes.reconnects;
        extra[EXTRA_REDIRECTS] += exchange->notes.redirects;
        extra[EXTRA_EXTRA_BYTES] += exchange->notes.extra_bytes;
        extra[EXTRA_LENIENT] += exchange->notes.lenient;
        extra[EXTRA_BOTH_LENGTHS] += exchange->notes.both_lengths;
        extra[EXTRA_INTERIM] += exchange->notes.interim;
    }
}

static void record(struct vu *vu, const struct step *step)
{
    const struct exchange *exchange = &vu->exchange;
    struct recorder *recorder = vu->request_recorder;
    uint64_t ns = exchange->done_ns - exchange->start_ns;
    struct sample sample = {.outcome = exchange->failure.outcome,
                            .status = exchange->status,
                            .stage = vu->stage,
                            .latency_ns = ns + vu->lag_ns,
                            .service_ns = ns,
                            .bytes_sent = exchange->bytes_sent,
                            .bytes_received = exchange->bytes_received};
    memcpy(sample.phases, exchange->phases, sizeof sample.phases);
    recorder_add(recorder, step->stat, &sample);
    vu_count_notes(vu, step);
}

/* Does anybody want to hear of this end of a request? */
static bool wanted(const struct vu *vu)
{
    const struct run_options *options = vu->worker->shared->options;
    return (options->wants_lines || options->wants_verbose || options->wants_report ||
            vu->exchange.failure.outcome != OUTCOME_RESPONSE) &&
           vu->request_recorder == &vu->worker->recorder;
}

static void exchange_done(struct exchange *exchange)
{
    struct vu *vu = (struct vu *)(void *)((char *)exchange - offsetof(struct vu, exchange));
    const struct step *step = &vu->vars.plan->steps[vu->step];
    if (exchange->waited_ns && vu->worker->shared->open) {
        vu->lag_ns += exchange->waited_ns; /* it was due; else its user has begun later */
    }
    record(vu, step);
    if (wanted(vu)) {
        say_done(vu, step, vu->lag_ns);
    }
    vu->lag_ns = 0;
    if (step->request.assign != SLOT_NONE && exchange->failure.outcome == OUTCOME_RESPONSE) {
        vars_set_response(&vu->vars, step->request.assign, &vu->incoming);
    }
    if (vu->incoming) {
        buf_shrink(&vu->incoming->body, VARS_KEPT_BYTES);
    }
    buf_shrink(&vu->text, VARS_KEPT_BYTES);
    buf_shrink(&exchange->wire, VARS_KEPT_BYTES);
    vu_resume(vu, next_item(vu, step), exchange->done_ns);
}

static void send_request(struct vu *vu, const struct step *step, const struct prepared *prepared,
                         uint64_t now_ns)
{
    struct worker *worker = vu->worker;
    const struct run_options *options = worker->shared->options;
    struct exchange *exchange = &vu->exchange;
    exchange->origin = vu->request->origin;
    exchange->method = step->request.method;
    exchange->target = vu->request->target;
    exchange->head = vu->request->head;
    exchange->body = vu->request->body;
    exchange->idempotent = prepared->idempotent;
    exchange->is_head = prepared->is_head;
    exchange->own_cookies = prepared->own_cookies;
    exchange->expects = prepared->expects;
    exchange->jar = &vu->jar;
    exchange->tag = step->stat;
    exchange->done = exchange_done;
    exchange->keep = NULL;
    if (step->request.assign != SLOT_NONE || options->wants_verbose) {
        if (!vu->incoming) {
            vu->incoming = xmalloc(sizeof *vu->incoming);
            response_init(vu->incoming);
        }
        exchange->keep = vu->incoming;
        exchange->keep_body = step->request.assign != SLOT_NONE;
    }
    vu->state = VU_REQUEST;
    vu->has_arrival = false;
    if (vu->due_ns) {
        vu->lag_ns = now_ns - vu->due_ns;
        vu->due_ns = 0;
    }
    vu->stage = worker->recorder.stage;
    vu->request_recorder = worker->counting;
    recorder_start(worker->counting, step->stat);
    client_send(worker->client, exchange, now_ns);
    if (options->wants_verbose && vu->request_recorder == &worker->recorder) {
        say_send(vu, step, prepared);
    }
}

static enum render_result render(struct vu *vu, const struct prepared *prepared,
                                 struct render_problem *problem)
{
    struct worker *worker = vu->worker;
    struct renderer renderer = {vu_resolve, vu, &vu->text, &worker->scratch};
    if (prepared->fixed) {
        vu->request = &prepared->request;
        return RENDER_OK;
    }
    if (!vu->rendered) {
        vu->rendered = xmalloc(sizeof *vu->rendered);
    }
    vu->request = vu->rendered;
    return request_render(prepared, vu->vars.plan, worker->client, &renderer, vu->rendered,
                          problem);
}

enum vu_next vu_run_request(struct vu *vu, const struct step *step, uint64_t now_ns)
{
    const struct prepared *prepared = &vu->worker->prepared[vu->step];
    const struct run_options *options = vu->worker->shared->options;
    struct render_problem problem = {0};
    if (step->items && items_count(step->items) == 0) {
        return VU_NEXT;
    }
    if (options->load.by_request && !vu->has_arrival && !arrivals_wait(vu->worker, vu)) {
        return VU_WAIT;
    }
    if (step->items) {
        vu->vars.items = step->items;
        vu->vars.item = vu->vars.index = vu->item;
    }
    switch (render(vu, prepared, &problem)) {
    case RENDER_MISSING:
        return missing_variable(vu, step, problem.path);
    case RENDER_LOCAL:
        return unsendable(vu, step, &problem);
    case RENDER_OK:
        break;
    }
    if (pause_first(vu, vu->request->origin)) {
        return VU_WAIT;
    }
    /* Where nothing was rendered, a reading that was just made is as good as another. */
    send_request(vu, step, prepared, prepared->fixed && now_ns ? now_ns : clock_ns());
    return VU_WAIT;
}
