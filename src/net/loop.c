#include "net/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/sanitizer.h"
#include "net/loop_uv.h"
#include "net/timer_heap.h"

#define BATCH 256

/* A task may be a user's whole iteration without a request, or a fork: what is left after so many
 * waits until timers and descriptors have had their turn. */
#define TASKS_A_TURN 32

struct timer_queue {
    struct timer_queue *next;
    struct loop *loop;
    uint64_t delay_ns;
    struct timer head; /* of a ring */
};

struct loop {
    int epoll_fd, wake_fd;
    bool stopping, uv_due, no_pwait2, precise;
    uint64_t spin_ns;
    uint64_t next_due_ns; /* no timer is due before; may be too early, never too late */
    struct timer_queue *queues;
    struct timer_heap moments;
    struct task *tasks, **tasks_end;
    void (*wake)(void *ctx);
    void *wake_ctx;
    int uv_pending;
    uv_loop_t uv;
    struct watcher wake_watcher, uv_watcher;
    int n_ready, at_ready;
    struct epoll_event ready[BATCH];
};

static void on_wake(struct watcher *watcher, unsigned events)
{
    struct loop *loop =
        (struct loop *)(void *)((char *)watcher - offsetof(struct loop, wake_watcher));
    uint64_t count;
    (void)events;
    if (read(loop->wake_fd, &count, sizeof count) == sizeof count && loop->wake) {
        loop->wake(loop->wake_ctx);
    }
}

static void on_uv(struct watcher *watcher, unsigned events)
{
    struct loop *loop =
        (struct loop *)(void *)((char *)watcher - offsetof(struct loop, uv_watcher));
    (void)events;
    loop->uv_due = true;
}

struct loop *loop_new(void)
{
    struct loop *loop = xcalloc(1, sizeof *loop);
    loop->tasks_end = &loop->tasks;
    loop->next_due_ns = UINT64_MAX;
    /* ThreadSanitizer does not know that call: a signal that came just before it would wait until
     * it is over. */
    loop->no_pwait2 = SANITIZER_THREAD;
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->epoll_fd < 0 || loop->wake_fd < 0 || uv_loop_init(&loop->uv) != 0) {
        if (loop->epoll_fd >= 0) {
            close(loop->epoll_fd);
        }
        if (loop->wake_fd >= 0) {
            close(loop->wake_fd);
        }
        free(loop);
        return NULL;
    }
    loop->wake_watcher.ready = on_wake;
    loop->uv_watcher.ready = on_uv;
    if (!loop_watch(loop, &loop->wake_watcher, loop->wake_fd, LOOP_READ) ||
        !loop_watch(loop, &loop->uv_watcher, uv_backend_fd(&loop->uv), LOOP_READ)) {
        loop_free(loop);
        return NULL;
    }
    return loop;
}

static void run_tasks(struct loop *loop)
{
    struct task *task = loop->tasks, **end = loop->tasks_end;
    loop->tasks = NULL;
    loop->tasks_end = &loop->tasks;
    for (unsigned i = 0; i < TASKS_A_TURN && task; i++) {
        struct task *next = task->next;
        task->queued = false;
        task->run(task);
        task = next;
    }
    if (task) { /* the rest goes before what was added meanwhile */
        *end = loop->tasks;
        loop->tasks_end = loop->tasks ? loop->tasks_end : end;
        loop->tasks = task;
    }
}

bool loop_free(struct loop *loop)
{
    if (!loop) {
        return true;
    }
    while (loop->tasks) {
        run_tasks(loop);
    }
    uv_run(&loop->uv, UV_RUN_NOWAIT);
    if (loop->uv_pending) {
        return false;
    }
    uv_loop_close(&loop->uv);
    close(loop->wake_fd);
    close(loop->epoll_fd);
    while (loop->queues) {
        struct timer_queue *queue = loop->queues;
        loop->queues = queue->next;
        free(queue);
    }
    timer_heap_fini(&loop->moments);
    free(loop);
    return true;
}

uv_loop_t *loop_uv(struct loop *loop)
{
    return &loop->uv;
}

