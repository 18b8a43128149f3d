#include "cli/arguments.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/amount.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"

struct parser {
    struct arguments *out;
    struct faults *faults;
    char *const *argv;
    int argc, at;       /* argv[at] is read next */
    const char *bundle; /* the argument that short options are being read from, or NULL */
    bool done;          /* --help or --version: nothing behind it counts */
};

static bool fail(struct parser *parser, const char *help, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool fail(struct parser *parser, const char *help, const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        mem_out();
    va_end(args);
    faults_error(parser->faults, PLACE_NONE, help, "%s", text);
    free(text);
    return false;
}

static const char *see_help(const struct parser *parser)
{
    return parser->out->command == COMMAND_RUN ? "'driller run --help' lists the options"
           : parser->out->command == COMMAND_VALIDATE
               ? "'driller validate --help' lists the options"
               : "'driller --help' lists the options";
}

/* The long option of this command that `text` was perhaps meant to be, or NULL. */
static const char *nearest_option(const struct parser *parser, struct str text)
{
    const char *names[OPT_COUNT];
    size_t n = 0;

    for (enum option_id id = 0; id < OPT_COUNT; id++) {
        if (option_belongs(id, parser->out->command))
            names[n++] = option_table[id].name;
    }
    return text_nearest(text, names, n);
}

/* "-stats" reads as -s -t ats, which nobody means: says so, if a long option is near. */
static const char *bundle_help(const struct parser *parser, char *help, size_t size)
{
    const char *meant = parser->bundle ? nearest_option(parser, str_of(parser->bundle)) : NULL;
    struct buf read;

    if (!meant)
        return NULL;
    buf_init(&read, size);
    for (const char *p = parser->bundle + 1; *p; p++) {
        enum option_id id = 0;

        while (id < OPT_COUNT && option_table[id].letter != *p)
            id++;
        buf_addf(&read, "%s-%c", read.n ? " " : "", *p);
        if (id < OPT_COUNT && option_table[id].type != TYPE_FLAG && p[1]) {
            buf_addf(&read, " %s", p + 1);
            break;
        }
    }
    snprintf(help, size, "'%s' reads as '%.*s'; did you mean '%s'?", parser->bundle, (int)read.n,
             read.p, meant);
    buf_fini(&read);
    return help;
}

static bool unknown_option(struct parser *parser, struct str text)
{
    char help[256];
    const char *nearest = nearest_option(parser, text);

    if (bundle_help(parser, help, sizeof(help)))
        return fail(parser, help, "unknown option '%.*s'", (int)text.n, text.p);
    if (!nearest)
        return fail(parser, see_help(parser), "unknown option '%.*s'", (int)text.n, text.p);
    snprintf(help, sizeof(help), "did you mean '%s'?", nearest);
    return fail(parser, help, "unknown option '%.*s'", (int)text.n, text.p);
}

static bool wrong_command(struct parser *parser, enum option_id id)
{
    enum command_id command = parser->out->command;
    char help[256];
    enum command_id owner = COMMAND_RUN;

    if (command != COMMAND_NONE)
        return fail(parser, see_help(parser), "'driller %s' has no option %s",
                    command_table[command].name, option_table[id].name);
    while (!option_belongs(id, owner))
        owner++;
    snprintf(help, sizeof(help), "write it behind 'driller %s'", command_table[owner].name);
    return fail(parser, help, "%s is an option of 'driller %s'", option_table[id].name,
                command_table[owner].name);
}

static bool bad_value(struct parser *parser, const struct option *option, const char *text)
{
    char help[256];

    return fail(parser, bundle_help(parser, help, sizeof(help)), "%s: '%s' is not %s", option->name,
                text, option->wants);
}

static bool set_list(struct parser *parser, const struct option *option, const char *text,
                     struct option_value *value)
{
    struct str rest = str_of(text);

    value->items = xcalloc(rest.n / 2 + 1, sizeof(*value->items));
    while (rest.n) {
        size_t length = str_find(rest, ',');
        struct str item = str_trim((struct str){rest.p, length});

        if (item.n)
            value->items[value->n++] = item;
        rest = str_skip(rest, length + 1);
    }
    return value->n || bad_value(parser, option, text);
}

static void add_item(struct option_value *value, const char *text)
{
    value->items = xrealloc(value->items, (value->n + 1) * sizeof(*value->items));
    value->items[value->n++] = str_of(text);
}

static bool set_choice(struct parser *parser, const struct option *option, const char *text,
                       struct option_value *value)
{
    size_t n = 0;
    char list[128] = "";
    size_t length = 0;

    for (; option->choices[n]; n++) {
        const char *between = n == 0 ? "" : option->choices[n + 1] ? ", " : " or ";

        if (strcmp(text, option->choices[n]) == 0) {
            value->whole = n;
            return true;
        }
        length += (size_t)snprintf(list + length, sizeof(list) - length, "%s'%s'", between,
                                   option->choices[n]);
    }
    return fail(parser, faults_did_you_mean(str_of(text), option->choices, n), "%s: '%s' is not %s",
                option->name, text, list);
}

static bool set_value(struct parser *parser, enum option_id id, const char *text)
{
    const struct option *option = &option_table[id];
    struct option_value *value = &parser->out->options[id];
    bool good = true;

    if (value->times++ && option->type != TYPE_FLAG && option->type != TYPE_REPEAT)
        return fail(parser, NULL, "%s is given twice", option->name);
    value->text = text;
    switch (option->type) {
    case TYPE_FLAG:
    case TYPE_TEXT:
        return true;
    case TYPE_REPEAT:
        add_item(value, text);
        return true;
    case TYPE_LIST:
        return set_list(parser, option, text, value);
    case TYPE_CHOICE:
        return set_choice(parser, option, text, value);
    case TYPE_WHOLE:
        good = str_to_u64(str_of(text), &value->whole) && (double)value->whole >= option->min &&
               (double)value->whole <= option->max;
        break;
    case TYPE_NUMBER:
        good = str_to_double(str_of(text), &value->number) && value->number >= option->min &&
               value->number <= option->max;
        break;
    case TYPE_SIZE:
        good = amount_size(str_of(text), &value->whole);
        break;
    }
    return good || bad_value(parser, option, text);
}

/* The value of an option that none is attached to: the next argument. */
static bool take_value(struct parser *parser, enum option_id id)
{
    const char *next = parser->at < parser->argc ? parser->argv[parser->at] : NULL;
    char help[256] = "";

    /* "-" is a value, and so is what may be a negative number. */
    if (next && next[0] == '-' && next[1] && !strchr("0123456789.", next[1])) {
        snprintf(help, sizeof(help), "if '%s' is the value, write %s=%s", next,
                 option_table[id].name, next);
        next = NULL;
    }
    if (!next)
        return fail(parser, help[0] ? help : NULL, "%s needs a value: %s", option_table[id].name,
                    option_table[id].metavar);
    parser->at++;
    return set_value(parser, id, next);
}

static bool use_option(struct parser *parser, enum option_id id, const char *attached)
{
    struct arguments *out = parser->out;

    if (!option_belongs(id, out->command))
        return wrong_command(parser, id);
    if (option_table[id].type == TYPE_FLAG) {
        out->help |= id == OPT_HELP;
        out->version |= id == OPT_VERSION;
        parser->done = out->help || out->version;
        return set_value(parser, id, NULL);
    }
    return attached ? set_value(parser, id, attached) : take_value(parser, id);
}

/* "--name" or "--name=value" */
static bool read_long(struct parser *parser, const char *argument)
{
    struct str name = {argument, str_find(str_of(argument), '=')};
    const char *attached = argument[name.n] ? argument + name.n + 1 : NULL;

    for (enum option_id id = 0; id < OPT_COUNT; id++) {
        if (!str_eq(name, str_of(option_table[id].name)))
            continue;
        if (attached && option_table[id].type == TYPE_FLAG)
            return fail(parser, NULL, "%s takes no value", option_table[id].name);
        return use_option(parser, id, attached);
    }
    return unknown_option(parser, name);
}

/* "-sq", "-p4", "-p=4", "-sp 4" */
static bool read_short(struct parser *parser, const char *argument)
{
    parser->bundle = argument[2] ? argument : NULL;
    for (const char *p = argument + 1; *p && !parser->done; p++) {
        enum option_id id = 0;
        char dashed[3] = {'-', *p, '\0'};

        while (id < OPT_COUNT && option_table[id].letter != *p)
            id++;
        if (id == OPT_COUNT)
            return unknown_option(parser, str_of(dashed));
        parser->out->help_short |= id == OPT_HELP;
        if (option_table[id].type != TYPE_FLAG)
            return use_option(parser, id, p[1] == '\0' ? NULL : p + 1 + (p[1] == '='));
        if (!use_option(parser, id, NULL))
            return false;
    }
    return true;
}

static bool unknown_command(struct parser *parser, const char *word)
{
    const char *names[COMMAND_COUNT];
    char help[256];
    const char *nearest;
    size_t n = 0;
    struct str text = str_of(word);

    for (enum command_id id = COMMAND_RUN; id < COMMAND_COUNT; id++)
        names[n++] = command_table[id].name;
    nearest = text_nearest(text, names, n);
    if (nearest)
        snprintf(help, sizeof(help), "did you mean '%s'?", nearest);
    else if (str_ends(text, STR(".yml")) || str_ends(text, STR(".yaml")))
        snprintf(help, sizeof(help), "'driller --benchmark %s' runs a plan", word);
    else if (strpbrk(word, ":/."))
        snprintf(help, sizeof(help), "'driller run %s' sends a request", word);
    else
        snprintf(help, sizeof(help), "the commands are run, validate and help");
    return fail(parser, help, "unknown command '%s'", word);
}

static bool read_command(struct parser *parser, const char *word)
{
    for (enum command_id id = COMMAND_RUN; id < COMMAND_COUNT; id++) {
        if (strcmp(word, command_table[id].name) != 0)
            continue;
        parser->out->command = id;
        for (enum option_id given = 0; given < OPT_COUNT; given++) {
            if (arguments_has(parser->out, given) && !option_belongs(given, id))
                return wrong_command(parser, given);
        }
        return true;
    }
    return unknown_command(parser, word);
}

static bool read_operand(struct parser *parser, const char *argument)
{
    struct arguments *out = parser->out;
    const struct command *command = &command_table[out->command];

    if (out->command == COMMAND_NONE)
        return read_command(parser, argument);
    if (out->command == COMMAND_HELP) {
        parser->done = out->help = true;
        return read_command(parser, argument);
    }
    if (out->n_operands == command->max_operands)
        return fail(parser, see_help(parser), "unexpected argument '%s'", argument);
    out->operands[out->n_operands++] = argument;
    return true;
}

static bool check_tags(struct parser *parser)
{
    const struct option_value *tags = &parser->out->options[OPT_TAGS];
    const struct option_value *skipped = &parser->out->options[OPT_SKIP_TAGS];

    for (size_t i = 0; i < tags->n; i++) {
        for (size_t j = 0; j < skipped->n; j++) {
            if (str_eq(tags->items[i], skipped->items[j]))
                return fail(parser, NULL, "tag '%.*s' is in --tags and in --skip-tags",
                            (int)tags->items[i].n, tags->items[i].p);
        }
    }
    return true;
}

static bool check_whole(struct parser *parser)
{
    struct arguments *out = parser->out;
    const struct command *command = &command_table[out->command];

    for (size_t i = 0; i < n_exclusions; i++) {
        if (arguments_has(out, exclusions[i].a) && arguments_has(out, exclusions[i].b))
            return fail(parser, exclusions[i].help, "%s and %s exclude each other",
                        option_table[exclusions[i].a].name, option_table[exclusions[i].b].name);
    }
    if (out->n_operands < command->min_operands)
        return fail(parser, see_help(parser), "'driller %s' needs a %s", command->name,
                    command->operand);
    return check_tags(parser);
}

bool arguments_parse(int argc, char *const *argv, struct arguments *arguments,
                     struct faults *faults)
{
    struct parser parser = {
        .out = arguments, .faults = faults, .argv = argv, .argc = argc, .at = 1};
    bool only_operands = false;

    *arguments = (struct arguments){.command = COMMAND_NONE};
    arguments->operands = xcalloc((size_t)argc + 1, sizeof(*arguments->operands));
    while (parser.at < argc && !parser.done) {
        const char *argument = argv[parser.at++];
        bool good;

        parser.bundle = NULL;
        if (only_operands || argument[0] != '-' || argument[1] == '\0')
            good = read_operand(&parser, argument);
        else if (strcmp(argument, "--") == 0)
            good = only_operands = true;
        else if (argument[1] == '-')
            good = read_long(&parser, argument);
        else
            good = read_short(&parser, argument);
        if (!good)
            return false;
    }
    if (parser.done)
        return true;
    if (arguments->command == COMMAND_HELP) {
        arguments->command = COMMAND_NONE;
        arguments->help = true;
    }
    return check_whole(&parser);
}

void arguments_fini(struct arguments *arguments)
{
    for (enum option_id id = 0; id < OPT_COUNT; id++)
        free(arguments->options[id].items);
    free(arguments->operands);
}
