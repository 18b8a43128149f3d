/* links: net base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "net/process.h"

#define LONG (60 * NS_PER_S)

static struct loop *loop;
static unsigned running;

struct result {
    struct process_end end;
    struct buf output, first_line;
};

static void done(void *ctx, const struct process_end *end)
{
    struct result *result = ctx;

    result->end = *end;
    buf_add_str(&result->output, end->output);
    buf_add_str(&result->first_line, end->first_line);
    buf_add_char(&result->output, '\0');
    buf_add_char(&result->first_line, '\0');
    if (--running == 0)
        loop_stop(loop);
}

static struct process *start(struct result *result, const char *command, uint64_t timeout_ns)
{
    *result = (struct result){0};
    buf_init(&result->output, BUF_NO_MAX);
    buf_init(&result->first_line, BUF_NO_MAX);
    running++;
    return process_start(loop, str_of(command), timeout_ns, done, result);
}

static void finish(struct result *result)
{
    buf_fini(&result->output);
    buf_fini(&result->first_line);
}

static void run(struct result *result, const char *command, uint64_t timeout_ns)
{
    start(result, command, timeout_ns);
    loop_run(loop);
}

static int make(void **state)
{
    (void)state;
    running = 0;
    loop = loop_new();
    return loop ? 0 : -1;
}

static int unmake(void **state)
{
    (void)state;
    return loop_free(loop) ? 0 : -1;
}

static void test_output_and_status(void **state)
{
    struct result result;

    (void)state;
    run(&result, "echo out; echo first >&2; echo second >&2; exit 7", LONG);
    assert_int_equal(result.end.exit_status, 7);
    assert_int_equal(result.end.signal, 0);
    assert_int_equal(result.end.error, 0);
    assert_false(result.end.timed_out);
    assert_string_equal(result.output.p, "out\n");
    assert_string_equal(result.first_line.p, "first");
    finish(&result);
}

/* bash takes what begins with a dash for options, unless it is told better. */
static void test_a_command_may_begin_with_a_dash(void **state)
{
    struct result result;

    (void)state;
    run(&result, "-nothing 2>/dev/null; echo on", LONG);
    assert_string_equal(result.output.p, "on\n");
    finish(&result);
}

static void test_a_signal_is_told(void **state)
{
    struct result result;

    (void)state;
    run(&result, "kill -KILL $$", LONG);
    assert_int_equal(result.end.exit_status, -1);
    assert_int_equal(result.end.signal, SIGKILL);
    finish(&result);
}

static void test_output_has_a_limit(void **state)
{
    struct result result;

    (void)state;
    run(&result, "head -c 3000000 /dev/zero | tr '\\0' x; head -c 3000 /dev/zero | tr '\\0' y >&2",
        LONG);
    assert_int_equal(result.end.exit_status, 0); /* it could write all of it */
    assert_int_equal(result.output.n - 1, PROCESS_OUTPUT_MAX);
    assert_int_equal(strspn(result.output.p, "x"), PROCESS_OUTPUT_MAX);
    assert_int_equal(strspn(result.first_line.p, "y"), result.first_line.n - 1);
    assert_true(result.first_line.n < 1000);
    finish(&result);
}

static void test_a_command_gets_no_input_and_no_descriptors(void **state)
{
    struct result result;
    int extra[2];

    (void)state;
    assert_int_equal(pipe2(extra, O_CLOEXEC), 0);
    run(&result, "cat; for fd in {0..99}; do [ -e /proc/$$/fd/$fd ] && echo -n $fd,; done", LONG);
    assert_string_equal(result.output.p, "0,1,2,");
    finish(&result);
    close(extra[0]);
    close(extra[1]);
}

