#include "plan/yaml.h"

#include <search.h>
#include <stdlib.h>
#include <yaml.h>

#include "plan/yaml_pairs.h"

/* libyaml's events of one document, checked and with their places. */
struct reader {
    yaml_parser_t parser;
    yaml_event_t event;
    struct str file, text; /* text: without the byte-order mark */
    struct faults *faults;
    unsigned depth;
};

static struct place place_of(const struct reader *reader, yaml_mark_t mark)
{
    return (struct place){reader->file, (unsigned)mark.line + 1, (unsigned)mark.column + 1};
}

/* The length of the line break at text[at], as libyaml sees it, or 0. */
static size_t break_at(struct str text, size_t at)
{
    const char *p = text.p + at;
    size_t left = text.n - at;
    if (left && *p == '\r')
        return left > 1 && p[1] == '\n' ? 2 : 1;
    if (left && *p == '\n')
        return 1;
    if (left >= 2 && memcmp(p, "\xc2\x85", 2) == 0)
        return 2;
    if (left >= 3 && memcmp(p, "\xe2\x80", 2) == 0 && (p[2] == '\xa8' || p[2] == '\xa9'))
        return 3;
    return 0;
}

/* The first place from `at` on that is neither blank nor comment nor, by YAML's leave, one of the
 * lines that begin with `passed`; *line counts. */
static size_t skip_lines(struct str text, size_t at, const char *passed, unsigned *line)
{
    for (;;) {
        bool begins = at == 0 || text.p[at - 1] == '\n' || text.p[at - 1] == '\r';
        if (begins && str_starts(str_skip(text, at), str_of(passed)))
            at += strlen(passed);
        while (at < text.n && (text.p[at] == ' ' || text.p[at] == '\t'))
            at++;
        if (at < text.n && text.p[at] == '#')
            while (at < text.n && break_at(text, at) == 0)
                at++;
        size_t n = break_at(text, at);
        if (n == 0)
            return at;
        at += n;
        ++*line;
    }
}

/* libyaml compares each %TAG line with all before it, before it tells anything: such lines must
 * not reach it. */
static bool check_directives(const struct reader *reader)
{
    struct str text = reader->text;
    unsigned line = 1;
    for (size_t at = 0;;) {
        at = skip_lines(text, at, "", &line);
        if (at == text.n || text.p[at] != '%')
            return true;
        struct str rest = str_skip(text, at);
        if (!str_starts(rest, STR("%YAML ")) && !str_starts(rest, STR("%YAML\t"))) {
            faults_error(reader->faults, (struct place){reader->file, line, 1},
                         "text that begins with '%' stands in quotes",
                         "the only directive that is read is %%YAML");
            return false;
        }
        while (at < text.n && break_at(text, at) == 0)
            at++;
    }
}

static bool reader_init(struct reader *reader, struct yaml_source source, struct faults *faults)
{
    *reader = (struct reader){.file = source.file, .text = source.text, .faults = faults};
    if (str_starts(source.text, STR("\xef\xbb\xbf")))
        reader->text = str_skip(source.text, 3);
    if (str_starts(source.text, STR("\xff\xfe")) || str_starts(source.text, STR("\xfe\xff"))) {
        faults_error(faults, (struct place){source.file, 1, 1}, "save the file as UTF-8",
                     "the file is UTF-16, not UTF-8");
        return false;
    }
    if (!check_directives(reader))
        return false;
    if (!yaml_parser_initialize(&reader->parser))
        mem_out();
    yaml_parser_set_encoding(&reader->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader->parser, (const unsigned char *)reader->text.p,
                                 reader->text.n);
    return true;
}

static void reader_fini(struct reader *reader)
{
    yaml_event_delete(&reader->event);
    yaml_parser_delete(&reader->parser);
}

/* The place of a byte: libyaml's own mark is of no use where it could not read on. */
static struct place place_of_byte(const struct reader *reader, size_t offset)
{
    struct place place = {reader->file, 1, 1};
    for (size_t i = 0; i < offset && i < reader->text.n; i++) {
        unsigned char c = (unsigned char)reader->text.p[i];
        if (c == '\n' ||
            (c == '\r' && !(i + 1 < reader->text.n && reader->text.p[i + 1] == '\n'))) {
            place.line++;
            place.column = 1;
        } else if ((c & 0xc0) != 0x80) {
            place.column++;
        }
    }
    return place;
}

