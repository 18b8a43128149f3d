/*
 * A client and a scripted server on one loop, so that what happens happens in the same order each
 * time. The server listens on all of 127/8; it takes one answer of the script a request.
 */
#ifndef CLIENT_FIXTURE_H
#define CLIENT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http/client.h"

#define OF(type, member, pointer) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define OK_2 "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

enum then { KEEP, CLOSE, RESET };

struct answer {
    const char *head;
    size_t zeros;     /* bytes of a body behind it, and then … */
    const char *tail; /* … this; NULL: nothing */
    enum then then;
    bool early;   /* as soon as the request's head is there */
    size_t piece; /* bytes a write, one a turn; 0: all at once */
};

#define SERVED_MAX 64

struct served {
    struct watcher watcher;
    struct task go_on;
    struct buf in, out;
    const struct answer *answer;
    bool open, deaf; /* deaf: reads no more */
    unsigned number;
    size_t written;
};

static struct loop *loop;
static struct client *client;
static struct blocks blocks;
static struct jar jar;

static struct watcher listener;
static uint16_t port;
static const struct answer *script;
static size_t script_left;
static struct served served[SERVED_MAX];
static unsigned n_served; /* connections that were accepted */
static char seen[20000];  /* the requests, each "#CONNECTION HEAD+BODY" */

static unsigned idle_bytes_calls, idle_bytes_tag;
static unsigned to_end; /* exchanges until the loop stops */

/* --- the server --- */

static inline void hang_up(struct served *one, bool reset)
{
    struct linger linger = {1, 0};

    if (!one->open)
        return;
    if (reset)
        setsockopt(one->watcher.fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    loop_unwatch(loop, &one->watcher);
    close(one->watcher.fd);
    one->open = false;
    buf_fini(&one->in);
    buf_fini(&one->out);
}

static inline void write_answer(struct served *one)
{
    while (one->open && one->written < one->out.n) {
        size_t left = one->out.n - one->written;
        size_t n = one->answer->piece && one->answer->piece < left ? one->answer->piece : left;
        ssize_t put = send(one->watcher.fd, one->out.p + one->written, n, MSG_NOSIGNAL);

        if (put < 0 && errno == EAGAIN) {
            loop_interest(loop, &one->watcher, LOOP_WRITE);
            return;
        }
        if (put < 0) {
            hang_up(one, false);
            return;
        }
        one->written += (size_t)put;
        if (one->answer->piece && one->written < one->out.n) {
            loop_defer(loop, &one->go_on);
            return;
        }
    }
    if (!one->open)
        return;
    loop_interest(loop, &one->watcher, one->deaf ? 0 : LOOP_READ);
    if (one->answer->then != KEEP)
        hang_up(one, one->answer->then == RESET);
}

static inline void go_on(struct task *task)
{
    write_answer(OF(struct served, go_on, task));
}

static inline size_t length_of_request(const struct served *one, bool *early)
{
    size_t head = 0, length = 0;
    struct str in = buf_str(&one->in);

    while (head + 4 <= in.n && memcmp(in.p + head, "\r\n\r\n", 4) != 0)
        head++;
    if (head + 4 > in.n)
        return 0;
    for (size_t i = 0; i < head; i++) {
        if (str_starts(str_skip(in, i), STR("Content-Length: ")))
            length = strtoul(in.p + i + 16, NULL, 10);
    }
    *early = script_left && script->early;
    return *early ? in.n : in.n >= head + 4 + length ? head + 4 + length : 0;
}

static inline void answer_requests(struct served *one)
{
    bool early = false;
    size_t n = length_of_request(one, &early);

    if (n == 0 || script_left == 0)
        return;
    one->answer = script++;
    script_left--;
    one->deaf = early;
    snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "#%u %.*s", one->number,
             n < 1000 ? (int)n : 1000, one->in.p);
    one->in.n = 0;
    buf_reset(&one->out);
    buf_add_str(&one->out, str_of(one->answer->head));
    buf_add_fill(&one->out, '0', one->answer->zeros);
    buf_add_str(&one->out, str_of(one->answer->tail));
    one->written = 0;
    write_answer(one);
}

