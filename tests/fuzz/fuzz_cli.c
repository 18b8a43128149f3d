/* links: cli */
/*
 * The command line: read, checked, and made into the settings of a run, with an ad-hoc plan of its
 * first operand or a plan that is always the same.
 *
 * Input: the arguments, one a line.
 */
#include "base/amount.h"
#include "base/mem.h"
#include "cli/arguments.h"
#include "cli/help.h"
#include "cli/settings.h"
#include "fuzz.h"

#define ARGUMENTS_MAX 64

static void check_faults(const struct faults *faults)
{
    CHECK(faults->n > 0);
    for (size_t i = 0; i < faults->n; i++)
        CHECK(faults->items[i].text[0] && !strchr(faults->items[i].text, '\n'));
}

static void check_settings(const struct arguments *arguments, struct faults *faults)
{
    const struct str text = STR("base: http://h\nplan:\n- request: {url: /}\n");
    const struct plan_options options = {
        .base = {arguments->options[OPT_BASE_URL].text,
                 str_of(arguments->options[OPT_BASE_URL].text).n},
        .tags = arguments->options[OPT_TAGS].items,
        .n_tags = arguments->options[OPT_TAGS].n,
        .skip_tags = arguments->options[OPT_SKIP_TAGS].items,
        .n_skip_tags = arguments->options[OPT_SKIP_TAGS].n,
        .relaxed = arguments_has(arguments, OPT_RELAXED),
        .listings = true,
    };
    struct settings settings = {0};
    struct plan *plan;

    plan = arguments->n_operands ? plan_adhoc(str_of(arguments->operands[0]), &options, faults)
                                 : plan_load("-", text, &options, faults);
    CHECK((plan == NULL) == (faults->errors > 0));
    if (plan && settings_make(arguments, plan, &settings, faults)) {
        CHECK(settings.run.workers >= 1 && settings.run.workers <= settings.run.concurrency);
        CHECK(settings.run.iterations || settings.run.duration_ns || settings.run.load.n_stages);
        CHECK(settings.run.concurrency <= PLAN_MAX_CONCURRENCY);
        CHECK(settings.run.client.timeout_ns > 0);
        CHECK(faults->errors == 0);
    } else {
        check_faults(faults);
    }
    settings_fini(&settings);
    plan_free(plan);
}

static void check_amounts(struct str text)
{
    uint64_t amount;

    if (amount_duration(text, &amount))
        CHECK(amount > 0 && amount <= AMOUNT_MAX_NS);
    if (amount_size(text, &amount))
        CHECK(amount <= AMOUNT_MAX_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = fuzz_input(data, size);
    char *argv[ARGUMENTS_MAX + 2] = {xstrdup("driller")};
    int argc = 1;
    struct arguments arguments;
    struct faults faults;

    while (rest.n && argc <= ARGUMENTS_MAX) {
        struct str line = fuzz_until(&rest, '\n');

        check_amounts(line);
        argv[argc++] = xstrndup(line.p, line.n);
    }
    faults_init(&faults);
    if (!arguments_parse(argc, argv, &arguments, &faults)) {
        CHECK(faults.errors == 1);
        check_faults(&faults);
    } else if (arguments.help) {
        struct buf help;

        buf_init(&help, BUF_NO_MAX);
        help_write(&help, arguments.command, arguments.help_short);
        CHECK(help.n > 0);
        buf_fini(&help);
    } else if (!arguments.version && settings_check(&arguments, &faults)) {
        check_settings(&arguments, &faults);
    }
    arguments_fini(&arguments);
    faults_fini(&faults);
    for (int i = 0; i < argc; i++)
        free(argv[i]);
    return 0;
}
