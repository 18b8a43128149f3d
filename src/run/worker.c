#include "run/worker.h"

#include <stdlib.h>

#include "base/clock.h"
#include "run/vu.h"

/* --- output --- */

static void hand_on(struct worker *worker)
{
    for (unsigned i = 0; i < OUTPUT_COUNT; i++) {
        if (worker->outputs.text[i].n) {
            outbox_put(worker->shared->outbox, (enum output)i, &worker->outputs.text[i]);
        }
    }
    timer_stop(&worker->flush);
}

static void flush_due(struct timer *timer, uint64_t now_ns)
{
    (void)now_ns;
    hand_on((struct worker *)(void *)((char *)timer - offsetof(struct worker, flush)));
}

void worker_event(struct worker *worker, const struct event *event)
{
    const struct run_options *options = worker->shared->options;
    size_t waiting = 0;
    options->format(options->ctx, event, &worker->outputs);
    for (unsigned i = 0; i < OUTPUT_COUNT; i++) {
        waiting += worker->outputs.text[i].n;
    }
    if (waiting >= OUTPUT_PIECE) {
        hand_on(worker);
    } else if (waiting && !timer_running(&worker->flush)) {
        timer_start(loop_timers(worker->loop, OUTPUT_DELAY_NS), &worker->flush, clock_ns());
    }
}

/* --- the end --- */

static void maybe_stop_loop(struct worker *worker)
{
    if (worker->ending && worker->processes == 0) {
        loop_stop(worker->loop);
    }
}

/* No user takes another step; what is under way is given up. Children get a second to end. */
static void end(struct worker *worker)
{
    if (worker->ending) {
        return;
    }
    worker->ending = true;
    worker->ended_ns = clock_ns();
    for (size_t i = 0; i < worker->n_users; i++) {
        vu_stop(&worker->users[i]);
    }
    timer_stop(&worker->deadline);
    maybe_stop_loop(worker);
}

static void deadline(struct timer *timer, uint64_t now_ns)
{
    struct worker *worker =
        (struct worker *)(void *)((char *)timer - offsetof(struct worker, deadline));
    (void)now_ns;
    end(worker);
}

/* No iterations are left: users whose start is still to come have nothing to start for. */
static void forget_starts(struct worker *worker)
{
    for (size_t i = 0; i < worker->n_users && worker->active > 0; i++) {
        if (vu_before_start(&worker->users[i])) {
            vu_stop(&worker->users[i]);
            worker->active--;
        }
    }
    if (worker->active == 0) {
        end(worker);
    }
}

static void woken(void *ctx)
{
    struct worker *worker = ctx;
    if (atomic_load(&worker->shared->stop)) {
        end(worker);
    } else if (atomic_load(&worker->shared->exhausted)) {
        forget_starts(worker);
    }
}

void worker_user_done(struct worker *worker)
{
    worker->active--;
    if (!atomic_exchange(&worker->shared->exhausted, true)) {
        outbox_notify(worker->shared->outbox); /* the main thread tells all workers */
    }
    if (worker->active == 0) {
        end(worker);
    }
}

void worker_process_done(struct worker *worker)
{
    worker->processes--;
    maybe_stop_loop(worker);
}

/* --- start --- */

static void idle_bytes(void *ctx, uint32_t tag)
{
    recorder_extra(&((struct worker *)ctx)->recorder, tag, EXTRA_EXTRA_BYTES);
}

static void prepare(struct worker *worker)
{
    const struct plan *plan = worker->shared->options->plan;
    worker->prepared = xcalloc(plan->n_steps, sizeof *worker->prepared);
    for (size_t i = 0; i < plan->n_steps; i++) {
        if (plan->steps[i].kind == STEP_REQUEST) {
            request_prepare(&worker->prepared[i], &plan->steps[i], plan, worker->client,
                            &worker->arena);
        }
    }
}

bool worker_init(struct worker *worker, struct shared *shared, unsigned id, size_t n_users,
                 const char **why)
{
    const struct run_options *options = shared->options;
    *worker = (struct worker){.shared = shared, .id = id, .n_users = n_users, .active = n_users};
    blocks_init(&worker->blocks);
    arena_init(&worker->arena);
    recorder_init(&worker->recorder, options->plan->n_names);
    buf_init(&worker->scratch, 64u << 20);
    for (unsigned i = 0; i < OUTPUT_COUNT; i++) {
        buf_init(&worker->outputs.text[i], BUF_NO_MAX);
    }
    worker->loop = loop_new();
    if (!worker->loop) {
        *why = "the event loop could not be made: file descriptors or memory are short";
        return false;
    }
    loop_on_wake(worker->loop, woken, worker);
    struct client_options client = options->client;
    client.idle_bytes = idle_bytes;
    client.ctx = worker;
    worker->client = client_new(worker->loop, &worker->blocks, &client);
    prepare(worker);
    worker->users = xcalloc(n_users, sizeof *worker->users);
    for (size_t i = 0; i < n_users; i++) {
        vu_init(&worker->users[i], worker);
    }
    worker->deadline.fire = deadline;
    worker->flush.fire = flush_due;
    return true;
}

void worker_fini(struct worker *worker)
{
    for (size_t i = 0; worker->users && i < worker->n_users; i++) {
        vu_fini(&worker->users[i]);
    }
    free(worker->users);
    free(worker->prepared);
    if (worker->client) {
        client_close(worker->client);
    }
    worker->leaves_loop = !loop_free(worker->loop);
    client_free(worker->client);
    recorder_fini(&worker->recorder);
    arena_fini(&worker->arena);
    blocks_fini(&worker->blocks);
    buf_fini(&worker->scratch);
    for (unsigned i = 0; i < OUTPUT_COUNT; i++) {
        buf_fini(&worker->outputs.text[i]);
    }
}

/* User k of n in all starts k·rampup/n after the run. */
static void start_users(struct worker *worker)
{
    const struct run_options *options = worker->shared->options;
    uint64_t now_ns = clock_ns();
    for (size_t i = 0; i < worker->n_users; i++) {
        uint64_t k = worker->id + i * options->workers;
        double share = (double)k / (double)options->concurrency;
        uint64_t start_ns =
            worker->shared->start_ns + (uint64_t)((double)options->rampup_ns * share);
        vu_start(&worker->users[i], start_ns, now_ns);
    }
    if (options->duration_ns) {
        timer_start_at(worker->loop, &worker->deadline,
                       worker->shared->start_ns + options->duration_ns);
    }
}

void *worker_main(void *ctx)
{
    struct worker *worker = ctx;
    start_users(worker);
    loop_run(worker->loop);
    hand_on(worker);
    worker->recorder.connections_opened = worker->client->opened;
    worker->recorder.connections_reused = worker->client->reused;
    worker->recorder.connections_failed = worker->client->failed;
    atomic_fetch_sub(&worker->shared->working, 1);
    outbox_notify(worker->shared->outbox);
    return NULL;
}
