/* The open connections of an origin that carry many exchanges: a heap with the most room on top. */
#include <stdlib.h>

#include "base/mem.h"
#include "http/client.h"
#include "http/conn.h"

static unsigned room_of(const struct conn *conn)
{
    return conn->session->ops->capacity(conn->session);
}

static void put_at(struct origin *origin, unsigned place, struct conn *conn)
{
    origin->shared[place] = conn;
    conn->place = place;
}

/* Moves what is at that place up or down to where its room belongs. */
static void sift(struct origin *origin, unsigned place)
{
    struct conn *conn = origin->shared[place];
    while (place > 0 && origin->shared[(place - 1) / 2]->room < conn->room) {
        put_at(origin, place, origin->shared[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    for (unsigned child; (child = 2 * place + 1) < origin->n_shared; place = child) {
        if (child + 1 < origin->n_shared &&
            origin->shared[child + 1]->room > origin->shared[child]->room) {
            child++;
        }
        if (origin->shared[child]->room <= conn->room) {
            break;
        }
        put_at(origin, place, origin->shared[child]);
    }
    put_at(origin, place, conn);
}

void pool_share(struct conn *conn)
{
    struct origin *origin = conn->origin;
    if (origin->n_shared == origin->max_shared) {
        origin->max_shared = origin->max_shared ? 2 * origin->max_shared : 4;
        origin->shared = xrealloc(origin->shared, origin->max_shared * sizeof(*origin->shared));
    }
    conn->shared = true;
    conn->room = room_of(conn);
    put_at(origin, origin->n_shared++, conn);
    sift(origin, conn->place);
}

void pool_unshare(struct conn *conn)
{
    struct origin *origin = conn->origin;
    struct conn *last = origin->shared[--origin->n_shared];
    conn->shared = false;
    if (last != conn) {
        put_at(origin, conn->place, last);
        sift(origin, last->place);
    }
    origin->shut = false;
}

void pool_room_changed(struct conn *conn)
{
    if (conn->shared) {
        conn->room = room_of(conn);
        sift(conn->origin, conn->place);
    }
}

/* A room that has become smaller is seen here at the latest. */
struct conn *pool_roomiest(struct origin *origin)
{
    while (origin->n_shared > 0) {
        struct conn *conn = origin->shared[0];
        unsigned believed = conn->room;
        conn->room = room_of(conn);
        if (conn->room == believed) {
            return believed > 0 ? conn : NULL;
        }
        sift(origin, 0);
    }
    return NULL;
}
