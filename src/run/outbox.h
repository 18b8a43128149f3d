/*
 * The bounded queue between workers and the main thread: whole pieces of text for standard output,
 * standard error and the report. The lock is taken once a piece (tens of KiB), never once a
 * request. A full queue is waited for.
 */
#ifndef RUN_OUTBOX_H
#define RUN_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "run/events.h"

#define OUTBOX_MAX_BYTES (8u << 20)

struct outbox;

/* NULL if the kernel refuses an eventfd. */
struct outbox *outbox_new(void);
void outbox_free(struct outbox *outbox);
/* Readable when there is something to take or outbox_notify was called. */
int outbox_fd(const struct outbox *outbox);
/* Any thread, async-signal-safe. */
void outbox_notify(struct outbox *outbox);

/* Worker: hands over the text. The buffer is empty afterwards; it may have got the memory of a
 * piece that has been written. */
void outbox_put(struct outbox *outbox, enum output output, struct buf *text);

/* Main thread: the next piece, which is the outbox's and stays until the next call; false if there
 * is none. */
bool outbox_take(struct outbox *outbox, enum output *output, struct str *text);

#endif
