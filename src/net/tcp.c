#include "net/tcp.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sanitizer.h"
#include "net/weather.h"

/* What a thread's sockets may hold back in the kernel before they wake it, all together and each.
 */
#define LOWAT_BUDGET (64u << 20)
#define LOWAT_MAX (1u << 20)
#define PARTS_MAX 8

static struct failure connect_failure(int error)
{
    struct failure failure = {.outcome = OUTCOME_CONNECT_UNREACHABLE, .error = error};
    switch (error) {
    case ECONNREFUSED:
        failure.outcome = OUTCOME_CONNECT_REFUSED;
        break;
    case EMFILE:
    case ENFILE:
        failure.outcome = OUTCOME_CONNECT_FD_LIMIT;
        failure.text = "no file descriptors are left: raise the limit (ulimit -n) or use fewer "
                       "users";
        break;
    case EADDRNOTAVAIL:
        failure.outcome = OUTCOME_CONNECT_NO_PORT;
        failure.text = "no local ports are left: use keep-alive, widen "
                       "net.ipv4.ip_local_port_range, or name more addresses with --local-address";
        break;
    case ETIMEDOUT:
        failure.outcome = OUTCOME_CONNECT_TIMEOUT;
        break;
    case ECONNRESET: /* it was accepted, and reset before we looked */
        failure.outcome = OUTCOME_RESET;
        break;
    default:
        break;
    }
    return failure;
}

static enum io fail(struct tcp *tcp, struct failure failure)
{
    tcp->stream.failure = failure;
    return IO_FAILED;
}

static enum io fail_io(struct tcp *tcp)
{
    return fail(tcp, (struct failure){.outcome = OUTCOME_RESET, .error = errno});
}

static void tcp_ready(struct watcher *watcher, unsigned events)
{
    struct tcp *tcp = (struct tcp *)(void *)((char *)watcher - offsetof(struct tcp, watcher));
    tcp->failed = events & LOOP_ERROR;
    tcp->stream.ready(&tcp->stream, events);
}

/* Sockets of this thread that wait for more than a byte. */
static _Thread_local unsigned n_raised;

static void set_lowat(struct tcp *tcp, uint32_t bytes)
{
    int value = (int)bytes;
    if (tcp->lowat != bytes &&
        setsockopt(tcp->watcher.fd, SOL_SOCKET, SO_RCVLOWAT, &value, sizeof value) == 0) {
        n_raised += (bytes > 1) - (unsigned)(tcp->lowat > 1);
        tcp->lowat = bytes;
    }
}

/* With many bodies in flight each gets less; a body that has less than TCP_DISCARD_MIN left is
 * read, so less than that would only wake more often. */
static uint32_t lowat_for(const struct tcp *tcp, uint64_t left)
{
    uint32_t share = LOWAT_BUDGET / (n_raised + (tcp->lowat <= 1));
    uint32_t most = share < TCP_DISCARD_MIN ? TCP_DISCARD_MIN
                    : share > LOWAT_MAX     ? LOWAT_MAX
                                            : share;
    return left < most ? (uint32_t)left : most;
}

/* The kernel's stamp of the wall clock, by the monotonic one; a step of the wall clock meanwhile
 * must not make it earlier than what came before, nor later than now. */
static void take_stamp(struct tcp *tcp, const struct timespec *stamp)
{
    struct timespec wall;
    uint64_t now_ns = clock_ns(), ago_ns = 0;
    clock_gettime(CLOCK_REALTIME, &wall);
    int64_t ago =
        (int64_t)(wall.tv_sec - stamp->tv_sec) * (int64_t)NS_PER_S + wall.tv_nsec - stamp->tv_nsec;
    if (ago > 0) {
        ago_ns = (uint64_t)ago;
    }
    tcp->stamp_ns = ago_ns < now_ns - tcp->stamp_ns ? now_ns - ago_ns : tcp->stamp_ns;
}

static ssize_t receive_stamped(struct tcp *tcp, char *bytes, size_t max, int flags)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(struct timespec))];
    } control;
    struct iovec iov = {bytes, max};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t n = recvmsg(tcp->watcher.fd, &message, flags);
    if (n <= 0) {
        return n;
    }
    struct timespec stamp;
    const struct cmsghdr *found = CMSG_FIRSTHDR(&message);
    if (found && found->cmsg_level == SOL_SOCKET && found->cmsg_type == SCM_TIMESTAMPNS) {
        memcpy(&stamp, CMSG_DATA(found), sizeof stamp);
        take_stamp(tcp, &stamp);
    } else {
        tcp->stamp_ns = clock_ns();
    }
    return n;
}

static ssize_t receive(struct tcp *tcp, char *bytes, size_t max, int flags)
{
    ssize_t n;
    do {
        n = tcp->stamps ? receive_stamped(tcp, bytes, max, flags)
                        : weather_recv(tcp->watcher.fd, bytes, max, flags);
    } while (n < 0 && errno == EINTR);
    return n;
}

static enum io tcp_read(struct stream *stream, char *bytes, size_t max, size_t *got)
{
    struct tcp *tcp = (struct tcp *)stream;
    ssize_t n = receive(tcp, bytes, max, 0);
    if (n > 0) {
        *got = (size_t)n;
        return IO_OK;
    }
    if (n == 0) {
        return IO_END;
    }
    return errno == EAGAIN ? IO_AGAIN : fail_io(tcp);
}

/* What is left after a discard of got bytes decides how many must be there before the next wake-up:
 * never more than are still to come, so that the last byte wakes. */
