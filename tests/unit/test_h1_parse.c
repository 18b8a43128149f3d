/* links: http base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "h1_expect.h"

static void test_framing(void **state)
{
    (void)state;
    static const struct events_case CASES[] = {
        CASE(OK "Content-Length: 5\r\n\r\nhello",
             "200 HTTP/1.1 length 5 {Content-Length: 5\r\n}\nbody 5 (hello)\nend\n"),
        CASE(OK "Content-Length: 100\r\n\r\nhi",
             "200 HTTP/1.1 length 100 {Content-Length: 100\r\n}\npartial\n"),
        CASE(OK "content-length:0\r\n\r\n",
             "200 HTTP/1.1 none {content-length:0\r\n}\nbody 0 ()\nend\n"),
        CASE(OK "\r\nall of it", "200 HTTP/1.1 to close close {}\nbody 9 (all of it)\nend\n"),
        CASE(OK "Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
             "200 HTTP/1.1 length 2 lenient {Content-Length: 2\r\nContent-Length: 2\r\n}\n"
             "body 2 (hi)\nend\n"),
        CASE(OK "Content-Length: 2, 02\r\n\r\nhi",
             "200 HTTP/1.1 length 2 lenient {Content-Length: 2, 02\r\n}\nbody 2 (hi)\nend\n"),
        CASE(OK "Content-Length: 9223372036854775807\r\n\r\nhi",
             "200 HTTP/1.1 length 9223372036854775807 {Content-Length: 9223372036854775807\r\n}\n"
             "partial\n"),
        CASE(OK "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
             "200 HTTP/1.1 chunked close both "
             "{Content-Length: 3\r\nTransfer-Encoding: chunked\r\n}\nbody 1 (x)\nend\n"),
        CASE(OK "TRANSFER-ENCODING: gzip,\tChunked\r\n\r\n0\r\n\r\n",
             "200 HTTP/1.1 chunked {TRANSFER-ENCODING: gzip,\tChunked\r\n}\nbody 0 ()\nend\n"),
        CASE("HTTP/1.1 204 No\r\nContent-Length: 3\r\n\r\nHTTP/1.1 304 No\r\n"
             "Transfer-Encoding: chunked\r\n\r\n",
             "204 HTTP/1.1 none {Content-Length: 3\r\n}\nbody 0 ()\n"
             "304 HTTP/1.1 none {Transfer-Encoding: chunked\r\n}\nbody 0 ()\nend\n"),
        CASE("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 E\r\nLink: x\r\n\r\n" OK
             "Content-Length: 1\r\n\r\nx",
             "100 HTTP/1.1 none {}\nbody 0 ()\n103 HTTP/1.1 none {Link: x\r\n}\nbody 0 ()\n"
             "200 HTTP/1.1 length 1 {Content-Length: 1\r\n}\nbody 1 (x)\nend\n"),
        CASE("HTTP/1.1 101 Switch\r\nUpgrade: h2c\r\n\r\n\0\0",
             "101 HTTP/1.1 none {Upgrade: h2c\r\n}\nupgrade\n"),
        CASE(OK "Content-Length: 1\r\nConnection: close\r\n\r\nxy",
             "200 HTTP/1.1 length 1 close {Content-Length: 1\r\nConnection: close\r\n}\n"
             "body 1 (x)\nextra\n"),
        CASE("", "partial\n"),
        CASE(OK "Content-Len", "partial\n"),
        CASE(OK "Bad header\r\nA: b\r\n", "partial\n"),
        CASE(OK "Bad header\n\rA: b\n\r", "partial\n"),
        CASE(OK "Location: /\r\nset-COOKIE: a=b\r\nContent-Length: 0\r\n\r\n",
             "200 HTTP/1.1 none location cookie "
             "{Location: /\r\nset-COOKIE: a=b\r\nContent-Length: 0\r\n}\nbody 0 ()\nend\n"),
        CASE(OK "Locatiom: /\r\nset.COOKIE: a=b\r\nContent_Length: 0\r\nConnectiom: close\r\n"
                "Transfer-Encodinh: x\r\nContent-Length: 0\r\n\r\n",
             "200 HTTP/1.1 none {Locatiom: /\r\nset.COOKIE: a=b\r\nContent_Length: 0\r\n"
             "Connectiom: close\r\nTransfer-Encodinh: x\r\nContent-Length: 0\r\n}\n"
             "body 0 ()\nend\n"),
    };
    expect_all(CASES, COUNT(CASES), false);
}

static void test_head_request(void **state)
{
    (void)state;
    static const struct events_case CASES[] = {
        CASE(OK "Content-Length: 1000\r\n\r\n" OK "Transfer-Encoding: chunked\r\n\r\n",
             "200 HTTP/1.1 none {Content-Length: 1000\r\n}\nbody 0 ()\n"
             "200 HTTP/1.1 none {Transfer-Encoding: chunked\r\n}\nbody 0 ()\nend\n"),
        CASE(OK "\r\n", "200 HTTP/1.1 none {}\nbody 0 ()\nend\n"),
    };
    expect_all(CASES, COUNT(CASES), true);
}

/* Heads that are refused, with the text that says why. */
static void test_bad_heads(void **state)
{
    (void)state;
    static const char NO_NUMBER[] = "Content-Length is not a number",
                      TOO_LARGE[] = "Content-Length is too large a number",
                      DIFFERENT[] = "two different Content-Length",
                      BEHIND[] = "Transfer-Encoding with a coding behind chunked",
                      NOT_LAST[] = "Transfer-Encoding does not end with chunked",
                      CR[] = "CR without LF in the head", NUL[] = "NUL byte in the head",
                      CONTROL[] = "control character in the head",
                      BLANK[] = "blank in a field name", BYTE[] = "bad byte in a field name";
    static const struct {
        struct str field;
        const char *why;
    } CASES[] = {
#define FIELD(text, why) {{text, sizeof(text) - 1}, why}
        FIELD("Content-Length: -1", NO_NUMBER),
        FIELD("Content-Length: +2", NO_NUMBER),
        FIELD("Content-Length: 2x", NO_NUMBER),
        FIELD("Content-Length: 0x2", NO_NUMBER),
        FIELD("Content-Length: 2 2", NO_NUMBER),
        FIELD("Content-Length: 2,", NO_NUMBER),
        FIELD("Content-Length: ,2", NO_NUMBER),
        FIELD("Content-Length:", NO_NUMBER),
        FIELD("Content-Length: \t ", NO_NUMBER),
        FIELD("Content-Length: 9223372036854775808", TOO_LARGE),
        FIELD("Content-Length: 18446744073709551618", TOO_LARGE),
        FIELD("Content-Length: 99999999999999999999999999", TOO_LARGE),
        FIELD("Content-Length: 2\r\nContent-Length: 3", DIFFERENT),
        FIELD("Content-Length: 2, 3", DIFFERENT),
        FIELD("Transfer-Encoding: chunked, identity", BEHIND),
        FIELD("Transfer-Encoding: chunked, chunked", BEHIND),
        FIELD("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", BEHIND),
        FIELD("Transfer-Encoding: chunkedchunked", NOT_LAST),
        FIELD("Transfer-Encoding: chunked;a=b", NOT_LAST),
        FIELD("Transfer-Encoding: identity", NOT_LAST),
        FIELD("Transfer-Encoding: deflate", NOT_LAST),
        FIELD("Transfer-Encoding: chunker", NOT_LAST),
        FIELD("Transfer-Encoding: gzip", NOT_LAST),
        FIELD("Transfer-Encoding:", NOT_LAST),
        FIELD("A: b\rc", CR),
        FIELD("A: b\r\r", CR),
        FIELD("A: b\0c", NUL),
        FIELD("A: b\x01", CONTROL),
        FIELD("A: 0123456789abcdef0123\x7f", CONTROL),
        FIELD("A: b\x1b[2J", CONTROL),
        FIELD(" A: b", "folded line before any field"),
        FIELD("\tA: b", "folded line before any field"),
        FIELD("A b", BLANK),
        FIELD("A : b", BLANK),
        FIELD("A\t: b", BLANK),
        FIELD("Server nginx", BLANK),
        FIELD("Server", "field without a colon"),
        FIELD(": b", "empty field name"),
        FIELD("A(: b", BYTE),
        FIELD("A\0: b", BYTE),
        FIELD("A\x80: b", BYTE),
        FIELD("\x80", BYTE),
        FIELD("\x01: b", CONTROL),
#undef FIELD
    };
    struct buf bytes, events;
    buf_init(&bytes, BUF_NO_MAX);
    buf_init(&events, BUF_NO_MAX);
    for (size_t i = 0; i < COUNT(CASES); i++) {
        buf_reset(&bytes);
        buf_reset(&events);
        buf_add_str(&bytes, STR(OK));
        buf_add_str(&bytes, CASES[i].field);
        buf_add_str(&bytes, STR("\r\nZ: a field of some length\r\n\r\n"));
        buf_addf(&events, "bad: %s\n", CASES[i].why);
        expect_events(buf_str(&bytes), false, buf_str(&events));
    }
    buf_fini(&bytes);
    buf_fini(&events);
}

