/*
 * What stands on the command line, by the table of cli/options.h. Pure.
 */
#ifndef CLI_ARGUMENTS_H
#define CLI_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/faults.h"
#include "base/str.h"
#include "cli/options.h"

struct option_value {
    unsigned times;   /* how often it was given; 0: the rest is empty */
    const char *text; /* as written; NULL for flags */
    uint64_t whole;   /* TYPE_WHOLE, TYPE_SIZE; TYPE_CHOICE: the index */
    double number;    /* TYPE_NUMBER */
    size_t n;         /* TYPE_LIST, TYPE_REPEAT */
    struct str *items;
};

struct arguments {
    enum command_id command;
    bool help, help_short, version; /* asked for; what stands behind was not read */
    struct option_value options[OPT_COUNT];
    size_t n_operands;
    const char **operands; /* argv's */
};

/*
 * Reads argv[1…argc), whose strings must outlive *arguments. False with one fault added if it
 * cannot be understood. arguments_fini in any case.
 */
bool arguments_parse(int argc, char *const *argv, struct arguments *arguments,
                     struct faults *faults);
void arguments_fini(struct arguments *arguments);

static inline bool arguments_has(const struct arguments *arguments, enum option_id id)
{
    return arguments->options[id].times > 0;
}

#endif
