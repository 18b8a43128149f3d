#include "run/request.h"

#include "base/url.h"
#include "http/auth.h"

/* --- what can be made once --- */

static bool sets(const struct step_request *request, struct str name)
{
    for (size_t i = 0; i < request->n_headers; i++) {
        if (str_eq_nocase(request->headers[i].name, name)) {
            return true;
        }
    }
    return false;
}

static bool idempotent(struct str method)
{
    static const char *const names[] = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (str_eq(method, str_of(names[i]))) {
            return true;
        }
    }
    return false;
}

/* How long "scheme://authority" is in the literal text that a URL begins with; 0: the text may end
 * within it. */
static size_t authority_length(const struct template *url)
{
    if (url->n == 0 || url->parts[0].is_path) {
        return 0;
    }
    struct str text = url->parts[0].text;
    size_t colon = str_find(text, ':');
    if (!str_starts(str_skip(text, colon), STR("://"))) {
        return 0;
    }
    size_t n = colon + 3;
    while (n < text.n && text.p[n] != '/' && text.p[n] != '?' && text.p[n] != '#' &&
           text.p[n] != '\\') {
        n++;
    }
    return n < text.n || url->constant ? n : 0;
}

static void add_line(struct buf *out, struct str name, struct str value)
{
    buf_add_str(out, name);
    buf_add(out, ": ", 2);
    buf_add_str(out, value);
    buf_add(out, "\r\n", 2);
}

/* What follows the target: the lines before the plan's own, which are the defaults that it does not
 * replace, those of the wire (which --verbose leaves out: request_shown_fields) first. */
static void add_defaults(const struct prepared *prepared, const struct origin *origin,
                         const struct url *url, struct buf *out)
{
    buf_add_str(out, STR(" HTTP/1.1\r\n"));
    if (!prepared->sets_host) {
        add_line(out, STR("Host"), origin->authority);
    }
    if (!prepared->sets_accept) {
        add_line(out, STR("Accept"), STR("*/*"));
    }
    if (!prepared->sets_agent) {
        add_line(out, STR("User-Agent"), STR("driller"));
    }
    if (!prepared->sets_authorization && url->username.n + url->password.n) {
        buf_add_str(out, STR("Authorization: "));
        auth_basic(url, out);
        buf_add(out, "\r\n", 2);
    }
}

static void prepare_authority(struct prepared *prepared, struct client *client, struct arena *arena)
{
    const struct step_request *request = &prepared->step->request;
    struct str text = template_text(&request->url);
    struct buf href, other;
    struct url url;
    prepared->authority_n = authority_length(&request->url);
    if (!prepared->authority_n) {
        return;
    }
    buf_init(&href, 4 * URL_MAX);
    buf_init(&other, BUF_NO_MAX);
    if (url_parse((struct str){text.p, prepared->authority_n}, NULL, &href, &url) == URL_OK) {
        prepared->fixed_authority = true;
        prepared->request.origin = client_origin(client, url.https, url.host, url.port, true);
        add_defaults(prepared, prepared->request.origin, &url, &other);
        prepared->defaults = arena_copy(arena, buf_str(&other));
    }
    buf_fini(&href);
    buf_fini(&other);
}

static bool all_constant(const struct step *step)
{
    const struct step_request *request = &step->request;
    bool constant = step->name.constant && request->url.constant &&
                    (!request->has_body || request->body.constant);
    for (size_t i = 0; i < request->n_headers && constant; i++) {
        constant = request->headers[i].value.constant;
    }
    return constant;
}

static bool no_variables(void *ctx, const struct path *path, struct buf *out)
{
    (void)ctx;
    (void)path;
    (void)out;
    return false;
}

void request_prepare(struct prepared *prepared, const struct step *step, const struct plan *plan,
                     struct client *client, struct arena *arena)
{
    const struct step_request *request = &step->request;
    *prepared = (struct prepared){.step = step,
                                  .own_cookies = sets(request, STR("cookie")),
                                  .expects = sets(request, STR("expect")),
                                  .idempotent = idempotent(request->method),
                                  .is_head = str_eq(request->method, STR("HEAD")),
                                  .sets_host = sets(request, STR("host")),
                                  .sets_agent = sets(request, STR("user-agent")),
                                  .sets_accept = sets(request, STR("accept")),
                                  .sets_authorization = sets(request, STR("authorization"))};
    prepare_authority(prepared, client, arena);
    if (!prepared->fixed_authority || !all_constant(step)) {
        return;
    }
    struct buf out, scratch;
    struct render_problem problem;
    buf_init(&out, BUF_NO_MAX);
    buf_init(&scratch, 4 * URL_MAX);
    struct renderer renderer = {no_variables, NULL, &out, &scratch};
    struct request made;
    if (request_render(prepared, plan, client, &renderer, &made, &problem) == RENDER_OK) {
        struct str all = arena_copy(arena, buf_str(&out));
        ptrdiff_t moved = all.p - out.p;
        prepared->request = made;
        prepared->request.head.p += moved;
        prepared->request.target.p += moved;
        prepared->request.shown.p += moved;
        prepared->request.name = template_text(&step->name);
        prepared->request.body = template_text(&request->body);
        prepared->fixed = true;
    }
    buf_fini(&out);
    buf_fini(&scratch);
}