/* Every byte in a name and in a value, early and late in what is looked at as one block. */
static void test_every_byte(void **state)
{
    (void)state;
    static const char MARKS[] = "!#$%&'*+-.^_`|~";
    for (unsigned c = 0; c < 256; c++) {
        bool letter = ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c >= '0' && c <= '9');
        bool token = letter || (c != 0 && strchr(MARKS, (int)c) != NULL) || c == ':';
        bool text = c == '\t' || (c >= 0x20 && c != 0x7f);
        for (size_t at = 1; at < 40; at++) {
            char head[] = OK "names-that-are-longer-than-two-whole-blocks: "
                             "values that are longer than two whole blocks: yes\r\n\r\n";
            struct h1_head parsed;
            const char *why;
            const size_t n = sizeof(head) - 1;
            char *name = head + strlen(OK), *value = strchr(name, ' ') + 1, old = name[at];
            name[at] = (char)c;
            enum h1_result result = h1_head_parse(head, n, 0, false, &parsed, &why);
            assert_int_equal(result, token ? H1_OK : H1_BAD);
            name[at] = old;
            value[at] = (char)c;
            if (c == '\n') /* what is behind it would be a field of its own, or a fold */
                continue;
            result = h1_head_parse(head, n, 0, false, &parsed, &why);
            assert_int_equal(result, text ? H1_OK : H1_BAD);
        }
    }
}

