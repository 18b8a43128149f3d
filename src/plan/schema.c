#include "plan/schema.h"

#include "base/buf.h"

#define MAX_KEYS 16

static const struct {
    const char *name; /* "… in a request" */
    const char *keys[MAX_KEYS + 1];
} places[SCHEMA_PLACES] = {
    [SCHEMA_SETTINGS] = {"the settings",
                         {"base", "iterations", "concurrency", "duration", "rampup", "rate",
                          "arrival", "when_late", "stages", "warmup", "grace", "pacing", "tls",
                          "plan", "threads"}},
    [SCHEMA_STAGE] = {"a stage", {"duration", "users", "rate"}},
    [SCHEMA_TLS] = {"tls", {"cacert", "cert", "key", "key_pass_file", "ciphers", "min", "verify"}},
    [SCHEMA_STEP_NONE] = {"a step", {"name", "tags"}},
    [SCHEMA_STEP_INCLUDE] = {"an include step", {"name", "tags", "include"}},
    [SCHEMA_STEP_REQUEST] = {"a request step",
                             {"name", "tags", "request", "assign", "with_items", "with_items_range",
                              "with_items_from_csv", "with_items_from_file", "shuffle", "pick"}},
    [SCHEMA_STEP_ASSIGN] = {"an assign step", {"name", "tags", "assign"}},
    [SCHEMA_STEP_ASSERT] = {"an assert step", {"name", "tags", "assert"}},
    [SCHEMA_STEP_DELAY] = {"a delay step", {"name", "tags", "delay"}},
    [SCHEMA_STEP_EXEC] = {"an exec step", {"name", "tags", "exec", "assign", "timeout"}},
    [SCHEMA_REQUEST] = {"a request", {"url", "method", "headers", "body"}},
    [SCHEMA_BODY] = {"a body", {"hex", "file"}},
    [SCHEMA_ASSIGN] = {"assign", {"key", "value"}},
    [SCHEMA_ASSERT] = {"assert", {"key", "value"}},
    [SCHEMA_DELAY] = {"delay", {"seconds", "milliseconds", "min", "max"}},
    [SCHEMA_EXEC] = {"exec", {"command"}},
};

static const char *const steps[] = {"request", "assign", "assert", "delay", "exec", "include"};

static size_t count(enum schema_place where)
{
    size_t n = 0;

    while (places[where].keys[n])
        n++;
    return n;
}

static bool knows(enum schema_place where, struct str key)
{
    for (size_t i = 0; places[where].keys[i]; i++) {
        if (str_eq(key, str_of(places[where].keys[i])))
            return true;
    }
    return false;
}

static bool is_step(enum schema_place where)
{
    return where >= SCHEMA_STEP_NONE && where <= SCHEMA_STEP_EXEC;
}

bool schema_is_step_key(struct str key)
{
    for (enum schema_place where = SCHEMA_STEP_NONE; where <= SCHEMA_STEP_EXEC; where++) {
        if (knows(where, key))
            return true;
    }
    return false;
}

static void tell(bool strict, struct faults *faults, struct place at, const char *help,
                 struct str key, const char *what, const char *where)
{
    int shown = key.n < 80 ? (int)key.n : 80;

    if (strict)
        faults_error(faults, at, help, "the key '%.*s' %s %s", shown, key.p, what, where);
    else
        faults_warning(faults, at, help, "the key '%.*s' %s %s", shown, key.p, what, where);
}

static void unknown(enum schema_place where, struct str key, struct place at, bool strict,
                    struct faults *faults)
{
    const char *help = faults_did_you_mean(key, places[where].keys, count(where));
    struct buf list;

    buf_init(&list, BUF_NO_MAX);
    if (!help) {
        buf_add_str(&list, STR("known here: "));
        for (size_t i = 0; places[where].keys[i]; i++)
            buf_addf(&list, "%s%s", i ? ", " : "", places[where].keys[i]);
        buf_add_char(&list, '\0');
        help = list.p;
    }
    tell(strict, faults, at, help, key, "is not known in", places[where].name);
    buf_fini(&list);
}

void schema_check(enum schema_place where, const struct yaml_node *mapping, struct str file,
                  bool strict, struct faults *faults)
{
    for (size_t i = 0; i < mapping->n; i++) {
        struct str key = mapping->keys[i]->text;
        struct place at = yaml_place(file, mapping->keys[i]);

        if (knows(where, key))
            continue;
        if (is_step(where) && schema_is_step_key(key))
            tell(strict, faults, at, NULL, key, "has no effect in", places[where].name);
        else
            unknown(where, key, at, strict, faults);
    }
}

const char *schema_nearest_step(struct str key)
{
    return faults_did_you_mean(key, steps, sizeof(steps) / sizeof(*steps));
}
