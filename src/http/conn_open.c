/* Opening a connection: the look-up, the addresses in turn, the layers, the session. */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http/client.h"
#include "http/conn.h"
#include "http/h2.h"

#define ATTEMPT_NS (300 * NS_PER_MS) /* for an address while others are left */
#define BAD_ADDRESS_NS NS_PER_S

static void address_failed(struct conn *conn, uint64_t now_ns);

static void phase_over(struct conn *conn, enum exchange_phase phase, uint64_t now_ns)
{
    uint64_t before = conn->phases[phase] == EXCHANGE_NONE ? 0 : conn->phases[phase];
    conn->phases[phase] = before + (now_ns - conn->opening.phase_start_ns);
    conn->opening.phase_start_ns = now_ns;
}

void conn_address_failed(const struct conn *conn)
{
    if (conn->stream && conn->origin->uses) {
        conn->origin->uses[conn->address].failed++;
    }
}

void conn_open_failed(struct conn *conn, const struct failure *failure, uint64_t now_ns)
{
    struct exchange *exchange = conn->exchange;
    struct origin *origin = conn->origin;
    conn_address_failed(conn);
    origin->failures++;
    conn->client->failed++;
    if (exchange) {
        exchange->conn = NULL;
        if (!conn->phases_told) {
            conn_tell_phases(conn, exchange);
        }
        conn_close(conn);
        client_failed(exchange, failure, false, now_ns);
    } else {
        origin->users++; /* it stays until all who wait have been told */
        conn_close(conn);
        pool_open_failed(conn->client, origin, failure, now_ns);
        origin->users--;
    }
}

static void timed_out(struct timer *timer, uint64_t now_ns)
{
    struct conn *conn =
        (struct conn *)(void *)((char *)timer - offsetof(struct conn, opening.deadline));
    struct failure failure = conn_timeout(conn);
    conn_open_failed(conn, &failure, now_ns);
}

static void limit_time(struct conn *conn, uint64_t now_ns)
{
    struct client *client = conn->client;
    conn->opening.deadline.fire = timed_out;
    timer_start(client->connect_timeouts ? client->connect_timeouts : client->timeouts,
                &conn->opening.deadline, now_ns);
}

/* Who opens it for an exchange has the exchange's own limit. */
void conn_limit_opening(struct conn *conn, uint64_t now_ns)
{
    if (conn->client->connect_timeouts || !conn->exchange) {
        limit_time(conn, now_ns);
    }
}

/* How many exchanges the server takes is not known before its SETTINGS come; until then the
 * connection belongs to those who wait, though it may have been opened for one exchange. */
static void settle(struct conn *conn, uint64_t now_ns)
{
    struct exchange *exchange = conn->exchange;
    conn->state = CONN_ACTIVE;
    conn->settling = true;
    if (exchange) {
        conn->exchange = NULL;
        pool_loosen(conn);
        conn->origin->opening++;
        conn->origin->protocol = ORIGIN_UNKNOWN;
        pool_wait(conn->origin, exchange);
    }
    if (!timer_running(&conn->opening.deadline)) {
        limit_time(conn, now_ns);
    }
}

static void count_opened(struct conn *conn)
{
    conn->client->opened++;
    conn->client->used_tls |= conn->tls != NULL;
    if (conn->origin->uses) {
        conn->origin->uses[conn->address].connections++;
    }
}

static void opened(struct conn *conn, uint64_t now_ns)
{
    conn->session->ops->start(conn->session);
    conn_shaken(conn);
    if (conn->stream != &conn->tcp.stream) {
        conn_turn_over(conn);
    }
    if (conn->session->ops->multiplexes) {
        settle(conn, now_ns);
        return;
    }
    conn->origin->failures = 0;
    count_opened(conn);
    if (conn->exchange) {
        conn_submit(conn, conn->exchange, now_ns);
    } else {
        pool_opened(conn, now_ns);
    }
}

void conn_settled(struct conn *conn, uint64_t now_ns)
{
    conn->settling = false;
    timer_stop(&conn->opening.deadline);
    phase_over(conn, conn->tls ? EXCHANGE_TLS : EXCHANGE_CONNECT, now_ns);
    count_opened(conn);
    pool_opened(conn, now_ns);
}