/* What is told of the first n bytes does not depend on how much of them was given before, and no
 * byte behind them is looked at, wherever lines end. */
static void test_prefixes(void **state)
{
    (void)state;
    static const char *const ENDS[] = {"\r\n", "\n", "\r\n folded\r\n", "\x01\r\n", "\r\r\n"};
    struct buf bytes;
    buf_init(&bytes, BUF_NO_MAX);
    for (size_t i = 0; i < 45 * COUNT(ENDS); i++) {
        buf_reset(&bytes);
        buf_add_str(&bytes, STR(OK));
        buf_add_fill(&bytes, 'n', 1 + i % 19);
        buf_add_char(&bytes, ':');
        buf_add_fill(&bytes, 'v', i % 45);
        buf_add_str(&bytes, str_of(ENDS[i % COUNT(ENDS)]));
        buf_add_str(&bytes, STR("\r\nbody, which belongs to nobody here"));
        for (size_t n = 1; n <= bytes.n; n++) {
            struct h1_head head;
            const char *why;
            char *copy = h1_reader_copy(bytes.p, n);
            enum h1_result once = h1_head_parse(copy, n, 0, false, &head, &why);
            enum h1_result again =
                once == H1_PARTIAL ? h1_head_parse(copy, n, n / 2, false, &head, &why) : once;
            free(copy);
            assert_int_equal(once, again);
            size_t whole = bytes.n - strlen("body, which belongs to nobody here");
            enum h1_result verdict = i % COUNT(ENDS) < 3 ? H1_OK : H1_BAD;
            assert_int_equal(once, n < whole ? H1_PARTIAL : verdict);
        }
    }
    buf_fini(&bytes);
}

