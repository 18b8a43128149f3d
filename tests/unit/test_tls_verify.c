/* links: net base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "tls_certs.h"
#include "tls_peer.h"

static struct cert root, limited, stranger, middle, leaf_as_ca;
static char root_file[64];
static struct tls_context *context;

static int make(void **state)
{
    char error[160];
    (void)state;
    root = cert_make(&(struct recipe){.name = "root", CERT_CA}, NULL);
    stranger = cert_make(&(struct recipe){.name = "stranger", CERT_CA}, NULL);
    middle = cert_make(&(struct recipe){.name = "middle", CERT_CA}, &root);
    limited = cert_make(
        &(struct recipe){.name = "limited", CERT_CA, .constraints = "permitted;DNS:elsewhere.test"},
        &root);
    leaf_as_ca = cert_make(&(struct recipe){.name = "leaf", .basic = "critical,CA:FALSE"}, &root);
    cert_write(root_file, root.x509, NULL, NULL, NULL);
    context = tls_context_new(&(struct tls_options){.cacert = root_file}, error, sizeof error);
    return context ? 0 : -1;
}

static int unmake(void **state)
{
    (void)state;
    tls_context_free(context);
    unlink(root_file);
    cert_free(&root);
    cert_free(&stranger);
    cert_free(&middle);
    cert_free(&limited);
    cert_free(&leaf_as_ca);
    return 0;
}

/* What comes of a handshake with a server of that certificate; the text, or "" if it is good. */
static const char *verdict(struct tls_context *with, const struct cert *cert, X509 *above,
                           int version, const char *host)
{
    struct peer peer;
    struct tls tls;
    SSL_CTX *ctx = peer_context(cert->x509, cert->key, above, version);
    peer_init(&peer, ctx);
    tls_init(&tls, with, &peer.below, str_of(host), NULL);
    enum io io = peer_shake(&tls);
    const char *text = "";
    if (io == IO_FAILED) {
        assert_int_equal(tls.stream.failure.outcome, OUTCOME_TLS_VERIFY);
        text = tls.stream.failure.text;
        assert_int_equal(tls.stream.ops->connect(&tls.stream), IO_FAILED);
    } else {
        assert_int_equal(io, IO_OK);
        assert_int_equal(peer_send(&tls, STR("GET")), IO_OK);
    }
    tls.stream.ops->close(&tls.stream);
    assert_int_equal(peer.heard.n, io == IO_OK ? 3 : 0);
    assert_true(peer.closed);
    peer_fini(&peer);
    SSL_CTX_free(ctx);
    return text;
}

struct row {
    const char *host;
    struct recipe recipe;
    const struct cert *issuer, *above;
    const char *text;
};

static void expect(const struct row *row)
{
    struct cert cert = cert_make(&row->recipe, row->issuer);
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        const char *text =
            verdict(context, &cert, row->above ? row->above->x509 : NULL, version, row->host);
        if (*row->text ? !strstr(text, row->text) : *text) {
            fail_msg("%s (%s): \"%s\" and not \"%s\"", row->recipe.name, row->host, text,
                     row->text);
        }
    }
    cert_free(&cert);
}

#define SAN(names) .san = names

