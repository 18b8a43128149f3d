/*
 * A network made of bytes, in place of src/net: a loop without descriptors, a resolver that makes
 * answers up, and a tcp whose other end says what a script says. Programs that include this are
 * linked with these functions instead of those of net/loop.c, net/dns.c and net/tcp.c.
 *
 * The script is shared by all connections. It is what they read, but for 0xff and the byte behind:
 *   A nothing happens now         E the server ends the connection     R it breaks
 *   F connecting fails            W writing fails                      I idle connections are ready
 *   T the time limit passes       X the user gives up
 * Behind the end of the script, connections end.
 */
#ifndef FUZZ_SCRIPT_H
#define FUZZ_SCRIPT_H

#include <netinet/in.h>

#include "base/mem.h"
#include "fuzz.h"
#include "net/dns.h"
#include "net/loop.h"
#include "net/tcp.h"

#define SCRIPT_OPEN_MAX 16
#define SCRIPT_LOOKUPS_MAX 4

static struct {
    struct str script;
    size_t most;      /* bytes a read; 0: as many as there are */
    bool slow_writes; /* some bytes a call, and every other time none */
    uint64_t writes;
    struct task *tasks;
    struct timer timers;                        /* the head of a ring */
    struct lookup *lookups[SCRIPT_LOOKUPS_MAX]; /* not answered yet */
    unsigned n_lookups;
    struct tcp *open[SCRIPT_OPEN_MAX];
    unsigned n_open;
    void (*on_write)(struct str bytes); /* sees what is about to be written */
} net;

static void script_start(struct str script)
{
    net.script = script;
    net.writes = 0;
    net.tasks = NULL;
    net.timers.next = net.timers.prev = &net.timers;
    net.n_lookups = 0;
    net.n_open = 0;
}

/* Is this what the script says next? Then it is passed over. */
static bool script_says(char what)
{
    if (net.script.n < 2 || net.script.p[0] != '\xff' || net.script.p[1] != what)
        return false;
    net.script = str_skip(net.script, 2);
    return true;
}

/* --- net/loop.h --- */

void loop_defer(struct loop *loop, struct task *task)
{
    struct task **at = &net.tasks;

    (void)loop;
    if (task->queued)
        return;
    while (*at)
        at = &(*at)->next;
    *at = task;
    task->next = NULL;
    task->queued = true;
}

static void script_run_tasks(void)
{
    while (net.tasks) {
        struct task *task = net.tasks;

        net.tasks = task->next;
        task->queued = false;
        task->run(task);
    }
}

struct timer_queue *loop_timers(struct loop *loop, uint64_t delay_ns)
{
    (void)loop;
    (void)delay_ns;
    return NULL;
}

void timer_start(struct timer_queue *queue, struct timer *timer, uint64_t now_ns)
{
    (void)queue;
    (void)now_ns;
    timer_stop(timer);
    timer->next = &net.timers;
    timer->prev = net.timers.prev;
    timer->prev->next = timer;
    net.timers.prev = timer;
}

void timer_leave_heap(struct timer *timer)
{
    (void)timer; /* none is in one */
}

/* --- net/dns.h --- */

struct resolver *resolver_new(struct loop *loop, const struct resolver_options *options)
{
    (void)loop;
    (void)options;
    return xmalloc(1);
}

void resolver_free(struct resolver *resolver)
{
    CHECK(net.n_lookups == 0);
    free(resolver);
}

/* Two addresses, for the second to be tried when the first fails. */
static const struct addresses *script_addresses(void)
{
    static union {
        struct addresses addresses;
        char room[sizeof(struct addresses) + 2 * sizeof(struct address)];
    } answer;

    answer.addresses.n = 2;
    for (unsigned i = 0; i < 2; i++) {
        answer.addresses.list[i].storage.ss_family = AF_INET;
        answer.addresses.list[i].length = sizeof(struct sockaddr_in);
    }
    return &answer.addresses;
}

