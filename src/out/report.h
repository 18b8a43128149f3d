/*
 * The report: a YAML list with one record a request, written as the run goes to a temporary file
 * that takes FILE's place at the end. What is no regular file is written directly. Main thread.
 */
#ifndef OUT_REPORT_H
#define OUT_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* Appends one record: an empty line, "- name: …", "  duration: 3.81" (ms), "  status: 200". Any
 * thread. */
void report_record(struct buf *out, struct str name, uint64_t latency_ns, unsigned status);

struct report;

/*
 * Opens the temporary file in the folder of path: one without a name where the file system has
 * such, so that it is gone however the process ends, else one with an unpredictable name (O_EXCL,
 * O_NOFOLLOW). Its mode is that of the file it replaces, of a new one 0666 less umask. A symlink is
 * followed to its target, which is replaced. What exists and is no regular file, or is what
 * standard output or error writes to, is opened itself. NULL with *why if that cannot be done: a
 * directory, no such folder, no right to write.
 */
struct report *report_open(const char *path, const char **why);
/* False with *why at the first failure (a full disk); later calls do nothing and return false. */
bool report_write(struct report *report, struct str bytes, const char **why);
/* Fsyncs and renames (commit true), or drops the temporary file; frees the report. False with *why
 * if the report is not whole and in its place, though commit was true or it was written directly.
 */
bool report_close(struct report *report, bool commit, const char **why);

#endif
