/*
 * A recorded report as the baseline of a comparison: a YAML list of mappings with name and
 * duration, of this project or of the original.
 */
#ifndef CLI_BASELINE_H
#define CLI_BASELINE_H

#include "base/faults.h"
#include "stats/compare.h"

/*
 * Reads the report in `path`, 16 MiB of it in memory at a time whatever its size, if its records
 * begin with "- " at the start of a line, as in every report; another YAML list may have 16 MiB.
 * Records without a name or a duration are passed over; names are texts even if they look like
 * numbers.
 * NULL with a fault that names the file if it cannot be read, is empty, or is no list. The caller
 * frees the result (baseline_free).
 */
struct baseline *baseline_read(const char *path, struct faults *faults);

#endif
