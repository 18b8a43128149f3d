/*
 * A stream in memory below a tunnel, and what its tests have in common.
 */
#ifndef TESTS_TUNNEL_FIXTURE_H
#define TESTS_TUNNEL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "net/tunnel.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define BYTES(literal) ((struct str){literal, sizeof(literal) - 1})

#define CLOSED "the proxy closed the connection"

/*
 * A stream in memory that gives at most `step` bytes a call and says IO_AGAIN before each: what is
 * to be read is there from the start, or an answer for each message that is written (turns).
 */
struct memory {
    struct stream stream; /* first */
    struct str in;
    const struct str *turns; /* NULL: all is in `in` */
    unsigned n_turns;
    size_t step;
    bool again_read, again_write, wants_write, closed;
    enum io end; /* what comes behind `in` */
    enum io connected;
    struct buf out;
    size_t most; /* the largest read asked for */
};

static enum io memory_connect(struct stream *stream)
{
    struct memory *memory = (struct memory *)stream;
    return memory->connected;
}

static enum io memory_read(struct stream *stream, char *bytes, size_t max, size_t *got)
{
    struct memory *memory = (struct memory *)stream;
    size_t n = memory->in.n < memory->step ? memory->in.n : memory->step;
    assert_true(max > 0);
    memory->most = max > memory->most ? max : memory->most;
    memory->again_read = !memory->again_read;
    if (memory->again_read) {
        return IO_AGAIN;
    }
    if (memory->in.n == 0) {
        return memory->end;
    }
    n = n < max ? n : max;
    memcpy(bytes, memory->in.p, n);
    memory->in = str_skip(memory->in, n);
    *got = n;
    return IO_OK;
}

static enum io memory_discard(struct stream *stream, uint64_t max, char *scratch,
                              size_t scratch_size, uint64_t *got)
{
    size_t n = 0;
    enum io io = memory_read(stream, scratch, max < scratch_size ? (size_t)max : scratch_size, &n);
    *got = n;
    return io;
}

static enum io memory_write(struct stream *stream, const struct str *parts, unsigned n, size_t *put)
{
    struct memory *memory = (struct memory *)stream;
    assert_true(n > 0);
    memory->again_write = !memory->again_write;
    if (memory->again_write) {
        return IO_AGAIN;
    }
    *put = parts[0].n < memory->step ? parts[0].n : memory->step;
    buf_add(&memory->out, parts[0].p, *put);
    if (*put == parts[0].n && memory->n_turns > 0) {
        assert_int_equal(memory->in.n, 0);
        memory->in = *memory->turns++;
        memory->n_turns--;
    }
    return IO_OK;
}

static void memory_want_write(struct stream *stream, bool want)
{
    struct memory *memory = (struct memory *)stream;
    memory->wants_write = want;
}

static void memory_close(struct stream *stream)
{
    struct memory *memory = (struct memory *)stream;
    assert_false(memory->closed);
    memory->closed = true;
}

static const struct stream_ops memory_ops = {memory_connect, memory_read,       memory_discard,
                                             memory_write,   memory_want_write, memory_close};

static void memory_init(struct memory *memory, struct str in, size_t step)
{
    *memory = (struct memory){
        .stream = {.ops = &memory_ops}, .in = in, .step = step, .end = IO_END, .connected = IO_OK};
    buf_init(&memory->out, BUF_NO_MAX);
}

/* Connects until it is over. Whoever has to write says so, and only that one. */
static enum io run(struct tunnel *tunnel, struct memory *memory)
{
    for (unsigned i = 0; i < 1000000; i++) {
        enum io io = tunnel->stream.ops->connect(&tunnel->stream);
        if (io != IO_AGAIN) {
            return io;
        }
        assert_int_equal(memory->wants_write, memory->again_write);
    }
    fail_msg("it does not end");
    return IO_FAILED;
}

static void expect_bytes(struct str got, struct str want)
{
    if (!str_eq(got, want)) {
        print_error("got  %.*s\nwant %.*s\n", (int)got.n, got.p, (int)want.n, want.p);
    }
    assert_true(str_eq(got, want));
}

/* What comes out of the tunnel until its end. */
static void expect_rest(struct tunnel *tunnel, struct str want)
{
    struct buf got;
    enum io io = IO_AGAIN;
    buf_init(&got, BUF_NO_MAX);
    while (io == IO_AGAIN || io == IO_OK) {
        char bytes[100];
        size_t n = 0;
        io = tunnel->stream.ops->read(&tunnel->stream, bytes, sizeof(bytes), &n);
        buf_add(&got, bytes, n);
    }
    assert_int_equal(io, IO_END);
    expect_bytes(buf_str(&got), want);
    buf_fini(&got);
}

static void finish(struct tunnel *tunnel, struct memory *memory)
{
    tunnel->stream.ops->close(&tunnel->stream);
    assert_true(memory->closed);
    buf_fini(&memory->out);
}

static void expect_failure(const struct tunnel *tunnel, enum outcome outcome, const char *text)
{
    const char *got = tunnel->stream.failure.text;
    assert_int_equal(tunnel->stream.failure.outcome, outcome);
    assert_non_null(got);
    assert_string_equal(got, text);
}

#endif
