/*
 * A server that knows the truth: it notes when each request came and when its answer was sent, on
 * CLOCK_MONOTONIC, which is the clock of a client on the same machine as well.
 *
 * Usage: truth [--wait US] [--stall FROM_MS,FOR_MS] [--kernel] [--close] FILE
 *
 * --wait    each answer is sent so long after its request was read
 * --stall   nothing is answered from so long after the first request on, for so long
 * --kernel  the kernel's time of the packet (SO_TIMESTAMPNS) is noted, too: a receiver that was
 *           woken late does not blur it
 * --close   a connection is closed after each answer
 *
 * One thread on 127.0.0.1; prints its port, and a line more when the first request has come; ends
 * when its standard input closes or on SIGTERM, and writes FILE then: a line of CSV a request, in
 * the order in which they were read, times in ns.
 * `number` is what stands in the path behind the first "/": GET /17 is request 17; 0 if nothing
 * does. `answered` is read just before the answer is sent, and is 0 where none was.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000
#define NS_PER_MS 1000000
#define NS_PER_US 1000

enum { MAX_EVENTS = 64, MAX_HEAD = 4096, BACKLOG = 4096 };

struct record {
    uint64_t number, connection;
    int64_t arrived_ns, kernel_ns, answered_ns;
};

struct conn {
    int fd;
    uint64_t id;
    size_t n; /* bytes of the request that is being read */
    char head[MAX_HEAD];
};

/* An answer that is to be sent; conn NULL: its connection has gone. Times to wait are all alike and
 * a stall holds up all, so that the first in is the first out. */
struct answer {
    struct conn *conn;
    size_t record;
    int64_t due_ns;
};

static struct {
    int64_t wait_ns, stall_from_ns, stall_ns;
    bool kernel, close;
} options;

static int epoll, listener, signals;
static uint64_t connections;
static struct record *records;
static size_t n_records, max_records;
static struct answer *answers;
static size_t n_answers, first_answer, max_answers;

static int64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void *grown(void *items, size_t n, size_t *max, size_t size)
{
    if (n < *max) {
        return items;
    }
    *max = *max ? *max * 2 : 1 << 16;
    items = realloc(items, *max * size);
    if (!items) {
        err(1, "memory");
    }
    return items;
}

static void watch(int fd, void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        err(1, "epoll_ctl");
    }
}

static void drop(struct conn *conn)
{
    for (size_t i = first_answer; i < n_answers; i++) {
        if (answers[i].conn == conn) {
            answers[i].conn = NULL;
        }
    }
    close(conn->fd);
    free(conn);
}

static void answer_now(struct answer *answer)
{
    static const char keep[] = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\ntruth\n";
    static const char last[] =
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 6\r\n\r\ntruth\n";
    struct conn *conn = answer->conn;
    size_t n = options.close ? sizeof last - 1 : sizeof keep - 1;
    records[answer->record].answered_ns = now_ns(CLOCK_MONOTONIC);
    /* So short that a socket which has nothing else to send always takes it. */
    bool sent = send(conn->fd, options.close ? last : keep, n, MSG_NOSIGNAL) == (ssize_t)n;
    answer->conn = NULL;
    if (options.close || !sent) {
        drop(conn);
    }
}

static int64_t due_ns(int64_t arrived_ns)
{
    int64_t due = arrived_ns + options.wait_ns;
    int64_t from = records[0].arrived_ns + options.stall_from_ns;
    return due >= from && due < from + options.stall_ns ? from + options.stall_ns : due;
}

/* The request is whole. kernel_ns is on the clock of the day, 0 if it is not known. */
static void take(struct conn *conn, int64_t kernel_ns)
{
    const char *slash = memchr(conn->head, '/', conn->n);
    int64_t now = now_ns(CLOCK_MONOTONIC);
    records = grown(records, n_records, &max_records, sizeof *records);
    records[n_records] = (struct record){
        .number = slash ? strtoull(slash + 1, NULL, 10) : 0,
        .connection = conn->id,
        .arrived_ns = now,
        .kernel_ns = kernel_ns ? kernel_ns - now_ns(CLOCK_REALTIME) + now : 0,
    };
    struct answer answer = {.conn = conn, .record = n_records++, .due_ns = due_ns(now)};
    conn->n = 0;
    if (n_records == 1) {
        puts("begun");
        fflush(stdout);
    }
    if (first_answer == n_answers && answer.due_ns <= now) {
        answer_now(&answer);
        return;
    }
    answers = grown(answers, n_answers, &max_answers, sizeof *answers);
    answers[n_answers++] = answer;
}

static ssize_t receive(struct conn *conn, int64_t *kernel_ns)
{
    union {
        struct cmsghdr header;
        char space[256];
    } control;
    struct iovec part = {conn->head + conn->n, MAX_HEAD - 1 - conn->n};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t n = recvmsg(conn->fd, &message, MSG_DONTWAIT);
    *kernel_ns = 0;
    for (struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&message) : NULL; c;
         c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec t;
            memcpy(&t, CMSG_DATA(c), sizeof t);
            *kernel_ns = (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
        }
    }
    return n;
}

