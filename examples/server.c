/*
 * A small web shop to point the example plans at. It listens on 127.0.0.1 only and keeps nothing
 * but the newest orders, so that it can be loaded for as long as one likes.
 *
 *   GET  /health                 {"status":"ok"}
 *   GET  /api/users?page=N       20 users a page, pages 1 to 5
 *   GET  /api/users/ID           one user, IDs 1 to 100
 *   GET  /api/account            an account that anybody may see
 *   POST /api/login              user and password as form or JSON: a token, and a cookie with it
 *                                (the password of ada is secret-ada, and so on)
 *   GET  /api/me                 the user of the cookie or of Authorization: Bearer TOKEN
 *   POST /api/orders             {"item":"tea","quantity":2}: 201 with Location
 *   GET  /api/orders             how many there were, and the newest 20
 *   GET  /api/orders/ID          one of the newest 1,024
 *   GET  /slow?ms=N              answers after N milliseconds (100), at most 60,000
 *   GET  /flaky?every=N          every N-th (10th) request gets a 503
 *   GET  /redirect?to=/P&code=C  a redirect (302) to a path of this server
 *   GET  /redirect/N             N redirects, one after the other
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "server.h"

enum {
    DEFAULT_PORT = 9000,
    SLOW_MAX_MS = 60000,
    EVERY_MAX = 1000000,
    REDIRECTS_MAX = 100,
    BODY_MAX = 8192,
    CONNECTIONS_MAX = 20000,
    DESCRIPTORS_SPARE = 64,
    IDLE_TIMEOUT_S = 300,
    BACKLOG = 4096,
    THREADS_MAX = 64,
};

struct sleeper {
    uint64_t until_ns;
    struct MHD_Connection *connection;
};

/* The body of a POST until it has been answered. */
struct upload {
    size_t n;
    bool too_big;
    char bytes[BODY_MAX];
};

static struct MHD_Response *home, *health, *steady;
static atomic_uint_fast64_t flaky_requests, requests;

/* Those who wait for /slow: a heap, the next to wake first. The main thread wakes them. */
static pthread_mutex_t sleepers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sleeper *sleepers;
static size_t n_sleepers, max_sleepers;
static bool stopping;
static int alarm_fd;

/* ---- answers ---- */

struct MHD_Response *response_of(struct str body)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(body.n, (void *)(uintptr_t)body.p, MHD_RESPMEM_MUST_COPY);
    if (!response)
        mem_out();
    MHD_add_response_header(response, "Content-Type", "application/json");
    return response;
}

enum MHD_Result send_once(const struct request *request, unsigned status, struct str body,
                          const char *name, const char *value)
{
    struct MHD_Response *response = response_of(body);
    if (name && MHD_add_response_header(response, name, value) != MHD_YES) {
        MHD_destroy_response(response);
        return send_error(request, MHD_HTTP_BAD_REQUEST, "that cannot stand in a header");
    }
    enum MHD_Result result = MHD_queue_response(request->connection, status, response);
    MHD_destroy_response(response);
    return result;
}

enum MHD_Result send_error(const struct request *request, unsigned status, const char *text)
{
    char body[128];
    int n = snprintf(body, sizeof body, "{\"error\":\"%s\"}", text);
    const char *name = status == MHD_HTTP_UNAUTHORIZED ? "WWW-Authenticate" : NULL;
    return send_once(request, status, (struct str){body, (size_t)n}, name, "Bearer");
}

uint64_t query_number(const struct request *request, const char *key, uint64_t missing,
                      uint64_t max)
{
    const char *text = MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, key);
    uint64_t value = missing;
    if (text && (!str_to_u64(str_of(text), &value) || value > max))
        return UINT64_MAX;
    return value;
}

/* ---- pages that are slow, fail or send elsewhere ---- */