static enum io tcp_discard(struct stream *stream, uint64_t max, char *scratch, size_t scratch_size,
                           uint64_t *got)
{
    struct tcp *tcp = (struct tcp *)stream;
    if (max < TCP_DISCARD_MIN) {
        size_t n = 0;
        set_lowat(tcp, 1);
        enum io io = tcp_read(stream, scratch, max < scratch_size ? (size_t)max : scratch_size, &n);
        *got = n;
        return io;
    }
    /* The kernel writes nothing to scratch, which sanitizers do not believe. */
    size_t most = SANITIZER_ADDRESS || SANITIZER_THREAD ? scratch_size : (size_t)1 << 30;
    size_t want = max < most ? (size_t)max : most;
    ssize_t n = receive(tcp, scratch, want, MSG_TRUNC);
    if (n == 0) {
        return IO_END;
    }
    if (n < 0 && errno != EAGAIN) {
        return fail_io(tcp);
    }
    uint64_t left = max - (n > 0 ? (uint64_t)n : 0);
    set_lowat(tcp, left >= TCP_DISCARD_MIN && max != UINT64_MAX ? lowat_for(tcp, left) : 1);
    *got = n > 0 ? (uint64_t)n : 0;
    return n > 0 ? IO_OK : IO_AGAIN;
}

static enum io tcp_write(struct stream *stream, const struct str *parts, unsigned n, size_t *put)
{
    struct tcp *tcp = (struct tcp *)stream;
    ssize_t sent;
    if (tcp->stamps) {
        tcp->stamp_ns = clock_ns();
    }
    if (n == 1) {
        do {
            sent = weather_send(tcp->watcher.fd, parts[0].p, parts[0].n, MSG_NOSIGNAL);
        } while (sent < 0 && errno == EINTR);
    } else {
        struct iovec iov[PARTS_MAX];
        unsigned used = n < PARTS_MAX ? n : PARTS_MAX;
        for (unsigned i = 0; i < used; i++) {
            iov[i] = (struct iovec){(void *)(uintptr_t)parts[i].p, parts[i].n};
        }
        struct msghdr message = {.msg_iov = iov, .msg_iovlen = used};
        do {
            sent = weather_sendmsg(tcp->watcher.fd, &message, MSG_NOSIGNAL);
        } while (sent < 0 && errno == EINTR);
    }
    if (sent >= 0) {
        *put = (size_t)sent;
        return IO_OK;
    }
    if (errno == EAGAIN) {
        return IO_AGAIN;
    }
    enum io failed = fail_io(tcp);
    if (errno != EPIPE && errno != ECONNRESET) {
        /* The connection is whole (ENOBUFS, …), but the request is not: have the next read tell. */
        shutdown(tcp->watcher.fd, SHUT_RDWR);
    }
    return failed;
}

static void tcp_want_write(struct stream *stream, bool want)
{
    struct tcp *tcp = (struct tcp *)stream;
    loop_interest(tcp->loop, &tcp->watcher, want ? LOOP_READ | LOOP_WRITE : LOOP_READ);
}

static void tcp_close(struct stream *stream)
{
    struct tcp *tcp = (struct tcp *)stream;
    loop_unwatch(tcp->loop, &tcp->watcher);
    if (tcp->watcher.fd >= 0) {
        close(tcp->watcher.fd);
        tcp->watcher.fd = -1;
        n_raised -= tcp->lowat > 1;
        tcp->lowat = 1;
    }
}

static enum io tcp_go_on(struct stream *stream)
{
    struct tcp *tcp = (struct tcp *)stream;
    int error = 0;
    socklen_t size = sizeof error;
    if (tcp->failed && getsockopt(tcp->watcher.fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
        error = errno;
    }
    if (error) {
        return fail(tcp, connect_failure(error));
    }
    tcp->connecting = false;
    loop_interest(tcp->loop, &tcp->watcher, LOOP_READ);
    return IO_OK;
}

static const struct stream_ops tcp_ops = {tcp_go_on, tcp_read,       tcp_discard,
                                          tcp_write, tcp_want_write, tcp_close};

/* A socket that is bound, if it is to be, and connecting; or -1 and errno. */
static int open_socket(const struct tcp_ends *ends)
{
    int fd = socket(ends->address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    int on = 1;
    if (ends->address->sa_family != AF_UNIX) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    if (ends->stamps) {
        setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    }
    if (ends->local) {
        /* The port is chosen when the other end is known: each pair of addresses has them all. */
        setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    }
    if ((ends->local && bind(fd, ends->local, ends->local_length) != 0) ||
        (connect(fd, ends->address, ends->length) != 0 && errno != EINPROGRESS)) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

enum io tcp_connect(struct tcp *tcp, struct loop *loop, const struct tcp_ends *ends,
                    void (*ready)(struct stream *stream, unsigned events))
{
    *tcp = (struct tcp){.stream = {.ops = &tcp_ops, .ready = ready},
                        .loop = loop,
                        .watcher = {.fd = -1, .ready = tcp_ready},
                        .lowat = 1,
                        .stamps = ends->stamps};
    int fd = open_socket(ends);
    if (fd < 0) {
        return fail(tcp, connect_failure(errno));
    }
    tcp->connecting = true;
    tcp->watcher.fd = fd;
    if (!loop_watch(loop, &tcp->watcher, fd, LOOP_WRITE)) {
        struct failure failure = connect_failure(errno);
        close(fd);
        tcp->watcher.fd = -1;
        return fail(tcp, failure);
    }
    return IO_AGAIN;
}
