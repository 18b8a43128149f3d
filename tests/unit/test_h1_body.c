/* links: http base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "h1_expect.h"

static void test_chunks(void **state)
{
    (void)state;
    static const struct events_case CASES[] = {
        CASE(CHUNKED "5\r\nhello\r\n6;a=\"b;c\"\r\n world\r\n0\r\n\r\n",
             CHUNKED_HEAD "body 11 (hello world)\nend\n"),
        CASE(CHUNKED "0a;\r\n\r\n\r\n\r\n\r\n\r\n\r\n000\r\n\r\n",
             CHUNKED_HEAD "body 10 (\r\n\r\n\r\n\r\n\r\n)\nend\n"),
        CASE(CHUNKED "1\r\nx\r\n0\r\nA: b\r\nC:\r\n\r\n" OK "Content-Length: 0\r\n\r\n",
             CHUNKED_HEAD "body 1 (x)\n200 HTTP/1.1 none {Content-Length: 0\r\n}\n"
                          "body 0 ()\nend\n"),
        CASE(CHUNKED "0\r\nExpires: b\r\n\r\n", CHUNKED_HEAD "body 0 ()\nend\n"),
        CASE(CHUNKED "0\r\nA: b\n c\n\n", CHUNKED_HEAD "body 0 lenient ()\nend\n"),
        CASE(CHUNKED "0\r\n\n", CHUNKED_HEAD "body 0 lenient ()\nend\n"),
        CASE(CHUNKED "1\r\nx\r\n0\r\n", CHUNKED_HEAD "partial\n"),
        CASE(CHUNKED "1\r\nx\r\n", CHUNKED_HEAD "partial\n"),
        CASE(CHUNKED "5\r\nhe", CHUNKED_HEAD "partial\n"),
        CASE(CHUNKED "ffffffffffffffff\r\nhe", CHUNKED_HEAD "partial\n"),
        CASE(CHUNKED "00000000000000001\r\nx",
             CHUNKED_HEAD "bad: chunk size of more than 16 digits\n"),
        CASE(CHUNKED "fffffffffffffffff\r\n",
             CHUNKED_HEAD "bad: chunk size of more than 16 digits\n"),
        CASE(CHUNKED "-2\r\n", CHUNKED_HEAD "bad: bad chunk size\n"),
        CASE(CHUNKED "0x2\r\n", CHUNKED_HEAD "bad: bad chunk size\n"),
        CASE(CHUNKED "zz\r\n", CHUNKED_HEAD "bad: bad chunk size\n"),
        CASE(CHUNKED "\r\n", CHUNKED_HEAD "bad: bad chunk size\n"),
        CASE(CHUNKED ";a\r\n", CHUNKED_HEAD "bad: bad chunk size\n"),
        CASE(CHUNKED "0_2e\r\n", CHUNKED_HEAD "bad: bad chunk size\n"),
        CASE(CHUNKED " 2\r\n", CHUNKED_HEAD "bad: bad chunk size\n"),
        CASE(CHUNKED "2 \r\n", CHUNKED_HEAD "bad: bad chunk size\n"),
        CASE(CHUNKED "2 ext\r\n", CHUNKED_HEAD "bad: bad chunk size\n"),
        CASE(CHUNKED "2\nhi\r\n", CHUNKED_HEAD "bad: bad chunk size\n"),
        CASE(CHUNKED "2\rx", CHUNKED_HEAD "bad: chunk size not followed by CR LF\n"),
        CASE(CHUNKED "2;a\nhi", CHUNKED_HEAD "bad: control character in a chunk extension\n"),
        CASE(CHUNKED "2;a\rb", CHUNKED_HEAD "bad: chunk size not followed by CR LF\n"),
        CASE(CHUNKED "2\r\nhi\n", CHUNKED_HEAD "bad: chunk not followed by CR LF\n"),
        CASE(CHUNKED "2\r\nhi\rx", CHUNKED_HEAD "bad: chunk not followed by CR LF\n"),
        CASE(CHUNKED "2\r\nhi0\r\n\r\n", CHUNKED_HEAD "bad: chunk not followed by CR LF\n"),
        CASE(CHUNKED "0\r\n A: b\r\n\r\n", CHUNKED_HEAD "bad: bad byte in a trailer\n"),
        CASE(CHUNKED "0\r\n: b\r\n\r\n", CHUNKED_HEAD "bad: empty trailer name\n"),
        CASE(CHUNKED "0\r\nA b\r\n\r\n", CHUNKED_HEAD "bad: bad byte in a trailer's name\n"),
        CASE(CHUNKED "0\r\nA\r\n\r\n", CHUNKED_HEAD "bad: bad byte in a trailer's name\n"),
        CASE(CHUNKED "0\r\nA: \0\r\n\r\n", CHUNKED_HEAD "bad: NUL byte in the head\n"),
        CASE(CHUNKED "0\r\nA: b\rc\r\n\r\n", CHUNKED_HEAD "bad: CR without LF in the head\n"),
        CASE(CHUNKED "0\r\n\rX", CHUNKED_HEAD "bad: CR without LF in the head\n"),
    };
    expect_all(CASES, COUNT(CASES), false);
}

static void test_limits(void **state)
{
    (void)state;
    const char *line = "too large: chunk line longer than 4 KiB\n";
    expect_repeated(CHUNKED "1;", "a", H1_CHUNK_LINE_MAX - 4, "\r\nx\r\n0\r\n\r\n", "end\n");
    expect_repeated(CHUNKED "1;", "a", H1_CHUNK_LINE_MAX - 3, "\r\nx\r\n0\r\n\r\n", line);
    expect_repeated(CHUNKED "1;", "a", 1 << 20, "", line);
    expect_repeated(CHUNKED "0\r\nA: ", "a", H1_TRAILERS_MAX - 7, "\r\n\r\n", "body 0 ()\nend\n");
    expect_repeated(CHUNKED "0\r\nA: ", "a", H1_TRAILERS_MAX - 6, "\r\n\r\n",
                    "too large: trailers larger than 64 KiB\n");
    expect_repeated(CHUNKED "0\r\n", "a:b\r\n", H1_FIELDS_MAX, "\r\n", "body 0 ()\nend\n");
    expect_repeated(CHUNKED "0\r\n", "a:b\r\n", H1_FIELDS_MAX + 1, "\r\n",
                    "too large: more than 5000 trailers\n");
}

/* In a time that is not linear, this would not end. */
static void test_linear_time(void **state)
{
    (void)state;
    expect_repeated(CHUNKED, "1\r\nx\r\n", 1000000, "0\r\n\r\n", "x)\nend\n");
}

