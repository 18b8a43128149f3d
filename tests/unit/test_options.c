/* links: cli */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/faults.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/help.h"
#include "cli/options.h"

#define MAX_WORDS 32

/* A command line in one string, split at blanks. */
struct line {
    char *copy;
    char *argv[MAX_WORDS];
    struct arguments args;
    struct faults faults;
    bool good;
};

static void parse(struct line *line, const char *text)
{
    static char program[] = "driller";
    int argc = 0;

    line->copy = xstrdup(text);
    line->argv[argc++] = program;
    for (char *at, *word = strtok_r(line->copy, " ", &at); word; word = strtok_r(NULL, " ", &at))
        line->argv[argc++] = word;
    faults_init(&line->faults);
    line->good = arguments_parse(argc, line->argv, &line->args, &line->faults);
    assert_int_equal(line->good, line->faults.errors == 0);
    assert_true(line->faults.errors <= 1);
}

static void done(struct line *line)
{
    arguments_fini(&line->args);
    faults_fini(&line->faults);
    free(line->copy);
}

static void accepts(struct line *line, const char *text)
{
    parse(line, text);
    if (!line->good)
        fail_msg("%s: %s", text, line->faults.items[0].text);
}

/* The error for `text` is `error`, its help `help` (NULL: any). */
static void refuses(const char *text, const char *error, const char *help)
{
    struct line line;

    parse(&line, text);
    if (line.good)
        fail_msg("accepted: %s", text);
    assert_string_equal(line.faults.items[0].text, error);
    assert_null(line.faults.items[0].file);
    if (help)
        assert_string_equal(line.faults.items[0].help ? line.faults.items[0].help : "", help);
    done(&line);
}

static const char *text_of(const struct line *line, enum option_id id)
{
    return line->args.options[id].text;
}

static void test_forms_of_values(void **state)
{
    static const char *const forms[] = {
        "run u -p 4",           "run u -p4", "run u -p=4", "run -sqp4 u", "run --concurrency 4 u",
        "run --concurrency=4 u"};
    struct line line;

    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        accepts(&line, forms[i]);
        assert_int_equal(line.args.command, COMMAND_RUN);
        assert_int_equal(line.args.options[OPT_CONCURRENCY].whole, 4);
        assert_int_equal(line.args.n_operands, 1);
        assert_string_equal(line.args.operands[0], "u");
        done(&line);
    }
    accepts(&line, "run --report= u");
    assert_string_equal(text_of(&line, OPT_REPORT), "");
    done(&line);
    accepts(&line, "run --report=--x u");
    assert_string_equal(text_of(&line, OPT_REPORT), "--x");
    done(&line);
}

static void test_bundles(void **state)
{
    struct line line;

    (void)state;
    accepts(&line, "run -sqvvnr out.yml -- -");
    assert_true(arguments_has(&line.args, OPT_STATS));
    assert_true(arguments_has(&line.args, OPT_QUIET));
    assert_int_equal(line.args.options[OPT_VERBOSE].times, 2);
    assert_true(arguments_has(&line.args, OPT_NANOSEC));
    assert_string_equal(text_of(&line, OPT_REPORT), "out.yml");
    assert_string_equal(line.args.operands[0], "-");
    done(&line);
    refuses("run u -sxq", "unknown option '-x'", "'driller run --help' lists the options");
    refuses("run u -stats", "--threshold: 'ats' is not a number of milliseconds",
            "'-stats' reads as '-s -t ats'; did you mean '--stats'?");
    refuses("run u -verbose", "--rampup: 'rbose' is not a number of seconds",
            "'-verbose' reads as '-v -e rbose'; did you mean '--verbose'?");
}

static void test_order(void **state)
{
    struct line line;

    (void)state;
    accepts(&line, "-s -q -b p.yml run -p 2 http://h/ -i 3");
    assert_int_equal(line.args.command, COMMAND_RUN);
    assert_string_equal(text_of(&line, OPT_BENCHMARK), "p.yml");
    assert_int_equal(line.args.options[OPT_ITERATIONS].whole, 3);
    done(&line);
    accepts(&line, "--benchmark - --stats");
    assert_int_equal(line.args.command, COMMAND_NONE);
    assert_string_equal(text_of(&line, OPT_BENCHMARK), "-");
    done(&line);
    accepts(&line, "run -- -s");
    assert_false(arguments_has(&line.args, OPT_STATS));
    assert_string_equal(line.args.operands[0], "-s");
    done(&line);
    accepts(&line, "validate a.yml b.yml -");
    assert_int_equal(line.args.n_operands, 3);
    done(&line);
    accepts(&line, "");
    assert_int_equal(line.args.command, COMMAND_NONE);
    done(&line);
}

