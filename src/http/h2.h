/*
 * HTTP/2 over a connection (RFC 9113) by nghttp2, of which this is the only user: many exchanges at
 * once, one read and one write a wake-up for all of them.
 */
#ifndef HTTP_H2_H
#define HTTP_H2_H

#include <stdint.h>

#include "http/session.h"

#define H2_STREAM_WINDOW (8u << 20)
#define H2_CONNECTION_WINDOW (1u << 30)
#define H2_HEADER_LIST_MAX (300u * 1024)
#define H2_FIELDS_MAX 5000
#define H2_INTERIM_MAX 16
#define H2_EMPTY_DATA_MAX 1000 /* empty DATA frames in a row that bring nothing */

/* A session on the heap, its preface and SETTINGS waiting to be written: session->ops->start. */
struct session *h2_new(struct conn *conn);

#endif
