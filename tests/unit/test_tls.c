/* links: net base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/loop.h"
#include "tls_pair.h"

static void test_versions(void **state)
{
    struct pair pair;
    (void)state;
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        pair_open(&pair, version);
        assert_int_equal(pair.tls.state, TLS_OPEN);
        assert_string_equal(tls_version_name(&pair.tls),
                            version == TLS1_2_VERSION ? "TLSv1.2" : "TLSv1.3");
        assert_non_null(strstr(tls_cipher_name(&pair.tls), "GCM"));
        assert_false(tls_resumed(&pair.tls));
        assert_int_equal(tls_alpn(&pair.tls).n, 0);
        assert_int_equal(peer_send(&pair.tls, STR("GET")), IO_OK);
        assert_heard(&pair, STR("GET"));
        pair.peer.reply = STR("200");
        assert_int_equal(read_some(&pair, 3, 100), IO_OK);
        assert_got(&pair, STR("200"));
        assert_int_equal(read_some(&pair, 4, 100), IO_AGAIN);
        assert_false(tls_pending(&pair.tls));
        pair_fini(&pair);
    }
}

static void test_alpn(void **state)
{
    static const char *const choices[] = {"http/1.1", "h2", "spdy/3"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char choice[16];
        struct pair pair;
        strcpy(choice, choices[i]);
        pair_init(&pair, 0);
        SSL_CTX_set_alpn_select_cb(pair.peer.ctx, peer_alpn, choice);
        enum io io = peer_shake(&pair.tls);
        if (i < 2) {
            assert_int_equal(io, IO_OK);
            assert_true(str_eq(tls_alpn(&pair.tls), str_of(choice)));
        } else {
            assert_int_equal(io, IO_FAILED);
            assert_int_equal(pair.tls.stream.failure.outcome, OUTCOME_TLS_HANDSHAKE);
            assert_non_null(pair.tls.stream.failure.text);
        }
        pair_fini(&pair);
    }
}

/* Whatever the splits, the same comes of it. */
static void test_splits(void **state)
{
    static const size_t chunks[] = {1, 2, 3, 5, 7, 21, 22, 100, 1000, SIZE_MAX};
    static const size_t sizes[] = {1, 2, 100, 16384, 100000};
    struct str text = {big, 20000};
    (void)state;
    for (size_t i = 0; i < 2 * 10 * 5; i++) {
        struct pair pair;
        pair_init(&pair, i % 2 ? TLS1_2_VERSION : TLS1_3_VERSION);
        pair.peer.chunk = chunks[i / 2 % 10];
        pair.peer.flaky = i / 20 % 2;
        assert_int_equal(peer_shake(&pair.tls), IO_OK);
        assert_int_equal(peer_send(&pair.tls, text), IO_OK);
        assert_heard(&pair, text);
        pair.peer.reply = text;
        assert_int_equal(read_some(&pair, text.n, sizes[i / 20]), IO_OK);
        assert_got(&pair, text);
        pair_fini(&pair);
    }
}

static void test_one_read_a_call(void **state)
{
    struct pair pair;
    char *bytes = malloc(300000);
    size_t got;
    (void)state;
    pair_open(&pair, 0);
    pair.peer.reply = (struct str){big, 100000};
    pair.peer.reads = 0;
    assert_int_equal(pair.tls.stream.ops->read(&pair.tls.stream, bytes, 300000, &got), IO_OK);
    assert_int_equal(pair.peer.reads, 1);
    assert_int_equal(got, 100000);
    assert_false(tls_pending(&pair.tls));
    assert_int_equal(pair.tls.stream.ops->read(&pair.tls.stream, bytes, 300000, &got), IO_AGAIN);
    assert_int_equal(pair.peer.reads, 2);
    free(bytes);
    pair_fini(&pair);
}

/* What is inside is told, and comes without another read below. */
static void test_pending(void **state)
{
    struct pair pair;
    (void)state;
    pair_open(&pair, 0);
    pair.peer.reply = STR("one");
    peer_step(&pair.peer);
    pair.peer.reply = STR("two");
    peer_step(&pair.peer);
    assert_int_equal(read_some(&pair, 1, 1), IO_OK);
    unsigned reads = pair.peer.reads;
    while (pair.got.n < 6) {
        assert_true(tls_pending(&pair.tls));
        assert_int_equal(read_some(&pair, pair.got.n + 1, 1), IO_OK);
    }
    assert_int_equal(pair.peer.reads, reads);
    assert_got(&pair, STR("onetwo"));
    assert_false(tls_pending(&pair.tls));
    pair_fini(&pair);
}

/* An end right behind bytes is not lost, though nothing may ever wake the owner again. */
static void test_end_behind_bytes(void **state)
{
    struct pair pair;
    size_t got;
    char bytes[64];
    (void)state;
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        pair_open(&pair, version);
        pair.peer.reply = STR("bye");
        peer_step(&pair.peer);
        SSL_shutdown(pair.peer.ssl);
        assert_int_equal(pair.tls.stream.ops->read(&pair.tls.stream, bytes, 64, &got), IO_OK);
        assert_int_equal(got, 3);
        assert_true(tls_pending(&pair.tls));
        for (int i = 0; i < 2; i++) {
            assert_int_equal(pair.tls.stream.ops->read(&pair.tls.stream, bytes, 64, &got), IO_END);
            assert_false(tls_pending(&pair.tls));
        }
        pair_fini(&pair);
    }
}

