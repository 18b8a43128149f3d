#include "net/weather.h"

#ifdef DRILLER_WEATHER

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/rng.h"

enum { CLEAR, FOUL, STORMY };

static _Thread_local struct rng rng;
static _Thread_local int kind = -1;

static int weather(void)
{
    if (kind < 0) {
        const char *text = getenv("DRILLER_WEATHER");
        kind = !text ? CLEAR : strstr(text, ",resets") ? STORMY : FOUL;
        rng_seed(&rng, text ? strtoull(text, NULL, 10) : 0);
    }
    return kind;
}

/* One call in so many; never in clear weather. */
static bool chance(unsigned of)
{
    return weather() != CLEAR && rng_below(&rng, of) == 0;
}

/* Does the call fail without being made? */
static bool fails(void)
{
    if (chance(8)) {
        errno = EINTR;
        return true;
    }
    if (chance(8)) {
        errno = EAGAIN;
        return true;
    }
    if (weather() == STORMY && chance(50)) {
        errno = ECONNRESET;
        return true;
    }
    return false;
}

static size_t cut(size_t n)
{
    return n > 1 && chance(2) ? 1 + (size_t)rng_below(&rng, n < 64 ? n : 64) : n;
}

ssize_t weather_recv(int fd, void *bytes, size_t n, int flags)
{
    return fails() ? -1 : recv(fd, bytes, cut(n), flags);
}

ssize_t weather_send(int fd, const void *bytes, size_t n, int flags)
{
    return fails() ? -1 : send(fd, bytes, cut(n), flags);
}

ssize_t weather_sendmsg(int fd, const struct msghdr *message, int flags)
{
    if (fails()) {
        return -1;
    }
    if (chance(2)) {
        const struct iovec *first = message->msg_iov;
        return send(fd, first->iov_base, cut(first->iov_len), flags);
    }
    return sendmsg(fd, message, flags);
}

#endif
