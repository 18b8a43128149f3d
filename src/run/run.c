#include "run/run.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/signals.h"
#include "run/vu.h"

/* How many may be on their way while the main thread waits for a reader. */
#define INTERVALS_A_WORKER 64
/* Descriptors that are no connections: standard streams, the report, a loop's own, commands'
 * pipes. */
#define DESCRIPTORS_FIXED 32
#define DESCRIPTORS_A_WORKER 16

bool run_check_descriptors(uint64_t concurrency, unsigned workers, uint64_t *needed,
                           uint64_t *limit)
{
    struct rlimit now;
    *needed = concurrency + (uint64_t)workers * DESCRIPTORS_A_WORKER + DESCRIPTORS_FIXED;
    *limit = 0;
    if (getrlimit(RLIMIT_NOFILE, &now) != 0) {
        return true;
    }
    *limit = now.rlim_max;
    if (now.rlim_cur < now.rlim_max) {
        now.rlim_cur = now.rlim_max;
        setrlimit(RLIMIT_NOFILE, &now);
    }
    return now.rlim_max == RLIM_INFINITY || *needed <= now.rlim_max;
}

/* However slowly they are read, signals have their turn. */
#define PIECES_A_TURN 8

/* Until every worker's thread is there: the first arrivals of an open loop are not to be late. */
#define THREADS_START_NS NS_PER_MS

