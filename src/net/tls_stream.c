#include <arpa/inet.h>
#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "net/loop.h"
#include "net/tls_openssl.h"

/* What one write hands down at most: whoever sends much is not to keep the others waiting. */
#define WRITE_RECORDS 16
#define HOST_MAX 255 /* RFC 6066 section 3: what fits into a name of DNS */

static const char closed_early[] = "closed during the TLS handshake";

static enum io fail(struct tls *tls, enum outcome outcome, const char *text)
{
    tls->stream.failure = (struct failure){.outcome = outcome, .text = text};
    return IO_FAILED;
}

/* What lies below has ended or failed. */
static enum io fail_below(struct tls *tls)
{
    bool shaking = tls->state == TLS_SHAKING;
    if (tls->below_io == IO_END) {
        return shaking ? fail(tls, OUTCOME_TLS_CLOSED, closed_early)
                       : fail(tls, OUTCOME_TRUNCATED, "closed without a TLS close_notify");
    }
    tls->stream.failure = tls->below->failure;
    if (shaking && tls->stream.failure.outcome == OUTCOME_RESET) {
        tls->stream.failure.outcome = OUTCOME_TLS_CLOSED;
    }
    return IO_FAILED;
}

/* The texts are static in OpenSSL. */
static enum io fail_ssl(struct tls *tls)
{
    unsigned long code = ERR_peek_last_error();
    const char *text = ERR_reason_error_string(code);
    long verdict = SSL_get_verify_result(tls->ssl);
    ERR_clear_error();
    if (ERR_GET_LIB(code) == ERR_LIB_SSL &&
        ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED && verdict != X509_V_OK) {
        return fail(tls, OUTCOME_TLS_VERIFY, X509_verify_cert_error_string(verdict));
    }
    return fail(tls, tls->data ? OUTCOME_RESET : OUTCOME_TLS_HANDSHAKE, text ? text : "TLS error");
}

/* Why a call of OpenSSL did not go through. */
static enum io stopped(struct tls *tls, int result)
{
    int error = SSL_get_error(tls->ssl, result);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
        return IO_AGAIN;
    }
    if (tls->below_io == IO_END || tls->below_io == IO_FAILED) {
        ERR_clear_error();
        return fail_below(tls);
    }
    if (error == SSL_ERROR_ZERO_RETURN) {
        return tls->state == TLS_SHAKING ? fail(tls, OUTCOME_TLS_CLOSED, closed_early) : IO_END;
    }
    return fail_ssl(tls);
}

static void update_interest(struct tls *tls)
{
    bool want = (tls->wants_write && !tls->write_needs_read) || tls->read_needs_write;
    tls->below->ops->want_write(tls->below, want);
}

/* --- connecting --- */

static enum io shake_hands(struct tls *tls)
{
    tls_bio_enter(tls);
    int result = SSL_connect(tls->ssl);
    tls_bio_leave(tls);
    if (result == 1) {
        ERR_clear_error();
        tls->state = TLS_OPEN;
        tls->read_needs_write = false;
        update_interest(tls);
        return IO_OK;
    }
    enum io io = stopped(tls, result);
    if (io == IO_AGAIN) {
        tls->read_needs_write = SSL_want_write(tls->ssl);
        update_interest(tls);
        return IO_AGAIN;
    }
    if (tls->resuming) {
        tls_sessions_forget(tls->sessions);
    }
    tls->state = TLS_CLOSED;
    return io;
}

static enum io tls_connect(struct stream *stream)
{
    struct tls *tls = (struct tls *)stream;
    if (tls->state == TLS_BELOW) {
        enum io io = tls->below->ops->connect(tls->below);
        if (io != IO_OK) {
            tls->stream.failure = tls->below->failure;
            return io;
        }
        tls->state = TLS_SHAKING;
    }
    if (tls->state == TLS_SHAKING) {
        return shake_hands(tls);
    }
    return tls->state == TLS_OPEN ? IO_OK : IO_FAILED;
}

/* --- reading --- */

