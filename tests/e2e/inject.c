/*
 * Makes calls of the C library fail, for tests: LD_PRELOAD it and say in the environment which.
 *
 *   INJECT=FUNCTION:N:once|ever[:ERROR]  the N-th call (from 1), or it and all after it, fails
 *                                        with this errno; getaddrinfo returns it; "hang": the
 *                                        call sleeps for a minute
 *   INJECT_REACHED=FILE                  is made when the N-th call comes
 *
 * Counted are the program's own calls and those of its libraries by way of the dynamic linker.
 * write and fsync count on files and on standard output only: that a write to an eventfd or a pipe
 * of the program's own fails is none of what the world can do.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* glibc's allocator by its other names: dlsym allocates itself. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static char function[32];
static unsigned long first;
static bool ever, hang;
static int error;
static const char *reached;
static atomic_ulong calls;

__attribute__((constructor)) static void read_settings(void)
{
    const char *text = getenv("INJECT"), *colon = text ? strchr(text, ':') : NULL;

    /* Commands that driller starts are to be left alone. */
    if (!colon || (size_t)(colon - text) >= sizeof function ||
        strcmp(program_invocation_short_name, "driller") != 0)
        return;
    reached = getenv("INJECT_REACHED");
    memcpy(function, text, (size_t)(colon - text));
    first = strtoul(colon + 1, NULL, 10);
    colon = strchr(colon + 1, ':');
    ever = colon && strncmp(colon + 1, "ever", 4) == 0;
    colon = colon ? strchr(colon + 1, ':') : NULL;
    hang = colon && strcmp(colon + 1, "hang") == 0;
    error = colon ? atoi(colon + 1) : ENOMEM;
}

/* Is this call of `name` to fail? errno is set then. */
static bool fails(const char *name)
{
    unsigned long n;

    if (strcmp(name, function) != 0)
        return false;
    n = atomic_fetch_add(&calls, 1) + 1;
    if (n == first && reached)
        syscall(SYS_close, syscall(SYS_open, reached, O_WRONLY | O_CREAT, 0600));
    if (n != first && !(ever && n > first))
        return false;
    if (hang)
        nanosleep(&(struct timespec){.tv_sec = 60}, NULL);
    errno = error;
    return true;
}

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

#define FORWARD(type, name, failed, arguments, ...) \
    type name arguments                             \
    {                                               \
        static type(*real) arguments;               \
        if (fails(#name))                           \
            return failed;                          \
        if (!real)                                  \
            *(void **)&real = next(#name);          \
        return real(__VA_ARGS__);                   \
    }

void *malloc(size_t size)
{
    return fails("malloc") ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails("calloc") ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails("realloc") ? NULL : __libc_realloc(old, size);
}

FORWARD(void *, mmap, MAP_FAILED, (void *at, size_t n, int prot, int flags, int fd, off_t offset),
        at, n, prot, flags, fd, offset)
FORWARD(int, pthread_create, error,
        (pthread_t * thread, const pthread_attr_t *attr, void *(*run)(void *), void *ctx), thread,
        attr, run, ctx)
FORWARD(int, epoll_create1, -1, (int flags), flags)
FORWARD(int, epoll_ctl, -1, (int set, int what, int fd, struct epoll_event *event), set, what, fd,
        event)
FORWARD(int, eventfd, -1, (unsigned int count, int flags), count, flags)
FORWARD(int, socket, -1, (int domain, int type, int protocol), domain, type, protocol)
FORWARD(int, connect, -1, (int fd, const struct sockaddr *address, socklen_t n), fd, address, n)
FORWARD(int, getaddrinfo, error,
        (const char *restrict host, const char *restrict service,
         const struct addrinfo *restrict hints, struct addrinfo **restrict found),
        host, service, hints, found)
FORWARD(int, rename, -1, (const char *from, const char *to), from, to)
FORWARD(int, linkat, -1, (int from, const char *old, int to, const char *new, int flags), from, old,
        to, new, flags)
FORWARD(pid_t, fork, -1, (void))
FORWARD(int, pipe2, -1, (int fds[2], int flags), fds, flags)
FORWARD(int, socketpair, -1, (int domain, int type, int protocol, int fds[2]), domain, type,
        protocol, fds)
FORWARD(ssize_t, recv, -1, (int fd, void *to, size_t n, int flags), fd, to, n, flags)
FORWARD(ssize_t, send, -1, (int fd, const void *from, size_t n, int flags), fd, from, n, flags)

/* driller makes its commonest calls this way. */
long syscall(long number, ...)
{
    typedef long call(long number, long a, long b, long c, long d, long e, long f);
    const char *name = number == SYS_recvfrom ? "recv" : number == SYS_sendto ? "send" : "syscall";
    long of[6];
    va_list rest;

    va_start(rest, number);
    for (unsigned i = 0; i < 6; i++)
        of[i] = va_arg(rest, long);
    va_end(rest);
    if (fails(name))
        return -1;
    return ((call *)next("syscall"))(number, of[0], of[1], of[2], of[3], of[4], of[5]);
}

static int open_at(const char *path, int flags, mode_t mode)
{
    return fails("open") ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static mode_t mode_of(int flags, va_list rest)
{
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    mode_t mode;

    va_start(rest, flags);
    mode = mode_of(flags, rest);
    va_end(rest);
    return open_at(path, flags, mode);
}

int __open_2(const char *path, int flags)
{
    return open_at(path, flags, 0);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

static bool is_output(int fd)
{
    struct stat status;

    return fd == STDOUT_FILENO || (fstat(fd, &status) == 0 && S_ISREG(status.st_mode));
}

ssize_t write(int fd, const void *from, size_t n)
{
    if (is_output(fd) && fails("write"))
        return -1;
    return syscall(SYS_write, fd, from, n);
}

int fsync(int fd)
{
    if (fails("fsync"))
        return -1;
    return (int)syscall(SYS_fsync, fd);
}
