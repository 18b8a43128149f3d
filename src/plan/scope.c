#include "plan/scope.h"

#include <stdlib.h>

#include "base/faults.h"

/* Only so many names, the last ones, are compared with a misspelt one. */
#define NAMES_COMPARED 500

void scope_init(struct scope *scope, struct arena *arena)
{
    static const char *const given[SLOT_FIRST_OWN] = {
        [SLOT_BASE] = "base", [SLOT_ITERATION] = "iteration", [SLOT_INDEX] = "index",
        [SLOT_ITEM] = "item", [SLOT_COOKIES] = "cookies",
    };

    *scope = (struct scope){.arena = arena};
    map_init(&scope->slots);
    map_init(&scope->left_out);
    for (size_t i = 0; i < SLOT_FIRST_OWN; i++)
        scope_set(scope, str_of(given[i]), i == SLOT_COOKIES ? ORIGIN_RESPONSE : ORIGIN_PLAN);
}

void scope_fini(struct scope *scope)
{
    map_fini(&scope->slots);
    map_fini(&scope->left_out);
    free(scope->variables);
}

uint32_t scope_set(struct scope *scope, struct str name, unsigned origin)
{
    uint32_t slot = scope_find(scope, name);

    if (slot == SLOT_NONE) {
        if (scope->n == scope->cap) {
            scope->cap = scope->cap ? scope->cap * 2 : 16;
            scope->variables = xrealloc(scope->variables, scope->cap * sizeof(*scope->variables));
        }
        name = arena_copy(scope->arena, name);
        slot = (uint32_t)scope->n++;
        map_add(&scope->slots, name, slot, NULL);
        scope->variables[slot] = (struct variable){.name = name.p};
    }
    scope->variables[slot].origin |= origin;
    return slot;
}

void scope_leave_out(struct scope *scope, struct str name)
{
    if (!map_get(&scope->left_out, name, &(uint32_t){0}))
        map_add(&scope->left_out, arena_copy(scope->arena, name), 0, NULL);
}

uint32_t scope_find(const struct scope *scope, struct str name)
{
    uint32_t slot;

    return map_get(&scope->slots, name, &slot) ? slot : SLOT_NONE;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool scope_name_valid(struct str name)
{
    if (name.n == 0 || !is_letter(name.p[0]))
        return false;
    for (size_t i = 1; i < name.n; i++) {
        char c = name.p[i];

        if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '-' && c != '_' && c != '$')
            return false;
    }
    return true;
}

const char *scope_help(const struct scope *scope, struct str name)
{
    const char *names[NAMES_COMPARED + SLOT_FIRST_OWN];
    size_t n = 0;

    if (scope->env_only)
        return "only environment variables may stand here";
    if (map_get(&scope->left_out, name, &(uint32_t){0}))
        return "the step that sets it is left out by its tags";
    if (str_eq(name, STR("item")))
        return "'item' is there from the first step with items on";
    for (size_t i = scope->n; i-- > 0 && n < NAMES_COMPARED;) {
        if (i != SLOT_ITEM || scope->item_known)
            names[n++] = scope->variables[i].name;
    }
    return faults_did_you_mean(name, names, n);
}
