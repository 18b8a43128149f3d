/* links: http base */
/*
 * Bodies to UTF-8: whatever they are said to be, what comes out is UTF-8.
 *
 * Input: a line with the value of a Content-Type field, the body.
 */
#include "base/text.h"
#include "fuzz.h"
#include "http/charset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str body = fuzz_input(data, size), type = fuzz_until(&body, '\n');
    struct str charset = charset_of(type);
    bool marked = str_starts(body, STR("\xef\xbb\xbf")) || str_starts(body, STR("\xff\xfe")) ||
                  str_starts(body, STR("\xfe\xff")) || str_starts(body, STR("\0\0\xfe\xff"));
    struct buf out, small;

    CHECK(charset.n <= type.n);
    buf_init(&out, BUF_NO_MAX);
    CHECK(charset_to_utf8(body, charset, &out));
    CHECK(utf8_valid(buf_str(&out)));
    /* The most that one byte can become: U+FFFD, or a character of a one-byte charset and marks. */
    CHECK(out.n <= 16 * body.n + 16);
    if (charset_is_utf8(charset) && !marked && utf8_valid(body))
        CHECK(str_eq(buf_str(&out), body));
    buf_init(&small, 64);
    CHECK(charset_to_utf8(body, charset, &small) == (out.n <= 64));
    buf_fini(&small);
    buf_fini(&out);
    return 0;
}
