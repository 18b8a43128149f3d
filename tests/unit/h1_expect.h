/* What cmocka tests expect of connections that h1_reader.h reads. */
#ifndef H1_EXPECT_H
#define H1_EXPECT_H

#include "h1_reader.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n"
#define CHUNKED_HEAD "200 HTTP/1.1 chunked {Transfer-Encoding: chunked\r\n}\n"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static inline void expect_events(struct str bytes, bool head_request, struct str events)
{
    struct rng rng;
    rng_seed(&rng, bytes.n);
    for (unsigned round = 0; round < 12; round++) {
        struct h1_reader reader;
        h1_reader_run(&reader, bytes, round, round < 4 ? NULL : &rng, head_request);
        if (!str_eq(buf_str(&reader.log), events))
            print_error("pieces of %u: %.*s\nexpected:\n%.*sgot:\n%.*s", round, (int)bytes.n,
                        bytes.p, (int)events.n, events.p, (int)reader.log.n, reader.log.p);
        assert_true(str_eq(buf_str(&reader.log), events));
        h1_reader_fini(&reader);
    }
}

struct events_case {
    struct str bytes, events;
};

#define CASE(bytes, events)            \
    {                                  \
        {bytes, sizeof(bytes) - 1},    \
        {                              \
            events, sizeof(events) - 1 \
        }                              \
    }

static inline void expect_all(const struct events_case *cases, size_t n, bool head_request)
{
    for (size_t i = 0; i < n; i++)
        expect_events(cases[i].bytes, head_request, cases[i].events);
}

/* A run over start, n times part, and end: its last event. */
static inline void expect_repeated(const char *start, const char *part, size_t n, const char *end,
                                   const char *last_event)
{
    struct buf bytes;
    size_t part_n = strlen(part);
    buf_init(&bytes, BUF_NO_MAX);
    buf_add_str(&bytes, str_of(start));
    for (size_t i = 0; i < n; i++)
        buf_add(&bytes, part, part_n);
    buf_add_str(&bytes, str_of(end));
    for (size_t most = 0; most <= 1500; most += 1499) {
        struct h1_reader reader;
        h1_reader_run(&reader, buf_str(&bytes), most, NULL, false);
        struct str log = buf_str(&reader.log);
        if (!str_ends(log, str_of(last_event)))
            print_error("%s…: …%.*s\n", part, (int)(log.n < 80 ? log.n : 80),
                        log.p + (log.n < 80 ? 0 : log.n - 80));
        assert_true(str_ends(log, str_of(last_event)));
        h1_reader_fini(&reader);
    }
    buf_fini(&bytes);
}

#endif