/* --- rendering --- */

/* Offsets while the buffer may still move. */
struct spans {
    size_t name_n, url, url_n, shown, shown_n, head, head_n, target, target_n, body, body_n;
};

static bool is_control(unsigned char c)
{
    return (c < 0x20 && c != '\t') || c == 0x7f;
}

#define EACH(byte) (0x0101010101010101ULL * (byte))

/* Is there a control character, or a TAB, among these eight bytes? */
static bool word_has_control(const char *p)
{
    uint64_t word, other;
    memcpy(&word, p, sizeof word);
    other = word ^ EACH(0x7f); /* zero where there is a DEL */
    return (((word - EACH(0x20)) & ~word) | ((other - EACH(1)) & ~other)) & EACH(0x80);
}

static bool has_control(struct str s)
{
    size_t at = 0;
    while (s.n - at >= sizeof(uint64_t) && !word_has_control(s.p + at)) {
        at += sizeof(uint64_t);
    }
    while (at < s.n && !is_control((unsigned char)s.p[at])) {
        at++;
    }
    return at < s.n;
}

static bool render(const struct renderer *renderer, const struct template *template,
                   struct render_problem *problem)
{
    problem->path = template_render(template, renderer->resolve, renderer->ctx, renderer->out);
    return problem->path == NULL;
}

static enum render_result local(struct render_problem *problem, const void *where, struct str part,
                                const char *text)
{
    problem->where = where;
    problem->part = part;
    problem->text = text;
    return RENDER_LOCAL;
}

/* Puts the base before a URL that turned out to begin with '/'. */
static bool insert_base(struct buf *out, size_t at, struct str base)
{
    if (!buf_reserve(out, base.n)) {
        return false;
    }
    memmove(out->p + at + base.n, out->p + at, out->n - at);
    memcpy(out->p + at, base.p, base.n);
    out->n += base.n;
    return true;
}

/* Renders the URL; what it means goes to *url unless the authority is fixed. */
static enum render_result render_url(const struct prepared *prepared, const struct plan *plan,
                                     const struct renderer *renderer, struct spans *spans,
                                     struct url *url, struct render_problem *problem)
{
    const struct step_request *request = &prepared->step->request;
    struct buf *out = renderer->out;
    spans->url = out->n;
    bool whole = render(renderer, &request->url, problem);
    if (request->url_open && str_starts(buf_str_from(out, spans->url), STR("/"))) {
        insert_base(out, spans->url, plan->base);
    }
    struct str text = buf_str_from(out, spans->url);
    spans->url_n = text.n;
    if (!whole) {
        return RENDER_MISSING;
    }
    if (has_control(text)) {
        return local(problem, prepared, STR("url"),
                     "holds a line break or another control character");
    }
    if (text.n > URL_MAX) {
        return local(problem, prepared, STR("url"), "is longer than 65536 bytes");
    }
    if (prepared->fixed_authority) {
        return RENDER_OK;
    }
    enum url_result result = url_parse(text, NULL, renderer->scratch, url);
    if (result != URL_OK) {
        return local(problem, prepared, STR("url"), url_result_text(result));
    }
    return RENDER_OK;
}

/* What may be shown of the rendered URL: itself, or a copy without its credentials. */
static void add_shown_url(const struct renderer *renderer, struct spans *spans)
{
    struct buf *out = renderer->out;
    spans->shown = spans->url;
    spans->shown_n = spans->url_n;
    if (!memchr(out->p + spans->url, '@', spans->url_n)) {
        return;
    }
    buf_reserve(out, spans->url_n + STR("***").n); /* so that the text does not move */
    spans->shown = out->n;
    url_hide_credentials((struct str){out->p + spans->url, spans->url_n}, out);
    spans->shown_n = out->n - spans->shown;
}

static enum render_result render_headers(const struct prepared *prepared,
                                         const struct renderer *renderer,
                                         struct render_problem *problem)
{
    const struct step_request *request = &prepared->step->request;
    struct buf *out = renderer->out;
    for (size_t i = 0; i < request->n_headers; i++) {
        const struct header *header = &request->headers[i];
        buf_add_str(out, header->name);
        buf_add(out, ": ", 2);
        size_t value = out->n;
        if (!render(renderer, &header->value, problem)) {
            return RENDER_MISSING;
        }
        if (has_control(buf_str_from(out, value))) {
            return local(problem, header, header->name,
                         "holds a line break or another control character");
        }
        buf_add(out, "\r\n", 2);
    }
    return RENDER_OK;
}