/* What the connection speaks, now that the server has had its say. */
static void choose_session(struct conn *conn, uint64_t now_ns)
{
    enum http_version wanted = conn->client->options.http;
    bool h2 = conn->tls ? str_eq(tls_alpn(conn->tls), STR("h2")) : wanted == HTTP_2_PRIOR;
    if (conn->tls && wanted == HTTP_2 && !h2) {
        struct failure failure = {.outcome = OUTCOME_PROTOCOL_H2,
                                  .text = "the server does not offer HTTP/2"};
        conn_open_failed(conn, &failure, now_ns);
        return;
    }
    if (h2) {
        conn->session = h2_new(conn);
    } else {
        timer_stop(&conn->opening.deadline);
        h1_init(&conn->h1, conn);
        conn->session = &conn->h1.session;
    }
    opened(conn, now_ns);
    conn_read_rest(conn);
}

/* Has the layers connect, from the bottom to the top. A first layer that fails is another
 * address's turn. */
void conn_connect(struct conn *conn)
{
    while (conn->opening.layer < conn->opening.n_layers) {
        struct stream *stream = conn->opening.layers[conn->opening.layer];
        enum io io = stream->ops->connect(stream);
        if (io == IO_AGAIN) {
            return;
        }
        uint64_t now_ns = clock_ns();
        if (io != IO_OK) {
            struct failure failure = stream->failure;
            if (conn->opening.layer == 0) {
                address_failed(conn, now_ns);
                conn->stream->ops->close(conn->stream);
                conn->stream = NULL;
                conn_try_addresses(conn, now_ns);
            } else {
                conn_open_failed(conn, &failure, now_ns);
            }
            return;
        }
        timer_stop(&conn->opening.attempt);
        phase_over(conn,
                   conn->tls && stream == &conn->tls->stream ? EXCHANGE_TLS : EXCHANGE_CONNECT,
                   now_ns);
        if (conn->opening.layer++ == 0 && conn->exchange && conn_holds_back(conn->origin, now_ns)) {
            conn_hold(conn, now_ns);
            return;
        }
    }
    choose_session(conn, clock_ns());
}

/* The next of the addresses that connections are made from which is of the same family. */
static const struct address *local_for(struct client *client, const struct address *to)
{
    const struct addresses *local = client->options.local;
    for (unsigned i = 0; local && i < local->n; i++) {
        const struct address *from = &local->list[client->next_local++ % local->n];
        if (from->storage.ss_family == to->storage.ss_family) {
            return from;
        }
    }
    return NULL;
}

static bool begin_connecting(struct conn *conn, const struct address *to,
                             const struct address *from)
{
    struct tcp_ends ends = {.address = (const struct sockaddr *)&to->storage,
                            .length = to->length,
                            .local = from ? (const struct sockaddr *)&from->storage : NULL,
                            .local_length = from ? from->length : 0,
                            .stamps = conn->client->options.kernel_timestamps};
    return tcp_connect(&conn->tcp, conn->client->loop, &ends, conn_ready) != IO_FAILED;
}

/* Begins to connect to an address. Where one of our own has no ports left, another one may; and
 * users of many origins may have more idle connections than there are descriptors: some then make
 * room. */
static bool try_address(struct conn *conn, const struct address *to)
{
    const struct addresses *local = conn->client->options.local;
    const struct failure *failure = &conn->tcp.stream.failure;
    unsigned others = local ? local->n - 1 : 0;
    while (!begin_connecting(conn, to, local_for(conn->client, to))) {
        bool again = failure->outcome == OUTCOME_CONNECT_NO_PORT    ? others-- > 0
                     : failure->outcome == OUTCOME_CONNECT_FD_LIMIT ? pool_close_one(conn->client)
                                                                    : false;
        if (!again) {
            return false;
        }
    }
    return true;
}

static void add_layer(struct conn *conn, struct stream *stream)
{
    conn->opening.layers[conn->opening.n_layers++] = stream;
    conn->stream = stream;
}

static void add_tls(struct conn *conn, struct tls **tls, struct tls_context *context,
                    struct str host, struct tls_sessions *sessions)
{
    *tls = *tls ? *tls : xmalloc(sizeof **tls);
    tls_init(*tls, context, conn->stream, host, sessions);
    add_layer(conn, &(*tls)->stream);
}