/* The answer to a KeyUpdate cannot be written: reading stops until it can. */
static void test_read_needs_write(void **state)
{
    struct pair pair;
    (void)state;
    pair_open(&pair, TLS1_3_VERSION);
    assert_int_equal(read_some(&pair, 1, 100), IO_AGAIN);
    pair.peer.blocked = true;
    for (int i = 0; i < 3; i++) {
        SSL_key_update(pair.peer.ssl, SSL_KEY_UPDATE_REQUESTED);
        SSL_do_handshake(pair.peer.ssl);
    }
    pair.peer.reply = STR("behind");
    assert_int_equal(read_some(&pair, 6, 100), IO_AGAIN);
    assert_true(pair.peer.want_write);
    assert_false(tls_pending(&pair.tls));
    assert_int_equal(tls_events(&pair.tls, LOOP_WRITE) & LOOP_READ, LOOP_READ);
    pair.tls.stream.ops->want_write(&pair.tls.stream, false);
    assert_true(pair.peer.want_write);
    pair.peer.blocked = false;
    assert_int_equal(read_some(&pair, 6, 100), IO_OK);
    assert_false(pair.peer.want_write);
    assert_got(&pair, STR("behind"));
    assert_int_equal(tls_events(&pair.tls, LOOP_WRITE), LOOP_WRITE);
    assert_int_equal(tls_events(&pair.tls, LOOP_READ), LOOP_READ);
    pair_fini(&pair);
}

/* A handshake whose first flight cannot be written waits for that, and for nothing else later. */
static void test_connect_needs_write(void **state)
{
    struct pair pair;
    (void)state;
    pair_init(&pair, 0);
    pair.peer.blocked = true;
    assert_int_equal(pair.tls.stream.ops->connect(&pair.tls.stream), IO_AGAIN);
    assert_int_equal(pair.tls.state, TLS_SHAKING);
    assert_true(pair.peer.want_write);
    pair.peer.blocked = false;
    assert_int_not_equal(pair.tls.stream.ops->connect(&pair.tls.stream), IO_FAILED);
    assert_false(pair.peer.want_write);
    assert_int_equal(peer_shake(&pair.tls), IO_OK);
    assert_false(pair.peer.want_write);
    pair_fini(&pair);
}

/* Small parts are one record; what below does not take is written later, with the same bytes. */
static void test_parts(void **state)
{
    struct pair pair;
    struct str parts[] = {STR("a"), {NULL, 0}, STR("bc"), {big, 40000}, STR("d"), STR("e")};
    size_t put = 0;
    (void)state;
    pair_open(&pair, 0);
    pair.peer.writes = 0;
    assert_int_equal(pair.tls.stream.ops->write(&pair.tls.stream, parts, 6, &put), IO_OK);
    assert_int_equal(put, 40005);
    assert_int_equal(pair.peer.writes, 3);
    pair.peer.blocked = true;
    assert_int_equal(pair.tls.stream.ops->write(&pair.tls.stream, parts, 3, &put), IO_AGAIN);
    assert_int_equal(put, 0);
    pair.peer.blocked = false;
    char copy[] = "abc and more";
    assert_int_equal(peer_send(&pair.tls, str_of(copy)), IO_OK);
    peer_step(&pair.peer);
    assert_int_equal(pair.peer.heard.n, 40005 + 12);
    assert_memory_equal(pair.peer.heard.p, "abc", 3);
    assert_memory_equal(pair.peer.heard.p + 3, big, 40000);
    assert_memory_equal(pair.peer.heard.p + 40003, "deabc and more", 14);
    pair_fini(&pair);
}

static void test_write_is_bounded(void **state)
{
    struct pair pair;
    struct str part = {big, sizeof big};
    size_t put = 0;
    (void)state;
    pair_open(&pair, 0);
    assert_int_equal(pair.tls.stream.ops->write(&pair.tls.stream, &part, 1, &put), IO_OK);
    assert_int_equal(put, 16 * 16384);
    pair_fini(&pair);
}

static void test_big_both_ways(void **state)
{
    struct str text = {big, sizeof big};
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct pair pair;
        struct str rest = text;
        pair_open(&pair, i % 2 ? TLS1_2_VERSION : TLS1_3_VERSION);
        pair.peer.chunk = i < 2 ? SIZE_MAX : 5000;
        pair.peer.flaky = i >= 2;
        pair.peer.reply = text;
        while (rest.n > 0 || pair.got.n < text.n) {
            size_t n = 0;
            if (rest.n > 0 && pair.tls.stream.ops->write(&pair.tls.stream, &rest, 1, &n) == IO_OK) {
                rest = str_skip(rest, n);
            }
            assert_true(buf_reserve(&pair.got, 256 * 1024));
            if (pair.tls.stream.ops->read(&pair.tls.stream, pair.got.p + pair.got.n, 256 * 1024,
                                          &n) == IO_OK) {
                pair.got.n += n;
            }
        }
        assert_got(&pair, text);
        assert_heard(&pair, text);
        pair_fini(&pair);
    }
}