/* Does a request of this method say how long its body is even if there is none? */
static bool method_has_body(struct str method)
{
    return str_eq(method, STR("POST")) || str_eq(method, STR("PUT")) ||
           str_eq(method, STR("PATCH"));
}

/* The request target: of a fixed authority's URL, what stands behind it. */
static void add_target(const struct prepared *prepared, const struct renderer *renderer,
                       const struct spans *spans, const struct url *url)
{
    struct buf *out = renderer->out;
    if (!prepared->fixed_authority) {
        buf_add_str(out, url->target);
        return;
    }
    size_t n = spans->url_n - prepared->authority_n;
    buf_reserve(out, 3 * n + 1); /* so that the text below does not move */
    struct str rest = {out->p + spans->url + prepared->authority_n, n};
    if (n == 0 || (rest.p[0] != '/' && rest.p[0] != '\\')) { /* "http://host?query" */
        buf_reset(renderer->scratch);
        buf_add_char(renderer->scratch, '/');
        buf_add_str(renderer->scratch, rest);
        rest = buf_str(renderer->scratch);
    }
    url_target(rest, out);
}

static enum render_result render_head(const struct prepared *prepared,
                                      const struct renderer *renderer, const struct url *url,
                                      struct request *made, struct spans *spans,
                                      struct render_problem *problem)
{
    const struct step_request *request = &prepared->step->request;
    struct buf *out = renderer->out;
    spans->head = out->n;
    buf_add_str(out, request->method);
    buf_add_char(out, ' ');
    spans->target = out->n;
    add_target(prepared, renderer, spans, url);
    spans->target_n = out->n - spans->target;
    if (prepared->fixed_authority) {
        buf_add_str(out, prepared->defaults);
    } else {
        add_defaults(prepared, made->origin, url, out);
    }
    enum render_result result = render_headers(prepared, renderer, problem);
    if (result != RENDER_OK) {
        return result;
    }
    if (request->has_body || method_has_body(request->method)) {
        buf_add_str(out, STR("Content-Length: "));
        buf_add_u64(out, spans->body_n);
        buf_add(out, "\r\n", 2);
    }
    buf_add(out, "\r\n", 2);
    spans->head_n = out->n - spans->head;
    return RENDER_OK;
}

static enum render_result render_parts(const struct prepared *prepared, const struct plan *plan,
                                       struct client *client, const struct renderer *renderer,
                                       struct request *made, struct spans *spans,
                                       struct render_problem *problem)
{
    const struct step *step = prepared->step;
    struct buf *out = renderer->out;
    struct url url = {0};
    bool named = render(renderer, &step->name, problem);
    const struct path *missing = problem->path;
    spans->name_n = out->n;
    enum render_result result = render_url(prepared, plan, renderer, spans, &url, problem);
    add_shown_url(renderer, spans);
    if (!named) {
        problem->path = missing;
        return RENDER_MISSING;
    }
    if (result != RENDER_OK) {
        return result;
    }
    made->origin = prepared->fixed_authority
                       ? prepared->request.origin
                       : client_origin(client, url.https, url.host, url.port, false);
    if (step->request.has_body && !step->request.body.constant) {
        spans->body = out->n;
        if (!render(renderer, &step->request.body, problem)) {
            return RENDER_MISSING;
        }
        spans->body_n = out->n - spans->body;
    } else {
        spans->body_n = template_text(&step->request.body).n;
    }
    return render_head(prepared, renderer, &url, made, spans, problem);
}

enum render_result request_render(const struct prepared *prepared, const struct plan *plan,
                                  struct client *client, const struct renderer *renderer,
                                  struct request *request, struct render_problem *problem)
{
    struct buf *out = renderer->out;
    struct spans spans = {0};
    buf_reset(out);
    enum render_result result =
        render_parts(prepared, plan, client, renderer, request, &spans, problem);
    if (result == RENDER_OK && out->full) {
        result = local(problem, prepared, STR("request"), "is larger than 64 MiB");
    }
    request->name = (struct str){out->p, spans.name_n};
    request->shown = (struct str){out->p + spans.shown, spans.shown_n};
    request->head = (struct str){out->p + spans.head, spans.head_n};
    request->target = (struct str){out->p + spans.target, spans.target_n};
    const struct step_request *step = &prepared->step->request;
    request->body = step->has_body && step->body.constant
                        ? template_text(&step->body)
                        : (struct str){out->p + spans.body, spans.body_n};
    return result;
}

struct str request_shown_fields(const struct prepared *prepared, struct str head)
{
    unsigned lines = 1u + !prepared->sets_host + !prepared->sets_accept;
    for (unsigned i = 0; i < lines; i++) {
        head = str_skip(head, str_find(head, '\n') + 1);
    }
    return head;
}
