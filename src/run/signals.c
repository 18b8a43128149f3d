#include "run/signals.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

static struct outbox *notified;
static volatile sig_atomic_t seen;
static struct sigaction old_int, old_term;

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

void signals_start(struct outbox *outbox)
{
    struct sigaction action = {.sa_handler = on_signal};
    notified = outbox;
    seen = 0;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &old_int);
    sigaction(SIGTERM, &action, &old_term);
}

int signals_seen(void)
{
    return seen;
}

void signals_stop(void)
{
    sigaction(SIGINT, &old_int, NULL);
    sigaction(SIGTERM, &old_term, NULL);
}
