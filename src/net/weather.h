/*
 * Bad weather for tests: in builds with DRILLER_WEATHER, and there only if the environment variable
 * of that name is set, socket calls are cut short and interrupted, and what is ready is said not to
 * be, by a seeded generator: DRILLER_WEATHER=SEED. With ",resets" behind the seed connections break
 * too. In all other builds these are the system calls themselves.
 */
#ifndef NET_WEATHER_H
#define NET_WEATHER_H

#include <sys/socket.h>
#include <sys/types.h>

#ifdef DRILLER_WEATHER
ssize_t weather_recv(int fd, void *bytes, size_t n, int flags);
ssize_t weather_send(int fd, const void *bytes, size_t n, int flags);
ssize_t weather_sendmsg(int fd, const struct msghdr *message, int flags);
#else
#define weather_recv recv
#define weather_send send
#define weather_sendmsg sendmsg
#endif

#endif
