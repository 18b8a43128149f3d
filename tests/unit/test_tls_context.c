/* links: net base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tls_certs.h"
#include "tls_peer.h"

/* The server's certificate, which is its own anchor, and those of two clients. */
static struct cert server, client, other;
static char server_file[64], client_file[64], key_file[64], locked_file[64], both_file[64];
static char other_file[64], empty_file[64];
static char error[200];

static int make(void **state)
{
    (void)state;
    unsetenv("SSLKEYLOGFILE");
    unsetenv("SSL_CERT_FILE");
    unsetenv("SSL_CERT_DIR");
    server = cert_make(&(struct recipe){.name = "server", .san = "DNS:a.test,DNS:b.test"}, NULL);
    client = cert_make(&(struct recipe){.name = "client"}, NULL);
    other = cert_make(&(struct recipe){.name = "other"}, NULL);
    cert_write(server_file, server.x509, NULL, NULL, NULL);
    cert_write(client_file, client.x509, NULL, NULL, NULL);
    cert_write(key_file, NULL, NULL, client.key, NULL);
    cert_write(locked_file, NULL, NULL, client.key, "secret");
    cert_write(both_file, client.x509, NULL, client.key, NULL);
    cert_write(other_file, other.x509, NULL, other.key, NULL);
    cert_write(empty_file, NULL, NULL, NULL, NULL);
    return 0;
}

static int unmake(void **state)
{
    char *files[] = {server_file, client_file, key_file,  locked_file,
                     both_file,   other_file,  empty_file};
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        unlink(files[i]);
    }
    cert_free(&server);
    cert_free(&client);
    cert_free(&other);
    return 0;
}

static struct tls_context *context_of(struct tls_options options)
{
    error[0] = '\0';
    if (!options.cacert) {
        options.cacert = server_file;
    }
    return tls_context_new(&options, error, sizeof error);
}

static struct tls_context *good_context(struct tls_options options)
{
    struct tls_context *context = context_of(options);
    if (!context) {
        fail_msg("%s", error);
    }
    return context;
}

/* --- options --- */

static void expect_error(struct tls_options options, const char *file, const char *why)
{
    char line[200];
    snprintf(line, sizeof line, "%s: %s", file, why);
    assert_null(context_of(options));
    assert_string_equal(error, line);
    assert_int_equal(ERR_peek_error(), 0);
}

static void test_bad_options(void **state)
{
    (void)state;
    expect_error((struct tls_options){.cacert = "/none/ca.pem"}, "/none/ca.pem",
                 "No such file or directory");
    expect_error((struct tls_options){.cacert = "/tmp"}, "/tmp", "Is a directory");
    expect_error((struct tls_options){.cacert = empty_file}, empty_file,
                 "has no certificate in it");
    expect_error((struct tls_options){.cacert = key_file}, key_file, "has no certificate in it");
    expect_error((struct tls_options){.cert = "/none"}, "/none", "No such file or directory");
    expect_error((struct tls_options){.cert = key_file}, key_file, "has no certificate in it");
    expect_error((struct tls_options){.cert = client_file}, client_file,
                 "has no private key in it");
    expect_error((struct tls_options){.cert = client_file, .key = "/none"}, "/none",
                 "No such file or directory");
    expect_error((struct tls_options){.cert = client_file, .key = empty_file}, empty_file,
                 "has no private key in it");
    expect_error((struct tls_options){.key = key_file}, key_file, "a key without a certificate");
    expect_error((struct tls_options){.cert = client_file, .key = other_file}, other_file,
                 "the key does not belong to the certificate");
    expect_error((struct tls_options){.cert = client_file, .key = locked_file}, locked_file,
                 "the key is encrypted, and no passphrase was given");
    expect_error(
        (struct tls_options){.cert = client_file, .key = locked_file, .key_password = "wrong"},
        locked_file, "the key cannot be decrypted with the passphrase given");
    expect_error((struct tls_options){.ciphers = "NONSENSE"}, "NONSENSE", "no cipher match");
    expect_error((struct tls_options){.ciphers = "TLS_NONSENSE"}, "TLS_NONSENSE",
                 "no cipher match");
}

static void test_error_is_cut(void **state)
{
    char small[8] = "1234567";
    (void)state;
    assert_null(tls_context_new(&(struct tls_options){.cacert = "/none"}, small, 5));
    assert_string_equal(small, "/non");
    assert_int_equal(small[5], '6');
}

