/*
 * What a run shows while it goes on: the rows of --timeline, and the progress on standard error.
 * Main thread.
 */
#ifndef CLI_LIVE_H
#define CLI_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "out/outfile.h"
#include "out/progress.h"
#include "run/run.h"

/* Zeroed: nothing is shown. */
struct live {
    struct outfile *file; /* the time line's; NULL: none */
    const char *path;
    bool failed;          /* an error line has been printed of it */
    size_t n_rows;        /* entries that are in it */
    bool progress;        /* is shown … */
    bool on_terminal;     /* … by a line that is redrawn, else by one every ten seconds */
    bool shown;           /* that line is there */
    int terminal;         /* written without waiting; -1: not open */
    bool out_is_terminal; /* standard output is one, too */
    bool utf8;
    uint64_t next_plain_ns; /* when the next line is due where there is no terminal */
    struct style style;
    struct progress_goal goal;
};

/* Does text in UTF-8 show, by the environment's locale? */
bool live_utf8(void);
/* Opens --timeline's file. False with *why. */
bool live_open(struct live *live, const char *path, const char **why);
/* The run begins. */
void live_start(struct live *live);
/* What a run tells now and then. */
void live_tick(struct live *live, const struct run_now *now);
/* Takes the line off the terminal, before something else is written there. */
void live_erase(struct live *live);
/* The run is over (NULL: there was none; the file is dropped): the rest of the rows. */
void live_close(struct live *live, const struct timeline *timeline);

#endif
