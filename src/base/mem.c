#include "base/mem.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/sanitizer.h"

#define BLOCK_MIN_SHIFT 6
#define BLOCK_MAX ((size_t)1 << (BLOCK_MIN_SHIFT + BLOCK_CLASSES - 1))

/* With AddressSanitizer nothing is kept, so that it sees uses of what was given back. */
#define BLOCKS_KEPT !SANITIZER_ADDRESS

_Noreturn void mem_out(void)
{
    static const char text[] = "driller: out of memory\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);

    (void)written;
    signal(SIGABRT, SIG_DFL); /* all is said */
    abort();
}

void *xmalloc(size_t size)
{
    void *p = malloc(size ? size : 1);

    if (!p)
        mem_out();
    return p;
}

void *xcalloc(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size ? size : 1);

    if (!p)
        mem_out();
    return p;
}

void *xrealloc(void *old, size_t size)
{
    void *p = realloc(old, size ? size : 1);

    if (!p)
        mem_out();
    return p;
}

char *xstrndup(const char *s, size_t n)
{
    char *copy;

    if (n == SIZE_MAX)
        mem_out();
    copy = xmalloc(n + 1);
    if (n)
        memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

char *xstrdup(const char *s)
{
    return xstrndup(s, strlen(s));
}

struct str xstr_copy(struct str s)
{
    return (struct str){xstrndup(s.p, s.n), s.n};
}

void xstr_free(struct str s)
{
    free((void *)(uintptr_t)s.p); /* by way of a number: the compiler warns of a lost const */
}

void blocks_init(struct blocks *blocks)
{
    memset(blocks, 0, sizeof(*blocks));
}

/* A kept block holds the address of the next one of its class. */
static void *block_next(void *block)
{
    void *next;

    memcpy(&next, block, sizeof(next));
    return next;
}

void blocks_fini(struct blocks *blocks)
{
    for (unsigned class = 0; class < BLOCK_CLASSES; class ++) {
        while (blocks->free[class]) {
            void *block = blocks->free[class];

            blocks->free[class] = block_next(block);
            free(block);
        }
    }
}

/* The smallest class that holds size, which is at most BLOCK_MAX. */
static unsigned class_of(size_t size)
{
    if (size <= (size_t)1 << BLOCK_MIN_SHIFT)
        return 0;
    return 64U - BLOCK_MIN_SHIFT - (unsigned)__builtin_clzll((unsigned long long)size - 1);
}

void *block_get(struct blocks *blocks, size_t size, size_t *cap)
{
    unsigned class;
    void *block;

    if (size > BLOCK_MAX) {
        *cap = size;
        return xmalloc(size);
    }
    class = class_of(size);
    *cap = (size_t)1 << (class + BLOCK_MIN_SHIFT);
    block = blocks->free[class];
    if (!block)
        return xmalloc(*cap);
    blocks->free[class] = block_next(block);
    return block;
}

void block_put(struct blocks *blocks, void *block, size_t cap)
{
    unsigned class;

    if (!block)
        return;
    if (!BLOCKS_KEPT || cap > BLOCK_MAX) {
        free(block);
        return;
    }
    class = class_of(cap);
    memcpy(block, &blocks->free[class], sizeof(void *));
    blocks->free[class] = block;
}

/* Its memory follows it, aligned as malloc aligns. */
struct arena_chunk {
    _Alignas(16) struct arena_chunk *next;
    size_t cap; /* of the block, this header included */
};

#define CHUNK_FIRST ((size_t)1 << 10)
#define CHUNK_MAX ((size_t)1 << 16)

void arena_init(struct arena *arena)
{
    *arena = (struct arena){0};
}

static struct arena_chunk *chunk_new(size_t size)
{
    struct arena_chunk *chunk = xmalloc(size);

    chunk->cap = size;
    return chunk;
}

static void *alloc_slow(struct arena *arena, size_t size)
{
    struct arena_chunk *head = arena->chunks;
    size_t usual = head ? head->cap * 2 : CHUNK_FIRST;
    struct arena_chunk *chunk;

    if (usual > CHUNK_MAX)
        usual = CHUNK_MAX;
    if (size > usual - sizeof(*chunk) && head) {
        /* A chunk of its own behind the head, whose rest remains of use. */
        chunk = chunk_new(size + sizeof(*chunk));
        chunk->next = head->next;
        head->next = chunk;
        return chunk + 1;
    }
    if (size > usual - sizeof(*chunk))
        usual = size + sizeof(*chunk);
    chunk = chunk_new(usual);
    chunk->next = head;
    arena->chunks = chunk;
    arena->at = (char *)(chunk + 1) + size;
    arena->end = (char *)chunk + chunk->cap;
    return chunk + 1;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    char *p = arena->at;

    if (size > SIZE_MAX / 2)
        mem_out();
    size = (size + 15) & ~(size_t)15;
    if (!p || size > (size_t)(arena->end - p))
        return alloc_slow(arena, size);
    arena->at = p + size;
    return p;
}

struct str arena_copy(struct arena *arena, struct str s)
{
    char *copy = arena_alloc(arena, s.n + 1);

    if (s.n)
        memcpy(copy, s.p, s.n);
    copy[s.n] = '\0';
    return (struct str){copy, s.n};
}

void arena_reset(struct arena *arena)
{
    struct arena_chunk *chunk = arena->chunks;

    while (chunk) {
        struct arena_chunk *next = chunk->next;

        free(chunk);
        chunk = next;
    }
    arena->chunks = NULL;
    arena->at = arena->end = NULL;
}

void arena_fini(struct arena *arena)
{
    arena_reset(arena);
}
