#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "plan/compile.h"

static bool is_open_already(const struct source *source)
{
    for (const struct source *up = source->up; source->has_id && up; up = up->up) {
        if (up->has_id && up->device == source->device && up->inode == source->inode)
            return true;
    }
    return false;
}

/* May one more file be read? An error, once, if not. */
static bool has_room(struct compiler *c, const struct source *source, struct place at)
{
    const char *why = NULL;

    if (source->depth > PLAN_MAX_INCLUDES) {
        faults_error(c->faults, at, NULL, "includes are nested more than %d deep",
                     PLAN_MAX_INCLUDES);
        return false;
    }
    if (++c->n_files > PLAN_MAX_FILES)
        why = "more than 10000 files are included";
    else if (c->n_bytes > PLAN_MAX_BYTES)
        why = "the included files are larger than 256 MiB together";
    if (!why)
        return true;
    faults_error(c->faults, at, NULL, "%s", why);
    c->full = true;
    return false;
}

static void parse(struct compiler *c, const struct step_in *in, const struct source *source,
                  struct str text)
{
    struct arena arena;
    const struct yaml_node *root;

    arena_init(&arena);
    root = yaml_parse((struct yaml_source){source->file, text}, &arena, c->faults);
    if (!root) {
        c->blind = true;
    } else if (root->kind != YAML_SEQUENCE) {
        faults_error(c->faults, yaml_place(source->file, root),
                     "an included file begins with '- name: …', without 'plan:'",
                     "an included file must be a bare list of steps");
        c->blind = true;
    } else {
        compile_steps(c, source, root, in->tags);
    }
    arena_fini(&arena);
}

static void read_file(struct compiler *c, const struct step_in *in, struct str name,
                      struct place at)
{
    char *path = file_beside(in->source->file.p, name);
    struct source source = {
        .file = arena_copy(&c->plan->arena, str_of(path)),
        .up = in->source,
        .depth = in->source->depth + 1,
    };
    struct stat status;
    struct str text;
    const char *why;

    free(path);
    if (stat(source.file.p, &status) == 0) {
        source.has_id = true;
        source.device = status.st_dev;
        source.inode = status.st_ino;
    }
    /* What the file sets is not known, whatever keeps it from being read. */
    c->blind = c->blind || is_open_already(&source);
    if (is_open_already(&source)) {
        faults_error(c->faults, at, NULL, "include goes round in a circle: '%s' includes itself",
                     source.file.p);
    } else if (!has_room(c, &source, at)) {
        c->blind = true;
    } else if (!file_read(source.file.p, YAML_MAX_BYTES, &text, &why)) {
        faults_error(c->faults, at, "the name is relative to the file that includes it",
                     "include '%s': %s", source.file.p, why);
        c->blind = true;
    } else {
        c->n_bytes += text.n;
        parse(c, in, &source, text);
        free((char *)(uintptr_t)text.p);
    }
}

void compile_include(struct compiler *c, const struct step_in *in)
{
    const struct yaml_node *node = yaml_get(in->node, "include");

    compile_check(c, in, SCHEMA_STEP_INCLUDE, in->node);
    if (compile_file_name(c, in, node, "include"))
        read_file(c, in, node->text, compile_at(in, node));
    else
        c->blind = true;
}

void compile_steps(struct compiler *c, const struct source *source, const struct yaml_node *list,
                   struct tag_set inherited)
{
    for (size_t i = 0; i < list->n && !c->full; i++)
        compile_step(c, source, list->items[i], inherited);
}
