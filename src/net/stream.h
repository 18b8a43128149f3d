/*
 * A two-way stream of bytes that never blocks. tcp is one; filters (tls, proxies) stack on one and
 * are one. A stream knows what lies below it, never what lies above: it tells its owner by one
 * callback that it may be worth calling again.
 */
#ifndef NET_STREAM_H
#define NET_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/outcome.h"
#include "base/str.h"

enum io {
    IO_OK,    /* bytes were moved */
    IO_AGAIN, /* not now: `ready` will be called */
    IO_END,   /* the other side has ended in an orderly way */
    IO_FAILED /* stream->failure says how */
};

/* Why a stream or a request failed. */
struct failure {
    enum outcome outcome;
    enum outcome_where where;
    int error;        /* errno, or 0 */
    const char *text; /* static, or NULL: the errno's text says it */
    struct str seen;  /* bytes of the other side that it is about; they live for the call */
};

struct stream;

struct stream_ops {
    /* Goes on connecting: IO_OK when the stream can be read and written (a filter has the layer
     * below connected first, and shaken hands), IO_AGAIN or IO_FAILED. */
    enum io (*connect)(struct stream *stream);
    /* At most max bytes into bytes; *got of them with IO_OK. */
    enum io (*read)(struct stream *stream, char *bytes, size_t max, size_t *got);
    /* Throws away at most max bytes that nobody will look at; *got with IO_OK. scratch is as
     * large as scratch_size and may be written to. */
    enum io (*discard)(struct stream *stream, uint64_t max, char *scratch, size_t scratch_size,
                       uint64_t *got);
    /* The parts in order; *put bytes with IO_OK, perhaps fewer than there are. */
    enum io (*write)(struct stream *stream, const struct str *parts, unsigned n, size_t *put);
    /* Which directions the owner waits for; reading is always wanted once connected. */
    void (*want_write)(struct stream *stream, bool want);
    /* Closes at once; no callback comes after it. Memory is the owner's. */
    void (*close)(struct stream *stream);
};

struct stream {
    const struct stream_ops *ops;
    /* Called on the loop's thread. events as in net/loop.h. */
    void (*ready)(struct stream *stream, unsigned events);
    struct failure failure;
};

#endif
