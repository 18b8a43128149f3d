/*
 * A server that misbehaves, at random and as a seed says: for the soak test. One thread, one
 * epoll, 127.0.0.1, a free port, which it prints; it ends when its standard input closes and then
 * prints what it has seen, as JSON.
 *
 * Its counts are exact, so that a client's can be held against them: whatever the client has sent
 * is read, also on connections that the server has closed (a FIN, and then it reads on) and in the
 * moments before it stops to listen. Two cases are left and are counted: `unread`, connections
 * reset as soon as they are accepted, and `blind`, idle ones reset while a request may be under
 * way.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "requests.h"

enum {
    BACKLOG = 4096,
    EVENTS_MAX = 64,
    LARGE_UPLOAD = 16384,
    SLOW_READ = 8192,
    LISTENS_MS = 8000, /* on average and a bit, then it refuses for a while */
    REFUSES_MS = 300,  /* to 1,000 */
    CLOSED_MAX_MS = 5000,
    DRAIN_MS = 2000,
};

enum state {
    READING,   /* nothing to answer */
    ANSWERING, /* there are bytes to send, or to wait for */
    LEAVING,   /* the server's side is closed; requests are read and not answered */
    CLOSED,    /* to be freed */
};

struct conn {
    struct conn *next;
    int fd;
    enum state state;
    uint32_t events;
    uint64_t due_ns;    /* when it goes on by itself; 0: it does not */
    uint64_t resume_ns; /* when it reads again, a slow reader; 0: at once */
    bool slow;
    bool pending;         /* a request came while another was being answered */
    bool stopped;         /* the answer's stop is behind */
    uint64_t reset_below; /* bytes left of an upload at which it is reset */
    size_t sent;
    struct answer answer;
    struct request request;
};

struct totals {
    uint64_t connections, unread, blind, unclosed, refusals;
    struct request_counts requests;
    uint64_t answers[ANSWER_KINDS_MAX], uploads_refused, uploads_reset;
};

static int epoll, listener = -1, holder;
static uint16_t port;
static struct conn *conns;
static struct totals totals;
static struct rng rng;
static enum { LISTENING, STOPPING, REFUSING, DRAINING } phase;
static uint64_t phase_end_ns;
static char scratch[65536];

static uint64_t in_ms(uint64_t ms)
{
    return clock_ns() + ms * NS_PER_MS;
}

static _Noreturn void die(const char *what)
{
    perror(what);
    exit(1);
}

/* ---- connections ---- */

static void close_conn(struct conn *conn)
{
    close(conn->fd);
    conn->state = CLOSED;
    conn->due_ns = conn->resume_ns = 0;
}

