/* How a run goes, in one line. Pure. */
#ifndef OUT_PROGRESS_H
#define OUT_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "out/style.h"
#include "stats/timeline.h"

/* What the run is to reach; 0: not by that. */
struct progress_goal {
    uint64_t duration_ns, iterations;
};

struct progress {
    struct progress_goal goal;
    uint64_t elapsed_ns; /* 0: the load is still warming up */
    struct timeline_now now;
    const struct timeline_entry *entries; /* for the course of the rate */
    size_t n;
};

/* Appends the line, at most `columns` wide and without its end. The rate's course is drawn in what
 * is left of it, with blocks under utf8, else in ASCII. */
void progress_line(struct buf *out, const struct style *style, const struct progress *progress,
                   size_t columns, bool utf8);

#endif
