#include "net/addresses.h"

#include <arpa/inet.h>

#include "base/mem.h"

struct addresses *addresses_copy(const struct addresses *addresses)
{
    size_t size = sizeof *addresses + addresses->n * sizeof addresses->list[0];
    struct addresses *copy = xmalloc(size);
    memcpy(copy, addresses, size);
    return copy;
}

bool address_parse(struct str text, struct address *address)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)&address->storage;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address->storage;
    char name[INET6_ADDRSTRLEN + 1];
    if (text.n >= sizeof name) {
        return false;
    }
    memcpy(name, text.p, text.n);
    name[text.n] = 0;
    *address = (struct address){0};
    if (inet_pton(AF_INET, name, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        address->length = sizeof *v4;
        return true;
    }
    v6->sin6_family = AF_INET6;
    address->length = sizeof *v6;
    return inet_pton(AF_INET6, name, &v6->sin6_addr) == 1;
}

void address_add_text(struct buf *out, const struct address *address)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->storage;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->storage;
    char name[INET6_ADDRSTRLEN] = "";
    if (address->storage.ss_family == AF_INET) {
        inet_ntop(AF_INET, &v4->sin_addr, name, sizeof name);
        buf_addf(out, "%s:%u", name, (unsigned)ntohs(v4->sin_port));
    } else {
        inet_ntop(AF_INET6, &v6->sin6_addr, name, sizeof name);
        buf_addf(out, "[%s]:%u", name, (unsigned)ntohs(v6->sin6_port));
    }
}
