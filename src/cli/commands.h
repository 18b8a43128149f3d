/* The commands: each does all of its work and returns the exit status. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/arguments.h"

/* run, and the form without a command. */
int cmd_run(const struct arguments *arguments);
int cmd_validate(const struct arguments *arguments);

#endif
