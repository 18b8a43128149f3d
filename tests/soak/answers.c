#include "answers.h"

#include <stdlib.h>

/* One answer in the making. */
struct job {
    struct answer *answer;
    struct buf *out;
    const struct wish *wish;
    unsigned port;
    struct rng *rng;
};

static unsigned below(const struct job *job, unsigned bound)
{
    return (unsigned)rng_below(job->rng, bound);
}

static const char *one_of(const struct job *job, const char *const *texts, unsigned n)
{
    return texts[below(job, n)];
}
#define ONE_OF(job, texts) one_of(job, texts, sizeof(texts) / sizeof(*(texts)))

static void stop(const struct job *job, enum stop stop, size_t at, unsigned ms)
{
    job->answer->stop = stop;
    job->answer->stop_at = at;
    job->answer->stop_ms = ms;
}

/* ---- good parts ---- */

/* A status line and what most answers have; the log-in's cookie is known by its name again. */
static void begin(const struct job *job, const char *status)
{
    buf_addf(job->out, "HTTP/1.1 %s\r\nContent-Type: application/json\r\n", status);
    if (below(job, 4) == 0)
        buf_addf(job->out, "Set-Cookie: sid=T%llu; Path=/; HttpOnly\r\n",
                 (unsigned long long)job->wish->iteration);
}

static size_t some_size(const struct job *job)
{
    unsigned dice = below(job, 1000);
    if (dice < 850)
        return below(job, 2000);
    return dice < 970 || !job->wish->big ? below(job, 20000) : 60000 + below(job, 300000);
}

static void json(const struct job *job, struct buf *out, size_t pad)
{
    unsigned long long i = job->wish->iteration;
    buf_addf(out,
             "{\"token\":\"T%llu\",\"user\":{\"id\":%llu,\"name\":\"Zo\xc3\xab\",\"roles\":"
             "[\"buyer\",\"seller\"]},\"price\":1.50,\"none\":null,\"pad\":\"",
             i, i);
    buf_add_fill(out, 'x', pad);
    buf_add_str(out, STR("\"}"));
}

/* The rest of an answer with a length; returns where its body begins. */
static size_t finish_length(const struct job *job, size_t pad)
{
    struct buf body;
    buf_init(&body, BUF_NO_MAX);
    json(job, &body, pad);
    buf_addf(job->out, "Content-Length: %zu\r\n\r\n", body.n);
    size_t at = job->out->n;
    if (!job->wish->head)
        buf_add_str(job->out, buf_str(&body));
    buf_fini(&body);
    return at;
}

static size_t finish_chunked(const struct job *job, size_t pad)
{
    struct buf body;
    size_t most = 1 + below(job, 3) * 4000 + below(job, 200);
    buf_init(&body, BUF_NO_MAX);
    json(job, &body, pad);
    buf_add_str(job->out, STR("Transfer-Encoding: chunked\r\n\r\n"));
    size_t begins = job->out->n;
    if (most * 2000 < body.n)
        most = body.n;
    for (size_t at = 0; at < body.n && !job->wish->head; at += most) {
        size_t n = body.n - at < most ? body.n - at : most;
        buf_addf(job->out, below(job, 8) ? "%zx\r\n" : "%zX;note=\"some\"\r\n", n);
        buf_add(job->out, body.p + at, n);
        buf_add_str(job->out, STR("\r\n"));
    }
    if (!job->wish->head)
        buf_add_str(job->out, below(job, 4) ? STR("0\r\n\r\n") : STR("0\r\nX-Sum: 1\r\n\r\n"));
    buf_fini(&body);
    return begins;
}

static size_t finish(const struct job *job, size_t pad)
{
    return below(job, 2) ? finish_length(job, pad) : finish_chunked(job, pad);
}

static size_t simple(const struct job *job)
{
    begin(job, "200 OK");
    return finish(job, some_size(job));
}

/* ---- good answers ---- */

static void good_length(const struct job *job)
{
    begin(job, "200 OK");
    finish_length(job, some_size(job));
}

static void good_chunked(const struct job *job)
{
    begin(job, "200 OK");
    finish_chunked(job, some_size(job));
}

static void until_close(const struct job *job)
{
    begin(job, "200 OK");
    buf_add_str(job->out, STR("\r\n"));
    json(job, job->out, some_size(job));
    job->answer->after = AFTER_CLOSE;
}

