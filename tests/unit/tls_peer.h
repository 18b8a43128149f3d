/*
 * A TLS server in memory, and the stream between it and the client under test, which can be made to
 * move few bytes at a time, to say that it is not ready, and to break at any byte. Everything
 * happens in the calls of the client. Include cmocka.h before.
 */
#ifndef TLS_PEER_H
#define TLS_PEER_H

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>

#include "base/buf.h"
#include "net/tls.h"

struct peer {
    struct stream below; /* first: what the client's tls lies on */
    SSL_CTX *ctx;
    SSL *ssl;
    BIO *in, *out;
    size_t chunk; /* most bytes that one read or write moves */
    bool flaky;   /* every second read and write is not ready */
    unsigned read_turn, write_turn;
    uint64_t cut;   /* after so many bytes to the client … */
    enum io cut_as; /* … this is the answer */
    bool blocked;   /* writes are not ready */
    bool closing;   /* an end follows what the server has said */
    bool want_write, closed;
    unsigned reads, writes;
    uint64_t said; /* bytes to the client, as they are on the wire */
    bool accepted;
    struct buf heard;   /* what the server has decrypted */
    struct str reply;   /* what it still has to say */
    struct peer *inner; /* it only passes on what is for and from this one */
    uint64_t flip;      /* the byte to the client that is changed, counted from 1 */
};

static struct peer *peer_of(struct stream *stream)
{
    return (struct peer *)(void *)stream;
}

static void peer_step(struct peer *peer);

static void peer_pass_on(struct peer *peer, const char *bytes, size_t n)
{
    char answer[4096];
    int size;
    if (n > 0) {
        BIO_write(peer->inner->in, bytes, (int)n);
    }
    peer_step(peer->inner);
    while ((size = BIO_read(peer->inner->out, answer, sizeof answer)) > 0) {
        assert_int_equal(SSL_write(peer->ssl, answer, size), size);
    }
}

/* The server's turn. */
static void peer_step(struct peer *peer)
{
    char bytes[4096];
    size_t n;
    if (!peer->accepted && SSL_accept(peer->ssl) == 1) {
        peer->accepted = true;
    }
    while (peer->accepted && SSL_read_ex(peer->ssl, bytes, sizeof bytes, &n) == 1) {
        if (peer->inner) {
            peer_pass_on(peer, bytes, n);
        } else {
            buf_add(&peer->heard, bytes, n);
        }
    }
    if (peer->inner && peer->accepted) {
        peer_pass_on(peer, NULL, 0);
    }
    while (peer->accepted && peer->reply.n > 0 && BIO_pending(peer->out) < 200000 &&
           SSL_write_ex(peer->ssl, peer->reply.p, peer->reply.n, &n) == 1) {
        peer->reply = str_skip(peer->reply, n);
    }
    ERR_clear_error();
}

static enum io peer_connect(struct stream *stream)
{
    return peer_of(stream)->flaky && peer_of(stream)->read_turn++ == 0 ? IO_AGAIN : IO_OK;
}

static enum io peer_read(struct stream *stream, char *bytes, size_t max, size_t *got)
{
    struct peer *peer = peer_of(stream);
    peer->reads++;
    if (peer->flaky && peer->read_turn++ % 2) {
        return IO_AGAIN;
    }
    peer_step(peer);
    size_t limit = max < peer->chunk ? max : peer->chunk;
    if (peer->cut - peer->said < limit) {
        limit = (size_t)(peer->cut - peer->said);
    }
    int n = limit ? BIO_read(peer->out, bytes, (int)limit) : 0;
    if (n > 0) {
        if (peer->flip > peer->said && peer->flip <= peer->said + (uint64_t)n) {
            bytes[peer->flip - peer->said - 1] ^= 0x20;
        }
        peer->said += (uint64_t)n;
        *got = (size_t)n;
        return IO_OK;
    }
    if (limit == 0) {
        peer->below.failure = (struct failure){.outcome = OUTCOME_RESET, .error = 104};
        return peer->cut_as;
    }
    return peer->closing ? IO_END : IO_AGAIN;
}

static enum io peer_discard(struct stream *stream, uint64_t max, char *scratch, size_t size,
                            uint64_t *got)
{
    (void)stream, (void)max, (void)scratch, (void)size, (void)got;
    fail_msg("tls never discards below");
    return IO_FAILED;
}

