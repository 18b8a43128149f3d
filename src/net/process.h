/*
 * Child processes for `exec` steps, by libuv: `bash -c COMMAND` in a process group of its own,
 * standard input empty, standard output collected up to a limit, every other descriptor closed.
 */
#ifndef NET_PROCESS_H
#define NET_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "net/loop.h"

#define PROCESS_OUTPUT_MAX (1u << 20) /* what comes beyond is read and dropped */

struct process;

struct process_end {
    int exit_status; /* -1: ended by a signal or never started */
    int signal;      /* 0, or the signal that ended it */
    bool timed_out;
    int error;             /* 0, or the errno of a failed start */
    struct str output;     /* borrowed until the callback returns */
    struct str first_line; /* of standard error */
};

/* Called once, when the shell has ended and its output is at its end; the process is freed
 * afterwards. */
typedef void (*process_done)(void *ctx, const struct process_end *end);

/* command is borrowed for the call. At timeout_ns (> 0) after now the group gets SIGTERM, a second
 * later SIGKILL. */
struct process *process_start(struct loop *loop, struct str command, uint64_t timeout_ns,
                              process_done done, void *ctx);
/* Ends its group likewise at once; done is still called, within about a second. */
void process_end_now(struct process *process);

#endif