static void add_tunnel(struct conn *conn)
{
    const struct origin *origin = conn->origin;
    const struct proxy *proxy = origin->proxy;
    const struct dns_overrides *overrides = conn->client->options.resolver.overrides;
    struct str host = origin->host;
    uint16_t port = origin->port;
    if (overrides) {
        dns_overrides_detour(overrides, &host, &port);
    }
    conn->tunnel = conn->tunnel ? conn->tunnel : xmalloc(sizeof *conn->tunnel);
    if (proxy->kind == PROXY_SOCKS5 || proxy->kind == PROXY_SOCKS5H) {
        const struct address *told =
            origin->told ? &origin->told->list[conn->opening.first_address % origin->told->n]
                         : NULL;
        tunnel_init_socks(conn->tunnel, conn->stream, host, port,
                          told ? (const struct sockaddr *)&told->storage : NULL, proxy->user,
                          proxy->password);
    } else {
        tunnel_init_http(conn->tunnel, conn->stream, host, port, proxy->authorization);
    }
    add_layer(conn, &conn->tunnel->stream);
}

/* Stacks the layers on tcp that the origin asks for. */
static void stack_layers(struct conn *conn)
{
    struct origin *origin = conn->origin;
    conn->opening.n_layers = conn->opening.layer = 0;
    add_layer(conn, &conn->tcp.stream);
    if (origin->proxy && origin->proxy->kind == PROXY_HTTPS) {
        add_tls(conn, &conn->proxy_tls, conn->client->proxy_tls, origin->proxy->host, NULL);
    }
    if (origin->proxy && !origin_in_absolute_form(origin)) {
        add_tunnel(conn);
    }
    if (origin->https) {
        add_tls(conn, &conn->tls, conn->client->tls, origin->host, &origin->sessions);
    }
}

/* The next address to try: in turn, beginning where the last connection left off, each once; those
 * that have failed within the last second after the others. NULL: all have been tried. */
static const struct address *next_address(struct conn *conn, uint64_t now_ns)
{
    struct origin *origin = conn->origin;
    const struct addresses *all = origin->addresses;
    if (now_ns - origin->bad_ns > BAD_ADDRESS_NS) {
        origin->bad = 0;
    }
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < all->n; i++) {
            unsigned at = (conn->opening.first_address + i) % all->n;
            bool bad = origin->bad >> at & 1;
            if (!(conn->opening.tried >> at & 1) && bad == (round == 1)) {
                conn->opening.tried |= 1ULL << at;
                conn->address = at;
                return &all->list[at];
            }
        }
    }
    return NULL;
}

static void address_failed(struct conn *conn, uint64_t now_ns)
{
    struct origin *origin = conn->origin;
    origin->bad |= 1ULL << conn->address;
    origin->bad_ns = now_ns;
    if (origin->uses) {
        origin->uses[conn->address].failed++;
    }
}

static void attempt_over(struct timer *timer, uint64_t now_ns)
{
    struct conn *conn =
        (struct conn *)(void *)((char *)timer - offsetof(struct conn, opening.attempt));
    address_failed(conn, now_ns);
    conn->stream->ops->close(conn->stream);
    conn->stream = NULL;
    conn_try_addresses(conn, now_ns);
}

void conn_try_addresses(struct conn *conn, uint64_t now_ns)
{
    const struct address *address;
    timer_stop(&conn->opening.attempt);
    while ((address = next_address(conn, now_ns))) {
        if (!try_address(conn, address)) {
            address_failed(conn, now_ns);
            continue;
        }
        conn->state = CONN_CONNECTING;
        stack_layers(conn);
        if ((unsigned)__builtin_popcountll(conn->opening.tried) < conn->origin->addresses->n) {
            conn->opening.attempt.fire =
                attempt_over; /* there is another one: this one gets no more */
            timer_start(loop_timers(conn->client->loop, ATTEMPT_NS), &conn->opening.attempt,
                        now_ns);
        }
        return;
    }
    struct failure failure = conn->tcp.stream.failure;
    conn_open_failed(conn, &failure, now_ns);
}

