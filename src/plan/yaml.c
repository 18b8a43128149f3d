#include "plan/yaml.h"

#include <stdlib.h>
#include <yaml.h>

#include "plan/yaml_read.h"

/* libyaml's events of one document, checked and with their places. */
struct yaml_reader {
    yaml_parser_t parser;
    yaml_event_t event;
    struct str file, text; /* text: without the byte-order mark */
    struct faults *faults;
    unsigned depth;
};

static struct place place_of(const struct yaml_reader *reader, yaml_mark_t mark)
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

/* The first place from `at` on that is neither blank nor comment nor, at the start of a line,
 * `passed`; *line counts. */
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
static bool check_directives(struct yaml_source source, struct faults *faults)
{
    struct str text = source.text;
    unsigned line = 1;
    for (size_t at = 0;;) {
        at = skip_lines(text, at, "", &line);
        if (at == text.n || text.p[at] != '%')
            return true;
        struct str rest = str_skip(text, at);
        if (!str_starts(rest, STR("%YAML ")) && !str_starts(rest, STR("%YAML\t"))) {
            faults_error(faults, (struct place){source.file, line, 1},
                         "text that begins with '%' stands in quotes",
                         "the only directive that is read is %%YAML");
            return false;
        }
        while (at < text.n && break_at(text, at) == 0)
            at++;
    }
}

struct yaml_reader *yaml_reader_new(struct yaml_source source, struct faults *faults)
{
    if (str_starts(source.text, STR("\xff\xfe")) || str_starts(source.text, STR("\xfe\xff"))) {
        faults_error(faults, (struct place){source.file, 1, 1}, "save the file as UTF-8",
                     "the file is UTF-16, not UTF-8");
        return NULL;
    }
    if (str_starts(source.text, STR("\xef\xbb\xbf")))
        source.text = str_skip(source.text, 3);
    if (source.text.n == 0)
        source.text = STR("");
    if (!check_directives(source, faults))
        return NULL;
    struct yaml_reader *reader = xcalloc(1, sizeof *reader);
    reader->file = source.file;
    reader->text = source.text;
    reader->faults = faults;
    if (!yaml_parser_initialize(&reader->parser))
        mem_out();
    yaml_parser_set_encoding(&reader->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader->parser, (const unsigned char *)source.text.p,
                                 source.text.n);
    return reader;
}

void yaml_reader_free(struct yaml_reader *reader)
{
    yaml_event_delete(&reader->event);
    yaml_parser_delete(&reader->parser);
    free(reader);
}

/* The place of a byte: libyaml's own mark is of no use where it could not read on. */
static struct place place_of_byte(const struct yaml_reader *reader, size_t offset)
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

static void unreadable(const struct yaml_reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    size_t at = parser->problem_offset;
    if (strcmp(parser->problem, "invalid trailing UTF-8 octet") == 0)
        do
            at--;
        while (((unsigned char)reader->text.p[at] & 0xc0) == 0x80);
    struct place place = place_of_byte(reader, at);
    if (parser->problem_value == 0)
        faults_error(reader->faults, place, NULL, "a NUL byte: this is no text");
    else if (strncmp(parser->problem, "control", 7) == 0)
        faults_error(reader->faults, place, "in double quotes, write it as an escape",
                     "the control character U+%04X may not stand in YAML",
                     (unsigned)parser->problem_value);
    else
        faults_error(reader->faults, place, "save the file as UTF-8", "the byte 0x%02X is no UTF-8",
                     (unsigned char)reader->text.p[at]);
}

/* What libyaml calls the problem, in plain words and with what would be right. */
static const struct wording {
    const char *problem;
    bool at_start; /* the place to look at is where the construct begins */
    const char *text, *help;
} wordings[] = {
    {"mapping values are not allowed in this context", false, "a ': ' where no key can stand",
     "put text that holds ': ' in quotes, or check the indentation"},
    {"block sequence entries are not allowed in this context", false,
     "a '- ' where no list can begin",
     "begin the list on a line of its own, or put the text in quotes"},
    {"could not find expected ':'", true, "this is neither 'key: value' nor '- item'",
     "check the indentation, or for a missing ':' or quote"},
    {"did not find expected key", false, "this does not fit the mapping around it",
     "check the indentation: keys of one mapping begin in one column"},
    {"did not find expected '-' indicator", false, "this does not fit the list around it",
     "check the indentation: items of one list begin with '- ' in one column"},
    {"did not find expected ',' or ']'", false, "expected ',' or ']' here", NULL},
    {"did not find expected ',' or '}'", false, "expected ',' or '}' here", NULL},
    {"did not find expected node content", false, "a value is missing here", NULL},
    {"found unexpected end of stream", true, "the quote that opens here is never closed",
     "put the same quote at the end of the text"},
    {"found unexpected document indicator", true, "the quote that opens here is never closed",
     "put the same quote at the end of the text"},
    {"found unknown escape character", false, "an escape that YAML does not know",
     "in double quotes, write a backslash as \\\\; or use single quotes"},
    {"found a tab character that violates indentation", false, "a tab in the indentation",
     "indent with blanks"},
    {"found a tab character where an indentation space is expected", false,
     "a tab in the indentation", "indent with blanks"},
    {"did not find expected <document start>", false, "expected '---' after the directive", NULL},
    {"found undefined tag handle", false, "a tag whose handle nothing defines",
     "put text that begins with '!' in quotes"},
    {"found incompatible YAML document", false, "a version of YAML that is not read", "%YAML 1.2"},
};

