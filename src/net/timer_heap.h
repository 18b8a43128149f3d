/*
 * Timers with delays of all lengths: a binary heap by the time they are due (Williams 1964), whose
 * places the timers know, so that one can be taken out. Private to the loop.
 */
#ifndef NET_TIMER_HEAP_H
#define NET_TIMER_HEAP_H

#include <stddef.h>

#include "net/loop.h"

struct timer_heap {
    struct timer **items;
    size_t n, room;
};

void timer_heap_fini(struct timer_heap *heap);
/* Its due_ns is set. Allocates only when there are more than ever before. */
void timer_heap_add(struct timer_heap *heap, struct timer *timer);
/* The next one; NULL if there is none. */
static inline struct timer *timer_heap_first(const struct timer_heap *heap)
{
    return heap->n ? heap->items[0] : NULL;
}

#endif
