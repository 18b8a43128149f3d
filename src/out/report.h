/* The report: a YAML list with one record a request. Any thread. */
#ifndef OUT_REPORT_H
#define OUT_REPORT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* Appends one record: an empty line, "- name: …", "  duration: 3.81" (ms), "  status: 200". */
void report_record(struct buf *out, struct str name, uint64_t latency_ns, unsigned status);

#endif
