#include "cli/live.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/console.h"
#include "out/timeline_csv.h"

#define PLAIN_NS (10 * NS_PER_S)
#define COLUMNS 80 /* of a terminal that does not tell */
#define PLAIN_COLUMNS 200

bool live_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const char *value = getenv(names[i]);

        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

/* --- the file --- */

static void write_rows(struct live *live, struct buf *rows)
{
    const char *why;

    if (!live->failed && rows->n && !outfile_write(live->file, buf_str(rows), &why)) {
        live_erase(live);
        console_error("couldn't write the time line %s: %s", live->path, why);
        live->failed = true;
    }
    buf_fini(rows);
}

static void add_rows(struct live *live, const struct timeline *timeline)
{
    const struct timeline_entry *entries;
    size_t n = timeline_entries(timeline, &entries);
    struct buf rows;

    buf_init(&rows, BUF_NO_MAX);
    timeline_csv(&rows, entries + live->n_rows, n - live->n_rows);
    live->n_rows = n;
    write_rows(live, &rows);
}

bool live_open(struct live *live, const char *path, const char **why)
{
    live->path = path;
    live->file = outfile_open(path, why);
    return live->file;
}

void live_close(struct live *live, const struct timeline *timeline)
{
    const char *why;

    live_erase(live);
    if (live->terminal > STDERR_FILENO)
        close(live->terminal);
    live->terminal = -1;
    live->progress = false;
    if (!live->file)
        return;
    if (timeline)
        add_rows(live, timeline);
    if (!outfile_close(live->file, timeline && !live->failed, &why) && !live->failed) {
        console_error("couldn't write the time line %s: %s", live->path, why);
        live->failed = true;
    }
    live->file = NULL;
}

/* --- the progress --- */

void live_start(struct live *live)
{
    struct buf head;

    /* Opened anew: to write without waiting is a property that standard error would share with the
     * shell. */
    live->terminal = live->progress && live->on_terminal
                         ? open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                         : -1;
    if (!live->file)
        return;
    buf_init(&head, BUF_NO_MAX);
    timeline_csv_head(&head);
    write_rows(live, &head);
}

void live_erase(struct live *live)
{
    if (live->shown && write(live->terminal, "\r\033[K", 4) == 4)
        live->shown = false;
}

static size_t columns(const struct live *live)
{
    struct winsize size;

    if (live->terminal < 0)
        return PLAIN_COLUMNS;
    if (ioctl(live->terminal, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return COLUMNS;
    return size.ws_col - 1U; /* in the last one some terminals begin a new line */
}

/* What is no terminal may block; a pipe that is ready takes PIPE_BUF bytes. */
static void write_plain(struct buf *line)
{
    struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};

    buf_add_char(line, '\n');
    if (line->n <= PIPE_BUF && poll(&ready, 1, 0) == 1 && !(ready.revents & POLLERR))
        console_write(STDERR_FILENO, buf_str(line));
}

static void show(struct live *live, const struct run_now *now)
{
    struct progress progress = {.goal = live->goal, .elapsed_ns = now->elapsed_ns};
    bool terminal = live->terminal >= 0;
    struct buf line;

    timeline_now(now->timeline, &progress.now);
    progress.n = timeline_entries(now->timeline, &progress.entries);
    buf_init(&line, BUF_NO_MAX);
    if (terminal)
        buf_add_str(&line, STR("\r\033[K"));
    progress_line(&line, &live->style, &progress, columns(live), live->utf8);
    if (!terminal)
        write_plain(&line);
    else if (write(live->terminal, line.p, line.n) > 0) /* else it is too slow for this one */
        live->shown = true;
    buf_fini(&line);
}

void live_tick(struct live *live, const struct run_now *now)
{
    if (live->file)
        add_rows(live, now->timeline);
    if (!live->progress)
        return;
    if (live->terminal < 0) {
        if (now->elapsed_ns < live->next_plain_ns + PLAIN_NS)
            return;
        live->next_plain_ns = now->elapsed_ns - now->elapsed_ns % PLAIN_NS;
    }
    show(live, now);
}
