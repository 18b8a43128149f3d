#include "base/buf.h"
#include "base/faults.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/help.h"

static int print_about(const struct arguments *arguments)
{
    struct buf out;
    int status;

    buf_init(&out, BUF_NO_MAX);
    if (arguments->version)
        buf_addf(&out, "driller %s\n", help_version());
    else
        help_write(&out, arguments->command, arguments->help_short);
    status = console_print(buf_str(&out));
    buf_fini(&out);
    return status;
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    struct faults faults;
    int status = CLI_USAGE;

    console_init();
    faults_init(&faults);
    if (!arguments_parse(argc, argv, &arguments, &faults))
        console_faults(&faults);
    else if (arguments.help || arguments.version)
        status = print_about(&arguments);
    else if (arguments.command == COMMAND_VALIDATE)
        status = cmd_validate(&arguments);
    else
        status = cmd_run(&arguments);
    faults_fini(&faults);
    arguments_fini(&arguments);
    return status;
}
