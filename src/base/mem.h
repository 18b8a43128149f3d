/*
 * Memory. Out of memory is not an error that callers handle: one message on standard error and
 * abort(). Three kinds of owner beside plain x-allocation:
 *
 *   blocks   a worker's cache of freed blocks, by size class; not shared between threads
 *   arena    things that die together (all that a plan is made of)
 *   buf      (base/buf.h) one growing run of bytes
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

#include "base/str.h"

/* malloc and friends that never return NULL (a size of 0 counts as 1). free() gives them back. */
void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *old, size_t size);
char *xstrdup(const char *s);
/* The n bytes of s and a terminating NUL. */
char *xstrndup(const char *s, size_t n);
/* A heap copy of s, NUL-terminated behind its end; for xstr_free. */
struct str xstr_copy(struct str s);
/* Frees a slice that is a heap block of its own (xstr_copy, file_read); {NULL, 0} is allowed. */
void xstr_free(struct str s);

/* Says that memory is out and aborts. For callers of libraries that report it themselves. */
_Noreturn void mem_out(void);

/* Freed blocks of 64 B, 128 B, … 1 MiB, kept for the next taker. */
#define BLOCK_CLASSES 15
struct blocks {
    void *free[BLOCK_CLASSES];
};

void blocks_init(struct blocks *blocks);
void blocks_fini(struct blocks *blocks);
/* A block of at least size bytes; *cap is its true size. Above 1 MiB it is plain malloc. */
void *block_get(struct blocks *blocks, size_t size, size_t *cap);
/* Gives back what block_get gave, with the cap it told. NULL is allowed. */
void block_put(struct blocks *blocks, void *block, size_t cap);

/* An arena owns nothing until the first allocation. */
struct arena_chunk;
struct arena {
    struct arena_chunk *chunks;
    char *at, *end;
};

void arena_init(struct arena *arena);
/* size bytes, aligned to 16, not cleared, valid until reset or fini. */
void *arena_alloc(struct arena *arena, size_t size);
/* A copy of s, NUL-terminated behind its end. */
struct str arena_copy(struct arena *arena, struct str s);
/* Everything allocated is gone; every chunk is given back. */
void arena_reset(struct arena *arena);
void arena_fini(struct arena *arena);

#endif