static inline void served_ready(struct watcher *watcher, unsigned events)
{
    struct served *one = OF(struct served, watcher, watcher);
    static char bytes[100000];

    if (events & LOOP_WRITE && !(events & LOOP_ERROR)) {
        write_answer(one);
        return;
    }
    ssize_t n = recv(watcher->fd, bytes, sizeof(bytes), 0);
    if (n <= 0) {
        hang_up(one, false);
        return;
    }
    buf_add(&one->in, bytes, (size_t)n);
    answer_requests(one);
}

static inline void accept_one(struct watcher *watcher, unsigned events)
{
    int fd = accept4(watcher->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct served *one = &served[n_served];

    (void)events;
    if (fd < 0)
        return; /* the test of short descriptors: later */
    assert_true(n_served < SERVED_MAX);
    *one = (struct served){.watcher = {.ready = served_ready},
                           .go_on = {.run = go_on},
                           .open = true,
                           .number = ++n_served};
    buf_init(&one->in, BUF_NO_MAX);
    buf_init(&one->out, BUF_NO_MAX);
    assert_true(loop_watch(loop, &one->watcher, fd, LOOP_READ));
}

static inline void serve(const struct answer *answers, size_t n)
{
    script = answers;
    script_left = n;
}
#define SERVE(...)                                        \
    static const struct answer answers[] = {__VA_ARGS__}; \
    serve(answers, COUNT(answers))

static inline int start_server(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    listener = (struct watcher){.ready = accept_one};
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 100) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return -1;
    port = ntohs(address.sin_port);
    return loop_watch(loop, &listener, fd, LOOP_READ) ? 0 : -1;
}

static inline void stop_listening(void)
{
    if (listener.watched) {
        loop_unwatch(loop, &listener);
        close(listener.fd);
    }
}

/* --- the client --- */

static inline void on_idle_bytes(void *ctx, uint32_t tag)
{
    assert_ptr_equal(ctx, &blocks);
    idle_bytes_calls++;
    idle_bytes_tag = tag;
}

static inline void make_client(uint64_t timeout_ns, uint64_t max_body, unsigned max_redirects)
{
    struct client_options options = {.timeout_ns = timeout_ns,
                                     .max_body = max_body,
                                     .max_redirects = max_redirects,
                                     .connections = 1,
                                     .idle_bytes = on_idle_bytes,
                                     .ctx = &blocks};

    if (client)
        client_close(client);
    client_free(client);
    client = client_new(loop, &blocks, &options);
    assert_non_null(client);
}

static inline int make(void **state)
{
    (void)state;
    seen[0] = '\0';
    n_served = idle_bytes_calls = to_end = 0;
    client = NULL;
    blocks_init(&blocks);
    jar_init(&jar, &blocks);
    loop = loop_new();
    if (!loop || start_server() != 0)
        return -1;
    make_client(30 * NS_PER_S, 1 << 20, 10);
    return 0;
}

static inline int unmake(void **state)
{
    (void)state;
    for (unsigned i = 0; i < n_served; i++)
        hang_up(&served[i], false);
    stop_listening();
    client_close(client);
    jar_clear(&jar);
    bool freed = loop_free(loop);
    client_free(client);
    blocks_fini(&blocks);
    return freed ? 0 : -1;
}

struct request {
    struct exchange exchange;
    struct response response;
    char head[2000];
    unsigned ends;
};

static inline void ended(struct exchange *exchange)
{
    struct request *request = OF(struct request, exchange, exchange);

    request->ends++;
    assert_null(exchange->conn);
    assert_false(timer_running(&exchange->deadline));
    if (--to_end == 0)
        loop_stop(loop);
}

