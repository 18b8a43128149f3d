/* links: http base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/rng.h"
#include "http/body.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define BYTES(literal) ((struct str){literal, sizeof(literal) - 1})

/* --- encoders --- */

static struct str taken(struct buf *buf)
{
    struct str copy = xstr_copy(buf_str(buf));
    buf_fini(buf);
    return copy;
}

static struct str zlib_encode(struct str s, int window_bits)
{
    z_stream zlib = {0};
    struct buf out;
    buf_init(&out, BUF_NO_MAX);
    assert_int_equal(deflateInit2(&zlib, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_true(buf_reserve(&out, deflateBound(&zlib, s.n)));
    zlib.next_in = (Bytef *)(uintptr_t)s.p;
    zlib.avail_in = (uInt)s.n;
    zlib.next_out = (Bytef *)out.p;
    zlib.avail_out = (uInt)out.cap;
    assert_int_equal(deflate(&zlib, Z_FINISH), Z_STREAM_END);
    out.n = zlib.total_out;
    deflateEnd(&zlib);
    return taken(&out);
}

static struct str gzip_encode(struct str s)
{
    return zlib_encode(s, 15 + 16);
}

static struct str deflate_encode(struct str s)
{
    return zlib_encode(s, 15);
}

static struct str raw_encode(struct str s)
{
    return zlib_encode(s, -15);
}

static struct str zstd_encode(struct str s)
{
    struct buf out;
    buf_init(&out, BUF_NO_MAX);
    assert_true(buf_reserve(&out, ZSTD_compressBound(s.n)));
    out.n = ZSTD_compress(out.p, out.cap, s.p, s.n, 3);
    assert_false(ZSTD_isError(out.n));
    return taken(&out);
}

/* RFC 7932 section 9.2, stored: a window of 16 bits, blocks that are not compressed, and an empty
 * last one. */
static struct str brotli_encode(struct str s)
{
    struct buf out;
    bool first = true;
    buf_init(&out, BUF_NO_MAX);
    while (s.n > 0) {
        size_t n = s.n < 65536 ? s.n : 65536;
        size_t bits = (n - 1) << 3 | (size_t)1 << 19; /* ISLAST 0, 4 nibbles, MLEN - 1, stored */
        bits <<= first;                               /* WBITS: one bit, 0 */
        for (unsigned i = 0; i < 3; i++) {
            buf_add_char(&out, (char)(bits >> 8 * i));
        }
        buf_add(&out, s.p, n);
        s = str_skip(s, n);
        first = false;
    }
    buf_add_char(&out, first ? 6 : 3);
    return taken(&out);
}

static const struct encoder {
    const char *name;
    struct str (*encode)(struct str s);
} ENCODERS[] = {
    {"gzip", gzip_encode}, {"deflate", deflate_encode}, {"deflate", raw_encode},
    {"br", brotli_encode}, {"zstd", zstd_encode},
};

/* --- checks --- */

static void expect_max(struct str body, const char *codings, size_t max, enum body_result want,
                       struct str text)
{
    struct buf out;
    buf_init(&out, max + 7);
    buf_add_str(&out, STR("before:"));
    enum body_result result = body_decode(body, str_of(codings), &out);
    if (result != want) {
        print_error("%s: %d, not %d\n", codings, (int)result, (int)want);
    }
    assert_int_equal(result, want);
    assert_true(str_starts(buf_str(&out), STR("before:")));
    assert_true(str_eq(buf_str_from(&out, 7), want == BODY_OK ? text : STR("")));
    assert_true(out.cap < 4 * (max + 7) + 4096);
    buf_fini(&out);
}

static void expect(struct str body, const char *codings, enum body_result want, struct str text)
{
    expect_max(body, codings, 100000000, want, text);
}

#define TEXT STR("{\"users\": [{\"name\": \"one\"}, {\"name\": \"two\"}, {\"name\": \"three\"}]}\n")

/* TEXT as gzip 1.12, zstd 1.5.4 and brotli 1.0.9 write it. */
static const struct str GZIP = BYTES(
    "\x1f\x8b\x08\x08\xa5\x94\x0d\x6b\x02\x03\x74\x00\xab\x56\x2a\x2d\x4e\x2d\x2a\x56\xb2\x52\x88"
    "\xae\x56\xca\x4b\xcc\x4d\x05\xb2\x94\xf2\xf3\x52\x95\x6a\x75\x14\x10\x02\x25\xe5\xf9\x68\x02"
    "\x19\x45\xa9\x40\x35\xb1\xb5\x5c\x00\x2a\x48\x2a\xc3\x41\x00\x00\x00");
static const struct str ZSTD = BYTES(
    "\x28\xb5\x2f\xfd\x24\x41\x8d\x01\x00\x84\x02\x7b\x22\x75\x73\x65\x72\x73\x22\x3a\x20\x5b\x7b"
    "\x22\x6e\x61\x6d\x65\x22\x3a\x20\x22\x6f\x6e\x65\x22\x7d\x2c\x20\x74\x77\x6f\x68\x72\x65\x65"
    "\x22\x7d\x5d\x7d\x0a\x02\x00\xa0\x0f\x68\x9b\x4e\xf1\x14\xa2\xa8");
static const struct str BROTLI = BYTES(
    "\x1b\x40\x00\xf8\xad\x8e\xb7\x59\x0c\x81\x1f\x21\x21\xbd\xd3\x15\x81\xb1\x5a\x64\xaf\x6d\x6b"
    "\x8b\x94\xbd\xd1\x49\xb7\xb0\xbb\xd2\xe9\x6b\x05\x96\xae\x3e\x01\x02\x0e\x39\x10\xbf\xd1\xb7"
    "\x00\xb3\x44\xa9\x3e\x00\x04\x46\x4c\xd1\xe4\x83\x45\x17\x51\x85\x2f\x23\x6b\x00");
/* 64 MiB of zeros. */
static const struct str BROTLI_BOMB = BYTES(
    "\xcb\xff\xff\x3f\x00\x24\x00\xe2\xb1\x40\x72\xef\xff\xf8\xff\xff\x07\x80\x04\x40\x1c\x16\x80"
    "\xee\xfd\x1f\xff\xff\xff\x00\x90\x00\x88\xc3\x02\xd0\xbd\xff\xe3\xff\xff\x1f\x00\x12\x00\x71"
    "\x58\x00\xba\xf7\x7f\xfc\xff\xff\x03\x40\x02\x20\x0e\x0b\x40\xf7\xfe\x8f\xff\xff\x7f\x00\x48"
    "\x00\xc4\x61\x01\xe8\xde\xff\xf1\xff\xff\x0f\x00\x09\x80\x38\x2c\x00\xdd\xfb\xbf\xfc\xff\xff"
    "\x03\x20\x01\x10\x87\x05\xa0\x7b\xff\x07");

static void test_others_encoders(void **state)
{
    (void)state;
    expect(GZIP, "gzip", BODY_OK, TEXT);
    expect(ZSTD, "zstd", BODY_OK, TEXT);
    expect(BROTLI, "br", BODY_OK, TEXT);
}

static void test_names(void **state)
{
    static const struct {
        const char *codings;
        enum body_result result;
    } CASES[] = {
        {"gzip", BODY_OK},
        {"GZip", BODY_OK},
        {"x-gzip", BODY_OK},
        {"X-GZIP", BODY_OK},
        {" \tgzip\t ", BODY_OK},
        {"identity, gzip", BODY_OK},
        {"gzip, identity", BODY_OK},
        {",, gzip ,,", BODY_OK},
        {"identity,identity,identity,identity,identity,identity,gzip", BODY_OK},
        {"compress", BODY_UNKNOWN},
        {"gzip2", BODY_UNKNOWN},
        {"gzi", BODY_UNKNOWN},
        {"gzip;q=1", BODY_UNKNOWN},
        {"gzip br", BODY_UNKNOWN},
        {"gzip, none", BODY_UNKNOWN},
        {"none, gzip", BODY_UNKNOWN},
        {"br", BODY_BAD},
        {"zstd", BODY_BAD},
        {"deflate", BODY_BAD},
        {"gzip, gzip", BODY_BAD},
        {"gzip,gzip,gzip,gzip,gzip,gzip", BODY_BAD},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        expect(GZIP, CASES[i].codings, CASES[i].result, TEXT);
    }
}

static void test_plain(void **state)
{
    static const char *const PLAIN[] = {"", " ", ",", "identity", "Identity", "identity, identity"};
    static const char *const CODED[] = {"gzip", "identity, gzip", "none"};
    (void)state;
    for (size_t i = 0; i < COUNT(PLAIN); i++) {
        assert_true(body_is_plain(str_of(PLAIN[i])));
        expect(TEXT, PLAIN[i], BODY_OK, TEXT);
        expect_max(TEXT, PLAIN[i], TEXT.n, BODY_OK, TEXT);
        expect_max(TEXT, PLAIN[i], TEXT.n - 1, BODY_TOO_LARGE, TEXT);
    }
    for (size_t i = 0; i < COUNT(CODED); i++) {
        assert_false(body_is_plain(str_of(CODED[i])));
    }
}

static void test_empty(void **state)
{
    static const struct str SKIPPED = BYTES("\x50\x2a\x4d\x18\2\0\0\0ab");
    (void)state;
    for (size_t i = 0; i < COUNT(ENCODERS); i++) {
        struct str coded = ENCODERS[i].encode(STR(""));
        expect_max(coded, ENCODERS[i].name, 0, BODY_OK, STR(""));
        expect_max(STR(""), ENCODERS[i].name, 0, BODY_OK, STR(""));
        xstr_free(coded);
    }
    expect(STR(""), "gzip, br, zstd", BODY_OK, STR(""));
    expect(SKIPPED, "zstd", BODY_OK, STR(""));
}

/* Half of it repeats. */
static struct str sample(size_t n)
{
    struct rng rng;
    struct buf out;
    buf_init(&out, BUF_NO_MAX);
    rng_seed(&rng, n);
    for (size_t i = 0; i < n; i++) {
        buf_add_char(&out, i / 100 % 2 ? 'x' : (char)rng_next(&rng));
    }
    return taken(&out);
}

static void test_sizes(void **state)
{
    static const size_t SIZES[] = {1, 2, 100, 16383, 16384, 16385, 65536, 65537, 1000000};
    (void)state;
    for (size_t i = 0; i < COUNT(SIZES) * COUNT(ENCODERS); i++) {
        const struct encoder *encoder = &ENCODERS[i % COUNT(ENCODERS)];
        struct str plain = sample(SIZES[i / COUNT(ENCODERS)]);
        struct str coded = encoder->encode(plain);
        expect_max(coded, encoder->name, plain.n, BODY_OK, plain);
        expect_max(coded, encoder->name, plain.n - 1, BODY_TOO_LARGE, plain);
        xstr_free(plain);
        xstr_free(coded);
    }
}

/* In memory of exactly its size, so that a byte too far is seen. */
static void test_cut_short(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(ENCODERS); i++) {
        struct str plain = sample(300), coded = ENCODERS[i].encode(plain);
        for (size_t n = 1; n < coded.n; n++) {
            char *copy = xmalloc(n);
            memcpy(copy, coded.p, n);
            expect((struct str){copy, n}, ENCODERS[i].name, BODY_BAD, STR(""));
            free(copy);
        }
        xstr_free(plain);
        xstr_free(coded);
    }
    for (size_t n = 1; n < BROTLI.n; n++) {
        expect((struct str){BROTLI.p, n}, "br", BODY_BAD, STR(""));
    }
}

/* What has a checksum never comes out changed. */
static void test_damaged(void **state)
{
    struct str zlib = deflate_encode(TEXT);
    const struct {
        const char *name;
        struct str coded;
    } cases[] = {{"gzip", GZIP}, {"deflate", zlib}, {"zstd", ZSTD}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct str coded = xstr_copy(cases[i].coded);
        char *bytes = (char *)(uintptr_t)coded.p;
        size_t bad = 0;
        for (size_t bit = 0; bit < 8 * coded.n; bit++) {
            struct buf out;
            buf_init(&out, 1000);
            bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
            if (body_decode(coded, str_of(cases[i].name), &out) == BODY_OK) {
                assert_true(str_eq(buf_str(&out), TEXT));
            } else {
                bad++;
            }
            bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
            buf_fini(&out);
        }
        assert_true(bad > 7 * coded.n / 2);
        xstr_free(coded);
    }
    xstr_free(zlib);
}

static struct str joined(struct str a, struct str b, struct str c)
{
    struct buf out;
    buf_init(&out, BUF_NO_MAX);
    buf_add_str(&out, a);
    buf_add_str(&out, b);
    buf_add_str(&out, c);
    return taken(&out);
}

static void test_what_is_behind_the_end(void **state)
{
    static const struct str REST[] = {BYTES("x"), BYTES("\0\0\0\0"), BYTES("\x1f"),
                                      BYTES("\r\n<html>\x28\xb5")};
    (void)state;
    for (size_t i = 0; i < COUNT(ENCODERS) * COUNT(REST); i++) {
        struct str coded = ENCODERS[i / COUNT(REST)].encode(TEXT);
        struct str both = joined(coded, REST[i % COUNT(REST)], STR(""));
        expect(both, ENCODERS[i / COUNT(REST)].name, BODY_OK, TEXT);
        xstr_free(coded);
        xstr_free(both);
    }
}

static void test_several_members(void **state)
{
    struct str one = gzip_encode(STR("one ")), empty = gzip_encode(STR(""));
    struct str all = joined(one, empty, GZIP), text = joined(STR("one "), TEXT, STR(""));
    (void)state;
    expect(all, "gzip", BODY_OK, text);
    expect((struct str){all.p, all.n - 1}, "gzip", BODY_BAD, STR(""));
    expect_max(all, "gzip", text.n, BODY_OK, text);
    expect_max(all, "gzip", text.n - 1, BODY_TOO_LARGE, text);
    xstr_free(all);
    all = joined(one, STR("\x1f\x8b"), STR("rest"));
    expect(all, "gzip", BODY_BAD, STR(""));
    xstr_free(all);
    xstr_free(one);
    xstr_free(empty);

    one = zstd_encode(STR("one "));
    all = joined(one, BYTES("\x5f\x2a\x4d\x18\2\0\0\0ab"), ZSTD);
    expect(all, "zstd", BODY_OK, text);
    expect((struct str){all.p, all.n - 1}, "zstd", BODY_BAD, STR(""));
    xstr_free(all);
    xstr_free(one);
    xstr_free(text);
}

/* Each coding over each other, and five in a row. */
static void test_lists(void **state)
{
    struct buf names;
    buf_init(&names, 100);
    (void)state;
    for (size_t i = 0; i < COUNT(ENCODERS) * COUNT(ENCODERS); i++) {
        const struct encoder *first = &ENCODERS[i / COUNT(ENCODERS)];
        const struct encoder *second = &ENCODERS[i % COUNT(ENCODERS)];
        struct str inner = first->encode(TEXT), outer = second->encode(inner);
        buf_reset(&names);
        buf_addf(&names, "%s, %s", first->name, second->name);
        buf_add_char(&names, 0);
        expect(outer, names.p, BODY_OK, TEXT);
        expect_max(outer, names.p, TEXT.n, BODY_OK, TEXT);
        expect_max(outer, names.p, TEXT.n - 1, BODY_TOO_LARGE, TEXT);
        xstr_free(inner);
        xstr_free(outer);
    }
    struct str coded = xstr_copy(TEXT);
    for (size_t i = 0; i < 5; i++) {
        struct str next = ENCODERS[i].encode(coded);
        xstr_free(coded);
        coded = next;
    }
    expect(coded, "gzip,deflate,deflate,br,zstd", BODY_OK, TEXT);
    expect(coded, "gzip,deflate,deflate,br,zstd,gzip", BODY_BAD, STR(""));
    xstr_free(coded);
    buf_fini(&names);
}

static void test_bombs(void **state)
{
    struct buf zeros;
    struct str none = STR("");
    (void)state;
    buf_init(&zeros, BUF_NO_MAX);
    buf_add_fill(&zeros, 0, 20000000);
    for (size_t i = 0; i < COUNT(ENCODERS); i++) {
        struct str bomb = ENCODERS[i].encode(buf_str(&zeros));
        expect_max(bomb, ENCODERS[i].name, 1000, BODY_TOO_LARGE, none);
        expect_max(bomb, ENCODERS[i].name, zeros.n - 1, BODY_TOO_LARGE, none);
        expect_max(bomb, ENCODERS[i].name, zeros.n, BODY_OK, buf_str(&zeros));
        xstr_free(bomb);
    }
    expect_max(BROTLI_BOMB, "br", 1000000, BODY_TOO_LARGE, none);
    /* What is between is limited as well. */
    struct str bomb = gzip_encode(buf_str(&zeros)), twice = zstd_encode(bomb);
    expect_max(twice, "gzip, zstd", 1000, BODY_TOO_LARGE, none);
    expect_max(twice, "deflate, gzip, zstd", 1000, BODY_TOO_LARGE, none);
    xstr_free(bomb);
    xstr_free(twice);
    buf_fini(&zeros);
}

/* A frame that asks for a window of 128 MiB, and one for the 8 MiB that are allowed. */
static void test_large_windows(void **state)
{
    (void)state;
    expect(BYTES("\x28\xb5\x2f\xfd\0\x88\x21\0\0text"), "zstd", BODY_BAD, STR(""));
    expect(BYTES("\x28\xb5\x2f\xfd\0\x68\x21\0\0text"), "zstd", BODY_OK, STR("text"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_others_encoders), cmocka_unit_test(test_names),
        cmocka_unit_test(test_plain),           cmocka_unit_test(test_empty),
        cmocka_unit_test(test_sizes),           cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_damaged),         cmocka_unit_test(test_what_is_behind_the_end),
        cmocka_unit_test(test_several_members), cmocka_unit_test(test_lists),
        cmocka_unit_test(test_bombs),           cmocka_unit_test(test_large_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
