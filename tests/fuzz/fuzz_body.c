/* links: http base */
/*
 * Bodies out of their Content-Encoding: whatever the bytes are, decoding ends, within its maximum,
 * and what is not decoded leaves nothing behind.
 *
 * Input: a line with the codings, the body.
 */
#include "fuzz.h"
#include "http/body.h"

#define MAX_BYTES (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str body = fuzz_input(data, size), codings = fuzz_until(&body, '\n');
    struct buf out, small;

    buf_init(&out, MAX_BYTES);
    buf_add_str(&out, STR("before"));
    enum body_result result = body_decode(body, codings, &out);
    CHECK(out.n <= MAX_BYTES);
    CHECK(str_starts(buf_str(&out), STR("before")));
    if (result != BODY_OK)
        CHECK(out.n == 6);
    if (body_is_plain(codings))
        CHECK(result == BODY_OK && str_eq(str_skip(buf_str(&out), 6), body));
    /* A smaller maximum makes it too large, and nothing else. */
    buf_init(&small, 64);
    enum body_result limited = body_decode(body, codings, &small);
    if (result == BODY_OK)
        CHECK(limited == (out.n - 6 <= 64 ? BODY_OK : BODY_TOO_LARGE));
    CHECK(small.n <= 64);
    buf_fini(&small);
    buf_fini(&out);
    return 0;
}
