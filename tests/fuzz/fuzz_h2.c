/* links: http base */
/*
 * HTTP/2: users that send requests one after the other over whatever connections the client opens,
 * against a server that says what the script says (script.h).
 *
 * Input: 2 bytes of settings, the script.
 *   bits 0 to 1 the users, 2 the responses are kept, 3 slow writes, 4 requests have bodies, 5 they
 *   may be repeated, 6 two connections at least, 7 SETTINGS come first, unscripted
 *   bytes a read, 0: all
 */
#include "http/client.h"
#include "http/conn.h"
#include "script.h"

#define USERS_MAX 4
#define REQUESTS_MAX 6 /* of a user */
#define MAX_BODY 1000

struct user {
    struct client *client;
    uint8_t how;
    unsigned sent;
    bool busy;
    struct exchange exchange;
    struct response response;
};

static void on_write(struct str bytes)
{
    CHECK(bytes.n > 0);
}

static void on_done(struct exchange *exchange);

static void send_next(struct user *user)
{
    struct exchange *exchange = &user->exchange;
    bool body = user->how & 16;

    if (user->sent == REQUESTS_MAX || (user->sent > 0 && net.script.n == 0))
        return;
    user->sent++;
    user->busy = true;
    exchange->origin = client_origin(user->client, false, STR("s"), 80, true);
    exchange->method = body ? STR("POST") : STR("GET");
    exchange->body = body ? STR("some body") : (struct str){0};
    exchange->head = body ? STR("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n")
                          : STR("GET /a HTTP/1.1\r\nHost: h\r\nX-A: b\r\n\r\n");
    exchange->target = STR("/a");
    exchange->idempotent = user->how & 32;
    exchange->keep = user->how & 4 ? &user->response : NULL;
    exchange->keep_body = true;
    exchange->done = on_done;
    client_send(user->client, exchange, 1);
}

static void on_done(struct exchange *exchange)
{
    struct user *user = (struct user *)(void *)((char *)exchange - offsetof(struct user, exchange));

    CHECK(user->busy && !exchange->conn && !timer_running(&exchange->deadline));
    user->busy = false;
    if (exchange->failure.outcome == OUTCOME_RESPONSE) {
        CHECK(exchange->status >= 200 && exchange->status <= 999);
        CHECK(!exchange->keep || exchange->keep->body.n <= MAX_BODY);
    } else {
        CHECK(exchange->failure.text);
    }
    send_next(user);
}

static void time_passes(void)
{
    struct timer *timer = net.timers.next;

    CHECK(timer != &net.timers);
    timer_stop(timer);
    timer->fire(timer, 1);
}

static void step(struct user *user, unsigned turn)
{
    if (script_says('X')) {
        client_abort(&user->exchange);
        user->busy = false;
        send_next(user);
    } else if (script_says('T')) {
        time_passes();
    } else if (net.n_lookups) {
        script_answer();
    } else if (script_says('I') || net.n_open == 0) {
        time_passes();
    } else {
        struct tcp *tcp = net.open[turn % net.n_open];

        tcp->stream.ready(&tcp->stream, tcp->watcher.interest);
    }
    script_run_tasks();
}

static void run_users(struct user *users, unsigned n)
{
    unsigned turn = 0;
    bool busy = true;

    for (unsigned i = 0; i < n; i++)
        send_next(&users[i]);
    script_run_tasks();
    while (busy) {
        busy = false;
        for (unsigned i = 0; i < n; i++) {
            if (users[i].busy)
                step(&users[i], turn++);
            busy = busy || users[i].busy;
        }
    }
}

static void check_origins(const struct client *client)
{
    for (size_t i = 0; i < sizeof(client->table) / sizeof(*client->table); i++) {
        for (const struct origin *origin = client->table[i]; origin; origin = origin->next) {
            uint32_t open = origin->n_shared;

            for (const struct conn *conn = origin->loose; conn; conn = conn->next)
                open++;
            CHECK(origin->users == open && !origin->waiting);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str script = fuzz_input(data, size);
    uint8_t how = fuzz_byte(&script);
    unsigned n = 1 + (how & 3);
    struct client_options options = {
        .timeout_ns = 1,
        .max_body = MAX_BODY,
        .http = HTTP_2_PRIOR,
        .connections = how & 64 ? 2 : 1,
    };
    struct user users[USERS_MAX];
    struct blocks blocks;
    struct client *client;
    struct buf greeted;

    net.most = fuzz_byte(&script);
    buf_init(&greeted, BUF_NO_MAX);
    if (how & 128)
        buf_add(&greeted, "\0\0\0\4\0\0\0\0\0", 9);
    buf_add_str(&greeted, script);
    script_start(buf_str(&greeted));
    net.slow_writes = how & 8;
    net.on_write = on_write;
    blocks_init(&blocks);
    client = client_new(NULL, &blocks, &options);
    for (unsigned i = 0; i < n; i++) {
        users[i] = (struct user){.client = client, .how = how};
        exchange_init(&users[i].exchange);
        response_init(&users[i].response);
    }
    run_users(users, n);
    check_origins(client);
    client_close(client);
    script_run_tasks();
    client_free(client);
    CHECK(net.n_open == 0 && net.timers.next == &net.timers && net.n_lookups == 0);
    for (unsigned i = 0; i < n; i++) {
        exchange_fini(&users[i].exchange);
        response_fini(&users[i].response);
    }
    blocks_fini(&blocks);
    buf_fini(&greeted);
    return 0;
}