/*
 * Reads until max bytes are there, or what one read of the layer below gave is used up. reuse: what
 * was read is not kept, so that size bytes are room enough. An end behind bytes is remembered for
 * the next call.
 */
static enum io take(struct tls *tls, char *bytes, size_t size, bool reuse, uint64_t max,
                    uint64_t *got)
{
    uint64_t n = 0;
    int result = 1;
    if (tls->end != IO_OK) {
        tls->end_told = true;
        return tls->end;
    }
    tls_bio_enter(tls);
    while (n < max) {
        uint64_t left = max - n;
        size_t some = 0;
        tls->room = left;
        result = SSL_read_ex(tls->ssl, reuse ? bytes : bytes + n, left < size ? (size_t)left : size,
                             &some);
        if (result != 1) {
            break;
        }
        n += some;
    }
    tls->room = 0;
    tls_bio_leave(tls);
    bool needs_write = tls->read_needs_write;
    tls->read_needs_write = result != 1 && SSL_want_write(tls->ssl);
    tls->data = tls->data || n > 0;
    enum io io = result == 1 ? IO_OK : stopped(tls, result);
    if (tls->read_needs_write != needs_write) {
        update_interest(tls);
    }
    if (io == IO_END || io == IO_FAILED) {
        tls->end = io;
        tls->end_told = n == 0;
    }
    *got = n;
    return n > 0 ? IO_OK : io;
}

static enum io tls_read(struct stream *stream, char *bytes, size_t max, size_t *got)
{
    uint64_t n = 0;
    enum io io = take((struct tls *)stream, bytes, max, false, max, &n);
    *got = (size_t)n;
    return io;
}

static enum io tls_discard(struct stream *stream, uint64_t max, char *scratch, size_t scratch_size,
                           uint64_t *got)
{
    return take((struct tls *)stream, scratch, scratch_size, true, max, got);
}

/* --- writing --- */

/* The bytes from offset on, to be one record: where they lie, or, if they are spread over parts,
 * put together in the context's record. */
static struct str next_record(struct tls_context *context, const struct str *parts, unsigned n,
                              size_t offset)
{
    size_t filled = 0;
    unsigned i = 0;
    while (i < n && offset >= parts[i].n) {
        offset -= parts[i++].n;
    }
    while (i < n && filled < TLS_RECORD_MAX) {
        struct str rest = str_skip(parts[i], offset);
        rest.n = rest.n < TLS_RECORD_MAX - filled ? rest.n : TLS_RECORD_MAX - filled;
        if (filled == 0 && (i + 1 == n || rest.n == TLS_RECORD_MAX)) {
            return rest;
        }
        if (rest.n > 0) {
            memcpy(context->record + filled, rest.p, rest.n);
            filled += rest.n;
        }
        offset = 0;
        i++;
    }
    return (struct str){context->record, filled};
}

static enum io tls_write(struct stream *stream, const struct str *parts, unsigned n, size_t *put)
{
    struct tls *tls = (struct tls *)stream;
    size_t done = 0;
    int result = 1;
    tls_bio_enter(tls);
    for (unsigned i = 0; i < WRITE_RECORDS; i++) {
        struct str record = next_record(tls->context, parts, n, done);
        size_t some = 0;
        if (record.n == 0) {
            break;
        }
        result = SSL_write_ex(tls->ssl, record.p, record.n, &some);
        if (result != 1) {
            break;
        }
        done += some;
    }
    tls_bio_leave(tls);
    bool needs_read = tls->write_needs_read;
    tls->write_needs_read = result != 1 && SSL_want_read(tls->ssl);
    enum io io = result == 1 ? IO_OK : stopped(tls, result);
    if (tls->write_needs_read != needs_read) {
        update_interest(tls);
    }
    *put = done;
    return done > 0 ? IO_OK : io;
}

static void tls_want_write(struct stream *stream, bool want)
{
    struct tls *tls = (struct tls *)stream;
    tls->wants_write = want;
    update_interest(tls);
}

