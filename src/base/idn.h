/* International domain names (UTS #46, non-transitional) by libidn2, its only user. */
#ifndef BASE_IDN_H
#define BASE_IDN_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

/* Longer names are refused unread, so that no name can cost much: 253 bytes are what DNS takes. */
#define IDN_MAX 1024

/* Appends the ASCII form of a host name in UTF-8, lower case; false if it has none. */
bool idn_to_ascii(struct str host, struct buf *out);

#endif
