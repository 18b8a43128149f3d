/* links: http base */
/*
 * Requests from client_send to done, through redirects, cookies, idle connections and what can go
 * wrong, over a scripted network; then the same with one byte a read, which must not change what
 * becomes of the first request.
 *
 * Input: 1 byte (bits 0 to 1 the method, 2 the response is kept, 3 there is a cookie jar, 4 slow
 * writes, 5 the request has cookies of its own, 6 to 7 redirects allowed), 1 byte (bytes a read, 0:
 * all), 1 byte (--max-body in units of 16, 0: 1 MiB, 255: bodies are not kept), the script
 * (script.h).
 */
#include "http/client.h"
#include "http/conn.h"
#include "script.h"

#define EXCHANGES_MAX 4

struct settings {
    uint8_t how;
    size_t most;
    uint64_t max_body;
    bool keep_body;
};

/* What became of an exchange, as far as it does not depend on time or on how bytes came. */
struct result {
    bool aborted, moved; /* it took more than one connection */
    struct failure failure;
    uint16_t status;
    struct response response;
};

static const struct {
    struct str method, body;
    bool idempotent;
} methods[] = {
    {{"GET", 3}, {"", 0}, true},
    {{"HEAD", 4}, {"", 0}, true},
    {{"POST", 4}, {"some body", 9}, false},
    {{"PUT", 3}, {"some body", 9}, true},
};

#define FIELDS "Host: h\r\nAuthorization: Basic dTpw\r\nContent-Type: text/plain\r\nX-A: b\r\n"
#define MAX_LINES 8 /* those, and Content-Length, Cookie, the request line, the empty line */

/* Nothing that a server says may add a line to a request. */
static void check_written(struct str bytes)
{
    unsigned lines = 0, blanks = 0;
    bool whole = false;

    for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
        whole = whole || str_starts(bytes, methods[i].method);
    for (size_t i = 0; i < bytes.n; i++) {
        char c = bytes.p[i];

        CHECK((unsigned char)c >= ' ' || c == '\r' || c == '\n' || c == '\t');
        CHECK(c != '\r' || (i + 1 < bytes.n && bytes.p[i + 1] == '\n'));
        CHECK(c != '\n' || i == 0 || bytes.p[i - 1] == '\r');
        blanks += c == ' ' && lines == 0;
        lines += c == '\n';
    }
    CHECK(lines <= MAX_LINES);
    CHECK(!whole || blanks == 2);
}

static unsigned times_done;

static void on_done(struct exchange *exchange)
{
    (void)exchange;
    times_done++;
}

static void on_idle_bytes(void *ctx, uint32_t tag)
{
    (void)ctx;
    CHECK(tag > 0 && tag <= EXCHANGES_MAX);
}

static void idle_ready(void)
{
    struct tcp *open[SCRIPT_OPEN_MAX];
    unsigned n = net.n_open;

    memcpy(open, net.open, sizeof(open));
    for (unsigned i = 0; i < n; i++)
        open[i]->stream.ready(&open[i]->stream, LOOP_READ);
    script_run_tasks();
}

/* Until it is done; true if it was given up instead. */
static bool drive(struct exchange *exchange)
{
    times_done = 0;
    for (;;) {
        script_run_tasks();
        if (times_done)
            return false;
        if (script_says('X')) {
            client_abort(exchange);
            return true;
        }
        if (script_says('T')) {
            struct timer *timer = net.timers.next;

            CHECK(timer == &exchange->deadline);
            timer_stop(timer);
            timer->fire(timer, 1);
        } else if (net.lookup) {
            script_answer();
        } else {
            struct tcp *tcp = &exchange->conn->tcp;

            tcp->stream.ready(&tcp->stream, tcp->watcher.interest);
        }
    }
}

static void check_result(const struct exchange *exchange, const struct settings *settings)
{
    const struct response *kept = exchange->keep;
    struct str name, value, fields;

    CHECK(times_done == 1 && !exchange->conn && !timer_running(&exchange->deadline));
    CHECK(exchange->hops <= settings->how >> 6 && exchange->final_target.p[0] == '/');
    if (exchange->failure.outcome != OUTCOME_RESPONSE)
        return;
    CHECK(exchange->status >= 200);
    if (!kept)
        return;
    CHECK(kept->status == exchange->status && kept->body.n <= settings->max_body);
    CHECK(str_starts(buf_str(&kept->url), STR("http://")));
    for (fields = buf_str(&kept->fields); h1_field_next(&fields, &name, &value);)
        CHECK(name.n > 0);
}