/* --- the rest --- */

static void tls_close(struct stream *stream)
{
    struct tls *tls = (struct tls *)stream;
    if (tls->state == TLS_OPEN && tls->end != IO_FAILED) {
        tls_bio_enter(tls);
        SSL_shutdown(tls->ssl);
        tls_bio_leave(tls);
        ERR_clear_error();
    }
    /* A connection that just broke does not spoil its session. */
    SSL_set_shutdown(tls->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    tls->state = TLS_CLOSED;
    SSL_free(tls->ssl);
    tls->ssl = NULL;
    free(tls->aside);
    tls->aside = NULL;
    tls->below->ops->close(tls->below);
}

static const struct stream_ops tls_ops = {tls_connect, tls_read,       tls_discard,
                                          tls_write,   tls_want_write, tls_close};

/* The form in which a certificate has it: without brackets, zone and trailing dot; NUL-terminated.
 * False if it is too long for one. */
static bool host_name(struct str host, char *name)
{
    if (host.n > 0 && host.p[0] == '[') {
        host = str_skip(host, 1);
        host.n = str_find(host, ']');
        host.n = str_find(host, '%');
    }
    if (host.n > 1 && host.p[host.n - 1] == '.') {
        host.n--;
    }
    if (host.n == 0 || host.n > HOST_MAX) {
        return false;
    }
    memcpy(name, host.p, host.n);
    name[host.n] = '\0';
    return true;
}

static bool set_host(SSL *ssl, char *name)
{
    unsigned char address[16];
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    if (inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1) {
        return X509_VERIFY_PARAM_set1_ip_asc(param, name) == 1;
    }
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT |
                                               X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return X509_VERIFY_PARAM_set1_host(param, name, 0) == 1 &&
           SSL_set_tlsext_host_name(ssl, name) == 1;
}

void tls_init(struct tls *tls, struct tls_context *context, struct stream *below, struct str host,
              struct tls_sessions *sessions)
{
    *tls = (struct tls){
        .stream = {.ops = &tls_ops}, .below = below, .context = context, .sessions = sessions};
    char name[HOST_MAX + 1];
    tls->ssl = SSL_new(context->ssl_ctx);
    BIO *bio = BIO_new(context->bio_method);
    if (!tls->ssl || !bio) {
        mem_out();
    }
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls->ssl, bio, bio);
    SSL_set_app_data(tls->ssl, tls);
    if (!host_name(host, name) || !set_host(tls->ssl, name)) {
        ERR_clear_error();
        fail(tls, OUTCOME_TLS_HANDSHAKE, "the host's name cannot be asked for by TLS");
        tls->state = TLS_CLOSED;
        return;
    }
    tls_sessions_offer(tls, name);
}

unsigned tls_events(const struct tls *tls, unsigned events)
{
    if ((events & LOOP_WRITE) && tls->read_needs_write) {
        events |= LOOP_READ;
    }
    if ((events & LOOP_READ) && tls->write_needs_read) {
        events |= LOOP_WRITE;
    }
    return events;
}

bool tls_pending(const struct tls *tls)
{
    if (tls->end != IO_OK) {
        return !tls->end_told;
    }
    return !tls->read_needs_write && tls->ssl &&
           (tls->more || tls->in.n > 0 || SSL_pending(tls->ssl) > 0);
}

void tls_idle(struct tls *tls)
{
    SSL_free_buffers(tls->ssl);
}

struct str tls_alpn(const struct tls *tls)
{
    const unsigned char *name = NULL;
    unsigned n = 0;
    SSL_get0_alpn_selected(tls->ssl, &name, &n);
    return (struct str){(const char *)name, n};
}

const char *tls_version_name(const struct tls *tls)
{
    return SSL_get_version(tls->ssl);
}

const char *tls_cipher_name(const struct tls *tls)
{
    return SSL_get_cipher_name(tls->ssl);
}

bool tls_resumed(const struct tls *tls)
{
    return SSL_session_reused(tls->ssl);
}
