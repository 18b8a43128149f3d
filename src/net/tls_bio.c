#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "net/tls_openssl.h"

/*
 * OpenSSL asks for a record's head, then for its body. One read of the layer below gets whatever is
 * there into a buffer that all streams of a worker share, and OpenSSL is served from that. What it
 * has not asked for when a call ends is copied aside, which is rare: a read of the layer below gets
 * no more than the caller has room for, counting a record that OpenSSL may hold in part.
 */

void tls_bio_enter(struct tls *tls)
{
    assert(!tls->context->in_use);
    tls->context->in_use = true;
    tls->received = false;
    tls->more = false;
    tls->below_io = IO_OK;
}

void tls_bio_leave(struct tls *tls)
{
    tls->context->in_use = false;
    if (tls->in.n == 0) {
        free(tls->aside);
        tls->aside = NULL;
    } else if (tls->received) {
        char *aside = xmalloc(tls->in.n);
        memcpy(aside, tls->in.p, tls->in.n);
        free(tls->aside);
        tls->aside = aside;
        tls->in.p = aside;
    }
}

static size_t read_size(const struct tls *tls)
{
    if (tls->room == 0) {
        return TLS_RAW_MAX;
    }
    if (tls->room < 2 * TLS_RECORD_MAX) {
        return TLS_RECORD_MAX;
    }
    uint64_t size = tls->room - TLS_RECORD_MAX;
    return size < TLS_RAW_MAX ? (size_t)size : TLS_RAW_MAX;
}

static void receive(struct tls *tls)
{
    size_t size = read_size(tls);
    size_t got = 0;
    tls->below_io = tls->below->ops->read(tls->below, tls->context->raw, size, &got);
    tls->received = true;
    if (tls->below_io == IO_OK) {
        tls->in = (struct str){tls->context->raw, got};
        tls->more = got == size;
    }
}

static int bio_read(BIO *bio, char *bytes, int max)
{
    struct tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (tls->in.n == 0 && !tls->received) {
        receive(tls);
    }
    if (tls->in.n > 0) {
        size_t n = (size_t)max < tls->in.n ? (size_t)max : tls->in.n;
        memcpy(bytes, tls->in.p, n);
        tls->in = str_skip(tls->in, n);
        return (int)n;
    }
    if (tls->below_io == IO_OK || tls->below_io == IO_AGAIN) {
        BIO_set_retry_read(bio);
        return -1;
    }
    return tls->below_io == IO_END ? 0 : -1;
}

static int bio_write(BIO *bio, const char *bytes, int n)
{
    struct tls *tls = BIO_get_data(bio);
    struct str part = {bytes, (size_t)n};
    size_t put = 0;
    BIO_clear_retry_flags(bio);
    enum io io = tls->below->ops->write(tls->below, &part, 1, &put);
    if (io == IO_OK && put > 0) {
        return (int)put;
    }
    if (io == IO_OK || io == IO_AGAIN) {
        BIO_set_retry_write(bio);
    } else {
        tls->below_io = io;
    }
    return -1;
}

static long bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
    const struct tls *tls = BIO_get_data(bio);
    (void)number;
    (void)pointer;
    switch (command) {
    case BIO_CTRL_FLUSH:
        return 1;
    case BIO_CTRL_EOF:
        return tls->below_io == IO_END;
    default:
        return 0;
    }
}

BIO_METHOD *tls_bio_method_new(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "stream");
    if (!method) {
        mem_out();
    }
    BIO_meth_set_read(method, bio_read);
    BIO_meth_set_write(method, bio_write);
    BIO_meth_set_ctrl(method, bio_ctrl);
    return method;
}
