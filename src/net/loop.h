/*
 * One thread's event loop: an epoll of its own for sockets, libuv inside it for what libuv is good
 * at (name look-ups, child processes), timers in queues of equal delays. Everything here belongs to
 * the thread that runs the loop, but for loop_wake.
 *
 * Order of a turn: due timers, ready watchers, libuv, tasks. Nothing is freed inside its own
 * callback: what must be freed is handed to loop_defer.
 */
#ifndef NET_LOOP_H
#define NET_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;

/* NULL if the kernel refuses (descriptors, memory). */
struct loop *loop_new(void);
/* Runs the tasks that are left. Everything that was watched or started must be done with. False if
 * a name look-up is still under way in another thread: then the loop's memory is left to it, and
 * the process should end by _exit. NULL is allowed. */
bool loop_free(struct loop *loop);

/* Timers are to be met to the microsecond: they are looked at between any two descriptors, and the
 * last spin_ns before one is due are waited for awake (0: asleep). On the loop's
 * thread. */
void loop_be_precise(struct loop *loop, uint64_t spin_ns);

/* Runs until loop_stop. */
void loop_run(struct loop *loop);
/* Ends loop_run after the current callback and the tasks that are left; before loop_run, has it end
 * at once. */
void loop_stop(struct loop *loop);
/* Any thread, async-signal-safe: has `wake` called on the loop's thread soon. */
void loop_wake(struct loop *loop);
void loop_on_wake(struct loop *loop, void (*wake)(void *ctx), void *ctx);

/* --- descriptors --- */

enum { LOOP_READ = 1, LOOP_WRITE = 2, LOOP_ERROR = 4 };

/* Embedded in what owns the descriptor. Zeroed is a valid idle state. */
struct watcher {
    int fd;
    uint8_t interest; /* LOOP_READ | LOOP_WRITE */
    bool watched;
    /* events: what is ready; LOOP_ERROR comes with both others so that the next call meets it. */
    void (*ready)(struct watcher *watcher, unsigned events);
};

/* Level-triggered. False if epoll refuses. */
bool loop_watch(struct loop *loop, struct watcher *watcher, int fd, unsigned interest);
/* Changes the interest; nothing is done if it is the same. */
void loop_interest(struct loop *loop, struct watcher *watcher, unsigned interest);
/* No more callbacks, not even for events of this turn; the watcher's memory must stay until the
 * turn's tasks. */
void loop_unwatch(struct loop *loop, struct watcher *watcher);

/* --- timers --- */

struct timer;
typedef void (*timer_fire)(struct timer *timer, uint64_t now_ns);

/* Embedded; zeroed is idle. Fires once. */
struct timer {
    struct timer *next; /* NULL: idle */
    union {
        struct timer *prev; /* in a queue */
        size_t at;          /* in the heap */
    };
    struct timer_heap *heap; /* NULL: in a queue */
    uint64_t due_ns;
    timer_fire fire;
};

/* Timers with the same delay: first in, first out, 5 ns a start. */
struct timer_queue;

/* The loop's queue for that delay, made at the first call; lives as long as the loop. */
struct timer_queue *loop_timers(struct loop *loop, uint64_t delay_ns);
/* Due at now_ns + the queue's delay (> 0). Restarts it if it runs. */
void timer_start(struct timer_queue *queue, struct timer *timer, uint64_t now_ns);
/* Due at that moment, whatever the others' delays are: some 50 ns. Restarts it if it runs. */
void timer_start_at(struct loop *loop, struct timer *timer, uint64_t due_ns);
/* For timer_stop. */
void timer_leave_heap(struct timer *timer);

static inline bool timer_running(const struct timer *timer)
{
    return timer->next != 0;
}
static inline void timer_stop(struct timer *timer)
{
    if (timer->heap) {
        timer_leave_heap(timer);
    } else if (timer->next) {
        timer->prev->next = timer->next;
        timer->next->prev = timer->prev;
        timer->next = 0;
    }
}

/* --- tasks --- */

/* Embedded; runs once at the end of this turn (of the next, if started by a task), or of a later
 * one if there are many: in order, some a turn. */
struct task {
    struct task *next;
    bool queued;
    void (*run)(struct task *task);
};
void loop_defer(struct loop *loop, struct task *task);

#endif
