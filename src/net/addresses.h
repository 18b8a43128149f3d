/* Socket addresses, several in a row. */
#ifndef NET_ADDRESSES_H
#define NET_ADDRESSES_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/str.h"

struct address {
    struct sockaddr_storage storage;
    socklen_t length;
};

struct addresses {
    unsigned n;
    struct address list[];
};

/* A copy on the heap. */
struct addresses *addresses_copy(const struct addresses *addresses);

/* Reads an IPv4 or IPv6 address (no brackets, no port); false if it is none. */
bool address_parse(struct str text, struct address *address);

/* Appends "127.0.0.1:80" or "[::1]:80". */
void address_add_text(struct buf *out, const struct address *address);

#endif