static void test_discarding(void **state)
{
    (void)state;
    struct h1_head head = {.framing = H1_LENGTH, .length = 10};
    struct h1_body body;
    struct str piece;
    size_t used;
    const char *why;

    h1_body_init(&body, &head);
    assert_int_equal(h1_body_certain(&body), 10);
    assert_false(h1_body_skip(&body, 4));
    assert_int_equal(h1_body_feed(&body, "abc", 3, &used, &piece, &why), H1_BODY_DATA);
    assert_int_equal(h1_body_certain(&body), 3);
    assert_false(h1_body_at_eof(&body));
    assert_true(h1_body_skip(&body, 3));
    assert_true(h1_body_at_eof(&body));
    assert_int_equal(h1_body_certain(&body), 0);
    assert_int_equal(h1_body_feed(&body, "x", 1, &used, &piece, &why), H1_BODY_DONE);
    assert_int_equal(used, 0);

    head.framing = H1_CHUNKED;
    h1_body_init(&body, &head);
    assert_int_equal(h1_body_certain(&body), 0);
    assert_int_equal(h1_body_feed(&body, "5\r\n", 3, &used, &piece, &why), H1_BODY_MORE);
    assert_int_equal(h1_body_certain(&body), 5);
    assert_false(h1_body_skip(&body, 5));
    assert_int_equal(h1_body_certain(&body), 0);
    assert_int_equal(h1_body_feed(&body, "\r\n0\r\n\r\n?", 8, &used, &piece, &why), H1_BODY_DONE);
    assert_int_equal(used, 7);
    assert_int_equal(piece.n, 0);

    h1_body_init(&body, &head);
    h1_body_feed(&body, "ffffffffffffffff\r\n", 18, &used, &piece, &why);
    assert_true(h1_body_certain(&body) < UINT64_MAX);

    head.framing = H1_UNTIL_CLOSE;
    h1_body_init(&body, &head);
    assert_true(h1_body_certain(&body) == UINT64_MAX);
    assert_false(h1_body_skip(&body, 1 << 20));
    assert_true(h1_body_at_eof(&body));

    head = (struct h1_head){.framing = H1_LENGTH, .length = 0};
    h1_body_init(&body, &head);
    assert_true(h1_body_skip(&body, 0));

    head.framing = H1_NO_BODY;
    h1_body_init(&body, &head);
    assert_true(h1_body_skip(&body, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_linear_time),
        cmocka_unit_test(test_discarding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