/* Names with an 'x' are not known; those with an 's' are slow to be answered. */
bool resolver_ask(struct resolver *resolver, struct str host, uint16_t port, struct lookup *lookup,
                  const struct addresses **addresses, const char **error)
{
    bool known = str_find(host, 'x') == host.n;

    (void)resolver;
    (void)port;
    CHECK(host.n > 0);
    if (str_find(host, 's') < host.n) {
        CHECK(net.n_lookups < SCRIPT_LOOKUPS_MAX);
        net.lookups[net.n_lookups++] = lookup;
        return false;
    }
    *addresses = known ? script_addresses() : NULL;
    *error = known ? NULL : "not known";
    return true;
}

void resolver_cancel(struct lookup *lookup)
{
    for (unsigned i = 0; i < net.n_lookups; i++)
        if (net.lookups[i] == lookup)
            net.lookups[i--] = net.lookups[--net.n_lookups];
}

static void script_answer(void)
{
    struct lookup *lookup = net.lookups[--net.n_lookups];

    lookup->done(lookup, script_addresses(), NULL);
}

/* --- net/tcp.h --- */

static enum io script_fail(struct stream *stream, enum outcome outcome)
{
    stream->failure = (struct failure){.outcome = outcome, .text = "as the script says"};
    return IO_FAILED;
}

static enum io script_connect(struct stream *stream)
{
    struct tcp *tcp = (struct tcp *)stream;

    if (script_says('A'))
        return IO_AGAIN;
    if (script_says('F'))
        return script_fail(stream, OUTCOME_CONNECT_REFUSED);
    tcp->connecting = false;
    tcp->watcher.interest = LOOP_READ;
    return IO_OK;
}

static enum io script_discard(struct stream *stream, uint64_t max, char *scratch,
                              size_t scratch_size, uint64_t *got)
{
    size_t n = str_find(net.script, '\xff');

    if (net.script.n == 0 || script_says('E'))
        return IO_END;
    if (script_says('R'))
        return script_fail(stream, OUTCOME_RESET);
    if (n == 0) {
        /* What is no business of a reader is passed over by the first one that meets it. */
        net.script = str_skip(net.script, 2);
        return IO_AGAIN;
    }
    n = n < max ? n : (size_t)max;
    n = n < scratch_size ? n : scratch_size;
    n = net.most && net.most < n ? net.most : n;
    memcpy(scratch, net.script.p, n);
    net.script = str_skip(net.script, n);
    *got = n;
    return IO_OK;
}

static enum io script_read(struct stream *stream, char *bytes, size_t max, size_t *got)
{
    uint64_t n = 0;
    enum io io = script_discard(stream, max, bytes, max, &n);

    *got = (size_t)n;
    return io;
}

static enum io script_write(struct stream *stream, const struct str *parts, unsigned n, size_t *put)
{
    size_t most = net.slow_writes ? 7 : SIZE_MAX;

    CHECK(n > 0 && parts[0].n > 0);
    net.on_write(parts[0]);
    if (script_says('W'))
        return script_fail(stream, OUTCOME_RESET);
    if (net.slow_writes && net.writes++ % 2)
        return IO_AGAIN;
    *put = 0;
    for (unsigned i = 0; i < n; i++)
        *put += parts[i].n < most - *put ? parts[i].n : most - *put;
    return IO_OK;
}

static void script_want_write(struct stream *stream, bool want)
{
    ((struct tcp *)stream)->watcher.interest = want ? LOOP_READ | LOOP_WRITE : LOOP_READ;
}

static void script_close(struct stream *stream)
{
    for (unsigned i = 0; i < net.n_open; i++)
        if (net.open[i] == (struct tcp *)stream)
            net.open[i--] = net.open[--net.n_open];
}

enum io tcp_connect(struct tcp *tcp, struct loop *loop, const struct tcp_ends *ends,
                    void (*ready)(struct stream *stream, unsigned events))
{
    static const struct stream_ops ops = {
        .connect = script_connect,
        .read = script_read,
        .discard = script_discard,
        .write = script_write,
        .want_write = script_want_write,
        .close = script_close,
    };

    (void)ends;
    *tcp = (struct tcp){.stream = {.ops = &ops, .ready = ready}, .loop = loop, .connecting = true};
    if (script_says('F'))
        return script_fail(&tcp->stream, OUTCOME_CONNECT_UNREACHABLE);
    tcp->watcher.interest = LOOP_WRITE;
    CHECK(net.n_open < SCRIPT_OPEN_MAX);
    net.open[net.n_open++] = tcp;
    return IO_AGAIN;
}

#endif
