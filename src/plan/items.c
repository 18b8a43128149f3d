#include "plan/items.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "plan/csv.h"

#define MAX_SHUFFLED 100000000u

enum source { SOURCE_LIST, SOURCE_RANGE, SOURCE_CSV, SOURCE_FILE };

static const char *const source_keys[] = {
    [SOURCE_LIST] = "with_items",
    [SOURCE_RANGE] = "with_items_range",
    [SOURCE_CSV] = "with_items_from_csv",
    [SOURCE_FILE] = "with_items_from_file",
};
#define SOURCES (sizeof source_keys / sizeof *source_keys)

struct element {
    const char *p;
    uint32_t n;
    bool is_json; /* a list or mapping as JSON; else a text */
};

struct items {
    enum source source;
    uint64_t count;  /* after pick */
    uint32_t *order; /* shuffled numbers of items; NULL: as they stand */
    struct str text; /* of a list: all elements; of a file: its bytes */
    union {
        struct element *list;
        struct {
            int64_t start, step;
        } range;
        struct csv csv;
        uint32_t *lines; /* where each begins */
    };
};

/* What all builders are handed. */
struct build {
    const struct yaml_node *step, *node; /* node: the source's value */
    const char *key;                     /* its key */
    struct str file;
    struct rng *rng;
    struct faults *faults;
    struct items *items;
};

static struct place at(const struct build *b, const struct yaml_node *node)
{
    return yaml_place(b->file, node);
}

struct yaml_node *items_node(const struct yaml_node *step, const char **key)
{
    for (size_t i = 0; i < SOURCES; i++) {
        struct yaml_node *node = yaml_get(step, source_keys[i]);
        if (node) {
            *key = source_keys[i];
            return node;
        }
    }
    return NULL;
}

/* An error if node, or a node in it, is text with a template. Not more than 64 deep. */
static bool no_templates(const struct build *b, const struct yaml_node *node)
{
    if (node->kind == YAML_SCALAR) {
        if (!node->text.n || !memmem(node->text.p, node->text.n, "{{", 2))
            return true;
        faults_error(b->faults, at(b, node), NULL,
                     "%s cannot hold templates: it is read once, "
                     "before the run",
                     b->key);
        return false;
    }
    for (size_t i = 0; i < node->n; i++)
        if (!no_templates(b, node->items[i]) ||
            (node->kind == YAML_MAPPING && !no_templates(b, node->keys[i])))
            return false;
    return true;
}

/* Keys of the source's mapping that mean nothing, which is mostly a slip. */
static void warn_of_unknown(const struct build *b, const char *const *known, size_t n)
{
    for (size_t i = 0; i < b->node->n; i++) {
        const struct yaml_node *key = b->node->keys[i];
        bool found = false;
        for (size_t k = 0; k < n && !found; k++)
            found = str_eq(key->text, str_of(known[k]));
        if (!found)
            faults_warning(b->faults, at(b, key), faults_did_you_mean(key->text, known, n),
                           "%s has no key '%.*s'", b->key, (int)key->text.n, key->text.p);
    }
}

static bool build_list(struct build *b)
{
    const struct yaml_node *list = b->node;
    if (list->kind != YAML_SEQUENCE) {
        faults_error(b->faults, at(b, list), "with_items: [1, 2, 3]", "with_items must be a list");
        return false;
    }
    struct buf text;
    buf_init(&text, BUF_NO_MAX);
    struct element *elements = xmalloc(list->n * sizeof *elements);
    for (size_t i = 0; i < list->n; i++) {
        const struct yaml_node *node = list->items[i];
        size_t from = text.n;
        elements[i].is_json = node->kind != YAML_SCALAR;
        if (elements[i].is_json)
            yaml_json(node, &text);
        else if (!yaml_is_null(node))
            buf_add_str(&text, node->text);
        elements[i].n = (uint32_t)(text.n - from);
    }
    b->items->text = buf_str(&text);
    const char *p = text.p;
    for (size_t i = 0; i < list->n; p += elements[i++].n)
        elements[i].p = p;
    b->items->list = elements;
    b->items->count = list->n;
    return true;
}

/* A bound of the range. A key that is not there gives *value as it is, if it is optional. */
static bool bound(const struct build *b, const char *key, bool optional, int64_t *value)
{
    const struct yaml_node *node = yaml_get(b->node, key);
    if (!node && optional)
        return true;
    if (!node)
        faults_error(b->faults, at(b, b->node), "with_items_range: {start: 1, step: 1, stop: 10}",
                     "with_items_range has no %s", key);
    else if (!yaml_as_i64(node, value))
        faults_error(b->faults, at(b, node), "a number like 1 or -5, without quotes",
                     "%s of with_items_range is no whole number", key);
    else
        return true;
    return false;
}

