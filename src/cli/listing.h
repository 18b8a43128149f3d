/* --list-tags and --list-tasks. */
#ifndef CLI_LISTING_H
#define CLI_LISTING_H

#include <stdbool.h>

#include "base/buf.h"
#include "cli/arguments.h"
#include "plan/plan.h"

/* Appends the plan's tags. */
void listing_tags(struct buf *out, const struct plan *plan);

/* Appends the filters and the steps that would run (of a plan read with plan_options.listings);
 * false if there is none, which is said too. */
bool listing_tasks(struct buf *out, const struct arguments *arguments, const struct plan *plan);

#endif
