#include "cli/help.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define WIDTH 80
#define INDENT 28 /* where the descriptions begin */

const char *help_version(void)
{
    return DRILLER_VERSION;
}

/* Appends text in lines of at most WIDTH columns; the first begins at column `at`, the others at
 * column `indent`. */
static void add_wrapped(struct buf *out, struct str text, size_t at, size_t indent)
{
    bool first = true;

    while (text.n) {
        struct str word = {text.p, str_find(text, ' ')};

        if (!first && at + 1 + word.n > WIDTH) {
            buf_add_char(out, '\n');
            buf_add_fill(out, ' ', indent);
            at = indent;
        } else if (!first) {
            buf_add_char(out, ' ');
            at++;
        }
        buf_add_str(out, word);
        at += word.n;
        first = false;
        text = str_skip(text, word.n + 1);
    }
    buf_add_char(out, '\n');
}

static void add_usage(struct buf *out, const struct command *command)
{
    struct str rest = str_of(command->usage);

    for (const char *head = "usage: "; rest.n; head = "       ") {
        struct str line = {rest.p, str_find(rest, '\n')};

        buf_addf(out, "%sdriller %.*s\n", head, (int)line.n, line.p);
        rest = str_skip(rest, line.n + 1);
    }
}

static void add_commands(struct buf *out)
{
    buf_add_str(out, STR("\nCommands:\n"));
    for (enum command_id id = COMMAND_RUN; id < COMMAND_COUNT; id++) {
        buf_addf(out, "  %-*s", INDENT - 2, command_table[id].name);
        add_wrapped(out, str_of(command_table[id].summary), INDENT, INDENT);
    }
}

static void add_option(struct buf *out, const struct option *option, bool brief)
{
    size_t start = out->n;
    size_t column;

    if (option->letter)
        buf_addf(out, "  -%c, %s", option->letter, option->name);
    else
        buf_addf(out, "      %s", option->name);
    if (option->metavar)
        buf_addf(out, " %s", option->metavar);
    column = out->n - start;
    if (column + 2 > INDENT) {
        buf_add_char(out, '\n');
        column = 0;
    }
    buf_add_fill(out, ' ', INDENT - column);
    add_wrapped(out, str_of(option->summary), INDENT, INDENT);
    if (option->detail && !brief) {
        buf_add_fill(out, ' ', INDENT);
        add_wrapped(out, str_of(option->detail), INDENT, INDENT);
    }
}

void help_write(struct buf *out, enum command_id id, bool brief)
{
    const struct command *command = &command_table[id];
    const char *group = NULL;

    add_wrapped(out, str_of(command->summary), 0, 0);
    buf_add_char(out, '\n');
    add_usage(out, command);
    if (command->detail && !brief) {
        buf_add_char(out, '\n');
        add_wrapped(out, str_of(command->detail), 0, 0);
    }
    if (id == COMMAND_NONE)
        add_commands(out);
    for (enum option_id option = 0; option < OPT_COUNT; option++) {
        if (!option_belongs(option, id))
            continue;
        if (option_table[option].group != group) {
            group = option_table[option].group;
            buf_addf(out, "\n%s:\n", group);
        }
        add_option(out, &option_table[option], brief);
    }
}
