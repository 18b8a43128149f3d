/* The results of a run for programs: --stats-format json. */
#ifndef OUT_RESULTS_JSON_H
#define OUT_RESULTS_JSON_H

#include "base/buf.h"
#include "stats/snapshot.h"

/* Appends one document, always valid UTF-8 and without NaN, and a newline. */
void results_json(struct buf *out, const struct snapshot *snapshot);

#endif
