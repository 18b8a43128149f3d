/*
 * A virtual user: a small state machine over the plan's steps. It runs until a step has to wait
 * (a request, a delay, a command), and what it waited for has it run on.
 */
#ifndef RUN_VU_H
#define RUN_VU_H

#include <stdbool.h>
#include <stdint.h>

#include "run/worker.h"

enum vu_state {
    VU_IDLE,    /* not started, or done */
    VU_RUNNING, /* on the stack, or about to be */
    VU_REQUEST, /* its exchange is under way */
    VU_WAITING, /* for its timer, or for an arrival */
    VU_COMMAND  /* for its process */
};

struct vu {
    struct worker *worker;
    enum vu_state state;
    bool in_iteration;
    bool paused;      /* has waited for an origin that is down; the next attempt is due */
    bool has_arrival; /* open loop: one that is not used up yet */
    uint16_t stage;   /* in which its request was started */
    uint32_t step;
    uint64_t item;               /* of the present step */
    uint64_t iteration_start_ns; /* intended; 0: none yet */
    /* Open loop: when its next request was due, 0 if no arrival begins it. Once a step that is no
     * request has come before it, how late that step was. */
    uint64_t due_ns, lag_ns;
    struct vu *next_free; /* in struct arrivals */
    /* Where its iteration and its request count: the run's recorder, or that of the warm-up in
     * which they began. */
    struct recorder *recorder, *request_recorder;
    struct vars vars;
    struct jar jar;
    struct response *incoming;     /* where the next kept response goes */
    const struct request *request; /* the present one: the step's own, or `rendered` */
    struct exchange exchange;
    struct request *rendered; /* on the heap; NULL until one is */
    struct buf text;          /* what it points into */
    struct process *process;
    struct timer timer;
    struct task again;
};

void vu_init(struct vu *vu, struct worker *worker);
void vu_fini(struct vu *vu);
/* Begins at start_ns: now if that is not in the future. */
void vu_start(struct vu *vu, uint64_t start_ns, uint64_t now_ns);
/* Open loop: what it waited for has come. */
void vu_arrived(struct vu *vu);
/* Does it wait to begin an iteration? */
bool vu_between_iterations(const struct vu *vu);
/* Its number among the users of all workers, from 0. */
uint64_t vu_number(const struct vu *vu);
/* The run is over: gives up what is under way, without counting it as anything but aborted. */
void vu_stop(struct vu *vu);

/* --- between vu.c and its steps (vu_step.c, vu_request.c) --- */

enum vu_next {
    VU_NEXT,    /* the step is done */
    VU_AGAIN,   /* the same step once more (its next item) */
    VU_WAIT,    /* something will call vu_resume */
    VU_GIVE_UP, /* the iteration is abandoned */
};

/* Begins the next iteration and returns the time. 0 if it does not begin now: the user waits and
 * will be called, or is done. */
uint64_t vu_begin_iteration(struct vu *vu);
/* Nothing to do until then (PROFILE_NEVER: until the end). */
void vu_sleep(struct vu *vu, uint64_t until_ns);
/* Is what it does now the run's, or only its warm-up's? */
static inline bool vu_counts(const struct vu *vu)
{
    return vu->recorder == &vu->worker->recorder;
}

/* now_ns: the time, if it has just been read; else 0. */
enum vu_next vu_run_step(struct vu *vu, const struct step *step, uint64_t now_ns);
enum vu_next vu_run_request(struct vu *vu, const struct step *step, uint64_t now_ns);
/* Counts what happened on the way of the user's request (redirects, …), ended or given up. */
void vu_count_notes(struct vu *vu, const struct step *step);
/* What the step waited for has happened: at ended_ns, or, with 0, just now. */
void vu_resume(struct vu *vu, enum vu_next next, uint64_t ended_ns);

/* Renders a template into `out` (emptied); false if a variable is missing: *missing tells which
 * (never under --relaxed-interpolations). */
bool vu_render(struct vu *vu, const struct template *template, struct buf *out,
               const struct path **missing);
/* The resolver that relaxed and strict runs share; ctx is the vu. */
bool vu_resolve(void *ctx, const struct path *path, struct buf *out);
/* Says something of a place once and counts it (run/notices.h). */
void vu_notice(struct vu *vu, const void *place, struct str before, struct str what,
               struct str after);
/* The present step's name, rendered (as written if that cannot be); lives until the next call. */
struct str vu_name(struct vu *vu, const struct step *step);

#endif
