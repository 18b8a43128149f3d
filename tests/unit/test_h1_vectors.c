/* links: http base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/json.h"
#include "h1_expect.h"

#define VECTORS SOURCE_DIR "/../shared/vectors/h1_responses.json"
#define RANDOM_ROUNDS 5

/* Where our verdict is another than the vector's, and why; docs/http1.md tells it to users. */
static const struct exception {
    const char *id, *ours, *why;
} EXCEPTIONS[] = {
    {"llhttp/connection/HTTP/1.0 with keep-alive and 204 status", "partial",
     "the second response is cut short"},
    {"llhttp/connection/HTTP/1.1 with 204 status", "partial", "the second response is cut short"},
    {"llhttp/connection/HTTP/1.1 with keep-alive disabled and 204 status", "ok",
     "extra bytes do not spoil the response before"},
    {"llhttp/connection/HTTP/1.1 with keep-alive disabled, content-length", "ok",
     "extra bytes do not spoil the response before"},
    {"llhttp/connection/HTTP 304 with Content-Length", "error", "empty line before a status line"},
    {"llhttp/connection/HTTP 100 first, then 400", "error", "empty line before a status line"},
    {"llhttp/pipelining/Should parse multiple events", "error", "empty line before a status line"},
    {"llhttp/sample/Response starting with CRLF", "error", "empty line before a status line"},
    {"pico/chunked/110", "error", "empty line before a status line"},
    {"pico/chunked/111", "error", "empty line before a status line"},
    {"pico/chunked/112", "error", "empty line before a status line"},
    {"pico/chunked/113", "error", "empty line before a status line"},
    {"llhttp/invalid/Invalid space after start line", "partial", "a head cut short is just that"},
    {"llhttp/invalid/Only LFs present and no body", "ok", "bare LF"},
    {"llhttp/invalid/Only LFs present", "ok", "bare LF"},
    {"llhttp/sample/No carriage ret", "ok", "bare LF"},
    {"llhttp/sample/RTSP response", "error", "not HTTP/1"},
    {"llhttp/sample/ICE response", "error", "not HTTP/1"},
    {"curl/test3025", "error", "not HTTP/1"},
    {"llhttp/sample/HTTP version 0.9", "error", "HTTP/0.9"},
    {"curl/test129", "ok", "HTTP/1.2"},
    {"llhttp/transfer-encoding/`chunked` before other transfer-encoding", "error",
     "chunked is not last"},
    {"llhttp/transfer-encoding/multiple transfer-encoding where chunked is not the last one",
     "error", "chunked is not last"},
    {"llhttp/transfer-encoding/`chunkedchunked` transfer-encoding does not enable chunked "
     "enconding",
     "error", "unknown last coding"},
    {"llhttp/transfer-encoding/No extension after semicolon", "ok",
     "chunk extensions are not read"},
    {"llhttp/transfer-encoding/Unbalanced chunk extensions quoting", "partial",
     "the same, and the end is missing"},
    {"pico/chunked/95", "error", "blanks behind a chunk size"},
    {"pico/response/accept multiple spaces between tokens", "error",
     "two blanks before the status"},
    {"curl/test395", "error", "Content-Length past 2^63 - 1"},
    {"curl/test1473", "error", "fold before any field"},
    {"curl/test1154", "ok", "a line of 100 kB is within the head's limit"},
    {"curl/test514", "partial", "the request was HEAD, which the vector does not say"},
    {"curl/test580", "ok", "two Locations are not the parser's business"},
    {"curl/test772", "ok", "two Locations are not the parser's business"},
    {"curl/test30", "partial", "empty reply"},
    {"curl/test37", "partial", "empty reply"},
    {"curl/test587", "partial", "empty reply"},
    {"curl/test207", "partial", "cut short, which curl calls an error"},
    {"curl/test1513", "partial", "cut short, which curl calls an error"},
    {"curl/test1539", "partial", "cut short, which curl calls an error"},
    {"curl/test1555", "partial", "cut short, which curl calls an error"},
    {"curl/test1665", "partial", "cut short, which curl calls an error"},
    {"curl/test1591", "partial", "head cut short, which curl accepts"},
    {"curl/test1598", "partial", "head cut short, which curl accepts"},
    {"curl/test1425", "ok", "curl failed for another reason"},
    {"curl/test1511", "ok", "curl failed for another reason"},
    {"curl/test1533", "ok", "curl failed for another reason"},
};

