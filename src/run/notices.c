#include "run/notices.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"

struct notice {
    const void *place;
    struct str text; /* empty: not said yet */
    uint64_t count;
    size_t same; /* whose text and count this is: its own index, or an earlier one's */
};

struct notices {
    pthread_mutex_t lock;
    size_t n;
    struct notice list[NOTICES_MAX];
};

struct notices *notices_new(void)
{
    struct notices *notices = xcalloc(1, sizeof *notices);
    pthread_mutex_init(&notices->lock, NULL);
    return notices;
}

void notices_free(struct notices *notices)
{
    if (!notices) {
        return;
    }
    for (size_t i = 0; i < notices->n; i++) {
        if (notices->list[i].text.p) {
            xstr_free(notices->list[i].text);
        }
    }
    pthread_mutex_destroy(&notices->lock);
    free(notices);
}

static struct notice *find(struct notices *notices, const void *place)
{
    for (size_t i = 0; i < notices->n; i++) {
        if (notices->list[i].place == place) {
            return &notices->list[i];
        }
    }
    return NULL;
}

bool notices_count(struct notices *notices, const void *place)
{
    bool new = false;
    pthread_mutex_lock(&notices->lock);
    struct notice *notice = find(notices, place);
    if (notice) {
        notices->list[notice->same].count++;
    } else if (notices->n < NOTICES_MAX) {
        size_t i = notices->n++;
        notices->list[i] = (struct notice){.place = place, .count = 1, .same = i};
        new = true;
    }
    pthread_mutex_unlock(&notices->lock);
    return new;
}

bool notices_say(struct notices *notices, const void *place, struct str text)
{
    bool first = true;
    pthread_mutex_lock(&notices->lock);
    struct notice *notice = find(notices, place);
    for (size_t i = 0; i < notices->n && first; i++) {
        struct notice *other = &notices->list[i];
        if (other != notice && other->text.p && str_eq(other->text, text)) {
            other->count += notice->count;
            notice->same = i;
            first = false;
        }
    }
    if (first) {
        notice->text = xstr_copy(text);
    }
    pthread_mutex_unlock(&notices->lock);
    return first;
}

void notices_each(struct notices *notices, void (*each)(void *ctx, struct str text, uint64_t count),
                  void *ctx)
{
    for (size_t i = 0; i < notices->n; i++) {
        const struct notice *notice = &notices->list[i];
        if (notice->text.p && notice->count > 1) {
            each(ctx, notice->text, notice->count);
        }
    }
}
