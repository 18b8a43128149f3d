/* The events of a file's first document, checked, one at a time. For plan/yaml_compose.c. */
#ifndef PLAN_YAML_READ_H
#define PLAN_YAML_READ_H

#include <stdbool.h>

#include "base/faults.h"
#include "plan/yaml.h"

struct yaml_reader;

struct yaml_token {
    enum { YAML_TOKEN_EVENT, YAML_TOKEN_ALIAS, YAML_TOKEN_END } kind;
    struct yaml_event event; /* of an alias: its place only */
    const char *anchor;      /* the event's, or the alias's; NULL: none */
};

/* NULL with a fault if the source cannot be read at all. Does not look at its size. */
struct yaml_reader *yaml_reader_new(struct yaml_source source, struct faults *faults);
void yaml_reader_free(struct yaml_reader *reader);

/* The next token, whose texts live until the next call; the last one is YAML_TOKEN_END. False with
 * a fault if the text is no YAML, or is nested too deep. */
bool yaml_reader_next(struct yaml_reader *reader, struct yaml_token *token);

#endif
