/*
 * A file that is written as a run goes (a report, a time line): first a temporary one, which takes
 * its place at the end. What is no regular file is written directly. Main thread.
 */
#ifndef OUT_OUTFILE_H
#define OUT_OUTFILE_H

#include <stdbool.h>

#include "base/str.h"

struct outfile;

/*
 * Opens the temporary file in the folder of path: one without a name where the file system has
 * such, so that it is gone however the process ends, else one with an unpredictable name (O_EXCL,
 * O_NOFOLLOW). Its mode is that of the file it replaces, of a new one 0666 less umask. A symlink is
 * followed to its target, which is replaced. What exists and is no regular file, or is what
 * standard output or error writes to, is opened itself. NULL with *why if that cannot be done: a
 * directory, no such folder, no right to write.
 */
struct outfile *outfile_open(const char *path, const char **why);
/* False with *why at the first failure (a full disk); later calls do nothing and return false. */
bool outfile_write(struct outfile *outfile, struct str bytes, const char **why);
/* Fsyncs and renames (commit true), or drops the temporary file; frees it. False with *why
 * if the file is not whole and in its place, though commit was true or it was written directly.
 */
bool outfile_close(struct outfile *outfile, bool commit, const char **why);

#endif
