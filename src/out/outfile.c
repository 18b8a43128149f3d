#include "out/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"

#define MAX_LINKS 40 /* as Linux */
#define MAX_TRIES 100

struct outfile {
    int fd;
    char *target;    /* what is replaced at the end; NULL: fd is written directly */
    char *temporary; /* its stand-in beside it; NULL: the file has no name yet */
    const char *failed;
};

static const char *why_errno(int error)
{
    return strerrordesc_np(error);
}

/* Where a path leads if its last part is a symlink, which need not lead to anything yet. Heap;
 * NULL with errno. */
static char *follow_links(const char *path)
{
    char *at = xstrdup(path);

    for (int i = 0; i < MAX_LINKS; i++) {
        char link[PATH_MAX];
        ssize_t n = readlink(at, link, sizeof(link));
        char *next;

        if (n < 0 && (errno == EINVAL || errno == ENOENT))
            return at;
        if (n < 0) {
            free(at);
            return NULL;
        }
        next = file_beside(at, (struct str){link, (size_t)n});
        free(at);
        at = next;
    }
    free(at);
    errno = ELOOP;
    return NULL;
}

/* A name for a file beside the target that nobody can foresee. */
static char *temporary_name(const char *target)
{
    char name[48];

    snprintf(name, sizeof(name), ".driller-%016llx.tmp", (unsigned long long)rng_random_seed());
    return file_beside(target, str_of(name));
}

static int open_named(struct outfile *outfile)
{
    for (int i = 0; i < MAX_TRIES; i++) {
        char *name = temporary_name(outfile->target);
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);

        if (fd >= 0) {
            outfile->temporary = name;
            return fd;
        }
        free(name);
        if (errno != EEXIST)
            break;
    }
    return -1;
}

static void fd_path(int fd, char path[32])
{
    snprintf(path, 32, "/proc/self/fd/%d", fd);
}

/* A file without a name, which vanishes with the process however that ends. -1 where the file
 * system has none, or no way to name it later. */
static int open_unnamed(const struct outfile *outfile)
{
    char *folder = file_beside(outfile->target, STR("."));
    int fd = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    char path[32];

    free(folder);
    if (fd < 0)
        return -1;
    fd_path(fd, path);
    if (access(path, F_OK) == 0)
        return fd;
    close(fd);
    return -1;
}

/* The file at `path` may be what standard output or error writes to already: a descriptor that
 * shares its place in the file then, else -1. */
static int open_standard(const struct stat *file)
{
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        struct stat own;

        if (fstat(fd, &own) == 0 && own.st_dev == file->st_dev && own.st_ino == file->st_ino)
            return fcntl(fd, F_DUPFD_CLOEXEC, 3);
    }
    return -1;
}

static int open_direct(const char *path, const struct stat *file)
{
    int fd = open_standard(file);

    return fd >= 0 ? fd : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
}

static bool is_direct(const struct stat *file)
{
    int fd;

    if (!S_ISREG(file->st_mode))
        return true;
    fd = open_standard(file);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Is it the name of a file, as far as its letters tell? */
static bool is_file_name(const char *path)
{
    struct str s = str_of(path);

    return s.n && s.p[s.n - 1] != '/';
}

/* old: the file that will be replaced, NULL if there is none. */
static int open_temporary(struct outfile *outfile, const char *path, const struct stat *old)
{
    int fd;

    /* What must not be written is not to be replaced either. */
    if (old && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0)
        return -1;
    outfile->target = follow_links(path);
    if (!outfile->target)
        return -1;
    if (!is_file_name(outfile->target)) {
        errno = ENOENT;
        return -1;
    }
    fd = open_unnamed(outfile);
    if (fd < 0)
        fd = open_named(outfile);
    if (fd >= 0 && old)
        fchmod(fd, old->st_mode & 0777); /* where that fails, they stay a new file's */
    return fd;
}

static void outfile_free(struct outfile *outfile)
{
    if (outfile->fd >= 0)
        close(outfile->fd);
    free(outfile->target);
    free(outfile->temporary);
    free(outfile);
}

struct outfile *outfile_open(const char *path, const char **why)
{
    struct outfile *outfile = xcalloc(1, sizeof(*outfile));
    bool exists;
    struct stat file;

    exists = stat(path, &file) == 0;
    if (!exists && errno != ENOENT)
        outfile->fd = -1;
    else if (exists && is_direct(&file))
        outfile->fd = open_direct(path, &file);
    else
        outfile->fd = open_temporary(outfile, path, exists ? &file : NULL);
    if (outfile->fd >= 0)
        return outfile;
    *why = why_errno(errno);
    outfile_free(outfile);
    return NULL;
}

static bool fail(struct outfile *outfile, int error, const char **why)
{
    if (!outfile->failed)
        outfile->failed = why_errno(error);
    *why = outfile->failed;
    return false;
}

bool outfile_write(struct outfile *outfile, struct str bytes, const char **why)
{
    if (outfile->failed)
        return fail(outfile, 0, why);
    while (bytes.n) {
        ssize_t n = write(outfile->fd, bytes.p, bytes.n);

        if (n >= 0)
            bytes = str_skip(bytes, (size_t)n);
        else if (errno == EAGAIN)
            poll(&(struct pollfd){.fd = outfile->fd, .events = POLLOUT}, 1, -1);
        else if (errno != EINTR)
            return fail(outfile, errno, why);
    }
    return true;
}

/* Gives a file without a name one, so that it can be renamed. */
static bool give_name(struct outfile *outfile)
{
    char path[32];

    fd_path(outfile->fd, path);
    for (int i = 0; i < MAX_TRIES; i++) {
        char *name = temporary_name(outfile->target);

        if (linkat(AT_FDCWD, path, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0) {
            outfile->temporary = name;
            return true;
        }
        free(name);
        if (errno != EEXIST)
            break;
    }
    return false;
}

/* A signal in between would leave the temporary name behind. */
static int put_in_place(struct outfile *outfile)
{
    sigset_t all, before;
    int error = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    if ((!outfile->temporary && !give_name(outfile)) ||
        rename(outfile->temporary, outfile->target) != 0)
        error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static bool replace_target(struct outfile *outfile, const char **why)
{
    int error = fsync(outfile->fd) == 0 ? put_in_place(outfile) : errno;

    if (error)
        return fail(outfile, error, why);
    free(outfile->temporary);
    outfile->temporary = NULL;
    return true;
}

bool outfile_close(struct outfile *outfile, bool commit, const char **why)
{
    bool ok = true;

    if (outfile->failed) {
        ok = fail(outfile, 0, why);
    } else if (!outfile->target) {
        int fd = outfile->fd;

        outfile->fd = -1;
        if (close(fd) != 0)
            ok = fail(outfile, errno, why);
    } else if (commit) {
        ok = replace_target(outfile, why);
    }
    if (outfile->temporary)
        unlink(outfile->temporary);
    outfile_free(outfile);
    return ok;
}
