#include "cli/listing.h"

#include "base/json.h"
#include "base/text.h"

#define COLUMN 16

/* Tags            ["a", "b"] */
static void add_tags(struct buf *out, const char *title, const struct str *tags, size_t n)
{
    struct buf list;

    buf_init(&list, BUF_NO_MAX);
    for (size_t i = 0; i < n; i++) {
        buf_add_str(&list, i ? STR(", ") : STR(""));
        json_quote(&list, tags[i]);
    }
    buf_addf(out, "%-*s[", COLUMN, title);
    text_printable(out, buf_str(&list), SIZE_MAX);
    buf_add_str(out, STR("]\n"));
    buf_fini(&list);
}

static void add_filter(struct buf *out, const char *title, const struct option_value *filter)
{
    if (filter->times)
        add_tags(out, title, filter->items, filter->n);
}

void listing_tags(struct buf *out, const struct plan *plan)
{
    buf_add_char(out, '\n');
    add_tags(out, "Tags", plan->tags, plan->n_tags);
}

bool listing_tasks(struct buf *out, const struct arguments *arguments, const struct plan *plan)
{
    buf_add_char(out, '\n');
    add_filter(out, "Tags", &arguments->options[OPT_TAGS]);
    add_filter(out, "Skip-Tags", &arguments->options[OPT_SKIP_TAGS]);
    for (size_t i = 0; i < plan->n_steps; i++) {
        buf_add_str(out, plan->steps[i].listing);
        if (!str_ends(plan->steps[i].listing, STR("\n")))
            buf_add_char(out, '\n');
        buf_add_char(out, '\n');
    }
    if (plan->n_steps == 0)
        buf_add_str(out, STR("No items\n"));
    return plan->n_steps > 0;
}
