#include "net/timer_heap.h"

#include <stdlib.h>

#include "base/mem.h"

static void put(struct timer_heap *heap, size_t at, struct timer *timer)
{
    heap->items[at] = timer;
    timer->at = at;
}

/* The place `at` is free: finds the timer's, there or nearer to the first. */
static void rise(struct timer_heap *heap, size_t at, struct timer *timer)
{
    while (at > 0 && heap->items[(at - 1) / 2]->due_ns > timer->due_ns) {
        put(heap, at, heap->items[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put(heap, at, timer);
}

/* … there or farther from it. */
static void sink(struct timer_heap *heap, size_t at, struct timer *timer)
{
    for (size_t child; (child = 2 * at + 1) < heap->n; at = child) {
        if (child + 1 < heap->n && heap->items[child + 1]->due_ns < heap->items[child]->due_ns) {
            child++;
        }
        if (heap->items[child]->due_ns >= timer->due_ns) {
            break;
        }
        put(heap, at, heap->items[child]);
    }
    put(heap, at, timer);
}

void timer_heap_fini(struct timer_heap *heap)
{
    free(heap->items);
}

void timer_heap_add(struct timer_heap *heap, struct timer *timer)
{
    if (heap->n == heap->room) {
        heap->room = heap->room ? heap->room * 2 : 64;
        heap->items = xrealloc(heap->items, heap->room * sizeof(struct timer *));
    }
    timer->heap = heap;
    timer->next = timer;
    rise(heap, heap->n++, timer);
}

void timer_leave_heap(struct timer *timer)
{
    struct timer_heap *heap = timer->heap;
    struct timer *last = heap->items[--heap->n];
    if (last != timer) {
        if (last->due_ns < timer->due_ns) {
            rise(heap, timer->at, last);
        } else {
            sink(heap, timer->at, last);
        }
    }
    timer->heap = NULL;
    timer->next = NULL;
}
