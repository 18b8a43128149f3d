/* links: cli */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/console.h"
#include "cli/source.h"

#define CHECK(condition)           \
    do {                           \
        if (!(condition))          \
            _exit(__LINE__ % 256); \
    } while (0)

/* Runs body in a process of its own, whose descriptors are its own; its exit status. */
static int in_child(void (*body)(void))
{
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        body();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Descriptors that were closed are taken, and are of no use. */
static void closed_descriptors(void)
{
    char byte;
    int next;

    for (int fd = 0; fd < 64; fd++)
        close(fd);
    console_init();
    next = open("/dev/null", O_RDONLY);
    CHECK(next == 3);
    CHECK(console_write(STDOUT_FILENO, STR("x")) == EBADF);
    CHECK(console_write(STDERR_FILENO, STR("x")) == EBADF);
    CHECK(console_read(&byte, 1) < 0 && errno == EBADF);
    CHECK(console_print(STR("x")) == CLI_FAILED);
}

/* Those that are open stay, the standard ones open in programs, the others not. */
static void open_descriptors(void)
{
    int ends[2], other;

    CHECK(pipe(ends) == 0);
    CHECK(dup2(ends[1], STDOUT_FILENO) == STDOUT_FILENO);
    other = open("/dev/null", O_RDONLY);
    CHECK(other > STDERR_FILENO);
    console_init();
    CHECK(fcntl(other, F_GETFD) == FD_CLOEXEC);
    CHECK(fcntl(STDOUT_FILENO, F_GETFD) == 0);
    CHECK(console_print(STR("x")) == CLI_OK);
    /* Nobody reads: an error, and no signal. */
    close(ends[0]);
    CHECK(console_print(STR("x")) == CLI_PIPE_GONE);
}

static void test_descriptors(void **state)
{
    (void)state;
    assert_int_equal(in_child(closed_descriptors), 0);
    assert_int_equal(in_child(open_descriptors), 0);
}

/* Puts a pipe that holds `text` in the place of standard input; *saved is for give_back. Its other
 * end stays open in *writer if that is not NULL. */
static void feed(struct str text, int *saved, int *writer)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text.p, text.n), (ssize_t)text.n);
    *saved = dup(STDIN_FILENO);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    if (writer)
        *writer = ends[1];
    else
        close(ends[1]);
}

static void give_back(int saved)
{
    dup2(saved, STDIN_FILENO);
    close(saved);
}

static void test_url(void **state)
{
    static const struct {
        struct str input;
        const char *url; /* NULL: refused */
    } cases[] = {
        {STR("http://h/\n"), "http://h/"},
        {STR("\n \t\r\n  http://h/x  \r\nhttp://other/\n"), "http://h/x"},
        {STR("http://h/"), "http://h/"},
        {STR("\xEF\xBB\xBFhttp://h/\n"), "http://h/"},
        {STR("\xEF\xBB\xBF\nhttp://h/\n"), "http://h/"},
        {STR("http://h/\xC3\xA9\n\xFF\n"), "http://h/\xC3\xA9"},
        {STR(""), ""},
        {STR("\n \n"), ""},
        {STR("\xFF\xFEh\n"), NULL},
        {STR("http://h/\xC3\n"), NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct faults faults;
        struct str url;
        int saved;
        bool good;

        faults_init(&faults);
        feed(cases[i].input, &saved, NULL);
        good = source_url(&url, &faults);
        give_back(saved);
        assert_int_equal(good, cases[i].url != NULL);
        assert_int_equal(faults.errors, !good);
        if (good) {
            assert_string_equal(url.p, cases[i].url);
            xstr_free(url);
        }
        faults_fini(&faults);
    }
}

/* A writer that stays is not waited for once the line is there. */
static void test_url_of_open_pipe(void **state)
{
    struct faults faults;
    struct str url;
    int saved, writer;

    (void)state;
    faults_init(&faults);
    feed(STR("\nhttp://h/\n"), &saved, &writer);
    assert_true(source_url(&url, &faults));
    give_back(saved);
    close(writer);
    assert_string_equal(url.p, "http://h/");
    xstr_free(url);
    faults_fini(&faults);
}

static void test_url_too_long(void **state)
{
    enum { SIZE = 1 << 20 };
    char path[] = "/tmp/driller-test-XXXXXX";
    int file = mkstemp(path), saved = dup(STDIN_FILENO);
    char *line = xmalloc(SIZE);
    struct faults faults;
    struct str url;

    (void)state;
    assert_true(file >= 0);
    unlink(path);
    memset(line, 'x', SIZE);
    assert_int_equal(write(file, line, SIZE), SIZE);
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    dup2(file, STDIN_FILENO);
    close(file);
    faults_init(&faults);
    assert_false(source_url(&url, &faults));
    give_back(saved);
    assert_string_equal(faults.items[0].text,
                        "couldn't read a URL from standard input: the line is too long");
    faults_fini(&faults);
    free(line);
}

static void test_plan(void **state)
{
    struct faults faults;
    struct str text;
    int saved;

    (void)state;
    faults_init(&faults);
    feed(STR("plan: []\n"), &saved, NULL);
    assert_true(source_plan("-", &text, &faults));
    give_back(saved);
    assert_string_equal(text.p, "plan: []\n");
    xstr_free(text);
    assert_false(source_plan("/nowhere/plan.yml", &text, &faults));
    assert_false(source_plan("/", &text, &faults));
    assert_string_equal(faults.items[0].text,
                        "couldn't open /nowhere/plan.yml: No such file or directory");
    assert_string_equal(faults.items[1].text, "couldn't open /: is a directory");
    faults_fini(&faults);
}

/* What console_faults writes to standard error. */
static struct str print_faults(const struct faults *faults)
{
    int ends[2], saved = dup(STDERR_FILENO);
    struct str text;
    const char *why;

    assert_int_equal(pipe(ends), 0);
    fcntl(ends[1], F_SETPIPE_SZ, 1 << 18);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    console_faults(faults);
    dup2(saved, STDERR_FILENO);
    close(saved);
    assert_true(file_read_fd(ends[0], 1 << 20, &text, &why));
    close(ends[0]);
    return text;
}

static void test_faults(void **state)
{
    struct faults faults;
    struct str text;

    (void)state;
    faults_init(&faults);
    text = print_faults(&faults);
    assert_int_equal(text.n, 0);
    xstr_free(text);
    faults_error(&faults, (struct place){STR("p.yml"), 3, 7}, "did you mean 'b'?", "no '%s'", "a");
    faults_warning(&faults, (struct place){STR("d.csv"), 2, 0}, NULL, "odd");
    faults_error(&faults, (struct place){STR("r.yml"), 0, 0}, NULL, "is empty");
    faults_error(&faults, PLACE_NONE, NULL, "bad \x07");
    text = print_faults(&faults);
    assert_string_equal(text.p, "error: p.yml:3:7: no 'a'\n"
                                "  help: did you mean 'b'?\n"
                                "warning: d.csv:2: odd\n"
                                "error: r.yml: is empty\n"
                                "error: bad \\x07\n");
    xstr_free(text);
    for (int i = 0; i < FAULTS_MAX; i++)
        faults_error(&faults, PLACE_NONE, NULL, "again");
    text = print_faults(&faults);
    assert_true(str_ends(text, STR("error: again\nerror: and 3 more\n")));
    xstr_free(text);
    faults_fini(&faults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_url),
        cmocka_unit_test(test_url_of_open_pipe),
        cmocka_unit_test(test_url_too_long),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
