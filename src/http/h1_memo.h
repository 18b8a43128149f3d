/*
 * The head that was parsed last, and what it came to. A server's answers to one request are mostly
 * the same head, but for the second that stands in it: to compare is a tenth of the work of parsing
 * again, and says the same, for h1_head_parse depends on nothing but the bytes of a whole head.
 */
#ifndef HTTP_H1_MEMO_H
#define HTTP_H1_MEMO_H

#include <string.h>

#include "http/h1_parse.h"

/* The largest head that is kept. */
#define H1_MEMO_BYTES 512

/* Zeroed: nothing is kept. */
struct h1_memo {
    struct h1_head head; /* its fields lie in `bytes` */
    bool head_request;
    char bytes[H1_MEMO_BYTES];
};

/* What h1_head_parse would say of data[0…n) (H1_OK, and this head), or NULL: it has to be asked.
 * Good until the next h1_memo_keep. */
static inline const struct h1_head *h1_memo_find(const struct h1_memo *memo, const char *data,
                                                 size_t n, bool head_request)
{
    size_t size = memo->head.size;
    return size > 0 && size <= n && memo->head_request == head_request &&
                   memcmp(memo->bytes, data, size) == 0
               ? &memo->head
               : NULL;
}

/* Keeps a head that h1_head_parse has found at data, unless it is a large one. */
void h1_memo_keep(struct h1_memo *memo, const char *data, bool head_request,
                  const struct h1_head *head);

#endif
