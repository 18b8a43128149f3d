/* The setting `tls`: what the command line's options of the same names say, from the plan. */
#include <stdlib.h>

#include "base/file.h"
#include "plan/compile.h"

/* A file named in the plan lies beside it. */
static const char *file_of(struct compiler *c, const struct source *source, struct str name)
{
    char *path = file_beside(source->file.p, name);
    const char *kept = arena_copy(&c->plan->arena, str_of(path)).p;

    free(path);
    return kept;
}

static void read_text(struct compiler *c, const struct source *source, const struct yaml_node *tls,
                      const char *key, bool is_file, const char **out)
{
    const struct yaml_node *node = yaml_get(tls, key);
    struct str text;

    if (!node)
        return;
    if (node->kind != YAML_SCALAR || yaml_is_null(node)) {
        faults_error(c->faults, yaml_place(source->file, node), NULL, "%s must be %s", key,
                     is_file ? "the name of a file" : "a text");
    } else if (compile_env_text(c, node->text, yaml_place(source->file, node), key, &text)) {
        *out = is_file ? file_of(c, source, text) : arena_copy(&c->plan->arena, text).p;
    }
}

static void read_version(struct compiler *c, const struct source *source,
                         const struct yaml_node *tls, bool *only_1_3)
{
    const struct yaml_node *node = yaml_get(tls, "min");

    if (!node)
        return;
    if (node->kind == YAML_SCALAR && str_eq(node->text, STR("1.3")))
        *only_1_3 = true;
    else if (node->kind != YAML_SCALAR || !str_eq(node->text, STR("1.2")))
        faults_error(c->faults, yaml_place(source->file, node), NULL, "min must be 1.2 or 1.3");
}

void compile_tls(struct compiler *c, const struct source *source, const struct yaml_node *tls)
{
    struct plan_tls *out = &c->plan->tls;
    const struct yaml_node *verify;
    bool yes = true;

    if (tls->kind != YAML_MAPPING) {
        faults_error(c->faults, yaml_place(source->file, tls), "tls: {cacert: ca.pem}",
                     "tls must be a mapping");
        return;
    }
    schema_check(SCHEMA_TLS, tls, source->file, c->options->strict_keys, c->faults);
    read_text(c, source, tls, "cacert", true, &out->cacert);
    read_text(c, source, tls, "cert", true, &out->cert);
    read_text(c, source, tls, "key", true, &out->key);
    read_text(c, source, tls, "key_pass_file", true, &out->key_pass_file);
    read_text(c, source, tls, "ciphers", false, &out->ciphers);
    read_version(c, source, tls, &out->only_1_3);
    verify = yaml_get(tls, "verify");
    if (verify && !yaml_as_bool(verify, &yes))
        faults_error(c->faults, yaml_place(source->file, verify), NULL,
                     "verify must be true or false");
    out->insecure = !yes;
}