static void test_status_lines(void **state)
{
    (void)state;
    static const char *const BAD[] = {
        "HTTP/1.1 099 X\r\n",
        "HTTP/1.1 1000 X\r\n",
        "HTTP/1.1 20 OK\r\n",
        "HTTP/1.1 abc\r\n",
        "HTTP/1.x 200 OK\r\n",
        "HTTP/1.1 2x0 OK\r\n",
        "HTTP/1.1  200 OK\r\n",
        "HTTP/1.1\t200 OK\r\n",
        "HTTP/2 200\r\n",
        "HTTP/01.1 200\r\n",
        "HTTP/5.6 200 OK\r\n",
        "HTTP/0.9 200 OK\r\n",
        "HTTP/1.10 200\r\n",
        "http/1.1 200 OK\r\n",
        "RTSP/1.0 200 OK\r\n",
        "ICY 200 OK\r\n",
        "220 smtp ready\r\n",
        "\x15\x03\x03",
        "\r\nHTTP/1.1 200 OK\r\n",
        "\n",
        "HTTP/1.1 200X\r\n",
        "HTTP/1.1 -12 OK",
        "HTTP/1.1 2000000000000000000000000000000000000000000000000000000000000000 OK\r\n",
        "<html>",
    };
    for (size_t i = 0; i < COUNT(BAD); i++)
        expect_events(str_of(BAD[i]), false, STR("bad: not an HTTP/1 status line\n"));

    static const struct events_case CASES[] = {
        CASE("HTTP/1.1 999 What\r\n\r\n", "999 HTTP/1.1 to close close {}\nbody 0 ()\nend\n"),
        CASE("HTTP/1.1 200 \r\n\r\n", "200 HTTP/1.1 to close close {}\nbody 0 ()\nend\n"),
        CASE("HTTP/1.1 200\r\n\r\n", "200 HTTP/1.1 to close close lenient {}\nbody 0 ()\nend\n"),
        CASE("HTTP/1.1 200\n\n", "200 HTTP/1.1 to close close lenient {}\nbody 0 ()\nend\n"),
        CASE("HTTP/1.1 200 \t\xe9t\xc3\xa9\r\n\r\n",
             "200 HTTP/1.1 to close close {}\nbody 0 ()\nend\n"),
        CASE("HTTP/1.9 200 OK\r\nContent-Length: 0\r\n\r\n",
             "200 HTTP/1.9 none {Content-Length: 0\r\n}\nbody 0 ()\nend\n"),
        CASE("HTTP/1.1 200 O\0K\r\n\r\n", "bad: NUL byte in the head\n"),
        CASE("HTTP/1.1 200 OK\rA: b\r\n\r\n", "bad: CR without LF in the head\n"),
        CASE("HTTP/1.1 200\r\r\n\r\n", "bad: CR without LF in the head\n"),
        CASE("HTTP/1.1 200 OK\x7f\r\n\r\n", "bad: control character in the head\n"),
        CASE("HTTP/1.1 200", "partial\n"),
        CASE("H", "partial\n"),
    };
    expect_all(CASES, COUNT(CASES), false);
}

