/*
 * Where plans and ad-hoc URLs come from: files and standard input.
 */
#ifndef CLI_SOURCE_H
#define CLI_SOURCE_H

#include <stdbool.h>

#include "base/faults.h"
#include "base/str.h"

/* The text of the plan in `path` ("-": standard input); on the heap: xstr_free. False
 * with a fault if it cannot be read. */
bool source_plan(const char *path, struct str *text, struct faults *faults);

/* The first line of standard input that is not blank, trimmed and without a byte-order mark; the
 * empty text if there is none. On the heap: xstr_free. False with a fault if it cannot
 * be read or is not UTF-8. Reads no more than it must. */
bool source_url(struct str *url, struct faults *faults);

#endif
