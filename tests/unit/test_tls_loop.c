/* links: net base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "net/tcp.h"
#include "tls_certs.h"
#include "tls_peer.h"

/* TLS over TCP, as it is used: an event loop here, a server that sends everything back there. */

#define TOTAL (8u << 20)

static struct cert cert;
static char cert_file[64];
static char pattern[1 << 16];

static int make(void **state)
{
    (void)state;
    cert = cert_make(&(struct recipe){.name = "x", .san = "IP:127.0.0.1"}, NULL);
    cert_write(cert_file, cert.x509, NULL, NULL, NULL);
    for (size_t i = 0; i < sizeof pattern; i++) {
        pattern[i] = (char)(i * 2654435761u >> 24);
    }
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    unlink(cert_file);
    cert_free(&cert);
    return 0;
}

struct server {
    int fd;
    int version;
    struct sockaddr_in address;
    pthread_t thread;
};

/* Sends back what it gets, until the client says that it closes. */
static void *serve(void *argument)
{
    struct server *server = argument;
    static char bytes[50000];
    SSL_CTX *ctx = peer_context(cert.x509, cert.key, NULL, server->version);
    SSL *ssl = SSL_new(ctx);
    int fd = accept(server->fd, NULL, NULL);
    int n;
    SSL_set_fd(ssl, fd);
    if (SSL_accept(ssl) == 1) {
        while ((n = SSL_read(ssl, bytes, sizeof bytes)) > 0 && SSL_write(ssl, bytes, n) == n) {
        }
        SSL_shutdown(ssl);
    }
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    close(fd);
    return NULL;
}

static void server_bind(struct server *server)
{
    socklen_t size = sizeof server->address;
    server->address = (struct sockaddr_in){.sin_family = AF_INET};
    server->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->fd, (struct sockaddr *)&server->address, size), 0);
    assert_int_equal(getsockname(server->fd, (struct sockaddr *)&server->address, &size), 0);
}

static void server_start(struct server *server, int version)
{
    server_bind(server);
    server->version = version;
    assert_int_equal(listen(server->fd, 8), 0);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void server_join(struct server *server)
{
    pthread_join(server->thread, NULL);
    close(server->fd);
}

/* The owner of a stack: it sends TOTAL bytes of the pattern and gets them back. */
struct owner {
    struct tcp tcp; /* first */
    struct tls tls;
    struct loop *loop;
    size_t sent, got;
    bool open, discards, wrong;
    enum io last;
};

static char buffer[256 * 1024];

static void send_more(struct owner *owner)
{
    enum io io = IO_OK;
    while (owner->sent < TOTAL && io == IO_OK) {
        size_t at = owner->sent % sizeof pattern;
        size_t put = 0;
        struct str parts[] = {{pattern + at, sizeof pattern - at}, {pattern, sizeof pattern}};
        if (owner->sent + sizeof pattern >= TOTAL) {
            parts[1].n = 0;
        }
        io = owner->tls.stream.ops->write(&owner->tls.stream, parts, 2, &put);
        owner->sent += put;
    }
    assert_true(io == IO_OK || io == IO_AGAIN);
    owner->tls.stream.ops->want_write(&owner->tls.stream, owner->sent < TOTAL);
}

static void check(struct owner *owner, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        owner->wrong |= buffer[i] != pattern[(owner->got + i) % sizeof pattern];
    }
}

static void read_more(struct owner *owner)
{
    do {
        size_t n = 0;
        uint64_t discarded = 0;
        if (owner->discards) {
            owner->last = owner->tls.stream.ops->discard(&owner->tls.stream, TOTAL - owner->got,
                                                         buffer, 20000, &discarded);
            n = (size_t)discarded;
        } else {
            owner->last =
                owner->tls.stream.ops->read(&owner->tls.stream, buffer, sizeof buffer, &n);
            check(owner, owner->last == IO_OK ? n : 0);
        }
        owner->got += owner->last == IO_OK ? n : 0;
    } while (owner->last == IO_OK && owner->got < TOTAL && tls_pending(&owner->tls));
    if (owner->got == TOTAL || (owner->last != IO_OK && owner->last != IO_AGAIN)) {
        loop_stop(owner->loop);
    }
}

static void ready(struct stream *stream, unsigned events)
{
    struct owner *owner = (struct owner *)(void *)stream;
    struct stream *top = &owner->tls.stream;
    if (!owner->open) {
        owner->last = top->ops->connect(top);
        owner->open = owner->last == IO_OK;
        if (owner->open) {
            send_more(owner);
        } else if (owner->last == IO_FAILED) {
            loop_stop(owner->loop);
        }
        return;
    }
    events = tls_events(&owner->tls, events);
    if (events & LOOP_READ) {
        read_more(owner);
    }
    if (events & LOOP_WRITE) {
        send_more(owner);
    }
}

static void go(struct owner *owner, const struct server *server, struct str host)
{
    char error[160];
    struct tls_context *context =
        tls_context_new(&(struct tls_options){.cacert = cert_file}, error, sizeof error);
    const struct tcp_ends ends = {.address = (const struct sockaddr *)&server->address,
                                  .length = sizeof server->address};
    assert_non_null(context);
    owner->loop = loop_new();
    assert_int_equal(tcp_connect(&owner->tcp, owner->loop, &ends, ready), IO_AGAIN);
    tls_init(&owner->tls, context, &owner->tcp.stream, host, NULL);
    loop_run(owner->loop);
    owner->tls.stream.ops->close(&owner->tls.stream);
    assert_true(loop_free(owner->loop));
    tls_context_free(context);
}

static void test_both_ways(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct server server;
        struct owner owner = {.discards = i >= 2};
        server_start(&server, i % 2 ? TLS1_2_VERSION : TLS1_3_VERSION);
        go(&owner, &server, STR("127.0.0.1"));
        server_join(&server);
        assert_int_equal(owner.last, IO_OK);
        assert_int_equal(owner.sent, TOTAL);
        assert_int_equal(owner.got, TOTAL);
        assert_false(owner.wrong);
    }
}

static void test_refused(void **state)
{
    struct server server;
    struct owner owner = {0};
    (void)state;
    server_start(&server, 0);
    go(&owner, &server, STR("127.0.0.2"));
    server_join(&server);
    assert_int_equal(owner.last, IO_FAILED);
    assert_int_equal(owner.tls.stream.failure.outcome, OUTCOME_TLS_VERIFY);
    assert_string_equal(owner.tls.stream.failure.text, "IP address mismatch");
    assert_int_equal(owner.sent, 0);
}

/* Nobody listens: the failure below is passed on. */
static void test_no_server(void **state)
{
    struct server server;
    struct owner owner = {0};
    (void)state;
    server_bind(&server);
    go(&owner, &server, STR("127.0.0.1"));
    close(server.fd);
    assert_int_equal(owner.last, IO_FAILED);
    assert_int_equal(owner.tls.stream.failure.outcome, OUTCOME_CONNECT_REFUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_ways),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_server),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, make, unmake);
}