/* --- handshakes --- */

/* How a connection to a.test with a server of that context goes until the answer is read; the
 * sessions may be NULL. cipher: set if the handshake went through. */
struct visit {
    enum io io;
    struct failure failure;
    bool resumed, shaken;
    char cipher[64];
};

static struct visit visit(struct tls_context *context, SSL_CTX *ctx, const char *host,
                          struct tls_sessions *sessions, bool cut)
{
    struct visit visit = {.io = IO_FAILED};
    struct peer peer;
    struct tls tls;
    struct buf got;
    buf_init(&got, BUF_NO_MAX);
    peer_init(&peer, ctx);
    tls_init(&tls, context, &peer.below, str_of(host), sessions);
    peer.reply = STR("200");
    visit.io = peer_shake(&tls);
    if (visit.io == IO_OK) {
        visit.shaken = true;
        visit.resumed = tls_resumed(&tls);
        snprintf(visit.cipher, sizeof visit.cipher, "%s", tls_cipher_name(&tls));
        visit.io = peer_receive(&tls, &got, 3, 100);
        if (cut) {
            peer.cut = peer.said;
            peer.cut_as = IO_END;
            assert_int_equal(peer_receive(&tls, &got, 4, 100), IO_FAILED);
        }
    }
    visit.failure = tls.stream.failure;
    tls.stream.ops->close(&tls.stream);
    peer_fini(&peer);
    buf_fini(&got);
    return visit;
}

static void test_versions_and_ciphers(void **state)
{
    (void)state;
    SSL_CTX *old = peer_context(server.x509, server.key, NULL, TLS1_2_VERSION);
    SSL_CTX *new = peer_context(server.x509, server.key, NULL, TLS1_3_VERSION);
    struct tls_context *context = good_context(
        (struct tls_options){.ciphers = "TLS_CHACHA20_POLY1305_SHA256:ECDHE-ECDSA-AES256-GCM-SHA384"
                                        ":TLS_AES_128_GCM_SHA256"});
    assert_string_equal(visit(context, old, "a.test", NULL, false).cipher,
                        "ECDHE-ECDSA-AES256-GCM-SHA384");
    assert_string_equal(visit(context, new, "a.test", NULL, false).cipher,
                        "TLS_CHACHA20_POLY1305_SHA256");
    tls_context_free(context);
    context = good_context((struct tls_options){.min_version = TLS_1_3});
    struct visit refused = visit(context, old, "a.test", NULL, false);
    assert_int_equal(refused.failure.outcome, OUTCOME_TLS_HANDSHAKE);
    assert_string_equal(refused.failure.text, "tlsv1 alert protocol version");
    assert_int_equal(visit(context, new, "a.test", NULL, false).io, IO_OK);
    tls_context_free(context);
    SSL_CTX_free(old);
    SSL_CTX_free(new);
}

/* A server that asks for a certificate of the client's. */
static SSL_CTX *strict_context(int version)
{
    SSL_CTX *ctx = peer_context(server.x509, server.key, NULL, version);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), client.x509);
    return ctx;
}

static void test_client_certificate(void **state)
{
    const struct tls_options good[] = {
        {.cert = client_file, .key = key_file},
        {.cert = both_file},
        {.cert = client_file, .key = locked_file, .key_password = "secret"},
    };
    const struct {
        struct tls_options options;
        const char *text[2]; /* TLS 1.2, 1.3 */
    } bad[] = {
        {{0}, {"sslv3 alert handshake failure", "tlsv13 alert certificate required"}},
        {{.cert = other_file}, {"tlsv1 alert unknown ca", "tlsv1 alert unknown ca"}},
    };
    (void)state;
    for (int i = 0; i < 2; i++) {
        SSL_CTX *ctx = strict_context(i ? TLS1_3_VERSION : TLS1_2_VERSION);
        for (size_t k = 0; k < 3; k++) {
            struct tls_context *context = good_context(good[k]);
            assert_int_equal(visit(context, ctx, "a.test", NULL, false).io, IO_OK);
            tls_context_free(context);
        }
        for (size_t k = 0; k < 2; k++) {
            struct tls_context *context = good_context(bad[k].options);
            struct visit refused = visit(context, ctx, "a.test", NULL, false);
            assert_int_equal(refused.io, IO_FAILED);
            assert_int_equal(refused.shaken, i);
            assert_int_equal(refused.failure.outcome, OUTCOME_TLS_HANDSHAKE);
            assert_string_equal(refused.failure.text, bad[k].text[i]);
            tls_context_free(context);
        }
        SSL_CTX_free(ctx);
    }
}