/* With sleepers_lock held. */
static void set_alarm(void)
{
    uint64_t at = n_sleepers > 0 ? sleepers[0].until_ns : 0;
    struct itimerspec when = {
        .it_value = {.tv_sec = (time_t)(at / NS_PER_S), .tv_nsec = (long)(at % NS_PER_S)}};
    timerfd_settime(alarm_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/* With sleepers_lock held: puts `sleeper` where the heap has a hole, upwards from i. */
static void sift_up(size_t i, struct sleeper sleeper)
{
    for (; i > 0 && sleepers[(i - 1) / 2].until_ns > sleeper.until_ns; i = (i - 1) / 2)
        sleepers[i] = sleepers[(i - 1) / 2];
    sleepers[i] = sleeper;
}

/* With sleepers_lock held: takes the first one out. */
static struct MHD_Connection *pop_sleeper(void)
{
    struct MHD_Connection *first = sleepers[0].connection;
    struct sleeper last = sleepers[--n_sleepers];
    size_t hole = 0;
    for (size_t child = 1; child < n_sleepers; child = 2 * hole + 1) {
        if (child + 1 < n_sleepers && sleepers[child + 1].until_ns < sleepers[child].until_ns)
            child++;
        sleepers[hole] = sleepers[child];
        hole = child;
    }
    sift_up(hole, last);
    return first;
}

/* Wakes those whose time has come, and with `all` the others too. */
static void wake_sleepers(bool all)
{
    uint64_t now = clock_ns();
    pthread_mutex_lock(&sleepers_lock);
    stopping = all;
    while (n_sleepers > 0 && (all || sleepers[0].until_ns <= now))
        MHD_resume_connection(pop_sleeper());
    set_alarm();
    pthread_mutex_unlock(&sleepers_lock);
}

/* Lays the connection to sleep; false if it should be answered at once. */
static bool fall_asleep(const struct request *request, uint64_t ms)
{
    struct sleeper sleeper = {clock_ns() + ms * NS_PER_MS, request->connection};
    pthread_mutex_lock(&sleepers_lock);
    bool room = !stopping && n_sleepers < max_sleepers;
    if (room) {
        /* Suspended under the lock, since it must not be woken before. */
        MHD_suspend_connection(request->connection);
        sift_up(n_sleepers++, sleeper);
        if (sleepers[0].connection == request->connection)
            set_alarm();
    }
    pthread_mutex_unlock(&sleepers_lock);
    return room;
}

static enum MHD_Result get_slow(const struct request *request)
{
    uint64_t ms = query_number(request, "ms", 100, SLOW_MAX_MS);
    if (ms == UINT64_MAX)
        return send_error(request, MHD_HTTP_BAD_REQUEST, "ms must be a number up to 60000");
    if (ms > 0 && !request->slept && fall_asleep(request, ms))
        return MHD_YES;
    char body[48];
    int n = snprintf(body, sizeof body, "{\"slept_ms\":%llu}", (unsigned long long)ms);
    return send_once(request, MHD_HTTP_OK, (struct str){body, (size_t)n}, NULL, NULL);
}

static enum MHD_Result get_flaky(const struct request *request)
{
    uint64_t every = query_number(request, "every", 10, EVERY_MAX);
    if (every == 0 || every == UINT64_MAX)
        return send_error(request, MHD_HTTP_BAD_REQUEST, "every must be from 1 to 1000000");
    if ((atomic_fetch_add(&flaky_requests, 1) + 1) % every == 0)
        return send_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "this one fails");
    return MHD_queue_response(request->connection, MHD_HTTP_OK, steady);
}

static enum MHD_Result get_redirect(const struct request *request)
{
    const char *to = MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, "to");
    uint64_t code = query_number(request, "code", MHD_HTTP_FOUND, MHD_HTTP_PERMANENT_REDIRECT);
    bool known = (code >= MHD_HTTP_MOVED_PERMANENTLY && code <= MHD_HTTP_SEE_OTHER) ||
                 (code >= MHD_HTTP_TEMPORARY_REDIRECT && code <= MHD_HTTP_PERMANENT_REDIRECT);
    if (!known || !to || to[0] != '/')
        return send_error(request, MHD_HTTP_BAD_REQUEST, "to must be a path, code a redirect's");
    return send_once(request, (unsigned)code, STR("{\"moved\":true}"), "Location", to);
}

static enum MHD_Result get_redirects(const struct request *request)
{
    uint64_t left;
    if (!str_to_u64(str_of(request->rest), &left) || left > REDIRECTS_MAX)
        return send_error(request, MHD_HTTP_NOT_FOUND, "a number up to 100 is needed");
    if (left == 0)
        return MHD_queue_response(request->connection, MHD_HTTP_OK, steady);
    char location[48];
    snprintf(location, sizeof location, "/redirect/%llu", (unsigned long long)left - 1);
    return send_once(request, MHD_HTTP_FOUND, STR("{\"moved\":true}"), "Location", location);
}

static enum MHD_Result get_health(const struct request *request)
{
    return MHD_queue_response(request->connection, MHD_HTTP_OK, health);
}

