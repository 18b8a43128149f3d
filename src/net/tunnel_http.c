#include "net/tunnel.h"

/* Of an answer's head: "HTTP/1.0 200", the byte behind it, and so on to the CR of the empty line.
 */
enum part { STATUS, BEHIND, REASON, REASON_CR, BEGIN, FIELD, FIELD_CR, LAST_CR };

/* What is still to come in each, at least. Only CR LF ends a line here: with bare LFs it would be
 * half of that. */
static const uint8_t LEAST[] = {16, 4, 4, 3, 2, 4, 3, 1};

/* '0' is any digit. */
static const char STATUS_LINE[] = "HTTP/1.0 000";
#define STATUS_LINE_N (sizeof STATUS_LINE - 1)

static const char *const GARBAGE = "the proxy answered with something that is not HTTP/1.1";

/* --- texts --- */

static const struct {
    unsigned status;
    const char *text;
} TEXTS[] = {
#define TEXT(status, phrase)                             \
    {                                                    \
        status, "the proxy answered " #status " " phrase \
    }
    TEXT(101, "Switching Protocols"),
    TEXT(300, "Multiple Choices"),
    TEXT(301, "Moved Permanently"),
    TEXT(302, "Found"),
    TEXT(303, "See Other"),
    TEXT(304, "Not Modified"),
    TEXT(305, "Use Proxy"),
    TEXT(307, "Temporary Redirect"),
    TEXT(308, "Permanent Redirect"),
    TEXT(400, "Bad Request"),
    TEXT(401, "Unauthorized"),
    TEXT(402, "Payment Required"),
    TEXT(403, "Forbidden"),
    TEXT(404, "Not Found"),
    TEXT(405, "Method Not Allowed"),
    TEXT(406, "Not Acceptable"),
    TEXT(407, "Proxy Authentication Required"),
    TEXT(408, "Request Timeout"),
    TEXT(409, "Conflict"),
    TEXT(410, "Gone"),
    TEXT(411, "Length Required"),
    TEXT(412, "Precondition Failed"),
    TEXT(413, "Content Too Large"),
    TEXT(414, "URI Too Long"),
    TEXT(415, "Unsupported Media Type"),
    TEXT(416, "Range Not Satisfiable"),
    TEXT(417, "Expectation Failed"),
    TEXT(421, "Misdirected Request"),
    TEXT(422, "Unprocessable Content"),
    TEXT(423, "Locked"),
    TEXT(424, "Failed Dependency"),
    TEXT(425, "Too Early"),
    TEXT(426, "Upgrade Required"),
    TEXT(428, "Precondition Required"),
    TEXT(429, "Too Many Requests"),
    TEXT(431, "Request Header Fields Too Large"),
    TEXT(451, "Unavailable For Legal Reasons"),
    TEXT(500, "Internal Server Error"),
    TEXT(501, "Not Implemented"),
    TEXT(502, "Bad Gateway"),
    TEXT(503, "Service Unavailable"),
    TEXT(504, "Gateway Timeout"),
    TEXT(505, "HTTP Version Not Supported"),
    TEXT(506, "Variant Also Negotiates"),
    TEXT(507, "Insufficient Storage"),
    TEXT(508, "Loop Detected"),
    TEXT(511, "Network Authentication Required"),
#undef TEXT
};

static const char *text_of(unsigned status)
{
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        if (TEXTS[i].status == status) {
            return TEXTS[i].text;
        }
    }
    switch (status / 100) {
    case 3:
        return "the proxy answered with an unusual status, a 3xx";
    case 4:
        return "the proxy answered with an unusual status, a 4xx";
    case 5:
        return "the proxy answered with an unusual status, a 5xx";
    default:
        return GARBAGE;
    }
}

/* --- the answer --- */

static size_t http_need(const struct tunnel *tunnel)
{
    return LEAST[tunnel->part] - (tunnel->part == STATUS ? tunnel->n : 0);
}

