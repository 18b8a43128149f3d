#include "http/client.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/url.h"
#include "http/body.h"
#include "http/conn.h"
#include "http/h1_parse.h"
#include "http/redirect.h"

static void finish(struct exchange *exchange, const struct failure *failure, uint64_t now_ns)
{
    timer_stop(&exchange->deadline);
    exchange->final_origin->users--;
    exchange->failure = failure ? *failure : (struct failure){.outcome = OUTCOME_RESPONSE};
    exchange->done_ns = now_ns;
    exchange->done(exchange);
}

static void fail(struct exchange *exchange, enum outcome outcome, enum outcome_where where,
                 const char *text, uint64_t now_ns)
{
    struct failure failure = {.outcome = outcome, .where = where, .text = text};
    finish(exchange, &failure, now_ns);
}

void exchange_phase(struct exchange *exchange, enum exchange_phase phase, uint64_t ns)
{
    uint64_t before = exchange->phases[phase];
    exchange->phases[phase] = before == EXCHANGE_NONE ? ns : before + ns;
}

void exchange_first_byte(struct exchange *exchange, uint64_t now_ns)
{
    if (exchange->first_ns == 0) {
        exchange->first_ns = now_ns;
        exchange_phase(exchange, EXCHANGE_FIRST_BYTE, now_ns - exchange->sent_ns);
    }
}

/* --- sending --- */

/* Does the head have such a field? */
static bool head_has(struct str head, struct str name)
{
    while (head.n) {
        head = str_skip(head, str_find(head, '\n') + 1);
        if (str_eq_nocase((struct str){head.p, str_find(head, ':')}, name)) {
            return true;
        }
    }
    return false;
}

/* "GET /x" as a proxy wants it: "GET http://host/x", and who we are. */
static void add_absolute_form(const struct exchange *exchange, struct buf *wire)
{
    const struct origin *origin = exchange->final_origin;
    size_t method = str_find(exchange->head, ' ') + 1;
    buf_add(wire, exchange->head.p, method);
    buf_add_str(wire, origin->prefix);
    buf_add(wire, exchange->head.p + method, exchange->head.n - method - 2);
    if (origin->proxy->authorization.n && !head_has(exchange->head, STR("proxy-authorization"))) {
        buf_add_str(wire, STR("Proxy-Authorization: "));
        buf_add_str(wire, origin->proxy->authorization);
        buf_add_str(wire, STR("\r\n"));
    }
}

static void add_cookies(struct exchange *exchange, struct buf *wire)
{
    struct str target = exchange->final_target;
    struct cookie_place to = {.host = exchange->final_origin->host,
                              .path = {target.p, str_find(target, '?')},
                              .https = exchange->final_origin->https};
    size_t line = wire->n;
    buf_add_str(wire, STR("Cookie: "));
    if (jar_header(exchange->jar, &to, clock_wall_s(), wire)) {
        buf_add_str(wire, STR("\r\n"));
    } else {
        wire->n = line;
    }
}

/* The head as it goes over the wire, in `wire`, where it is another than the request's: to a proxy,
 * or with cookies. */
static void make_wire(struct exchange *exchange)
{
    struct buf *wire = &exchange->wire;
    bool absolute = origin_in_absolute_form(exchange->final_origin);
    bool cookies = exchange->jar && !jar_empty(exchange->jar) && !exchange->own_cookies;
    buf_reset(wire);
    if (absolute) {
        add_absolute_form(exchange, wire);
    } else if (cookies) {
        buf_add(wire, exchange->head.p, exchange->head.n - 2); /* without the empty line */
    }
    if (cookies) {
        add_cookies(exchange, wire);
    }
    if (wire->n) {
        buf_add_str(wire, STR("\r\n"));
    }
}

