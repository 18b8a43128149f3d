/* What is said before the first request. */
#ifndef OUT_BANNER_H
#define OUT_BANNER_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "out/style.h"

struct banner {
    uint64_t concurrency;
    uint64_t iterations;  /* shown unless duration_ns */
    uint64_t duration_ns; /* 0: none; shown as "60s", "0.5s" */
    double rampup_s;      /* "2", "0.5" */
    struct str load_key;  /* "Rate", "Stages"; empty: no line */
    struct str load;
    uint64_t warmup_ns, grace_ns; /* 0: no line */
    struct str report;            /* empty: no line */
    struct str base;              /* credentials are shown as *** */
};

void banner_write(struct buf *out, const struct style *style, const struct banner *banner);

#endif
