#include <arpa/inet.h>
#include <netinet/in.h>

#include "net/tunnel.h"

/* Parts of the exchange, and the messages that they answer. */
enum { METHOD, LOGIN, REPLY };

enum { VERSION = 5, LOGIN_VERSION = 1 };
enum { NO_LOGIN = 0, PASSWORD = 2, NONE_ACCEPTABLE = 0xff };
enum { IPV4 = 1, NAME = 3, IPV6 = 4 };

/* What says how long a reply is. */
#define REPLY_BEGIN 5

static const char *const GARBAGE = "the proxy answered with something that is not SOCKS 5";

/* --- the answers --- */

static const char *reply_text(uint8_t code)
{
    static const char *const TEXTS[] = {
        NULL,
        "the proxy answered: general failure",
        "the proxy answered: not allowed",
        "the proxy answered: network unreachable",
        "the proxy answered: host unreachable",
        "the proxy answered: connection refused",
        "the proxy answered: timed out",
        "the proxy answered: command not supported",
        "the proxy answered: kind of address not supported",
    };
    return code < sizeof TEXTS / sizeof TEXTS[0] ? TEXTS[code]
                                                 : "the proxy answered: an unknown failure";
}

/* The bytes of a whole reply; 0 for a kind of address that there is not. */
static uint32_t reply_size(const struct tunnel *tunnel)
{
    switch (tunnel->in[3]) {
    case IPV4:
        return 4 + 4 + 2;
    case NAME:
        return REPLY_BEGIN + tunnel->in[4] + 2u;
    case IPV6:
        return 4 + 16 + 2;
    default:
        return 0;
    }
}

static size_t socks_need(const struct tunnel *tunnel)
{
    if (tunnel->part != REPLY) {
        return 2 - tunnel->n;
    }
    return (tunnel->n < REPLY_BEGIN ? REPLY_BEGIN : reply_size(tunnel)) - tunnel->n;
}

static enum tunnel_step say(struct tunnel *tunnel, uint8_t part)
{
    tunnel->part = part;
    tunnel->n = 0;
    tunnel->at = tunnel->ends[part - 1];
    tunnel->end = tunnel->ends[part];
    return TUNNEL_SAY;
}

static enum tunnel_step take_method(struct tunnel *tunnel)
{
    bool has_login = tunnel->ends[LOGIN] > tunnel->ends[METHOD];
    if (tunnel->in[0] != VERSION) {
        return tunnel_broken(tunnel, GARBAGE);
    }
    if (tunnel->n < 2) {
        return TUNNEL_MORE;
    }
    if (tunnel->in[1] == NO_LOGIN) {
        return say(tunnel, REPLY);
    }
    if (tunnel->in[1] == PASSWORD && has_login) {
        return say(tunnel, LOGIN);
    }
    if (tunnel->in[1] == NONE_ACCEPTABLE) {
        return tunnel_broken(tunnel, has_login ? "the proxy takes no user name and password"
                                               : "the proxy wants a user name and a password");
    }
    return tunnel_broken(tunnel, GARBAGE);
}

/* The version is not looked at: some proxies repeat that of SOCKS. */
static enum tunnel_step take_login(struct tunnel *tunnel)
{
    if (tunnel->n < 2) {
        return TUNNEL_MORE;
    }
    if (tunnel->in[1] != 0) {
        return tunnel_broken(tunnel, "the proxy refused the user name and the password");
    }
    return say(tunnel, REPLY);
}

/* A proxy may close behind the code of a failure, however much of the reply is missing. */
static enum tunnel_step take_reply(struct tunnel *tunnel)
{
    if (tunnel->in[0] != VERSION) {
        return tunnel_broken(tunnel, GARBAGE);
    }
    if (tunnel->n >= 2 && tunnel->in[1] != 0) {
        return tunnel_broken(tunnel, reply_text(tunnel->in[1]));
    }
    if (tunnel->n < REPLY_BEGIN) {
        return TUNNEL_MORE;
    }
    if (reply_size(tunnel) == 0) {
        return tunnel_broken(tunnel, GARBAGE);
    }
    return tunnel->n == reply_size(tunnel) ? TUNNEL_DONE : TUNNEL_MORE;
}

static enum tunnel_step socks_take(struct tunnel *tunnel, struct str bytes)
{
    for (size_t i = 0; i < bytes.n; i++, tunnel->n++) {
        if (tunnel->n < REPLY_BEGIN) {
            tunnel->in[tunnel->n] = (uint8_t)bytes.p[i];
        }
    }
    switch (tunnel->part) {
    case METHOD:
        return take_method(tunnel);
    case LOGIN:
        return take_login(tunnel);
    default:
        return take_reply(tunnel);
    }
}

/* --- the messages --- */

static void add_byte(struct buf *out, size_t byte)
{
    buf_add_char(out, (char)byte);
}

/* A length in one byte, and as many. */
static void add_text(struct buf *out, struct str text)
{
    add_byte(out, text.n);
    buf_add_str(out, text);
}

static bool add_address(struct buf *out, const struct sockaddr *address)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;
    bool is_v4 = address->sa_family == AF_INET;
    add_byte(out, is_v4 ? IPV4 : IPV6);
    return is_v4 ? buf_add(out, &v4->sin_addr, sizeof v4->sin_addr)
                 : buf_add(out, &v6->sin6_addr, sizeof v6->sin6_addr);
}

/* An address in text is told as one: few proxies would look it up. */
static bool add_host(struct buf *out, struct str host)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    char text[TUNNEL_HOST_MAX + 1];
    bool bracketed = host.p[0] == '[' && host.p[host.n - 1] == ']';
    memcpy(text, host.p, host.n);
    text[host.n] = 0;
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
        return add_address(out, (const struct sockaddr *)&v4);
    }
    if (bracketed) {
        text[host.n - 1] = 0;
        return inet_pton(AF_INET6, text + 1, &v6.sin6_addr) == 1 &&
               add_address(out, (const struct sockaddr *)&v6);
    }
    add_byte(out, NAME);
    add_text(out, host);
    return true;
}

static void add_login(struct buf *out, struct str user, struct str password)
{
    if (user.n > 0) {
        add_byte(out, LOGIN_VERSION);
        add_text(out, user);
        add_text(out, password);
    }
}

void tunnel_init_socks(struct tunnel *tunnel, struct stream *below, struct str host, uint16_t port,
                       const struct sockaddr *address, struct str user, struct str password)
{
    static const struct tunnel_protocol SOCKS = {socks_need, socks_take};
    static const char REQUEST[] = {VERSION, 1 /* CONNECT */, 0};
    struct buf *out = &tunnel->messages;
    if (!tunnel_init(tunnel, below, &SOCKS, host)) {
        return;
    }
    buf_add_str(out, user.n > 0 ? STR("\5\2\0\2") : STR("\5\1\0"));
    tunnel_end_message(tunnel, METHOD);
    add_login(out, user, password);
    tunnel_end_message(tunnel, LOGIN);
    buf_add(out, REQUEST, sizeof REQUEST);
    if (!(address ? add_address(out, address) : add_host(out, host))) {
        buf_reset(out);
        return;
    }
    add_byte(out, port >> 8);
    add_byte(out, port & 0xff);
    tunnel_end_message(tunnel, REPLY);
}
