/*
 * Bad weather for tests: in builds with DRILLER_WEATHER, and there only if the environment variable
 * of that name is set, socket calls are cut short and interrupted, and what is ready is said not to
 * be, by a seeded generator: DRILLER_WEATHER=SEED. With ",resets" behind the seed connections break
 * too. In all other builds these are the system calls themselves: past the C library, where send
 * and recv are points of cancellation and, in a process of several threads, each call switches that
 * on and off with atomic operations.
 */
#ifndef NET_WEATHER_H
#define NET_WEATHER_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/sanitizer.h"

#ifdef DRILLER_WEATHER
ssize_t weather_recv(int fd, void *bytes, size_t n, int flags);
ssize_t weather_send(int fd, const void *bytes, size_t n, int flags);
ssize_t weather_sendmsg(int fd, const struct msghdr *message, int flags);
#elif SANITIZER_THREAD /* which has to see them */
#define weather_recv recv
#define weather_send send
#define weather_sendmsg sendmsg
#else
#define weather_sendmsg sendmsg
static inline ssize_t weather_recv(int fd, void *bytes, size_t n, int flags)
{
    return syscall(SYS_recvfrom, fd, bytes, n, flags, NULL, NULL);
}

static inline ssize_t weather_send(int fd, const void *bytes, size_t n, int flags)
{
    return syscall(SYS_sendto, fd, bytes, n, flags, NULL, 0);
}
#endif

#endif