static void cannot_start(const struct yaml_reader *reader, struct place place)
{
    const unsigned char *at = reader->parser.buffer.pointer;
    if (*at == '\t')
        faults_error(reader->faults, place, "indent with blanks", "a tab in the indentation");
    else
        faults_error(reader->faults, place, "put it in quotes", "text cannot begin with '%c'", *at);
}

/* Adds the fault that stopped libyaml. */
static void explain(const struct yaml_reader *reader)
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
    for (size_t i = 0; i < sizeof wordings / sizeof *wordings; i++) {
        const struct wording *wording = &wordings[i];
        if (strcmp(problem, wording->problem) != 0)
            continue;
        if (wording->at_start)
            place = place_of(reader, parser->context_mark);
        faults_error(reader->faults, place, wording->help, "%s", wording->text);
        return;
    }
    faults_error(reader->faults, place, NULL, "%s%s%s", problem, parser->context ? " " : "",
                 parser->context ? parser->context : "");
}

/* What follows the first document, without libyaml, which would read %TAG lines again. */
static bool check_rest(const struct yaml_reader *reader)
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

static bool deeper(struct yaml_reader *reader, struct yaml_event *event, bool sequence)
{
    event->kind = sequence ? YAML_EV_SEQ_START : YAML_EV_MAP_START;
    if (++reader->depth <= YAML_MAX_DEPTH)
        return true;
    faults_error(reader->faults, place_of(reader, reader->event.start_mark), NULL,
                 "lists and mappings are nested more than %d deep", YAML_MAX_DEPTH);
    return false;
}

bool yaml_reader_next(struct yaml_reader *reader, struct yaml_token *token)
{
    yaml_event_t *event = &reader->event;
    do {
        yaml_event_delete(event);
        if (!yaml_parser_parse(&reader->parser, event)) {
            explain(reader);
            return false;
        }
    } while (event->type == YAML_STREAM_START_EVENT || event->type == YAML_DOCUMENT_START_EVENT);
    struct place at = place_of(reader, event->start_mark);
    *token = (struct yaml_token){.event = {.line = at.line, .column = at.column}};
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        token->event.kind = YAML_EV_SCALAR;
        token->event.plain = is_plain(event);
        token->event.text = scalar_text(event);
        token->anchor = (const char *)event->data.scalar.anchor;
        return true;
    case YAML_SEQUENCE_START_EVENT:
        token->anchor = (const char *)event->data.sequence_start.anchor;
        return deeper(reader, &token->event, true);
    case YAML_MAPPING_START_EVENT:
        token->anchor = (const char *)event->data.mapping_start.anchor;
        return deeper(reader, &token->event, false);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        reader->depth--;
        token->event.kind =
            event->type == YAML_SEQUENCE_END_EVENT ? YAML_EV_SEQ_END : YAML_EV_MAP_END;
        return true;
    case YAML_ALIAS_EVENT:
        token->kind = YAML_TOKEN_ALIAS;
        token->anchor = (const char *)event->data.alias.anchor;
        return true;
    default:
        token->kind = YAML_TOKEN_END;
        return event->type == YAML_STREAM_END_EVENT || check_rest(reader);
    }
}

bool yaml_walk(struct yaml_source source, yaml_handler handler, void *ctx, struct faults *faults)
{
    struct yaml_reader *reader = yaml_reader_new(source, faults);
    if (!reader)
        return false;
    struct yaml_token token;
    bool ok;
    do {
        ok = yaml_reader_next(reader, &token);
        if (ok && token.kind == YAML_TOKEN_ALIAS) {
            struct place at = {source.file, token.event.line, token.event.column};
            faults_error(faults, at, NULL, "an alias; none are read in this file");
            ok = false;
        }
    } while (ok && token.kind == YAML_TOKEN_EVENT && handler(ctx, &token.event));
    yaml_reader_free(reader);
    return ok;
}
