/* links: cli */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/console.h"
#include "cli/printer.h"

static struct live no_live;

static void init_outputs(struct outputs *out)
{
    for (int i = 0; i < OUTPUT_COUNT; i++)
        buf_init(&out->text[i], BUF_NO_MAX);
}

static void fini_outputs(struct outputs *out)
{
    for (int i = 0; i < OUTPUT_COUNT; i++)
        buf_fini(&out->text[i]);
}

static void holds(const struct outputs *out, enum output output, const char *text)
{
    struct str got = buf_str(&out->text[output]);

    if (!str_eq(got, str_of(text)))
        fail_msg("is:\n%.*s\nnot:\n%s", (int)got.n, got.p, text);
}

static const struct event done = {
    .kind = EVENT_DONE,
    .name = STR("step 1"),
    .stat_name = STR("step {{ n }}"),
    .url = STR("http://h/"),
    .outcome = OUTCOME_RESPONSE,
    .status = 200,
    .latency_ns = 1400000,
    .head = STR("Content-Type: text/plain\r\nX-Folded: one\r\n two\r\nnot a field\r\n\r\n"),
    .final_url = STR("http://h/end"),
};

static const struct event refused = {
    .kind = EVENT_DONE,
    .name = STR("step 1"),
    .stat_name = STR("step {{ n }}"),
    .url = STR("http://h/"),
    .outcome = OUTCOME_CONNECT_REFUSED,
    .cause = STR("Connection refused"),
    .final_url = STR("http://h/"),
};

static const struct event failed_assertion = {
    .kind = EVENT_FAIL,
    .name = STR("check"),
    .key = STR("a.b"),
    .value = STR("1"),
    .got = STR("2"),
};

#define DONE_LINE "step 1                    http://h/ 200 OK 1ms\n"
#define REFUSED_LINE "step 1                    http://h/ ERR connection refused 0ms\n"
#define FAIL_LINE "check                     FAIL: a.b -- expected \"1\", got \"2\"\n"

static void test_plain(void **state)
{
    struct printer printer = {.live = &no_live, .lines = OUTPUT_OUT};
    struct outputs out;

    (void)state;
    init_outputs(&out);
    printer_format(&printer, &done, &out);
    printer_format(&printer, &refused, &out);
    printer_format(&printer, &failed_assertion, &out);
    holds(&out, OUTPUT_OUT, DONE_LINE REFUSED_LINE FAIL_LINE);
    holds(&out, OUTPUT_ERR, "");
    holds(&out, OUTPUT_REPORT, "");
    fini_outputs(&out);
}

static void test_other_steps(void **state)
{
    static const struct event events[] = {
        {.kind = EVENT_ASSIGN, .name = STR("n"), .key = STR("k"), .value = STR("v")},
        {.kind = EVENT_ASSERT, .name = STR("n"), .key = STR("k"), .value = STR("v")},
        {.kind = EVENT_DELAY, .name = STR("n"), .value = STR("3s")},
        {.kind = EVENT_EXEC, .name = STR("n"), .value = STR("echo {{ x }}")},
        {.kind = EVENT_WARNING, .value = STR("odd \x07")},
    };
    struct printer printer = {.live = &no_live, .lines = OUTPUT_OUT};
    struct outputs out;

    (void)state;
    init_outputs(&out);
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
        printer_format(&printer, &events[i], &out);
    holds(&out, OUTPUT_OUT,
          "n                         k=v\n"
          "n                         k=v?\n"
          "n                         3s\n"
          "n                         echo {{ x }}\n");
    holds(&out, OUTPUT_ERR, "warning: odd \\x07\n");
    fini_outputs(&out);

    init_outputs(&out);
    printer.quiet = true;
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
        printer_format(&printer, &events[i], &out);
    holds(&out, OUTPUT_OUT, "");
    holds(&out, OUTPUT_ERR, "warning: odd \\x07\n");
    fini_outputs(&out);
}

/* JSON statistics: quiet, and what is said all the same goes to standard error. */
static void test_json(void **state)
{
    struct printer printer = {.live = &no_live, .lines = OUTPUT_ERR, .quiet = true};
    struct outputs out;

    (void)state;
    init_outputs(&out);
    printer_format(&printer, &done, &out);
    printer_format(&printer, &failed_assertion, &out);
    holds(&out, OUTPUT_OUT, "");
    holds(&out, OUTPUT_ERR, FAIL_LINE);
    fini_outputs(&out);
}

