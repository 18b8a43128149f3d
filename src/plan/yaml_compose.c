#include <search.h>
#include <stdlib.h>

#include "plan/yaml.h"
#include "plan/yaml_pairs.h"
#include "plan/yaml_read.h"

/* What a node is, with all that its aliases stand for. */
struct weight {
    size_t nodes, bytes; /* bytes: of the scalars' texts */
};

struct anchor {
    const char *name;
    struct yaml_node *node;
    struct weight weight; /* no nodes: its end is yet to come */
    unsigned height;      /* how many collections stand in one another */
};

/* A list or mapping that is being read. */
struct frame {
    struct yaml_node *node; /* NULL: the root's */
    struct anchor *anchor;
    size_t first;         /* its children in composer.nodes */
    struct weight before; /* what was counted before it */
    unsigned height;
    bool data; /* below a with_items key */
};

struct composer {
    struct yaml_reader *reader;
    struct yaml_token token; /* the one at hand */
    struct str file;
    struct arena *arena;
    struct faults *faults;
    void *anchors;            /* a tree (tsearch) by name */
    struct yaml_node **nodes; /* children of all open frames; keys and values in turn */
    size_t n, cap;
    size_t counted[2]; /* nodes of structure, of data */
    size_t bytes;      /* of their texts */
    struct frame frames[YAML_MAX_DEPTH + 1];
    struct frame *top;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct anchor *)a)->name, ((const struct anchor *)b)->name);
}

static struct place here(const struct composer *c)
{
    return (struct place){c->file, c->token.event.line, c->token.event.column};
}

/* Enters the token's anchor (none: NULL); a later one of the same name takes an earlier one's
 * place. */
