/* What tests of TLS streams begin with: a context, and a client and a server that are connected.
 * Include cmocka.h before. */
#ifndef TLS_PAIR_H
#define TLS_PAIR_H

#include <stdlib.h>

#include "tls_certs.h"
#include "tls_peer.h"

static struct cert cert;
static char cert_file[64];
static struct tls_context *context;
static char big[1 << 20];

static inline int make(void **state)
{
    char error[160];
    (void)state;
    cert = cert_make(&(struct recipe){.name = "x", .san = "DNS:a.test"}, NULL);
    cert_write(cert_file, cert.x509, NULL, NULL, NULL);
    context = tls_context_new(&(struct tls_options){.cacert = cert_file, .offer_h2 = true}, error,
                              sizeof error);
    for (size_t i = 0; i < sizeof big; i++) {
        big[i] = (char)(i * 2654435761u >> 24);
    }
    return context ? 0 : -1;
}

static inline int unmake(void **state)
{
    (void)state;
    tls_context_free(context);
    unlink(cert_file);
    cert_free(&cert);
    return 0;
}

/* A client and a server of a version (0: any) that know nothing of each other yet. */
struct pair {
    struct peer peer;
    struct tls tls;
    struct buf got;
};

static inline void pair_init(struct pair *pair, int version)
{
    SSL_CTX *ctx = peer_context(cert.x509, cert.key, NULL, version);
    peer_init(&pair->peer, ctx);
    tls_init(&pair->tls, context, &pair->peer.below, STR("a.test"), NULL);
    buf_init(&pair->got, BUF_NO_MAX);
}

static inline void pair_fini(struct pair *pair)
{
    pair->tls.stream.ops->close(&pair->tls.stream);
    assert_true(pair->peer.closed);
    assert_null(pair->tls.aside);
    SSL_CTX_free(pair->peer.ctx);
    peer_fini(&pair->peer);
    buf_fini(&pair->got);
}

static inline void pair_open(struct pair *pair, int version)
{
    pair_init(pair, version);
    assert_int_equal(peer_shake(&pair->tls), IO_OK);
    peer_step(&pair->peer);
}

static inline enum io read_some(struct pair *pair, size_t n, size_t max)
{
    return peer_receive(&pair->tls, &pair->got, n, max);
}

static inline void assert_got(const struct pair *pair, struct str text)
{
    assert_int_equal(pair->got.n, text.n);
    assert_memory_equal(pair->got.p, text.p, text.n);
}

static inline void assert_heard(struct pair *pair, struct str text)
{
    peer_step(&pair->peer);
    assert_int_equal(pair->peer.heard.n, text.n);
    assert_memory_equal(pair->peer.heard.p, text.p, text.n);
}

#endif
