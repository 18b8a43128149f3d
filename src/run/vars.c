#include "run/vars.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "http/charset.h"
#include "http/h1_parse.h"

void vars_init(struct vars *vars, const struct plan *plan, const struct jar *jar)
{
    *vars = (struct vars){.plan = plan, .jar = jar};
}

static size_t own_count(const struct vars *vars)
{
    return vars->plan->n_slots - SLOT_FIRST_OWN;
}

void vars_fini(struct vars *vars)
{
    for (size_t i = 0; vars->own && i < own_count(vars); i++) {
        struct var *var = &vars->own[i];
        buf_fini(&var->text);
        buf_fini(&var->utf8);
        if (var->response) {
            response_fini(var->response);
            free(var->response);
        }
    }
    free(vars->own);
    vars->own = NULL;
}

void vars_reset(struct vars *vars, uint64_t iteration)
{
    vars->iteration = vars->index = iteration;
    vars->items = NULL;
    for (size_t i = 0; vars->own && i < own_count(vars); i++) {
        struct var *var = &vars->own[i];
        var->kind = VAR_UNSET;
        buf_shrink(&var->text, VARS_KEPT_BYTES);
        buf_shrink(&var->utf8, VARS_KEPT_BYTES);
        if (var->response) {
            buf_shrink(&var->response->body, VARS_KEPT_BYTES);
        }
    }
}

static struct var *own(struct vars *vars, uint32_t slot)
{
    if (!vars->own) {
        vars->own = xcalloc(own_count(vars), sizeof *vars->own);
        for (size_t i = 0; i < own_count(vars); i++) {
            buf_init(&vars->own[i].text, BUF_NO_MAX);
            buf_init(&vars->own[i].utf8, BUF_NO_MAX);
        }
    }
    return &vars->own[slot - SLOT_FIRST_OWN];
}

void vars_set_text(struct vars *vars, uint32_t slot, struct str text)
{
    struct var *var = own(vars, slot);
    var->kind = VAR_TEXT;
    buf_reset(&var->text);
    buf_add_str(&var->text, text);
}

void vars_set_response(struct vars *vars, uint32_t slot, struct response **response)
{
    struct var *var = own(vars, slot);
    struct response *old = var->response;
    var->kind = VAR_RESPONSE;
    var->response = *response;
    var->body_state = BODY_UNREAD;
    var->decoded = false;
    *response = old;
}

/* --- a response as a value --- */

static struct str body_charset(const struct var *var)
{
    struct str type;
    return h1_field_find(buf_str(&var->response->fields), STR("content-type"), &type)
               ? charset_of(type)
               : (struct str){0};
}

/* The body as UTF-8 text: itself where it is that already. */
static struct str body_text(struct var *var)
{
    struct str body = buf_str(&var->response->body), charset = body_charset(var);
    bool has_mark = str_starts(body, STR("\xef\xbb\xbf")) || str_starts(body, STR("\xff\xfe")) ||
                    str_starts(body, STR("\xfe\xff"));
    if (charset_is_utf8(charset) && !has_mark && utf8_valid(body)) {
        return body;
    }
    if (!var->decoded) {
        buf_reset(&var->utf8);
        charset_to_utf8(body, charset, &var->utf8);
        var->decoded = true;
    }
    return buf_str(&var->utf8);
}

/* The body as JSON, checked once. The check itself takes care of bad UTF-8. */
static bool body_json(struct var *var, struct str *json)
{
    if (var->body_state == BODY_UNREAD) {
        struct str text =
            charset_is_utf8(body_charset(var)) ? buf_str(&var->response->body) : body_text(var);
        var->body_state =
            json_check_index(text, &var->json, &var->index) ? BODY_JSON : BODY_NO_JSON;
    }
    *json = var->json;
    return var->body_state == BODY_JSON;
}

static void header_text(struct str value, struct buf *out)
{
    if (!h1_is_folded(value)) {
        buf_add_str(out, value);
    } else if (buf_reserve(out, value.n)) {
        out->n += h1_unfold(value, out->p + out->n);
    }
}

/* The last field of that name counts. */
static bool header_find(const struct var *var, struct str name, struct str *value)
{
    struct str fields = buf_str(&var->response->fields);
    bool found = false;
    while (h1_field_take(&fields, name, value)) {
        found = true;
    }
    return found;
}

struct field {
    struct str name, value; /* the name in lower case; p NULL: a field behind it has the same */
};