static bool build_range(struct build *b)
{
    static const char *const known[] = {"start", "step", "stop"};
    if (b->node->kind != YAML_MAPPING) {
        faults_error(b->faults, at(b, b->node), "with_items_range: {start: 1, step: 1, stop: 10}",
                     "with_items_range must be a mapping");
        return false;
    }
    warn_of_unknown(b, known, sizeof known / sizeof *known);
    int64_t start = 0, step = 1, stop = 0;
    bool ok = bound(b, "start", false, &start);
    ok = bound(b, "stop", false, &stop) && ok;
    ok = bound(b, "step", true, &step) && ok;
    if (!ok)
        return false;
    if (step == 0) {
        faults_error(b->faults, at(b, yaml_get(b->node, "step")), NULL,
                     "step of with_items_range is 0: the range would never end");
        return false;
    }
    b->items->range.start = start;
    b->items->range.step = step;
    if (step > 0 ? stop < start : stop > start)
        return true;
    /* The differences of two int64 fit unsigned ones, whichever way. */
    uint64_t width = step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
    uint64_t stride = step > 0 ? (uint64_t)step : -(uint64_t)step;
    b->items->count = width / stride + (width / stride < UINT64_MAX);
    return true;
}

/* Reads the file that `name` names into items->text; *path is its path, on the heap. */
static bool read_file(struct build *b, const struct yaml_node *name, char **path)
{
    const char *why;
    if (name->kind != YAML_SCALAR || name->text.n == 0 || memchr(name->text.p, 0, name->text.n)) {
        faults_error(b->faults, at(b, name), NULL, "%s must name a file", b->key);
        return false;
    }
    char *from = xstrndup(b->file.p, b->file.n);
    *path = file_beside(from, name->text);
    free(from);
    if (file_read(*path, CSV_MAX_BYTES, &b->items->text, &why))
        return true;
    faults_error(b->faults, at(b, name), "file names are relative to the plan's folder",
                 "cannot read '%s': %s", *path, why);
    free(*path);
    return false;
}

static bool quote_char(const struct build *b, const struct yaml_node *node, char *quote)
{
    *quote = '"';
    if (!node)
        return true;
    if (node->kind == YAML_SCALAR && node->text.n == 1 && node->text.p[0] > ' ' &&
        node->text.p[0] < 0x7f && node->text.p[0] != ',') {
        *quote = node->text.p[0];
        return true;
    }
    faults_error(b->faults, at(b, node), "quote_char: \"'\"",
                 "quote_char must be one ASCII character that is neither blank nor comma");
    return false;
}

static void tell_csv_error(const struct build *b, const char *path, const struct csv_error *error)
{
    struct place place = {str_of(path), error->line, error->column};
    if (error->fields)
        faults_error(b->faults, place, "fields that hold commas or line breaks stand in quotes",
                     "the row has another number of fields (%zu) than the heading", error->fields);
    else
        faults_error(b->faults, place, NULL, "%s", error->text);
}

static bool build_csv(struct build *b)
{
    static const char *const known[] = {"file_name", "quote_char"};
    const struct yaml_node *name = b->node;
    struct csv_error error;
    char quote, *path;
    if (b->node->kind == YAML_MAPPING) {
        warn_of_unknown(b, known, sizeof known / sizeof *known);
        name = yaml_get(b->node, "file_name");
    }
    if (!name) {
        faults_error(b->faults, at(b, b->node), "with_items_from_csv: {file_name: users.csv}",
                     "with_items_from_csv has no file_name");
        return false;
    }
    if (!quote_char(b, yaml_get(b->node, "quote_char"), &quote) || !read_file(b, name, &path))
        return false;
    bool ok = csv_parse(b->items->text, quote, &b->items->csv, &error);
    if (!ok)
        tell_csv_error(b, path, &error);
    b->items->count = b->items->csv.n_rows;
    free(path);
    return ok;
}

static bool build_file(struct build *b)
{
    struct items *items = b->items;
    char *path;
    if (!read_file(b, b->node, &path))
        return false;
    free(path);
    struct str text = items->text;
    size_t from = str_starts(text, STR("\xef\xbb\xbf")) ? 3 : 0, cap = 0, n = 0;
    while (from < text.n) {
        if (n == cap) {
            cap = cap ? cap * 2 : 64;
            items->lines = xrealloc(items->lines, cap * sizeof *items->lines);
        }
        items->lines[n++] = (uint32_t)from;
        from += str_find(str_skip(text, from), '\n') + 1;
    }
    items->lines = xrealloc(items->lines, n * sizeof *items->lines);
    items->count = n;
    return true;
}

static bool shuffle(const struct build *b, const struct yaml_node *node)
{
    struct items *items = b->items;
    bool wanted;
    if (!node)
        return true;
    if (!yaml_as_bool(node, &wanted)) {
        faults_error(b->faults, at(b, node), NULL, "shuffle must be true or false");
        return false;
    }
    if (!wanted)
        return true;
    if (items->count > MAX_SHUFFLED) {
        faults_error(b->faults, at(b, node), NULL, "more than %u items cannot be shuffled",
                     MAX_SHUFFLED);
        return false;
    }
    size_t n = (size_t)items->count;
    items->order = xmalloc(n * sizeof *items->order);
    for (size_t i = 0; i < n; i++)
        items->order[i] = (uint32_t)i;
    rng_shuffle_u32(b->rng, items->order, n);
    return true;
}

