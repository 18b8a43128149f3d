#include "plan/load.h"

#include <stdlib.h>

#include "base/amount.h"
#include "base/mem.h"
#include "plan/plan.h"

static const char *const no_rate = "a rate looks like 100, 100/s, 6000/m, or 100r/s of requests";

/* A number alone may also have an exponent, as YAML's have. */
static bool read_rate(struct str text, double *rate, bool *has_unit, bool *requests)
{
    *has_unit = *requests = false;
    return str_to_double(text, rate) || amount_rate(text, rate, has_unit, requests);
}

const char *load_set_rate(struct load *load, struct str text)
{
    bool has_unit;

    if (!read_rate(text, &load->rate, &has_unit, &load->by_request))
        return no_rate;
    if (load->rate <= 0)
        return "a rate must be above 0";
    if (load->rate > LOAD_MAX_RATE)
        return "a rate is at most 10,000,000 a second";
    return NULL;
}

static const char *check_target(const struct load *load, double target, bool is_rate, bool requests)
{
    if (target < 0)
        return is_rate ? "a rate cannot be negative" : "users cannot be negative";
    if (load->n_stages && load->staged_rates != is_rate)
        return "the targets of all stages must be users, or all rates (100/s)";
    if (load->n_stages && load->by_request != requests)
        return "the rates of all stages must be of iterations (100/s), or all of requests (100r/s)";
    if (is_rate && target > LOAD_MAX_RATE)
        return "a rate is at most 10,000,000 a second";
    if (!is_rate && target > (double)PLAN_MAX_CONCURRENCY)
        return "there are at most 1,000,000 users";
    return NULL;
}

const char *load_add_stage(struct load *load, struct str duration, struct str target,
                           enum stage_kind kind)
{
    struct stage stage;
    bool has_unit, requests;
    const char *wrong;

    if (!amount_duration_or_zero(duration, &stage.duration_ns))
        return "a duration is a number with ms, s, m or h: 30s, 1m30s; 0s is a jump";
    if (!read_rate(target, &stage.target, &has_unit, &requests))
        return kind == STAGE_USERS  ? "users must be a number"
               : kind == STAGE_RATE ? no_rate
                                    : "a target is a number of users, or a rate such as 100/s";
    if (kind == STAGE_USERS && (has_unit || requests))
        return "users must be a number";
    wrong = check_target(load, stage.target, kind == STAGE_RATE || has_unit || requests, requests);
    if (wrong)
        return wrong;
    if (load->n_stages == LOAD_MAX_STAGES)
        return "there are at most 10,000 stages";
    load->staged_rates = kind == STAGE_RATE || has_unit || requests;
    load->by_request = requests;
    /* Room is doubled whenever it is full. */
    if ((load->n_stages & (load->n_stages - 1)) == 0)
        load->stages =
            xrealloc(load->stages, (load->n_stages ? 2 * load->n_stages : 1) * sizeof(stage));
    load->stages[load->n_stages++] = stage;
    return NULL;
}

const char *load_check_stages(const struct load *load)
{
    uint64_t sum_ns = 0;
    double highest = 0;

    for (size_t i = 0; i < load->n_stages && sum_ns <= AMOUNT_MAX_NS; i++) {
        sum_ns += load->stages[i].duration_ns;
        highest = load->stages[i].target > highest ? load->stages[i].target : highest;
    }
    if (sum_ns == 0)
        return "all stages together must last longer than nothing";
    if (sum_ns > AMOUNT_MAX_NS)
        return "all stages together last too long";
    return highest > 0 ? NULL : "one of the targets must be above 0";
}

const char *load_set_stages(struct load *load, struct str text, struct str *faulty)
{
    for (struct str rest = text;;) {
        size_t comma = str_find(rest, ',');
        struct str stage = str_trim((struct str){rest.p, comma});
        size_t colon = str_find(stage, ':');
        const char *wrong;

        *faulty = stage;
        if (colon == stage.n)
            return "stages look like 30s:100,1m:100,10s:0 (users), or 30s:100/s,1m:100/s (rates)";
        wrong = load_add_stage(load, (struct str){stage.p, colon}, str_skip(stage, colon + 1),
                               STAGE_BY_UNIT);
        if (wrong)
            return wrong;
        if (comma == rest.n)
            break;
        rest = str_skip(rest, comma + 1);
    }
    *faulty = text;
    return load_check_stages(load);
}

void load_fini(struct load *load)
{
    free(load->stages);
    load->stages = NULL;
    load->n_stages = 0;
}