static void test_verbose(void **state)
{
    static const struct event sent = {
        .kind = EVENT_SEND,
        .name = STR("step 1"),
        .url = STR("http://h/"),
        .method = STR("GET"),
        .head = STR("Authorization: Basic abc\r\nX: y\r\n"),
    };
    struct printer printer = {.live = &no_live, .lines = OUTPUT_OUT, .verbose = true};
    struct outputs out;

    (void)state;
    init_outputs(&out);
    printer_format(&printer, &sent, &out);
    printer_format(&printer, &done, &out);
    printer_format(&printer, &refused, &out);
    holds(&out, OUTPUT_OUT,
          ">>> URL: http://h/, METHOD: GET, HEADERS: {\"Authorization\": \"***\", \"X\": "
          "\"y\"}\n" DONE_LINE
          "<<< URL: http://h/end, STATUS: 200 OK, HEADERS: {\"Content-Type\": \"text/plain\", "
          "\"X-Folded\": \"one\\r\\n two\"} DURATION: 1.4 ms,\n" REFUSED_LINE
          "  cause: Connection refused\n"
          "<<<No response from server!\n");
    fini_outputs(&out);

    init_outputs(&out);
    printer.quiet = true;
    printer_format(&printer, &refused, &out);
    holds(&out, OUTPUT_OUT, "  cause: Connection refused\n<<<No response from server!\n");
    fini_outputs(&out);
}

/* Runs printer_write with `to` in place of standard output; what was said of it on standard error
 * is *said (xstr_free). */
static bool write_to(struct printer *printer, int to, struct str bytes, struct str *said)
{
    int saved_out = dup(STDOUT_FILENO), saved_err = dup(STDERR_FILENO);
    int err[2];
    const char *why;
    bool good;

    assert_int_equal(pipe(err), 0);
    dup2(to, STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    good = printer_write(printer, OUTPUT_OUT, bytes);
    dup2(saved_out, STDOUT_FILENO);
    dup2(saved_err, STDERR_FILENO);
    close(saved_out);
    close(saved_err);
    close(err[1]);
    assert_true(file_read_fd(err[0], 4096, said, &why));
    close(err[0]);
    return good;
}

static void test_reader_is_gone(void **state)
{
    struct printer printer = {.live = &no_live, .lines = OUTPUT_OUT};
    struct str said;
    int ends[2];

    (void)state;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    assert_false(write_to(&printer, ends[1], STR("x\n"), &said));
    assert_int_equal(printer.status, CLI_PIPE_GONE);
    assert_int_equal(said.n, 0);
    xstr_free(said);
    close(ends[1]);
}

static void test_disk_is_full(void **state)
{
    struct printer printer = {.live = &no_live, .lines = OUTPUT_OUT};
    int full = open("/dev/full", O_WRONLY);
    struct str said;

    (void)state;
    assert_true(full >= 0);
    assert_false(write_to(&printer, full, STR("x\n"), &said));
    assert_int_equal(printer.status, CLI_FAILED);
    assert_true(
        str_eq(said, STR("error: couldn't write standard output: No space left on device\n")));
    xstr_free(said);
    /* Said once. */
    assert_false(write_to(&printer, full, STR("x\n"), &said));
    assert_int_equal(said.n, 0);
    xstr_free(said);
    close(full);
}

/* A full pipe in non-blocking mode is waited for: nothing is lost. */
static void test_slow_reader(void **state)
{
    enum { SIZE = 1 << 20 };
    struct printer printer = {.live = &no_live, .lines = OUTPUT_OUT};
    char *bytes = xmalloc(SIZE);
    struct str said;
    int ends[2], count[2];
    size_t got = 0;
    pid_t child;

    (void)state;
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (char)(i % 251);
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    assert_int_equal(pipe(count), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char part[4096];
        ssize_t n;

        close(ends[1]);
        fcntl(ends[0], F_SETFL, 0);
        while ((n = read(ends[0], part, sizeof(part))) > 0) {
            for (ssize_t i = 0; i < n; i++, got++) {
                if (part[i] != bytes[got])
                    _exit(1);
            }
        }
        _exit(write(count[1], &got, sizeof(got)) != sizeof(got));
    }
    close(ends[0]);
    assert_true(write_to(&printer, ends[1], (struct str){bytes, SIZE}, &said));
    close(ends[1]);
    close(count[1]);
    assert_int_equal(read(count[0], &got, sizeof(got)), sizeof(got));
    assert_int_equal(got, SIZE);
    assert_int_equal(said.n, 0);
    xstr_free(said);
    close(count[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),          cmocka_unit_test(test_other_steps),
        cmocka_unit_test(test_json),           cmocka_unit_test(test_verbose),
        cmocka_unit_test(test_reader_is_gone), cmocka_unit_test(test_disk_is_full),
        cmocka_unit_test(test_slow_reader),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