/* All fields of a head; their names are put into `names`. */
static struct field *fields_of(struct str head, size_t *n, struct buf *names)
{
    struct field *fields = NULL, field;
    size_t cap = 0;
    struct map seen;
    *n = 0;
    buf_reserve(names, head.n); /* so that it does not move */
    while (h1_field_next(&head, &field.name, &field.value)) {
        struct str name = {names->p + names->n, field.name.n};
        for (size_t i = 0; i < name.n; i++) {
            char c = field.name.p[i];
            buf_add_char(names, c >= 'A' && c <= 'Z' ? (char)(c + 32) : c);
        }
        if (*n == cap) {
            cap = cap ? 2 * cap : 16;
            fields = xrealloc(fields, cap * sizeof *fields);
        }
        fields[(*n)++] = (struct field){name, field.value};
    }
    map_init(&seen);
    for (size_t i = *n; i-- > 0;) {
        if (!map_add(&seen, fields[i].name, 0, NULL)) {
            fields[i].name.p = NULL;
        }
    }
    map_fini(&seen);
    return fields;
}

static void headers_json(const struct var *var, struct buf *out)
{
    size_t n;
    bool first = true;
    struct buf names, text;
    buf_init(&names, BUF_NO_MAX);
    buf_init(&text, BUF_NO_MAX);
    struct field *fields = fields_of(buf_str(&var->response->fields), &n, &names);
    buf_add_char(out, '{');
    for (size_t i = 0; i < n; i++) {
        if (!fields[i].name.p) {
            continue;
        }
        buf_add_str(out, first ? STR("") : STR(","));
        first = false;
        json_quote(out, fields[i].name);
        buf_add_char(out, ':');
        buf_reset(&text);
        header_text(fields[i].value, &text);
        json_quote(out, buf_str(&text));
    }
    buf_add_char(out, '}');
    free(fields);
    buf_fini(&names);
    buf_fini(&text);
}

static void response_json(struct var *var, struct buf *out)
{
    struct str json;
    buf_add_str(out, STR("{\"status\":"));
    buf_add_u64(out, var->response->status);
    buf_add_str(out, STR(",\"headers\":"));
    headers_json(var, out);
    buf_add_str(out, STR(",\"body\":"));
    if (!body_json(var, &json)) {
        buf_add_str(out, STR("null"));
    } else if (json_type(json) == JSON_STRING || json_type(json) == JSON_NULL) {
        buf_add_str(out, json);
    } else {
        json_text(json, out);
    }
    buf_add_str(out, STR(",\"url\":"));
    json_quote(out, buf_str(&var->response->url));
    buf_add_char(out, '}');
}

static bool response_text(struct var *var, const struct json_key *keys, size_t n, struct buf *out)
{
    struct str value;
    if (n == 0) {
        response_json(var, out);
        return true;
    }
    struct str name = keys[0].text;
    if (str_eq(name, STR("body"))) {
        if (!body_json(var, &value)) {
            return n == 1;
        }
        return json_find_index(value, &var->index, keys + 1, n - 1, &value) &&
               (json_text(value, out), true);
    }
    if (str_eq(name, STR("headers"))) {
        if (n == 1) {
            headers_json(var, out);
            return true;
        }
        return n == 2 && header_find(var, keys[1].text, &value) && (header_text(value, out), true);
    }
    if (n > 1) {
        return false;
    }
    if (str_eq(name, STR("status"))) {
        return buf_add_u64(out, var->response->status);
    }
    if (str_eq(name, STR("text"))) {
        return buf_add_str(out, body_text(var)) || out->full;
    }
    if (str_eq(name, STR("url"))) {
        return buf_add_str(out, buf_str(&var->response->url)) || out->full;
    }
    return false;
}

/* --- looking up --- */

static bool cookies_text(const struct jar *jar, const struct path *path, struct buf *out)
{
    struct str value;
    if (path->n_keys == 0) {
        jar_json(jar, out);
        return true;
    }
    return path->n_keys == 1 && jar_find(jar, path->keys[0].text, &value) &&
           (buf_add_str(out, value), true);
}

static bool own_text(struct vars *vars, const struct path *path, struct buf *out)
{
    struct var *var = vars->own ? &vars->own[path->slot - SLOT_FIRST_OWN] : NULL;
    if (!var || var->kind == VAR_UNSET) {
        return path->has_env && (buf_add_str(out, path->env), true);
    }
    if (var->kind == VAR_TEXT) {
        return path->n_keys == 0 && (buf_add_str(out, buf_str(&var->text)), true);
    }
    return response_text(var, path->keys, path->n_keys, out);
}

bool vars_text(void *ctx, const struct path *path, struct buf *out)
{
    struct vars *vars = ctx;
    switch (path->slot) {
    case SLOT_NONE:
        return path->has_env && (buf_add_str(out, path->env), true);
    case SLOT_BASE:
        return path->n_keys == 0 && (buf_add_str(out, vars->plan->base), true);
    case SLOT_ITERATION:
        return path->n_keys == 0 && (buf_add_u64(out, vars->iteration), true);
    case SLOT_INDEX:
        return path->n_keys == 0 && (buf_add_u64(out, vars->index), true);
    case SLOT_ITEM:
        return vars->items && items_text(vars->items, vars->item, path->keys, path->n_keys, out);
    case SLOT_COOKIES:
        return cookies_text(vars->jar, path, out);
    default:
        return own_text(vars, path, out);
    }
}
