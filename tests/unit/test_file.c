/* links: base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

static char folder[] = "/tmp/test_file.XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink("file");
    unlink("fifo");
    return chdir("/") == 0 ? rmdir(folder) : -1;
}

static void write_file(size_t n)
{
    FILE *file = fopen("file", "w");

    assert_non_null(file);
    for (size_t i = 0; i < n; i++)
        fputc((int)('a' + i % 26), file);
    fclose(file);
}

static void test_sizes(void **state)
{
    static const size_t sizes[] = {0, 1, 4095, 65535, 65536, 65537, 200000};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        const char *why = NULL;
        struct str text;

        write_file(sizes[i]);
        assert_true(file_read("file", sizes[i], &text, &why));
        assert_int_equal(text.n, sizes[i]);
        assert_int_equal(text.p[text.n], '\0');
        for (size_t j = 0; j < text.n; j++)
            assert_int_equal(text.p[j], 'a' + j % 26);
        xstr_free(text);
        assert_true(file_read("file", SIZE_MAX, &text, &why));
        assert_int_equal(text.n, sizes[i]);
        xstr_free(text);
        if (sizes[i])
            assert_false(file_read("file", sizes[i] - 1, &text, &why));
    }
}

static void test_refused(void **state)
{
    const char *why;
    struct str text;

    (void)state;
    assert_false(file_read("missing", 10, &text, &why));
    assert_string_equal(why, "No such file or directory");
    assert_false(file_read(".", 10, &text, &why));
    assert_string_equal(why, "is a directory");
    assert_false(file_read("/dev/zero", 10, &text, &why));
    assert_string_equal(why, "is not a regular file");
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_false(file_read("fifo", 10, &text, &why));
    assert_string_equal(why, "is not a regular file");
    write_file(70000);
    assert_false(file_read("file", 65536, &text, &why));
    assert_string_equal(why, "is larger than 64 KiB");
    assert_false(file_read("file", 1000, &text, &why));
    assert_string_equal(why, "is larger than 1000 bytes");
    assert_false(file_read("file", 0, &text, &why));
    assert_string_equal(why, "is larger than 0 bytes");
    assert_int_equal(truncate("file", (16 << 20) + 1), 0);
    assert_false(file_read("file", 16 << 20, &text, &why));
    assert_string_equal(why, "is larger than 16 MiB");
}

/* A pipe that is written in pieces, its reading end non-blocking. */
static void test_pipe(void **state)
{
    const char *why;
    struct str text;
    int ends[2];
    pid_t child;

    (void)state;
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    child = fork();
    if (child == 0) {
        close(ends[0]);
        for (int i = 0; i < 5; i++) {
            usleep(1000);
            if (write(ends[1], "piece", 5) != 5)
                _exit(1);
        }
        _exit(0);
    }
    close(ends[1]);
    assert_true(file_read_fd(ends[0], 100, &text, &why));
    assert_string_equal(text.p, "piecepiecepiecepiecepiece");
    xstr_free(text);
    close(ends[0]);
    waitpid(child, NULL, 0);
    assert_false(file_read_fd(-1, 100, &text, &why));
    assert_string_equal(why, "Bad file descriptor");
}

static void check_beside(const char *from, const char *name, const char *expected)
{
    char *path = file_beside(from, str_of(name));

    assert_string_equal(path, expected);
    free(path);
}

static void test_beside(void **state)
{
    (void)state;
    check_beside("plans/a.yml", "b.csv", "plans/b.csv");
    check_beside("a.yml", "data/b.csv", "data/b.csv");
    check_beside("/plans/sub/a.yml", "../b.csv", "/plans/sub/../b.csv");
    check_beside("plans/a.yml", "/b.csv", "/b.csv");
    check_beside("/a.yml", "b", "/b");
    check_beside("plans/", "", "plans/");
    check_beside("", "b", "b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_beside),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
