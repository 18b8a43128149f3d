#include "cli/console.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text.h"

/* Not every library that runs out of something returns an error: libuv ends the process without a
 * word. abort ends it all the same when this returns. */
static void on_abort(int number)
{
    static const char text[] = "driller: given up: memory, threads or file descriptors are short\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);

    (void)number;
    (void)written;
}

void console_init(void)
{
    /* The lowest free descriptor is taken first. Each gets the mode that fails when it is used. */
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            _exit(CLI_FAILED);
    }
    close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that grows past `ulimit -f`: an error like a full disk */
    signal(SIGABRT, on_abort);
}

/* After a read or write that failed: true if it is to be tried again. */
static bool wait_for(int fd, short events)
{
    if (errno == EINTR)
        return true;
    if (errno != EAGAIN)
        return false;
    poll(&(struct pollfd){.fd = fd, .events = events}, 1, -1);
    return true;
}

int console_write(int fd, struct str bytes)
{
    while (bytes.n) {
        ssize_t n = write(fd, bytes.p, bytes.n);

        if (n >= 0)
            bytes = str_skip(bytes, (size_t)n);
        else if (!wait_for(fd, POLLOUT))
            return errno;
    }
    return 0;
}

ssize_t console_read(void *to, size_t n)
{
    ssize_t got;

    do {
        got = read(STDIN_FILENO, to, n);
    } while (got < 0 && wait_for(STDIN_FILENO, POLLIN));
    return got;
}

int console_print(struct str bytes)
{
    int error = console_write(STDOUT_FILENO, bytes);

    if (error == 0)
        return CLI_OK;
    if (error == EPIPE)
        return CLI_PIPE_GONE;
    console_error("couldn't write standard output: %s", strerror(error));
    return CLI_FAILED;
}

void console_error(const char *format, ...)
{
    struct faults faults;
    va_list args;
    char *text;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    faults_init(&faults);
    faults_error(&faults, PLACE_NONE, NULL, "%s", text ? text : format);
    console_faults(&faults);
    faults_fini(&faults);
    free(text);
}

/* A file or its name may hold anything, and neither line breaks nor what moves a terminal's cursor
 * is to reach one. */
static void add_printable(struct buf *out, const char *text)
{
    text_printable(out, str_of(text), SIZE_MAX);
}

static void add_fault(struct buf *out, const struct fault *fault)
{
    buf_add_str(out, fault->severity == SEVERITY_ERROR ? STR("error: ") : STR("warning: "));
    if (fault->file) {
        add_printable(out, fault->file);
        buf_add_char(out, ':');
    }
    if (fault->file && fault->line)
        buf_addf(out, "%u:", fault->line);
    if (fault->file && fault->line && fault->column)
        buf_addf(out, "%u:", fault->column);
    buf_add_str(out, fault->file ? STR(" ") : STR(""));
    add_printable(out, fault->text);
    buf_add_char(out, '\n');
    if (fault->help) {
        buf_add_str(out, STR("  help: "));
        add_printable(out, fault->help);
        buf_add_char(out, '\n');
    }
}

void console_faults(const struct faults *faults)
{
    size_t errors = 0;
    struct buf out;

    buf_init(&out, BUF_NO_MAX);
    for (size_t i = 0; i < faults->n; i++) {
        add_fault(&out, &faults->items[i]);
        errors += faults->items[i].severity == SEVERITY_ERROR;
    }
    if (errors < faults->errors)
        buf_addf(&out, "error: and %zu more\n", faults->errors - errors);
    console_write(STDERR_FILENO, buf_str(&out));
    buf_fini(&out);
}
