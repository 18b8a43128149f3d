/*
 * Tunnels through proxies: a filter that asks the proxy which `below` leads to for a way to a host
 * and a port, by HTTP's CONNECT (RFC 9110 section 9.3.6) or SOCKS 5 (RFC 1928, RFC 1929). Once that
 * is open, everything is passed straight through.
 */
#ifndef NET_TUNNEL_H
#define NET_TUNNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/str.h"
#include "net/stream.h"

#define TUNNEL_HEAD_MAX (64u * 1024) /* bytes of an HTTP proxy's answer, interim ones included */
#define TUNNEL_INTERIM_MAX 16        /* 1xx answers before the one that counts */
#define TUNNEL_HOST_MAX 255          /* what fits into a name of DNS, and into SOCKS */
#define TUNNEL_SOCKS_TEXT_MAX 255    /* of a user name or a password */
#define TUNNEL_MESSAGES 3

struct tunnel;

/* How the answer goes on. */
enum tunnel_step {
    TUNNEL_MORE,   /* there is more of it */
    TUNNEL_SAY,    /* at and end are the next message's */
    TUNNEL_DONE,   /* the tunnel is open */
    TUNNEL_BROKEN, /* stream.failure.text says why */
};

struct tunnel_protocol {
    /* How many bytes there are at least until the answer's end: that many are read, and never one
     * of what is behind it. Not 0. */
    size_t (*need)(const struct tunnel *tunnel);
    enum tunnel_step (*take)(struct tunnel *tunnel, struct str bytes);
};

enum tunnel_state { TUNNEL_BELOW, TUNNEL_ASKING, TUNNEL_OPEN, TUNNEL_FAILED };

/*
 * connect  Connects below, failing as that does, then asks. A proxy that refuses, goes away or does
 *          not make sense is OUTCOME_CONNECT_PROXY, with a text that has the proxy's status in it;
 * a host that cannot be told to a proxy (longer than TUNNEL_HOST_MAX, with control characters or
 * blanks) is OUTCOME_LOCAL, and nothing is sent. close    Closes below, too.
 *
 * The rest is below's. Nothing that belongs to the tunnel is ever held back here, so that no event
 * is missed.
 */
struct tunnel {
    struct stream stream; /* first */
    struct stream *below;
    const struct tunnel_protocol *protocol;
    enum tunnel_state state;
    uint8_t part;     /* of the answer, as the protocol counts them */
    uint8_t interim;  /* answers so far */
    uint8_t in[12];   /* how it begins */
    uint32_t n;       /* bytes of it so far */
    uint32_t total;   /* bytes of all answers so far */
    uint32_t at, end; /* what of the messages has to be said now */
    uint32_t ends[TUNNEL_MESSAGES];
    struct buf messages; /* all that may be said, in order; given back when that is over */
};

/*
 * Each makes a stream; nothing is sent before ops->connect, nothing is borrowed but below, and
 * ops->close must be called, once. host is as in a URL (IPv6 in brackets).
 */

/* authorization: the value of Proxy-Authorization, or empty. */
void tunnel_init_http(struct tunnel *tunnel, struct stream *below, struct str host, uint16_t port,
                      struct str authorization);
/* address: what the proxy is told; or NULL: the host's name. Without a user name no credentials are
 * offered; neither they nor the password may be longer than TUNNEL_SOCKS_TEXT_MAX. */
void tunnel_init_socks(struct tunnel *tunnel, struct stream *below, struct str host, uint16_t port,
                       const struct sockaddr *address, struct str user, struct str password);

/* --- between the module's own files --- */

/* A tunnel whose messages have to be added yet. False if there can be none to that host: without
 * messages it fails to connect. */
bool tunnel_init(struct tunnel *tunnel, struct stream *below,
                 const struct tunnel_protocol *protocol, struct str host);
/* Ends the message that is being added. */
void tunnel_end_message(struct tunnel *tunnel, unsigned message);
/* Sets the text of a failure and returns TUNNEL_BROKEN. */
enum tunnel_step tunnel_broken(struct tunnel *tunnel, const char *text);

#endif
