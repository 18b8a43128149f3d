/* The public suffix list by libpsl, its only user. */
#ifndef HTTP_PSL_H
#define HTTP_PSL_H

#include <stdbool.h>

#include "base/str.h"

/* May a cookie not be set for this domain (lower case, Punycode) because all and sundry register
 * names below it ("com", "co.uk", "github.io")? The list is loaded on first use; thread-safe. */
bool psl_is_public_suffix(struct str domain);

#endif
