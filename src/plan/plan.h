/*
 * The compiled plan: what `driller run` does, checked whole and ready to be walked. Made once,
 * then read only and shared by all threads. It knows no socket and no statistics.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/faults.h"
#include "base/mem.h"
#include "base/str.h"
#include "plan/items.h"
#include "plan/load.h"
#include "plan/template.h"

#define PLAN_MAX_STEPS 100000
#define PLAN_MAX_INCLUDES 64        /* deep */
#define PLAN_MAX_FILES 10000        /* included, each time counted */
#define PLAN_MAX_BYTES (256u << 20) /* of them together */
#define PLAN_MAX_HEADERS 1000       /* of a request */
#define PLAN_MAX_TOKEN 256          /* bytes of a method or the name of a header */
#define PLAN_MAX_BODY (1u << 30)    /* of a file that is a body */
#define PLAN_MAX_ITERATIONS UINT64_C(1000000000000)
#define PLAN_MAX_CONCURRENCY UINT64_C(1000000)
#define PLAN_MAX_SECONDS 1e9 /* of a delay, a ramp-up, a time limit */

enum step_kind { STEP_REQUEST, STEP_ASSIGN, STEP_ASSERT, STEP_DELAY, STEP_EXEC };

struct header {
    struct str name; /* a token, as written */
    struct template value;
};

struct step_request {
    struct str method;   /* a token; registered ones in upper case */
    struct template url; /* with the base before it if it is written with a leading '/' */
    bool url_open;       /* begins with a path: may turn out to begin with '/' when rendered, and
                            needs the base then */
    size_t n_headers;
    struct header *headers; /* in the order of the plan; never Content-Length (one that agrees
                               with the body is left out) nor Transfer-Encoding */
    bool has_body;
    struct template body; /* of hex and file: constant */
    uint32_t assign;      /* slot, or SLOT_NONE */
};

struct step_assign {
    uint32_t slot;
    struct str key;
    struct template value;
};

struct step_assert {
    struct path key;
    struct template value;
};

struct step_delay {
    uint64_t ns, max_ns; /* anything from ns to max_ns, evenly */
    struct str shown;    /* "3s", "0.5s", "250ms", "1-3s" */
};

struct step_exec {
    struct template command;
    uint32_t assign;
    uint64_t timeout_ns;
};

struct step {
    enum step_kind kind;
    struct place at;
    struct template name;      /* name.source is what statistics are kept by */
    uint32_t stat;             /* requests: index into plan->names */
    const struct items *items; /* requests: one request an item; NULL: one request */
    struct str listing;        /* the step as YAML, with plan_options.listings */
    union {
        struct step_request request;
        struct step_assign assign;
        struct step_assert assertion;
        struct step_delay delay;
        struct step_exec exec;
    };
};

/* The setting `tls`; NULL: not given. File names are resolved. */
struct plan_tls {
    const char *cacert, *cert, *key, *key_pass_file, *ciphers;
    bool only_1_3, insecure;
};

struct plan {
    struct arena arena;
    struct plan_tls tls;
    struct str base; /* empty if there is none */
    bool has_iterations, has_concurrency;
    uint64_t iterations;  /* ≥ 1; 1 if not given */
    uint64_t concurrency; /* ≥ 1, valid with has_concurrency */
    double rampup_s;      /* ≥ 0 */
    uint64_t duration_ns; /* of the run; 0: not given */
    struct load load;     /* its stages are owned */
    bool has_arrival;     /* load.arrival was given */
    bool has_when_late, drop_late;
    uint64_t warmup_ns, grace_ns; /* 0: none */
    uint64_t pacing_ns; /* from the start of a user's iteration to that of its next; 0: none */
    size_t n_steps;
    struct step *steps; /* those that run, includes in their place, tags applied */
    size_t n_names;
    struct str *names; /* of request steps that run, each once, in order of first appearance */
    size_t n_slots;    /* SLOT_FIRST_OWN + the plan's own variables */
    struct str *slot_names;
    size_t n_tags;
    struct str *tags; /* all that any step bears, filtered or not, sorted */
    size_t n_items;
    struct items **items; /* owned */
    size_t n_bodies;
    struct str *bodies; /* files that are bodies, each read once; owned */
};

struct plan_options {
    struct str base; /* p != NULL: in place of the plan's base */
    const struct str *tags;
    size_t n_tags;
    const struct str *skip_tags;
    size_t n_skip_tags;
    uint64_t seed;    /* of shuffles */
    bool relaxed;     /* --relaxed-interpolations */
    bool strict_keys; /* `driller validate`: an unknown key is an error */
    bool listings;    /* fill step.listing */
};

/*
 * Reads the plan in `path` (its text already read: `text`; `path` is for messages, and relative
 * file names are looked up beside it; "-" is standard input, shown as "<stdin>", with the working
 * folder). Every fault of the plan and of the files it names is added to faults. NULL if one of
 * them is an error. A plan whose steps are all filtered away is no error here: n_steps is 0.
 */
struct plan *plan_load(const char *path, struct str text, const struct plan_options *options,
                       struct faults *faults);

/* The plan of an ad-hoc GET: one step "GET /path?query#fragment" (templates and all).
 * NULL and a fault if url is no http(s) URL: one without a scheme is told the URL with one
 * ("URL must include a scheme, e.g. http://127.0.0.1/health"). */
struct plan *plan_adhoc(struct str url, const struct plan_options *options, struct faults *faults);

/* The scheme and authority of a URL as they are written ("http://localhost:9000"): the base that
 * an ad-hoc URL stands for. False if it has no http or https scheme. */
bool plan_base_of(struct str url, struct str *base);

void plan_free(struct plan *plan);

#endif
