#include "plan/template.h"

#include <stdlib.h>

/* As much of what is wrong as a message quotes. */
#define QUOTE_MAX 80

/* A template while it is being taken apart. */
struct builder {
    const struct scope *scope;
    struct arena *arena;
    struct place at;
    const char *what;
    struct faults *faults;
    struct part *parts; /* heap */
    size_t n, cap;
};

static int quoted(struct str s)
{
    return (int)(s.n < QUOTE_MAX ? s.n : QUOTE_MAX);
}

static bool is_path_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("-._$[]", c));
}

/* The length of the segment that begins at text[at]: up to the next '.' or bracket. */
static size_t segment_length(struct str text, size_t at)
{
    size_t n = 0;

    while (at + n < text.n && !strchr(".[]", text.p[at + n]))
        n++;
    return n;
}

/* Takes ".name" or "[name]" at text[*at]; a name in brackets may hold dots. */
static bool take_key(struct str text, size_t *at, struct str *key)
{
    bool bracket = text.p[*at] == '[';
    size_t from = *at + 1, n;

    if (!bracket && text.p[*at] != '.')
        return false;
    if (bracket) {
        n = str_find(str_skip(text, from), ']');
        if (from + n == text.n)
            return false;
    } else {
        n = segment_length(text, from);
    }
    *key = (struct str){text.p + from, n};
    *at = from + n + (bracket ? 1 : 0);
    return n > 0 && str_find(*key, '[') == n;
}

static size_t count_keys(struct str text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '.' || text.p[i] == '[';
    return n;
}

bool path_parse(struct str text, struct arena *arena, struct str *root, struct path *path)
{
    size_t at = segment_length(text, 0);

    *root = (struct str){text.p, at};
    *path = (struct path){.text = text, .slot = SLOT_NONE};
    for (size_t i = 0; i < text.n; i++) {
        if (!is_path_char(text.p[i]))
            return false;
    }
    if (!scope_name_valid(*root))
        return false;
    if (at < text.n)
        path->keys = arena_alloc(arena, count_keys(text) * sizeof(*path->keys));
    while (at < text.n) {
        struct json_key key = {0};

        if (!take_key(text, &at, &key.text))
            return false;
        key.is_index = str_to_u64(key.text, &key.index);
        path->keys[path->n_keys++] = key;
    }
    return true;
}

static void unknown_name(const struct builder *b, struct str root, struct str text)
{
    /* A suggestion costs more than the rest; nobody sees it past the maximum. */
    const char *help = b->faults->errors < FAULTS_MAX ? scope_help(b->scope, root) : NULL;

    if (b->scope->env_only)
        faults_error(b->faults, b->at, help, "%s: the environment has no variable '%.*s'", b->what,
                     quoted(text), text.p);
    else
        faults_error(b->faults, b->at, help,
                     "%s: nothing sets '%.*s' before this step, and the environment does not have "
                     "it",
                     b->what, quoted(text), text.p);
}

/* Looks the parsed path up. False, and an error, if it can be nothing. */
static bool resolve(const struct builder *b, struct str root, struct path *path)
{
    const struct scope *scope = b->scope;
    const char *env = getenv(path->text.p);

    if (env) {
        path->has_env = true;
        path->env = arena_copy(b->arena, str_of(env));
    }
    if (!scope->env_only)
        path->slot = scope_find(scope, root);
    if (env || scope->relaxed || (path->slot == SLOT_ITEM && scope->item_known) ||
        (path->slot != SLOT_NONE && path->slot != SLOT_ITEM))
        return true;
    unknown_name(b, root, path->text);
    return false;
}

bool path_compile(struct str text, const struct scope *scope, struct arena *arena, struct place at,
                  const char *what, struct faults *faults, struct path *out)
{
    struct builder b = {scope, arena, at, what, faults, NULL, 0, 0};
    struct str root;

    text = arena_copy(arena, text);
    if (!path_parse(text, arena, &root, out)) {
        faults_error(faults, at, "write it like account.body.phones[1], without braces",
                     "%s: '%.*s' is no path of a variable", what, quoted(text), text.p);
        return false;
    }
    return resolve(&b, root, out);
}

unsigned path_origin(const struct path *path, const struct scope *scope)
{
    if (path->slot != SLOT_NONE)
        return scope->variables[path->slot].origin;
    return path->has_env ? ORIGIN_ENVIRONMENT : ORIGIN_PLAN;
}

static struct part *add_part(struct builder *b)
{
    if (b->n == b->cap) {
        b->cap = b->cap ? b->cap * 2 : 4;
        b->parts = xrealloc(b->parts, b->cap * sizeof(*b->parts));
    }
    b->parts[b->n] = (struct part){0};
    return &b->parts[b->n++];
}

static void add_text(struct builder *b, struct str text)
{
    if (text.n)
        add_part(b)->text = text;
}

static size_t skip_blanks(struct str text, size_t at)
{
    while (at < text.n && (text.p[at] == ' ' || text.p[at] == '\t'))
        at++;
    return at;
}

