/* The monotonic clock, in nanoseconds, and wall-clock seconds for what has dates (cookies). */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_US 1000ULL
#define NS_PER_MS 1000000ULL
#define NS_PER_S 1000000000ULL

/* CLOCK_MONOTONIC; about 30 ns a call. Never 0. */
static inline uint64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Seconds since 1970 (CLOCK_REALTIME_COARSE). */
static inline int64_t clock_wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME_COARSE, &t);
    return (int64_t)t.tv_sec;
}

#endif
