#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/source.h"
#include "plan/plan.h"

/* Reads one plan and says all that is wrong with it, or that nothing is. */
static int validate(const char *path, const struct plan_options *options)
{
    struct faults faults;
    struct str text = {0};
    int status = CLI_FAILED;

    faults_init(&faults);
    if (source_plan(path, &text, &faults))
        plan_free(plan_load(path, text, options, &faults));
    console_faults(&faults);
    if (faults.errors == 0) {
        struct buf out;

        buf_init(&out, BUF_NO_MAX);
        text_printable(&out, str_of(path), SIZE_MAX);
        buf_add_str(&out, STR(": ok\n"));
        status = console_print(buf_str(&out));
        buf_fini(&out);
    }
    faults_fini(&faults);
    xstr_free(text);
    return status;
}

int cmd_validate(const struct arguments *arguments)
{
    const struct plan_options options = {
        .base = str_of(arguments->options[OPT_BASE_URL].text),
        .relaxed = arguments_has(arguments, OPT_RELAXED),
        .strict_keys = true,
    };
    int status = CLI_OK;

    for (size_t i = 0; i < arguments->n_operands && status != CLI_PIPE_GONE; i++) {
        int one = validate(arguments->operands[i], &options);

        if (one != CLI_OK)
            status = one;
    }
    return status;
}