static void old_version(const struct job *job)
{
    buf_add_str(job->out, STR("HTTP/1.0 200 OK\r\n"));
    if (below(job, 2))
        buf_add_str(job->out, STR("Connection: keep-alive\r\n"));
    else
        job->answer->after = AFTER_CLOSE;
    finish_length(job, below(job, 500));
}

static void no_body(const struct job *job)
{
    static const char *const heads[] = {
        "204 No Content\r\n\r\n",
        "304 Not Modified\r\nContent-Length: 1000\r\n\r\n",
        "205 Reset Content\r\nContent-Length: 0\r\n\r\n",
        "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    };
    buf_addf(job->out, "HTTP/1.1 %s", ONE_OF(job, heads));
}

static void bad_status(const struct job *job)
{
    static const char *const statuses[] = {
        "400 Bad Request",
        "401 Unauthorized",
        "403 Forbidden",
        "404 Not Found",
        "404",
        "429 Too Many Requests",
        "418 I'm \xf0\x9f\xab\x96",
        "500 Oh no",
        "503 Service Unavailable",
        "520 Our own",
        "999 Beyond",
    };
    begin(job, ONE_OF(job, statuses));
    finish(job, below(job, 300));
}

static void interim(const struct job *job)
{
    for (unsigned n = 1 + below(job, 10); n; n--)
        buf_add_str(job->out, below(job, 2) ? STR("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
                                            : STR("HTTP/1.1 100 Continue\r\n\r\n"));
    stop(job, STOP_WAIT, job->out->n, below(job, 5));
    simple(job);
}

static void drip(const struct job *job)
{
    begin(job, "200 OK");
    finish(job, below(job, 600));
    job->answer->piece = 1 + job->out->n / (1 + below(job, 40));
    job->answer->gap_ms = 1 + below(job, 10);
}

static void stall(const struct job *job)
{
    simple(job);
    stop(job, STOP_WAIT, rng_below(job->rng, job->out->n), 1 + below(job, 200));
}

static void odd_but_legal(const struct job *job)
{
    static const char *const heads[] = {
        "HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
        "HTTP/1.1 200\r\nContent-Length: 2, 2\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\nX-Fold: a\r\n b\r\ncontent-LENGTH:2\r\n\r\n{}",
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n"
         "2\r\n{}\r\n0\r\n\r\n"),
    };
    buf_add_str(job->out, str_of(ONE_OF(job, heads)));
}

static void cookies(const struct job *job)
{
    static const char *const values[] = {
        "a=1",
        "b=1; Domain=example.org",
        "c=2; Path=/users; Secure",
        "=3; Path=/",
        "nothing",
        "d=; Max-Age=0",
        "__Host-e=5",
        "f=\x01",
        "g=g; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
    };
    begin(job, "200 OK");
    for (unsigned n = 1 + below(job, 100); n; n--)
        buf_addf(job->out, "Set-Cookie: %s%s\r\n", below(job, 4) ? "" : "x", ONE_OF(job, values));
    finish(job, below(job, 300));
}

/* ---- ends of connections ---- */

static void closing(const struct job *job)
{
    begin(job, "200 OK");
    buf_add_str(job->out, STR("Connection: close\r\n"));
    finish(job, some_size(job));
    /* Left open by some, so that the client has to close it. */
    job->answer->after = below(job, 2) ? AFTER_CLOSE : AFTER_KEEP;
}

static void idle_close(const struct job *job)
{
    simple(job);
    job->answer->after = AFTER_CLOSE;
    job->answer->after_ms = below(job, 3) ? below(job, 30) : 0;
}

static void idle_reset(const struct job *job)
{
    simple(job);
    job->answer->after = AFTER_RESET;
    job->answer->after_ms = below(job, 30);
}

static size_t somewhere(const struct job *job, size_t body_at)
{
    switch (below(job, 3)) {
    case 0:
        return 0;
    case 1:
        return below(job, (unsigned)body_at);
    default:
        return body_at + rng_below(job->rng, job->out->n - body_at);
    }
}

static void reset(const struct job *job)
{
    size_t body_at = simple(job);
    stop(job, STOP_RESET, somewhere(job, body_at), 0);
}

static void cut_short(const struct job *job)
{
    size_t body_at = simple(job);
    stop(job, STOP_CLOSE, somewhere(job, body_at), 0);
}

static void hang(const struct job *job)
{
    size_t body_at = simple(job);
    stop(job, STOP_WAIT, somewhere(job, body_at), 3000);
}

static void slow_drip(const struct job *job)
{
    simple(job);
    job->answer->piece = 1 + job->out->n / 1000;
    job->answer->gap_ms = 2 + below(job, 40);
}

/* ---- what is no good HTTP ---- */

static void garbage(const struct job *job)
{
    static const char *const banners[] = {
        "220 mail.example.org ESMTP\r\n",
        "\x15\x03\x01\x00\x02\x02\x28",
        "HTTP/5.6 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        "\x1b]52;c;eA==\x07\x1b[2J\r\n\r\n",
        "ICY 200 OK\r\n\r\n",
    };
    if (below(job, 2)) {
        buf_add_str(job->out, str_of(ONE_OF(job, banners)));
    } else {
        for (unsigned n = 1 + below(job, 3000); n; n--)
            buf_add_char(job->out, (char)rng_next(job->rng));
    }
    if (below(job, 2))
        job->answer->after = AFTER_CLOSE;
}

static void bad_head(const struct job *job)
{
    static const char *const fields[] = {
        "Content-Length: -1\r\n",
        "Content-Length: 2x\r\n",
        "Content-Length: 2\r\nContent-Length: 3\r\n",
        "Content-Length: 18446744073709551618\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "No colon\r\n",
        "Space : x\r\n",
        ": empty\r\n",
        "X-Control: \x02\r\n",
        "X-Bare: a\rb\r\n",
    };
    begin(job, "200 OK");
    if (below(job, 8) == 0)
        buf_add(job->out, "X-Nul: \0\r\n", 10);
    else
        buf_add_str(job->out, str_of(ONE_OF(job, fields)));
    buf_add_str(job->out, STR("\r\n{}"));
}

static void bad_chunk(const struct job *job)
{
    static const char *const bodies[] = {
        "zz\r\n",   "\r\n",     "-2\r\n{}\r\n0\r\n\r\n",      "0x2\r\n{}\r\n0\r\n\r\n",
        "2 \r\n{}", "2\r\n{}x", "ffffffffffffffffffff\r\n{}", "2\n{}\r\n0\r\n\r\n",
    };
    begin(job, "200 OK");
    buf_add_str(job->out, STR("Transfer-Encoding: chunked\r\n\r\n"));
    buf_add_str(job->out, str_of(ONE_OF(job, bodies)));
}

/* More is promised than comes, and the connection stays open. */
static void too_little(const struct job *job)
{
    begin(job, "200 OK");
    if (below(job, 2))
        buf_add_str(job->out, STR("Content-Length: 9223372036854775807\r\n\r\n{}"));
    else
        buf_add_str(job->out, STR("Transfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n{}"));
}

/* A whole second response, in the same segment; nobody may take it for his. */
static void poison(const struct job *job)
{
    begin(job, "200 OK");
    finish(job, below(job, 2000));
    buf_add_str(job->out, STR("HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n"
                              "{\"token\":\"POISON\"}"));
}

/* Bytes that come while the connection idles, or instead of the next answer. */
static void late_extra(const struct job *job)
{
    simple(job);
    size_t n = job->out->n;
    buf_add_str(job->out, STR("\x01what nobody asked for\r\n\r\n"));
    stop(job, STOP_WAIT, n, 1 + below(job, 20));
}

static void flood(const struct job *job)
{
    switch (below(job, 3)) {
    case 0:
        for (unsigned n = 0; n < 2000; n++)
            buf_add_str(job->out, STR("HTTP/1.1 100 Continue\r\n\r\n"));
        break;
    case 1:
        begin(job, "200 OK");
        buf_add_str(job->out, STR("X-Long: "));
        buf_add_fill(job->out, 'y', 400000);
        break;
    default:
        begin(job, "200 OK");
        for (unsigned n = 0; n < 6000; n++)
            buf_add_str(job->out, STR("a:b\r\n"));
        break;
    }
}

/* ---- redirects ---- */

static void redirect(const struct job *job)
{
    static const char *const statuses[] = {"301 Moved", "302 Found", "303 See Other",
                                           "307 Temporary Redirect", "308 Permanent Redirect"};
    unsigned hop = job->wish->hop;
    if (hop == 0)
        hop = below(job, 40) ? 1 + below(job, 3) : CIRCLE;
    else if (hop < CIRCLE)
        hop--;
    begin(job, ONE_OF(job, statuses));
    buf_add_str(job->out, STR("Location: "));
    if (below(job, 6) == 0)
        buf_addf(job->out, "http://localhost:%u", job->port);
    buf_addf(job->out, "/moved?i=%llu&hop=%u\r\n", (unsigned long long)job->wish->iteration, hop);
    finish(job, below(job, 300));
}

static void nowhere(const struct job *job)
{
    static const char *const fields[] = {
        "Location: \r\n",
        "Location: ftp://localhost/\r\n",
        "Location: javascript:1\r\n",
        "Location: http://[::1\r\n",
        "Location: https://localhost/\r\n",
        "Location: /a\r\nLocation: /b\r\n",
    };
    begin(job, "302 Found");
    buf_add_str(job->out, str_of(ONE_OF(job, fields)));
    finish(job, 0);
}

/* ---- the choice ---- */

static const struct kind {
    const char *name;
    unsigned weight;
    void (*compose)(const struct job *job);
} kinds[] = {
    {"good, with a length", 5600, good_length},
    {"good, chunked", 2500, good_chunked},
    {"until close", 150, until_close},
    {"HTTP/1.0", 150, old_version},
    {"no body", 150, no_body},
    {"bad status", 150, bad_status},
    {"interim", 80, interim},
    {"drip", 60, drip},
    {"stall", 100, stall},
    {"odd but legal", 60, odd_but_legal},
    {"cookies", 80, cookies},
    {"Connection: close", 120, closing},
    {"idle close", 200, idle_close},
    {"idle reset", 20, idle_reset},
    {"reset", 60, reset},
    {"cut short", 60, cut_short},
    {"hang", 15, hang},
    {"slow drip", 10, slow_drip},
    {"garbage", 60, garbage},
    {"bad head", 60, bad_head},
    {"bad chunk", 60, bad_chunk},
    {"too little", 10, too_little},
    {"second response", 60, poison},
    {"late extra bytes", 40, late_extra},
    {"flood", 15, flood},
    {"redirect", 120, redirect},
    {"redirect to nowhere", 30, nowhere},
};
#define N_KINDS (sizeof(kinds) / sizeof(*kinds))
_Static_assert(N_KINDS < ANSWER_KINDS_MAX, "an index fits");

static unsigned choose(struct rng *rng)
{
    unsigned sum = 0, kind = 0;
    for (unsigned i = 0; i < N_KINDS; i++)
        sum += kinds[i].weight;
    uint64_t dice = rng_below(rng, sum);
    while (dice >= kinds[kind].weight)
        dice -= kinds[kind++].weight;
    return kind;
}

static unsigned kind_of(void (*compose)(const struct job *job))
{
    unsigned kind = 0;
    while (kinds[kind].compose != compose)
        kind++;
    return kind;
}

static void forget(struct answer *answer)
{
    struct buf bytes = answer->bytes;
    buf_reset(&bytes);
    *answer = (struct answer){.bytes = bytes};
}

unsigned answer_compose(struct answer *answer, const struct wish *wish, unsigned port,
                        struct rng *rng)
{
    struct job job = {answer, &answer->bytes, wish, port, rng};
    unsigned kind = choose(rng);
    forget(answer);
    /* A body behind the answer to a HEAD would be somebody else's answer. */
    if (wish->head)
        kind = kind_of(kinds[kind].compose == idle_close ? idle_close : good_length);
    else if (wish->hop > 1)
        kind = kind_of(redirect);
    kinds[kind].compose(&job);
    return kind;
}

void answer_too_large(struct answer *answer)
{
    forget(answer);
    buf_add_str(&answer->bytes, STR("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\n"
                                    "Content-Length: 2\r\n\r\n{}"));
    answer->after = AFTER_CLOSE;
}

const char *answer_kind(unsigned kind)
{
    return kind < N_KINDS ? kinds[kind].name : NULL;
}
