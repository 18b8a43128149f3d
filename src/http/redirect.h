/* What a redirected request looks like (RFC 9110 §15.4 and the Fetch standard's rules): pure. */
#ifndef HTTP_REDIRECT_H
#define HTTP_REDIRECT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/url.h"

/* Is it a status whose Location is followed: 301, 302, 303, 307, 308? */
bool redirect_status(unsigned status);

/* Does the body go (and the method become GET)? 303: for all but HEAD; 301 and 302: for POST. */
bool redirect_drops_body(unsigned status, struct str method);

/*
 * Appends the head that asks for `to`, made from the head `from` of the request that was
 * redirected: its fields stay as they were, but for those of a dropped body, and, to another
 * origin, Host (replaced), Authorization, Cookie and Proxy-Authorization (dropped). authority is
 * the new one's. *target is where the target stands in out (its bytes move if out grows).
 */
void redirect_head(struct str from, const struct url *to, struct str method, struct str authority,
                   bool same_origin, bool drop_body, struct buf *out, struct str *target);

#endif
