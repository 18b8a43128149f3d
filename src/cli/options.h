/*
 * The table of commands and options: the one place that describes them. Parsing (cli/arguments.h),
 * --help (cli/help.h) and "did you mean" read it; a test holds the manual to it.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* COMMAND_NONE is the form without a command: driller --benchmark FILE. */
enum command_id { COMMAND_NONE, COMMAND_RUN, COMMAND_VALIDATE, COMMAND_HELP, COMMAND_COUNT };

struct command {
    const char *name;    /* NULL for COMMAND_NONE */
    const char *usage;   /* the forms, one a line, without "driller " */
    const char *summary; /* one line */
    const char *detail;  /* more for --help, or NULL */
    size_t min_operands, max_operands;
    const char *operand; /* what is missing if there are too few */
};

enum option_id {
    OPT_BENCHMARK,
    OPT_BASE_URL,
    OPT_TAGS,
    OPT_SKIP_TAGS,
    OPT_LIST_TAGS,
    OPT_LIST_TASKS,
    OPT_RELAXED,
    OPT_SEED,
    OPT_CONCURRENCY,
    OPT_ITERATIONS,
    OPT_DURATION,
    OPT_RAMPUP,
    OPT_RATE,
    OPT_ARRIVAL,
    OPT_WHEN_LATE,
    OPT_STAGES,
    OPT_WARMUP,
    OPT_GRACE,
    OPT_CONNECTIONS_FIRST,
    OPT_TIMER,
    OPT_TIMESTAMPS,
    OPT_WORKER_THREADS,
    OPT_TIMEOUT,
    OPT_MAX_REDIRECTS,
    OPT_MAX_BODY,
    OPT_CONNECT_TIMEOUT,
    OPT_HTTP,
    OPT_CONNECTIONS,
    OPT_NO_CHECK_CERTIFICATE,
    OPT_CACERT,
    OPT_CERT,
    OPT_KEY,
    OPT_KEY_PASS_FILE,
    OPT_TLS_MIN,
    OPT_CIPHERS,
    OPT_PROXY,
    OPT_NO_PROXY,
    OPT_RESOLVE,
    OPT_CONNECT_TO,
    OPT_IPV4,
    OPT_IPV6,
    OPT_UNIX_SOCKET,
    OPT_LOCAL_ADDRESS,
    OPT_STATS,
    OPT_STATS_FORMAT,
    OPT_REPORT,
    OPT_COMPARE,
    OPT_THRESHOLD,
    OPT_TIMELINE,
    OPT_INTERVAL,
    OPT_PROGRESS,
    OPT_NO_PROGRESS,
    OPT_QUIET,
    OPT_VERBOSE,
    OPT_NANOSEC,
    OPT_COLOR,
    OPT_HELP,
    OPT_VERSION,
    OPT_COUNT
};

enum option_type {
    TYPE_FLAG,   /* no value */
    TYPE_TEXT,   /* anything */
    TYPE_LIST,   /* a,b,c: at least one */
    TYPE_REPEAT, /* anything, as often as one likes */
    TYPE_WHOLE,  /* a whole number from min to max */
    TYPE_NUMBER, /* a number from min to max */
    TYPE_SIZE,   /* bytes */
    TYPE_CHOICE, /* one of choices */
};

/* Values of the options of TYPE_CHOICE. */
enum stats_format { STATS_TEXT, STATS_JSON };
enum tls_min { TLS_MIN_1_2, TLS_MIN_1_3 };
enum when_late { LATE_QUEUE, LATE_DROP }; /* those of --arrival are plan/load.h's */
enum timer_kind { TIMER_SLEEP, TIMER_SPIN };
enum timestamps { TIMESTAMPS_CLOCK, TIMESTAMPS_KERNEL };
enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct option {
    const char *name; /* with its dashes */
    char letter;      /* 0: none */
    enum option_type type;
    unsigned commands;   /* bits 1 << enum command_id */
    const char *group;   /* heading in --help */
    const char *metavar; /* NULL for flags */
    const char *wants;   /* what the value must be, for messages */
    double min, max;
    const char *const *choices; /* NULL-terminated */
    const char *summary;        /* one line for -h */
    const char *detail;         /* more for --help, or NULL */
};

extern const struct command command_table[COMMAND_COUNT];
/* By enum option_id, in the order of --help; those of a group stand together. */
extern const struct option option_table[OPT_COUNT];

struct exclusion {
    enum option_id a, b;
    const char *help; /* what to write instead, or NULL */
};
/* Options that cannot be given together. */
extern const struct exclusion exclusions[];
extern const size_t n_exclusions;

static inline bool option_belongs(enum option_id id, enum command_id command)
{
    return option_table[id].commands >> command & 1;
}

#endif