static void dispatch(struct exchange *exchange, bool fresh, uint64_t now_ns)
{
    make_wire(exchange);
    exchange->following = false;
    exchange->hop_sent = exchange->bytes_sent;
    struct origin *origin = exchange->final_origin;
    struct conn *conn = pool_take(origin, fresh);
    if (conn) {
        exchange->client->reused += conn->phases_told; /* not if it was opened ahead */
        conn_submit(conn, exchange, now_ns);
    } else if (origin->protocol == ORIGIN_H1) {
        conn_open(exchange->client, origin, exchange);
    } else {
        pool_wait(origin, exchange);
    }
}

/* Takes an exchange from where it is: a queue, a connection that is opened for it, a session. */
static void give_up(struct exchange *exchange)
{
    struct conn *conn = exchange->conn;
    exchange->conn = NULL;
    if (!conn) {
        pool_forget(exchange);
    } else if (conn->state == CONN_RESOLVING || conn->state == CONN_CONNECTING) {
        conn_close(conn);
    } else {
        conn->session->ops->forget(conn->session, exchange);
        pool_room_changed(conn);
    }
}

/* The time is up: where the exchange was decides what that is called. */
static void timed_out(struct timer *timer, uint64_t now_ns)
{
    struct exchange *exchange =
        (struct exchange *)(void *)((char *)timer - offsetof(struct exchange, deadline));
    struct conn *conn = exchange->conn;
    struct failure failure = {.outcome = OUTCOME_TIMEOUT_TOTAL,
                              .where = WHERE_BODY,
                              .text = "the response was not whole within --timeout"};
    if (!conn) {
        failure = (struct failure){.outcome = OUTCOME_CONNECT_TIMEOUT,
                                   .text = "no connection had room for it within --timeout"};
    } else if (conn->state == CONN_RESOLVING || conn->state == CONN_CONNECTING) {
        failure = conn_timeout(conn);
        conn_address_failed(conn);
        conn->origin->failures++;
        exchange->client->failed++;
    } else if (exchange->first_ns == 0) {
        failure = (struct failure){.outcome = OUTCOME_TIMEOUT_FIRST_BYTE,
                                   .text = "no byte of a response came within --timeout"};
    }
    give_up(exchange);
    finish(exchange, &failure, now_ns);
}

void client_send(struct client *client, struct exchange *exchange, uint64_t now_ns)
{
    exchange->client = client;
    exchange->start_ns = now_ns;
    exchange->waited_ns = 0;
    exchange->bytes_sent = exchange->bytes_received = 0;
    exchange->hops = 0;
    exchange->retried = false;
    exchange->status = 0;
    if (exchange->noted) {
        exchange->notes = (struct exchange_notes){0};
        exchange->noted = false;
    }
    for (unsigned i = 0; i < EXCHANGE_PHASES; i++) {
        exchange->phases[i] = EXCHANGE_NONE;
    }
    exchange->final_origin = exchange->origin;
    exchange->final_target = exchange->target;
    exchange->origin->users++;
    exchange->deadline.fire = timed_out;
    timer_start(client->timeouts, &exchange->deadline, now_ns);
    dispatch(exchange, false, now_ns);
}

void client_abort(struct exchange *exchange)
{
    give_up(exchange);
    timer_stop(&exchange->deadline);
    exchange->final_origin->users--;
}

void client_failed(struct exchange *exchange, const struct failure *failure, bool retry,
                   uint64_t now_ns)
{
    if (retry && !exchange->retried) {
        exchange->retried = true;
        EXCHANGE_NOTE(exchange, reconnects);
        dispatch(exchange, true, now_ns);
        return;
    }
    finish(exchange, failure, now_ns);
}

/* --- responses --- */

static struct str unfolded(struct client *client, struct str value)
{
    if (!h1_is_folded(value)) {
        return value;
    }
    buf_reset(&client->scratch);
    buf_reserve(&client->scratch, value.n);
    return (struct str){client->scratch.p, h1_unfold(value, client->scratch.p)};
}

