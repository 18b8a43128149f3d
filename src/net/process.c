#include "net/process.h"

#include <signal.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "net/loop_uv.h"

#define LINE_MAX_BYTES 512
#define KILL_AFTER_NS NS_PER_S

struct process {
    struct loop *loop;
    uv_process_t handle;
    uv_pipe_t out, err;
    int open_handles; /* handles whose close callback is still to come */
    int waiting_for;  /* exit, end of output, end of errors */
    pid_t group;
    struct timer timer;
    bool terminated;
    struct process_end end;
    struct buf output, line;
    bool line_done;
    process_done done;
    void *ctx;
    struct task report;
    char chunk[16384];
};

static void closed(uv_handle_t *handle)
{
    struct process *process = handle->data;
    if (--process->open_handles == 0) {
        buf_fini(&process->output);
        buf_fini(&process->line);
        free(process);
    }
}

static void close_handle(struct process *process, uv_handle_t *handle)
{
    if (!uv_is_closing(handle)) {
        uv_close(handle, closed);
        loop_uv_due(process->loop);
    }
}

static void report(struct task *task)
{
    struct process *process =
        (struct process *)(void *)((char *)task - offsetof(struct process, report));
    timer_stop(&process->timer);
    process->end.output = buf_str(&process->output);
    process->end.first_line = buf_str(&process->line);
    process->done(process->ctx, &process->end);
    close_handle(process, (uv_handle_t *)&process->handle);
    close_handle(process, (uv_handle_t *)&process->out);
    close_handle(process, (uv_handle_t *)&process->err);
}

static void part_over(struct process *process)
{
    if (--process->waiting_for == 0) {
        loop_defer(process->loop, &process->report);
    }
}

static void exited(uv_process_t *handle, int64_t status, int signal)
{
    struct process *process = handle->data;
    process->end.exit_status = signal ? -1 : (int)status;
    process->end.signal = signal;
    part_over(process);
}

static void give_chunk(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct process *process = handle->data;
    (void)suggested;
    *buf = uv_buf_init(process->chunk, sizeof process->chunk);
}

static void output_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct process *process = stream->data;
    if (n > 0) {
        size_t room = process->output.max - process->output.n;
        buf_add(&process->output, buf->base, (size_t)n < room ? (size_t)n : room);
    } else if (n < 0) {
        uv_read_stop(stream);
        part_over(process);
    }
}

static void errors_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct process *process = stream->data;
    if (n < 0) {
        uv_read_stop(stream);
        part_over(process);
        return;
    }
    for (ssize_t i = 0; i < n && !process->line_done; i++) {
        process->line_done = buf->base[i] == '\n' || !buf_add_char(&process->line, buf->base[i]);
    }
}

/* SIGTERM first; whoever is still there a second later gets SIGKILL, and whoever holds the output
 * open beyond that (a process that left the group) is not waited for. */
static void end_group(struct timer *timer, uint64_t now_ns)
{
    struct process *process =
        (struct process *)(void *)((char *)timer - offsetof(struct process, timer));
    if (!process->terminated) {
        process->terminated = true;
        kill(-process->group, SIGTERM);
        timer_start(loop_timers(process->loop, KILL_AFTER_NS), timer, now_ns);
        return;
    }
    kill(-process->group, SIGKILL);
    uv_read_stop((uv_stream_t *)&process->out);
    uv_read_stop((uv_stream_t *)&process->err);
    if (process->end.exit_status == INT32_MIN) {
        process->waiting_for = 1; /* its exit, which SIGKILL makes certain */
    } else if (process->waiting_for > 0) {
        process->waiting_for = 1;
        part_over(process);
    }
}

static void timed_out(struct timer *timer, uint64_t now_ns)
{
    struct process *process =
        (struct process *)(void *)((char *)timer - offsetof(struct process, timer));
    process->end.timed_out = true;
    timer->fire = end_group;
    end_group(timer, now_ns);
}

void process_end_now(struct process *process)
{
    if (!process->terminated && process->waiting_for > 0) {
        timer_stop(&process->timer);
        process->timer.fire = end_group;
        end_group(&process->timer, clock_ns());
    }
}

struct process *process_start(struct loop *loop, struct str command, uint64_t timeout_ns,
                              process_done done, void *ctx)
{
    struct process *process = xcalloc(1, sizeof *process);
    *process = (struct process){.loop = loop,
                                .done = done,
                                .ctx = ctx,
                                .open_handles = 3,
                                .waiting_for = 3,
                                .report = {.run = report},
                                .timer = {.fire = timed_out},
                                .end = {.exit_status = INT32_MIN}};
    buf_init(&process->output, PROCESS_OUTPUT_MAX);
    buf_init(&process->line, LINE_MAX_BYTES);
    uv_pipe_init(loop_uv(loop), &process->out, 0);
    uv_pipe_init(loop_uv(loop), &process->err, 0);
    process->handle.data = process->out.data = process->err.data = process;
    char *text = xstrndup(command.p, command.n);
    char *args[] = {(char *)(uintptr_t) "bash", (char *)(uintptr_t) "-c", (char *)(uintptr_t) "--",
                    text, NULL};
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_IGNORE},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&process->out},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&process->err}};
    uv_process_options_t options = {.exit_cb = exited,
                                    .file = "bash",
                                    .args = args,
                                    .flags = UV_PROCESS_DETACHED,
                                    .stdio_count = 3,
                                    .stdio = stdio};
    int status = uv_spawn(loop_uv(loop), &process->handle, &options);
    free(text);
    loop_uv_due(loop);
    if (status != 0) {
        process->end.exit_status = -1;
        process->end.error = -status;
        process->waiting_for = 0;
        loop_defer(loop, &process->report);
        return process;
    }
    process->group = process->handle.pid;
    uv_read_start((uv_stream_t *)&process->out, give_chunk, output_read);
    uv_read_start((uv_stream_t *)&process->err, give_chunk, errors_read);
    timer_start(loop_timers(loop, timeout_ns), &process->timer, clock_ns());
    return process;
}