static enum io peer_write(struct stream *stream, const struct str *parts, unsigned n, size_t *put)
{
    struct peer *peer = peer_of(stream);
    assert_int_equal(n, 1);
    assert_true(parts[0].n > 0);
    if (peer->blocked || (peer->flaky && peer->write_turn++ % 2)) {
        return IO_AGAIN;
    }
    peer->writes++;
    *put = parts[0].n < peer->chunk ? parts[0].n : peer->chunk;
    assert_int_equal(BIO_write(peer->in, parts[0].p, (int)*put), *put);
    return IO_OK;
}

static void peer_want_write(struct stream *stream, bool want)
{
    peer_of(stream)->want_write = want;
}

static void peer_close(struct stream *stream)
{
    peer_of(stream)->closed = true;
    peer_step(peer_of(stream));
}

static const struct stream_ops peer_ops = {peer_connect, peer_read,       peer_discard,
                                           peer_write,   peer_want_write, peer_close};

static inline int peer_alpn(SSL *ssl, const unsigned char **out, unsigned char *n,
                            const unsigned char *in, unsigned size, void *choice)
{
    (void)ssl, (void)in, (void)size;
    *out = choice;
    *n = (unsigned char)strlen(choice);
    return SSL_TLSEXT_ERR_OK;
}

/* A server's context; version 0: any. above NULL: it sends its own certificate alone. */
static inline SSL_CTX *peer_context(X509 *x509, EVP_PKEY *key, X509 *above, int version)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    assert_non_null(ctx);
    SSL_CTX_set_security_level(ctx, 0);
    SSL_CTX_set_min_proto_version(ctx, version);
    SSL_CTX_set_max_proto_version(ctx, version);
    SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"test", 4);
    assert_int_equal(SSL_CTX_use_certificate(ctx, x509), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(ctx, key), 1);
    assert_true(!above || SSL_CTX_add1_chain_cert(ctx, above));
    return ctx;
}

static inline void peer_init(struct peer *peer, SSL_CTX *ctx)
{
    *peer = (struct peer){.below = {.ops = &peer_ops},
                          .ctx = ctx,
                          .ssl = SSL_new(ctx),
                          .in = BIO_new(BIO_s_mem()),
                          .out = BIO_new(BIO_s_mem()),
                          .chunk = SIZE_MAX,
                          .cut = UINT64_MAX};
    BIO_set_mem_eof_return(peer->in, -1);
    BIO_set_mem_eof_return(peer->out, -1);
    SSL_set_bio(peer->ssl, peer->in, peer->out);
    SSL_set_mode(peer->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE);
    buf_init(&peer->heard, BUF_NO_MAX);
}

static inline void peer_fini(struct peer *peer)
{
    SSL_free(peer->ssl);
    buf_fini(&peer->heard);
}

/* The client's handshake, as often as it says that it has to wait. */
static inline enum io peer_shake(struct tls *tls)
{
    enum io io = IO_AGAIN;
    for (unsigned i = 0; i < 100000 && io == IO_AGAIN; i++) {
        io = tls->stream.ops->connect(&tls->stream);
    }
    return io;
}

/* The client writes the parts whole, or an answer that is neither IO_OK nor IO_AGAIN. */
static inline enum io peer_send(struct tls *tls, struct str text)
{
    enum io io = IO_OK;
    for (unsigned i = 0; i < 1000000 && text.n > 0; i++) {
        size_t put = 0;
        io = tls->stream.ops->write(&tls->stream, &text, 1, &put);
        if (io == IO_OK) {
            text = str_skip(text, put);
        } else if (io != IO_AGAIN) {
            return io;
        }
    }
    return text.n ? IO_AGAIN : IO_OK;
}

/* The client reads up to max bytes a call into `into` until it has n bytes or something else comes;
 * IO_AGAIN only if nothing has come for a long time. */
static inline enum io peer_receive(struct tls *tls, struct buf *into, size_t n, size_t max)
{
    unsigned idle = 0;
    while (into->n < n && idle < 50000) {
        size_t got = 0;
        assert_true(buf_reserve(into, max));
        enum io io = tls->stream.ops->read(&tls->stream, into->p + into->n, max, &got);
        if (io == IO_OK) {
            assert_true(got > 0 && got <= max);
            into->n += got;
            idle = 0;
        } else if (io == IO_AGAIN) {
            idle++;
        } else {
            return io;
        }
    }
    return into->n < n ? IO_AGAIN : IO_OK;
}

#endif