/* Is text[open…], which begins with "{{", a template? Then what is in it and where it ends. */
static bool match(struct str text, size_t open, struct str *inner, size_t *end)
{
    size_t from = skip_blanks(text, open + 2), to = from, close;

    while (to < text.n && is_path_char(text.p[to]))
        to++;
    close = skip_blanks(text, to);
    if (to == from || close + 1 >= text.n || text.p[close] != '}' || text.p[close + 1] != '}')
        return false;
    *inner = (struct str){text.p + from, to - from};
    *end = close + 2;
    return true;
}

/* Adds the path of a template; one that is none is left to stand as text. */
static bool add_path(struct builder *b, struct str inner, bool *is_path)
{
    struct part part = {.is_path = true};
    struct str root;

    inner = arena_copy(b->arena, inner);
    *is_path = path_parse(inner, b->arena, &root, &part.path);
    if (!*is_path)
        return true;
    bool ok = resolve(b, root, &part.path);
    *add_part(b) = part;
    return ok;
}

static void warn_left(const struct builder *b, struct str rest)
{
    const char *close = memmem(rest.p, rest.n < QUOTE_MAX ? rest.n : QUOTE_MAX, "}}", 2);

    rest.n = close ? (size_t)(close - rest.p) + 2 : (size_t)quoted(rest);
    faults_warning(b->faults, b->at,
                   "a template is {{ name }} or {{ name.key[0] }}: a letter, then letters, digits "
                   "and - . _ $ [ ]",
                   "%s: '%.*s' is no template and is left as it stands", b->what, (int)rest.n,
                   rest.p);
}

/* Takes all of text apart into b. */
static bool split(struct builder *b, struct str text)
{
    size_t from = 0, at = 0;
    bool ok = true, warned = false;
    const char *found;

    while (at < text.n && (found = memmem(text.p + at, text.n - at, "{{", 2))) {
        size_t open = (size_t)(found - text.p), end, texts = b->n;
        struct str inner;
        bool is_path = false;

        if (match(text, open, &inner, &end)) {
            add_text(b, (struct str){text.p + from, open - from});
            ok = add_path(b, inner, &is_path) && ok;
        }
        if (is_path) {
            from = at = end;
            continue;
        }
        b->n = texts;
        /* Of "{{{ a }}" the last two braces begin the template. */
        if (open + 2 < text.n && text.p[open + 2] == '{') {
            at = open + 1;
            continue;
        }
        if (!warned)
            warn_left(b, str_skip(text, open));
        warned = true;
        at = open + 2;
    }
    add_text(b, str_skip(text, from));
    return ok;
}

bool template_compile(struct str text, const struct scope *scope, struct arena *arena,
                      struct place at, const char *what, struct faults *faults,
                      struct template *out)
{
    struct builder b = {scope, arena, at, what, faults, NULL, 0, 0};
    bool ok;

    *out = (struct template){.source = arena_copy(arena, text), .constant = true};
    ok = split(&b, out->source);
    out->n = b.n;
    if (b.n) {
        out->parts = arena_alloc(arena, b.n * sizeof(*b.parts));
        memcpy(out->parts, b.parts, b.n * sizeof(*b.parts));
    }
    for (size_t i = 0; i < b.n; i++)
        out->constant = out->constant && !b.parts[i].is_path;
    free(b.parts);
    return ok;
}

struct template template_of(struct str text, struct arena *arena)
{
    struct template t = {.source = text, .constant = true};

    if (text.n) {
        t.n = 1;
        t.parts = arena_alloc(arena, sizeof(*t.parts));
        t.parts[0] = (struct part){.text = text};
    }
    return t;
}

static struct str joined(struct str a, struct str b, struct arena *arena)
{
    char *text = arena_alloc(arena, a.n + b.n + 1);

    memcpy(text, a.p, a.n);
    memcpy(text + a.n, b.p, b.n);
    text[a.n + b.n] = '\0';
    return (struct str){text, a.n + b.n};
}

struct template template_prefixed(struct str prefix, const struct template *t, struct arena *arena)
{
    bool has_text = t->n && !t->parts[0].is_path;
    struct template out = {
        .source = joined(prefix, t->source, arena),
        .n = t->n + (has_text ? 0 : 1),
        .constant = t->constant,
    };
    struct str first = has_text ? t->parts[0].text : STR("");
    size_t rest = has_text ? 1 : 0;

    out.parts = arena_alloc(arena, out.n * sizeof(*out.parts));
    out.parts[0] = (struct part){.text = joined(prefix, first, arena)};
    if (t->n > rest)
        memcpy(out.parts + 1, t->parts + rest, (t->n - rest) * sizeof(*out.parts));
    return out;
}

const struct path *template_render(const struct template *t, path_resolver resolver, void *ctx,
                                   struct buf *out)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct part *part = &t->parts[i];

        if (!part->is_path)
            buf_add_str(out, part->text);
        else if (!resolver(ctx, &part->path, out))
            return &part->path;
    }
    return NULL;
}
