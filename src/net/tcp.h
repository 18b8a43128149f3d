/* TCP (or a Unix socket) over a loop: the stream at the bottom of every stack. */
#ifndef NET_TCP_H
#define NET_TCP_H

#include <stdbool.h>
#include <sys/socket.h>

#include "net/loop.h"
#include "net/stream.h"

/* From this many bytes on, discard leaves the work to the kernel. */
#define TCP_DISCARD_MIN (64u << 10)

struct tcp {
    struct stream stream; /* first */
    struct loop *loop;
    struct watcher watcher;
    bool connecting;
    bool failed;    /* in the last event there was an error */
    bool stamps;    /* the kernel tells when packets came */
    uint32_t lowat; /* SO_RCVLOWAT as it is set now */
    /* With stamps: when the last of what was read came, by clock_ns; never before the last write
     * began. */
    uint64_t stamp_ns;
};

/* What a connection is made from and to; local NULL: the system chooses. */
struct tcp_ends {
    const struct sockaddr *address, *local;
    socklen_t length, local_length;
    bool stamps; /* have the kernel tell when packets come (SO_TIMESTAMPNS) */
};

/*
 * Begins to connect. IO_AGAIN: stream.ready will be called, then go on with ops->connect.
 * IO_FAILED: stream.failure (connect/refused, …/unreachable, …/no-port, …/fd-limit) says why,
 * nothing is open. ready is the owner's callback.
 */
enum io tcp_connect(struct tcp *tcp, struct loop *loop, const struct tcp_ends *ends,
                    void (*ready)(struct stream *stream, unsigned events));

#endif