static inline void no_end(struct timer *timer, uint64_t now_ns)
{
    (void)timer;
    (void)now_ns;
    fail_msg("no end after a minute; the server saw:\n%s", seen);
}

static inline void run_until_ended(unsigned n)
{
    struct timer guard = {.fire = no_end};

    to_end = n;
    timer_start(loop_timers(loop, 60 * NS_PER_S), &guard, clock_ns());
    loop_run(loop);
    timer_stop(&guard);
}

/* Lets the loop turn a few times without an end to wait for. */
static inline void stop_turning(struct timer *timer, uint64_t now_ns)
{
    (void)timer;
    (void)now_ns;
    loop_stop(loop);
}
static inline void turn(void)
{
    struct timer timer = {.fire = stop_turning};

    to_end = UINT32_MAX;
    timer_start(loop_timers(loop, 20 * NS_PER_MS), &timer, clock_ns());
    loop_run(loop);
}

/* fields: lines of the head beside Host, or "". */
static inline void prepare_at(struct request *request, const char *host, const char *method,
                              const char *target, const char *fields, struct str body)
{
    struct exchange *exchange = &request->exchange;
    int n;

    exchange_init(exchange);
    response_init(&request->response);
    request->ends = 0;
    exchange->origin = client_origin(client, false, str_of(host), port, false);
    exchange->method = str_of(method);
    n = snprintf(request->head, sizeof(request->head), "%s %s HTTP/1.1\r\nHost: %s:%u\r\n%s",
                 method, target, host, port, fields);
    if (body.n)
        n += snprintf(request->head + n, sizeof(request->head) - (size_t)n,
                      "Content-Length: %zu\r\n", body.n);
    n += snprintf(request->head + n, sizeof(request->head) - (size_t)n, "\r\n");
    exchange->head = (struct str){request->head, (size_t)n};
    exchange->target = (struct str){request->head + strlen(method) + 1, strlen(target)};
    exchange->body = body;
    exchange->idempotent = strcmp(method, "POST") != 0;
    exchange->is_head = strcmp(method, "HEAD") == 0;
    exchange->own_cookies = strstr(fields, "Cookie: ") != NULL;
    exchange->jar = &jar;
    exchange->tag = 7;
    exchange->done = ended;
}

static inline void prepare(struct request *request, const char *method, const char *target)
{
    prepare_at(request, "127.0.0.1", method, target, "", (struct str){0});
}

static inline void send_it(struct request *request)
{
    client_send(client, &request->exchange, clock_ns());
    assert_int_equal(request->ends, 0); /* never from within the call */
}

static inline void finish(struct request *request)
{
    exchange_fini(&request->exchange);
    response_fini(&request->response);
}

static inline void send_and_wait(struct request *request)
{
    send_it(request);
    run_until_ended(1);
    assert_int_equal(request->ends, 1);
}

/* What becomes of a GET (or another method without a body). */
static inline struct failure outcome_of(const char *method, const char *target)
{
    struct request request;

    prepare(&request, method, target);
    send_and_wait(&request);
    finish(&request);
    return request.exchange.failure;
}

/* A request that gets a response of that status. */
static inline void expect_status(const char *method, const char *target, unsigned status)
{
    struct request request;

    prepare(&request, method, target);
    send_and_wait(&request);
    if (request.exchange.failure.outcome != OUTCOME_RESPONSE)
        fail_msg("%s: %s", outcome_name(request.exchange.failure.outcome),
                 request.exchange.failure.text ? request.exchange.failure.text : "-");
    assert_int_equal(request.exchange.status, status);
    finish(&request);
}

#define expect_seen(part) check_seen(part, __LINE__)
static inline void check_seen(const char *part, int line)
{
    if (!strstr(seen, part))
        fail_msg("line %d: '%s' is not in:\n%s", line, part, seen);
}

#define CLIENT_TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)

#endif
