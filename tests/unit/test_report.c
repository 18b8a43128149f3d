/* links: out */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "out/outfile.h"
#include "out/report.h"

/* Each test has a folder of its own, which it works in. */
static int enter_folder(void **state)
{
    char name[] = "/tmp/driller-test-XXXXXX";

    if (!mkdtemp(name) || chdir(name) != 0)
        return -1;
    *state = strdup(name);
    return 0;
}

static int leave_folder(void **state)
{
    char command[64];

    snprintf(command, sizeof(command), "rm -rf '%s'", (char *)*state);
    free(*state);
    return chdir("/") != 0 || system(command) != 0;
}

/* How many files stand in the working folder, hidden ones too. */
static size_t files(void)
{
    DIR *folder = opendir(".");
    size_t n = 0;

    for (struct dirent *entry; (entry = readdir(folder));)
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(folder);
    return n;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void assert_file(const char *path, const char *expected)
{
    const char *why = NULL;
    struct str text;

    if (!file_read(path, 1 << 20, &text, &why))
        fail_msg("%s: %s", path, why);
    assert_string_equal(text.p, expected);
    free((char *)(uintptr_t)text.p);
}

static struct outfile *opened(const char *path)
{
    const char *why = "";
    struct outfile *report = outfile_open(path, &why);

    if (!report)
        fail_msg("%s: %s", path, why);
    return report;
}

static void written(struct outfile *report, const char *text)
{
    const char *why = NULL;

    assert_true(outfile_write(report, str_of(text), &why));
}

static void assert_record(struct str name, uint64_t latency_ns, unsigned status,
                          const char *expected)
{
    struct buf out;

    buf_init(&out, BUF_NO_MAX);
    report_record(&out, name, latency_ns, status);
    buf_add_char(&out, '\0');
    assert_string_equal(out.p, expected);
    buf_fini(&out);
}

static void records(void **state)
{
    (void)state;
    assert_record(STR("one"), 3810000, 200, "\n- name: one\n  duration: 3.81\n  status: 200\n");
    assert_record(STR("n {{ iteration }}"), 4000000, 520,
                  "\n- name: n {{ iteration }}\n  duration: 4.0\n  status: 520\n");
    assert_record(STR("a: b #c"), 1, 404,
                  "\n- name: 'a: b #c'\n  duration: 0.000001\n  status: 404\n");
    assert_record(STR("404"), 0, 200, "\n- name: '404'\n  duration: 0.0\n  status: 200\n");
    assert_record(STR("a\nb"), UINT64_MAX, 200,
                  "\n- name: \"a\\nb\"\n  duration: 18446744073709.551615\n  status: 200\n");
}

static void a_report_takes_its_place_at_the_end(void **state)
{
    const char *why = NULL;
    struct outfile *report;

    (void)state;
    write_file("out.yml", "old");
    report = opened("out.yml");
    written(report, "new ");
    written(report, "text");
    assert_file("out.yml", "old");
    assert_true(outfile_close(report, true, &why));
    assert_file("out.yml", "new text");
    assert_int_equal(files(), 1);
}

static void a_report_that_is_dropped_leaves_nothing(void **state)
{
    const char *why = NULL;
    struct outfile *report;

    (void)state;
    write_file("out.yml", "old");
    report = opened("out.yml");
    written(report, "new");
    assert_true(outfile_close(report, false, &why));
    assert_file("out.yml", "old");
    assert_int_equal(files(), 1);
    assert_true(outfile_close(opened("other.yml"), false, &why));
    assert_int_equal(files(), 1);
}

static void rights_are_the_umask_s_or_the_old_file_s(void **state)
{
    const char *why = NULL;
    mode_t mask = umask(027);
    struct stat file;

    (void)state;
    assert_true(outfile_close(opened("new.yml"), true, &why));
    assert_int_equal(stat("new.yml", &file), 0);
    assert_int_equal(file.st_mode & 07777, 0640);
    write_file("old.yml", "");
    chmod("old.yml", 0600);
    assert_true(outfile_close(opened("old.yml"), true, &why));
    assert_int_equal(stat("old.yml", &file), 0);
    assert_int_equal(file.st_mode & 07777, 0600);
    umask(mask);
}

static void symlinks_are_followed(void **state)
{
    const char *why = NULL;
    struct outfile *report;
    struct stat link;

    (void)state;
    assert_int_equal(mkdir("folder", 0777), 0);
    assert_int_equal(symlink("folder/second", "first"), 0);
    assert_int_equal(symlink("target", "folder/second"), 0); /* which is not there yet */
    for (int i = 0; i < 2; i++) {
        report = opened("first");
        written(report, i ? "2" : "1");
        assert_true(outfile_close(report, true, &why));
        assert_file("folder/target", i ? "2" : "1");
        assert_int_equal(lstat("first", &link), 0);
        assert_true(S_ISLNK(link.st_mode));
    }
    assert_int_equal(symlink("loop", "loop"), 0);
    assert_null(outfile_open("loop", &why));
    assert_string_equal(why, "Too many levels of symbolic links");
}

static void what_cannot_be_written_is_said_at_once(void **state)
{
    static const char *const paths[][2] = {
        {".", "Is a directory"},
        {"gone/out.yml", "No such file or directory"},
        {"", "No such file or directory"},
        {"slash/", "No such file or directory"},
        {"file/out.yml", "Not a directory"},
    };
    const char *why = NULL;

    (void)state;
    write_file("file", "");
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        assert_null(outfile_open(paths[i][0], &why));
        assert_string_equal(why, paths[i][1]);
    }
    assert_int_equal(files(), 1);
}

