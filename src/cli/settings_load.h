/* The part of the settings that is the load; private to settings.c. */
#ifndef CLI_SETTINGS_LOAD_H
#define CLI_SETTINGS_LOAD_H

#include "cli/settings.h"

/* As settings_check: are rates, stages and times what they should be? */
bool settings_check_load(const struct arguments *arguments, struct faults *faults);

/* As settings_make: fills the load of settings->run, and its lines of the banner. */
bool settings_make_load(const struct arguments *arguments, const struct plan *plan,
                        struct settings *settings, struct faults *faults);

#endif
