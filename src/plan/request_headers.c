#include <stdio.h>

#include "plan/compile.h"

bool compile_is_token(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (c <= ' ' || c >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", c))
            return false;
    }
    return s.n > 0 && s.n <= PLAN_MAX_TOKEN;
}

static struct str lower_case(struct str s, struct arena *arena)
{
    struct str copy = arena_copy(arena, s);

    for (size_t i = 0; i < s.n; i++) {
        char *p = (char *)(uintptr_t)copy.p + i;

        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p | 0x20);
    }
    return copy;
}

/* A control character may come from a variable and is then found when the request is made; written
 * down it is found now. */
static void check_value(struct compiler *c, const struct header *header, struct place at)
{
    for (size_t i = 0; i < header->value.n; i++) {
        struct str text = header->value.parts[i].text;

        for (size_t k = 0; k < text.n; k++) {
            unsigned char byte = (unsigned char)text.p[k];

            if ((byte >= 0x20 || byte == '\t') && byte != 0x7f)
                continue;
            faults_error(c->faults, at,
                         byte == '\n' || byte == '\r'
                             ? "'|' keeps the last line break, '|-' does not"
                             : NULL,
                         "header %.*s: %s cannot be sent", (int)header->name.n, header->name.p,
                         byte == '\n' || byte == '\r' ? "a line break" : "a control character");
            return;
        }
    }
}

/* The connection is driller's to manage; a plan may say how long it lives. */
static void check_connection(struct compiler *c, const struct header *header, struct place at)
{
    struct str value = str_trim(template_text(&header->value));

    if (!header->value.constant ||
        (!str_eq_nocase(value, STR("close")) && !str_eq_nocase(value, STR("keep-alive"))))
        faults_error(c->faults, at, "'close' or 'keep-alive', or leave it out",
                     "header %.*s: driller manages connections itself", (int)header->name.n,
                     header->name.p);
}

/* A length that agrees with the body says nothing new and is left out; any other would make the
 * request end somewhere else for the server. */
static void check_length(struct compiler *c, const struct header *header, struct place at,
                         struct step_request *request)
{
    uint64_t length = 0, body = template_text(&request->body).n;
    bool known = str_to_u64(str_trim(template_text(&header->value)), &length);

    if (!header->value.constant || !request->body.constant)
        faults_error(c->faults, at, "leave it out: driller counts the body",
                     "header Content-Length: the length of a template is not known yet");
    else if (!known || length != body)
        faults_error(c->faults, at, "leave it out: driller counts the body",
                     "header Content-Length: the body has %llu bytes", (unsigned long long)body);
    else
        request->has_body = true;
}

/* Is it one that goes into the request? */
static bool check_special(struct compiler *c, const struct header *header, struct str lower,
                          struct place at, struct step_request *request)
{
    if (str_eq(lower, STR("transfer-encoding"))) {
        faults_error(c->faults, at, "leave it out: a body is sent with its length",
                     "header Transfer-Encoding: driller frames the request itself");
        return false;
    }
    if (str_eq(lower, STR("content-length"))) {
        check_length(c, header, at, request);
        return false;
    }
    if (str_eq(lower, STR("connection")) || str_eq(lower, STR("proxy-connection")))
        check_connection(c, header, at);
    return true;
}

static void compile_header(struct compiler *c, const struct step_in *in,
                           const struct yaml_node *key, const struct yaml_node *value,
                           struct map *seen, struct step_request *out)
{
    struct arena *arena = &c->plan->arena;
    struct header *header = &out->headers[out->n_headers];
    struct place at = compile_at(in, key);
    struct str lower = lower_case(key->text, arena);
    char what[64];

    if (!compile_is_token(key->text)) {
        faults_error(c->faults, at, "letters, digits and - . _ and the like, no blanks",
                     "'%.*s' is no name of a header", key->text.n < 80 ? (int)key->text.n : 80,
                     key->text.p);
        return;
    }
    if (!map_add(seen, lower, 0, NULL)) {
        faults_error(c->faults, at, NULL, "header %.*s stands twice", (int)key->text.n,
                     key->text.p);
        return;
    }
    if (value->kind != YAML_SCALAR || yaml_is_null(value)) {
        faults_error(c->faults, compile_at(in, value),
                     value->kind == YAML_SCALAR ? "'' is an empty value" : NULL,
                     "header %.*s must be a text, a number or a truth value", (int)key->text.n,
                     key->text.p);
        return;
    }
    snprintf(what, sizeof(what), "header %.*s", key->text.n < 50 ? (int)key->text.n : 50,
             key->text.p);
    header->name = arena_copy(arena, key->text);
    at = compile_at(in, value);
    if (!compile_text(c, in, value, what, &header->value))
        return;
    check_value(c, header, at);
    out->n_headers += check_special(c, header, lower, at, out) ? 1 : 0;
}

void compile_headers(struct compiler *c, const struct step_in *in, const struct yaml_node *node,
                     struct step_request *out)
{
    struct map seen;

    if (!node || yaml_is_null(node))
        return;
    if (node->kind != YAML_MAPPING) {
        faults_error(c->faults, compile_at(in, node), "headers: {X-Name: value}",
                     "headers must be a mapping");
        return;
    }
    if (node->n > PLAN_MAX_HEADERS) {
        faults_error(c->faults, compile_at(in, node), NULL, "a request has at most %d headers",
                     PLAN_MAX_HEADERS);
        return;
    }
    out->headers = arena_alloc(&c->plan->arena, node->n * sizeof(*out->headers));
    map_init(&seen);
    for (size_t i = 0; i < node->n; i++)
        compile_header(c, in, node->keys[i], node->items[i], &seen, out);
    map_fini(&seen);
}
