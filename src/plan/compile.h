/*
 * What the parts of the plan's compiler share: private to plan.c and the files beside it. Every
 * fault is added to compiler.faults and compiling goes on; whether the plan can be used is known at
 * the end only.
 */
#ifndef PLAN_COMPILE_H
#define PLAN_COMPILE_H

#include "base/map.h"
#include "plan/plan.h"
#include "plan/schema.h"
#include "plan/tags.h"
#include "plan/yaml.h"

/* A file that is being read, and those that include it. */
struct source {
    struct str file; /* NUL behind its end; the plan's arena */
    const struct source *up;
    unsigned depth;
    bool has_id; /* a file on disk has these */
    uint64_t device, inode;
};

struct compiler {
    struct plan *plan;
    const struct plan_options *options;
    struct faults *faults;
    struct scope scope;
    struct rng rng;
    struct map names;  /* → plan->names */
    struct map tags;   /* → plan->tags */
    struct map bodies; /* paths → plan->bodies */
    struct buf url;    /* where URLs are parsed */
    size_t cap_steps, cap_names, cap_tags, cap_items, cap_bodies;
    size_t n_read; /* steps, filtered ones included */
    size_t n_files, n_bytes;
    bool full;        /* a maximum was passed and told; nothing more is read */
    bool blind;       /* part of the plan could not be read: unknown names are no faults */
    bool base_faulty; /* told: what needs the base is not told again */
};

/* A step as it stands in a file. */
struct step_in {
    const struct source *source;
    const struct yaml_node *node;
    struct tag_set tags;
    bool runs; /* not filtered away; what does not run is checked, but reads no files */
};

/* plan.c: `items` (heap) with room for one more than n. */
void *compile_grow(void *items, size_t n, size_t *cap, size_t size);

/* settings.c: base, iterations, concurrency, rampup. */
void compile_settings(struct compiler *c, const struct source *source,
                      const struct yaml_node *root);
/* settings_load.c: what the load is, and how long. */
void compile_load(struct compiler *c, const struct source *source, const struct yaml_node *root);
/* settings_tls.c */
void compile_tls(struct compiler *c, const struct source *source, const struct yaml_node *tls);
/* Fills the environment in; false, and an error, if it cannot be. */
bool compile_env_text(struct compiler *c, struct str text, struct place at, const char *what,
                      struct str *out);
/* A scalar, not null, as text with the environment filled in and without blanks around it; false,
 * and an error, if it is none. */
bool compile_env_scalar(struct compiler *c, const struct source *source,
                        const struct yaml_node *node, const char *what, struct str *out);
/* Checks text and makes it the plan's base. */
void compile_base(struct compiler *c, struct str text, struct place at);

/* include.c: the steps of a list, one after the other, includes in their place. */
void compile_steps(struct compiler *c, const struct source *source, const struct yaml_node *list,
                   struct tag_set inherited);
void compile_include(struct compiler *c, const struct step_in *in);

/* step.c */
void compile_step(struct compiler *c, const struct source *source, const struct yaml_node *node,
                  struct tag_set inherited);
struct place compile_at(const struct step_in *in, const struct yaml_node *node);
void compile_check(struct compiler *c, const struct step_in *in, enum schema_place where,
                   const struct yaml_node *mapping);
/* The value below a step's key, a mapping whose keys are checked; NULL and an error if it is none
 * (`help` shows one). */
const struct yaml_node *compile_mapping(struct compiler *c, const struct step_in *in,
                                        const char *key, enum schema_place where, const char *help);
/* Is the value of a key a name of a file, without templates? Else an error. */
bool compile_file_name(struct compiler *c, const struct step_in *in, const struct yaml_node *node,
                       const char *key);
/* A scalar as a template; false, and an error, if it is none or a name in it is unknown. */
bool compile_text(struct compiler *c, const struct step_in *in, const struct yaml_node *node,
                  const char *what, struct template *out);
/* The slot of the variable that the scalar `node` (NULL: none) names. */
uint32_t compile_variable(struct compiler *c, const struct step_in *in,
                          const struct yaml_node *node, unsigned origin);
/* A time of at most PLAN_MAX_SECONDS; unit_ns is what the number counts. */
bool compile_time(struct compiler *c, const struct step_in *in, const struct yaml_node *node,
                  const char *what, uint64_t unit_ns, uint64_t *ns);

/* A step without a name is called after what it does. */
void compile_name_of(struct compiler *c, struct step *step, const char *what, struct str object);

/* step_simple.c, step_request.c: one for each kind. */
void compile_assign(struct compiler *c, const struct step_in *in, struct step *step);
void compile_assert(struct compiler *c, const struct step_in *in, struct step *step);
void compile_delay(struct compiler *c, const struct step_in *in, struct step *step);
void compile_exec(struct compiler *c, const struct step_in *in, struct step *step);
void compile_request(struct compiler *c, const struct step_in *in, struct step *step);
/* The items that a request is made once for each of, before all of the step that may speak of
 * them: its name, and the request itself. */
void compile_items(struct compiler *c, const struct step_in *in, struct step *step);

/* request_url.c: fills out->url; *written is the url without the base. False, and an error, if it
 * can be none. */
bool compile_url(struct compiler *c, const struct step_in *in, const struct yaml_node *request,
                 struct step_request *out, struct template *written);
/* "GET /path", without credentials: what a request without a name is called. */
struct template compile_url_name(struct compiler *c, struct str method,
                                 const struct template *written);
/* Is a URL without templates one? Else an error. */
bool compile_check_url(struct compiler *c, struct str text, struct place at, const char *what);
/* The length of the scheme and authority that an http or https URL begins with; 0 if it is none. */
size_t compile_origin_length(struct str url);

/* request_headers.c, request_body.c. Headers come last: a length is compared with the body. */
/* A token of RFC 9110 §5.6.2, as methods and the names of headers are, of PLAN_MAX_TOKEN bytes. */
bool compile_is_token(struct str s);
void compile_headers(struct compiler *c, const struct step_in *in, const struct yaml_node *node,
                     struct step_request *out);
void compile_body(struct compiler *c, const struct step_in *in, const struct yaml_node *node,
                  struct step_request *out);

#endif
