#include "run/intervals.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"

struct intervals {
    pthread_mutex_t lock;
    pthread_cond_t room;
    struct interval *first, **end; /* full ones */
    struct interval *empty;
    size_t n, max;
};

struct intervals *intervals_new(size_t max)
{
    struct intervals *intervals = xcalloc(1, sizeof *intervals);
    pthread_mutex_init(&intervals->lock, NULL);
    pthread_cond_init(&intervals->room, NULL);
    intervals->end = &intervals->first;
    intervals->max = max;
    return intervals;
}

static void interval_free(struct interval *interval)
{
    window_fini(&interval->window);
    free(interval);
}

void intervals_free(struct intervals *intervals)
{
    if (!intervals) {
        return;
    }
    struct interval *interval;
    while ((interval = intervals_take(intervals))) {
        interval_free(interval);
    }
    while ((interval = intervals->empty)) {
        intervals->empty = interval->link;
        interval_free(interval);
    }
    pthread_cond_destroy(&intervals->room);
    pthread_mutex_destroy(&intervals->lock);
    free(intervals);
}

struct interval *intervals_get(struct intervals *intervals)
{
    pthread_mutex_lock(&intervals->lock);
    struct interval *interval = intervals->empty;
    if (interval) {
        intervals->empty = interval->link;
    }
    pthread_mutex_unlock(&intervals->lock);
    if (!interval) {
        interval = xcalloc(1, sizeof *interval);
        window_init(&interval->window, HIST_COARSE);
    }
    return interval;
}

void intervals_put(struct intervals *intervals, struct interval *full)
{
    full->link = NULL;
    pthread_mutex_lock(&intervals->lock);
    while (intervals->n >= intervals->max) {
        pthread_cond_wait(&intervals->room, &intervals->lock);
    }
    *intervals->end = full;
    intervals->end = &full->link;
    intervals->n++;
    pthread_mutex_unlock(&intervals->lock);
}

struct interval *intervals_take(struct intervals *intervals)
{
    pthread_mutex_lock(&intervals->lock);
    struct interval *interval = intervals->first;
    if (interval) {
        intervals->first = interval->link;
        if (!intervals->first) {
            intervals->end = &intervals->first;
        }
        intervals->n--;
        pthread_cond_broadcast(&intervals->room);
    }
    pthread_mutex_unlock(&intervals->lock);
    return interval;
}

void intervals_give_back(struct intervals *intervals, struct interval *interval)
{
    window_reset(&interval->window);
    interval->last = false;
    pthread_mutex_lock(&intervals->lock);
    interval->link = intervals->empty;
    intervals->empty = interval;
    pthread_mutex_unlock(&intervals->lock);
}