/* What closes it resets it. */
static void make_abrupt(int fd)
{
    struct linger none = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

static void reset_conn(struct conn *conn)
{
    make_abrupt(conn->fd);
    close_conn(conn);
}

/* Says no more, and reads on until the client has closed as well. */
static void leave(struct conn *conn)
{
    shutdown(conn->fd, SHUT_WR);
    conn->state = LEAVING;
    conn->due_ns = in_ms(CLOSED_MAX_MS);
}

static void watch(struct conn *conn, bool output)
{
    uint32_t events = (conn->resume_ns ? 0 : EPOLLIN) | (output ? EPOLLOUT : 0);
    struct epoll_event event = {.events = events, .data.ptr = conn};
    if (conn->state != CLOSED && events != conn->events)
        epoll_ctl(epoll, EPOLL_CTL_MOD, conn->fd, &event);
    conn->events = events;
}

/* ---- answering ---- */

static void go_on(struct conn *conn);
static void read_conn(struct conn *conn);

static void start_answer(struct conn *conn)
{
    conn->pending = false;
    conn->state = ANSWERING;
    conn->sent = 0;
    conn->stopped = false;
    totals.answers[answer_compose(&conn->answer, &conn->request.wish, port, &rng)]++;
    go_on(conn);
}

/* The answer is out: what becomes of the connection? */
static void answered(struct conn *conn)
{
    conn->state = READING;
    if (conn->pending)
        start_answer(conn);
    else if (conn->answer.after != AFTER_KEEP)
        conn->due_ns = in_ms(conn->answer.after_ms);
}

/* No request has come for as long as the server was willing to wait. */
static void end_idle(struct conn *conn)
{
    if (conn->answer.after == AFTER_CLOSE) {
        leave(conn);
        return;
    }
    conn->state = LEAVING;
    read_conn(conn); /* what has come until now is counted */
    if (conn->state != CLOSED) {
        totals.blind++;
        reset_conn(conn);
    }
}

static void stop_here(struct conn *conn)
{
    conn->stopped = true;
    if (conn->answer.stop == STOP_CLOSE)
        leave(conn);
    else if (conn->answer.stop == STOP_RESET)
        reset_conn(conn);
    else
        conn->due_ns = in_ms(conn->answer.stop_ms);
}

/* How far it may send now. */
static size_t send_limit(const struct conn *conn)
{
    const struct answer *answer = &conn->answer;
    size_t limit = answer->bytes.n;
    if (answer->stop != STOP_NONE && !conn->stopped && limit > answer->stop_at)
        limit = answer->stop_at;
    if (answer->piece && limit > conn->sent + answer->piece)
        limit = conn->sent + answer->piece;
    return limit;
}

/* Sends on. Every way out leaves something that calls it again, or an answer that is over. */
static void go_on(struct conn *conn)
{
    const struct answer *answer = &conn->answer;
    conn->due_ns = 0;
    watch(conn, false);
    while (conn->state == ANSWERING) {
        size_t n = send_limit(conn) - conn->sent;
        if (n == 0 && answer->stop != STOP_NONE && !conn->stopped) {
            stop_here(conn);
            return;
        }
        if (n == 0) {
            answered(conn);
            return;
        }
        ssize_t put = send(conn->fd, answer->bytes.p + conn->sent, n, MSG_NOSIGNAL);
        if (put < 0 && errno == EAGAIN) {
            watch(conn, true);
            return;
        }
        if (put < 0) {
            conn->state = READING; /* the client is gone: reading will tell */
            return;
        }
        conn->sent += (size_t)put;
        if (answer->piece && conn->sent < answer->bytes.n) {
            conn->due_ns = in_ms(answer->gap_ms);
            return;
        }
    }
}

static void due(struct conn *conn)
{
    conn->due_ns = 0;
    if (conn->state == ANSWERING) {
        go_on(conn);
    } else if (conn->state == READING) {
        end_idle(conn);
    } else if (conn->state == LEAVING) {
        totals.unclosed++;
        close_conn(conn);
    }
}

/* ---- reading ---- */

/* A large upload is on its way: some are read slowly, some not to their end. */
static void choose_upload(struct conn *conn)
{
    uint64_t bytes = conn->request.body_bytes;
    if (bytes < LARGE_UPLOAD || conn->state != READING)
        return;
    uint64_t dice = rng_below(&rng, 100);
    conn->slow = dice < 10;
    if (dice >= 10 && dice < 14) {
        totals.uploads_reset++;
        conn->reset_below = 1 + rng_below(&rng, bytes);
    } else if (dice >= 14 && dice < 18) {
        totals.uploads_refused++;
        answer_too_large(&conn->answer);
        conn->state = ANSWERING;
        conn->sent = 0;
        go_on(conn);
    }
}

static void take_request(struct conn *conn)
{
    conn->slow = false;
    conn->reset_below = 0;
    if (conn->state == READING)
        start_answer(conn);
    else if (conn->state == ANSWERING)
        conn->pending = true;
}

static void feed(struct conn *conn, const char *bytes, size_t n)
{
    totals.requests.bytes += n;
    while (n && conn->state != CLOSED) {
        size_t used = 0;
        if (conn->state == READING)
            conn->due_ns = 0; /* it is not idle any more */
        enum request_event event = request_feed(&conn->request, bytes, n, &used, &totals.requests);
        bytes += used;
        n -= used;
        if (event == REQUEST_BAD)
            reset_conn(conn);
        else if (event == REQUEST_HEAD)
            choose_upload(conn);
        else if (event == REQUEST_WHOLE)
            take_request(conn);
        if (conn->state != CLOSED && conn->request.begun &&
            conn->request.body_left < conn->reset_below)
            reset_conn(conn);
    }
}

static void read_conn(struct conn *conn)
{
    while (conn->state != CLOSED) {
        bool slow = conn->slow && conn->request.begun && conn->state == READING;
        ssize_t n = recv(conn->fd, scratch, slow ? SLOW_READ : sizeof scratch, 0);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            close_conn(conn);
            return;
        }
        feed(conn, scratch, (size_t)n);
        if (slow && conn->state == READING && conn->request.begun) {
            conn->resume_ns = in_ms(1 + rng_below(&rng, 20));
            watch(conn, false);
            return;
        }
    }
}

static void resume(struct conn *conn)
{
    conn->resume_ns = 0;
    watch(conn, false);
    read_conn(conn);
}

/* ---- listening ---- */

static void add_conn(int fd)
{
    int on = 1;
    struct conn *conn = xcalloc(1, sizeof *conn);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = conn};
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    conn->fd = fd;
    conn->events = EPOLLIN;
    buf_init(&conn->answer.bytes, BUF_NO_MAX);
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        die("epoll_ctl");
    conn->next = conns;
    conns = conn;
}

static void accept_all(void)
{
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && errno == EAGAIN)
            return;
        if (fd < 0)
            die("accept");
        totals.connections++;
        if (phase != DRAINING && rng_below(&rng, 100) == 0) {
            totals.unread++;
            make_abrupt(fd);
            close(fd);
        } else {
            add_conn(fd);
        }
    }
}

static int bound_socket(void)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, (struct sockaddr *)&address, size) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        die("bind");
    port = ntohs(address.sin_port);
    return fd;
}

static void start_listening(void)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &listener};
    listener = bound_socket();
    if (listen(listener, BACKLOG) != 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) != 0)
        die("listen");
    phase = LISTENING;
    phase_end_ns = in_ms(LISTENS_MS / 2 + rng_below(&rng, LISTENS_MS));
}

