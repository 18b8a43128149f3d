#include "http/h2_fields.h"

#include "http/client.h"

static void field_add(struct h2_fields *fields, struct str name, struct str value, uint8_t flags)
{
    fields->list[fields->n++] = (nghttp2_nv){(uint8_t *)(uintptr_t)name.p,
                                             (uint8_t *)(uintptr_t)value.p, name.n, value.n, flags};
}

/* Fields of the connection have no place in HTTP/2 (RFC 9113 §8.2.2). */
static bool connection_field(struct str name, struct str value)
{
    static const char *const names[] = {
        "host", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (str_eq_nocase(name, str_of(names[i]))) {
            return true;
        }
    }
    return str_eq_nocase(name, STR("te")) && !str_eq_nocase(value, STR("trailers"));
}

static struct str lower(struct buf *store, struct str name)
{
    size_t at = store->n;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        buf_add_char(store, c >= 'A' && c <= 'Z' ? (char)(c + 32) : c);
    }
    return buf_str_from(store, at);
}

bool h2_fields_make(struct h2_fields *fields, const struct exchange *exchange, struct str head)
{
    const struct origin *origin = exchange->final_origin;
    struct str authority = origin->authority;
    struct str rest = str_skip(head, str_find(head, '\n') + 1);
    buf_init(&fields->lower, BUF_NO_MAX);
    buf_reserve(&fields->lower, head.n);
    fields->n = 4;
    while (rest.n > 2) {
        struct str line = {rest.p, str_find(rest, '\n')};
        struct str name = {line.p, str_find(line, ':')};
        struct str value = str_trim(str_skip(line, name.n + 1));
        rest = str_skip(rest, line.n + 1);
        if (str_eq_nocase(name, STR("host"))) {
            authority = value;
        }
        if (name.n == line.n || connection_field(name, value)) {
            continue;
        }
        if (fields->n == H2_REQUEST_FIELDS_MAX) {
            return false;
        }
        bool secret = str_eq_nocase(name, STR("authorization")) ||
                      str_eq_nocase(name, STR("proxy-authorization"));
        field_add(fields, lower(&fields->lower, name), value,
                  secret ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE);
    }
    size_t n = fields->n;
    fields->n = 0;
    field_add(fields, STR(":method"), exchange->method, NGHTTP2_NV_FLAG_NONE);
    field_add(fields, STR(":scheme"), origin->https ? STR("https") : STR("http"),
              NGHTTP2_NV_FLAG_NONE);
    field_add(fields, STR(":authority"), authority, NGHTTP2_NV_FLAG_NONE);
    field_add(fields, STR(":path"), exchange->final_target, NGHTTP2_NV_FLAG_NONE);
    fields->n = n;
    return true;
}

void h2_fields_fini(struct h2_fields *fields)
{
    buf_fini(&fields->lower);
}
