/* The libuv loop inside a loop, for net/'s own modules only. */
#ifndef NET_LOOP_UV_H
#define NET_LOOP_UV_H

#include <uv.h>

#include "net/loop.h"

uv_loop_t *loop_uv(struct loop *loop);
/* Have uv_run called in this turn: after uv_close or whenever a call may have made something due.
 */
void loop_uv_due(struct loop *loop);
/* Requests under way in libuv's own threads, which must be over before the loop can be freed. */
void loop_uv_pending(struct loop *loop, int change);

#endif