static double cpu_seconds(const struct rusage *usage)
{
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

/* --- the main thread while the workers work --- */

static void wake_workers(struct shared *shared, struct worker *workers)
{
    for (unsigned i = 0; i < shared->options->workers; i++) {
        loop_wake(workers[i].loop);
    }
}

static void stop_workers(struct shared *shared, struct worker *workers, enum stop stop)
{
    atomic_store(&shared->stop, stop);
    wake_workers(shared, workers);
}

/* Writes what the workers have handed on, `most` pieces of it; *more tells whether there may be
 * more. An output that fails does not take the others with it. False if the writer wants the run to
 * end. */
static bool write_pieces(struct shared *shared, unsigned most, bool *more)
{
    enum output output;
    struct str text;
    bool written = true;
    *more = true;
    for (unsigned i = 0; i < most && *more; i++) {
        *more = outbox_take(shared->outbox, &output, &text);
        if (*more) {
            written &= shared->options->write(shared->options->ctx, output, text);
        }
    }
    return written;
}

/* Merges what the workers have handed in of the time line. */
static void take_intervals(struct shared *shared)
{
    struct interval *interval;
    while (shared->timeline && (interval = intervals_take(shared->intervals))) {
        timeline_add(shared->timeline, interval);
        intervals_give_back(shared->intervals, interval);
    }
}

/* Calls who wants to know how things are, when it is time to; how long to wait for the next time,
 * as of poll. */
static int tick(const struct shared *shared, uint64_t *due_ns)
{
    const struct run_options *options = shared->options;
    uint64_t now_ns = clock_ns();
    if (!shared->timeline || !options->tick) {
        return -1;
    }
    if (now_ns >= *due_ns) {
        struct run_now now = {.timeline = shared->timeline};
        if (now_ns > shared->start_ns) {
            now.elapsed_ns = now_ns - shared->start_ns;
        }
        options->tick(options->ctx, &now);
        *due_ns = now_ns + RUN_TICK_NS;
    }
    return (int)((*due_ns - now_ns) / NS_PER_MS) + 1;
}

/* The clock starts. */
static void launch(struct shared *shared)
{
    const struct run_options *options = shared->options;
    uint64_t length_ns = options->duration_ns;
    if (options->load.n_stages) {
        length_ns = profile_length(&shared->profile);
    }
    shared->launch_ns = clock_ns() + (shared->open ? THREADS_START_NS : 0);
    shared->start_ns = shared->launch_ns + options->warmup_ns;
    shared->end_ns = length_ns ? shared->start_ns + length_ns : UINT64_MAX;
    atomic_store(&shared->launched, true);
}

/* Until every worker has ended: passes their text on, and stops them when a signal comes or
 * nobody reads any more. */
static void attend(struct shared *shared, struct worker *workers, struct run_result *result)
{
    enum stop stopped = STOP_NOT;
    bool told = false, more = false;
    uint64_t tick_ns = 0;
    while (atomic_load(&shared->working) > 0) {
        struct pollfd fds[] = {{.fd = outbox_fd(shared->outbox), .events = POLLIN},
                               {.fd = result->reader_gone ? -1 : shared->options->reader_fd}};
        /* A signal makes the outbox readable, too. */
        int wait_ms = tick(shared, &tick_ns);
        poll(fds, 2, more ? 0 : wait_ms);
        result->reader_gone |= fds[1].revents & POLLERR;
        result->write_failed |= !write_pieces(shared, PIECES_A_TURN, &more);
        take_intervals(shared);
        enum stop stop = result->write_failed || result->reader_gone ? STOP_NOW
                         : signals_seen()                            ? STOP_GRACE
                                                                     : STOP_NOT;
        if (stop > stopped) {
            stopped = stop;
            stop_workers(shared, workers, stop);
        } else if (!shared->launched && atomic_load(&shared->connecting) == 0) {
            launch(shared);
            wake_workers(shared, workers);
        } else if (atomic_load(&shared->exhausted) && !told) {
            told = true;
            wake_workers(shared, workers);
        }
    }
}

/* --- start and end --- */

static bool start_thread(struct worker *worker, const char **why)
{
    if (pthread_create(&worker->thread, NULL, worker_main, worker) != 0) {
        *why = "a worker thread could not be started";
        return false;
    }
    return true;
}

/* Starts all workers, with signals blocked in them, so that the main thread gets them. */
static unsigned start_workers(struct shared *shared, struct worker *workers, const char **why)
{
    sigset_t block, before;
    unsigned started = 0;
    sigemptyset(&block);
    sigaddset(&block, SIGINT);
    sigaddset(&block, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &block, &before);
    if (shared->options->connections_first) {
        atomic_store(&shared->connecting, shared->options->workers);
        shared->start_ns = UINT64_MAX;
    } else {
        launch(shared);
    }
    atomic_store(&shared->working, shared->options->workers);
    while (started < shared->options->workers && start_thread(&workers[started], why)) {
        started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static void say_count(void *ctx, struct str text, uint64_t count)
{
    const struct run_options *options = ctx;
    struct outputs outputs;
    struct buf line;
    buf_init(&line, BUF_NO_MAX);
    buf_add_str(&line, text);
    buf_add_str(&line, STR(": "));
    buf_add_u64(&line, count);
    buf_add_str(&line, STR(" times in all"));
    struct event event = {.kind = EVENT_WARNING, .value = buf_str(&line)};
    for (unsigned i = 0; i < OUTPUT_COUNT; i++) {
        buf_init(&outputs.text[i], BUF_NO_MAX);
    }
    options->format(options->ctx, &event, &outputs);
    for (unsigned i = 0; i < OUTPUT_COUNT; i++) {
        if (outputs.text[i].n) {
            options->write(options->ctx, (enum output)i, buf_str(&outputs.text[i]));
        }
        buf_fini(&outputs.text[i]);
    }
    buf_fini(&line);
}

/* ru_maxrss would tell more: it starts from what was here before exec, a large parent's memory. */
static uint64_t peak_memory(const struct rusage *usage)
{
    FILE *status = fopen("/proc/self/status", "re");
    unsigned long kib = (unsigned long)usage->ru_maxrss;
    char line[256];
    while (status && fgets(line, sizeof line, status) && sscanf(line, "VmHWM: %lu", &kib) != 1) {
    }
    if (status) {
        fclose(status);
    }
    return (uint64_t)kib * 1024;
}

static void add_address(void *ctx, const struct address *address, const struct address_use *use)
{
    struct buf text;
    buf_init(&text, BUF_NO_MAX);
    address_add_text(&text, address);
    snapshot_add_address(ctx, buf_str(&text), use->connections, use->failed);
    buf_fini(&text);
}

/* The run's duration is known. */
static void add_meter(struct snapshot *snapshot, const struct meter *meter)
{
    if (meter->stages) {
        snapshot_add_stages(snapshot, meter->stages, meter->options.load->n_stages);
    }
    double ns = (double)snapshot->duration_ns;
    if (ns > 0 && (double)meter->cpu_ns / ns > snapshot->busy) {
        snapshot->busy = (double)meter->cpu_ns / ns;
    }
}

/* … and so are its stages: what a run says of its course. */
static void add_times(struct shared *shared, struct snapshot *snapshot)
{
    const struct load *load = &shared->options->load;
    uint64_t start_ns = 0;
    double from = 0;
    for (size_t i = 0; i < snapshot->n_stages; i++) {
        struct stage_count *stage = &snapshot->stages[i];
        stage->start_ns = start_ns;
        stage->length_ns = load->stages[i].duration_ns;
        stage->from = from;
        stage->to = load->stages[i].target;
        start_ns += stage->length_ns;
        from = stage->to;
    }
    snapshot->staged_rates = load->staged_rates;
    snapshot->by_request = load->by_request;
    snapshot->spins = shared->options->spin;
    snapshot->ticks = shared->options->ticks;
    snapshot->timeline = shared->timeline;
    shared->timeline = NULL;
    if (snapshot->timeline) {
        timeline_end(snapshot->timeline, snapshot->duration_ns);
    }
}

static void collect(struct shared *shared, struct worker *workers, struct snapshot *snapshot,
                    struct run_result *result)
{
    const struct run_options *options = shared->options;
    uint64_t ended_ns = 0;
    for (unsigned i = 0; i < options->workers; i++) {
        const struct worker *worker = &workers[i];
        snapshot_add(snapshot, &worker->recorder);
        ended_ns = worker->ended_ns > ended_ns ? worker->ended_ns : ended_ns;
        client_each_address(worker->client, add_address, snapshot);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    /* The start may not have come. */
    snapshot->duration_ns = ended_ns > shared->start_ns ? ended_ns - shared->start_ns : 0;
    for (unsigned i = 0; i < options->workers; i++) {
        add_meter(snapshot, &workers[i].meter);
    }
    snapshot->stopped = signals_continued();
    result->assertions_failed = snapshot->checks_failed;
    result->abandoned = snapshot->iterations_abandoned;
    result->not_sent = snapshot->global.causes[OUTCOME_LOCAL];
    add_times(shared, snapshot);
    snapshot->cpu_s = cpu_seconds(&usage);
    snapshot->max_rss_bytes = peak_memory(&usage);
    snapshot->tls_verified = -1;
    for (unsigned i = 0; i < options->workers; i++) {
        if (workers[i].client->used_tls) {
            snapshot->tls_verified = !options->client.tls.insecure;
        }
    }
    snapshot->interrupted = result->signal == SIGINT    ? "SIGINT"
                            : result->signal == SIGTERM ? "SIGTERM"
                                                        : NULL;
    notices_each(shared->notices, say_count, (void *)(uintptr_t)options);
}

/* Runs the workers that were made; false if none could be started. */
static bool work(struct shared *shared, struct worker *workers, struct run_result *result,
                 const char **why)
{
    unsigned started = start_workers(shared, workers, why);
    bool all = started == shared->options->workers;
    if (!all) {
        atomic_fetch_sub(&shared->working, shared->options->workers - started);
        stop_workers(shared, workers, STOP_NOW);
    }
    attend(shared, workers, result);
    for (unsigned i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    bool more = true;
    while (more) {
        result->write_failed |= !write_pieces(shared, PIECES_A_TURN, &more);
    }
    take_intervals(shared);
    result->signal = signals_seen();
    return all;
}

/* The warm-up has the load of the run's beginning: of stages, what the first one leads to. */
static void make_profiles(struct shared *shared)
{
    const struct load *load = &shared->options->load;
    struct load warmup = *load;
    if (load->n_stages) {
        warmup = (struct load){.rate = load->stages[0].target};
    }
    shared->open = load_is_open(load);
    shared->users_wait =
        !shared->open && (load->n_stages > 0 || shared->options->plan->pacing_ns > 0);
    profile_init(&shared->profile, load, shared->options->duration_ns);
    profile_init(&shared->warmup_profile, &warmup, shared->options->warmup_ns);
}

static void make_timeline(struct shared *shared)
{
    const struct run_options *options = shared->options;
    struct timeline_options timeline = {options->ticks, options->workers, options->max_intervals};
    if (options->ticks.interval_ns) {
        shared->timeline = timeline_new(&timeline);
        shared->intervals = intervals_new((size_t)options->workers * INTERVALS_A_WORKER);
    }
}

bool run(const struct run_options *options, struct snapshot *snapshot, struct run_result *result,
         const char **why)
{
    struct shared shared = {.options = options, .outbox = outbox_new()};
    *result = (struct run_result){0};
    if (!shared.outbox) {
        *why = "file descriptors are short";
        return false;
    }
    shared.notices = notices_new();
    make_profiles(&shared);
    make_timeline(&shared);
    struct worker *workers = xcalloc(options->workers, sizeof *workers);
    bool made = true;
    unsigned n = 0;
    while (n < options->workers && made) {
        uint64_t share =
            options->concurrency / options->workers + (n < options->concurrency % options->workers);
        made = worker_init(&workers[n], &shared, n, share, why);
        n++;
    }
    signals_start(shared.outbox);
    made = made && work(&shared, workers, result, why);
    signals_stop();
    if (made) {
        snapshot_init(snapshot, options->plan->names, options->plan->n_names);
        collect(&shared, workers, snapshot, result);
    }
    for (unsigned i = 0; i < n; i++) {
        worker_fini(&workers[i]);
        result->leaves_threads |= workers[i].leaves_loop;
    }
    free(workers);
    profile_fini(&shared.profile);
    profile_fini(&shared.warmup_profile);
    timeline_free(shared.timeline);
    intervals_free(shared.intervals);
    notices_free(shared.notices);
    outbox_free(shared.outbox);
    return made;
}