/* One exchange to the end. Its response stays in *response. */
static void exchange_once(struct client *client, const struct settings *settings, struct jar *jar,
                          uint32_t tag, struct result *result)
{
    unsigned method = settings->how & 3;
    struct exchange exchange;
    struct buf head;

    buf_init(&head, BUF_NO_MAX);
    buf_add_str(&head, methods[method].method);
    buf_add_str(&head, STR(" /a/b?c HTTP/1.1\r\n" FIELDS));
    if (methods[method].body.n)
        buf_add_str(&head, STR("Content-Length: 9\r\n"));
    if (settings->how & 32)
        buf_add_str(&head, STR("Cookie: own=1\r\n"));
    buf_add_str(&head, STR("\r\n"));
    exchange_init(&exchange);
    exchange.origin = client_origin(client, false, STR("h"), 80, true);
    exchange.method = methods[method].method;
    exchange.body = methods[method].body;
    exchange.idempotent = methods[method].idempotent;
    exchange.is_head = method == 1;
    exchange.target = STR("/a/b?c");
    exchange.head = buf_str(&head);
    exchange.own_cookies = settings->how & 32;
    exchange.jar = settings->how & 8 ? jar : NULL;
    exchange.keep = settings->how & 4 ? &result->response : NULL;
    exchange.keep_body = settings->keep_body;
    exchange.tag = tag;
    exchange.done = on_done;
    client_send(client, &exchange, 1);
    result->aborted = drive(&exchange);
    if (!result->aborted)
        check_result(&exchange, settings);
    result->moved = exchange.notes.redirects || exchange.notes.reconnects;
    result->failure = exchange.failure;
    result->status = exchange.status;
    exchange_fini(&exchange);
    buf_fini(&head);
}

/* Nobody but idle connections uses an origin any more. */
static void check_origins(const struct client *client)
{
    for (size_t i = 0; i < sizeof(client->table) / sizeof(*client->table); i++) {
        for (const struct origin *origin = client->table[i]; origin; origin = origin->next) {
            uint32_t idle = 0;

            for (const struct conn *conn = origin->idle; conn; conn = conn->next)
                idle++;
            CHECK(origin->users == idle);
        }
    }
}

/* Plays the script; *first is what became of the first exchange. */
static void play(struct str script, const struct settings *settings, struct result *first)
{
    struct client_options options = {
        .timeout_ns = 1,
        .max_body = settings->max_body,
        .max_redirects = settings->how >> 6,
        .idle_bytes = on_idle_bytes,
    };
    struct blocks blocks;
    struct jar jar;
    struct client *client;
    struct result other;

    script_start(script);
    net.most = settings->most;
    net.slow_writes = settings->how & 16;
    net.on_write = check_written;
    blocks_init(&blocks);
    jar_init(&jar, &blocks);
    client = client_new(NULL, &blocks, &options);
    response_init(&first->response);
    response_init(&other.response);
    for (uint32_t tag = 1; tag <= EXCHANGES_MAX && (tag == 1 || net.script.n); tag++) {
        exchange_once(client, settings, &jar, tag, tag == 1 ? first : &other);
        script_run_tasks();
        check_origins(client);
        if (script_says('I'))
            idle_ready();
    }
    client_free(client);
    script_run_tasks();
    CHECK(net.n_open == 0 && net.timers.next == &net.timers && !net.lookup);
    response_fini(&other.response);
    jar_clear(&jar);
    blocks_fini(&blocks);
}

static void check_same(const struct result *a, const struct result *b)
{
    CHECK(a->aborted == b->aborted);
    if (a->aborted)
        return;
    CHECK(a->failure.outcome == b->failure.outcome && a->failure.where == b->failure.where);
    CHECK(str_eq(str_of(a->failure.text), str_of(b->failure.text)));
    CHECK(a->status == b->status);
    CHECK(a->response.status == b->response.status);
    CHECK(str_eq(buf_str(&a->response.fields), buf_str(&b->response.fields)));
    CHECK(str_eq(buf_str(&a->response.url), buf_str(&b->response.url)));
    if (a->failure.outcome == OUTCOME_RESPONSE)
        CHECK(str_eq(buf_str(&a->response.body), buf_str(&b->response.body)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str script = fuzz_input(data, size);
    struct settings settings = {.how = fuzz_byte(&script)};
    struct result as_told, single;
    uint8_t units;

    settings.most = fuzz_byte(&script);
    units = fuzz_byte(&script);
    settings.max_body = units ? units * 16u : 1 << 20;
    settings.keep_body = units != 255;
    play(script, &settings, &as_told);
    settings.most = 1;
    play(script, &settings, &single);
    /* With slow writes it is chance how much of the request went out before the answer. */
    if (!as_told.moved && !single.moved && !(settings.how & 16))
        check_same(&as_told, &single);
    response_fini(&as_told.response);
    response_fini(&single.response);
    return 0;
}
