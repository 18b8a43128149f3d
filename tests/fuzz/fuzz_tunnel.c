/* links: net base */
/*
 * What a proxy answers to CONNECT or SOCKS 5: however it is cut, it is taken or refused alike, and
 * not a byte of what is behind it is lost.
 *
 * Input: a byte (bit 0: SOCKS, bit 1: with a password, the rest: how large the pieces are), the
 * answer.
 */
#include <string.h>

#include "fuzz.h"
#include "net/tunnel.h"

/* A stream in memory that gives at most `step` bytes a call. */
struct memory {
    struct stream stream; /* first */
    struct str in;
    size_t step;
};

static enum io memory_connect(struct stream *stream)
{
    (void)stream;
    return IO_OK;
}

static enum io memory_read(struct stream *stream, char *bytes, size_t max, size_t *got)
{
    struct memory *memory = (struct memory *)stream;
    size_t n = memory->in.n < memory->step ? memory->in.n : memory->step;

    CHECK(max > 0);
    n = n < max ? n : max;
    if (n == 0)
        return IO_END;
    memcpy(bytes, memory->in.p, n);
    memory->in = str_skip(memory->in, n);
    *got = n;
    return IO_OK;
}

static enum io memory_write(struct stream *stream, const struct str *parts, unsigned n, size_t *put)
{
    (void)stream;
    *put = 0;
    for (unsigned i = 0; i < n; i++)
        *put += parts[i].n;
    return IO_OK;
}

static void memory_want_write(struct stream *stream, bool want)
{
    (void)stream;
    (void)want;
}

static void memory_close(struct stream *stream)
{
    (void)stream;
}

struct answer {
    enum io io;
    enum outcome outcome;
    size_t left; /* bytes behind the answer */
};

static struct answer ask(struct str in, size_t step, bool socks, bool password)
{
    static const struct stream_ops ops = {.connect = memory_connect,
                                          .read = memory_read,
                                          .write = memory_write,
                                          .want_write = memory_want_write,
                                          .close = memory_close};
    struct memory memory = {.stream = {.ops = &ops}, .in = in, .step = step};
    struct tunnel tunnel;
    struct answer answer;

    if (socks)
        tunnel_init_socks(&tunnel, &memory.stream, STR("host.test"), 443, NULL,
                          password ? STR("user") : STR(""), STR("secret"));
    else
        tunnel_init_http(&tunnel, &memory.stream, STR("host.test"), 443,
                         password ? STR("Basic dTpw") : STR(""));
    do {
        answer.io = tunnel.stream.ops->connect(&tunnel.stream);
    } while (answer.io == IO_AGAIN && memory.in.n);
    answer.outcome = answer.io == IO_FAILED ? tunnel.stream.failure.outcome : OUTCOME_RESPONSE;
    answer.left = memory.in.n;
    if (answer.io == IO_FAILED)
        CHECK(answer.outcome == OUTCOME_CONNECT_PROXY && tunnel.stream.failure.text);
    tunnel.stream.ops->close(&tunnel.stream);
    return answer;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str in = fuzz_input(data, size);
    uint8_t how = fuzz_byte(&in);
    struct answer whole = ask(in, SIZE_MAX, how & 1, how & 2);
    struct answer pieces = ask(in, (size_t)(how >> 2) + 1, how & 1, how & 2);

    CHECK(whole.io == pieces.io && whole.outcome == pieces.outcome);
    if (whole.io == IO_OK)
        CHECK(whole.left == pieces.left);
    return 0;
}
