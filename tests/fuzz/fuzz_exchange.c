/* links: http base */
/*
 * Requests from client_send to done, through redirects, cookies, idle connections and what can go
 * wrong, over a scripted network, each sent from within the `done` of the one before; then the same
 * with one byte a read, which must not change what becomes of the first request.
 *
 * Input: 4 bytes of settings, the script (script.h).
 *   bits 0 to 1 the method, 2 the response is kept, 3 there is a cookie jar, 4 slow writes, 5 the
 *   request has cookies of its own, 6 to 7 redirects allowed
 *   bytes a read, 0: all
 *   --max-body in units of 16, 0: 1 MiB, 255: bodies are not kept
 *   bit 0 two users at once
 */
#include "http/client.h"
#include "http/conn.h"
#include "script.h"

#define USERS_MAX 2
#define REQUESTS_MAX 4 /* of a user */

struct settings {
    uint8_t how;
    size_t most;
    uint64_t max_body;
    bool keep_body;
    unsigned users;
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

    /* What is left of a head after a slow write may begin with anything. */
    for (size_t i = 0; !net.slow_writes && i < sizeof(methods) / sizeof(*methods); i++)
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

/* Sends its requests one after the other, as a virtual user does. */
struct user {
    const struct settings *settings;
    struct client *client;
    unsigned sent;
    bool busy;
    struct exchange exchange;
    struct buf head;
    struct jar jar;
    struct response response;
    struct result first;
};

static void write_head(struct user *user, unsigned method)
{
    struct buf *head = &user->head;

    buf_reset(head);
    buf_add_str(head, methods[method].method);
    buf_add_str(head, STR(" /a/b?c HTTP/1.1\r\n" FIELDS));
    if (methods[method].body.n)
        buf_add_str(head, STR("Content-Length: 9\r\n"));
    if (user->settings->how & 32)
        buf_add_str(head, STR("Cookie: own=1\r\n"));
    buf_add_str(head, STR("\r\n"));
}

static void on_done(struct exchange *exchange);

/* Its next request, unless it has sent them all or the script is over. */
static void send_next(struct user *user)
{
    struct exchange *exchange = &user->exchange;
    uint8_t how = user->settings->how;
    unsigned method = how & 3;

    if (user->sent == REQUESTS_MAX || (user->sent > 0 && net.script.n == 0))
        return;
    user->sent++;
    user->busy = true;
    write_head(user, method);
    exchange->origin = client_origin(user->client, false, STR("h"), 80, true);
    exchange->method = methods[method].method;
    exchange->body = methods[method].body;
    exchange->idempotent = methods[method].idempotent;
    exchange->is_head = method == 1;
    exchange->target = STR("/a/b?c");
    exchange->head = buf_str(&user->head);
    exchange->own_cookies = how & 32;
    exchange->jar = how & 8 ? &user->jar : NULL;
    exchange->keep = how & 4 ? &user->response : NULL;
    exchange->keep_body = user->settings->keep_body;
    exchange->tag = user->sent;
    exchange->done = on_done;
    client_send(user->client, exchange, 1);
}

static void check_result(const struct exchange *exchange, const struct settings *settings)
{
    const struct response *kept = exchange->keep;
    struct str name, value, fields;

    CHECK(!exchange->conn && !timer_running(&exchange->deadline));
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

static void remember_first(struct user *user)
{
    const struct exchange *exchange = &user->exchange;
    struct result *first = &user->first;

    first->moved = exchange->notes.redirects || exchange->notes.reconnects;
    first->failure = exchange->failure;
    first->status = exchange->status;
    first->response.status = user->response.status;
    buf_add_str(&first->response.fields, buf_str(&user->response.fields));
    buf_add_str(&first->response.body, buf_str(&user->response.body));
    buf_add_str(&first->response.url, buf_str(&user->response.url));
}

static void on_done(struct exchange *exchange)
{
    struct user *user = (struct user *)(void *)((char *)exchange - offsetof(struct user, exchange));

    CHECK(user->busy);
    user->busy = false;
    check_result(exchange, user->settings);
    if (user->sent == 1)
        remember_first(user);
    send_next(user);
}

static void on_idle_bytes(void *ctx, uint32_t tag)
{
    (void)ctx;
    CHECK(tag > 0 && tag <= REQUESTS_MAX);
}

static void idle_ready(void)
{
    struct tcp *open[SCRIPT_OPEN_MAX];
    unsigned n = net.n_open;

    memcpy(open, net.open, sizeof(open));
    for (unsigned i = 0; i < n; i++) {
        const struct conn *conn =
            (const struct conn *)(const void *)((char *)open[i] - offsetof(struct conn, tcp));

        if (conn->state == CONN_IDLE)
            open[i]->stream.ready(&open[i]->stream, LOOP_READ);
    }
}

static void time_passes(void)
{
    struct timer *timer = net.timers.next;

    CHECK(timer != &net.timers);
    timer_stop(timer);
    timer->fire(timer, 1);
}

/* One thing that can happen while the user waits. */
static void step(struct user *user)
{
    struct tcp *tcp = &user->exchange.conn->tcp;

    if (script_says('X')) {
        client_abort(&user->exchange);
        user->busy = false;
        user->first.aborted |= user->sent == 1;
        send_next(user);
    } else if (script_says('T')) {
        time_passes();
    } else if (script_says('I')) {
        idle_ready();
    } else if (net.n_lookups) {
        script_answer();
    } else {
        tcp->stream.ready(&tcp->stream, tcp->watcher.interest);
    }
    script_run_tasks();
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

static void user_init(struct user *user, const struct settings *settings, struct client *client)
{
    *user = (struct user){.settings = settings, .client = client};
    exchange_init(&user->exchange);
    buf_init(&user->head, BUF_NO_MAX);
    jar_init(&user->jar, client->blocks);
    response_init(&user->response);
    response_init(&user->first.response);
}

static void user_fini(struct user *user)
{
    exchange_fini(&user->exchange);
    buf_fini(&user->head);
    jar_clear(&user->jar);
    response_fini(&user->response);
    response_fini(&user->first.response);
}

static void run_users(struct user *users, unsigned n)
{
    bool busy = true;

    for (unsigned i = 0; i < n; i++)
        send_next(&users[i]);
    script_run_tasks();
    while (busy) {
        busy = false;
        for (unsigned i = 0; i < n; i++) {
            if (users[i].busy)
                step(&users[i]);
            busy = busy || users[i].busy;
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
        .http = HTTP_1_1,
        .tls = {.cacert = "/dev/null"}, /* there is no TLS here: https fails at once */
        .idle_bytes = on_idle_bytes,
    };
    struct user users[USERS_MAX];
    struct blocks blocks;
    struct client *client;

    script_start(script);
    net.most = settings->most;
    net.slow_writes = settings->how & 16;
    net.on_write = check_written;
    blocks_init(&blocks);
    client = client_new(NULL, &blocks, &options);
    for (unsigned i = 0; i < settings->users; i++)
        user_init(&users[i], settings, client);
    run_users(users, settings->users);
    check_origins(client);
    client_close(client);
    script_run_tasks();
    client_free(client);
    CHECK(net.n_open == 0 && net.timers.next == &net.timers && net.n_lookups == 0);
    *first = users[0].first;
    response_init(&users[0].first.response);
    for (unsigned i = 0; i < settings->users; i++)
        user_fini(&users[i]);
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
    settings.users = 1 + (fuzz_byte(&script) & 1);
    play(script, &settings, &as_told);
    settings.most = 1;
    play(script, &settings, &single);
    /* With slow writes it is chance how much of the request went out before the answer; with two
     * users, whose bytes are whose. */
    if (!as_told.moved && !single.moved && !(settings.how & 16) && settings.users == 1)
        check_same(&as_told, &single);
    response_fini(&as_told.response);
    response_fini(&single.response);
    return 0;
}
