/* Certificates made at run time, for tests of TLS. Include cmocka.h before. */
#ifndef TLS_CERTS_H
#define TLS_CERTS_H

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DAY (24L * 3600)

struct cert {
    X509 *x509;
    EVP_PKEY *key;
};

/* Zeroed: a P-256 key, SHA-256, valid from yesterday until tomorrow, no extensions. */
struct recipe {
    const char *name;                                         /* the subject's CN */
    int name_length;                                          /* 0: terminated */
    const char *san, *basic, *usage, *extended, *constraints; /* as in openssl.cnf */
    long from, until;                                         /* seconds from now */
    const EVP_MD *digest;
    unsigned rsa_bits; /* an RSA key of that size */
};

#define CERT_CA .basic = "critical,CA:TRUE", .usage = "critical,keyCertSign,cRLSign"

static void cert_extend(X509 *x509, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    if (!value) {
        return;
    }
    X509V3_set_ctx(&context, issuer, x509, NULL, NULL, 0);
    X509V3_set_ctx_nodb(&context);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    assert_non_null(extension);
    assert_true(X509_add_ext(x509, extension, -1));
    X509_EXTENSION_free(extension);
}

/* issuer NULL: signed by itself. */
static struct cert cert_make(const struct recipe *recipe, const struct cert *issuer)
{
    static long serial;
    struct cert cert = {.x509 = X509_new()};
    cert.key = recipe->rsa_bits ? EVP_RSA_gen(recipe->rsa_bits) : EVP_EC_gen("P-256");
    assert_non_null(cert.key);
    const struct cert *signer = issuer ? issuer : &cert;
    X509_NAME *name = X509_get_subject_name(cert.x509);
    X509_set_version(cert.x509, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(cert.x509), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(cert.x509), recipe->from ? recipe->from : -DAY);
    X509_gmtime_adj(X509_getm_notAfter(cert.x509), recipe->until ? recipe->until : DAY);
    assert_true(X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_ASC,
                                           (const unsigned char *)recipe->name,
                                           recipe->name_length ? recipe->name_length : -1, -1, 0));
    X509_set_issuer_name(cert.x509, X509_get_subject_name(signer->x509));
    X509_set_pubkey(cert.x509, cert.key);
    cert_extend(cert.x509, signer->x509, NID_subject_alt_name, recipe->san);
    cert_extend(cert.x509, signer->x509, NID_basic_constraints, recipe->basic);
    cert_extend(cert.x509, signer->x509, NID_key_usage, recipe->usage);
    cert_extend(cert.x509, signer->x509, NID_ext_key_usage, recipe->extended);
    cert_extend(cert.x509, signer->x509, NID_name_constraints, recipe->constraints);
    assert_true(X509_sign(cert.x509, signer->key, recipe->digest ? recipe->digest : EVP_sha256()) >
                0);
    return cert;
}

static inline void cert_free(struct cert *cert)
{
    X509_free(cert->x509);
    EVP_PKEY_free(cert->key);
    *cert = (struct cert){0};
}

/* A new file with the certificates and the key, each if it is given. path: at least 64 bytes. */
static inline void cert_write(char *path, X509 *x509, X509 *above, EVP_PKEY *key,
                              const char *password)
{
    strcpy(path, "/tmp/test-tls-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    assert_true(!x509 || PEM_write_X509(file, x509));
    assert_true(!above || PEM_write_X509(file, above));
    assert_true(!key ||
                PEM_write_PKCS8PrivateKey(file, key, password ? EVP_aes_128_cbc() : NULL, password,
                                          password ? (int)strlen(password) : 0, NULL, NULL));
    fclose(file);
}

#endif
