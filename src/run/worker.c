#include "run/worker.h"

#include <sched.h>
#include <stdlib.h>

#include "base/clock.h"
#include "run/vu.h"

/* With --timer spin: longer than the kernel mostly takes to wake a thread. */
#define SPIN_NS (150 * NS_PER_US)

/* Users of a thread from which on the server has always something to do. */
#define CROWD 16

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

/* What is under way is given up. Children get a second to end. */
static void end(struct worker *worker)
{
    if (worker->ending) {
        return;
    }
    worker->ending = true;
    worker->ended_ns = clock_ns();
    meter_stop(&worker->meter);
    if (worker->started && worker->shared->open && !worker->closing) {
        arrivals_stop(worker, worker->ended_ns);
    }
    for (size_t i = 0; i < worker->n_users; i++) {
        vu_stop(&worker->users[i]);
    }
    timer_stop(&worker->deadline);
    timer_stop(&worker->warm);
    maybe_stop_loop(worker);
}

static void grace_over(struct timer *timer, uint64_t now_ns)
{
    (void)now_ns;
    end((struct worker *)(void *)((char *)timer - offsetof(struct worker, deadline)));
}

/* Nothing new is begun; requests in flight have the grace to end. */
static void close_down(struct worker *worker)
{
    uint64_t now_ns = clock_ns(), grace_ns = worker->shared->options->grace_ns;
    if (grace_ns == 0 || worker->closing || worker->ending) {
        end(worker);
        return;
    }
    worker->closing = true;
    if (worker->started && worker->shared->open) {
        arrivals_stop(worker, now_ns);
    }
    for (size_t i = 0; i < worker->n_users; i++) {
        if (worker->users[i].state == VU_REQUEST) {
            worker->in_flight++;
        } else {
            vu_stop(&worker->users[i]);
        }
    }
    worker->deadline.fire = grace_over;
    timer_start_at(worker->loop, &worker->deadline, now_ns + grace_ns);
    if (worker->in_flight == 0) {
        end(worker);
    }
}

void worker_request_closed(struct worker *worker)
{
    if (--worker->in_flight == 0) {
        end(worker);
    }
}

static void deadline(struct timer *timer, uint64_t now_ns)
{
    (void)now_ns;
    close_down((struct worker *)(void *)((char *)timer - offsetof(struct worker, deadline)));
}

/* No iterations are left: users that wait to begin one need not wait. */
static void forget_waiting(struct worker *worker)
{
    for (size_t i = 0; i < worker->n_users && worker->active > 0; i++) {
        if (vu_between_iterations(&worker->users[i])) {
            vu_stop(&worker->users[i]);
            worker->active--;
        }
    }
    arrivals_forget_stopped(worker);
    if (worker->active == 0) {
        end(worker);
    }
}

static void start(struct worker *worker);

static void woken(void *ctx)
{
    struct worker *worker = ctx;
    enum stop stop = atomic_load(&worker->shared->stop);
    if (stop == STOP_NOW) {
        end(worker);
    } else if (stop == STOP_GRACE && !worker->told) {
        worker->told = true;
        close_down(worker);
    } else if (atomic_load(&worker->shared->launched) && !worker->started && !worker->ending) {
        start(worker);
    }
    if (atomic_load(&worker->shared->exhausted) && !worker->closing && !worker->ending) {
        forget_waiting(worker);
    }
}

void worker_exhausted(struct worker *worker)
{
    if (!atomic_exchange(&worker->shared->exhausted, true)) {
        outbox_notify(worker->shared->outbox); /* the main thread tells all workers */
    }
}

void worker_user_done(struct worker *worker)
{
    if (--worker->active == 0) {
        end(worker);
    }
}

void worker_process_done(struct worker *worker)
{
    worker->processes--;
    maybe_stop_loop(worker);
}

/* --- start --- */

static void connected(void *ctx)
{
    struct shared *shared = ((struct worker *)ctx)->shared;
    if (atomic_fetch_sub(&shared->connecting, 1) == 1) {
        outbox_notify(shared->outbox); /* the main thread says when to begin */
    }
}

