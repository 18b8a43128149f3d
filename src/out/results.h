/*
 * Results as text and as JSON, the banner, and what the comparison prints. Formatters only.
 */
#ifndef OUT_RESULTS_H
#define OUT_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "out/lines.h"
#include "stats/compare.h"
#include "stats/snapshot.h"

struct banner {
    uint64_t concurrency;
    uint64_t iterations;  /* shown unless duration_ns */
    uint64_t duration_ns; /* 0: none; shown as "60s", "0.5s" */
    double rampup_s;      /* "2", "0.5" */
    struct str report;    /* empty: no line */
    struct str base;      /* credentials are shown as *** */
};
void banner_write(struct buf *out, const struct style *style, const struct banner *banner);

/* --stats in text; verbose adds each step's status codes and the phases. */
void results_text(struct buf *out, const struct style *style, bool verbose,
                  const struct snapshot *snapshot);
/* --stats-format json: one document and a newline. */
void results_json(struct buf *out, const struct snapshot *snapshot);
/* The lines of --compare: an empty line, then one a regression. */
void results_compare(struct buf *out, const struct style *style,
                     const struct regression *regressions, size_t n);

#endif