static void unreadable(const struct reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    struct place place = place_of_byte(reader, parser->problem_offset);
    if (parser->problem_value == 0)
        faults_error(reader->faults, place, NULL, "a NUL byte: this is no text");
    else if (strncmp(parser->problem, "control", 7) == 0)
        faults_error(reader->faults, place, "in double quotes, write it as an escape",
                     "the control character U+%04X may not stand in YAML",
                     (unsigned)parser->problem_value);
    else
        faults_error(reader->faults, place, "save the file as UTF-8", "the byte 0x%02X is no UTF-8",
                     (unsigned)parser->problem_value & 0xff);
}

/* What libyaml calls the problem, in plain words and with what would be right. */
static const struct wording {
    const char *problem, *text, *help;
} wordings[] = {
    {"mapping values are not allowed in this context", "a ': ' where no key can stand",
     "put text that holds ': ' in quotes, or check the indentation"},
    {"block sequence entries are not allowed in this context", "a '- ' where no list can begin",
     "begin the list on a line of its own, or put the text in quotes"},
    {"could not find expected ':'", "this line is neither 'key: value' nor '- item'",
     "check the indentation, or for a missing ':' or quote"},
    {"did not find expected key", "this does not fit the mapping around it",
     "check the indentation: keys of one mapping begin in one column"},
    {"did not find expected '-' indicator", "this does not fit the list around it",
     "check the indentation: items of one list begin with '- ' in one column"},
    {"did not find expected ',' or ']'", "expected ',' or ']' here", NULL},
    {"did not find expected ',' or '}'", "expected ',' or '}' here", NULL},
    {"did not find expected node content", "a value is missing here", NULL},
    {"found unknown escape character", "an escape that YAML does not know",
     "in double quotes, write a backslash as \\\\; or use single quotes"},
    {"found a tab character that violates indentation", "a tab in the indentation",
     "indent with blanks"},
    {"found a tab character where an indentation space is expected", "a tab in the indentation",
     "indent with blanks"},
    {"found undefined tag handle", "a tag whose handle nothing defines",
     "put text that begins with '!' in quotes"},
    {"found incompatible YAML document", "a version of YAML that is not read", "%YAML 1.2"},
};

static void cannot_start(const struct reader *reader, struct place place)
{
    const unsigned char *at = reader->parser.buffer.pointer;
    if (*at == '\t')
        faults_error(reader->faults, place, "indent with blanks", "a tab in the indentation");
    else
        faults_error(reader->faults, place, "put it in quotes", "text cannot begin with '%c'", *at);
}

/* Adds the fault that stopped libyaml. */
static void explain(const struct reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    const char *problem = parser->problem;
    struct place place = place_of(reader, parser->problem_mark);
    if (parser->error == YAML_MEMORY_ERROR)
        mem_out();
    if (parser->error == YAML_READER_ERROR) {
        unreadable(reader);
        return;
    }
    if (strcmp(problem, "found character that cannot start any token") == 0) {
        cannot_start(reader, place);
        return;
    }
    if (strcmp(problem, "found unexpected end of stream") == 0) {
        faults_error(reader->faults, place_of(reader, parser->context_mark),
                     "put the same quote at the end of the text",
                     "the quote that opens here is never closed");
        return;
    }
    for (size_t i = 0; i < sizeof wordings / sizeof *wordings; i++) {
        if (strcmp(problem, wordings[i].problem) == 0) {
            faults_error(reader->faults, place, wordings[i].help, "%s", wordings[i].text);
            return;
        }
    }
    faults_error(reader->faults, place, NULL, "%s%s%s", problem, parser->context ? " " : "",
                 parser->context ? parser->context : "");
}

