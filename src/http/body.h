/* Content-Encoding (RFC 9110 section 8.4) taken off a body that was kept whole. */
#ifndef HTTP_BODY_H
#define HTTP_BODY_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

#define BODY_MAX_CODINGS 5 /* beside identity */

enum body_result {
    BODY_OK,
    BODY_BAD,       /* it is not in that coding, is damaged or cut short; or too many codings */
    BODY_TOO_LARGE, /* decoded, it passes out's maximum */
    BODY_UNKNOWN    /* a coding that is none of gzip, x-gzip, deflate, br, zstd and identity */
};

/* Would body_decode only copy: is no coding named but identity? */
bool body_is_plain(struct str codings);

/*
 * Appends the decoded body. codings: the value of Content-Encoding, several joined with commas. An
 * empty body is empty in any coding; bytes behind its end are passed over, as browsers do. Never
 * holds more than twice out's maximum beside out and the decoder's window (at most 16 MiB). If it
 * is not BODY_OK, out has the bytes that it had.
 */
enum body_result body_decode(struct str body, struct str codings, struct buf *out);

#endif
