/*
 * What the chaos server answers: bytes, and how they are to be sent. Most answers are good ones of
 * many kinds; the others do what a server, or somebody on the way, should not do.
 */
#ifndef SOAK_ANSWERS_H
#define SOAK_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/rng.h"

/* What a request asks for, as far as an answer depends on it. */
struct wish {
    uint64_t iteration; /* its i=, which answers give back as the token T<i> */
    unsigned hop;       /* its hop=: so many redirects are still to come; CIRCLE: no end of them */
    bool head;          /* the method is HEAD */
    bool big;           /* its big=1: bodies of hundreds of kilobytes are welcome */
};
enum { CIRCLE = 99 };

/* What is done at a place in the answer. */
enum stop { STOP_NONE, STOP_WAIT, STOP_CLOSE, STOP_RESET };

/* What is done with the connection behind it, unless a request comes first. */
enum after { AFTER_KEEP, AFTER_CLOSE, AFTER_RESET };

struct answer {
    struct buf bytes;
    enum stop stop;
    size_t stop_at;
    unsigned stop_ms; /* of STOP_WAIT */
    size_t piece;     /* bytes that are sent at a time; 0: all */
    unsigned gap_ms;  /* between two pieces */
    enum after after;
    unsigned after_ms; /* how long it waits for the next request first */
};

#define ANSWER_KINDS_MAX 64

/* Composes the next answer; returns its kind, an index for answer_kind. */
unsigned answer_compose(struct answer *answer, const struct wish *wish, unsigned port,
                        struct rng *rng);

/* To an upload that is not read to its end. */
void answer_too_large(struct answer *answer);

/* The name of a kind, "good", "drip", …; NULL from the last on. */
const char *answer_kind(unsigned kind);

#endif