static unsigned status_of(const struct tunnel *tunnel)
{
    const uint8_t *digits = tunnel->in + STATUS_LINE_N - 3;
    return (digits[0] - 48u) * 100 + (digits[1] - 48u) * 10 + (digits[2] - 48u);
}

static enum tunnel_step go_to(struct tunnel *tunnel, enum part part)
{
    tunnel->part = (uint8_t)part;
    return TUNNEL_MORE;
}

static enum tunnel_step take_status(struct tunnel *tunnel, char c)
{
    char want = STATUS_LINE[tunnel->n];
    if (want == '0' ? c < '0' || c > '9' : c != want) {
        return tunnel_broken(tunnel, GARBAGE);
    }
    tunnel->in[tunnel->n++] = (uint8_t)c;
    return go_to(tunnel, tunnel->n < STATUS_LINE_N ? STATUS : BEHIND);
}

static enum tunnel_step end_status_line(struct tunnel *tunnel)
{
    unsigned status = status_of(tunnel);
    bool interim = status / 100 == 1 && status != 101;
    if (interim && tunnel->interim++ == TUNNEL_INTERIM_MAX) {
        return tunnel_broken(tunnel, "the proxy answered with too many interim responses");
    }
    if (!interim && status / 100 != 2) {
        return tunnel_broken(tunnel, text_of(status));
    }
    return go_to(tunnel, BEGIN);
}

static enum tunnel_step end_head(struct tunnel *tunnel)
{
    tunnel->n = 0;
    return status_of(tunnel) / 100 == 2 ? TUNNEL_DONE : go_to(tunnel, STATUS);
}

static enum tunnel_step take_char(struct tunnel *tunnel, char c)
{
    enum part part = (enum part)tunnel->part;
    bool after_cr = part == REASON_CR || part == FIELD_CR || part == LAST_CR;
    if (part == STATUS) {
        return take_status(tunnel, c);
    }
    if (c == 0 || (c == '\n') != after_cr || (part == BEHIND && c != ' ' && c != '\r')) {
        return tunnel_broken(tunnel, GARBAGE);
    }
    switch (part) {
    case BEHIND:
    case REASON:
        return go_to(tunnel, c == '\r' ? REASON_CR : REASON);
    case REASON_CR:
        return end_status_line(tunnel);
    case BEGIN:
        return go_to(tunnel, c == '\r' ? LAST_CR : FIELD);
    case FIELD:
        return go_to(tunnel, c == '\r' ? FIELD_CR : FIELD);
    case FIELD_CR:
        return go_to(tunnel, BEGIN);
    default:
        return end_head(tunnel);
    }
}

static enum tunnel_step http_take(struct tunnel *tunnel, struct str bytes)
{
    enum tunnel_step step = TUNNEL_MORE;
    tunnel->total += (uint32_t)bytes.n;
    for (size_t i = 0; i < bytes.n && step == TUNNEL_MORE; i++) {
        step = take_char(tunnel, bytes.p[i]);
    }
    if (step == TUNNEL_MORE && tunnel->total >= TUNNEL_HEAD_MAX) {
        return tunnel_broken(tunnel, "the head of the proxy's answer is larger than 64 KiB");
    }
    return step;
}

/* --- the request --- */

void tunnel_init_http(struct tunnel *tunnel, struct stream *below, struct str host, uint16_t port,
                      struct str authorization)
{
    static const struct tunnel_protocol HTTP = {http_need, http_take};
    struct buf *out = &tunnel->messages;
    if (!tunnel_init(tunnel, below, &HTTP, host)) {
        return;
    }
    buf_addf(out, "CONNECT %.*s:%u HTTP/1.1\r\n", (int)host.n, host.p, port);
    buf_addf(out, "Host: %.*s:%u\r\n", (int)host.n, host.p, port);
    if (authorization.n > 0) {
        buf_add_str(out, STR("Proxy-Authorization: "));
        buf_add_str(out, authorization);
        buf_add_str(out, STR("\r\n"));
    }
    buf_add_str(out, STR("User-Agent: driller\r\n\r\n"));
    tunnel_end_message(tunnel, 0);
}