static void test_refused(void **state)
{
    (void)state;
    const struct row rows[] = {
        {"a.test",
         {.name = "expired", SAN("DNS:a.test"), .from = -2 * DAY, .until = -DAY},
         &root,
         NULL,
         "certificate has expired"},
        {"a.test",
         {.name = "to come", SAN("DNS:a.test"), .from = DAY, .until = 2 * DAY},
         &root,
         NULL,
         "certificate is not yet valid"},
        {"a.test", {.name = "of itself", SAN("DNS:a.test")}, NULL, NULL, "self-signed certificate"},
        {"a.test",
         {.name = "by a stranger", SAN("DNS:a.test")},
         &stranger,
         NULL,
         "unable to get local issuer certificate"},
        {"a.test",
         {.name = "by a stranger shown", SAN("DNS:a.test")},
         &stranger,
         &stranger,
         "self-signed certificate in certificate chain"},
        {"a.test", {.name = "for another", SAN("DNS:b.test")}, &root, NULL, "hostname mismatch"},
        {"a.test", {.name = "a.test"}, &root, NULL, "hostname mismatch"},
        {"a.test", {.name = "a.test", SAN("DNS:b.test")}, &root, NULL, "hostname mismatch"},
        {"a.test",
         {.name = "a.test\0.evil.test", .name_length = 17},
         &root,
         NULL,
         "hostname mismatch"},
        {"a.test",
         {.name = "middle left out", SAN("DNS:a.test")},
         &middle,
         NULL,
         "unable to get local issuer certificate"},
        {"127.0.0.2",
         {.name = "other address", SAN("IP:127.0.0.1")},
         &root,
         NULL,
         "IP address mismatch"},
        {"127.0.0.1",
         {.name = "address as name", SAN("DNS:127.0.0.1")},
         &root,
         NULL,
         "IP address mismatch"},
        {"[::2]", {.name = "other address", SAN("IP:::1")}, &root, NULL, "IP address mismatch"},
        {"b.a.test",
         {.name = "part of a label", SAN("DNS:b*.a.test")},
         &root,
         NULL,
         "hostname mismatch"},
        {"c.b.a.test",
         {.name = "two labels", SAN("DNS:*.a.test")},
         &root,
         NULL,
         "hostname mismatch"},
        {"a.test", {.name = "none", SAN("DNS:*.a.test")}, &root, NULL, "hostname mismatch"},
        {"test", {.name = "all", SAN("DNS:*")}, &root, NULL, "hostname mismatch"},
        {"a.test",
         {.name = "weak", SAN("DNS:a.test"), .rsa_bits = 768},
         &root,
         NULL,
         "EE certificate key too weak"},
        {"a.test",
         {.name = "by no authority", SAN("DNS:a.test")},
         &leaf_as_ca,
         &leaf_as_ca,
         "invalid CA certificate"},
        {"a.test",
         {.name = "client's", SAN("DNS:a.test"), .extended = "clientAuth"},
         &root,
         NULL,
         "certificate purpose"},
        {"a.test",
         {.name = "out of bounds", SAN("DNS:a.test")},
         &limited,
         &limited,
         "permitted subtree violation"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect(&rows[i]);
    }
}

static void test_good(void **state)
{
    (void)state;
    const struct row rows[] = {
        {"a.test", {.name = "plain", SAN("DNS:b.test,DNS:a.test")}, &root, NULL, ""},
        {"A.TEST.", {.name = "dot and case", SAN("DNS:a.test")}, &root, NULL, ""},
        {"b.a.test", {.name = "a label", SAN("DNS:*.a.test")}, &root, NULL, ""},
        {"a.test", {.name = "two steps", SAN("DNS:a.test")}, &middle, &middle, ""},
        {"127.0.0.1", {.name = "address", SAN("IP:127.0.0.1")}, &root, NULL, ""},
        {"[::1]", {.name = "address", SAN("IP:::1")}, &root, NULL, ""},
        {"[fe80::1%25eth0]", {.name = "zone", SAN("IP:fe80::1")}, &root, NULL, ""},
        {"a.test",
         {.name = "server's", SAN("DNS:a.test"), .extended = "serverAuth"},
         &root,
         NULL,
         ""},
        {"elsewhere.test",
         {.name = "in bounds", SAN("DNS:elsewhere.test")},
         &limited,
         &limited,
         ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect(&rows[i]);
    }
}

/* A SAN with a NUL in it cannot be written as text. */
static void test_nul_in_san(void **state)
{
    (void)state;
    struct cert cert = cert_make(&(struct recipe){.name = "nul"}, &root);
    GENERAL_NAMES *names = GENERAL_NAMES_new();
    GENERAL_NAME *name = GENERAL_NAME_new();
    ASN1_IA5STRING *text = ASN1_IA5STRING_new();
    ASN1_STRING_set(text, "a.test\0.evil.test", 17);
    GENERAL_NAME_set0_value(name, GEN_DNS, text);
    sk_GENERAL_NAME_push(names, name);
    assert_int_equal(X509_add1_ext_i2d(cert.x509, NID_subject_alt_name, names, 0, 0), 1);
    GENERAL_NAMES_free(names);
    assert_true(X509_sign(cert.x509, root.key, EVP_sha256()) > 0);
    assert_string_equal(verdict(context, &cert, NULL, 0, "a.test"), "hostname mismatch");
    cert_free(&cert);
}

static void test_weak_signature(void **state)
{
    (void)state;
    const EVP_MD *digests[] = {EVP_md5(), EVP_sha1()};
    for (size_t i = 0; i < 2; i++) {
        struct cert middle_rsa =
            cert_make(&(struct recipe){.name = "middle", CERT_CA, .rsa_bits = 2048}, &root);
        struct cert cert = cert_make(
            &(struct recipe){.name = "weak", SAN("DNS:a.test"), .digest = digests[i]}, &middle_rsa);
        assert_string_equal(verdict(context, &cert, middle_rsa.x509, 0, "a.test"),
                            "CA signature digest algorithm too weak");
        cert_free(&cert);
        cert_free(&middle_rsa);
    }
}

static void test_insecure(void **state)
{
    char error[160];
    (void)state;
    struct tls_context *insecure = tls_context_new(
        &(struct tls_options){.insecure = true, .cacert = "/none"}, error, sizeof error);
    assert_non_null(insecure);
    struct cert cert = cert_make(
        &(struct recipe){.name = "all wrong", SAN("DNS:b.test"), .from = -2 * DAY, .until = -DAY},
        NULL);
    assert_string_equal(verdict(insecure, &cert, NULL, TLS1_2_VERSION, "a.test"), "");
    assert_string_equal(verdict(insecure, &cert, NULL, TLS1_3_VERSION, "127.0.0.1"), "");
    tls_context_free(insecure);
    cert_free(&cert);
}

static char seen[256];

static int see_name(SSL *ssl, int *alert, void *argument)
{
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    (void)alert, (void)argument;
    snprintf(seen, sizeof seen, "%s", name ? name : "-");
    return SSL_TLSEXT_ERR_OK;
}

/* Which name the server is asked for. */
static const char *asked_for(struct str host)
{
    struct peer peer;
    struct tls tls;
    struct cert cert = cert_make(&(struct recipe){.name = "x", SAN("DNS:a.test")}, &root);
    SSL_CTX *ctx = peer_context(cert.x509, cert.key, NULL, 0);
    SSL_CTX_set_tlsext_servername_callback(ctx, see_name);
    strcpy(seen, "nothing");
    peer_init(&peer, ctx);
    tls_init(&tls, context, &peer.below, host, NULL);
    peer_shake(&tls);
    if (strcmp(seen, "nothing") == 0) {
        assert_int_equal(tls.stream.failure.outcome, OUTCOME_TLS_HANDSHAKE);
        assert_non_null(tls.stream.failure.text);
        assert_int_equal(peer.writes, 0);
    }
    tls.stream.ops->close(&tls.stream);
    peer_fini(&peer);
    SSL_CTX_free(ctx);
    cert_free(&cert);
    return seen;
}

static void test_server_name(void **state)
{
    char name[300];
    (void)state;
    memset(name, 'a', sizeof name);
    assert_string_equal(asked_for(STR("a.test")), "a.test");
    assert_string_equal(asked_for(STR("a.test.")), "a.test");
    assert_string_equal(asked_for(STR("xn--bcher-kva.test")), "xn--bcher-kva.test");
    assert_string_equal(asked_for(STR("192.0.2.1")), "-");
    assert_string_equal(asked_for(STR("[2001:db8::1]")), "-");
    assert_string_equal(asked_for(STR("")), "nothing");
    assert_string_equal(asked_for((struct str){name, 256}), "nothing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_good),
        cmocka_unit_test(test_nul_in_san), cmocka_unit_test(test_weak_signature),
        cmocka_unit_test(test_insecure),   cmocka_unit_test(test_server_name),
    };
    return cmocka_run_group_tests(tests, make, unmake);
}