/* Makes reader->event the next event; false with a fault if there is none. */
static bool reader_next(struct reader *reader)
{
    yaml_event_delete(&reader->event);
    if (!yaml_parser_parse(&reader->parser, &reader->event)) {
        explain(reader);
        return false;
    }
    switch (reader->event.type) {
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        if (++reader->depth <= YAML_MAX_DEPTH)
            return true;
        faults_error(reader->faults, place_of(reader, reader->event.start_mark), NULL,
                     "lists and mappings are nested more than %d deep", YAML_MAX_DEPTH);
        return false;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        reader->depth--;
        return true;
    default:
        return true;
    }
}

/* What follows the first document, without libyaml, which would read %TAG lines again. */
static bool check_rest(const struct reader *reader)
{
    struct str text = reader->text;
    yaml_mark_t mark = reader->event.end_mark;
    size_t at = 0;
    for (size_t chars = 0; at < text.n; at++)
        if (((unsigned char)text.p[at] & 0xc0) != 0x80 && chars++ == mark.index)
            break;
    bool marked = !reader->event.data.document_end.implicit;
    if (!marked && at < text.n && text.p[at] != '%' &&
        !str_starts(str_skip(text, at), STR("---"))) {
        faults_error(reader->faults, place_of(reader, mark), "check the indentation",
                     "this does not belong to what stands before it");
        return false;
    }
    unsigned line = (unsigned)mark.line + 1;
    if (marked)
        at = skip_lines(text, at, "...", &line);
    if (at < text.n)
        faults_warning(reader->faults, (struct place){reader->file, line, 1}, NULL,
                       "only the first document is read; another begins here");
    return true;
}

/* May the text be a number, a truth value or null? */
static bool is_plain(const yaml_event_t *event)
{
    const char *tag = (const char *)event->data.scalar.tag;
    if (!tag)
        return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    static const char *const core[] = {YAML_NULL_TAG, YAML_BOOL_TAG, YAML_INT_TAG, YAML_FLOAT_TAG};
    for (size_t i = 0; i < sizeof core / sizeof *core; i++)
        if (strcmp(tag, core[i]) == 0)
            return true;
    return false;
}

static struct str scalar_text(const yaml_event_t *event)
{
    return (struct str){(const char *)event->data.scalar.value, event->data.scalar.length};
}

struct anchor {
    const char *name;
    struct yaml_node *node;
    size_t weight;   /* nodes, with what aliases stand for; 0: not at its end yet */
    unsigned height; /* how many collections stand in one another */
};

/* A list or mapping that is being read. */
struct frame {
    struct yaml_node *node; /* NULL: the root's */
    struct anchor *anchor;
    size_t first;   /* its children in composer.nodes */
    size_t counted; /* before it */
    unsigned height;
    bool data; /* below a with_items key */
};

struct composer {
    struct reader reader;
    struct arena *arena;
    void *anchors;            /* a tree (tsearch) by name */
    struct yaml_node **nodes; /* children of all open frames; keys and values in turn */
    size_t n, cap;
    size_t counted[2]; /* structure, data */
    struct frame frames[YAML_MAX_DEPTH + 1];
    struct frame *top;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct anchor *)a)->name, ((const struct anchor *)b)->name);
}

static struct place here(const struct composer *c)
{
    return place_of(&c->reader, c->reader.event.start_mark);
}

/* Enters the anchor (none: NULL); a later one of the same name takes an earlier one's place. */
static struct anchor *open_anchor(struct composer *c, const yaml_char_t *name)
{
    if (!name)
        return NULL;
    struct anchor *anchor = arena_alloc(c->arena, sizeof *anchor);
    *anchor = (struct anchor){.name = arena_copy(c->arena, str_of((const char *)name)).p};
    void *slot = tsearch(anchor, &c->anchors, by_name);
    if (!slot)
        mem_out();
    *(struct anchor **)slot = anchor;
    return anchor;
}

static bool is_key(const struct composer *c)
{
    const struct frame *top = c->top;
    return top->node && top->node->kind == YAML_MAPPING && (c->n - top->first) % 2 == 0;
}

/* Is what comes next a value of a with_items key, or below one? */
static bool is_data(const struct composer *c)
{
    const struct frame *top = c->top;
    if (top->data || !top->node || top->node->kind != YAML_MAPPING || is_key(c))
        return top->data;
    return str_starts(c->nodes[c->n - 1]->text, STR("with_items"));
}