static void test_leniency(void **state)
{
    (void)state;
    static const struct events_case CASES[] = {
        CASE("HTTP/1.1 200 OK\nContent-Length: 1\n\nx",
             "200 HTTP/1.1 length 1 lenient {Content-Length: 1\n}\nbody 1 (x)\nend\n"),
        CASE(OK "Content-Length: 0\r\n\n",
             "200 HTTP/1.1 none lenient {Content-Length: 0\r\n}\nbody 0 ()\nend\n"),
        CASE(OK "A: b\nContent-Length: 0\r\n\r\n",
             "200 HTTP/1.1 none lenient {A: b\nContent-Length: 0\r\n}\nbody 0 ()\nend\n"),
        CASE(OK "A: b\r\n c\r\n\t\r\n d\r\nContent-Length: 0\r\n\r\n",
             "200 HTTP/1.1 none lenient {A: b\r\n c\r\n\t\r\n d\r\nContent-Length: 0\r\n}\n"
             "body 0 ()\nend\n"),
        CASE(OK "Content-Length:\r\n 1\r\n\r\nx",
             "200 HTTP/1.1 length 1 lenient {Content-Length:\r\n 1\r\n}\nbody 1 (x)\nend\n"),
        CASE(OK "Transfer-Encoding: gzip,\n\tchunked\r\n\r\n0\r\n\r\n",
             "200 HTTP/1.1 chunked lenient {Transfer-Encoding: gzip,\n\tchunked\r\n}\n"
             "body 0 ()\nend\n"),
        CASE(OK "Content-Length: 1\r\n 2\r\n\r\nx", "bad: Content-Length is not a number\n"),
        CASE(OK "A: b\r\n c\rd\r\n\r\n", "bad: CR without LF in the head\n"),
        CASE(OK "!#$%&'*+-.^_`|~09azAZ: \x80\xff\t~\r\nA:\r\nContent-Length: 0 \t\r\n\r\n",
             "200 HTTP/1.1 none {!#$%&'*+-.^_`|~09azAZ: \x80\xff\t~\r\nA:\r\n"
             "Content-Length: 0 \t\r\n}\nbody 0 ()\nend\n"),
        CASE(OK "A-name-that-is-longer-than-a-block-or-two: v\r\nContent-Length: 0\r\n\r\n",
             "200 HTTP/1.1 none {A-name-that-is-longer-than-a-block-or-two: v\r\n"
             "Content-Length: 0\r\n}\nbody 0 ()\nend\n"),
    };
    expect_all(CASES, COUNT(CASES), false);
}

static void test_keep_alive(void **state)
{
    (void)state;
    static const struct {
        const char *version, *fields;
        bool keep_alive;
    } CASES[] = {
        {"1.1", "", true},
        {"1.1", "Connection: close\r\n", false},
        {"1.1", "CONNECTION: Close\r\n", false},
        {"1.1", "Connection: keep-alive\r\n", true},
        {"1.1", "Connection: keep-alive, close\r\n", false},
        {"1.1", "Connection: keep-alive\r\nConnection: foo,,\tcLOSE ,bar\r\n", false},
        {"1.1", "Connection: close-not, not-close\r\n", true},
        {"1.1", "Connection: clone, keep-alife\r\n", true},
        {"1.1", "Connection:\r\n", true},
        {"1.0", "", false},
        {"1.0", "Connection: keep-alive\r\n", true},
        {"1.0", "Connection: Foo, Keep-Alive\r\n", true},
        {"1.0", "Connection: keep_alive\r\n", false},
        {"1.0", "Connection: upgrade, keep-alife\r\n", false},
        {"1.0", "Connection: keep-alive\r\nConnection: close\r\n", false},
        {"1.0", "Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n", false},
        {"1.1", "Transfer-Encoding: chunked\r\n", false}, /* beside Content-Length */
    };
    struct buf bytes;
    buf_init(&bytes, BUF_NO_MAX);
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct h1_head head;
        const char *why;
        buf_reset(&bytes);
        buf_addf(&bytes, "HTTP/%s 200 OK\r\n%sContent-Length: 5\r\n\r\n", CASES[i].version,
                 CASES[i].fields);
        assert_int_equal(h1_head_parse(bytes.p, bytes.n, 0, false, &head, &why), H1_OK);
        if (head.keep_alive != CASES[i].keep_alive)
            print_error("%.*s", (int)bytes.n, bytes.p);
        assert_int_equal(head.keep_alive, CASES[i].keep_alive);
    }
    buf_fini(&bytes);
}

