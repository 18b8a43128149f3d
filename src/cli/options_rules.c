/* The commands, and which options exclude each other. */
#include "cli/options.h"

const struct command command_table[COMMAND_COUNT] = {
    [COMMAND_NONE] =
        {
            .usage = "run [OPTIONS] URL\n"
                     "run [OPTIONS] --benchmark FILE [URL]\n"
                     "[OPTIONS] --benchmark FILE\n"
                     "validate [OPTIONS] FILE...\n"
                     "help [COMMAND]",
            .summary = "Load tests HTTP servers: one URL, or a plan of requests in YAML.",
            .detail = "'driller --benchmark FILE' is the older form of 'driller run --benchmark "
                      "FILE'. The options below belong to both and may stand before the command "
                      "too; 'driller help run' lists those of run.",
        },
    [COMMAND_RUN] =
        {
            .name = "run",
            .usage = "run [OPTIONS] URL\n"
                     "run [OPTIONS] --benchmark FILE [URL]",
            .summary = "Run a plan, or one ad-hoc request",
            .detail = "A URL alone is requested with GET; - reads it from standard input. With a "
                      "plan, the plan supplies the steps, and the URL's scheme and authority take "
                      "the place of the plan's base.",
            .max_operands = 1,
        },
    [COMMAND_VALIDATE] =
        {
            .name = "validate",
            .usage = "validate [OPTIONS] FILE...",
            .summary = "Read plans and print every fault found; run nothing",
            .detail =
                "Each FILE is read with all the files it names, and every fault is printed "
                "with its line and column. A key that nothing knows, which run only warns of, "
                "is an error here. - reads a plan from standard input. The exit status is 1 "
                "if any plan has an error.",
            .min_operands = 1,
            .max_operands = SIZE_MAX,
            .operand = "FILE",
        },
    [COMMAND_HELP] =
        {
            .name = "help",
            .usage = "help [COMMAND]",
            .summary = "Print what --help of a command prints",
        },
};

const struct exclusion exclusions[] = {
    {OPT_ITERATIONS, OPT_DURATION, NULL},
    {OPT_RATE, OPT_STAGES, "stages may have rates: --stages 30s:100/s,1m:100/s"},
    {OPT_RATE, OPT_RAMPUP, "a rate rises by stages: --stages 10s:100/s,1m:100/s"},
    {OPT_STAGES, OPT_DURATION, "the run ends with the last stage"},
    {OPT_STAGES, OPT_RAMPUP, "the first stage is a ramp-up, from 0"},
    {OPT_REPORT, OPT_COMPARE, NULL},
    {OPT_REPORT, OPT_THRESHOLD, NULL},
    {OPT_STATS, OPT_COMPARE, NULL},
    {OPT_PROGRESS, OPT_NO_PROGRESS, NULL},
    {OPT_LIST_TAGS, OPT_TAGS, NULL},
    {OPT_LIST_TAGS, OPT_SKIP_TAGS, NULL},
    {OPT_IPV4, OPT_IPV6, NULL},
    {OPT_UNIX_SOCKET, OPT_PROXY, NULL},
    {OPT_UNIX_SOCKET, OPT_LOCAL_ADDRESS, NULL},
};
const size_t n_exclusions = sizeof(exclusions) / sizeof(exclusions[0]);
