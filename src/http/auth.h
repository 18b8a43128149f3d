/* Basic authorization (RFC 7617) out of a URL's credentials. */
#ifndef HTTP_AUTH_H
#define HTTP_AUTH_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/url.h"

/* Appends "Basic …" for the URL's user name and password, percent-decoded; false (and nothing
 * appended) if it has neither. */
bool auth_basic(const struct url *url, struct buf *out);

#endif
