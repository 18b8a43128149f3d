/*
 * The lower bound: what a load costs that is sent by a bare epoll loop.
 *
 * Usage: bench_floor [-c USERS] [-d SECONDS] [-n] [-b BYTES] [-H 'Name: value']... URL...
 *
 * Each user sends fixed bytes, reads to the end of the answer and sends the next, over a connection
 * of its own (-n: a new one for each request). With several URLs each user fetches them in turn.
 * -b makes it a POST with a body of so many bytes. One thread; prints the answers counted.
 *
 * What it does not do, and a load tester has to: read answers. Their length is found once for each
 * URL before the load, by Content-Length, and from then on bytes are counted, so that the answers
 * to a URL must all be equally long. No status, no clock around a request, no statistics, no time
 * limit, no second try, no name look-up (http://ADDRESS:PORT/PATH only), no TLS, no chunked
 * bodies. Whatever goes wrong ends it.
 */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_URLS = 16, MAX_EVENTS = 256, BUFFER_BYTES = 256 << 10 };

struct target {
    char *request; // as it goes over the wire
    size_t length;
    uint64_t answer; // bytes, head and body
};

struct user {
    int fd;
    unsigned next; // the target whose answer is awaited
    uint64_t left; // bytes of it still to come
};

static struct {
    struct sockaddr_in address;
    struct target targets[MAX_URLS];
    unsigned count;
    bool reconnect;
    int epoll;
    char buffer[BUFFER_BYTES];
} run = {.address = {.sin_family = AF_INET}};

static volatile sig_atomic_t over;

static void on_alarm(int number)
{
    (void)number;
    over = 1;
}

// Connects with a call that waits: on the loopback interface there is nothing to wait for.
static int open_connection(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int on = 1;
    if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
        (connect(fd, (const struct sockaddr *)&run.address, sizeof run.address) != 0 && !over)) {
        err(1, "cannot connect");
    }
    return fd;
}

static void send_request(int fd, const struct target *target)
{
    size_t sent = 0;
    while (sent < target->length && !over) {
        ssize_t n = send(fd, target->request + sent, target->length - sent, MSG_NOSIGNAL);
        if (n < 0 && !over) {
            err(1, "cannot send");
        }
        sent += n > 0 ? (size_t)n : 0;
    }
}

// Sends a target's request once and finds how long its answer is.
static void measure_answer(struct target *target)
{
    int fd = open_connection();
    size_t have = 0;
    const char *end = NULL;
    send_request(fd, target);
    while (end == NULL) {
        ssize_t n = recv(fd, run.buffer + have, BUFFER_BYTES - 1 - have, 0);
        if (n <= 0) {
            errx(1, "no whole head came");
        }
        have += (size_t)n;
        run.buffer[have] = '\0';
        end = strstr(run.buffer, "\r\n\r\n");
    }
    const char *field = strcasestr(run.buffer, "\r\nContent-Length:");
    if (field == NULL || field > end) {
        errx(1, "an answer without Content-Length");
    }
    target->answer = (uint64_t)(end + 4 - run.buffer) + strtoull(field + 17, NULL, 10);
    close(fd);
}

// Makes the request of a URL, http://ADDRESS:PORT/PATH; headers are whole lines.
static void add_target(const char *url, const char *headers, size_t body)
{
    char host[64], address[64];
    unsigned short port;
    int path = 0;
    if (run.count == MAX_URLS ||
        sscanf(url, "http://%63[0-9.]:%hu%n", address, &port, &path) != 2 || url[path] != '/' ||
        inet_pton(AF_INET, address, &run.address.sin_addr) != 1) {
        errx(2, "cannot fetch this URL: %s", url);
    }
    run.address.sin_port = htons(port);
    snprintf(host, sizeof host, "%.40s:%hu", address, port);

    struct target *target = &run.targets[run.count++];
    char length[48] = "";
    if (body > 0) {
        snprintf(length, sizeof length, "Content-Length: %zu\r\n", body);
    }
    int head = asprintf(&target->request, "%s %s HTTP/1.1\r\nHost: %s\r\n%s%s\r\n",
                        body > 0 ? "POST" : "GET", url + path, host, headers, length);
    char *whole = head < 0 ? NULL : realloc(target->request, (size_t)head + body);
    if (whole == NULL) {
        errx(1, "no memory");
    }
    memset(whole + head, 'x', body);
    target->request = whole;
    target->length = (size_t)head + body;
    measure_answer(target);
}

static void connect_user(struct user *user)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = user};
    user->fd = open_connection();
    if (epoll_ctl(run.epoll, EPOLL_CTL_ADD, user->fd, &event) != 0) {
        err(1, "epoll_ctl");
    }
}

static void ask(struct user *user)
{
    const struct target *target = &run.targets[user->next];
    user->left = target->answer;
    send_request(user->fd, target);
}

// Reads once; returns whether an answer is complete, after which the next request is on its way.
static bool on_readable(struct user *user)
{
    ssize_t n = recv(user->fd, run.buffer, BUFFER_BYTES, MSG_DONTWAIT);
    if (n <= 0 || (uint64_t)n > user->left) {
        errx(1, n <= 0 ? "a connection ended" : "an answer is longer than the first was");
    }
    user->left -= (uint64_t)n;
    if (user->left > 0) {
        return false;
    }
    user->next = user->next + 1 == run.count ? 0 : user->next + 1;
    if (run.reconnect) {
        close(user->fd);
        connect_user(user);
    }
    ask(user);
    return true;
}

static uint64_t load(struct user *users, size_t count, unsigned seconds)
{
    struct epoll_event events[MAX_EVENTS];
    uint64_t answers = 0;
    struct sigaction action = {.sa_handler = on_alarm}; // no SA_RESTART: it ends epoll_wait
    sigaction(SIGALRM, &action, NULL);
    alarm(seconds);
    for (size_t i = 0; i < count && !over; i++) {
        connect_user(&users[i]);
        ask(&users[i]);
    }
    while (!over) {
        int ready = epoll_wait(run.epoll, events, MAX_EVENTS, -1);
        for (int i = 0; i < ready && !over; i++) {
            answers += on_readable(events[i].data.ptr);
        }
    }
    return answers;
}

int main(int argc, char **argv)
{
    size_t count = 1, body = 0;
    unsigned seconds = 1;
    char headers[4096] = "";
    for (int option; (option = getopt(argc, argv, "c:d:nb:H:")) != -1;) {
        size_t used = strlen(headers);
        switch (option) {
        case 'c':
            count = strtoul(optarg, NULL, 10);
            break;
        case 'd':
            seconds = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'n':
            run.reconnect = true;
            break;
        case 'b':
            body = strtoul(optarg, NULL, 10);
            break;
        case 'H':
            snprintf(headers + used, sizeof headers - used, "%s\r\n", optarg);
            break;
        default:
            return 2;
        }
    }
    for (int i = optind; i < argc; i++) {
        add_target(argv[i], headers, body);
    }
    struct user *users = calloc(count > 0 ? count : 1, sizeof *users);
    run.epoll = epoll_create1(0);
    if (run.count == 0 || count == 0 || users == NULL || run.epoll < 0) {
        errx(2, "nothing to do");
    }
    printf("%llu answers\n", (unsigned long long)load(users, count, seconds));
    free(users);
    return 0;
}