static enum MHD_Result get_home(const struct request *request)
{
    return MHD_queue_response(request->connection, MHD_HTTP_OK, home);
}

/* ---- routes ---- */

typedef enum MHD_Result (*page_fn)(const struct request *request);

struct route {
    const char *path; /* one that ends with '/' stands for all below it */
    page_fn get, post;
};

static const struct route routes[] = {
    {"/health", get_health, NULL},
    {"/api/users", get_users, NULL},
    {"/api/users/", get_user, NULL},
    {"/api/account", get_account, NULL},
    {"/api/me", get_me, NULL},
    {"/api/login", NULL, post_login},
    {"/api/orders", get_orders, post_order},
    {"/api/orders/", get_order, NULL},
    {"/slow", get_slow, NULL},
    {"/flaky", get_flaky, NULL},
    {"/redirect", get_redirect, get_redirect},
    {"/redirect/", get_redirects, get_redirects},
};

static enum MHD_Result dispatch(struct request *request, const char *path, const char *method)
{
    bool is_post = strcmp(method, "POST") == 0;
    bool is_get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    if (is_get && strcmp(path, "/") == 0)
        return get_home(request);
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        const struct route *route = &routes[i];
        size_t n = strlen(route->path);
        bool below = route->path[n - 1] == '/';
        if (strncmp(path, route->path, n) != 0 || (path[n] != '\0') != below)
            continue;
        page_fn page = is_post ? route->post : is_get ? route->get : NULL;
        request->rest = path + n;
        if (page)
            return page(request);
        return send_once(request, MHD_HTTP_METHOD_NOT_ALLOWED,
                         STR("{\"error\":\"method not allowed\"}"), "Allow",
                         !route->post  ? "GET, HEAD"
                         : !route->get ? "POST"
                                       : "GET, HEAD, POST");
    }
    return send_error(request, MHD_HTTP_NOT_FOUND, "no such page");
}

/* What *state of a request without a body points to. */
static char begun, asked;

static void *state_new(bool is_post)
{
    if (!is_post)
        return &begun;
    struct upload *upload = xmalloc(sizeof *upload);
    upload->n = 0;
    upload->too_big = false;
    return upload;
}

static void add_piece(struct upload *upload, const char *piece, size_t n)
{
    if (n > BODY_MAX - upload->n) {
        upload->too_big = true;
    } else {
        memcpy(upload->bytes + upload->n, piece, n);
        upload->n += n;
    }
}

/* Called first with the head, then with each piece of the body, then with no piece; and once more
 * after a sleep. */
static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *piece,
                                  size_t *piece_n, void **state)
{
    (void)cls, (void)version;
    if (!*state) {
        *state = state_new(strcmp(method, MHD_HTTP_METHOD_POST) == 0);
        return MHD_YES;
    }
    struct upload *upload = *state == &begun || *state == &asked ? NULL : *state;
    if (*piece_n > 0) {
        if (upload)
            add_piece(upload, piece, *piece_n);
        *piece_n = 0;
        return MHD_YES;
    }
    struct request request = {.connection = connection, .slept = *state == &asked};
    if (!request.slept)
        atomic_fetch_add_explicit(&requests, 1, memory_order_relaxed);
    if (!upload)
        *state = &asked;
    else if (upload->too_big)
        return send_error(&request, MHD_HTTP_CONTENT_TOO_LARGE, "the body is too large");
    else
        request.body = (struct str){upload->bytes, upload->n};
    return dispatch(&request, path, method);
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode why)
{
    (void)cls, (void)connection, (void)why;
    if (*state != &begun && *state != &asked)
        free(*state);
}

/* ---- the program ---- */

struct options {
    uint16_t port;
    unsigned threads;
    bool exit_when_stdin_closes;
};

static const char usage[] =
    "Usage: example_server [--port N] [--threads N] [--exit-when-stdin-closes]\n"
    "\n"
    "A small web shop on 127.0.0.1 for the plans in examples/.\n"
    "\n"
    "  --port N                  port to listen on (9000); 0 takes a free one\n"
    "  --threads N               threads that answer, 1 to 64 (1)\n"
    "  --exit-when-stdin-closes  stop when whoever started it is gone\n";

