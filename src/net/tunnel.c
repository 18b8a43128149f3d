#include "net/tunnel.h"

#define MESSAGES_MAX ((size_t)256 * 1024)
#define READ_MAX 512 /* more than any need */

static enum io fail(struct tunnel *tunnel, enum outcome outcome, int error, const char *text)
{
    tunnel->state = TUNNEL_FAILED;
    tunnel->stream.failure = (struct failure){.outcome = outcome, .error = error, .text = text};
    return IO_FAILED;
}

/* What lies below has answered: its failure is the tunnel's. */
static enum io passed(struct tunnel *tunnel, enum io io)
{
    if (io == IO_FAILED) {
        tunnel->stream.failure = tunnel->below->failure;
    }
    return io;
}

/* It has ended or failed before the tunnel was open. */
static enum io fail_below(struct tunnel *tunnel, enum io io)
{
    struct failure failure = tunnel->below->failure;
    if (io == IO_END || failure.outcome == OUTCOME_TRUNCATED) {
        return fail(tunnel, OUTCOME_CONNECT_PROXY, 0, "the proxy closed the connection");
    }
    if (failure.outcome == OUTCOME_RESET) {
        return fail(tunnel, OUTCOME_CONNECT_PROXY, failure.error,
                    "the connection to the proxy broke");
    }
    tunnel->state = TUNNEL_FAILED;
    return passed(tunnel, io);
}

/* --- asking --- */

/* Sends what has to be said now: IO_OK once all of it is. */
static enum io say(struct tunnel *tunnel)
{
    struct stream *below = tunnel->below;
    if (tunnel->at == tunnel->end) {
        return IO_OK;
    }
    while (tunnel->at < tunnel->end) {
        struct str rest = {tunnel->messages.p + tunnel->at, tunnel->end - tunnel->at};
        size_t put = 0;
        enum io io = below->ops->write(below, &rest, 1, &put);
        if (io == IO_AGAIN) {
            below->ops->want_write(below, true);
        }
        if (io != IO_OK) {
            return io;
        }
        tunnel->at += (uint32_t)put;
    }
    below->ops->want_write(below, false);
    return IO_OK;
}

/* Reads the answer until something has to be said, or the tunnel is open. */
static enum io hear(struct tunnel *tunnel)
{
    struct stream *below = tunnel->below;
    enum tunnel_step step = TUNNEL_MORE;
    while (step == TUNNEL_MORE) {
        char bytes[READ_MAX];
        size_t got = 0;
        enum io io = below->ops->read(below, bytes, tunnel->protocol->need(tunnel), &got);
        if (io != IO_OK) {
            return io;
        }
        step = tunnel->protocol->take(tunnel, (struct str){bytes, got});
    }
    if (step == TUNNEL_DONE) {
        tunnel->state = TUNNEL_OPEN;
    } else if (step == TUNNEL_BROKEN) {
        tunnel->state = TUNNEL_FAILED;
        return IO_FAILED;
    }
    return IO_OK;
}

static enum io ask(struct tunnel *tunnel)
{
    while (tunnel->state == TUNNEL_ASKING) {
        enum io io = say(tunnel);
        if (io == IO_OK) {
            io = hear(tunnel);
        }
        if (io == IO_AGAIN || tunnel->state == TUNNEL_FAILED) {
            return io;
        }
        if (io != IO_OK) {
            return fail_below(tunnel, io);
        }
    }
    buf_fini(&tunnel->messages);
    return IO_OK;
}

/* --- the stream --- */

static enum io tunnel_connect(struct stream *stream)
{
    struct tunnel *tunnel = (struct tunnel *)stream;
    if (tunnel->state == TUNNEL_BELOW) {
        if (tunnel->messages.n == 0) {
            return fail(tunnel, OUTCOME_LOCAL, 0, "the host cannot be told to a proxy");
        }
        enum io io = passed(tunnel, tunnel->below->ops->connect(tunnel->below));
        if (io != IO_OK) {
            return io;
        }
        tunnel->state = TUNNEL_ASKING;
    }
    return tunnel->state == TUNNEL_FAILED ? IO_FAILED : ask(tunnel);
}

static enum io tunnel_read(struct stream *stream, char *bytes, size_t max, size_t *got)
{
    struct tunnel *tunnel = (struct tunnel *)stream;
    struct stream *below = tunnel->below;
    return passed(tunnel, below->ops->read(below, bytes, max, got));
}

static enum io tunnel_discard(struct stream *stream, uint64_t max, char *scratch,
                              size_t scratch_size, uint64_t *got)
{
    struct tunnel *tunnel = (struct tunnel *)stream;
    struct stream *below = tunnel->below;
    return passed(tunnel, below->ops->discard(below, max, scratch, scratch_size, got));
}

static enum io tunnel_write(struct stream *stream, const struct str *parts, unsigned n, size_t *put)
{
    struct tunnel *tunnel = (struct tunnel *)stream;
    struct stream *below = tunnel->below;
    return passed(tunnel, below->ops->write(below, parts, n, put));
}

static void tunnel_want_write(struct stream *stream, bool want)
{
    struct stream *below = ((struct tunnel *)stream)->below;
    below->ops->want_write(below, want);
}

static void tunnel_close(struct stream *stream)
{
    struct tunnel *tunnel = (struct tunnel *)stream;
    buf_fini(&tunnel->messages);
    tunnel->below->ops->close(tunnel->below);
}

static const struct stream_ops tunnel_ops = {tunnel_connect, tunnel_read,       tunnel_discard,
                                             tunnel_write,   tunnel_want_write, tunnel_close};

/* --- for the protocols --- */

static bool fits(struct str host)
{
    for (size_t i = 0; i < host.n; i++) {
        if ((unsigned char)host.p[i] <= ' ' || host.p[i] == 0x7f) {
            return false;
        }
    }
    return host.n > 0 && host.n <= TUNNEL_HOST_MAX;
}

bool tunnel_init(struct tunnel *tunnel, struct stream *below,
                 const struct tunnel_protocol *protocol, struct str host)
{
    *tunnel = (struct tunnel){.stream = {.ops = &tunnel_ops}, .below = below, .protocol = protocol};
    buf_init(&tunnel->messages, MESSAGES_MAX);
    return fits(host);
}

void tunnel_end_message(struct tunnel *tunnel, unsigned message)
{
    tunnel->ends[message] = (uint32_t)tunnel->messages.n;
    tunnel->end = tunnel->ends[0];
}

enum tunnel_step tunnel_broken(struct tunnel *tunnel, const char *text)
{
    tunnel->stream.failure = (struct failure){.outcome = OUTCOME_CONNECT_PROXY, .text = text};
    return TUNNEL_BROKEN;
}