static struct anchor *open_anchor(struct composer *c)
{
    if (!c->token.anchor)
        return NULL;
    struct anchor *anchor = arena_alloc(c->arena, sizeof *anchor);
    *anchor = (struct anchor){.name = arena_copy(c->arena, str_of(c->token.anchor)).p};
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

static bool count(struct composer *c, struct weight weight)
{
    static const size_t limits[2] = {YAML_MAX_NODES, YAML_MAX_DATA_NODES};
    bool data = is_data(c);
    c->counted[data] += weight.nodes;
    c->bytes += weight.bytes;
    if (c->counted[data] > limits[data])
        faults_error(c->faults, here(c), NULL,
                     "more than %zu values%s (an alias counts as all that it stands for)",
                     limits[data], data ? " in lists of items" : "");
    else if (c->bytes > YAML_MAX_TEXT)
        faults_error(c->faults, here(c), NULL, "aliases make more than %u MiB of the file",
                     YAML_MAX_TEXT >> 20);
    else
        return true;
    return false;
}

static struct weight counted(const struct composer *c)
{
    return (struct weight){c->counted[0] + c->counted[1], c->bytes};
}

static struct yaml_node *new_node(struct composer *c, enum yaml_kind kind)
{
    struct yaml_node *node = arena_alloc(c->arena, sizeof *node);
    *node = (struct yaml_node){
        .kind = kind, .line = c->token.event.line, .column = c->token.event.column};
    return node;
}

/* Adds a finished node to the collection around it. */
static bool push(struct composer *c, struct yaml_node *node, unsigned height)
{
    if (is_key(c) && node->kind != YAML_SCALAR) {
        faults_error(c->faults, yaml_place(c->file, node), "key: value",
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
    struct weight weight = {1, c->token.event.text.n};
    if (!count(c, weight))
        return false;
    struct yaml_node *node = new_node(c, YAML_SCALAR);
    node->plain = c->token.event.plain;
    node->text = arena_copy(c->arena, c->token.event.text);
    struct anchor *anchor = open_anchor(c);
    if (anchor)
        *anchor = (struct anchor){anchor->name, node, weight, 0};
    return push(c, node, 0);
}

/* Adds what the alias stands for: a node with the alias's place and the same children. */
static bool add_copy(struct composer *c, const struct anchor *anchor)
{
    if (!count(c, anchor->weight))
        return false;
    struct yaml_node *node = new_node(c, anchor->node->kind);
    unsigned line = node->line, column = node->column;
    *node = *anchor->node;
    node->line = line;
    node->column = column;
    return push(c, node, anchor->height);
}

static bool add_alias(struct composer *c)
{
    const char *name = c->token.anchor;
    void *slot = tfind(&(struct anchor){.name = name}, &c->anchors, by_name);
    const struct anchor *anchor = slot ? *(struct anchor **)slot : NULL;
    if (!anchor)
        faults_error(c->faults, here(c), "&name before the value that the alias repeats",
                     "nothing before the alias '*%.100s' has that name", name);
    else if (anchor->weight.nodes == 0)
        faults_error(c->faults, here(c), NULL, "the alias '*%.100s' stands within what it names",
                     name);
    else if ((size_t)(c->top - c->frames) + anchor->height > YAML_MAX_DEPTH)
        faults_error(c->faults, here(c), NULL,
                     "lists and mappings are nested more than %d deep by the alias '*%.100s'",
                     YAML_MAX_DEPTH, name);
    else
        return add_copy(c, anchor);
    return false;
}

static bool open_collection(struct composer *c, enum yaml_kind kind)
{
    struct weight before = counted(c);
    if (!count(c, (struct weight){1, 0}))
        return false;
    struct frame frame = {.node = new_node(c, kind),
                          .anchor = open_anchor(c),
                          .first = c->n,
                          .before = before,
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
        yaml_pairs(node, c->nodes + frame->first, n / 2, c->file, c->arena, c->faults);
    } else {
        node->n = n;
        node->items = arena_alloc(c->arena, n * sizeof(struct yaml_node *));
        if (n)
            memcpy(node->items, c->nodes + frame->first, n * sizeof(struct yaml_node *));
    }
    c->n = frame->first;
    if (frame->anchor) {
        struct weight now = counted(c);
        struct weight weight = {now.nodes - frame->before.nodes, now.bytes - frame->before.bytes};
        *frame->anchor = (struct anchor){frame->anchor->name, node, weight, frame->height + 1};
    }
    return push(c, node, frame->height + 1);
}

static bool add_event(struct composer *c)
{
    switch (c->token.event.kind) {
    case YAML_EV_SCALAR:
        return add_scalar(c);
    case YAML_EV_SEQ_START:
        return open_collection(c, YAML_SEQUENCE);
    case YAML_EV_MAP_START:
        return open_collection(c, YAML_MAPPING);
    case YAML_EV_SEQ_END:
    case YAML_EV_MAP_END:
        break;
    }
    return close_collection(c);
}

/* Reads up to the end of the document; false if there is a fault. */
static bool compose(struct composer *c)
{
    while (yaml_reader_next(c->reader, &c->token)) {
        if (c->token.kind == YAML_TOKEN_END)
            return true;
        if (!(c->token.kind == YAML_TOKEN_ALIAS ? add_alias(c) : add_event(c)))
            return false;
    }
    return false;
}

static void keep(void *anchor)
{
    (void)anchor; /* the arena's */
}

struct yaml_node *yaml_parse(struct yaml_source source, struct arena *arena, struct faults *faults)
{
    size_t errors = faults->errors;
    struct composer c = {.file = source.file, .arena = arena, .faults = faults};
    c.top = c.frames;
    if (source.text.n > YAML_MAX_BYTES) {
        faults_error(faults, (struct place){source.file, 0, 0}, NULL,
                     "the file is larger than %u MiB", YAML_MAX_BYTES >> 20);
        return NULL;
    }
    c.reader = yaml_reader_new(source, faults);
    if (!c.reader)
        return NULL;
    struct yaml_node *root = compose(&c) && c.n ? c.nodes[0] : NULL;
    yaml_reader_free(c.reader);
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
