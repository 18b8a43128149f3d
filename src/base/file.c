#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

#define READ_AT_ONCE ((size_t)1 << 16)

static _Thread_local char why_text[128];

static const char *why_errno(void)
{
    return strerror_r(errno, why_text, sizeof(why_text));
}

static const char *why_too_large(size_t max_bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
    unsigned unit = 0;

    while (unit < 3 && max_bytes && max_bytes % 1024 == 0) {
        max_bytes /= 1024;
        unit++;
    }
    snprintf(why_text, sizeof(why_text), "is larger than %zu %s", max_bytes, units[unit]);
    return why_text;
}

/* One read that waits, whether or not somebody made the descriptor non-blocking. */
static ssize_t read_some(int fd, char *to, size_t n)
{
    for (;;) {
        ssize_t got = read(fd, to, n);

        if (got >= 0)
            return got;
        if (errno == EAGAIN)
            poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1);
        else if (errno != EINTR)
            return -1;
    }
}

bool file_read_fd(int fd, size_t max_bytes, struct str *out, const char **why)
{
    struct buf buf;

    /* One byte more: it tells a file that is too large, or it is the NUL. */
    buf_init(&buf, max_bytes == SIZE_MAX ? SIZE_MAX : max_bytes + 1);
    for (;;) {
        size_t room = buf.max - buf.n;
        ssize_t got;

        buf_reserve(&buf, room < READ_AT_ONCE ? room : READ_AT_ONCE);
        got = read_some(fd, buf.p + buf.n, buf.cap - buf.n);
        if (got < 0) {
            *why = why_errno();
            break;
        }
        if (got == 0) {
            buf_add_char(&buf, '\0');
            *out = (struct str){buf.p, buf.n - 1};
            return true;
        }
        buf.n += (size_t)got;
        if (buf.n > max_bytes) {
            *why = why_too_large(max_bytes);
            break;
        }
    }
    buf_fini(&buf);
    return false;
}

static bool read_regular(int fd, size_t max_bytes, struct str *out, const char **why)
{
    struct stat status;

    if (fstat(fd, &status) < 0) {
        *why = why_errno();
        return false;
    }
    if (!S_ISREG(status.st_mode)) {
        *why = S_ISDIR(status.st_mode) ? "is a directory" : "is not a regular file";
        return false;
    }
    return file_read_fd(fd, max_bytes, out, why);
}

bool file_read(const char *path, size_t max_bytes, struct str *out, const char **why)
{
    /* O_NONBLOCK: a FIFO without a writer is opened at once, and then refused. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    bool ok;

    if (fd < 0) {
        *why = why_errno();
        return false;
    }
    ok = read_regular(fd, max_bytes, out, why);
    close(fd);
    return ok;
}

char *file_beside(const char *from, struct str name)
{
    const char *slash = strrchr(from, '/');
    size_t folder = slash ? (size_t)(slash - from) + 1 : 0;
    char *path;

    if (name.n && name.p[0] == '/')
        folder = 0;
    path = xmalloc(folder + name.n + 1);
    memcpy(path, from, folder);
    if (name.n)
        memcpy(path + folder, name.p, name.n);
    path[folder + name.n] = '\0';
    return path;
}