static void a_file_without_the_right_to_write_stays(void **state)
{
    const char *why = NULL;

    (void)state;
    if (geteuid() == 0) {
        print_message("root may write everything: skipped\n");
        skip();
    }
    write_file("out.yml", "old");
    chmod("out.yml", 0400);
    assert_null(outfile_open("out.yml", &why));
    assert_string_equal(why, "Permission denied");
}

static void pipes_are_written_directly(void **state)
{
    struct outfile *report;
    const char *why = NULL;
    char text[8] = {0};
    int reader;

    (void)state;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    reader = open("pipe", O_RDONLY | O_NONBLOCK);
    report = opened("pipe");
    written(report, "text");
    assert_int_equal(read(reader, text, sizeof(text)), 4);
    assert_string_equal(text, "text");
    close(reader);
    signal(SIGPIPE, SIG_IGN);
    assert_false(outfile_write(report, STR("more"), &why));
    assert_string_equal(why, "Broken pipe");
    signal(SIGPIPE, SIG_DFL);
    assert_false(outfile_close(report, true, &why));
    assert_int_equal(files(), 1);
}

/* Where standard output is a file, its place in it is shared; what was printed stays. */
static void standard_output_is_written_directly(void **state)
{
    int kept = dup(STDOUT_FILENO);
    int file = open("all.txt", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    struct outfile *report;
    const char *why = NULL;
    bool ok;

    (void)state;
    fflush(stdout);
    dup2(file, STDOUT_FILENO);
    ok = write(STDOUT_FILENO, "before ", 7) == 7;
    report = outfile_open("/dev/stdout", &why);
    ok = ok && report && outfile_write(report, STR("record "), &why);
    ok = ok && write(STDOUT_FILENO, "after", 5) == 5;
    ok = ok && outfile_close(report, true, &why);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    close(file);
    assert_true(ok);
    assert_file("all.txt", "before record after");
    assert_int_equal(files(), 1);
}

static void a_full_device_is_told(void **state)
{
    struct outfile *report = opened("/dev/full");
    const char *why = NULL;

    (void)state;
    assert_false(outfile_write(report, STR("x"), &why));
    assert_string_equal(why, "No space left on device");
    why = NULL;
    assert_false(outfile_write(report, STR("x"), &why));
    assert_string_equal(why, "No space left on device");
    why = NULL;
    assert_false(outfile_close(report, true, &why));
    assert_string_equal(why, "No space left on device");
}

/* Runs a test's part in a child; the result is its wait status, of which 0 is all well. */
static int in_child(int (*part)(void))
{
    int status = -1;
    pid_t child = fork();

    if (child == 0)
        _exit(part());
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static int write_too_much(void)
{
    struct rlimit limit = {4096, 4096};
    char text[3000];
    const char *why = "";
    struct outfile *report;

    memset(text, 'x', sizeof(text));
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    report = outfile_open("out.yml", &why);
    if (!report || !outfile_write(report, (struct str){text, sizeof(text)}, &why))
        return 2;
    if (outfile_write(report, (struct str){text, sizeof(text)}, &why))
        return 3;
    if (strcmp(why, "File too large") != 0 || outfile_close(report, true, &why))
        return 4;
    return strcmp(why, "File too large") != 0 ? 5 : 0;
}

static void a_full_disk_leaves_the_old_report(void **state)
{
    (void)state;
    write_file("out.yml", "old");
    assert_int_equal(in_child(write_too_much), 0);
    assert_file("out.yml", "old");
    assert_int_equal(files(), 1);
}

/* From here on this process gets no file without a name, as on a file system that has none. */
static bool forbid_unnamed_files(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof(steps) / sizeof(*steps), steps};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

#define CANNOT 77

static int write_under_a_name(void)
{
    const char *why = NULL;
    struct outfile *report;

    if (!forbid_unnamed_files() || open(".", O_WRONLY | O_TMPFILE, 0600) >= 0)
        return CANNOT;
    report = outfile_open("dropped.yml", &why);
    if (!report || files() != 1 || !outfile_close(report, false, &why) || files() != 0)
        return 1;
    report = outfile_open("out.yml", &why);
    if (!report || files() != 1 || !outfile_write(report, STR("text"), &why))
        return 2;
    return outfile_close(report, true, &why) && files() == 1 ? 0 : 3;
}

static void a_name_of_its_own_where_files_need_one(void **state)
{
    int status = in_child(write_under_a_name);

    (void)state;
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT) {
        print_message("no system call filter here: skipped\n");
        skip();
    }
    assert_int_equal(status, 0);
    assert_file("out.yml", "text");
}

static int die_while_writing(void)
{
    const char *why = NULL;
    struct outfile *report = outfile_open("out.yml", &why);

    if (!report || !outfile_write(report, STR("text"), &why))
        return 1;
    if (files())
        return CANNOT;
    return raise(SIGKILL);
}

static void a_killed_run_leaves_nothing(void **state)
{
    int status = in_child(die_while_writing);

    (void)state;
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT) {
        print_message("no files without a name here: skipped\n");
        skip();
    }
    assert_true(WIFSIGNALED(status));
    assert_int_equal(files(), 0);
}

