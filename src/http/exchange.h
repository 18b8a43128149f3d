/*
 * One request and what becomes of it: redirects, the keep-alive race and the time limit included.
 * Made by a virtual user, carried out by a client (http/client.h), ended exactly once.
 */
#ifndef HTTP_EXCHANGE_H
#define HTTP_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "http/cookie.h"
#include "net/loop.h"
#include "net/stream.h"

struct client;
struct conn;
struct origin;

/* What is kept of a response, for who asked for it. Its buffers are reused from one response to
 * the next. */
struct response {
    unsigned status;
    struct buf fields; /* the head's field lines, as they came */
    struct buf body;   /* as it came, framing taken off */
    struct buf url;    /* the final one */
};
void response_init(struct response *response);
void response_fini(struct response *response);

/* Where the time of a request went, in ns, summed over redirects; EXCHANGE_NONE: no such phase. */
#define EXCHANGE_NONE UINT64_MAX
enum exchange_phase {
    EXCHANGE_DNS,
    EXCHANGE_CONNECT,
    EXCHANGE_TLS,
    EXCHANGE_FIRST_BYTE,
    EXCHANGE_BODY,
    EXCHANGE_PHASES
};

/* Counted on the way; no failures. */
struct exchange_notes {
    uint16_t reconnects, redirects, extra_bytes, lenient, both_lengths, interim;
};

/* What only an exchange needs that is sent again in another form: one in some thousand, or all. */
struct exchange_again {
    struct buf location; /* where a redirect leads to */
    struct buf heads[2]; /* of the requests, by turns */
};

struct exchange {
    /* --- the caller's, set before client_send; slices must live until done --- */
    struct origin *origin; /* where it goes first */
    struct str method;
    struct str target; /* path and query, as in the head */
    struct str head;   /* the whole head, its last empty line included */
    struct str body;
    bool idempotent; /* may be sent again after the keep-alive race */
    bool is_head;
    bool expects;     /* the head has "Expect: 100-continue": the body waits for the word */
    bool own_cookies; /* the head has a Cookie field: the jar's are not added */
    bool keep_body;   /* with keep: its body too */
    struct jar *jar;
    struct response *keep; /* NULL: the response is read and dropped */
    void (*done)(struct exchange *exchange);
    uint32_t tag; /* the caller's, for client->idle_bytes */

    /* --- the result, valid in done --- */
    uint16_t status;        /* of the last response */
    bool noted;             /* some note is not 0 */
    struct failure failure; /* outcome RESPONSE: a whole response came */
    uint64_t start_ns, done_ns;
    uint64_t waited_ns; /* before start_ns, for its turn among the connections that are opened */
    uint64_t phases[EXCHANGE_PHASES];
    uint64_t bytes_sent, bytes_received;
    struct origin *final_origin; /* after redirects: with final_target, the final URL */
    struct str final_target;

    /* --- the client's own --- */
    struct client *client;
    struct conn *conn; /* NULL while it waits in its origin's queue */
    struct timer deadline;
    uint64_t sent_ns, first_ns; /* of the present hop; 0: not yet */
    uint64_t hop_sent;          /* bytes_sent when the present hop began */
    uint16_t hops;              /* redirects followed; --max-redirects allows 1,000 */
    bool retried;
    bool following;    /* the response that is being read is a redirect to be followed */
    bool bad_location; /* … and has two Location fields */
    struct buf wire;   /* the head with cookies */
    /* --- what few requests touch --- */
    struct exchange_notes notes;   /* a result, too */
    struct exchange *next, **link; /* in its origin's queue */
    struct exchange_again *again;  /* on the heap; NULL until it is needed */
};

/* Zeroes it; owns nothing yet. */
void exchange_init(struct exchange *exchange);
void exchange_fini(struct exchange *exchange);
/* Its `again`, made if there is none yet. */
struct exchange_again *exchange_again(struct exchange *exchange);

/* Records a note. */
#define EXCHANGE_NOTE(exchange, what) ((exchange)->notes.what++, (exchange)->noted = true)

#endif
