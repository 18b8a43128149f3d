#include "plan/compile.h"

/* https://www.iana.org/assignments/http-methods, without CONNECT and PRI. */
static const char *const methods[] = {
    "GET",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "HEAD",
    "OPTIONS",
    "ACL",
    "BIND",
    "CHECKIN",
    "CHECKOUT",
    "COPY",
    "LABEL",
    "LINK",
    "LOCK",
    "MERGE",
    "MKACTIVITY",
    "MKCALENDAR",
    "MKCOL",
    "MOVE",
    "PROPFIND",
    "PROPPATCH",
    "QUERY",
    "REBIND",
    "REPORT",
    "SEARCH",
    "TRACE",
    "UNBIND",
    "UNCHECKOUT",
    "UNLINK",
    "UNLOCK",
    "UPDATE",
    "ORDERPATCH",
    "MKWORKSPACE",
    "MKREDIRECTREF",
    "UPDATEREDIRECTREF",
    "BASELINE-CONTROL",
    "VERSION-CONTROL",
};

#define N_METHODS (sizeof(methods) / sizeof(*methods))

static void compile_method(struct compiler *c, const struct step_in *in,
                           const struct yaml_node *node, struct step_request *out)
{
    struct place at;
    struct str text;

    out->method = STR("GET");
    if (!node)
        return;
    at = compile_at(in, node);
    if (node->kind != YAML_SCALAR || yaml_is_null(node)) {
        faults_error(c->faults, at, NULL, "method must be a text");
        return;
    }
    text = node->text;
    for (size_t i = 0; i < N_METHODS; i++) {
        if (str_eq_nocase(text, str_of(methods[i]))) {
            out->method = str_of(methods[i]);
            return;
        }
    }
    if (!compile_is_token(text)) {
        faults_error(c->faults, at, "GET, POST or another single word",
                     "method '%.*s' is no method", text.n < 80 ? (int)text.n : 80, text.p);
    } else if (str_eq_nocase(text, STR("CONNECT"))) {
        faults_error(c->faults, at, "it is what a client says to a proxy, not to a server",
                     "method CONNECT cannot be sent by a plan");
    } else {
        faults_warning(c->faults, at, faults_did_you_mean(text, methods, N_METHODS),
                       "method '%.*s' is not a registered one", (int)text.n, text.p);
        out->method = arena_copy(&c->plan->arena, text);
    }
}

void compile_items(struct compiler *c, const struct step_in *in, struct step *step)
{
    struct plan *plan = c->plan;
    struct items *items = NULL;
    const char *key;

    if (!in->runs)
        return;
    items_build(in->node, in->source->file, &c->rng, c->faults, &items);
    if (items_node(in->node, &key)) {
        c->scope.item_known = true;
        if (strstr(key, "_from_"))
            c->scope.variables[SLOT_ITEM].origin |= ORIGIN_DATA;
    }
    if (items) {
        step->items = items;
        plan->items = compile_grow(plan->items, plan->n_items, &c->cap_items, sizeof(*plan->items));
        plan->items[plan->n_items++] = items;
    }
}

void compile_request(struct compiler *c, const struct step_in *in, struct step *step)
{
    struct step_request *request = &step->request;
    const struct yaml_node *node;
    struct template written;

    step->kind = STEP_REQUEST;
    node = compile_mapping(c, in, "request", SCHEMA_REQUEST, "request: {url: /path}");
    if (node) {
        compile_method(c, in, yaml_get(node, "method"), request);
        compile_body(c, in, yaml_get(node, "body"), request);
        compile_headers(c, in, yaml_get(node, "headers"), request);
        if (compile_url(c, in, node, request, &written) && step->name.source.n == 0)
            step->name = compile_url_name(c, request->method, &written);
    }
    request->assign = compile_variable(c, in, yaml_get(in->node, "assign"), ORIGIN_RESPONSE);
}
