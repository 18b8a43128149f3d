#include "cli/baseline.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "plan/yaml.h"

#define MAX_PART YAML_MAX_BYTES

enum field { FIELD_NONE, FIELD_NAME, FIELD_DURATION, FIELD_OTHER };

/* The list that is being read, event by event. */
struct reader {
    struct baseline *baseline;
    unsigned depth; /* 1: in the list, 2: in one of its items */
    bool no_list;
    uint64_t items;
    bool in_record;   /* the item is a mapping */
    enum field field; /* whose value comes next; NONE: a key does */
    bool has_name, has_duration;
    struct buf name;
    double duration_ms;
};

static void begin_item(struct reader *reader, bool mapping)
{
    reader->items++;
    reader->in_record = mapping;
    reader->field = FIELD_NONE;
    reader->has_name = reader->has_duration = false;
}

static void end_item(struct reader *reader)
{
    if (reader->in_record && reader->has_name && reader->has_duration)
        baseline_add(reader->baseline, buf_str(&reader->name), reader->duration_ms);
}

static void read_key(struct reader *reader, struct str key)
{
    reader->field = str_eq(key, STR("name"))       ? FIELD_NAME
                    : str_eq(key, STR("duration")) ? FIELD_DURATION
                                                   : FIELD_OTHER;
}

static void read_value(struct reader *reader, const struct yaml_event *event)
{
    double duration_ms;

    if (reader->field == FIELD_NAME && (event->text.n || !event->plain)) {
        buf_reset(&reader->name);
        reader->has_name = buf_add_str(&reader->name, event->text);
    } else if (reader->field == FIELD_DURATION && str_to_double(event->text, &duration_ms) &&
               duration_ms >= 0) {
        reader->duration_ms = duration_ms;
        reader->has_duration = true;
    }
    reader->field = FIELD_NONE;
}

static void read_scalar(struct reader *reader, const struct yaml_event *event)
{
    if (reader->depth == 1)
        begin_item(reader, false);
    else if (reader->depth == 2 && reader->field == FIELD_NONE)
        read_key(reader, event->text);
    else if (reader->depth == 2)
        read_value(reader, event);
}

static bool on_event(void *ctx, const struct yaml_event *event)
{
    struct reader *reader = ctx;

    if (reader->depth == 0 && event->kind != YAML_EV_SEQ_START) {
        reader->no_list = true;
        return false;
    }
    switch (event->kind) {
    case YAML_EV_SCALAR:
        read_scalar(reader, event);
        break;
    case YAML_EV_SEQ_START:
    case YAML_EV_MAP_START:
        if (reader->depth == 1)
            begin_item(reader, event->kind == YAML_EV_MAP_START);
        reader->depth++;
        break;
    case YAML_EV_SEQ_END:
    case YAML_EV_MAP_END:
        reader->depth--;
        if (reader->depth == 1)
            end_item(reader);
        else if (reader->depth == 2) /* a key or a value that is itself a collection */
            reader->field = reader->field == FIELD_NONE ? FIELD_OTHER : FIELD_NONE;
        break;
    }
    return true;
}

/* Hands on what a part of the file was told, with the lines of the whole file. */
static void add_faults(struct faults *faults, const struct faults *of_part, struct str file,
                       unsigned lines_before)
{
    for (size_t i = 0; i < of_part->n; i++) {
        const struct fault *fault = &of_part->items[i];
        struct place at = {file, fault->line ? fault->line + lines_before : 0, fault->column};

        if (fault->severity == SEVERITY_ERROR)
            faults_error(faults, at, fault->help, "%s", fault->text);
        else
            faults_warning(faults, at, fault->help, "%s", fault->text);
    }
}

static bool read_part(struct reader *reader, struct yaml_source part, unsigned lines_before,
                      struct faults *faults)
{
    struct faults own;
    bool ok;

    faults_init(&own);
    reader->depth = 0;
    ok = yaml_walk(part, on_event, reader, &own);
    add_faults(faults, &own, part.file, lines_before);
    faults_fini(&own);
    return ok;
}

/* Fills the buffer to its maximum or to the end of the file; false with errno. */
static bool fill(int fd, struct buf *buf, bool *at_end)
{
    while (buf->n < buf->max) {
        size_t room = buf->max - buf->n;
        ssize_t n;

        if (room > 65536)
            room = 65536;
        buf_reserve(buf, room);
        n = read(fd, buf->p + buf->n, room);
        if (n == 0)
            *at_end = true;
        if (n == 0 || (n < 0 && errno != EINTR))
            return n == 0;
        if (n > 0)
            buf->n += (size_t)n;
    }
    return true;
}

/* Where the last record begins, which may go on behind the end of text; 0 if it is the first. */
static size_t last_record(struct str text)
{
    for (size_t at = text.n; at-- > 3;) {
        if (text.p[at] == ' ' && text.p[at - 1] == '-' && text.p[at - 2] == '\n')
            return at - 1;
    }
    return 0;
}

static unsigned count_lines(struct str text)
{
    unsigned lines = 0;

    for (size_t at; (at = str_find(text, '\n')) < text.n; text = str_skip(text, at + 1))
        lines++;
    return lines;
}

/* Reads the file in parts that end before a record. */
static bool read_parts(int fd, struct str file, struct reader *reader, struct faults *faults)
{
    struct place at = {.file = file};
    unsigned lines = 0;
    bool at_end = false, ok = false;
    struct buf buf;

    buf_init(&buf, MAX_PART);
    for (;;) {
        struct str part;

        if (!fill(fd, &buf, &at_end)) {
            faults_error(faults, at, NULL, "%s", strerror(errno));
            break;
        }
        part = buf_str(&buf);
        if (!at_end)
            part.n = last_record(part);
        if (buf.n && part.n == 0) {
            faults_error(faults, at, NULL, "this is no report: 16 MiB without an end of a record");
            break;
        }
        if (!read_part(reader, (struct yaml_source){file, part}, lines, faults))
            break;
        ok = at_end || reader->no_list;
        if (ok)
            break;
        lines += count_lines(part);
        memmove(buf.p, buf.p + part.n, buf.n - part.n);
        buf.n -= part.n;
    }
    buf_fini(&buf);
    return ok;
}

static const char *not_readable(int fd)
{
    struct stat status;

    if (fd < 0 || fstat(fd, &status) != 0)
        return strerror(errno);
    if (S_ISDIR(status.st_mode))
        return "is a directory";
    return S_ISREG(status.st_mode) ? NULL : "is not a regular file";
}

struct baseline *baseline_read(const char *path, struct faults *faults)
{
    struct place at = {.file = str_of(path)};
    struct reader reader = {.baseline = baseline_new()};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    const char *why = not_readable(fd);
    bool ok = false;

    buf_init(&reader.name, MAX_PART);
    if (why)
        faults_error(faults, at, NULL, "%s", why);
    else
        ok = read_parts(fd, at.file, &reader, faults);
    if (ok && (reader.no_list || reader.items == 0)) {
        faults_error(faults, at, "a report is written by --report", "%s",
                     reader.no_list ? "this is no report: not a list of records"
                                    : "the report is empty");
        ok = false;
    }
    if (fd >= 0)
        close(fd);
    buf_fini(&reader.name);
    if (ok)
        return reader.baseline;
    baseline_free(reader.baseline);
    return NULL;
}
