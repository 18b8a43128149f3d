/* The results of a run as people read them: --stats, and the lines of --compare. */
#ifndef OUT_RESULTS_TEXT_H
#define OUT_RESULTS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "out/style.h"
#include "stats/compare.h"
#include "stats/snapshot.h"

/* --stats: a block for each step that sent something, then the whole run's. verbose adds each
 * step's status codes, the phases, and the causes even of a run that failed in one way only. */
void results_text(struct buf *out, const struct style *style, bool verbose,
                  const struct snapshot *snapshot);

/* --compare: an empty line, then one line a regression. */
void results_compare(struct buf *out, const struct style *style,
                     const struct regression *regressions, size_t n);

#endif
