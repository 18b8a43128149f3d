/* links: http */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "http/h1_memo.h"

#define HEAD                                                                          \
    "HTTP/1.1 200 OK\r\nDate: Mon, 06 Jul 2026 09:30:00 GMT\r\nContent-Length: 5\r\n" \
    "Set-Cookie: a=b\r\n\r\n"
#define SIZE (sizeof HEAD - 1)

/* Parses and keeps. */
static struct h1_head keep(struct h1_memo *memo, const char *data, size_t n, bool head_request)
{
    struct h1_head head;
    const char *why = NULL;
    assert_int_equal(h1_head_parse(data, n, 0, head_request, &head, &why), H1_OK);
    h1_memo_keep(memo, data, head_request, &head);
    return head;
}

static void test_nothing_kept(void **state)
{
    struct h1_memo memo = {0};
    (void)state;
    assert_null(h1_memo_find(&memo, HEAD, SIZE, false));
    assert_null(h1_memo_find(&memo, "", 0, false));
}

static void test_same_head_is_found(void **state)
{
    struct h1_memo memo = {0};
    char first[] = HEAD "hello", second[] = HEAD "bodies";
    struct h1_head parsed = keep(&memo, first, sizeof first - 1, false);
    (void)state;
    memset(first, 'x', sizeof first); /* nothing points there */
    const struct h1_head *found = h1_memo_find(&memo, second, sizeof second - 1, false);
    assert_non_null(found);
    assert_int_equal(found->status, 200);
    assert_int_equal(found->framing, H1_LENGTH);
    assert_int_equal(found->length, 5);
    assert_int_equal(found->size, SIZE);
    assert_true(found->keep_alive);
    assert_true(found->has_set_cookie);
    assert_int_equal(found->fields.n, parsed.fields.n);
    assert_memory_equal(found->fields.p, second + (SIZE - 2 - parsed.fields.n), parsed.fields.n);
}

static void test_each_byte_matters(void **state)
{
    struct h1_memo memo = {0};
    char data[] = HEAD;
    (void)state;
    keep(&memo, data, SIZE, false);
    for (size_t i = 0; i < SIZE; i++) {
        data[i] ^= 1;
        assert_null(h1_memo_find(&memo, data, SIZE, false));
        data[i] ^= 1;
        assert_null(h1_memo_find(&memo, data, i, false)); /* a head cut short */
    }
    assert_non_null(h1_memo_find(&memo, data, SIZE, false));
}

/* The answer to HEAD has no body. */
static void test_kind_of_request_matters(void **state)
{
    struct h1_memo memo = {0};
    (void)state;
    keep(&memo, HEAD, SIZE, true);
    assert_null(h1_memo_find(&memo, HEAD, SIZE, false));
    assert_int_equal(h1_memo_find(&memo, HEAD, SIZE, true)->framing, H1_NO_BODY);
}

static void test_large_head_is_not_kept(void **state)
{
    struct h1_memo memo = {0};
    char large[H1_MEMO_BYTES + 1];
    (void)state;
    for (size_t n = H1_MEMO_BYTES; n <= sizeof large; n++) {
        memset(large, 'a', n);
        memcpy(large, "HTTP/1.1 204 ", 13);
        memcpy(large + n - 4, "\r\n\r\n", 4);
        keep(&memo, large, n, false);
        assert_int_equal(h1_memo_find(&memo, large, n, false) != NULL, n == H1_MEMO_BYTES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_kept),
        cmocka_unit_test(test_same_head_is_found),
        cmocka_unit_test(test_each_byte_matters),
        cmocka_unit_test(test_kind_of_request_matters),
        cmocka_unit_test(test_large_head_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