static size_t counted(const struct composer *c)
{
    return c->counted[0] + c->counted[1];
}

static bool count(struct composer *c, size_t weight)
{
    static const size_t limits[2] = {YAML_MAX_NODES, YAML_MAX_DATA_NODES};
    bool data = is_data(c);
    c->counted[data] += weight;
    if (c->counted[data] <= limits[data])
        return true;
    faults_error(c->reader.faults, here(c), NULL,
                 "more than %zu values%s (an alias counts as all that it stands for)", limits[data],
                 data ? " in lists of items" : "");
    return false;
}

static struct yaml_node *new_node(struct composer *c, enum yaml_kind kind)
{
    struct place at = here(c);
    struct yaml_node *node = arena_alloc(c->arena, sizeof *node);
    *node = (struct yaml_node){.kind = kind, .line = at.line, .column = at.column};
    return node;
}

/* Adds a finished node to the collection around it. */
static bool push(struct composer *c, struct yaml_node *node, unsigned height)
{
    if (is_key(c) && node->kind != YAML_SCALAR) {
        faults_error(c->reader.faults, yaml_place(c->reader.file, node), "key: value",
                     "a key must be a text, not a list or mapping");
        return false;
    }
    if (c->n == c->cap) {
        c->cap = c->cap ? c->cap * 2 : 64;
        c->nodes = xrealloc(c->nodes, c->cap * sizeof(struct yaml_node *));
    }
    c->nodes[c->n++] = node;
    if (c->top->height < height)
        c->top->height = height;
    return true;
}

static bool add_scalar(struct composer *c)
{
    const yaml_event_t *event = &c->reader.event;
    if (!count(c, 1))
        return false;
    struct yaml_node *node = new_node(c, YAML_SCALAR);
    node->plain = is_plain(event);
    node->text = arena_copy(c->arena, scalar_text(event));
    struct anchor *anchor = open_anchor(c, event->data.scalar.anchor);
    if (anchor)
        *anchor = (struct anchor){anchor->name, node, 1, 0};
    return push(c, node, 0);
}

static bool add_alias(struct composer *c)
{
    const char *name = (const char *)c->reader.event.data.alias.anchor;
    void *slot = tfind(&(struct anchor){.name = name}, &c->anchors, by_name);
    const struct anchor *anchor = slot ? *(struct anchor **)slot : NULL;
    if (!anchor) {
        faults_error(c->reader.faults, here(c), "&name before the value that the alias repeats",
                     "nothing before the alias '*%.100s' has that name", name);
        return false;
    }
    if (anchor->weight == 0) {
        faults_error(c->reader.faults, here(c), NULL,
                     "the alias '*%.100s' stands within what it names", name);
        return false;
    }
    if (!count(c, anchor->weight))
        return false;
    if (c->reader.depth + anchor->height > YAML_MAX_DEPTH) {
        faults_error(c->reader.faults, here(c), NULL,
                     "lists and mappings are nested more than %d deep by the alias '*%.100s'",
                     YAML_MAX_DEPTH, name);
        return false;
    }
    return push(c, anchor->node, anchor->height);
}

static bool open_collection(struct composer *c, enum yaml_kind kind, const yaml_char_t *anchor)
{
    size_t before = counted(c);
    if (!count(c, 1))
        return false;
    struct frame frame = {.node = new_node(c, kind),
                          .anchor = open_anchor(c, anchor),
                          .first = c->n,
                          .counted = before,
                          .data = is_data(c)};
    *++c->top = frame;
    return true;
}

static bool close_collection(struct composer *c)
{
    struct frame *frame = c->top--;
    struct yaml_node *node = frame->node;
    size_t n = c->n - frame->first;
    if (node->kind == YAML_MAPPING) {
        yaml_pairs(node, c->nodes + frame->first, n / 2, c->reader.file, c->arena,
                   c->reader.faults);
    } else {
        node->n = n;
        node->items = arena_alloc(c->arena, n * sizeof(struct yaml_node *));
        if (n)
            memcpy(node->items, c->nodes + frame->first, n * sizeof(struct yaml_node *));
    }
    c->n = frame->first;
    if (frame->anchor)
        *frame->anchor = (struct anchor){frame->anchor->name, node, counted(c) - frame->counted,
                                         frame->height + 1};
    return push(c, node, frame->height + 1);
}

