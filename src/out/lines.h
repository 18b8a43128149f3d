/*
 * The lines that are printed while a run goes on: one a request, one each for the other steps,
 * and the pairs of --verbose. Formatters only: they append to a buffer, in any thread. Foreign text
 * is made printable and shown up to a limit: 64 KiB of a URL, a command or a body, 4 KiB of all
 * else.
 */
#ifndef OUT_LINES_H
#define OUT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/outcome.h"
#include "base/str.h"
#include "out/style.h"

/* What became of a request, as far as a line shows it. */
struct line_result {
    enum outcome outcome;
    enum outcome_where where;
    unsigned status; /* of a response */
    uint64_t latency_ns;
};

struct line_field {
    struct str name, value;
};

/* "NAME  URL 200 OK 1ms\n" or "NAME  URL ERR connection refused 0ms\n". About 70 ns. */
void line_request(struct buf *out, const struct style *style, struct str name, struct str url,
                  const struct line_result *result);
/* The dimmed "  cause: …\n" below an ERR line. */
void line_cause(struct buf *out, const struct style *style, struct str cause);
/* "NAME  KEY=VALUE\n" */
void line_assign(struct buf *out, const struct style *style, struct str name, struct str key,
                 struct str value);
/* "NAME  KEY=VALUE?\n" */
void line_assert(struct buf *out, const struct style *style, struct str name, struct str key,
                 struct str value);
/* "NAME  FAIL: KEY -- expected "…", got "…"\n"; got.p == NULL: 'got nothing' in place of a
 * quoted text, for a path that is not there. */
void line_fail(struct buf *out, const struct style *style, struct str name, struct str key,
               struct str expected, struct str got);
/* "NAME  3s\n" */
void line_delay(struct buf *out, const struct style *style, struct str name, struct str shown);
/* "NAME  COMMAND\n" */
void line_exec(struct buf *out, const struct style *style, struct str name, struct str command);

/* ">>> URL: …, METHOD: GET, HEADERS: {"name": "value", …}\n"; secrets as *** unless the style
 * shows them. */
void line_verbose_request(struct buf *out, const struct style *style, struct str url,
                          struct str method, const struct line_field *fields, size_t n);
/* "<<< URL: …, STATUS: 200 OK, HEADERS: {…} DURATION: 0.4312 ms, BODY: "…"\n"; body.p == NULL:
 * the line ends "ms,". */
void line_verbose_response(struct buf *out, const struct style *style, struct str url,
                           unsigned status, const struct line_field *fields, size_t n,
                           uint64_t latency_ns, struct str body);
/* "<<<No response from server!\n" */
void line_verbose_nothing(struct buf *out, const struct style *style);

#endif