/* Which look-up is missing: of what a SOCKS 5 proxy is told, or of where the connection goes. */
static struct addresses **to_look_up(struct origin *origin)
{
    if (origin->proxy && origin->proxy->kind == PROXY_SOCKS5 && !origin->told) {
        return &origin->told;
    }
    return origin->addresses ? NULL : &origin->addresses;
}

static void look_up(struct conn *conn, uint64_t now_ns);

static void resolved(struct conn *conn, const struct addresses *addresses, const char *error,
                     uint64_t now_ns)
{
    if (!addresses) {
        struct failure failure = {.outcome = OUTCOME_DNS, .text = error};
        phase_over(conn, EXCHANGE_DNS, now_ns);
        conn_open_failed(conn, &failure, now_ns);
        return;
    }
    struct addresses **missing = to_look_up(conn->origin);
    if (missing) { /* another connection may have been quicker */
        *missing = addresses_copy(addresses);
        if (missing == &conn->origin->addresses && addresses->n > 1) {
            conn->origin->uses = xcalloc(addresses->n, sizeof *conn->origin->uses);
        }
    }
    look_up(conn, now_ns);
}

static void look_up(struct conn *conn, uint64_t now_ns)
{
    struct origin *origin = conn->origin;
    struct addresses **missing = to_look_up(origin);
    if (!missing) {
        if (now_ns != conn->opening.phase_start_ns) {
            phase_over(conn, EXCHANGE_DNS, now_ns);
        }
        conn_take_turn(conn, now_ns);
        return;
    }
    bool own = missing == &origin->told || !origin->proxy;
    const struct addresses *addresses;
    const char *error = NULL;
    conn->lookup.no_detour = !own;
    if (resolver_ask(conn->client->resolver, own ? origin->host : origin->proxy->host,
                     own ? origin->port : origin->proxy->port, &conn->lookup, &addresses, &error)) {
        resolved(conn, addresses, error, clock_ns());
    }
}

static void looked_up(struct lookup *lookup, const struct addresses *addresses, const char *error)
{
    struct conn *conn = (struct conn *)(void *)((char *)lookup - offsetof(struct conn, lookup));
    resolved(conn, addresses, error, clock_ns());
}

struct failure conn_timeout(const struct conn *conn)
{
    if (conn->state == CONN_RESOLVING) {
        return (struct failure){.outcome = OUTCOME_DNS,
                                .text = "the name look-up did not end in time"};
    }
    return (struct failure){.outcome = OUTCOME_CONNECT_TIMEOUT,
                            .text = "the connection was not made in time"};
}

/* Runs as a task of its own, so that a failure never comes from within client_send. */
static void begin(struct task *task)
{
    struct conn *conn = (struct conn *)(void *)((char *)task - offsetof(struct conn, soon));
    uint64_t now_ns = clock_ns();
    conn->opening.phase_start_ns = now_ns;
    bool https_proxy = conn->origin->proxy && conn->origin->proxy->kind == PROXY_HTTPS;
    if ((conn->origin->https && !conn->client->tls) || (https_proxy && !conn->client->proxy_tls)) {
        struct failure failure = {.outcome = OUTCOME_TLS_HANDSHAKE,
                                  .text = conn->client->tls_error};
        conn_open_failed(conn, &failure, now_ns);
        return;
    }
    conn_limit_opening(conn, now_ns);
    look_up(conn, now_ns);
}

void conn_open(struct client *client, struct origin *origin, struct exchange *exchange)
{
    struct conn *conn = xcalloc(1, sizeof *conn);
    conn->client = client;
    conn->origin = origin;
    conn->origin->users++;
    conn->exchange = exchange;
    conn->state = CONN_RESOLVING;
    origin->coming++;
    conn->lookup.done = looked_up;
    for (unsigned i = 0; i <= EXCHANGE_TLS; i++) {
        conn->phases[i] = EXCHANGE_NONE;
    }
    if (exchange) {
        exchange->conn = conn;
        exchange->sent_ns = 0;
        exchange->first_ns = 0;
    } else {
        pool_loosen(conn);
    }
    conn->soon.run = begin;
    loop_defer(client->loop, &conn->soon);
}
