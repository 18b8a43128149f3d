/* The field list of an HTTP/2 request, made from the head that HTTP/1 would send. Part of
 * http/h2.c. */
#ifndef HTTP_H2_FIELDS_H
#define HTTP_H2_FIELDS_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>

#include "base/buf.h"
#include "http/exchange.h"

#define H2_REQUEST_FIELDS_MAX 256

struct h2_fields {
    nghttp2_nv list[H2_REQUEST_FIELDS_MAX];
    size_t n;
    struct buf lower; /* names in lower case; does not move once filled */
};

/* Fills it (RFC 9113 §8.3.1: pseudo fields first, names in lower case, nothing of the
 * connection's); it points into head and exchange. False if there are too many fields.
 * h2_fields_fini it either way. */
bool h2_fields_make(struct h2_fields *fields, const struct exchange *exchange, struct str head);
void h2_fields_fini(struct h2_fields *fields);

#endif
