#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "net/tls_openssl.h"

/* Where the first thing that is wrong is written. */
struct report {
    char *text;
    size_t size;
};

static bool say(const struct report *report, const char *what, const char *why)
{
    snprintf(report->text, report->size, "%s: %s", what, why);
    ERR_clear_error();
    return false;
}

/* Tells what OpenSSL found first. nothing: what it means that there is no such thing in a file. */
static bool say_ssl(const struct report *report, const char *what, const char *nothing)
{
    unsigned long code = ERR_peek_error();
    const char *why = ERR_reason_error_string(code);
    bool none = (ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE) ||
                ERR_GET_LIB(code) == ERR_LIB_X509 || !why;
    if (ERR_SYSTEM_ERROR(code)) {
        return say(report, what, strerrordesc_np(ERR_GET_REASON(code)));
    }
    return say(report, what, none ? nothing : why);
}

static bool is_readable(const struct report *report, const char *path)
{
    struct stat status;
    int error = 0;
    if (stat(path, &status) != 0 || access(path, R_OK) != 0) {
        error = errno;
    } else if (S_ISDIR(status.st_mode)) {
        error = EISDIR;
    }
    return error == 0 || say(report, path, strerrordesc_np(error));
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* --- trust --- */

static bool trust_file(SSL_CTX *ssl_ctx, const struct report *report, const char *path)
{
    return is_readable(report, path) && (SSL_CTX_load_verify_file(ssl_ctx, path) == 1 ||
                                         say_ssl(report, path, "has no certificate in it"));
}

static bool trust_folder(SSL_CTX *ssl_ctx, const struct report *report, const char *path)
{
    return SSL_CTX_load_verify_dir(ssl_ctx, path) == 1 || say_ssl(report, path, "cannot be used");
}

/* 5ed36f99.0 and the like: the folder is one that OpenSSL finds its way in. */
static bool is_hashed(const char *path)
{
    bool found = false;
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder && !found && (entry = readdir(folder))) {
        size_t digits = strspn(entry->d_name, "0123456789abcdef");
        found = digits == 8 && entry->d_name[8] == '.' && isdigit((unsigned char)entry->d_name[9]);
    }
    if (folder) {
        closedir(folder);
    }
    return found;
}

static bool set_trust(SSL_CTX *ssl_ctx, const struct tls_options *options,
                      const struct report *report)
{
    const char *file = variable(X509_get_default_cert_file_env());
    const char *folder = variable(X509_get_default_cert_dir_env());
    if (options->insecure) {
        return true;
    }
    if (options->cacert) {
        return trust_file(ssl_ctx, report, options->cacert);
    }
    if (file || folder) {
        return (!file || trust_file(ssl_ctx, report, file)) &&
               (!folder || trust_folder(ssl_ctx, report, folder));
    }
    folder = X509_get_default_cert_dir();
    return is_hashed(folder) ? trust_folder(ssl_ctx, report, folder)
                             : trust_file(ssl_ctx, report, X509_get_default_cert_file());
}

/* --- the client's certificate --- */

struct password {
    const char *text;
    bool asked;
};

static int give_password(char *buffer, int size, int writing, void *context)
{
    struct password *password = context;
    size_t n = password->text ? strlen(password->text) : 0;
    (void)writing;
    password->asked = true;
    if (!password->text || n > (size_t)size) {
        return -1;
    }
    memcpy(buffer, password->text, n);
    return (int)n;
}

static bool say_key(const struct report *report, const char *path, const struct password *password)
{
    if (ERR_GET_LIB(ERR_peek_last_error()) == ERR_LIB_X509) {
        return say(report, path, "the key does not belong to the certificate");
    }
    if (!password->asked) {
        return say(report, path, "has no private key in it");
    }
    return say(report, path,
               password->text ? "the key cannot be decrypted with the passphrase given"
                              : "the key is encrypted, and no passphrase was given");
}

static bool load_identity(SSL_CTX *ssl_ctx, const struct tls_options *options,
                          struct password *password, const struct report *report)
{
    const char *key = options->key ? options->key : options->cert;
    if (!key) {
        return true;
    }
    if (!options->cert) {
        return say(report, key, "a key without a certificate");
    }
    if (!is_readable(report, options->cert) || !is_readable(report, key)) {
        return false;
    }
    if (SSL_CTX_use_certificate_chain_file(ssl_ctx, options->cert) != 1) {
        return say_ssl(report, options->cert, "has no certificate in it");
    }
    /* Compares the two as well, and then fails with an error of X509. */
    return SSL_CTX_use_PrivateKey_file(ssl_ctx, key, SSL_FILETYPE_PEM) == 1 ||
           say_key(report, key, password);
}

