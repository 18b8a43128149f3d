#include "run/signals.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

static struct outbox *notified;
static volatile sig_atomic_t seen;
static volatile sig_atomic_t continued;
static struct sigaction old_int, old_term, old_cont;

static void on_signal(int number)
{
    if (seen) {
        _exit(128 + number);
    }
    int error = errno; /* of whatever was interrupted */
    seen = number;
    outbox_notify(notified);
    errno = error;
}

static void on_continue(int number)
{
    (void)number;
    continued = continued + 1;
}

void signals_start(struct outbox *outbox)
{
    struct sigaction resume = {.sa_handler = on_continue, .sa_flags = SA_RESTART};
    struct sigaction action = {.sa_handler = on_signal};
    notified = outbox;
    seen = 0;
    continued = 0;
    sigemptyset(&resume.sa_mask);
    sigaction(SIGCONT, &resume, &old_cont);
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &old_int);
    sigaction(SIGTERM, &action, &old_term);
}

int signals_seen(void)
{
    return seen;
}

unsigned signals_continued(void)
{
    return (unsigned)continued;
}

void signals_stop(void)
{
    sigaction(SIGCONT, &old_cont, NULL);
    sigaction(SIGINT, &old_int, NULL);
    sigaction(SIGTERM, &old_term, NULL);
}
