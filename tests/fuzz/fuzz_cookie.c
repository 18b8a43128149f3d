/* links: http base */
/*
 * A cookie jar through a series of responses and requests: its limits hold, and what it sends is
 * made of what could stand in a header.
 *
 * Input: lines. The first byte of each says what happens: bits 0 to 1 which host, bits 2 to 3 which
 * path, bit 4 https, bit 5 time passes; then the value of a Set-Cookie field, which is read as a
 * date, too.
 */
#include "base/json.h"
#include "base/mem.h"
#include "fuzz.h"
#include "http/cookie.h"

static const char *const hosts[] = {"example.com", "www.example.com", "co.uk", "127.0.0.1"};
static const char *const paths[] = {"/", "/a", "/a/b", "/a/b/c.html"};

static void check_header(struct jar *jar, const struct cookie_place *to, int64_t now_s)
{
    struct buf out;
    unsigned count, pairs = 1;

    buf_init(&out, BUF_NO_MAX);
    buf_add_str(&out, STR("Cookie: "));
    count = jar_header(jar, to, now_s, &out);
    CHECK(out.n - 8 <= COOKIE_HEADER_MAX);
    CHECK((count == 0) == (out.n == 8) && count <= jar->count);
    for (size_t i = 8; i < out.n; i++) {
        unsigned char c = (unsigned char)out.p[i];

        CHECK((c >= ' ' || c == '\t') && c != 0x7f);
        pairs += c == ';';
    }
    CHECK(count == 0 || pairs == count);
    buf_fini(&out);
}

static void check_jar(const struct jar *jar)
{
    struct buf json;
    struct str checked;

    CHECK(jar_empty(jar) == (jar->count == 0));
    buf_init(&json, BUF_NO_MAX);
    jar_json(jar, &json);
    CHECK(json_check(buf_str(&json), &checked) && json_type(checked) == JSON_OBJECT);
    buf_fini(&json);
}

static void respond(struct jar *jar, struct str line, int64_t *now_s)
{
    uint8_t how = fuzz_byte(&line);
    struct cookie_place place = {
        .host = str_of(hosts[how & 3]),
        .path = str_of(paths[how >> 2 & 3]),
        .https = how & 16,
    };
    struct str name = {line.p, str_find(line, '=')}, value;
    unsigned before = jar->count;
    int64_t date;

    if (how & 32)
        *now_s += 3600;
    jar->from_this_response = 0;
    if (!jar_set(jar, line, &place, *now_s))
        CHECK(jar->count == before);
    if (jar_find(jar, str_trim(name), &value))
        CHECK(!jar_empty(jar) && value.n <= COOKIE_BYTES_MAX);
    cookie_date(line, &date);
    check_header(jar, &place, *now_s);
    place.https = true;
    place.path = STR("/a/b/c/d");
    check_header(jar, &place, *now_s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = fuzz_input(data, size);
    struct blocks blocks;
    struct jar jar;
    int64_t now_s = 1700000000;

    blocks_init(&blocks);
    jar_init(&jar, rest.n & 1 ? &blocks : NULL);
    while (rest.n) {
        respond(&jar, fuzz_until(&rest, '\n'), &now_s);
        CHECK(jar.count <= COOKIES_PER_JAR);
    }
    check_jar(&jar);
    jar_clear(&jar);
    CHECK(jar_empty(&jar));
    blocks_fini(&blocks);
    return 0;
}
