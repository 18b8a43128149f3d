/*
 * What is worth saying once for each place and then only counting: variables that are missing
 * under --relaxed-interpolations, requests that must not be sent. Shared by the workers; the lock
 * is taken only when something is wrong.
 */
#ifndef RUN_NOTICES_H
#define RUN_NOTICES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define NOTICES_MAX 1000 /* places told apart; what is wrong elsewhere is not said */

struct notices;

struct notices *notices_new(void);
void notices_free(struct notices *notices);

/* Counts one more at `place` (an address in the plan). True if the place is new: then tell
 * notices_say what to say of it. */
bool notices_count(struct notices *notices, const void *place);
/* The text of a new place, copied; false if another place has said the same: it shares the
 * count. */
bool notices_say(struct notices *notices, const void *place, struct str text);
/* Hands over each text that was counted more than once, in the order of their first time. */
void notices_each(struct notices *notices, void (*each)(void *ctx, struct str text, uint64_t count),
                  void *ctx);

#endif
