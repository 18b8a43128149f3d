/*
 * The bare pacer: what a machine makes of a timer and a send, for bench/pacing.
 *
 * Usage: bench_pacer RATE SECONDS PORT
 *
 * Arrival k is due at start + k / RATE. One thread waits for it with a timerfd and sends a GET on
 * the connection that has been idle longest; what is late goes out at once. Answers are read and
 * thrown away. Prints the start on CLOCK_MONOTONIC in ns and how many were sent.
 */
#include <arpa/inet.h>
#include <err.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS = 1000, MAX_EVENTS = 64 };

#define NS_PER_S 1000000000

static int idle[CONNECTIONS]; /* a ring */
static size_t first_idle, n_idle;

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void connect_all(int epoll, uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int one = 1;
    for (size_t i = 0; i < CONNECTIONS; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
            epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
            err(1, "connect");
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        idle[n_idle++] = fd;
    }
}

static void send_one(uint64_t k)
{
    char text[64];
    int n = snprintf(text, sizeof text, "GET /%" PRIu64 " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", k);
    int fd = idle[first_idle++ % CONNECTIONS];
    n_idle--;
    if (send(fd, text, (size_t)n, MSG_NOSIGNAL) != n) {
        err(1, "send");
    }
}

static void arm(int timer, int64_t at_ns)
{
    struct itimerspec when = {.it_value = {at_ns / NS_PER_S, at_ns % NS_PER_S}};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void read_answer(int fd)
{
    char text[4096];
    if (recv(fd, text, sizeof text, MSG_DONTWAIT) <= 0) {
        errx(1, "the server closed a connection");
    }
    idle[(first_idle + n_idle++) % CONNECTIONS] = fd;
}

/* Returns how many were sent. */
static uint64_t pace(int epoll, int timer, double rate, uint64_t count, int64_t start_ns)
{
    uint64_t k = 0;
    while (k < count || n_idle < CONNECTIONS) {
        struct epoll_event ready[MAX_EVENTS];
        int64_t due_ns = start_ns + (int64_t)((double)k / rate * NS_PER_S);
        for (; k < count && n_idle && due_ns <= now_ns(); k++) {
            send_one(k);
            due_ns = start_ns + (int64_t)((double)(k + 1) / rate * NS_PER_S);
        }
        arm(timer, k < count && n_idle ? due_ns : 0);
        int n = epoll_wait(epoll, ready, MAX_EVENTS, 5000);
        if (n == 0) {
            break;
        }
        for (int i = 0; i < n; i++) {
            uint64_t ticks;
            if (ready[i].data.fd != timer) {
                read_answer(ready[i].data.fd);
            } else if (read(timer, &ticks, sizeof ticks) < 0) {
                continue; /* it was set anew meanwhile */
            }
        }
    }
    return k;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        errx(2, "usage: bench_pacer RATE SECONDS PORT");
    }
    double rate = atof(argv[1]);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = timer};
    prctl(PR_SET_TIMERSLACK, 1UL);
    connect_all(epoll, (uint16_t)atoi(argv[3]));
    epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event);
    int64_t start_ns = now_ns() + NS_PER_S / 10;
    uint64_t sent = pace(epoll, timer, rate, (uint64_t)(rate * atof(argv[2])), start_ns);
    printf("%" PRId64 " %" PRIu64 "\n", start_ns, sent);
    return 0;
}