static void test_limits(void **state)
{
    (void)state;
    const size_t fixed = strlen(OK) + strlen("A: \r\n\r\n");
    const char *head = "too large: head larger than 300 KiB\n";
    expect_repeated(OK "A: ", "a", H1_HEAD_MAX - fixed, "\r\n\r\n", "end\n");
    expect_repeated(OK "A: ", "a", H1_HEAD_MAX - fixed + 1, "\r\n\r\n", head);
    expect_repeated(OK "A: ", "\t", H1_HEAD_MAX - fixed, "\r\n\r\n", "end\n");
    expect_repeated(OK "A: ", "\r\n ", (H1_HEAD_MAX - fixed) / 3, "\r\n\r\n", "end\n");
    expect_repeated(OK "A: ", "a", 1 << 20, "", head);
    expect_repeated(OK, "a", 1 << 20, "", head);
    expect_repeated(OK, "a: b\r\n", 1 << 18, "", head);
    expect_repeated(OK, "a: b\r\n", H1_FIELDS_MAX, "\r\n", "end\n");
    expect_repeated(OK, "a: b\r\n", H1_FIELDS_MAX + 1, "\r\n",
                    "too large: more than 5000 fields\n");
}

/* The most hostile heads in drips of one byte: in a time that is not linear, these would not end.
 */
static void test_linear_time(void **state)
{
    (void)state;
    static const char *const PARTS[] = {"a", "a:b\r\n", "a:b\n", "\t", ":\r"};
    for (size_t i = 0; i < COUNT(PARTS); i++) {
        struct buf bytes;
        struct h1_head head;
        const char *why;
        buf_init(&bytes, BUF_NO_MAX);
        buf_add_str(&bytes, STR(OK "A: "));
        while (bytes.n + 8 < H1_HEAD_MAX)
            buf_add_str(&bytes, str_of(PARTS[i]));
        for (size_t n = 1; n < bytes.n; n++)
            assert_int_equal(h1_head_parse(bytes.p, n, n - 1, false, &head, &why), H1_PARTIAL);
        buf_fini(&bytes);
    }
}

static void test_partial_writes_nothing(void **state)
{
    (void)state;
    const char *text = OK "Content-Length: 5\r\nConnection: close\r\n\r\n";
    size_t size = strlen(text);
    struct h1_head untouched, head;
    memset(&untouched, 0x5a, sizeof(untouched));
    head = untouched;
    assert_int_equal(h1_head_parse(NULL, 0, 0, false, &head, &(const char *){NULL}), H1_PARTIAL);
    for (size_t n = 0; n < size; n++) {
        const char *why;
        char *copy = h1_reader_copy(text, n);
        assert_int_equal(h1_head_parse(copy, n, 0, false, &head, &why), H1_PARTIAL);
        assert_memory_equal(&head, &untouched, sizeof(head));
        free(copy);
    }
}

static void test_sizes(void **state)
{
    (void)state;
    struct h1_head head;
    const char *why, *text = OK "A: b\r\nContent-Length: 3\r\n\r\nabc and more than that";
    assert_int_equal(h1_head_parse(text, strlen(text), 0, false, &head, &why), H1_OK);
    assert_int_equal(head.size, strlen(OK "A: b\r\nContent-Length: 3\r\n\r\n"));
    assert_true(str_eq(head.fields, STR("A: b\r\nContent-Length: 3\r\n")));
    assert_ptr_equal(head.fields.p, text + strlen(OK));
}

static void test_fields(void **state)
{
    (void)state;
    struct str name, value,
        fields =
            STR("Server: nginx\r\nX-A:\tb \t\r\nEmpty:\r\nFold: a \r\n\t b\n c\r\nx-a: last\n"),
        rest = fields;
    static const char *const NAMES[] = {"Server", "X-A", "Empty", "Fold", "x-a"};
    static const char *const VALUES[] = {"nginx", "b", "", "a b c", "last"};
    for (size_t i = 0; i < COUNT(NAMES); i++) {
        char unfolded[40];
        assert_true(h1_field_next(&rest, &name, &value));
        assert_true(str_eq(name, str_of(NAMES[i])));
        assert_int_equal(h1_is_folded(value), i == 3);
        size_t n = h1_unfold(value, unfolded);
        assert_true(str_eq((struct str){unfolded, n}, str_of(VALUES[i])));
    }
    assert_false(h1_field_next(&rest, &name, &value));

    assert_true(h1_field_find(fields, STR("x-A"), &value));
    assert_true(str_eq(value, STR("b")));
    assert_false(h1_field_find(fields, STR("X"), &value));
    assert_false(h1_field_find((struct str){NULL, 0}, STR("X"), &value));
}

