/* links: net base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tls_pair.h"

static void test_too_old(void **state)
{
    struct pair pair;
    (void)state;
    pair_init(&pair, TLS1_1_VERSION);
    SSL_set_cipher_list(pair.peer.ssl, "ALL:@SECLEVEL=0");
    assert_int_equal(peer_shake(&pair.tls), IO_FAILED);
    assert_int_equal(pair.tls.stream.failure.outcome, OUTCOME_TLS_HANDSHAKE);
    assert_string_equal(pair.tls.stream.failure.text, "tlsv1 alert protocol version");
    pair_fini(&pair);
}

static void test_cut(void **state)
{
    struct pair pair;
    (void)state;
    for (int i = 0; i < 4; i++) {
        pair_open(&pair, i % 2 ? TLS1_2_VERSION : TLS1_3_VERSION);
        pair.peer.reply = STR("body");
        assert_int_equal(read_some(&pair, 4, 100), IO_OK);
        pair.peer.cut = pair.peer.said;
        pair.peer.cut_as = i < 2 ? IO_END : IO_FAILED;
        assert_int_equal(read_some(&pair, 5, 100), IO_FAILED);
        assert_int_equal(pair.tls.stream.failure.outcome,
                         i < 2 ? OUTCOME_TRUNCATED : OUTCOME_RESET);
        assert_int_equal(pair.tls.stream.failure.error, i < 2 ? 0 : 104);
        assert_int_equal(read_some(&pair, 5, 100), IO_FAILED);
        assert_int_equal(pair.got.n, 4);
        pair_fini(&pair);
    }
}

static void test_cut_in_handshake(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        int version = i % 2 ? TLS1_2_VERSION : TLS1_3_VERSION;
        enum io io = IO_FAILED;
        for (uint64_t cut = 0; io != IO_OK; cut += cut < 200 ? 1 : 13) {
            struct pair pair;
            pair_init(&pair, version);
            pair.peer.cut = cut;
            pair.peer.cut_as = i < 2 ? IO_END : IO_FAILED;
            io = peer_shake(&pair.tls);
            if (io != IO_OK) {
                assert_int_equal(io, IO_FAILED);
                assert_int_equal(pair.tls.stream.failure.outcome, OUTCOME_TLS_CLOSED);
                assert_true(pair.tls.stream.failure.text || pair.tls.stream.failure.error);
            }
            assert_true(cut < 10000);
            pair_fini(&pair);
        }
    }
}

/* Whatever byte of the server's flights is another, it is seen and told. */
static void test_changed_byte(void **state)
{
    (void)state;
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        uint64_t said = UINT64_MAX;
        for (uint64_t flip = 1; flip <= said; flip += 3) {
            struct pair pair;
            pair_init(&pair, version);
            pair.peer.flip = flip;
            pair.peer.closing = true;
            if (peer_shake(&pair.tls) == IO_FAILED) {
                assert_in_range(pair.tls.stream.failure.outcome, OUTCOME_TLS_VERIFY,
                                OUTCOME_TLS_CLOSED);
                assert_non_null(pair.tls.stream.failure.text);
            } else {
                said = pair.peer.said;
            }
            assert_true(flip < 10000);
            pair_fini(&pair);
        }
    }
}

/* What is no TLS, or no good. */
static void test_not_tls(void **state)
{
    static const struct {
        const char *text, *cause;
    } rows[] = {
        {"HTTP/1.1 400 Bad Request\r\n\r\n", "wrong version number"},
        {"220 mail.test ESMTP ready\r\n", "wrong version number"},
        {"\x15\x03\x03\x00\x02\x02\x28", "sslv3 alert handshake failure"},
        {"\x16\x03\x03\xff\xff\x02\x28", "packet length too long"},
        {"\x16\x03\x03\x00\x04\x02\xff\xff\xff", "excessive message size"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pair pair;
        size_t n = i == 2 ? 7 : i == 4 ? 9 : strlen(rows[i].text);
        pair_init(&pair, 0);
        BIO_write(pair.peer.out, rows[i].text, (int)n);
        assert_int_equal(peer_shake(&pair.tls), IO_FAILED);
        assert_int_equal(pair.tls.stream.failure.outcome, OUTCOME_TLS_HANDSHAKE);
        assert_string_equal(pair.tls.stream.failure.text, rows[i].cause);
        pair_fini(&pair);
    }
}

/* Before the first byte a bad record is a TLS error, after it the connection is broken. */
static void test_bad_record(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct pair pair;
        pair_open(&pair, TLS1_3_VERSION);
        if (i == 1) {
            pair.peer.reply = STR("x");
            assert_int_equal(read_some(&pair, 1, 100), IO_OK);
        }
        BIO_write(pair.peer.out,
                  "\x17\x03\x03\x00\x20"
                  "0123456789abcdef0123456789abcdef",
                  37);
        assert_int_equal(read_some(&pair, 10, 100), IO_FAILED);
        assert_int_equal(pair.tls.stream.failure.outcome,
                         i ? OUTCOME_RESET : OUTCOME_TLS_HANDSHAKE);
        assert_string_equal(pair.tls.stream.failure.text, "decryption failed or bad record mac");
        pair_fini(&pair);
    }
}

/* Refused, upon which a server of OpenSSL's gives up. */
static void test_renegotiation(void **state)
{
    struct pair pair;
    (void)state;
    pair_open(&pair, TLS1_2_VERSION);
    assert_int_equal(SSL_renegotiate(pair.peer.ssl), 1);
    SSL_do_handshake(pair.peer.ssl);
    assert_int_equal(read_some(&pair, 1, 100), IO_FAILED);
    assert_string_equal(pair.tls.stream.failure.text, "sslv3 alert handshake failure");
    assert_int_equal(SSL_num_renegotiations(pair.tls.ssl), 0);
    pair_fini(&pair);
}

static void test_key_update(void **state)
{
    struct pair pair;
    (void)state;
    pair_open(&pair, TLS1_3_VERSION);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(SSL_key_update(pair.peer.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
        pair.peer.reply = STR("new");
        pair.got.n = 0;
        assert_int_equal(read_some(&pair, 3, 100), IO_OK);
        assert_int_equal(peer_send(&pair.tls, STR("keys")), IO_OK);
    }
    assert_heard(&pair, STR("keyskeyskeys"));
    pair_fini(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_old),          cmocka_unit_test(test_cut),
        cmocka_unit_test(test_cut_in_handshake), cmocka_unit_test(test_changed_byte),
        cmocka_unit_test(test_not_tls),          cmocka_unit_test(test_bad_record),
        cmocka_unit_test(test_renegotiation),    cmocka_unit_test(test_key_update),
    };
    return cmocka_run_group_tests(tests, make, unmake);
}