/* A whole number from min to max, or the program ends with a usage error. */
static unsigned number_option(const char *name, const char *text, unsigned min, unsigned max)
{
    uint64_t value;
    if (str_to_u64(str_of(text), &value) && value >= min && value <= max)
        return (unsigned)value;
    fprintf(stderr, "error: --%s must be a number from %u to %u\n", name, min, max);
    exit(2);
}

static struct options read_options(int argc, char **argv)
{
    static const struct option table[] = {{"port", required_argument, NULL, 'p'},
                                          {"threads", required_argument, NULL, 't'},
                                          {"exit-when-stdin-closes", no_argument, NULL, 'e'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    struct options options = {.port = DEFAULT_PORT, .threads = 1};
    for (int c; (c = getopt_long(argc, argv, "", table, NULL)) != -1;) {
        if (c == 'p') {
            options.port = (uint16_t)number_option("port", optarg, 0, UINT16_MAX);
        } else if (c == 't') {
            options.threads = number_option("threads", optarg, 1, THREADS_MAX);
        } else if (c == 'e') {
            options.exit_when_stdin_closes = true;
        } else {
            fputs(usage, c == 'h' ? stdout : stderr);
            exit(c == 'h' ? 0 : 2);
        }
    }
    if (optind < argc) {
        fputs(usage, stderr);
        exit(2);
    }
    return options;
}

/* As many connections as there may be descriptors. */
static unsigned connection_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 512;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max > CONNECTIONS_MAX + DESCRIPTORS_SPARE)
        return CONNECTIONS_MAX;
    return limit.rlim_max > 2 * DESCRIPTORS_SPARE ? (unsigned)limit.rlim_max - DESCRIPTORS_SPARE
                                                  : DESCRIPTORS_SPARE;
}

static struct MHD_Daemon *start(const struct options *options)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(options->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    unsigned pool = options->threads > 1 ? options->threads : 0;
    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, options->port, NULL, NULL,
        on_request, NULL, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_THREAD_POOL_SIZE, pool,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)max_sleepers, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_TIMEOUT_S, MHD_OPTION_LISTEN_BACKLOG_SIZE, (unsigned)BACKLOG,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_END);
}

/* Wakes sleepers until a signal comes or, if that is wanted, standard input ends. */
static void serve(int signals, bool watch_stdin)
{
    struct pollfd fds[] = {{.fd = signals, .events = POLLIN},
                           {.fd = alarm_fd, .events = POLLIN},
                           {.fd = watch_stdin ? STDIN_FILENO : -1, .events = POLLIN}};
    for (;;) {
        if (poll(fds, 3, -1) < 0 && errno != EINTR)
            return;
        char ignored[512];
        if (fds[0].revents)
            return;
        if (fds[2].revents && read(STDIN_FILENO, ignored, sizeof ignored) <= 0)
            return;
        if (fds[1].revents && read(alarm_fd, ignored, sizeof(uint64_t)) > 0)
            wake_sleepers(false);
    }
}

static void stop(struct MHD_Daemon *daemon)
{
    MHD_socket listener = MHD_quiesce_daemon(daemon);
    wake_sleepers(true); /* a daemon must not be stopped while connections are suspended */
    MHD_stop_daemon(daemon);
    close(listener);
}

int main(int argc, char **argv)
{
    struct options options = read_options(argc, argv);
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigprocmask(SIG_BLOCK, &ending, NULL);
    signal(SIGPIPE, SIG_IGN);
    int signals = signalfd(-1, &ending, SFD_CLOEXEC);
    alarm_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    max_sleepers = connection_limit();
    sleepers = xcalloc(max_sleepers, sizeof *sleepers);
    home = response_of(STR("{\"name\":\"driller example server\"}"));
    health = response_of(STR("{\"status\":\"ok\"}"));
    steady = response_of(STR("{\"ok\":true}"));
    shop_init();

    struct MHD_Daemon *daemon = signals < 0 || alarm_fd < 0 ? NULL : start(&options);
    if (!daemon) {
        fprintf(stderr, "error: cannot listen on 127.0.0.1:%u: %s\n", options.port,
                strerror(errno));
        return 1;
    }
    printf("listening on http://127.0.0.1:%u\n",
           MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    serve(signals, options.exit_when_stdin_closes);
    stop(daemon);
    printf("%llu requests\n", (unsigned long long)atomic_load(&requests));

    shop_fini();
    MHD_destroy_response(steady);
    MHD_destroy_response(health);
    MHD_destroy_response(home);
    free(sleepers);
    close(alarm_fd);
    close(signals);
    return 0;
}