static void on_readable(struct conn *conn)
{
    int64_t kernel_ns;
    ssize_t n = receive(conn, &kernel_ns);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0) {
        drop(conn);
        return;
    }
    conn->n += (size_t)n;
    conn->head[conn->n] = '\0';
    if (strstr(conn->head, "\r\n\r\n")) {
        take(conn, kernel_ns);
    } else if (conn->n == MAX_HEAD - 1) {
        drop(conn);
    }
}

static void on_connection(void)
{
    int one = 1, fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        return;
    }
    struct conn *conn = calloc(1, sizeof *conn);
    if (!conn) {
        err(1, "memory");
    }
    conn->fd = fd;
    conn->id = connections++;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    watch(fd, conn);
}

/* Sends what is due; true and how long to wait for the next, or false if there is none. */
static bool send_due(struct timespec *left)
{
    while (first_answer < n_answers) {
        struct answer answer = answers[first_answer];
        int64_t wait_ns = answer.due_ns - now_ns(CLOCK_MONOTONIC);
        if (answer.conn && wait_ns > 0) {
            *left = (struct timespec){wait_ns / NS_PER_S, wait_ns % NS_PER_S};
            return true;
        }
        first_answer++;
        if (answer.conn) {
            answer_now(&answer);
        }
    }
    first_answer = n_answers = 0;
    return false;
}

/* Until standard input is at its end or a signal comes. */
static void serve(void)
{
    for (;;) {
        struct epoll_event ready[MAX_EVENTS];
        struct timespec left;
        bool waits = send_due(&left);
        int n = epoll_pwait2(epoll, ready, MAX_EVENTS, waits ? &left : NULL, NULL);
        for (int i = 0; i < n; i++) {
            void *what = ready[i].data.ptr;
            char byte;
            if (what == &listener) {
                on_connection();
            } else if (what == &signals) {
                return;
            } else if (what == NULL) {
                if (read(STDIN_FILENO, &byte, 1) <= 0) {
                    return;
                }
            } else {
                on_readable(what);
            }
        }
    }
}

static void write_records(const char *path)
{
    FILE *file = fopen(path, "we");
    if (!file) {
        err(1, "%s", path);
    }
    fputs("number,connection,arrived,kernel,answered\n", file);
    for (size_t i = 0; i < n_records; i++) {
        const struct record *r = &records[i];
        fprintf(file, "%" PRIu64 ",%" PRIu64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "\n", r->number,
                r->connection, r->arrived_ns, r->kernel_ns, r->answered_ns);
    }
    if (fclose(file) != 0) {
        err(1, "%s", path);
    }
}

static const char *arguments(int argc, char **argv)
{
    static const struct option known[] = {{"wait", required_argument, NULL, 'w'},
                                          {"stall", required_argument, NULL, 's'},
                                          {"kernel", no_argument, NULL, 'k'},
                                          {"close", no_argument, NULL, 'c'},
                                          {0}};
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        char *end = NULL;
        switch (c) {
        case 'w':
            options.wait_ns = strtoll(optarg, NULL, 10) * NS_PER_US;
            break;
        case 's':
            options.stall_from_ns = strtoll(optarg, &end, 10) * NS_PER_MS;
            options.stall_ns = *end == ',' ? strtoll(end + 1, NULL, 10) * NS_PER_MS : 0;
            break;
        case 'k':
            options.kernel = true;
            break;
        case 'c':
            options.close = true;
            break;
        default:
            exit(2);
        }
    }
    if (argc - optind != 1) {
        errx(2, "usage: truth [--wait US] [--stall FROM_MS,FOR_MS] [--kernel] [--close] FILE");
    }
    return argv[optind];
}

static void listen_and_tell(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof address;
    int kernel = options.kernel;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* Its connections are born with it: a request may be there before it is accepted. */
    if (listener < 0 ||
        setsockopt(listener, SOL_SOCKET, SO_TIMESTAMPNS, &kernel, sizeof kernel) != 0 ||
        bind(listener, (struct sockaddr *)&address, n) != 0 || listen(listener, BACKLOG) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &n) != 0) {
        err(1, "listen");
    }
    printf("%u\n", ntohs(address.sin_port));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    sigset_t terminating;
    const char *path = arguments(argc, argv);
    sigemptyset(&terminating);
    sigaddset(&terminating, SIGTERM);
    sigprocmask(SIG_BLOCK, &terminating, NULL);
    prctl(PR_SET_TIMERSLACK, 1UL);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    signals = signalfd(-1, &terminating, SFD_CLOEXEC | SFD_NONBLOCK);
    listen_and_tell();
    watch(listener, &listener);
    watch(signals, &signals);
    watch(STDIN_FILENO, NULL);
    serve();
    write_records(path);
    return 0;
}
