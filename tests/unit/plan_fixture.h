/* A folder of files for plans, and plans that load or are refused. */
#ifndef PLAN_FIXTURE_H
#define PLAN_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "plan/plan.h"

static char folder[] = "/tmp/driller-plan-XXXXXX";

static inline const char *in_folder(const char *name)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static inline void write_file(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "w");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    fclose(file);
}

static inline int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || mkdir(in_folder("sub"), 0700))
        return -1;
    return 0;
}

static inline int remove_folder(void **state)
{
    static const char *const names[] = {"sub/more.yml", "sub/part.yml", "sub/body.bin", "a.yml",
                                        "b.yml",        "fifo",         "body.bin",     "link.yml",
                                        "many.yml",     "users.csv",    "sub"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        remove(in_folder(names[i]));
    return rmdir(folder);
}

static inline void show(const struct faults *faults)
{
    for (size_t i = 0; i < faults->n; i++)
        print_error("%s:%u:%u: %s\n", faults->items[i].file ? faults->items[i].file : "-",
                    faults->items[i].line, faults->items[i].column, faults->items[i].text);
}

static inline struct plan *load_with(const char *text, const struct plan_options *options)
{
    struct faults faults;
    struct plan *plan;

    faults_init(&faults);
    plan = plan_load(in_folder("plan.yml"), str_of(text), options, &faults);
    if (!plan || faults.n)
        show(&faults);
    assert_non_null(plan);
    assert_int_equal(faults.n, 0);
    faults_fini(&faults);
    return plan;
}

static inline struct plan *load(const char *text)
{
    return load_with(text, &(struct plan_options){.seed = 1});
}

/* The only fault of a plan that cannot be loaded. */
static inline void refused(const char *text, const char *part)
{
    struct plan_options options = {0};
    struct faults faults;

    faults_init(&faults);
    assert_null(plan_load(in_folder("plan.yml"), str_of(text), &options, &faults));
    if (faults.n != 1 || !strstr(faults.items[0].text, part))
        show(&faults);
    assert_int_equal(faults.n, 1);
    assert_non_null(strstr(faults.items[0].text, part));
    faults_fini(&faults);
}

#define assert_str(s, expected) check_str(s, expected, __LINE__)

static inline void check_str(struct str s, const char *expected, int line)
{
    if (!str_eq(s, str_of(expected)))
        fail_msg("line %d: '%.*s' is not '%s'", line, (int)s.n, s.p, expected);
}

#endif
