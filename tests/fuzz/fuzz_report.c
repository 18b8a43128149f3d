/* links: cli */
/*
 * The reader of recorded reports: first with the bytes as they are, then with the report that a run
 * would write of them, line by line, which must be read back.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/baseline.h"
#include "fuzz.h"
#include "out/report.h"

/* A file in memory that baseline_read can open. */
static struct baseline *read_text(struct str text, size_t *errors)
{
    int fd = memfd_create("report", MFD_CLOEXEC);
    char path[32];
    struct faults faults;
    struct baseline *baseline;

    CHECK(fd >= 0 && write(fd, text.p, text.n) == (ssize_t)text.n);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    faults_init(&faults);
    baseline = baseline_read(path, &faults);
    CHECK((baseline == NULL) == (faults.errors > 0));
    *errors = faults.errors;
    faults_fini(&faults);
    close(fd);
    return baseline;
}

/* One record a line, which is the name; each takes a millisecond. */
static void check_written(struct str lines)
{
    struct buf report, name;
    struct str rest = lines;
    size_t errors;
    struct baseline *baseline;
    double mean;

    buf_init(&report, BUF_NO_MAX);
    buf_init(&name, BUF_NO_MAX);
    while (rest.n)
        report_record(&report, fuzz_until(&rest, '\n'), 1000000, 200);
    baseline = read_text(buf_str(&report), &errors);
    CHECK(baseline);
    for (rest = lines; rest.n;) {
        buf_reset(&name);
        utf8_repair(&name, fuzz_until(&rest, '\n'));
        CHECK(baseline_mean(baseline, buf_str(&name), &mean) && mean == 1);
    }
    baseline_free(baseline);
    buf_fini(&report);
    buf_fini(&name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = fuzz_input(data, size);
    size_t errors;

    baseline_free(read_text(text, &errors));
    if (text.n)
        check_written(text);
    return 0;
}