void loop_uv_due(struct loop *loop)
{
    loop->uv_due = true;
}

void loop_uv_pending(struct loop *loop, int change)
{
    loop->uv_pending += change;
}

void loop_stop(struct loop *loop)
{
    loop->stopping = true;
}

void loop_wake(struct loop *loop)
{
    uint64_t one = 1;
    /* A full counter already wakes. */
    ssize_t ignored = write(loop->wake_fd, &one, sizeof one);
    (void)ignored;
}

void loop_on_wake(struct loop *loop, void (*wake)(void *ctx), void *ctx)
{
    loop->wake = wake;
    loop->wake_ctx = ctx;
}

static uint32_t epoll_mask(unsigned interest)
{
    return (interest & LOOP_READ ? (uint32_t)EPOLLIN : 0) |
           (interest & LOOP_WRITE ? (uint32_t)EPOLLOUT : 0);
}

bool loop_watch(struct loop *loop, struct watcher *watcher, int fd, unsigned interest)
{
    struct epoll_event event = {.events = epoll_mask(interest), .data.ptr = watcher};
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        return false;
    }
    watcher->fd = fd;
    watcher->interest = (uint8_t)interest;
    watcher->watched = true;
    return true;
}

void loop_interest(struct loop *loop, struct watcher *watcher, unsigned interest)
{
    if (watcher->interest == interest || !watcher->watched) {
        return;
    }
    struct epoll_event event = {.events = epoll_mask(interest), .data.ptr = watcher};
    epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, watcher->fd, &event);
    watcher->interest = (uint8_t)interest;
}

void loop_unwatch(struct loop *loop, struct watcher *watcher)
{
    if (!watcher->watched) {
        return;
    }
    struct epoll_event none = {0};
    epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watcher->fd, &none);
    watcher->watched = false;
    watcher->interest = 0;
    /* Events of this turn that are still to come must not reach it. */
    for (int i = loop->at_ready; i < loop->n_ready; i++) {
        if (loop->ready[i].data.ptr == watcher) {
            loop->ready[i].data.ptr = NULL;
        }
    }
}

static struct timer_queue *queue_add(struct loop *loop, uint64_t delay_ns)
{
    struct timer_queue *queue = xcalloc(1, sizeof *queue);
    queue->loop = loop;
    queue->delay_ns = delay_ns;
    queue->head.prev = queue->head.next = &queue->head;
    queue->next = loop->queues;
    loop->queues = queue;
    return queue;
}

struct timer_queue *loop_timers(struct loop *loop, uint64_t delay_ns)
{
    for (struct timer_queue *queue = loop->queues; queue; queue = queue->next) {
        if (queue->delay_ns == delay_ns) {
            return queue;
        }
    }
    return queue_add(loop, delay_ns);
}

static void look_by(struct loop *loop, uint64_t due_ns)
{
    if (due_ns < loop->next_due_ns) {
        loop->next_due_ns = due_ns;
    }
}

void timer_start_at(struct loop *loop, struct timer *timer, uint64_t due_ns)
{
    timer_stop(timer);
    timer->due_ns = due_ns;
    timer_heap_add(&loop->moments, timer);
    look_by(loop, due_ns);
}

void timer_start(struct timer_queue *queue, struct timer *timer, uint64_t now_ns)
{
    timer_stop(timer);
    struct timer *before = queue->head.prev;
    while (before != &queue->head && before->due_ns > now_ns + queue->delay_ns) {
        before = before->prev;
    }
    timer->due_ns = now_ns + queue->delay_ns;
    timer->prev = before;
    timer->next = before->next;
    before->next->prev = timer;
    before->next = timer;
    look_by(queue->loop, timer->due_ns);
}

void loop_defer(struct loop *loop, struct task *task)
{
    if (task->queued) {
        return;
    }
    task->queued = true;
    task->next = NULL;
    *loop->tasks_end = task;
    loop->tasks_end = &task->next;
}

static void fire(struct timer *timer, uint64_t now)
{
    timer_stop(timer);
    timer->fire(timer, now);
}

