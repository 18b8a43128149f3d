#include "cli/printer.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/console.h"
#include "out/lines.h"

/* The fields of a head's lines. Their array is on the heap: a head may have thousands. */
struct fields {
    struct line_field *items;
    size_t n;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* A line that begins with a blank goes on with the field above it. */
static void split_fields(struct str head, struct fields *fields)
{
    size_t lines = 1;

    for (size_t i = 0; i < head.n; i++)
        lines += head.p[i] == '\n';
    *fields = (struct fields){.items = xcalloc(lines, sizeof(*fields->items))};
    while (head.n) {
        struct str line = {head.p, str_find(head, '\n')};
        size_t colon = str_find(line, ':');

        if (is_blank(line.p[0]) && fields->n) {
            struct str *value = &fields->items[fields->n - 1].value;

            *value = str_trim((struct str){value->p, (size_t)(line.p + line.n - value->p)});
        } else if (colon < line.n) {
            fields->items[fields->n++] = (struct line_field){
                .name = str_trim((struct str){line.p, colon}),
                .value = str_trim(str_skip(line, colon + 1)),
            };
        }
        head = str_skip(head, line.n + 1);
    }
}

static void add_send(const struct printer *printer, const struct event *event, struct buf *out)
{
    struct fields fields;

    split_fields(event->head, &fields);
    line_verbose_request(out, &printer->style, event->url, event->method, fields.items, fields.n);
    free(fields.items);
}

static void add_response(const struct printer *printer, const struct event *event, struct buf *out)
{
    struct fields fields;

    if (event->outcome != OUTCOME_RESPONSE) {
        line_verbose_nothing(out, &printer->style);
        return;
    }
    split_fields(event->head, &fields);
    line_verbose_response(out, &printer->style, event->final_url, event->status, fields.items,
                          fields.n, event->latency_ns, event->body);
    free(fields.items);
}

static void add_done(const struct printer *printer, const struct event *event, struct outputs *out)
{
    bool answered = event->outcome == OUTCOME_RESPONSE;
    struct buf *lines = &out->text[printer->lines];

    if (printer->report)
        report_record(&out->text[OUTPUT_REPORT], event->stat_name, event->latency_ns,
                      answered ? event->status : STATUS_NO_RESPONSE);
    if (!printer->quiet) {
        struct line_result result = {event->outcome, event->where, event->status,
                                     event->latency_ns};

        line_request(lines, &printer->style, event->name, event->url, &result);
    }
    if (!printer->verbose)
        return;
    if (!answered && event->cause.n)
        line_cause(lines, &printer->style, event->cause);
    add_response(printer, event, lines);
}

static void add_warning(const struct event *event, struct buf *out)
{
    buf_add_str(out, STR("warning: "));
    text_printable(out, event->value, SIZE_MAX);
    buf_add_char(out, '\n');
}

/* A line that --quiet silences. */
static void add_step(const struct printer *printer, const struct event *event, struct buf *out)
{
    const struct style *style = &printer->style;

    if (event->kind == EVENT_ASSIGN)
        line_assign(out, style, event->name, event->key, event->value);
    else if (event->kind == EVENT_ASSERT)
        line_assert(out, style, event->name, event->key, event->value);
    else if (event->kind == EVENT_DELAY)
        line_delay(out, style, event->name, event->value);
    else
        line_exec(out, style, event->name, event->value);
}

void printer_format(void *ctx, const struct event *event, struct outputs *out)
{
    const struct printer *printer = ctx;
    struct buf *lines = &out->text[printer->lines];

    switch (event->kind) {
    case EVENT_DONE:
        add_done(printer, event, out);
        break;
    case EVENT_SEND:
        if (printer->verbose)
            add_send(printer, event, lines);
        break;
    case EVENT_FAIL:
        line_fail(lines, &printer->style, event->name, event->key, event->value, event->got);
        break;
    case EVENT_WARNING:
        add_warning(event, &out->text[OUTPUT_ERR]);
        break;
    case EVENT_ASSIGN:
    case EVENT_ASSERT:
    case EVENT_DELAY:
    case EVENT_EXEC:
        if (!printer->quiet)
            add_step(printer, event, lines);
        break;
    }
}

static bool write_report(struct printer *printer, struct str bytes)
{
    const char *why;

    if (printer->report_failed)
        return false;
    if (outfile_write(printer->report, bytes, &why)) {
        printer->report_written = true;
        return true;
    }
    live_erase(printer->live);
    console_error("couldn't write the report %s: %s", printer->report_path, why);
    printer->report_failed = true;
    return false;
}

bool printer_write(void *ctx, enum output output, struct str bytes)
{
    struct printer *printer = ctx;

    if (output == OUTPUT_REPORT)
        return write_report(printer, bytes);
    if (output == OUTPUT_ERR || printer->live->out_is_terminal)
        live_erase(printer->live);
    if (output == OUTPUT_ERR) {
        console_write(STDERR_FILENO, bytes);
        return true;
    }
    if (printer->status == CLI_OK)
        printer->status = console_print(bytes);
    return printer->status == CLI_OK;
}
