/*
 * The three standard descriptors: nobody else in the program reads or writes them. Main thread.
 */
#ifndef CLI_CONSOLE_H
#define CLI_CONSOLE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/faults.h"
#include "base/str.h"

/* Exit statuses (docs/cli.md). */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_PIPE_GONE = 141 };

/*
 * At the start: descriptors 0 to 2 are there, so that no socket ever becomes one of them (one that
 * was closed can then be neither read nor written, which is told when it is tried); all others are
 * closed in programs that steps start; a write into a pipe that nobody reads, or past the largest
 * size of a file, is an error, no signal; an abort in whatever library says so.
 */
void console_init(void);

/* All of bytes, however long it takes; 0 or an errno. */
int console_write(int fd, struct str bytes);

/* As read(2) from standard input, but waits whatever the descriptor's mode is. */
ssize_t console_read(void *to, size_t n);

/* Writes to standard output: CLI_OK; CLI_PIPE_GONE if nobody reads it, quietly;
 * CLI_FAILED, after a line on standard error, if it cannot be written. */
int console_print(struct str bytes);

/* "error: …" on standard error, one line. A standard error that cannot be written is nobody's to
 * hear of. */
void console_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the faults, each with its place and its help. */
void console_faults(const struct faults *faults);

#endif