/* Fires what is due and finds out when to look again. */
static void run_timers(struct loop *loop, uint64_t now)
{
    uint64_t next = UINT64_MAX;
    struct timer *first;
    loop->next_due_ns = UINT64_MAX;
    while ((first = timer_heap_first(&loop->moments)) && first->due_ns <= now) {
        fire(first, now);
    }
    for (struct timer_queue *queue = loop->queues; queue; queue = queue->next) {
        while (queue->head.next != &queue->head && queue->head.next->due_ns <= now) {
            fire(queue->head.next, now);
        }
        if (queue->head.next != &queue->head && queue->head.next->due_ns < next) {
            next = queue->head.next->due_ns;
        }
    }
    look_by(loop, next);
    if ((first = timer_heap_first(&loop->moments))) {
        look_by(loop, first->due_ns);
    }
}

/* Runs due timers; how long to wait then in ns: 0 if there is something to do, UINT64_MAX if there
 * is no timer. One reading of the clock serves both. */
static uint64_t time_to_wait(struct loop *loop)
{
    uint64_t now = 0;
    if (loop->next_due_ns != UINT64_MAX) {
        now = clock_ns();
        if (loop->next_due_ns <= now) {
            run_timers(loop, now);
        }
    }
    if (loop->tasks || loop->uv_due || loop->stopping) {
        return 0;
    }
    if (loop->next_due_ns == UINT64_MAX) {
        return UINT64_MAX;
    }
    uint64_t awake_ns = now + loop->spin_ns;
    return loop->next_due_ns > awake_ns ? loop->next_due_ns - awake_ns : 0;
}

static int wait_ready(struct loop *loop, uint64_t ns)
{
    if (!loop->no_pwait2) {
        struct timespec limit = {(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
        int n = epoll_pwait2(loop->epoll_fd, loop->ready, BATCH, ns == UINT64_MAX ? NULL : &limit,
                             NULL);
        if (n >= 0 || errno == EINTR) {
            return n;
        }
        loop->no_pwait2 = true; /* an older kernel, or a sandbox */
    }
    uint64_t ms = ns == 0 ? 0 : ns / NS_PER_MS + 1;
    return epoll_wait(loop->epoll_fd, loop->ready, BATCH,
                      ns == UINT64_MAX ? -1 : (int)(ms > 60000 ? 60000 : ms));
}

static unsigned ready_events(uint32_t events)
{
    if (events & (EPOLLERR | EPOLLHUP)) {
        return LOOP_READ | LOOP_WRITE | LOOP_ERROR;
    }
    return (events & EPOLLIN ? LOOP_READ : 0u) | (events & EPOLLOUT ? LOOP_WRITE : 0u);
}

void loop_be_precise(struct loop *loop, uint64_t spin_ns)
{
    prctl(PR_SET_TIMERSLACK, 1UL); /* the kernel's own is 50 µs; failure only keeps that */
    loop->precise = true;
    loop->spin_ns = spin_ns;
}

/* What is due while the descriptors of a long turn are served. */
static void run_timers_between(struct loop *loop)
{
    uint64_t now = clock_ns();
    if (loop->next_due_ns <= now) {
        run_timers(loop, now);
    }
}

void loop_run(struct loop *loop)
{
    while (!loop->stopping) {
        int n = wait_ready(loop, time_to_wait(loop));
        loop->n_ready = n > 0 ? n : 0;
        for (loop->at_ready = 0; loop->at_ready < loop->n_ready && !loop->stopping;) {
            struct epoll_event *event = &loop->ready[loop->at_ready++];
            struct watcher *watcher = event->data.ptr;
            if (watcher) {
                watcher->ready(watcher, ready_events(event->events));
            }
            if (loop->precise) {
                run_timers_between(loop);
            }
        }
        loop->n_ready = 0;
        if (loop->uv_due) {
            loop->uv_due = false;
            uv_run(&loop->uv, UV_RUN_NOWAIT);
        }
        run_tasks(loop);
    }
    while (loop->tasks) {
        run_tasks(loop);
    }
    loop->stopping = false;
}
