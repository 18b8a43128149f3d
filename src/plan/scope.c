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
    for (size_t i = 0; i < SLOT_FIRST_OWN; i++)
        scope_set(scope, str_of(given[i]), i == SLOT_COOKIES ? ORIGIN_RESPONSE : ORIGIN_PLAN);
}

void scope_fini(struct scope *scope)
{
    map_fini(&scope->slots);
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

const char *scope_did_you_mean(const struct scope *scope, struct str name)
{
    const char *names[NAMES_COMPARED + SLOT_FIRST_OWN];
    size_t n = 0;

    if (scope->env_only)
        return NULL;
    for (size_t i = scope->n; i-- > 0 && n < NAMES_COMPARED;) {
        if (i != SLOT_ITEM || scope->item_known)
            names[n++] = scope->variables[i].name;
    }
    return faults_did_you_mean(name, names, n);
}