/* Exactly as many bytes go as were asked for; what follows is read as ever. */
static void test_discard(void **state)
{
    static const uint64_t counts[] = {1, 70000, 500000, sizeof big - 3};
    char scratch[5000];
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct pair pair;
        uint64_t left = counts[i];
        unsigned idle = 0;
        pair_open(&pair, 0);
        pair.peer.reply = (struct str){big, sizeof big};
        while (left > 0 && idle < 100) {
            uint64_t got = 0;
            enum io io =
                pair.tls.stream.ops->discard(&pair.tls.stream, left, scratch, sizeof scratch, &got);
            assert_true(io == IO_OK || io == IO_AGAIN);
            assert_true(got <= left);
            idle = got ? 0 : idle + 1;
            left -= got;
        }
        assert_int_equal(left, 0);
        size_t rest = sizeof big - (size_t)counts[i];
        assert_int_equal(read_some(&pair, rest, 100000), IO_OK);
        assert_got(&pair, (struct str){big + counts[i], rest});
        pair_fini(&pair);
    }
}

static void test_idle(void **state)
{
    struct pair pair;
    (void)state;
    pair_open(&pair, 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(peer_send(&pair.tls, STR("again")), IO_OK);
        pair.peer.reply = STR("and again");
        pair.got.n = 0;
        assert_int_equal(read_some(&pair, 9, 100), IO_OK);
        tls_idle(&pair.tls);
    }
    pair_fini(&pair);
}

/* As through an https proxy. A stack of two has two contexts. */
static void test_stack(void **state)
{
    char error[160];
    struct str text = {big, 300000};
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct pair outer, inner;
        struct tls_context *second =
            tls_context_new(&(struct tls_options){.cacert = cert_file}, error, sizeof error);
        assert_non_null(second);
        pair_init(&outer, i % 2 ? TLS1_2_VERSION : TLS1_3_VERSION);
        SSL_CTX *ctx = peer_context(cert.x509, cert.key, NULL, 0);
        peer_init(&inner.peer, ctx);
        buf_init(&inner.got, BUF_NO_MAX);
        outer.peer.inner = &inner.peer;
        outer.peer.chunk = i < 2 ? SIZE_MAX : 777;
        tls_init(&inner.tls, second, &outer.tls.stream, STR("a.test"), NULL);
        assert_int_equal(peer_shake(&inner.tls), IO_OK);
        assert_int_equal(peer_send(&inner.tls, text), IO_OK);
        inner.peer.reply = text;
        assert_int_equal(read_some(&inner, text.n, i % 2 ? 256 * 1024 : 1000), IO_OK);
        assert_got(&inner, text);
        assert_heard(&inner, text);
        inner.tls.stream.ops->close(&inner.tls.stream);
        assert_true(outer.peer.closed);
        peer_fini(&inner.peer);
        buf_fini(&inner.got);
        buf_fini(&outer.got);
        peer_fini(&outer.peer);
        SSL_CTX_free(outer.peer.ctx);
        SSL_CTX_free(ctx);
        tls_context_free(second);
    }
}

/* The server is told of the end, unless the connection has broken. */
static void test_close(void **state)
{
    struct pair pair;
    (void)state;
    pair_open(&pair, 0);
    pair.tls.stream.ops->close(&pair.tls.stream);
    assert_int_equal(SSL_get_shutdown(pair.peer.ssl) & SSL_RECEIVED_SHUTDOWN,
                     SSL_RECEIVED_SHUTDOWN);
    SSL_CTX_free(pair.peer.ctx);
    peer_fini(&pair.peer);
    pair_open(&pair, 0);
    pair.peer.cut = pair.peer.said;
    pair.peer.cut_as = IO_END;
    assert_int_equal(read_some(&pair, 1, 100), IO_FAILED);
    pair.peer.writes = 0;
    pair.tls.stream.ops->close(&pair.tls.stream);
    assert_int_equal(pair.peer.writes, 0);
    SSL_CTX_free(pair.peer.ctx);
    peer_fini(&pair.peer);
    buf_fini(&pair.got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_alpn),
        cmocka_unit_test(test_splits),
        cmocka_unit_test(test_one_read_a_call),
        cmocka_unit_test(test_pending),
        cmocka_unit_test(test_end_behind_bytes),
        cmocka_unit_test(test_read_needs_write),
        cmocka_unit_test(test_connect_needs_write),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_write_is_bounded),
        cmocka_unit_test(test_big_both_ways),
        cmocka_unit_test(test_discard),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_stack),
        cmocka_unit_test(test_close),
    };
    return cmocka_run_group_tests(tests, make, unmake);
}
