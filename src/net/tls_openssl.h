/* What the parts of net/tls*.c share. OpenSSL's headers are included here only. */
#ifndef NET_TLS_OPENSSL_H
#define NET_TLS_OPENSSL_H

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "net/tls.h"

/* What one read of the layer below takes at most. */
#define TLS_RAW_MAX (128u * 1024)
/* The most that one record carries (RFC 8446 section 5.1). */
#define TLS_RECORD_MAX SSL3_RT_MAX_PLAIN_LENGTH

struct tls_context {
    SSL_CTX *ssl_ctx;
    BIO_METHOD *bio_method;
    int key_log; /* a descriptor, or -1 */
    bool in_use; /* `raw` is, by a call that is under way */
    char raw[TLS_RAW_MAX];
    char record[TLS_RECORD_MAX]; /* where small parts are put together */
};

/* A BIO's method whose data is a struct tls: reads through context->raw, writes directly. */
BIO_METHOD *tls_bio_method_new(void);

/* Around each call of OpenSSL that may read or write; there is one read of the layer below at most
 * between the two. */
void tls_bio_enter(struct tls *tls);
void tls_bio_leave(struct tls *tls);

/* The callback for new sessions (SSL_CTX_sess_set_new_cb). */
int tls_sessions_new_callback(SSL *ssl, SSL_SESSION *session);
/* Offers the newest session to the server, if there is one for this host. */
void tls_sessions_offer(struct tls *tls, const char *host);
/* A handshake with a session of these has failed. */
void tls_sessions_forget(struct tls_sessions *sessions);

#endif
