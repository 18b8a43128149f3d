#include "run/outbox.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"

struct piece {
    struct piece *next;
    enum output output;
    struct buf text;
};

struct outbox {
    pthread_mutex_t lock;
    pthread_cond_t room;
    struct piece *first, **end;
    size_t bytes;
    int fd;
};

struct outbox *outbox_new(void)
{
    struct outbox *outbox = xcalloc(1, sizeof *outbox);
    outbox->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (outbox->fd < 0) {
        free(outbox);
        return NULL;
    }
    pthread_mutex_init(&outbox->lock, NULL);
    pthread_cond_init(&outbox->room, NULL);
    outbox->end = &outbox->first;
    return outbox;
}

void outbox_free(struct outbox *outbox)
{
    enum output output;
    struct buf text;
    if (!outbox) {
        return;
    }
    while (outbox_take(outbox, &output, &text)) {
        buf_fini(&text);
    }
    close(outbox->fd);
    pthread_cond_destroy(&outbox->room);
    pthread_mutex_destroy(&outbox->lock);
    free(outbox);
}

int outbox_fd(const struct outbox *outbox)
{
    return outbox->fd;
}

void outbox_notify(struct outbox *outbox)
{
    uint64_t one = 1;
    ssize_t ignored = write(outbox->fd, &one, sizeof one);
    (void)ignored;
}

void outbox_put(struct outbox *outbox, enum output output, struct buf *text)
{
    size_t max = text->max;
    struct piece *piece = xmalloc(sizeof *piece);
    *piece = (struct piece){.output = output, .text = *text};
    pthread_mutex_lock(&outbox->lock);
    while (outbox->bytes >= OUTBOX_MAX_BYTES) {
        pthread_cond_wait(&outbox->room, &outbox->lock);
    }
    *outbox->end = piece;
    outbox->end = &piece->next;
    outbox->bytes += piece->text.n;
    pthread_mutex_unlock(&outbox->lock);
    outbox_notify(outbox);
    buf_init(text, max);
}

bool outbox_take(struct outbox *outbox, enum output *output, struct buf *text)
{
    /* Cleared first: what is put from here on makes it readable again. */
    uint64_t count;
    ssize_t ignored = read(outbox->fd, &count, sizeof count);
    (void)ignored;
    pthread_mutex_lock(&outbox->lock);
    struct piece *piece = outbox->first;
    if (piece) {
        outbox->first = piece->next;
        if (!outbox->first) {
            outbox->end = &outbox->first;
        }
        outbox->bytes -= piece->text.n;
        pthread_cond_broadcast(&outbox->room);
    }
    pthread_mutex_unlock(&outbox->lock);
    if (!piece) {
        return false;
    }
    *output = piece->output;
    *text = piece->text;
    free(piece);
    return true;
}