static bool decode_base64(struct str text, struct buf *out)
{
    static const char ALPHABET[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    unsigned count = 0;
    for (size_t i = 0; i < text.n && text.p[i] != '='; i++) {
        const char *digit = strchr(ALPHABET, text.p[i]);
        if (!digit || *digit == '\0')
            return false;
        bits = bits << 6 | (uint32_t)(digit - ALPHABET);
        count += 6;
        if (count >= 8) {
            count -= 8;
            buf_add_char(out, (char)(bits >> count));
        }
    }
    return true;
}

static void text_of(struct str vector, const char *name, struct buf *out)
{
    struct json_key key = {.text = str_of(name)};
    struct str value;
    buf_reset(out);
    if (json_find(vector, &key, 1, &value))
        json_text(value, out);
}

static const char *verdict_of(const struct h1_reader *reader)
{
    struct str log = buf_str(&reader->log);
    size_t begin = log.n - 1;
    while (begin > 0 && log.p[begin - 1] != '\n')
        begin--;
    log = str_skip(log, begin);
    if (str_starts(log, STR("bad: ")) || str_starts(log, STR("too large: ")))
        return "error";
    if (str_eq(log, STR("partial\n")) || str_eq(log, STR("upgrade\n")))
        return "partial";
    return str_eq(log, STR("end\n")) || str_eq(log, STR("extra\n")) ? "ok" : "wrong";
}

static bool same_events(struct h1_reader *whole, struct str bytes, size_t most, struct rng *rng)
{
    struct h1_reader split;
    h1_reader_run(&split, bytes, most, rng, whole->head_request);
    bool same = str_eq(buf_str(&whole->log), buf_str(&split.log));
    if (!same)
        print_error("whole:\n%.*ssplit:\n%.*s", (int)whole->log.n, whole->log.p, (int)split.log.n,
                    split.log.p);
    h1_reader_fini(&split);
    return same;
}

/* The verdict we stand by: the vector's, unless there is an exception, which is then used up. */
static struct str expected(struct str id, struct str vectors, bool *used)
{
    for (size_t i = 0; i < COUNT(EXCEPTIONS); i++) {
        if (str_eq(id, str_of(EXCEPTIONS[i].id)) && !str_eq(vectors, str_of(EXCEPTIONS[i].ours))) {
            used[i] = true;
            return str_of(EXCEPTIONS[i].ours);
        }
    }
    return vectors;
}

struct vector {
    struct buf id, expect, method, b64, bytes;
};

static bool run_vector(const struct vector *vector, struct str expect, struct rng *rng)
{
    struct h1_reader reader;
    struct str bytes = buf_str(&vector->bytes);
    h1_reader_run(&reader, bytes, 0, NULL, str_eq(buf_str(&vector->method), STR("HEAD")));
    const char *verdict = verdict_of(&reader);
    bool good = str_eq(expect, str_of(verdict));
    if (!good)
        print_error("%.*s: not %.*s but %s\n", (int)vector->id.n, vector->id.p, (int)expect.n,
                    expect.p, verdict);
    good &= same_events(&reader, bytes, 1, NULL);
    for (unsigned i = 0; i < RANDOM_ROUNDS; i++)
        good &= same_events(&reader, bytes, 1 + rng_below(rng, 64), rng);
    h1_reader_fini(&reader);
    return good;
}

static void test_vectors(void **state)
{
    (void)state;
    struct str file, all, one;
    const char *why;
    if (!file_read(VECTORS, 16 << 20, &file, &why)) {
        print_message("%s: %s\n", VECTORS, why);
        skip();
    }
    struct rng rng;
    struct vector vector;
    struct buf *const texts[] = {&vector.id, &vector.expect, &vector.method, &vector.b64,
                                 &vector.bytes};
    bool used[COUNT(EXCEPTIONS)] = {false};
    unsigned failed = 0;

    assert_true(json_check(file, &all));
    rng_seed(&rng, 1);
    for (size_t i = 0; i < COUNT(texts); i++)
        buf_init(texts[i], BUF_NO_MAX);
    struct json_key key = {.index = 0, .is_index = true};
    for (; json_find(all, &key, 1, &one); key.index++) {
        text_of(one, "id", &vector.id);
        text_of(one, "expect", &vector.expect);
        text_of(one, "method", &vector.method);
        text_of(one, "b64", &vector.b64);
        buf_reset(&vector.bytes);
        assert_true(decode_base64(buf_str(&vector.b64), &vector.bytes));
        struct str expect = expected(buf_str(&vector.id), buf_str(&vector.expect), used);
        failed += !run_vector(&vector, expect, &rng);
    }
    for (size_t i = 0; i < COUNT(EXCEPTIONS); i++) {
        if (!used[i])
            print_error("not needed: %s (%s)\n", EXCEPTIONS[i].id, EXCEPTIONS[i].why);
        failed += !used[i];
    }
    for (size_t i = 0; i < COUNT(texts); i++)
        buf_fini(texts[i]);
    xstr_free(file);
    assert_int_equal(failed, 0);
    assert_true(key.index >= 245);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_vectors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
