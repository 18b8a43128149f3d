/*
 * How the chaos server reads requests: in any pieces, counted at their first byte and again at
 * their last, and looked at for what does not belong to them.
 */
#ifndef SOAK_REQUESTS_H
#define SOAK_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "answers.h"

enum { HEAD_MAX = 16384, BODY_START = 256 };

struct request_counts {
    uint64_t begun;      /* requests of which bytes came */
    uint64_t whole;      /* those that came to their end */
    uint64_t malformed;  /* those that are no good HTTP, or none of the soak's plan */
    uint64_t mismatched; /* those with another iteration's token or cookie */
    uint64_t bytes;
};

/* The request that is being read on a connection. */
struct request {
    bool begun;    /* some of it has come, and not all */
    bool has_head; /* its head is whole */
    struct wish wish;
    uint64_t body_bytes, body_left;
    size_t head_n, body_n;
    char head[HEAD_MAX];
    char body[BODY_START]; /* how its body begins */
};

/* What the bytes came to; `*used` of them were taken. */
enum request_event { REQUEST_MORE, REQUEST_HEAD, REQUEST_WHOLE, REQUEST_BAD };
enum request_event request_feed(struct request *request, const char *bytes, size_t n, size_t *used,
                                struct request_counts *counts);

#endif
