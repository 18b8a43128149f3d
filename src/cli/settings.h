/*
 * From the command line and the plan to what a run needs, with the checks that need both. Pure.
 */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include <stdbool.h>

#include "base/faults.h"
#include "cli/arguments.h"
#include "out/banner.h"
#include "plan/plan.h"
#include "run/run.h"

struct settings {
    struct run_options run; /* without seed, format, write and ctx */
    struct banner banner;
    bool stats, json;
    bool may_lower;       /* run.concurrency is more than anybody has asked for */
    struct stage *stages; /* of the command line: run.load's; owned */
    struct buf load_text; /* banner.load */
};

/* The checks that need no plan, made before anything is read: whether what was asked for goes
 * together. False if a fault that was added is an error. */
bool settings_check(const struct arguments *arguments, struct faults *faults);

/* False with a fault if plan and flags do not go together. Borrows from both. settings_fini in
 * any case. */
bool settings_make(const struct arguments *arguments, const struct plan *plan,
                   struct settings *settings, struct faults *faults);
void settings_fini(struct settings *settings);

/* How long the run lasts by itself, in ns; 0: that is not known. */
uint64_t settings_length(const struct settings *settings);

/* Which standard streams are terminals, and whether they are poor ones. */
struct terminals {
    bool out, err, dumb;
};
/* Is the progress of the run shown? */
bool settings_progress(const struct arguments *arguments, const struct settings *settings,
                       const struct terminals *terminals);
/* Whether and how the run's course is counted, which the progress needs too. False with a fault if
 * there are too many intervals. */
bool settings_time(const struct arguments *arguments, bool progress, struct settings *settings,
                   struct faults *faults);

/* Fewer users than were made room for: at least 1. */
void settings_lower(struct settings *settings, uint64_t concurrency);

/* Does standard output have to stay free for one JSON document? */
bool settings_json(const struct arguments *arguments);

/* The environment that colour depends on; NULL: not set. */
struct color_env {
    const char *no_color, *clicolor_force, *term;
};
bool settings_color(enum color wanted, bool is_terminal, const struct color_env *env);

#endif