static void idle_bytes(void *ctx, uint32_t tag)
{
    recorder_extra(((struct worker *)ctx)->counting, tag, EXTRA_EXTRA_BYTES);
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

/* Of the run proper. Iterations are what arrives, unless requests do: then users begin as many as
 * there are. */
static void start_arrivals(struct worker *worker)
{
    const struct shared *shared = worker->shared;
    const struct run_options *options = shared->options;
    uint64_t limit = options->load.by_request ? 0 : options->iterations;
    arrivals_start(worker, &shared->profile, shared->start_ns, limit);
}

/* The warm-up is over: what begins from now on counts. */
static void warm(struct timer *timer, uint64_t now_ns)
{
    struct worker *worker =
        (struct worker *)(void *)((char *)timer - offsetof(struct worker, warm));
    (void)now_ns;
    worker->counting = &worker->recorder;
    meter_start(&worker->meter, worker->shared->start_ns);
    if (worker->shared->open) {
        start_arrivals(worker);
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
    worker->recorder.open_loop = shared->open;
    worker->counting = &worker->recorder;
    if (options->warmup_ns) {
        recorder_init(&worker->warmup, options->plan->n_names);
        worker->counting = &worker->warmup;
    }
    rng_seed(&worker->rng, options->seed ^ id);
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
    client.connected = connected;
    client.ctx = worker;
    worker->client = client_new(worker->loop, &worker->blocks, &client);
    prepare(worker);
    struct meter_options meter = {.loop = worker->loop,
                                  .recorder = &worker->recorder,
                                  .ticks = options->ticks,
                                  .intervals = shared->intervals,
                                  .outbox = shared->outbox,
                                  .source = id,
                                  .load = &options->load};
    meter_init(&worker->meter, &meter);
    worker->users = xcalloc(n_users, sizeof *worker->users);
    for (size_t i = 0; i < n_users; i++) {
        vu_init(&worker->users[i], worker);
    }
    worker->warm.fire = warm;
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
    meter_fini(&worker->meter);
    recorder_fini(&worker->recorder);
    recorder_fini(&worker->warmup);
    arena_fini(&worker->arena);
    blocks_fini(&worker->blocks);
    buf_fini(&worker->scratch);
    for (unsigned i = 0; i < OUTPUT_COUNT; i++) {
        buf_fini(&worker->outputs.text[i]);
    }
}

/* User k of n in all starts k·rampup/n after the first; in an open loop all wait for arrivals. */
static void start_users(struct worker *worker)
{
    const struct run_options *options = worker->shared->options;
    uint64_t now_ns = clock_ns();
    for (size_t i = worker->n_users; i-- > 0;) {
        struct vu *vu = &worker->users[i];
        double share = (double)vu_number(vu) / (double)options->concurrency;
        if (worker->shared->open) {
            arrivals_wait(worker, vu);
        } else {
            vu_start(vu, worker->shared->launch_ns + (uint64_t)((double)options->rampup_ns * share),
                     now_ns);
        }
    }
}

static void start(struct worker *worker)
{
    const struct shared *shared = worker->shared;
    bool warms_up = worker->counting != &worker->recorder;
    worker->started = true;
    if (shared->open || shared->options->load.n_stages) {
        loop_be_precise(worker->loop, shared->open && shared->options->spin ? SPIN_NS : 0);
    }
    if (warms_up) {
        timer_start_at(worker->loop, &worker->warm, shared->start_ns);
    } else {
        meter_start(&worker->meter, shared->start_ns);
    }
    if (shared->open && warms_up) {
        arrivals_start(worker, &shared->warmup_profile, shared->launch_ns, 0);
    } else if (shared->open) {
        start_arrivals(worker);
    }
    start_users(worker);
    if (shared->end_ns != UINT64_MAX) {
        timer_start_at(worker->loop, &worker->deadline, shared->end_ns);
    }
}

/* --connections-first: those to the servers that the plan names without variables. */
static void connect_first(struct worker *worker)
{
    const struct plan *plan = worker->shared->options->plan;
    struct client *client = worker->client;
    client->ahead++; /* until all have been begun */
    for (size_t i = 0; i < plan->n_steps; i++) {
        struct origin *origin = worker->prepared[i].request.origin;
        if (origin && origin->opening == 0) {
            client_connect_ahead(client, origin, worker->n_users);
        }
    }
    if (--client->ahead == 0) {
        connected(worker);
    }
}

/* Users who go round without a rest keep the server busy at all times, and where it shares our CPU
 * each answer would wake us in the middle of its work, for one answer. As SCHED_BATCH (sched(7)) a
 * thread waits until whoever runs is done; a CPU that is idle has us at once all the same. Not if
 * moments matter more, nor if somebody has chosen another policy for us. */
static void let_others_finish(const struct worker *worker)
{
    const struct shared *shared = worker->shared;
    const struct plan *plan = shared->options->plan;
    const struct sched_param none = {0};
    bool rests = shared->open || shared->users_wait;
    for (size_t i = 0; i < plan->n_steps && !rests; i++) {
        rests = plan->steps[i].kind == STEP_DELAY;
    }
    if (!rests && worker->n_users >= CROWD && sched_getscheduler(0) == SCHED_OTHER) {
        sched_setscheduler(0, SCHED_BATCH, &none); /* this thread; failure only keeps it as it is */
    }
}

void *worker_main(void *ctx)
{
    struct worker *worker = ctx;
    let_others_finish(worker);
    if (atomic_load(&worker->shared->launched)) {
        start(worker);
    } else {
        connect_first(worker);
    }
    loop_run(worker->loop);
    hand_on(worker);
    meter_end(&worker->meter);
    worker->recorder.connections_opened = worker->client->opened;
    worker->recorder.connections_reused = worker->client->reused;
    worker->recorder.connections_failed = worker->client->failed;
    atomic_fetch_sub(&worker->shared->working, 1);
    outbox_notify(worker->shared->outbox);
    return NULL;
}