static void test_signals_are_as_at_the_start_of_a_program(void **state)
{
    struct result result;
    sigset_t block, before;

    (void)state;
    sigemptyset(&block);
    sigaddset(&block, SIGINT);
    pthread_sigmask(SIG_BLOCK, &block, &before);
    signal(SIGPIPE, SIG_IGN);
    run(&result, "grep -E '^Sig(Blk|Ign):' /proc/self/status", LONG);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    signal(SIGPIPE, SIG_DFL);
    assert_string_equal(result.output.p, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
    finish(&result);
}

/* Nobody may be there to bury it. */
static bool is_dead(int pid)
{
    char path[40], state = 'X';
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");

    if (file) {
        assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
        fclose(file);
    }
    return state == 'X' || state == 'Z';
}

/* The output is held open by a child in the background: both go. */
static void test_the_group_is_ended_when_its_time_is_over(void **state)
{
    struct result result;

    (void)state;
    run(&result, "sleep 1000 & echo $!; sleep 1000", 50 * NS_PER_MS);
    assert_true(result.end.timed_out);
    assert_int_equal(result.end.signal, SIGTERM);
    int pid = atoi(result.output.p);
    for (int i = 0; i < 5000 && !is_dead(pid); i++)
        usleep(1000);
    assert_true(is_dead(pid));
    finish(&result);
}

static void test_what_ignores_sigterm_is_killed(void **state)
{
    struct result result;

    (void)state;
    run(&result, "trap '' TERM; echo on; while :; do sleep 1000; done", 50 * NS_PER_MS);
    assert_true(result.end.timed_out);
    assert_int_equal(result.end.signal, SIGKILL);
    assert_string_equal(result.output.p, "on\n");
    finish(&result);
}

/* What has left the group cannot be ended, but neither is it waited for. */
static void test_who_left_the_group_is_not_waited_for(void **state)
{
    struct result result;

    (void)state;
    run(&result, "setsid sleep 5 & echo on", 50 * NS_PER_MS);
    assert_int_equal(result.end.exit_status, 0);
    assert_true(result.end.timed_out);
    assert_string_equal(result.output.p, "on\n");
    finish(&result);
}

static void test_processes_are_ended_at_once(void **state)
{
    struct result a, b;
    struct process *first = start(&a, "sleep 1000", LONG), *second = start(&b, "sleep 1000", LONG);

    (void)state;
    process_end_now(first);
    process_end_now(first);
    process_end_now(second);
    loop_run(loop);
    assert_int_equal(a.end.signal, SIGTERM);
    assert_false(a.end.timed_out);
    assert_int_equal(b.end.signal, SIGTERM);
    finish(&a);
    finish(&b);
}

static void test_many_at_once(void **state)
{
    struct result results[20];
    char command[40];

    (void)state;
    for (int i = 0; i < 20; i++) {
        snprintf(command, sizeof(command), "echo %d; exit %d", i, i);
        start(&results[i], command, LONG);
    }
    loop_run(loop);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(results[i].end.exit_status, i);
        assert_int_equal(atoi(results[i].output.p), i);
        finish(&results[i]);
    }
}

static void test_a_shell_that_is_not_there(void **state)
{
    struct result result;
    char *path = test_malloc(strlen(getenv("PATH")) + 1);

    (void)state;
    strcpy(path, getenv("PATH"));
    setenv("PATH", "/nonexistent", 1);
    run(&result, "echo on", LONG);
    setenv("PATH", path, 1);
    test_free(path);
    assert_int_equal(result.end.error, ENOENT);
    assert_int_equal(result.end.exit_status, -1);
    assert_string_equal(result.output.p, "");
    finish(&result);
}

int main(void)
{
#define PROCESS_TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)
    const struct CMUnitTest tests[] = {
        PROCESS_TEST(test_output_and_status),
        PROCESS_TEST(test_a_command_may_begin_with_a_dash),
        PROCESS_TEST(test_a_signal_is_told),
        PROCESS_TEST(test_output_has_a_limit),
        PROCESS_TEST(test_a_command_gets_no_input_and_no_descriptors),
        PROCESS_TEST(test_signals_are_as_at_the_start_of_a_program),
        PROCESS_TEST(test_the_group_is_ended_when_its_time_is_over),
        PROCESS_TEST(test_what_ignores_sigterm_is_killed),
        PROCESS_TEST(test_who_left_the_group_is_not_waited_for),
        PROCESS_TEST(test_processes_are_ended_at_once),
        PROCESS_TEST(test_many_at_once),
        PROCESS_TEST(test_a_shell_that_is_not_there),
    };

    /* As the program does at its start: nothing that it inherited goes to a command. */
    close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