/* All fields of one name; what looks like one is a folded value, or a longer name. */
static void test_fields_of_a_name(void **state)
{
    (void)state;
    struct str value,
        rest = STR("A:1\r\nAb: 2\r\nF: x\r\n a: no\r\n\tA: no\r\na:\r\n 3\r\nA: 4: 5\r\n");
    assert_true(h1_field_take(&rest, STR("a"), &value) && str_eq(value, STR("1")));
    assert_true(h1_field_take(&rest, STR("a"), &value) && str_eq(value, STR("3")));
    assert_true(h1_field_take(&rest, STR("A"), &value) && str_eq(value, STR("4: 5")));
    assert_false(h1_field_take(&rest, STR("A"), &value));
    rest = STR("A: 4: 5\r\nF:\r\n a: no\r\n");
    assert_false(h1_field_find(rest, STR("A: 4"), &value));
    assert_false(h1_field_find(rest, STR(" a"), &value));
    assert_false(h1_field_find(rest, STR(""), &value));
}

/* Fields that do not end with a line break, or have no colon: no head has them. */
static void test_fields_cut_short(void **state)
{
    (void)state;
    struct str name, value, rest = STR("A: b\r\nC: d");
    assert_true(h1_field_next(&rest, &name, &value) && str_eq(value, STR("b")));
    assert_true(h1_field_next(&rest, &name, &value));
    assert_true(str_eq(name, STR("C")) && str_eq(value, STR("d")));
    assert_int_equal(rest.n, 0);
    rest = STR("A: b\r\n ");
    assert_true(h1_field_next(&rest, &name, &value) && str_eq(value, STR("b")));
    assert_int_equal(rest.n, 0);
    rest = STR("no colon\r\n");
    assert_false(h1_field_next(&rest, &name, &value));
}

/* Names as long as those that are looked at, but for a multiple of 64 bytes. */
static void test_long_names(void **state)
{
    (void)state;
    static const char *const FIELDS[] = {": y", "location: /", "connection: close",
                                         "content-length: x", "transfer-encoding: x"};
    struct buf bytes;
    buf_init(&bytes, BUF_NO_MAX);
    for (size_t i = 0; i < COUNT(FIELDS); i++) {
        struct h1_head head;
        const char *why;
        buf_reset(&bytes);
        buf_add_str(&bytes, STR(OK));
        buf_add_fill(&bytes, 'x', 64);
        buf_add_str(&bytes, str_of(FIELDS[i]));
        buf_add_str(&bytes, STR("\r\nContent-Length: 0\r\n\r\n"));
        assert_int_equal(h1_head_parse(bytes.p, bytes.n, 0, false, &head, &why), H1_OK);
        assert_true(head.keep_alive && head.framing == H1_NO_BODY && !head.has_location);
    }
    buf_fini(&bytes);
}

static void test_unfold_keeps_blanks(void **state)
{
    (void)state;
    char out[16];
    size_t n = h1_unfold(STR("a  b\tc"), out);
    assert_true(str_eq((struct str){out, n}, STR("a  b\tc")));
    n = h1_unfold(STR("a \t"), out);
    assert_true(str_eq((struct str){out, n}, STR("a \t")));
    assert_int_equal(h1_unfold(STR(""), out), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_framing),
        cmocka_unit_test(test_head_request),
        cmocka_unit_test(test_bad_heads),
        cmocka_unit_test(test_every_byte),
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_status_lines),
        cmocka_unit_test(test_leniency),
        cmocka_unit_test(test_keep_alive),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_linear_time),
        cmocka_unit_test(test_partial_writes_nothing),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_fields_of_a_name),
        cmocka_unit_test(test_fields_cut_short),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_unfold_keeps_blanks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
