/*
 * What is wrong with something a person wrote: file, line, column, what, and what would be right.
 * Set-up code adds to a list and goes on where it can, so that all faults are told in one go; the
 * command line prints the list. Nothing here prints.
 */
#ifndef BASE_FAULTS_H
#define BASE_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

enum severity { SEVERITY_ERROR, SEVERITY_WARNING };

struct fault {
    enum severity severity;
    char *file;            /* NULL: no file is at fault */
    unsigned line, column; /* from 1; 0: unknown */
    char *text;            /* what is wrong: one line, no newline, printable */
    char *help;            /* what would be right, or NULL */
};

struct faults {
    struct fault *items;
    size_t n, cap;
    size_t errors; /* how many of them are errors */
};

/* A place in a file; file is borrowed, not NUL-terminated. */
struct place {
    struct str file;
    unsigned line, column;
};

#define PLACE_NONE ((struct place){{0, 0}, 0, 0})

/* At most this many faults of one severity are kept; the rest is only counted. */
#define FAULTS_MAX 1000

void faults_init(struct faults *faults);
void faults_fini(struct faults *faults);

/* Adds one. The text is printf'd; help, which may be NULL, is taken as it is. Both are made
 * printable and cut at 2,000 bytes. */
void faults_error(struct faults *faults, struct place at, const char *help, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void faults_warning(struct faults *faults, struct place at, const char *help, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));

/* "did you mean 'x'?" as a help text in a static thread-local buffer, or NULL if nothing is near
 * (see text_nearest). */
const char *faults_did_you_mean(struct str name, const char *const *candidates, size_t n);

#endif
