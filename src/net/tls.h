/*
 * TLS 1.2 and 1.3 for clients: a filter over any stream, by OpenSSL, which nothing outside of
 * net/tls*.c sees.
 *
 *   context    what all connections of one identity have in common (trust, client certificate,
 *              versions, ciphers, ALPN). One per worker: it is not shared between threads.
 *   sessions   what is remembered of a host to shorten the next handshake with it
 *   tls        one connection
 */
#ifndef NET_TLS_H
#define NET_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "net/stream.h"

struct tls_context;
struct ssl_st;
struct ssl_session_st;

enum tls_version { TLS_1_2, TLS_1_3 };

/* --- context --- */

/* Zeroed: TLS 1.2 and later, the system's trust anchors and ciphers, no client certificate. Texts
 * may be NULL, and are not kept. */
struct tls_options {
    const char *cacert;       /* PEM file of the trust anchors, instead of the system's */
    const char *cert;         /* PEM file: the client's certificate and those that lead up to it */
    const char *key;          /* PEM file; NULL: the key is in `cert` */
    const char *key_password; /* NULL: an encrypted key is an error */
    enum tls_version min_version;
    const char *ciphers; /* with ':' between; names that begin with TLS_ are suites of TLS 1.3, the
                            rest an OpenSSL cipher list for 1.2; what is not named stays as it is */
    bool insecure;       /* neither certificates nor names are verified */
    bool offer_h2;       /* ALPN: h2 and http/1.1, else http/1.1 alone */
};

/*
 * NULL if the options cannot be, with one line "FILE: REASON" in error (cut to size). Without
 * cacert, the variables SSL_CERT_FILE and SSL_CERT_DIR name the trust anchors; without those the
 * system's folder of certificates is looked into as need arises, or, if it has none under hashed
 * names, the system's file is read. Costs about 3 ms, with that file 50.
 */
struct tls_context *tls_context_new(const struct tls_options *options, char *error, size_t size);
/* All of its streams and sessions must be gone. NULL is allowed. */
void tls_context_free(struct tls_context *context);

/* The file to which contexts append the secrets of every connection, for Wireshark and the like
 * (the variable SSLKEYLOGFILE), or NULL. Whoever sets it wants to be warned of it. */
const char *tls_key_log_file(void);

/* --- sessions --- */

#define TLS_SESSIONS_MAX 4

/*
 * The newest sessions of one host under one context: embed it in whatever stands for an origin.
 * Given to a stream of another host or context it does nothing. Must outlive the streams that it
 * is given to.
 */
struct tls_sessions {
    const struct tls_context *context;
    char *host;                                    /* set by the first stream */
    struct ssl_session_st *list[TLS_SESSIONS_MAX]; /* the newest last */
    unsigned n;
};

void tls_sessions_init(struct tls_sessions *sessions, const struct tls_context *context);
void tls_sessions_fini(struct tls_sessions *sessions);

/* --- streams --- */

enum tls_state { TLS_BELOW, TLS_SHAKING, TLS_OPEN, TLS_CLOSED };

/*
 * A stream over `below`. It must not be moved, and none of its functions may be called from within
 * a callback of another stream of the same context; so a stack of two has two contexts.
 *
 * connect  Connects below, then shakes hands; TLS_BELOW turns into TLS_SHAKING between the two. It
 *          fails as below does, or with OUTCOME_TLS_VERIFY (the certificate is not good, or is not
 *          this host's), OUTCOME_TLS_CLOSED (the other side went away in the middle) or
 *          OUTCOME_TLS_HANDSHAKE (anything else); the text is OpenSSL's.
 * read     Fills as much as it can from one read of the layer below. IO_END is an end that the
 *          other side has vouched for (close_notify). An end of the layer below without it is
 *          IO_FAILED with OUTCOME_TRUNCATED, which comes from nowhere else: whoever knows by other
 *          means that all is there (a Content-Length) may take it for an end, whoever needs the end
 *          to know the length (a body until the connection closes) must not; and before the first
 *          byte of a response it is what OUTCOME_RESET is on a plain connection. Another failure
 *          below is passed on. A fatal alert, or records that cannot be decrypted, are
 *          OUTCOME_TLS_HANDSHAKE up to the first byte that is read (with TLS 1.3 a server
 *          refuses a client's certificate only then), OUTCOME_RESET after it.
 * write    After IO_AGAIN, or fewer bytes than there were, the next write must begin with the bytes
 *          that were not put, and not be shorter than they were.
 * close    Says close_notify if the layer below takes it at once, and closes that too.
 */
struct tls {
    struct stream stream; /* first */
    struct stream *below;
    struct tls_context *context;
    struct tls_sessions *sessions; /* or NULL */
    struct ssl_st *ssl;
    struct str in; /* read from below and not yet consumed; between calls it is in `aside` */
    char *aside;   /* heap, or NULL */
    uint64_t room; /* what the caller of a read can still take, or 0 */
    enum tls_state state;
    enum io below_io; /* how the layer below answered last in this call */
    enum io end;      /* IO_OK, or how reading has ended */
    bool received;    /* below was read in this call */
    bool more;        /* it may have had more */
    bool wants_write; /* the owner does */
    bool end_told;
    bool data;             /* a byte was read */
    bool read_needs_write; /* reading goes on when below can be written */
    bool write_needs_read; /* the other way round */
    bool resuming;         /* a session was offered */
};

/*
 * Makes a stream for host (a name or an address as in a URL: IPv6 in brackets, a trailing dot does
 * not matter), which the certificate must be for; nothing is sent before ops->connect. sessions may
 * be NULL. Afterwards ops->close must be called, once.
 */
void tls_init(struct tls *tls, struct tls_context *context, struct stream *below, struct str host,
              struct tls_sessions *sessions);

/*
 * Which calls events of the bottom (net/loop.h) make worthwhile, LOOP_READ for read, LOOP_WRITE for
 * write: TLS at times has to write in order to read on.
 */
unsigned tls_events(const struct tls *tls, unsigned events);

/*
 * True if the next read (or connect) need not wait for the bottom: no event may come for what is
 * already here, so ask after every read, and in a stack ask each tls of it.
 */
bool tls_pending(const struct tls *tls);

/* Gives back the buffers of a connection that will be idle; they come back by themselves. */
void tls_idle(struct tls *tls);

/* After connect: "h2", "http/1.1", or empty if the server does not know ALPN. One that was not
 * offered fails the handshake. */
struct str tls_alpn(const struct tls *tls);
/* After connect: "TLSv1.2" or "TLSv1.3"; OpenSSL's name of the cipher. Static. */
const char *tls_version_name(const struct tls *tls);
const char *tls_cipher_name(const struct tls *tls);
/* After connect: the handshake was shortened by a session. */
bool tls_resumed(const struct tls *tls);

#endif
