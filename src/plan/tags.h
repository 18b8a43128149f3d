/* The tags of steps, and which steps run: as in Ansible. */
#ifndef PLAN_TAGS_H
#define PLAN_TAGS_H

#include <stdbool.h>

#include "base/str.h"

struct plan_options;

/* What is known of a step's tags, its own and those of the includes around it. */
struct tag_set {
    bool always;
    bool never;    /* and --tags does not name it */
    bool chosen;   /* one is among --tags */
    bool left_out; /* one is among --skip-tags */
};

/* Does a step with these tags run? Skipping wins over choosing; "always" runs unless it is skipped
 * by name, "never" only if it is chosen by name. */
bool tag_set_runs(struct tag_set set, const struct plan_options *options);

struct compiler;
struct source;
struct yaml_node;

/* The tags of a step's `tags` (a list, or a string with commas), added to what it inherits and to
 * the plan's. */
struct tag_set tags_compile(struct compiler *c, const struct source *source,
                            const struct yaml_node *step, struct tag_set inherited);

#endif
