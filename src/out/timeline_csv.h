/* The time line as a table: --timeline. */
#ifndef OUT_TIMELINE_CSV_H
#define OUT_TIMELINE_CSV_H

#include "base/buf.h"
#include "stats/timeline.h"

/* The names of the columns, a line. */
void timeline_csv_head(struct buf *out);
/* A line an entry. Times in ms with six digits, nothing where nothing was timed. */
void timeline_csv(struct buf *out, const struct timeline_entry *entries, size_t n);

#endif