static void test_options_of_other_commands(void **state)
{
    (void)state;
    refuses("-p 4 run u", "--concurrency is an option of 'driller run'",
            "write it behind 'driller run'");
    refuses("--benchmark f -u http://h", "--base-url is an option of 'driller run'", NULL);
    refuses("--benchmark f -i 3", "--iterations is an option of 'driller run'", NULL);
    refuses("--benchmark f -d 3", "--duration is an option of 'driller run'", NULL);
    refuses("--benchmark f -e 3", "--rampup is an option of 'driller run'", NULL);
    refuses("--benchmark f -w 3", "--worker-threads is an option of 'driller run'", NULL);
    refuses("--stats validate f", "'driller validate' has no option --stats",
            "'driller validate --help' lists the options");
    refuses("validate f --stats", "'driller validate' has no option --stats", NULL);
}

static void test_misspelt(void **state)
{
    (void)state;
    refuses("run u --stat", "unknown option '--stat'", "did you mean '--stats'?");
    refuses("run u --concurency=4", "unknown option '--concurency'",
            "did you mean '--concurrency'?");
    refuses("run u --bogus", "unknown option '--bogus'", "'driller run --help' lists the options");
    refuses("run u --users 4", "unknown option '--users'", NULL);
    refuses("rum u", "unknown command 'rum'", "did you mean 'run'?");
    refuses("help rum", "unknown command 'rum'", "did you mean 'run'?");
    refuses("http://h/", "unknown command 'http://h/'", "'driller run http://h/' sends a request");
    refuses("p.yml", "unknown command 'p.yml'", "'driller --benchmark p.yml' runs a plan");
    refuses("frobnicate", "unknown command 'frobnicate'",
            "the commands are run, validate and help");
    refuses("run u --stats-format jsn", "--stats-format: 'jsn' is not 'text' or 'json'",
            "did you mean 'json'?");
    refuses("run u --color blue", "--color: 'blue' is not 'auto', 'always' or 'never'", "");
}

static void test_values_refused(void **state)
{
    static const char *const concurrency[] = {
        "0", "-1", "1e9", "9223372036854775808", "1.5", "x", "0x4", "100000000000000000000", "+4"};
    (void)state;
    for (size_t i = 0; i < sizeof(concurrency) / sizeof(concurrency[0]); i++) {
        char text[64], error[128];

        snprintf(text, sizeof(text), "run u -p %s", concurrency[i]);
        snprintf(error, sizeof(error),
                 "--concurrency: '%s' is not a whole number from 1 to 1000000", concurrency[i]);
        refuses(text, error, "");
    }
    refuses("run u -i 0", "--iterations: '0' is not a whole number from 1 to 10^12", NULL);
    refuses("run u -w 0", "--worker-threads: '0' is not a whole number from 1 to 1024", NULL);
    refuses("run u -o soon", "--timeout: 'soon' is not a number of seconds, at least 0.001", NULL);
    refuses("run u -o 0", "--timeout: '0' is not a number of seconds, at least 0.001", NULL);
    refuses("run u -o nan", "--timeout: 'nan' is not a number of seconds, at least 0.001", NULL);
    refuses("run u -e -1", "--rampup: '-1' is not a number of seconds", NULL);
    refuses("run u --max-body 3q", "--max-body: '3q' is not a size: 1000000, 10k, 64MiB, 1G", NULL);
    refuses("run u --max-redirects -1",
            "--max-redirects: '-1' is not a whole number from 0 to 1000", NULL);
    refuses("run u --tags=,", "--tags: ',' is not a list of tags", NULL);
    refuses("run u --stats=yes", "--stats takes no value", NULL);
    refuses("run u -p", "--concurrency needs a value: N", "");
    refuses("run u --report --stats", "--report needs a value: FILE",
            "if '--stats' is the value, write --report=--stats");
    refuses("run u -p 1 -p 2", "--concurrency is given twice", NULL);
}

static void test_whole_line(void **state)
{
    (void)state;
    refuses("run u v", "unexpected argument 'v'", NULL);
    refuses("validate", "'driller validate' needs a FILE", NULL);
    refuses("run u -d 1s -i 5", "--iterations and --duration exclude each other", NULL);
    refuses("run u -r a -c b", "--report and --compare exclude each other", NULL);
    refuses("run u -r a -t 5", "--report and --threshold exclude each other", NULL);
    refuses("run u -s -c b -t 5", "--stats and --compare exclude each other", NULL);
    refuses("run --list-tags --tags a", "--list-tags and --tags exclude each other", NULL);
    refuses("run --list-tags --skip-tags a", "--list-tags and --skip-tags exclude each other",
            NULL);
    refuses("run u --tags a,b --skip-tags c,b", "tag 'b' is in --tags and in --skip-tags", NULL);
}