static bool pick(const struct build *b, const struct yaml_node *node)
{
    struct items *items = b->items;
    int64_t n;
    if (!node)
        return true;
    if (!yaml_as_i64(node, &n) || n < 1) {
        faults_error(b->faults, at(b, node), NULL, "pick must be a whole number from 1 on");
        return false;
    }
    if ((uint64_t)n > items->count) {
        faults_error(b->faults, at(b, node), NULL, "pick is %lld, more than there are items (%llu)",
                     (long long)n, (unsigned long long)items->count);
        return false;
    }
    items->count = (uint64_t)n;
    if (items->order)
        items->order = xrealloc(items->order, (size_t)n * sizeof *items->order);
    return true;
}

/* Exactly one source, or neither source nor shuffle nor pick. */
static bool find_source(struct build *b, enum source *source)
{
    static const char *const beside[] = {"shuffle", "pick"};
    bool ok = true;
    for (size_t i = 0; i < SOURCES; i++) {
        const struct yaml_node *node = yaml_get(b->step, source_keys[i]);
        if (node && b->node) {
            faults_error(b->faults, at(b, node), "one list a step", "a step with both %s and %s",
                         b->key, source_keys[i]);
            ok = false;
        } else if (node) {
            b->node = node;
            b->key = source_keys[i];
            *source = (enum source)i;
        }
    }
    for (size_t i = 0; i < 2 && !b->node; i++) {
        const struct yaml_node *node = yaml_get(b->step, beside[i]);
        if (node) {
            faults_error(b->faults, at(b, node), "with_items: [1, 2, 3]",
                         "%s without items to take from", beside[i]);
            ok = false;
        }
    }
    return ok;
}

bool items_build(const struct yaml_node *step, struct str file, struct rng *rng,
                 struct faults *faults, struct items **out)
{
    static bool (*const builders[])(struct build *) = {
        [SOURCE_LIST] = build_list,
        [SOURCE_RANGE] = build_range,
        [SOURCE_CSV] = build_csv,
        [SOURCE_FILE] = build_file,
    };
    struct build b = {.step = step, .file = file, .rng = rng, .faults = faults};
    enum source source = SOURCE_LIST;
    *out = NULL;
    if (!find_source(&b, &source))
        return false;
    if (!b.node)
        return true;
    if (!no_templates(&b, b.node))
        return false;
    b.items = xcalloc(1, sizeof *b.items);
    b.items->source = source;
    bool ok = builders[source](&b);
    if (ok && b.items->count == 0)
        faults_warning(faults, at(&b, b.node), NULL, "%s gives no items: the step sends nothing",
                       b.key);
    ok = ok && shuffle(&b, yaml_get(step, "shuffle"));
    ok = ok && pick(&b, yaml_get(step, "pick"));
    if (!ok) {
        items_free(b.items);
        return false;
    }
    *out = b.items;
    return true;
}

void items_free(struct items *items)
{
    if (!items)
        return;
    if (items->source == SOURCE_LIST)
        free(items->list);
    else if (items->source == SOURCE_CSV)
        csv_fini(&items->csv);
    else if (items->source == SOURCE_FILE)
        free(items->lines);
    free(items->order);
    xstr_free(items->text);
    free(items);
}

uint64_t items_count(const struct items *items)
{
    return items->count;
}

static bool list_text(const struct items *items, uint64_t i, const struct json_key *keys, size_t n,
                      struct buf *out)
{
    const struct element *element = &items->list[i];
    struct str value = {element->p, element->n};
    if (n == 0)
        return buf_add_str(out, value);
    return element->is_json && json_find(value, keys, n, &value) && json_text(value, out);
}

static bool line_text(const struct items *items, uint64_t i, struct buf *out)
{
    struct str line = str_skip(items->text, items->lines[i]);
    line.n = str_find(line, '\n');
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    return buf_add_str(out, line);
}

static bool row_text(const struct csv *csv, uint64_t i, const struct json_key *keys, size_t n,
                     struct buf *out)
{
    if (n == 0)
        return csv_row_json(csv, i, out);
    size_t column = n == 1 ? csv_column(csv, keys[0].text) : SIZE_MAX;
    return column != SIZE_MAX && csv_field(csv, i, column, out);
}

bool items_text(const struct items *items, uint64_t i, const struct json_key *keys, size_t n,
                struct buf *out)
{
    if (items->order)
        i = items->order[i];
    switch (items->source) {
    case SOURCE_LIST:
        return list_text(items, i, keys, n, out);
    case SOURCE_CSV:
        return row_text(&items->csv, i, keys, n, out);
    case SOURCE_FILE:
        return n == 0 && line_text(items, i, out);
    case SOURCE_RANGE:
        break;
    }
    /* Unsigned, for a step times an index may pass int64 on the way to what is within it. */
    uint64_t number = (uint64_t)items->range.start + i * (uint64_t)items->range.step;
    return n == 0 && buf_add_i64(out, (int64_t)number);
}
