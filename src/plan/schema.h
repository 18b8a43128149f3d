/* The keys that a plan may have, place by place, and what is said of others. */
#ifndef PLAN_SCHEMA_H
#define PLAN_SCHEMA_H

#include <stdbool.h>

#include "base/faults.h"
#include "base/str.h"
#include "plan/yaml.h"

enum schema_place {
    SCHEMA_SETTINGS,
    SCHEMA_STAGE,
    SCHEMA_TLS,
    /* Steps, by what they do; the first has none of their keys. */
    SCHEMA_STEP_NONE,
    SCHEMA_STEP_INCLUDE,
    SCHEMA_STEP_REQUEST,
    SCHEMA_STEP_ASSIGN,
    SCHEMA_STEP_ASSERT,
    SCHEMA_STEP_DELAY,
    SCHEMA_STEP_EXEC,
    /* What stands below the key of a step. */
    SCHEMA_REQUEST,
    SCHEMA_BODY,
    SCHEMA_ASSIGN,
    SCHEMA_ASSERT,
    SCHEMA_DELAY,
    SCHEMA_EXEC,
    SCHEMA_PLACES
};

/* Adds a fault for each key of `mapping` that is not known there, with the nearest that is: a
 * warning, or an error if strict. */
void schema_check(enum schema_place where, const struct yaml_node *mapping, struct str file,
                  bool strict, struct faults *faults);

/* Is it a key of some kind of step? */
bool schema_is_step_key(struct str key);

/* "did you mean 'request'?", if the key looks like that of a step, or NULL. */
const char *schema_nearest_step(struct str key);

#endif