static void take_cookies(struct exchange *exchange, struct str fields)
{
    struct str target = exchange->final_target, name, value;
    struct cookie_place from = {.host = exchange->final_origin->host,
                                .path = {target.p, str_find(target, '?')},
                                .https = exchange->final_origin->https};
    int64_t now_s = clock_wall_s();
    exchange->jar->from_this_response = 0;
    while (h1_field_next(&fields, &name, &value)) {
        if (str_eq_nocase(name, STR("set-cookie"))) {
            jar_set(exchange->jar, unfolded(exchange->client, value), &from, now_s);
        }
    }
}

static void take_location(struct exchange *exchange, struct str fields)
{
    struct str name, value;
    struct buf *location = &exchange_again(exchange)->location;
    unsigned n = 0;
    buf_reset(location);
    while (h1_field_next(&fields, &name, &value)) {
        if (str_eq_nocase(name, STR("location")) && n++ == 0) {
            buf_add_str(location, unfolded(exchange->client, value));
        }
    }
    exchange->bad_location = n != 1;
}

/* Apart, so that the usual way through client_head saves no registers. */
static __attribute__((noinline)) void take_fields(struct exchange *exchange, struct str fields,
                                                  bool has_location, bool has_set_cookie)
{
    unsigned status = exchange->status;
    if (has_set_cookie && exchange->jar) {
        take_cookies(exchange, fields);
    }
    exchange->following =
        has_location && redirect_status(status) && exchange->client->options.max_redirects > 0;
    if (exchange->following) {
        take_location(exchange, fields);
    } else if (exchange->keep) {
        exchange->keep->status = status;
        buf_reset(&exchange->keep->fields);
        buf_add_str(&exchange->keep->fields, fields);
        buf_reset(&exchange->keep->body);
    }
}

void client_head(struct exchange *exchange, unsigned status, struct str fields, bool has_location,
                 bool has_set_cookie)
{
    exchange->status = (uint16_t)status;
    exchange->following = false;
    if (has_location || has_set_cookie || exchange->keep) {
        take_fields(exchange, fields, has_location, has_set_cookie);
    }
}

bool client_wants_body(const struct exchange *exchange)
{
    return exchange->keep && exchange->keep_body && !exchange->following;
}

bool client_body(struct exchange *exchange, struct str piece)
{
    if (!client_wants_body(exchange)) {
        return true;
    }
    struct buf *body = &exchange->keep->body;
    return piece.n <= exchange->client->options.max_body - body->n && buf_add_str(body, piece);
}

/* Where the next head can be made from the present one. */
static struct buf *other_head(struct exchange *exchange)
{
    struct buf *heads = exchange_again(exchange)->heads;
    struct buf *head = &heads[exchange->head.p == heads[0].p];
    buf_reset(head);
    return head;
}

/* Sends the exchange on to its Location. */
static void follow(struct exchange *exchange, uint64_t now_ns)
{
    struct client *client = exchange->client;
    struct origin *from = exchange->final_origin;
    struct buf *head = other_head(exchange);
    const struct buf *location = &exchange->again->location;
    struct url base, to;
    if (exchange->bad_location) {
        fail(exchange, OUTCOME_PROTOCOL_H1, WHERE_HEAD, "more than one Location field", now_ns);
        return;
    }
    if (exchange->hops >= client->options.max_redirects) {
        fail(exchange, OUTCOME_REDIRECT, WHERE_LIMIT, "more redirects than --max-redirects",
             now_ns);
        return;
    }
    buf_reset(&client->scratch);
    buf_add_str(&client->scratch, from->prefix);
    buf_add_str(&client->scratch, exchange->final_target);
    if (location->n == 0 || location->full ||
        url_parse(buf_str(&client->scratch), NULL, &client->base_url, &base) != URL_OK ||
        url_parse(buf_str(location), &base, &client->next_url, &to) != URL_OK) {
        fail(exchange, OUTCOME_REDIRECT, WHERE_HEAD, "the Location cannot be followed", now_ns);
        return;
    }
    struct origin *origin = client_origin(client, to.https, to.host, to.port, false);
    bool drop = redirect_drops_body(exchange->status, exchange->method);
    struct str method = drop ? STR("GET") : exchange->method;
    redirect_head(exchange->head, &to, method, origin->authority, origin == from, drop, head,
                  &exchange->final_target);
    if (head->full) {
        fail(exchange, OUTCOME_TOO_LARGE, WHERE_HEAD, "the redirected request is too large",
             now_ns);
        return;
    }
    exchange->head = buf_str(head);
    if (drop) {
        exchange->method = method;
        exchange->body = (struct str){0};
        exchange->idempotent = true;
    }
    exchange->own_cookies = exchange->own_cookies && origin == from;
    from->users--;
    origin->users++;
    exchange->final_origin = origin;
    exchange->hops++;
    exchange->retried = false;
    EXCHANGE_NOTE(exchange, redirects);
    dispatch(exchange, false, now_ns);
}

