/* --help, made from the table of options. Pure. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdbool.h>

#include "base/buf.h"
#include "cli/options.h"

/* Appends the help of a command, at most 80 columns wide; `brief`: one line an option. */
void help_write(struct buf *out, enum command_id command, bool brief);

/* "0.1.0" */
const char *help_version(void);

#endif
