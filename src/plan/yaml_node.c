#include "base/json.h"
#include "base/yamlscalar.h"
#include "plan/yaml.h"

struct yaml_node *yaml_get(const struct yaml_node *mapping, const char *key)
{
    if (!mapping || mapping->kind != YAML_MAPPING)
        return NULL;
    for (size_t i = 0; i < mapping->n; i++)
        if (str_eq(mapping->keys[i]->text, str_of(key)))
            return mapping->items[i];
    return NULL;
}

struct place yaml_place(struct str file, const struct yaml_node *node)
{
    return (struct place){file, node->line, node->column};
}

static bool is_one_of(const struct yaml_node *node, const char *const names[3])
{
    if (node->kind != YAML_SCALAR || !node->plain)
        return false;
    for (size_t i = 0; i < 3; i++)
        if (str_eq(node->text, str_of(names[i])))
            return true;
    return false;
}

bool yaml_is_null(const struct yaml_node *node)
{
    static const char *const names[] = {"null", "Null", "NULL"};
    return is_one_of(node, names) || (node->kind == YAML_SCALAR && node->plain &&
                                      (node->text.n == 0 || str_eq(node->text, STR("~"))));
}

bool yaml_as_bool(const struct yaml_node *node, bool *out)
{
    static const char *const yes[] = {"true", "True", "TRUE"}, *const no[] = {"false", "False",
                                                                              "FALSE"};
    bool is_true = is_one_of(node, yes);
    if (!is_true && !is_one_of(node, no))
        return false;
    *out = is_true;
    return true;
}

/* Digits of a base that is a power of two, after "0x" or "0o". */
static bool prefixed(struct str digits, unsigned bits, int64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < digits.n; i++) {
        unsigned c = (unsigned char)digits.p[i];
        unsigned lower = c | 0x20;
        unsigned digit = c >= '0' && c <= '9'           ? c - '0'
                         : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10
                                                        : 16;
        if (digit >> bits || value > (uint64_t)INT64_MAX >> bits)
            return false;
        value = value << bits | digit;
    }
    *out = (int64_t)value;
    return digits.n > 0;
}

bool yaml_as_i64(const struct yaml_node *node, int64_t *out)
{
    if (node->kind != YAML_SCALAR || !node->plain)
        return false;
    if (str_starts(node->text, STR("0x")))
        return prefixed(str_skip(node->text, 2), 4, out);
    if (str_starts(node->text, STR("0o")))
        return prefixed(str_skip(node->text, 2), 3, out);
    return str_to_i64(node->text, out);
}

bool yaml_as_double(const struct yaml_node *node, double *out)
{
    int64_t whole;
    if (node->kind != YAML_SCALAR || !node->plain)
        return false;
    if (str_to_double(node->text, out))
        return true;
    if (!yaml_as_i64(node, &whole))
        return false;
    *out = (double)whole;
    return true;
}

static bool is_block(const struct yaml_node *node)
{
    return node->kind != YAML_SCALAR && node->n > 0;
}

/* A node whose first line already stands `indent` deep. */
static void emit(const struct yaml_node *node, unsigned indent, struct buf *out)
{
    if (node->kind == YAML_SCALAR) {
        if (node->plain && node->text.n == 0)
            buf_add_str(out, STR("null"));
        else
            yaml_scalar(out, node->text, !node->plain);
        buf_add_char(out, '\n');
    } else if (node->n == 0) {
        buf_add_str(out, node->kind == YAML_SEQUENCE ? STR("[]\n") : STR("{}\n"));
    }
    for (size_t i = 0; node->kind != YAML_SCALAR && i < node->n; i++) {
        const struct yaml_node *item = node->items[i];
        if (i)
            buf_add_fill(out, ' ', indent);
        if (node->kind == YAML_SEQUENCE) {
            buf_add_str(out, STR("- "));
            emit(item, indent + 2, out);
            continue;
        }
        yaml_scalar(out, node->keys[i]->text, !node->keys[i]->plain);
        buf_add_str(out, is_block(item) ? STR(":\n") : STR(": "));
        unsigned deeper = item->kind == YAML_MAPPING ? indent + 2 : indent;
        if (is_block(item))
            buf_add_fill(out, ' ', deeper);
        emit(item, deeper, out);
    }
}

bool yaml_emit(const struct yaml_node *node, unsigned indent, struct buf *out)
{
    buf_add_fill(out, ' ', indent);
    emit(node, indent, out);
    return !out->full;
}

/* Would JSON read a number there? Its grammar, RFC 8259 section 6. */
static bool is_json_number(struct str text)
{
    struct str value;
    return text.n > 0 && (text.p[0] == '-' || (text.p[0] >= '0' && text.p[0] <= '9')) &&
           json_check(text, &value) && value.n == text.n;
}

static void json_scalar(const struct yaml_node *node, struct buf *out)
{
    bool truth;
    if (yaml_is_null(node))
        buf_add_str(out, STR("null"));
    else if (yaml_as_bool(node, &truth))
        buf_add_str(out, truth ? STR("true") : STR("false"));
    else if (node->plain && is_json_number(node->text))
        buf_add_str(out, node->text);
    else
        json_quote(out, node->text);
}

bool yaml_json(const struct yaml_node *node, struct buf *out)
{
    if (node->kind == YAML_SCALAR) {
        json_scalar(node, out);
        return !out->full;
    }
    bool list = node->kind == YAML_SEQUENCE;
    buf_add_char(out, list ? '[' : '{');
    for (size_t i = 0; i < node->n; i++) {
        if (i)
            buf_add_char(out, ',');
        if (!list) {
            json_quote(out, node->keys[i]->text);
            buf_add_char(out, ':');
        }
        yaml_json(node->items[i], out);
    }
    buf_add_char(out, list ? ']' : '}');
    return !out->full;
}