static bool set_identity(SSL_CTX *ssl_ctx, const struct tls_options *options,
                         const struct report *report)
{
    struct password password = {.text = options->key_password};
    SSL_CTX_set_default_passwd_cb(ssl_ctx, give_password);
    SSL_CTX_set_default_passwd_cb_userdata(ssl_ctx, &password);
    bool good = load_identity(ssl_ctx, options, &password, report);
    SSL_CTX_set_default_passwd_cb(ssl_ctx, NULL);
    SSL_CTX_set_default_passwd_cb_userdata(ssl_ctx, NULL);
    return good;
}

/* --- versions, ciphers, ALPN --- */

static bool set_ciphers(SSL_CTX *ssl_ctx, const char *ciphers, const struct report *report)
{
    struct buf old, suites; /* of TLS 1.2 and of 1.3 */
    struct str rest = str_of(ciphers);
    bool good = true;
    buf_init(&old, BUF_NO_MAX);
    buf_init(&suites, BUF_NO_MAX);
    while (rest.n > 0) {
        struct str name = {rest.p, str_find(rest, ':')};
        struct buf *list = str_starts(name, STR("TLS_")) ? &suites : &old;
        buf_add_str(list, name);
        buf_add_char(list, ':');
        rest = str_skip(rest, name.n + 1);
    }
    if (old.n > 0) {
        old.p[old.n - 1] = '\0';
        good = SSL_CTX_set_cipher_list(ssl_ctx, old.p) == 1 ||
               say_ssl(report, old.p, "no such cipher");
    }
    if (good && suites.n > 0) {
        suites.p[suites.n - 1] = '\0';
        good = SSL_CTX_set_ciphersuites(ssl_ctx, suites.p) == 1 ||
               say_ssl(report, suites.p, "no such cipher");
    }
    buf_fini(&old);
    buf_fini(&suites);
    return good;
}

static void set_alpn(SSL_CTX *ssl_ctx, bool h2)
{
    static const unsigned char both[] = "\x02h2\x08http/1.1";
    if (SSL_CTX_set_alpn_protos(ssl_ctx, h2 ? both : both + 3, h2 ? 12 : 9) != 0) {
        mem_out();
    }
}

/* --- the key log --- */

const char *tls_key_log_file(void)
{
    return variable("SSLKEYLOGFILE");
}

/* One write a line, so that the lines of several workers and processes do not mix. What cannot be
 * written is nobody's loss but the reader's of the log. */
static void log_key(const SSL *ssl, const char *line)
{
    const struct tls_context *context = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    char text[512];
    int n = snprintf(text, sizeof text, "%s\n", line);
    if (n > 0 && (size_t)n < sizeof text) {
        ssize_t written = write(context->key_log, text, (size_t)n);
        (void)written;
    }
}

static bool open_key_log(struct tls_context *context, const struct report *report)
{
    const char *path = tls_key_log_file();
    if (!path) {
        return true;
    }
    context->key_log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
    if (context->key_log < 0) {
        return say(report, path, strerrordesc_np(errno));
    }
    SSL_CTX_set_keylog_callback(context->ssl_ctx, log_key);
    return true;
}

/* --- all of it --- */

static bool set_up(struct tls_context *context, const struct tls_options *options,
                   const struct report *report)
{
    SSL_CTX *ssl_ctx = context->ssl_ctx;
    SSL_CTX_set_app_data(ssl_ctx, context);
    SSL_CTX_set_min_proto_version(ssl_ctx, options->min_version == TLS_1_3 ? TLS1_3_VERSION
                                                                           : TLS1_2_VERSION);
    /* An end without close_notify spoils no session; it is told apart by what lies below. */
    SSL_CTX_set_options(ssl_ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(ssl_ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_verify(ssl_ctx, options->insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_session_cache_mode(ssl_ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL |
                                                SSL_SESS_CACHE_NO_AUTO_CLEAR);
    SSL_CTX_sess_set_new_cb(ssl_ctx, tls_sessions_new_callback);
    set_alpn(ssl_ctx, options->offer_h2);
    return set_ciphers(ssl_ctx, options->ciphers, report) && set_trust(ssl_ctx, options, report) &&
           set_identity(ssl_ctx, options, report) && open_key_log(context, report);
}

struct tls_context *tls_context_new(const struct tls_options *options, char *error, size_t size)
{
    struct report report = {error, size};
    struct tls_context *context = xmalloc(sizeof *context);
    context->ssl_ctx = SSL_CTX_new(TLS_client_method());
    context->bio_method = tls_bio_method_new();
    context->key_log = -1;
    context->in_use = false;
    bool good = context->ssl_ctx ? set_up(context, options, &report)
                                 : say_ssl(&report, "OpenSSL", "cannot be used");
    ERR_clear_error();
    if (!good) {
        tls_context_free(context);
        return NULL;
    }
    return context;
}

void tls_context_free(struct tls_context *context)
{
    if (!context) {
        return;
    }
    SSL_CTX_free(context->ssl_ctx);
    BIO_meth_free(context->bio_method);
    if (context->key_log >= 0) {
        close(context->key_log);
    }
    free(context);
}