/* 417: the server will not have "Expect"; the request goes again without (RFC 9110 §15.5.18). */
static void expect_nothing(struct exchange *exchange, uint64_t now_ns)
{
    struct buf *head = other_head(exchange);
    struct str rest = exchange->head;
    while (rest.n) {
        struct str line = {rest.p, str_find(rest, '\n') + 1};
        if (!str_eq_nocase((struct str){line.p, str_find(line, ':')}, STR("expect"))) {
            buf_add_str(head, line);
        }
        rest = str_skip(rest, line.n);
    }
    exchange->expects = false;
    exchange->head = buf_str(head);
    EXCHANGE_NOTE(exchange, reconnects);
    dispatch(exchange, false, now_ns);
}

/* Several fields of one name count as one list (RFC 9110 §5.3). */
static void find_codings(struct str fields, struct buf *out)
{
    struct str value;
    buf_reset(out);
    while (h1_field_take(&fields, STR("content-encoding"), &value)) {
        buf_add_str(out, out->n ? STR(", ") : STR(""));
        buf_add_str(out, value);
    }
}

/* Takes the content codings off a body that is kept. False if the exchange has failed for it. */
static bool decode(struct exchange *exchange, uint64_t now_ns)
{
    struct client *client = exchange->client;
    struct buf *body = &exchange->keep->body;
    find_codings(buf_str(&exchange->keep->fields), &client->scratch);
    if (client->scratch.n == 0 || body->n == 0 || body_is_plain(buf_str(&client->scratch))) {
        return true;
    }
    struct buf plain;
    buf_init(&plain, client->options.max_body);
    enum body_result result = body_decode(buf_str(body), buf_str(&client->scratch), &plain);
    if (result == BODY_OK) {
        buf_fini(body);
        *body = plain;
        body->max = BUF_NO_MAX;
        return true;
    }
    buf_fini(&plain);
    if (result == BODY_UNKNOWN) {
        return true;
    }
    bool large = result == BODY_TOO_LARGE;
    fail(exchange, large ? OUTCOME_TOO_LARGE : OUTCOME_PROTOCOL_H1, WHERE_BODY,
         large ? "decoded, the body is larger than --max-body"
               : "the body is not what its Content-Encoding says",
         now_ns);
    return false;
}

void client_response(struct exchange *exchange, uint64_t now_ns)
{
    exchange_phase(exchange, EXCHANGE_BODY, now_ns - exchange->first_ns);
    if (exchange->following) {
        follow(exchange, now_ns);
        return;
    }
    if (exchange->status == 417 && exchange->expects) {
        expect_nothing(exchange, now_ns);
        return;
    }
    if (exchange->keep) {
        if (!decode(exchange, now_ns)) {
            return;
        }
        buf_reset(&exchange->keep->url);
        buf_add_str(&exchange->keep->url, exchange->final_origin->prefix);
        buf_add_str(&exchange->keep->url, exchange->final_target);
    }
    finish(exchange, NULL, now_ns);
}