/* A folder that is gone by the end: the report is lost, and that is said. */
static void a_lost_folder_is_told(void **state)
{
    struct outfile *report;
    const char *why = NULL;

    (void)state;
    assert_int_equal(mkdir("folder", 0777), 0);
    report = opened("folder/out.yml");
    written(report, "text");
    assert_int_equal(system("rm -rf folder"), 0);
    assert_false(outfile_close(report, true, &why));
    assert_string_equal(why, "No such file or directory");
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records),
        IN_FOLDER(a_report_takes_its_place_at_the_end),
        IN_FOLDER(a_report_that_is_dropped_leaves_nothing),
        IN_FOLDER(rights_are_the_umask_s_or_the_old_file_s),
        IN_FOLDER(symlinks_are_followed),
        IN_FOLDER(what_cannot_be_written_is_said_at_once),
        IN_FOLDER(a_file_without_the_right_to_write_stays),
        IN_FOLDER(pipes_are_written_directly),
        IN_FOLDER(standard_output_is_written_directly),
        cmocka_unit_test(a_full_device_is_told),
        IN_FOLDER(a_full_disk_leaves_the_old_report),
        IN_FOLDER(a_name_of_its_own_where_files_need_one),
        IN_FOLDER(a_killed_run_leaves_nothing),
        IN_FOLDER(a_lost_folder_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
