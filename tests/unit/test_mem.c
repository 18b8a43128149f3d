/* links: base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

static void test_x(void **state)
{
    char *s = xstrndup("abcdef", 3);
    struct str copy = xstr_copy((struct str){NULL, 0});
    char *zeros = xcalloc(3, 4);

    (void)state;
    assert_string_equal(s, "abc");
    s = xrealloc(s, 100);
    assert_string_equal(s, "abc");
    assert_int_equal(copy.n, 0);
    assert_int_equal(*copy.p, '\0');
    for (int i = 0; i < 12; i++)
        assert_int_equal(zeros[i], 0);
    free(s);
    free(zeros);
    xstr_free(copy);
    free(xmalloc(0));
    s = xstrdup("x");
    assert_string_equal(s, "x");
    free(s);
}

static void test_out(void **state)
{
    char text[64] = "";
    int ends[2];
    int status;
    pid_t child;
    ssize_t n;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        mem_out();
    }
    close(ends[1]);
    n = read(ends[0], text, sizeof(text) - 1);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_int_equal(n, strlen(text));
    assert_string_equal(text, "driller: out of memory\n");
}

static void test_blocks(void **state)
{
    static const size_t sizes[][2] = {{0, 64},
                                      {1, 64},
                                      {64, 64},
                                      {65, 128},
                                      {1000, 1024},
                                      {1024, 1024},
                                      {1025, 2048},
                                      {1 << 20, 1 << 20},
                                      {(1 << 20) + 1, (1 << 20) + 1}};
    struct blocks blocks;

    (void)state;
    blocks_init(&blocks);
    block_put(&blocks, NULL, 64);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        size_t cap, cap2;
        char *a = block_get(&blocks, sizes[i][0], &cap);
        char *b = block_get(&blocks, sizes[i][0], &cap2);

        assert_int_equal(cap, sizes[i][1]);
        assert_int_equal(cap2, cap);
        assert_ptr_not_equal(a, b);
        memset(a, 1, cap);
        memset(b, 2, cap);
        block_put(&blocks, a, cap);
        block_put(&blocks, b, cap);
#ifndef __SANITIZE_ADDRESS__
        if (cap <= 1 << 20) { /* what is larger is not kept */
            assert_ptr_equal(block_get(&blocks, cap, &cap), b);
            block_put(&blocks, b, cap);
        }
#endif
        a = block_get(&blocks, sizes[i][0], &cap);
        b = block_get(&blocks, sizes[i][0], &cap);
        assert_ptr_not_equal(a, b);
        block_put(&blocks, a, cap);
        block_put(&blocks, b, cap);
    }
    blocks_fini(&blocks);
}

/* Fills what it gets, so that overlapping allocations spoil each other. */
static void use_arena(struct arena *arena)
{
    enum { N = 300 };
    unsigned char *p[N];
    size_t size[N];

    for (size_t i = 0; i < N; i++) {
        size[i] = i % 50 == 49 ? 100000 : i * 7 % 400;
        p[i] = arena_alloc(arena, size[i]);
        assert_int_equal((uintptr_t)p[i] % 16, 0);
        memset(p[i], (int)(i & 0xFF), size[i]);
    }
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < size[i]; j++)
            assert_int_equal(p[i][j], i & 0xFF);
    }
}

static void test_arena(void **state)
{
    struct arena arena;
    struct str copy;

    (void)state;
    arena_init(&arena);
    assert_null(arena.chunks);
    use_arena(&arena);
    arena_reset(&arena);
    assert_null(arena.chunks);
    use_arena(&arena);
    copy = arena_copy(&arena, STR("abc"));
    assert_string_equal(copy.p, "abc");
    copy = arena_copy(&arena, (struct str){NULL, 0});
    assert_string_equal(copy.p, "");
    arena_fini(&arena);
    /* A first allocation that is larger than a usual first chunk. */
    memset(arena_alloc(&arena, 5000), 1, 5000);
    memset(arena_alloc(&arena, 16), 2, 16);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_x),
        cmocka_unit_test(test_out),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_arena),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
