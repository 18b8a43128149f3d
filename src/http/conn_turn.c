/* Connections that are opened take turns: a server's queue of new ones is short, and what does not
 * fit into it comes seconds later. */
#include <stddef.h>

#include "base/clock.h"
#include "http/client.h"
#include "http/conn.h"

/* While many are still to come, who is connected says nothing yet: a server that is busy answering
 * accepts slowly. */
bool conn_holds_back(struct origin *origin, uint64_t now_ns)
{
    if (!origin->starting || origin->coming < CLIENT_KNOCKING_MAX) {
        return false;
    }
    origin->held_ns = origin->held_ns ? origin->held_ns : now_ns;
    return now_ns - origin->held_ns < CLIENT_HELD_NS;
}

void conn_shaken(struct conn *conn)
{
    if (conn->shaking) {
        conn->shaking = false;
        conn->origin->shaking--;
        timer_stop(&conn->knock);
        if (conn->origin->held) {
            loop_defer(conn->client->loop, &conn->client->release_held);
        }
    }
}

static void shakes_long(struct timer *timer, uint64_t now_ns)
{
    (void)now_ns;
    conn_shaken((struct conn *)(void *)((char *)timer - offsetof(struct conn, knock)));
}

/* Handshakes that hang must not keep the others waiting. */
static void shake(struct conn *conn, uint64_t now_ns)
{
    conn_turn_over(conn);
    conn->shaking = true;
    conn->origin->shaking++;
    conn->knock = (struct timer){.fire = shakes_long};
    timer_start(loop_timers(conn->client->loop, CLIENT_SHAKING_NS), &conn->knock, now_ns);
}

/* Whose connection waits has not begun: neither its time nor its time limit runs. */
static void begin_waiting(struct conn *conn, uint64_t now_ns)
{
    conn->opening.phase_start_ns = now_ns;
    timer_stop(&conn->opening.deadline);
    if (conn->exchange) {
        timer_stop(&conn->exchange->deadline);
    }
}

static void end_waiting(struct conn *conn, uint64_t now_ns)
{
    struct exchange *exchange = conn->exchange;
    uint64_t ns = now_ns - conn->opening.phase_start_ns;
    if (exchange) {
        exchange->waited_ns += ns;
        exchange->start_ns += ns;
        timer_start(conn->client->timeouts, &exchange->deadline, now_ns);
    }
    conn_limit_opening(conn, now_ns);
    conn->opening.phase_start_ns = now_ns;
}

void conn_hold(struct conn *conn, uint64_t now_ns)
{
    begin_waiting(conn, now_ns);
    pool_hold(conn);
}

void conn_speak(struct conn *conn, uint64_t now_ns)
{
    pool_remove(conn);
    if (conn->tls) {
        shake(conn, now_ns);
    }
    end_waiting(conn, now_ns);
    conn_connect(conn);
}

/* One connection less that is still to come. */
static void has_come(struct origin *origin, struct client *client, uint64_t now_ns)
{
    origin->coming--;
    if (origin->held && !conn_holds_back(origin, now_ns)) {
        origin->starting = false;
        loop_defer(client->loop, &client->release_held);
    }
}

static void take_turn(struct conn *conn)
{
    conn->turn = TURN_NEXT;
    conn->origin->knocking++;
}

static void knocked(struct timer *timer, uint64_t now_ns)
{
    (void)now_ns;
    conn_turn_over((struct conn *)(void *)((char *)timer - offsetof(struct conn, knock)));
}

/* It is its turn. */
static void knock(struct conn *conn, uint64_t now_ns)
{
    conn->turn = TURN_KNOCKS;
    has_come(conn->origin, conn->client, now_ns);
    conn->knock = (struct timer){.fire = knocked};
    timer_start(loop_timers(conn->client->loop, CLIENT_KNOCKING_NS), &conn->knock, now_ns);
    conn->opening.phase_start_ns = now_ns;
    conn->opening.first_address = conn->origin->next_address++;
    conn_try_addresses(conn, now_ns);
}

static void knock_now(struct task *task)
{
    struct conn *conn = (struct conn *)(void *)((char *)task - offsetof(struct conn, soon));
    uint64_t now_ns = clock_ns();
    end_waiting(conn, now_ns);
    knock(conn, now_ns);
}

void conn_turn_over(struct conn *conn)
{
    struct origin *origin = conn->origin;
    struct conn *next = origin->queue;
    enum conn_turn turn = conn->turn;
    conn->turn = TURN_OVER;
    if (turn < TURN_KNOCKS) {
        has_come(origin, conn->client, clock_ns());
    }
    if (turn == TURN_KNOCKS) {
        timer_stop(&conn->knock);
    }
    if (turn == TURN_NEXT || turn == TURN_KNOCKS) {
        origin->knocking--;
        if (next) {
            pool_remove(next);
            if (!next->exchange) {
                pool_loosen(next);
            }
            take_turn(next);
            next->soon.run = knock_now;
            loop_defer(next->client->loop, &next->soon);
        }
    }
}

void conn_take_turn(struct conn *conn, uint64_t now_ns)
{
    if (conn->origin->knocking < CLIENT_KNOCKING_MAX) {
        take_turn(conn);
        knock(conn, now_ns);
    } else {
        conn->state = CONN_CONNECTING;
        begin_waiting(conn, now_ns);
        pool_queue(conn);
    }
}
