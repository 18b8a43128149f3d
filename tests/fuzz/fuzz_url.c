/* links: base */
/*
 * URLs: what url_parse gives must parse to itself, hold no byte that does not belong on the wire,
 * and agree with url_target; credentials must be hidden.
 *
 * Input: a URL, and behind a NUL a reference to be resolved against it.
 */
#include "base/url.h"
#include "fuzz.h"

struct parsed {
    struct buf text;
    struct url url;
    bool ok;
};

static struct parsed parse(struct str text, const struct url *base)
{
    struct parsed parsed;

    buf_init(&parsed.text, 4 * URL_MAX);
    parsed.ok = url_parse(text, base, &parsed.text, &parsed.url) == URL_OK;
    return parsed;
}

static void check_same(const struct url *a, const struct url *b)
{
    CHECK(str_eq(a->href, b->href));
    CHECK(a->https == b->https && a->port == b->port && a->port_given == b->port_given);
    CHECK(str_eq(a->username, b->username) && str_eq(a->password, b->password));
    CHECK(str_eq(a->host, b->host) && str_eq(a->target, b->target) && str_eq(a->path, b->path));
    CHECK(a->has_fragment == b->has_fragment && str_eq(a->fragment, b->fragment));
}

static void check_url(const struct url *url)
{
    struct parsed again;

    for (size_t i = 0; i < url->href.n; i++)
        CHECK(url->href.p[i] > ' ' && url->href.p[i] < 0x7f);
    CHECK(url->host.n > 0 && url->path.n > 0 && url->path.p[0] == '/');
    CHECK(str_starts(url->target, url->path) && str_find(url->target, '#') == url->target.n);
    if (url->href.n > URL_MAX)
        return;
    again = parse(url->href, NULL);
    CHECK(again.ok);
    check_same(url, &again.url);
    buf_fini(&again.text);
}

/* The rest of a URL behind "http://h", by both ways. */
static void check_target(struct str text)
{
    struct buf whole, target;
    struct parsed parsed;
    bool rooted = text.n > 0 && (text.p[0] == '/' || text.p[0] == '\\');

    buf_init(&whole, BUF_NO_MAX);
    buf_init(&target, 4 * URL_MAX);
    buf_add_str(&whole, STR("http://h"));
    buf_add_str(&whole, text);
    CHECK(url_target(text, &target) == rooted);
    if (rooted) {
        parsed = parse(buf_str(&whole), NULL);
        CHECK(parsed.ok && str_eq(parsed.url.target, buf_str(&target)));
        buf_fini(&parsed.text);
    }
    buf_fini(&whole);
    buf_fini(&target);
}

static void check_hidden(struct str text, const struct url *url)
{
    struct buf hidden;
    struct parsed again;

    buf_init(&hidden, BUF_NO_MAX);
    url_hide_credentials(text, &hidden);
    again = parse(buf_str(&hidden), NULL);
    CHECK(again.ok && str_eq(again.url.host, url->host));
    CHECK(again.url.password.n == 0);
    CHECK(again.url.username.n == 0 || str_eq(again.url.username, STR("***")));
    CHECK(again.url.username.n > 0 || url->username.n + url->password.n == 0);
    buf_fini(&again.text);
    buf_fini(&hidden);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = fuzz_input(data, size), text = fuzz_until(&rest, '\0');
    struct parsed base = parse(text, NULL), joined;
    struct buf decoded;

    if (base.ok) {
        check_url(&base.url);
        check_hidden(text, &base.url);
        joined = parse(rest, &base.url);
        if (joined.ok)
            check_url(&joined.url);
        buf_fini(&joined.text);
    }
    if (size < URL_MAX - 8) {
        check_target(text);
        check_target(rest);
    }
    buf_init(&decoded, BUF_NO_MAX);
    CHECK(url_decode(rest, &decoded) && decoded.n <= rest.n);
    buf_fini(&decoded);
    buf_fini(&base.text);
    return 0;
}