static void test_typed_values(void **state)
{
    struct line line;

    (void)state;
    accepts(&line, "run u --tags a,,b --max-body 10k -o .5 --color never --stats-format json");
    assert_int_equal(line.args.options[OPT_TAGS].n, 2);
    assert_true(str_eq(line.args.options[OPT_TAGS].items[1], STR("b")));
    assert_int_equal(line.args.options[OPT_MAX_BODY].whole, 10240);
    assert_true(line.args.options[OPT_TIMEOUT].number == 0.5);
    assert_int_equal(line.args.options[OPT_COLOR].whole, COLOR_NEVER);
    assert_int_equal(line.args.options[OPT_STATS_FORMAT].whole, STATS_JSON);
    done(&line);
}

static void test_help_and_version(void **state)
{
    struct line line;

    (void)state;
    accepts(&line, "run --help --bogus");
    assert_true(line.args.help);
    assert_false(line.args.help_short);
    assert_int_equal(line.args.command, COMMAND_RUN);
    done(&line);
    accepts(&line, "validate -h");
    assert_true(line.args.help && line.args.help_short);
    assert_int_equal(line.args.command, COMMAND_VALIDATE);
    done(&line);
    accepts(&line, "help run");
    assert_true(line.args.help);
    assert_int_equal(line.args.command, COMMAND_RUN);
    done(&line);
    accepts(&line, "help");
    assert_true(line.args.help);
    assert_int_equal(line.args.command, COMMAND_NONE);
    done(&line);
    accepts(&line, "-sV");
    assert_true(line.args.version);
    done(&line);
}

/* Every option of a command is in its help, and no line is wider than a terminal. */
static void test_help_texts(void **state)
{
    (void)state;
    for (enum command_id command = 0; command < COMMAND_COUNT; command++) {
        for (int brief = 0; brief < 2; brief++) {
            struct buf out;
            struct str rest;

            buf_init(&out, BUF_NO_MAX);
            help_write(&out, command, brief);
            rest = buf_str(&out);
            while (rest.n) {
                struct str line = {rest.p, str_find(rest, '\n')};

                if (text_width(line) > 80)
                    fail_msg("too wide: %.*s", (int)line.n, line.p);
                if (str_ends(line, STR(" ")))
                    fail_msg("ends in a blank: '%.*s'", (int)line.n, line.p);
                rest = str_skip(rest, line.n + 1);
            }
            for (enum option_id id = 0; id < OPT_COUNT; id++) {
                char shown[64];
                bool listed;

                snprintf(shown, sizeof(shown), "\n  %s%s%s",
                         option_table[id].letter ? "-x, " : "    ", option_table[id].name,
                         option_table[id].metavar ? " " : "");
                if (option_table[id].letter)
                    shown[4] = option_table[id].letter;
                listed = memmem(out.p, out.n, shown, strlen(shown)) != NULL;
                if (listed != option_belongs(id, command))
                    fail_msg("%s in the help of command %d", option_table[id].name, (int)command);
            }
            buf_fini(&out);
        }
    }
}

/* What the code takes for granted about the table. */
static void test_table(void **state)
{
    (void)state;
    for (enum option_id id = 0; id < OPT_COUNT; id++) {
        const struct option *option = &option_table[id];
        bool has_value = option->type != TYPE_FLAG;

        assert_non_null(option->name);
        assert_true(strncmp(option->name, "--", 2) == 0);
        assert_int_equal(has_value, option->metavar != NULL);
        assert_int_equal(option->type == TYPE_CHOICE, option->choices != NULL);
        if (has_value && option->type != TYPE_TEXT && option->type != TYPE_REPEAT &&
            option->type != TYPE_CHOICE)
            assert_non_null(option->wants);
        for (enum option_id other = 0; other < id; other++) {
            assert_string_not_equal(option->name, option_table[other].name);
            assert_true(!option->letter || option->letter != option_table[other].letter);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms_of_values),
        cmocka_unit_test(test_bundles),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_options_of_other_commands),
        cmocka_unit_test(test_misspelt),
        cmocka_unit_test(test_values_refused),
        cmocka_unit_test(test_whole_line),
        cmocka_unit_test(test_typed_values),
        cmocka_unit_test(test_help_and_version),
        cmocka_unit_test(test_help_texts),
        cmocka_unit_test(test_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