/* --- the environment --- */

static enum outcome outcome_with(const char *variable, const char *value)
{
    setenv(variable, value, 1);
    struct tls_context *context = tls_context_new(&(struct tls_options){0}, error, sizeof error);
    unsetenv(variable);
    if (!context) {
        return OUTCOME_LOCAL;
    }
    SSL_CTX *ctx = peer_context(server.x509, server.key, NULL, 0);
    enum outcome outcome = visit(context, ctx, "a.test", NULL, false).failure.outcome;
    SSL_CTX_free(ctx);
    tls_context_free(context);
    return outcome;
}

static void test_trust_by_environment(void **state)
{
    char folder[] = "/tmp/test-tls-XXXXXX", link[64];
    (void)state;
    assert_int_equal(outcome_with("SSL_CERT_FILE", server_file), OUTCOME_RESPONSE);
    assert_int_equal(outcome_with("SSL_CERT_FILE", client_file), OUTCOME_TLS_VERIFY);
    assert_int_equal(outcome_with("SSL_CERT_FILE", ""), OUTCOME_TLS_VERIFY);
    assert_int_equal(outcome_with("SSL_CERT_FILE", "/none"), OUTCOME_LOCAL);
    assert_string_equal(error, "/none: No such file or directory");
    assert_non_null(mkdtemp(folder));
    snprintf(link, sizeof link, "%s/%08lx.0", folder,
             X509_NAME_hash_ex(X509_get_subject_name(server.x509), NULL, NULL, NULL));
    assert_int_equal(outcome_with("SSL_CERT_DIR", folder), OUTCOME_TLS_VERIFY);
    assert_int_equal(symlink(server_file, link), 0);
    assert_int_equal(outcome_with("SSL_CERT_DIR", folder), OUTCOME_RESPONSE);
    unlink(link);
    rmdir(folder);
}

static void test_key_log(void **state)
{
    char path[] = "/tmp/test-tls-XXXXXX", text[4096] = "";
    struct stat status;
    (void)state;
    assert_null(tls_key_log_file());
    close(mkstemp(path));
    unlink(path);
    setenv("SSLKEYLOGFILE", "", 1);
    assert_null(tls_key_log_file());
    setenv("SSLKEYLOGFILE", path, 1);
    assert_string_equal(tls_key_log_file(), path);
    SSL_CTX *ctx = peer_context(server.x509, server.key, NULL, TLS1_2_VERSION);
    for (int i = 0; i < 2; i++) {
        struct tls_context *context = good_context((struct tls_options){0});
        assert_int_equal(visit(context, ctx, "a.test", NULL, false).io, IO_OK);
        tls_context_free(context);
    }
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    FILE *file = fopen(path, "r");
    assert_int_equal(fread(text, 1, sizeof text - 1, file), status.st_size);
    fclose(file);
    unlink(path);
    const char *second = strchr(text, '\n');
    assert_non_null(second);
    assert_memory_equal(text, "CLIENT_RANDOM ", 14);
    assert_memory_equal(second + 1, "CLIENT_RANDOM ", 14);
    assert_int_equal(text[status.st_size - 1], '\n');
    setenv("SSLKEYLOGFILE", "/none/log", 1);
    expect_error((struct tls_options){0}, "/none/log", "No such file or directory");
    unsetenv("SSLKEYLOGFILE");
    SSL_CTX_free(ctx);
}

/* --- sessions --- */

static void test_resumption(void **state)
{
    (void)state;
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        struct tls_context *context = good_context((struct tls_options){0});
        SSL_CTX *ctx = peer_context(server.x509, server.key, NULL, version);
        struct tls_sessions sessions;
        tls_sessions_init(&sessions, context);
        struct visit first = visit(context, ctx, "a.test", &sessions, false);
        assert_int_equal(first.io, IO_OK);
        assert_false(first.resumed);
        assert_int_equal(sessions.n, version == TLS1_2_VERSION ? 1 : 2);
        for (int i = 0; i < 5; i++) {
            assert_true(visit(context, ctx, "a.test", &sessions, i == 1).resumed);
            assert_in_range(sessions.n, 1, TLS_SESSIONS_MAX);
        }
        assert_false(visit(context, ctx, "a.test", NULL, false).resumed);
        tls_sessions_fini(&sessions);
        tls_context_free(context);
        SSL_CTX_free(ctx);
    }
}

