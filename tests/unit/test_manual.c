/* links: cli */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/options.h"

static struct str read_text(const char *path)
{
    struct str text;
    const char *why;

    if (!file_read(path, 1 << 20, &text, &why))
        fail_msg("%s: %s", path, why);
    return text;
}

/* The options of the table are in the manual page, with their letters and values … */
static void test_man_has_options(void **state)
{
    struct str man = read_text(SOURCE_DIR "/man/driller.1");

    (void)state;
    for (enum option_id id = 0; id < OPT_COUNT; id++) {
        const struct option *option = &option_table[id];
        char line[128];
        int n = snprintf(line, sizeof(line), "\n.It ");

        if (option->letter)
            n += snprintf(line + n, sizeof(line) - (size_t)n, "Fl %c , ", option->letter);
        n += snprintf(line + n, sizeof(line) - (size_t)n, "Fl %s", option->name + 1);
        if (option->metavar)
            n += snprintf(line + n, sizeof(line) - (size_t)n, " Ar %s", option->metavar);
        snprintf(line + n, sizeof(line) - (size_t)n, "\n");
        if (!strstr(man.p, line))
            fail_msg("man/driller.1 lacks:%s", line);
    }
    xstr_free(man);
}

/* … and no others. */
static void test_man_has_no_others(void **state)
{
    struct str man = read_text(SOURCE_DIR "/man/driller.1");
    size_t found = 0;

    (void)state;
    for (const char *at = man.p; (at = strstr(at, "Fl -")); found++) {
        enum option_id id = 0;
        size_t length = 0;

        at += strlen("Fl -");
        while (strchr("abcdefghijklmnopqrstuvwxyz0123456789-", at[length]) && at[length])
            length++;
        while (id < OPT_COUNT &&
               !str_eq(str_of(option_table[id].name + 2), (struct str){at, length}))
            id++;
        if (id == OPT_COUNT)
            fail_msg("man/driller.1 has --%.*s", (int)length, at);
    }
    assert_true(found >= OPT_COUNT);
    xstr_free(man);
}

static void test_docs_have_options(void **state)
{
    struct str docs = read_text(SOURCE_DIR "/docs/cli.md");

    (void)state;
    for (enum option_id id = 0; id < OPT_COUNT; id++) {
        const struct option *option = &option_table[id];
        char row[128];
        int n = snprintf(row, sizeof(row), "\n| `%s` |", option->name);

        if (option->letter)
            n += snprintf(row + n, sizeof(row) - (size_t)n, " `-%c` |", option->letter);
        else
            n += snprintf(row + n, sizeof(row) - (size_t)n, " |");
        if (option->metavar)
            snprintf(row + n, sizeof(row) - (size_t)n, " %s |", option->metavar);
        if (!strstr(docs.p, row))
            fail_msg("docs/cli.md lacks:%s", row);
    }
    xstr_free(docs);
}

static void test_commands(void **state)
{
    struct str man = read_text(SOURCE_DIR "/man/driller.1");
    struct str docs = read_text(SOURCE_DIR "/docs/cli.md");

    (void)state;
    for (enum command_id id = COMMAND_RUN; id < COMMAND_COUNT; id++) {
        char text[64];

        snprintf(text, sizeof(text), "\n.It Cm %s\n", command_table[id].name);
        if (!strstr(man.p, text))
            fail_msg("man/driller.1 lacks:%s", text);
        snprintf(text, sizeof(text), "\ndriller %s ", command_table[id].name);
        if (!strstr(docs.p, text))
            fail_msg("docs/cli.md lacks:%s", text);
    }
    xstr_free(man);
    xstr_free(docs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_man_has_options),
        cmocka_unit_test(test_man_has_no_others),
        cmocka_unit_test(test_docs_have_options),
        cmocka_unit_test(test_commands),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
