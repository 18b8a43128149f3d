#include "base/faults.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"

/* What a fault quotes may be megabytes of a plan. */
#define FAULT_TEXT_MAX 2000

void faults_init(struct faults *faults)
{
    *faults = (struct faults){0};
}

void faults_fini(struct faults *faults)
{
    for (size_t i = 0; i < faults->n; i++) {
        free(faults->items[i].file);
        free(faults->items[i].text);
        free(faults->items[i].help);
    }
    free(faults->items);
    faults_init(faults);
}

static char *printable(struct str s)
{
    struct buf out;

    buf_init(&out, BUF_NO_MAX);
    text_printable(&out, s, FAULT_TEXT_MAX);
    buf_add_char(&out, '\0');
    return out.p;
}

static bool has_room(const struct faults *faults, enum severity severity)
{
    size_t errors = faults->errors < FAULTS_MAX ? faults->errors : FAULTS_MAX;

    return (severity == SEVERITY_ERROR ? errors : faults->n - errors) < FAULTS_MAX;
}

static __attribute__((format(printf, 5, 0))) void add(struct faults *faults, enum severity severity,
                                                      struct place at, const char *help,
                                                      const char *format, va_list args)
{
    bool room = has_room(faults, severity);
    struct fault *fault;
    char *text;
    int n;

    if (severity == SEVERITY_ERROR)
        faults->errors++;
    if (!room)
        return;
    n = vasprintf(&text, format, args);
    if (n < 0)
        mem_out();
    if (faults->n == faults->cap) {
        faults->cap = faults->cap ? faults->cap * 2 : 8;
        faults->items = xrealloc(faults->items, faults->cap * sizeof(*faults->items));
    }
    fault = &faults->items[faults->n++];
    *fault = (struct fault){
        .severity = severity,
        .file = at.file.p ? xstrndup(at.file.p, at.file.n) : NULL,
        .line = at.line,
        .column = at.column,
        .text = printable((struct str){text, (size_t)n}),
        .help = help ? printable(str_of(help)) : NULL,
    };
    free(text);
}

void faults_error(struct faults *faults, struct place at, const char *help, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add(faults, SEVERITY_ERROR, at, help, format, args);
    va_end(args);
}

void faults_warning(struct faults *faults, struct place at, const char *help, const char *format,
                    ...)
{
    va_list args;

    va_start(args, format);
    add(faults, SEVERITY_WARNING, at, help, format, args);
    va_end(args);
}

const char *faults_did_you_mean(struct str name, const char *const *candidates, size_t n)
{
    static _Thread_local char text[128];
    const char *nearest = text_nearest(name, candidates, n);

    if (!nearest)
        return NULL;
    snprintf(text, sizeof(text), "did you mean '%s'?", nearest);
    return text;
}
