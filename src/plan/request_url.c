#include "base/url.h"
#include "plan/compile.h"

#define SHOWN_MAX 80

size_t compile_origin_length(struct str url)
{
    size_t colon = str_find(url, ':'), at = colon + 1;
    struct str scheme = {url.p, colon};

    if (colon == url.n)
        return 0;
    if (!str_eq_nocase(scheme, STR("http")) && !str_eq_nocase(scheme, STR("https")))
        return 0;
    /* Any number of slashes, or none: the URL standard takes "http:/host" too. */
    while (at < url.n && (url.p[at] == '/' || url.p[at] == '\\'))
        at++;
    while (at < url.n && !strchr("/\\?#", url.p[at]))
        at++;
    return at < url.n ? at : url.n;
}

/* The beginning of a URL as a message may show it, NUL-terminated. */
static const char *shown(struct compiler *c, struct str url)
{
    buf_reset(&c->url);
    url_hide_credentials((struct str){url.p, url.n < URL_MAX ? url.n : URL_MAX}, &c->url);
    if (c->url.n > SHOWN_MAX)
        c->url.n = SHOWN_MAX;
    buf_add_char(&c->url, '\0');
    return c->url.p;
}

bool compile_check_url(struct compiler *c, struct str text, struct place at, const char *what)
{
    struct url url;
    enum url_result result = url_parse(text, NULL, &c->url, &url);
    const char *help = NULL;

    if (result == URL_OK)
        return true;
    if (result == URL_NO_SCHEME)
        help = "an absolute URL begins with http:// or https://, a path with '/'";
    else if (result == URL_BAD_SCHEME)
        help = "begin it with http:// or https://";
    faults_error(c->faults, at, help, "%s '%s': %s", what, shown(c, text), url_result_text(result));
    return false;
}

static void needs_base(struct compiler *c, struct place at)
{
    if (c->base_faulty)
        return;
    c->base_faulty = true;
    faults_error(c->faults, at, "write 'base: http://host' above the plan, or give --base-url",
                 "url: begins with '/', and there is no base to put before it");
}

/* The part before the first template of a URL that is none alone. */
static bool check_beginning(struct compiler *c, struct str text, struct place at)
{
    static const char *const schemes[] = {"http://", "https://"};
    size_t origin = compile_origin_length(text);

    if (origin && origin < text.n)
        return compile_check_url(c, text, at, "url");
    if (origin)
        return true;
    for (size_t i = 0; i < 2; i++) {
        struct str scheme = str_of(schemes[i]);

        if (text.n < scheme.n && str_eq_nocase((struct str){scheme.p, text.n}, text))
            return true;
    }
    faults_error(c->faults, at, "an absolute URL begins with http:// or https://, a path with '/'",
                 "url '%s…': this is no beginning of a URL", shown(c, text));
    return false;
}

static bool check_characters(struct compiler *c, const struct template *t, struct place at)
{
    for (size_t i = 0; i < t->n; i++) {
        struct str text = t->parts[i].text;

        for (size_t k = 0; k < text.n; k++) {
            unsigned char byte = (unsigned char)text.p[k];

            if ((byte >= 0x20 || byte == '\t') && byte != 0x7f)
                continue;
            faults_error(c->faults, at, "in a url it can be written as %0A and the like",
                         "url: a line break or another control character (0x%02X)", byte);
            return false;
        }
    }
    return true;
}

static bool is_base(const struct path *path)
{
    return path->slot == SLOT_BASE && path->n_keys == 0;
}

/* Puts the base before a path, and checks what is known of the URL already. */
static bool complete(struct compiler *c, struct step_request *out, const struct template *written,
                     struct place at)
{
    const struct part *first = &written->parts[0];
    bool no_base = c->plan->base.n == 0;

    out->url = *written;
    if (first->is_path) {
        out->url_open = true;
        if (no_base && is_base(&first->path))
            needs_base(c, at);
        return true;
    }
    if (first->text.p[0] == '/') {
        if (no_base)
            needs_base(c, at);
        if (no_base)
            return false;
        out->url = template_prefixed(c->plan->base, written, &c->plan->arena);
        out->url.source = written->source;
    }
    first = &out->url.parts[0];
    return out->url.constant ? compile_check_url(c, first->text, at, "url")
                             : check_beginning(c, first->text, at);
}

bool compile_url(struct compiler *c, const struct step_in *in, const struct yaml_node *request,
                 struct step_request *out, struct template *written)
{
    const struct yaml_node *node = yaml_get(request, "url");
    struct place at = compile_at(in, node ? node : request);

    if (!node || (node->kind == YAML_SCALAR && str_trim(node->text).n == 0)) {
        faults_error(c->faults, at, "request: {url: /path}", "a request needs a 'url'");
        return false;
    }
    if (node->kind != YAML_SCALAR) {
        faults_error(c->faults, at, "request: {url: /path}", "url must be a text");
        return false;
    }
    return template_compile(str_trim(node->text), &c->scope, &c->plan->arena, at, "url", c->faults,
                            written) &&
           check_characters(c, written, at) && complete(c, out, written, at);
}

struct template compile_url_name(struct compiler *c, struct str method,
                                 const struct template *written)
{
    struct arena *arena = &c->plan->arena;
    size_t origin = compile_origin_length(written->source), at_sign = 0, slashes;
    struct template name;
    struct buf text;

    for (size_t i = 0; i < origin; i++) {
        if (written->source.p[i] == '@')
            at_sign = i;
    }
    buf_init(&text, BUF_NO_MAX);
    buf_add_str(&text, method);
    buf_add_char(&text, ' ');
    if (at_sign) {
        slashes = str_find(written->source, ':') + 1;
        while (slashes < at_sign && written->source.p[slashes] == '/')
            slashes++;
        buf_add(&text, written->source.p, slashes);
        buf_add_str(&text, STR("***"));
        buf_add_str(&text, str_skip(written->source, at_sign));
        name = template_of(arena_copy(arena, buf_str(&text)), arena);
    } else {
        name = template_prefixed(buf_str(&text), written, arena);
    }
    buf_fini(&text);
    return name;
}
