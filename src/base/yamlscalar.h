/* Writing one YAML scalar so that any YAML reader gets the same text back. */
#ifndef BASE_YAMLSCALAR_H
#define BASE_YAMLSCALAR_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

/*
 * Appends text plain where YAML 1.1 and 1.2 both read a plain scalar of that text back as it is
 * (keep_type false: also where they read it as a number, truth value or null; such texts are
 * quoted if keep_type is true), in single quotes where those do ('a: b #c'), else in double quotes
 * with escapes. One line always. In doubt it is quoted; bytes that are no UTF-8 become U+FFFD.
 */
bool yaml_scalar(struct buf *out, struct str text, bool keep_type);

#endif