/* Many tickets: the newest four stay. */
static void test_many_tickets(void **state)
{
    (void)state;
    struct tls_context *context = good_context((struct tls_options){0});
    SSL_CTX *ctx = peer_context(server.x509, server.key, NULL, TLS1_3_VERSION);
    struct tls_sessions sessions;
    SSL_CTX_set_num_tickets(ctx, 9);
    tls_sessions_init(&sessions, context);
    visit(context, ctx, "a.test", &sessions, false);
    assert_int_equal(sessions.n, TLS_SESSIONS_MAX);
    struct ssl_session_st *newest = sessions.list[TLS_SESSIONS_MAX - 1];
    struct ssl_session_st *next = sessions.list[TLS_SESSIONS_MAX - 2];
    assert_int_equal(sessions.n, TLS_SESSIONS_MAX);
    SSL_CTX_set_num_tickets(ctx, 0);
    assert_true(visit(context, ctx, "a.test", &sessions, false).resumed);
    assert_int_equal(sessions.n, TLS_SESSIONS_MAX - 1);
    assert_ptr_equal(sessions.list[TLS_SESSIONS_MAX - 2], next);
    assert_ptr_not_equal(next, newest);
    /* The last one does for all. */
    for (int i = 0; i < 6; i++) {
        assert_true(visit(context, ctx, "a.test", &sessions, false).resumed);
    }
    assert_int_equal(sessions.n, 1);
    tls_sessions_fini(&sessions);
    tls_context_free(context);
    SSL_CTX_free(ctx);
}

/* A session goes to no other host, and to no connection with another identity. */
static void test_sessions_are_not_shared(void **state)
{
    (void)state;
    struct tls_context *one = good_context((struct tls_options){.cert = both_file});
    struct tls_context *two = good_context((struct tls_options){.cert = other_file});
    SSL_CTX *ctx = peer_context(server.x509, server.key, NULL, 0);
    struct tls_sessions sessions;
    tls_sessions_init(&sessions, one);
    assert_false(visit(one, ctx, "a.test", &sessions, false).resumed);
    assert_false(visit(two, ctx, "a.test", &sessions, false).resumed);
    assert_false(visit(one, ctx, "b.test", &sessions, false).resumed);
    assert_int_equal(sessions.n, 2);
    assert_true(visit(one, ctx, "a.test.", &sessions, false).resumed);
    tls_sessions_fini(&sessions);
    tls_context_free(one);
    tls_context_free(two);
    SSL_CTX_free(ctx);
}

/* A server that has forgotten its keys shakes hands in full; one that fails makes us forget. */
static void test_stale_sessions(void **state)
{
    (void)state;
    struct tls_context *context = good_context((struct tls_options){0});
    SSL_CTX *ctx = peer_context(server.x509, server.key, NULL, TLS1_3_VERSION);
    SSL_CTX *restarted = peer_context(server.x509, server.key, NULL, TLS1_3_VERSION);
    SSL_CTX *stranger = peer_context(other.x509, other.key, NULL, TLS1_3_VERSION);
    struct tls_sessions sessions;
    tls_sessions_init(&sessions, context);
    visit(context, ctx, "a.test", &sessions, false);
    struct visit again = visit(context, restarted, "a.test", &sessions, false);
    assert_int_equal(again.io, IO_OK);
    assert_false(again.resumed);
    assert_true(visit(context, restarted, "a.test", &sessions, false).resumed);
    assert_int_not_equal(sessions.n, 0);
    assert_int_equal(visit(context, stranger, "a.test", &sessions, false).failure.outcome,
                     OUTCOME_TLS_VERIFY);
    assert_int_equal(sessions.n, 0);
    tls_sessions_fini(&sessions);
    tls_context_free(context);
    SSL_CTX_free(ctx);
    SSL_CTX_free(restarted);
    SSL_CTX_free(stranger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_error_is_cut),
        cmocka_unit_test(test_versions_and_ciphers),
        cmocka_unit_test(test_client_certificate),
        cmocka_unit_test(test_trust_by_environment),
        cmocka_unit_test(test_key_log),
        cmocka_unit_test(test_resumption),
        cmocka_unit_test(test_many_tickets),
        cmocka_unit_test(test_sessions_are_not_shared),
        cmocka_unit_test(test_stale_sessions),
    };
    return cmocka_run_group_tests(tests, make, unmake);
}
