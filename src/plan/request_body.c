#include <stdlib.h>

#include "base/file.h"
#include "plan/compile.h"

static unsigned hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        return (unsigned)((c | 0x20) - 'a' + 10);
    return 16;
}

static void compile_hex(struct compiler *c, const struct step_in *in, const struct yaml_node *node,
                        struct step_request *out)
{
    static const char help[] = "two digits of 0-9 and a-f for each byte, blanks between them";
    struct place at = compile_at(in, node);
    struct arena *arena = &c->plan->arena;
    char *bytes;
    size_t n = 0;

    if (node->kind != YAML_SCALAR) {
        faults_error(c->faults, at, help, "hex must be a text");
        return;
    }
    bytes = arena_alloc(arena, node->text.n / 2 + 1);
    for (size_t i = 0; i < node->text.n; i++) {
        char digit = node->text.p[i];
        unsigned value = hex_value(digit);

        if (strchr(" \t\r\n", digit) && digit)
            continue;
        if (value > 15) {
            faults_error(c->faults, at, help, "hex: '%c' is no hexadecimal digit", digit);
            return;
        }
        if (n % 2 == 0)
            bytes[n / 2] = (char)(value << 4);
        else
            bytes[n / 2] = (char)((unsigned char)bytes[n / 2] | value);
        n++;
    }
    if (n % 2)
        faults_error(c->faults, at, help, "hex: an odd number of digits");
    out->body = template_of((struct str){bytes, n / 2}, arena);
}

/* Reads the file beside the plan or, if there is none, the one in the working folder. */
static bool read_body(struct str beside, const char *name, struct str *text, const char **why)
{
    const char *why_there;

    if (file_read(beside.p, PLAN_MAX_BODY, text, why))
        return true;
    return strcmp(beside.p, name) != 0 && file_read(name, PLAN_MAX_BODY, text, &why_there);
}

static void compile_file(struct compiler *c, const struct step_in *in, const struct yaml_node *node,
                         struct step_request *out)
{
    struct place at = compile_at(in, node);
    struct plan *plan = c->plan;
    struct str path, name, text = {0};
    const char *why;
    char *beside;
    uint32_t i;

    if (!compile_file_name(c, in, node, "file") || !in->runs)
        return;
    name = arena_copy(&plan->arena, node->text);
    beside = file_beside(in->source->file.p, name);
    path = arena_copy(&plan->arena, str_of(beside));
    free(beside);
    i = (uint32_t)plan->n_bodies;
    if (!map_get(&c->bodies, path, &i)) {
        if (!read_body(path, name.p, &text, &why)) {
            faults_error(c->faults, at,
                         "it is looked up beside the plan, then in the working folder",
                         "file '%s': %s", path.p, why);
            return;
        }
        map_add(&c->bodies, path, i, NULL);
        plan->bodies =
            compile_grow(plan->bodies, plan->n_bodies, &c->cap_bodies, sizeof(*plan->bodies));
        plan->bodies[plan->n_bodies++] = text;
    }
    out->body = template_of(plan->bodies[i], &plan->arena);
}

void compile_body(struct compiler *c, const struct step_in *in, const struct yaml_node *node,
                  struct step_request *out)
{
    const struct yaml_node *hex, *file;

    out->body = template_of(STR(""), &c->plan->arena);
    if (!node || yaml_is_null(node))
        return;
    out->has_body = true;
    if (node->kind == YAML_SCALAR) {
        compile_text(c, in, node, "body", &out->body);
        return;
    }
    hex = yaml_get(node, "hex");
    file = yaml_get(node, "file");
    if (node->kind == YAML_MAPPING)
        compile_check(c, in, SCHEMA_BODY, node);
    if (!hex == !file)
        faults_error(c->faults, compile_at(in, node), "body: text, or {hex: …}, or {file: …}",
                     "body must be a text, or a mapping with either 'hex' or 'file'");
    else if (hex)
        compile_hex(c, in, hex, out);
    else
        compile_file(c, in, file, out);
}