/* No new handshake begins; those under way can end, so that nobody is lost in the queue. */
static void stop_listening(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),           /* the flags of TCP's header */
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x02, 0, 1), /* SYN */
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    if (setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0)
        die("SO_ATTACH_FILTER");
    phase = STOPPING;
    phase_end_ns = in_ms(2);
}

static void next_phase(void)
{
    if (phase == LISTENING) {
        stop_listening();
    } else if (phase == STOPPING) {
        accept_all();
        close(listener);
        totals.refusals++;
        phase = REFUSING;
        phase_end_ns = in_ms(REFUSES_MS + rng_below(&rng, 1000 - REFUSES_MS));
    } else if (phase == REFUSING) {
        start_listening();
    }
}

/* ---- the loop ---- */

/* Does what is due, frees what is closed; the time until the next is due. */
static int tend(void)
{
    uint64_t now_ns = clock_ns(), next_ns = phase_end_ns;
    if (now_ns >= phase_end_ns) {
        next_phase();
        next_ns = phase_end_ns;
    }
    for (struct conn **at = &conns; *at;) {
        struct conn *conn = *at;
        if (conn->due_ns && conn->due_ns <= now_ns)
            due(conn);
        if (conn->resume_ns && conn->resume_ns <= now_ns)
            resume(conn);
        if (conn->due_ns && conn->due_ns < next_ns)
            next_ns = conn->due_ns;
        if (conn->resume_ns && conn->resume_ns < next_ns)
            next_ns = conn->resume_ns;
        if (conn->state != CLOSED) {
            at = &conn->next;
            continue;
        }
        *at = conn->next;
        buf_fini(&conn->answer.bytes);
        free(conn);
    }
    return next_ns > now_ns ? (int)((next_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS) : 0;
}

/* The load is over: everything that was sent is read. */
static void start_draining(void)
{
    epoll_ctl(epoll, EPOLL_CTL_DEL, STDIN_FILENO, NULL);
    if (phase == LISTENING || phase == STOPPING) {
        phase = DRAINING;
        accept_all();
        close(listener);
    }
    phase = DRAINING;
    phase_end_ns = in_ms(DRAIN_MS);
    for (struct conn *conn = conns; conn; conn = conn->next) {
        conn->slow = false;
        if (conn->resume_ns)
            resume(conn);
    }
}

static void happened(const struct epoll_event *event)
{
    struct conn *conn = event->data.ptr;
    if (event->data.ptr == &listener) {
        if (phase != REFUSING && phase != DRAINING)
            accept_all();
    } else if (event->data.ptr == &holder) {
        start_draining();
    } else if (conn->state != CLOSED) {
        if (event->events & (EPOLLIN | EPOLLHUP | EPOLLERR))
            read_conn(conn);
        if ((event->events & EPOLLOUT) && conn->state == ANSWERING)
            go_on(conn);
    }
}

static void print_totals(void)
{
    const struct request_counts *requests = &totals.requests;
    printf("{\"connections\": %llu, \"unread\": %llu, \"blind\": %llu, \"unclosed\": %llu, "
           "\"refusals\": %llu,\n \"requests\": %llu, \"whole\": %llu, \"partial\": %llu, "
           "\"malformed\": %llu, \"mismatched\": %llu, \"bytes\": %llu,\n \"answers\": {",
           (unsigned long long)totals.connections, (unsigned long long)totals.unread,
           (unsigned long long)totals.blind, (unsigned long long)totals.unclosed,
           (unsigned long long)totals.refusals, (unsigned long long)requests->begun,
           (unsigned long long)requests->whole,
           (unsigned long long)(requests->begun - requests->whole),
           (unsigned long long)requests->malformed, (unsigned long long)requests->mismatched,
           (unsigned long long)requests->bytes);
    for (unsigned i = 0; answer_kind(i); i++)
        printf("\"%s\": %llu, ", answer_kind(i), (unsigned long long)totals.answers[i]);
    printf("\"upload refused\": %llu, \"upload reset\": %llu}}\n",
           (unsigned long long)totals.uploads_refused, (unsigned long long)totals.uploads_reset);
}

int main(int argc, char **argv)
{
    uint64_t seed = 1;
    struct epoll_event events[EVENTS_MAX], event = {.events = EPOLLIN, .data.ptr = &holder};
    if (argc > 2 || (argc == 2 && !str_to_u64(str_of(argv[1]), &seed))) {
        fputs("Usage: chaos [SEED] <STDIN\n", stderr);
        return 2;
    }
    rng_seed(&rng, seed);
    signal(SIGPIPE, SIG_IGN);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    holder = bound_socket(); /* keeps the port while it refuses */
    start_listening();
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event) != 0)
        die("standard input must be a pipe");
    printf("listening on http://127.0.0.1:%u\n", port);
    fflush(stdout);
    while (phase != DRAINING || (conns && clock_ns() < phase_end_ns)) {
        int n = epoll_wait(epoll, events, EVENTS_MAX, tend());
        for (int i = 0; i < n; i++)
            happened(&events[i]);
    }
    print_totals();
    while (conns) {
        close_conn(conns);
        tend();
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
