#include <stdlib.h>

#include "base/mem.h"
#include "net/tls_openssl.h"

void tls_sessions_init(struct tls_sessions *sessions, const struct tls_context *context)
{
    *sessions = (struct tls_sessions){.context = context};
}

void tls_sessions_forget(struct tls_sessions *sessions)
{
    while (sessions->n > 0) {
        SSL_SESSION_free(sessions->list[--sessions->n]);
    }
}

void tls_sessions_fini(struct tls_sessions *sessions)
{
    tls_sessions_forget(sessions);
    free(sessions->host);
    sessions->host = NULL;
}

int tls_sessions_new_callback(SSL *ssl, SSL_SESSION *session)
{
    const struct tls *tls = SSL_get_app_data(ssl);
    struct tls_sessions *sessions = tls->sessions;
    if (!sessions) {
        return 0;
    }
    if (sessions->n == TLS_SESSIONS_MAX) {
        SSL_SESSION_free(sessions->list[0]);
        memmove(sessions->list, sessions->list + 1,
                (TLS_SESSIONS_MAX - 1) * sizeof *sessions->list);
        sessions->n--;
    }
    sessions->list[sessions->n++] = session;
    return 1; /* the reference is ours */
}

/*
 * A ticket of TLS 1.3 is better used once (RFC 8446 appendix C.4), but when many connections open
 * at a time the last one has to do for all. OpenSSL spoils what it has used, so that is a copy
 * then.
 */
static SSL_SESSION *newest(struct tls_sessions *sessions)
{
    SSL_SESSION *session = sessions->list[sessions->n - 1];
    if (SSL_SESSION_get_protocol_version(session) != TLS1_3_VERSION) {
        SSL_SESSION_up_ref(session);
        return session;
    }
    if (sessions->n > 1) {
        sessions->n--;
        return session;
    }
    session = SSL_SESSION_dup(session);
    if (!session) {
        mem_out();
    }
    return session;
}

void tls_sessions_offer(struct tls *tls, const char *host)
{
    struct tls_sessions *sessions = tls->sessions;
    if (!sessions) {
        return;
    }
    if (!sessions->host) {
        sessions->host = xstrdup(host);
    }
    if (sessions->context != tls->context || strcmp(sessions->host, host) != 0) {
        tls->sessions = NULL;
        return;
    }
    while (sessions->n > 0 && !SSL_SESSION_is_resumable(sessions->list[sessions->n - 1])) {
        SSL_SESSION_free(sessions->list[--sessions->n]);
    }
    if (sessions->n == 0) {
        return;
    }
    SSL_SESSION *session = newest(sessions);
    tls->resuming = SSL_set_session(tls->ssl, session) == 1;
    SSL_SESSION_free(session);
}