/* Reads up to the end of the first document; false if there is a fault. */
static bool compose(struct composer *c)
{
    for (;;) {
        bool ok = reader_next(&c->reader);
        if (!ok)
            return false;
        const yaml_event_t *event = &c->reader.event;
        switch (event->type) {
        case YAML_SCALAR_EVENT:
            ok = add_scalar(c);
            break;
        case YAML_ALIAS_EVENT:
            ok = add_alias(c);
            break;
        case YAML_SEQUENCE_START_EVENT:
            ok = open_collection(c, YAML_SEQUENCE, event->data.sequence_start.anchor);
            break;
        case YAML_MAPPING_START_EVENT:
            ok = open_collection(c, YAML_MAPPING, event->data.mapping_start.anchor);
            break;
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT:
            ok = close_collection(c);
            break;
        case YAML_DOCUMENT_END_EVENT:
            return check_rest(&c->reader);
        case YAML_STREAM_END_EVENT:
            return true;
        default:
            break;
        }
        if (!ok)
            return false;
    }
}

static void keep(void *anchor)
{
    (void)anchor; /* the arena's */
}

struct yaml_node *yaml_parse(struct yaml_source source, struct arena *arena, struct faults *faults)
{
    size_t errors = faults->errors;
    struct composer c = {.arena = arena};
    c.top = c.frames;
    if (source.text.n > YAML_MAX_BYTES) {
        faults_error(faults, (struct place){source.file, 0, 0}, NULL,
                     "the file is larger than %u MiB", YAML_MAX_BYTES >> 20);
        return NULL;
    }
    if (!reader_init(&c.reader, source, faults))
        return NULL;
    struct yaml_node *root = compose(&c) && c.n ? c.nodes[0] : NULL;
    reader_fini(&c.reader);
    tdestroy(c.anchors, keep);
    free(c.nodes);
    if (faults->errors > errors)
        return NULL;
    if (!root || (root->kind == YAML_SCALAR && root->plain && root->text.n == 0)) {
        faults_error(faults, (struct place){source.file, 1, 1}, NULL, "the file is empty");
        return NULL;
    }
    return root;
}

bool yaml_walk(struct yaml_source source, yaml_handler handler, void *ctx, struct faults *faults)
{
    struct reader reader;
    if (!reader_init(&reader, source, faults))
        return false;
    bool ok = true;
    for (bool more = true; more;) {
        ok = reader_next(&reader);
        if (!ok)
            break;
        const yaml_event_t *event = &reader.event;
        struct place at = place_of(&reader, event->start_mark);
        struct yaml_event out = {.line = at.line, .column = at.column};
        switch (event->type) {
        case YAML_SCALAR_EVENT:
            out.kind = YAML_EV_SCALAR;
            out.plain = is_plain(event);
            out.text = scalar_text(event);
            break;
        case YAML_SEQUENCE_START_EVENT:
            out.kind = YAML_EV_SEQ_START;
            break;
        case YAML_SEQUENCE_END_EVENT:
            out.kind = YAML_EV_SEQ_END;
            break;
        case YAML_MAPPING_START_EVENT:
            out.kind = YAML_EV_MAP_START;
            break;
        case YAML_MAPPING_END_EVENT:
            out.kind = YAML_EV_MAP_END;
            break;
        case YAML_ALIAS_EVENT:
            faults_error(faults, at, NULL, "an alias; none are read here");
            ok = more = false;
            continue;
        case YAML_DOCUMENT_END_EVENT:
            ok = check_rest(&reader);
            more = false;
            continue;
        case YAML_STREAM_END_EVENT:
            more = false;
            continue;
        default:
            continue;
        }
        more = handler(ctx, &out);
    }
    reader_fini(&reader);
    return ok;
}
