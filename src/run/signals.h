/* SIGINT and SIGTERM while a run goes on: the first one is noted, a second one ends the process at
 * once, whatever it is doing. SIGCONT, which tells that the process had been stopped, is counted.
 * Main thread. */
#ifndef RUN_SIGNALS_H
#define RUN_SIGNALS_H

#include "run/outbox.h"

/* Installs the handlers; the first signal also makes the outbox readable. Call it with the
 * signals blocked in every other thread. */
void signals_start(struct outbox *outbox);
/* The signal that came, or 0. */
int signals_seen(void);
/* How often the process has been stopped and continued. */
unsigned signals_continued(void);
/* Puts back the dispositions that were there before. */
void signals_stop(void);

#endif
