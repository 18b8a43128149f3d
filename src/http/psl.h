/* The public suffix list, the one built into libpsl, whose only user this is. */
#ifndef HTTP_PSL_H
#define HTTP_PSL_H

#include <stdbool.h>

#include "base/str.h"

/* May a cookie not be set for this domain (lower case, Punycode) because all and sundry register
 * names below it ("com", "co.uk", "github.io"; any single label)? What is no domain name counts as
 * such. Thread-safe. */
bool psl_is_suffix(struct str domain);

#endif
