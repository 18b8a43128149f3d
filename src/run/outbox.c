#include "run/outbox.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"

/* Pieces that are kept for their memory, so that a long run does not allocate all the time. */
#define SPARE_PIECES 8
#define SPARE_BYTES (128u << 10)

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
    struct piece *taken; /* the main thread may still be looking at it */
    struct piece *spare;
    unsigned n_spare;
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

static void pieces_free(struct piece *piece)
{
    while (piece) {
        struct piece *next = piece->next;
        buf_fini(&piece->text);
        free(piece);
        piece = next;
    }
}

void outbox_free(struct outbox *outbox)
{
    if (!outbox) {
        return;
    }
    pieces_free(outbox->first);
    pieces_free(outbox->taken);
    pieces_free(outbox->spare);
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

/* An empty piece, with the lock held. */
static struct piece *piece_new(struct outbox *outbox)
{
    struct piece *piece = outbox->spare;
    if (piece) {
        outbox->spare = piece->next;
        outbox->n_spare--;
    } else {
        piece = xmalloc(sizeof *piece);
        buf_init(&piece->text, BUF_NO_MAX);
    }
    piece->next = NULL;
    return piece;
}

/* The piece is not needed any more, with the lock held. */
static void piece_done(struct outbox *outbox, struct piece *piece)
{
    if (outbox->n_spare == SPARE_PIECES) {
        pieces_free(piece);
        return;
    }
    buf_reset(&piece->text);
    buf_shrink(&piece->text, SPARE_BYTES);
    piece->next = outbox->spare;
    outbox->spare = piece;
    outbox->n_spare++;
}

void outbox_put(struct outbox *outbox, enum output output, struct buf *text)
{
    size_t max = text->max;
    pthread_mutex_lock(&outbox->lock);
    while (outbox->bytes >= OUTBOX_MAX_BYTES) {
        pthread_cond_wait(&outbox->room, &outbox->lock);
    }
    struct piece *piece = piece_new(outbox);
    struct buf empty = piece->text;
    piece->output = output;
    piece->text = *text;
    *outbox->end = piece;
    outbox->end = &piece->next;
    outbox->bytes += piece->text.n;
    pthread_mutex_unlock(&outbox->lock);
    outbox_notify(outbox);
    *text = empty;
    text->max = max;
}

bool outbox_take(struct outbox *outbox, enum output *output, struct str *text)
{
    /* Cleared first: what is put from here on makes it readable again. */
    uint64_t count;
    ssize_t ignored = read(outbox->fd, &count, sizeof count);
    (void)ignored;
    pthread_mutex_lock(&outbox->lock);
    if (outbox->taken) {
        piece_done(outbox, outbox->taken);
    }
    struct piece *piece = outbox->taken = outbox->first;
    if (piece) {
        outbox->first = piece->next;
        piece->next = NULL;
        if (!outbox->first) {
            outbox->end = &outbox->first;
        }
        outbox->bytes -= piece->text.n;
        pthread_cond_broadcast(&outbox->room);
        *output = piece->output;
        *text = buf_str(&piece->text);
    }
    pthread_mutex_unlock(&outbox->lock);
    return piece != NULL;
}
