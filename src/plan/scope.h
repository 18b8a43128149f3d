/*
 * The variables that a template may use where it stands: names to numbers (slots), in the order the
 * steps of a plan are read. Used while a plan is read; a run knows slots only.
 */
#ifndef PLAN_SCOPE_H
#define PLAN_SCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

/* Variables have numbers. These are always there; a plan's own follow from SLOT_FIRST_OWN on. */
enum { SLOT_BASE, SLOT_ITERATION, SLOT_INDEX, SLOT_ITEM, SLOT_COOKIES, SLOT_FIRST_OWN };
#define SLOT_NONE UINT32_MAX

/* Where a value may come from, as bits: what a stranger may have written. */
enum { ORIGIN_PLAN = 0, ORIGIN_RESPONSE = 1, ORIGIN_DATA = 2, ORIGIN_ENVIRONMENT = 4 };

struct variable {
    const char *name; /* terminated; the arena's */
    unsigned origin;
};

struct scope {
    struct arena *arena;
    struct map slots;
    struct map left_out;        /* names that only steps set which tags filter away */
    struct variable *variables; /* by slot */
    size_t n, cap;
    bool item_known; /* a step with items has been read */
    bool relaxed;    /* unknown names are warnings at run time, not faults now */
    bool env_only;   /* settings: nothing but the environment is known */
};

/* Names are copied to the arena, which must outlive the scope. */
void scope_init(struct scope *scope, struct arena *arena);
void scope_fini(struct scope *scope);

/* The slot of a name, added if it is new; origin is added to what its values may be. */
uint32_t scope_set(struct scope *scope, struct str name, unsigned origin);
/* Remembers, for a better message, that a step which does not run would set the name. */
void scope_leave_out(struct scope *scope, struct str name);
/* The slot of a name, or SLOT_NONE. */
uint32_t scope_find(const struct scope *scope, struct str name);
/* Can a step set a variable of this name: a letter, then letters, digits, '-', '_' and '$'? */
bool scope_name_valid(struct str name);
/* What may be wrong with a name that is not known, or NULL: "did you mean 'x'?" and the like (lives
 * until the next call). */
const char *scope_help(const struct scope *scope, struct str name);

#endif
