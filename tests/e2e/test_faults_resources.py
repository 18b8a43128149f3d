"""When something runs out (rows R of faults.md): descriptors, memory, threads, ports, room for what
servers and commands send. What is injected, and how, says inject.c."""
import errno
import json
import os
import re
import resource
import signal
import socket
import time

import pytest

from faultkit import answering, check_sums, descriptors, sanitized
from rawserver import CLOSE, ok

GET = "plan:\n  - name: get\n    request: {url: /}\n"


@pytest.fixture(scope="session")
def inject(driller):
    """inject("socket:3:once:24") is the environment that has that call fail."""
    library = driller.parent / "tests" / "e2e" / "libinject.so"
    if sanitized(driller):
        pytest.skip("a sanitizer replaces the same calls: nothing is injected")
    if not library.exists():
        pytest.fail(f"{library} is not built", pytrace=False)

    def environment(what, reached="/dev/null"):
        return {"LD_PRELOAD": str(library), "INJECT": what, "INJECT_REACHED": str(reached)}
    return environment


def limits(soft, hard):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# --- file descriptors ---

@pytest.mark.fault("R-1")
def test_soft_limit_is_raised(launch, plan, raw_server):
    server = raw_server(answering())
    plan(f"base: {server.url}\niterations: 200\nconcurrency: 150\n" + GET)
    process = launch("run", "-b", "plan.yml", "--stats-format", "json", preexec_fn=limits(40, 400))
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert json.loads(out)["global"]["successful_requests"] == 200


@pytest.mark.fault("R-1")
def test_hard_limit_is_an_error_before_the_run(launch, plan, raw_server):
    server = raw_server(answering())
    plan(f"base: {server.url}\niterations: 200\nconcurrency: 150\n" + GET)
    process = launch("run", "-b", "plan.yml", preexec_fn=limits(40, 100))
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (1, b"")
    said = re.search(rb"error: 150 users need (\d+) file descriptors, and the limit is 100\n", err)
    assert said and int(said[1]) > 150 and server.connections == 0, err
    # The number that it names is enough.
    process = launch("run", "-b", "plan.yml", preexec_fn=limits(40, int(said[1])))
    process.communicate(timeout=30)
    assert process.returncode == 0


@pytest.mark.fault("R-2")
def test_descriptors_run_out_mid_run(launch, plan, raw_server):
    """Counted as connect/fd-limit, without a storm of attempts, and over when there are some again."""
    server = raw_server([[ok(), CLOSE]])
    plan(f"base: {server.url}\nconcurrency: 4\n" + GET)
    process = launch("run", "-b", "plan.yml", "-d", "1500ms", "--stats-format", "json", "-q")
    soft, hard = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
    time.sleep(0.3)
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (3, hard))
    time.sleep(0.6)
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (hard, hard))
    time.sleep(0.35)
    late = len(server.requests)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    figures = json.loads(out)
    check_sums(figures)
    failed = figures["global"]["causes"]["connect/fd-limit"]
    assert set(figures["global"]["causes"]) == {"connect/fd-limit"}
    assert 4 <= failed < 5000 and figures["generator"]["cpu_s"] < 1.5
    assert len(server.requests) > late, "the users have not recovered"
    assert figures["global"]["successful_requests"] + figures["global"]["aborted"] >= len(
        server.requests) - 4


@pytest.mark.fault("R-3")
def test_no_local_port(drive, plan, raw_server, inject):
    server = raw_server(answering())
    plan(f"base: {server.url}\niterations: 20\nconcurrency: 1\n" + GET)
    run = drive("run", "-b", "plan.yml", "-v", "-s", env=inject(f"connect:1:once:{errno.EADDRNOTAVAIL}"))
    assert run.code == 0 and "ERR could not connect" in run.stdout, run
    assert "cause: " in run.stdout and "port" in run.stdout.split("cause: ")[1].split("\n")[0], run
    assert len(server.requests) == 19, "the user has not recovered"
    run = drive("run", "-b", "plan.yml", "--stats-format", "json",
                env=inject(f"connect:1:ever:{errno.EADDRNOTAVAIL}"))
    assert run.json["global"]["causes"] == {"connect/no-port": 20}
    check_sums(run.json)


# --- memory ---

@pytest.mark.fault("R-4")
def test_memory_does_not_grow_with_the_number_of_requests(drive, plan, shop, driller):
    """200 to 20,000 requests, with variables, cookies and names of many shapes."""
    plan(f"base: {shop.url}\nconcurrency: 4\nplan:\n"
         "  - name: 'page {{ iteration }}'\n    request: {url: '/api/users.json?n={{ iteration }}'}\n"
         "    assign: users\n"
         "  - name: again\n    request: {method: POST, url: /gone, body: '{{ users.text }}'}\n"
         "    with_items_range: {start: 1, stop: 3}\n")
    sizes = {}
    for iterations in (500, 10000):
        run = drive("run", "-b", "plan.yml", "-q", "-i", iterations, "--stats-format", "json")
        assert run.code == 0, run
        check_sums(run.json)
        sizes[iterations] = run.json["generator"]["max_rss_bytes"]
    if not sanitized(driller):
        assert sizes[10000] - sizes[500] <= 1 << 20, sizes


@pytest.mark.fault("R-5")
@pytest.mark.parametrize("head", [
    b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
], ids=["to the end", "10 GB", "chunks"])
def test_bodies_without_end(drive, plan, raw_server, driller, head):
    """Read and dropped on every connection until the time is up; nothing is kept."""
    piece = b"x" * 65536
    if b"chunked" in head:
        piece = b"10000\r\n" + piece + b"\r\n"

    def flood(connection):
        connection.read_request()
        connection.send(head)
        while True:
            connection.send(piece)

    server = raw_server(flood)
    plan(f"base: {server.url}\nconcurrency: 50\n" + GET)
    run = drive("run", "-b", "plan.yml", "-q", "-d", "2s", "-o", "0.5", "--stats-format", "json")
    assert run.code == 0 and run.seconds < 6, run
    check_sums(run.json)
    total = run.json["global"]
    assert set(total["causes"]) <= {"timeout/total", "timeout/first-byte"} and total["bytes_received"] > 50 * 65536
    if not sanitized(driller):
        assert run.json["generator"]["max_rss_bytes"] < 40 << 20


@pytest.mark.fault("R-5")
def test_a_body_that_is_kept_has_a_limit(drive, plan, raw_server, driller):
    def flood(connection):
        connection.read_request()
        connection.send(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            connection.send(b"x" * 65536)

    server = raw_server(flood)
    plan(f"base: {server.url}\niterations: 20\nconcurrency: 10\n" + GET + "    assign: x\n")
    run = drive("run", "-b", "plan.yml", "--max-body", "1M", "--stats-format", "json")
    assert run.code == 0, run
    assert run.json["global"]["causes"] == {"too-large": 20}
    if not sanitized(driller):
        assert run.json["generator"]["max_rss_bytes"] < 60 << 20


# --- any call may fail ---

PLAN = """\
base: {base}
iterations: 3
concurrency: 2
plan:
  - name: get
    request: {{url: /get}}
    assign: x
  - name: rows
    request: {{method: POST, url: '/{{{{ item.id }}}}', body: '{{{{ x.body.v }}}}'}}
    with_items_from_csv: data.csv
{command}  - name: last
    request: {{url: '/last/{{{{ iteration }}}}'}}
"""
COMMAND = "  - exec: {command: 'echo out'}\n    assign: out\n"
OLD = "- name: old\n"


@pytest.fixture
def torture(drive, plan, raw_server, inject, tmp_path):
    """torture(function, error) has each call of it fail in turn, once and for ever, until a run
    does no longer make so many, and checks how the run ends. It returns how many calls there are."""
    def start(function, error, most, name="127.0.0.1", command="", may_abort=False):
        server = raw_server(answering(lambda request: ok(b'{"v": [1, "x"]}')))
        (tmp_path / "data.csv").write_text("id,n\n1,a\n2,b\n")
        plan(PLAN.format(base=f"http://{name}:{server.port}", command=command))
        last = {}
        for mode in ("once", "ever"):
            for n in range(1, most + 1):
                if not one(f"{function}:{n}:{mode}:{error}", may_abort):
                    break
                last[mode] = n
        assert last, f"no run calls {function}"
        return min(last.values())

    def one(what, may_abort):
        reached, report = tmp_path / "reached", tmp_path / "report.yml"
        reached.unlink(missing_ok=True)
        report.write_text(OLD)
        run = drive("run", "-b", "plan.yml", "--stats-format", "json", "-r", "report.yml", "-o", "0.5",
                    env=inject(what, reached), timeout=20)
        if not reached.exists():
            assert run.code == 0, (what, run)
            return False
        text = report.read_text()
        if run.code == 0:
            check_sums(run.json)
            assert text.count("\n- name:") == run.json["global"]["total_requests"] > 0, (what, run)
        elif run.code == 1:
            assert "error: " in run.stderr, (what, run)
        else:
            assert may_abort and run.code == -signal.SIGABRT, (what, run)
            assert re.search("^driller: (out of memory|given up: .*)\n", run.stderr, re.MULTILINE), (
                what, run)
        # The old report, or the new one, and whole.
        records = re.findall(r"\n- name: \S+\n  duration: [\d.]+\n  status: \d+\n", text)
        assert text == OLD or "".join(records) == text, (what, run)
        left = set(os.listdir(tmp_path)) - {"plan.yml", "data.csv", "report.yml", "reached"}
        assert not left, (what, left)
        return True

    return start


@pytest.mark.fault("R-6")
@pytest.mark.parametrize("function", ["malloc", "calloc", "realloc"])
def test_no_memory(torture, function):
    assert torture(function, errno.ENOMEM, 60, command=COMMAND, may_abort=True) >= 50


@pytest.mark.fault("R-6")
@pytest.mark.parametrize("function, error", [
    ("epoll_create1", errno.EMFILE), ("eventfd", errno.EMFILE), ("socket", errno.EMFILE),
    ("socket", errno.EADDRNOTAVAIL), ("connect", errno.ECONNREFUSED), ("connect", errno.ENETUNREACH),
    ("open", errno.EMFILE), ("open", errno.EACCES), ("write", errno.ENOSPC), ("write", errno.EIO),
    ("fsync", errno.EIO), ("rename", errno.EACCES), ("linkat", errno.EACCES), ("recv", errno.ECONNRESET),
])
def test_calls_that_fail(torture, function, error):
    torture(function, error, 60)


@pytest.mark.fault("R-6")
@pytest.mark.parametrize("function, error", [("fork", errno.EAGAIN), ("socketpair", errno.EMFILE)])
def test_commands_that_cannot_be_started(torture, function, error):
    torture(function, error, 60, command=COMMAND)


@pytest.mark.fault("R-6")
@pytest.mark.parametrize("error", [socket.EAI_AGAIN, socket.EAI_NONAME, socket.EAI_MEMORY])
def test_names_that_cannot_be_looked_up(torture, error):
    torture("getaddrinfo", error, 60, name="localhost")


@pytest.mark.fault("R-6")
@pytest.mark.parametrize("function, error", [("pthread_create", errno.EAGAIN), ("epoll_ctl", errno.ENOSPC),
                                             ("pipe2", errno.EMFILE), ("mmap", errno.ENOMEM)])
def test_what_a_library_cannot_do_without(torture, inject, function, error):
    """libuv ends the process when its own threads and pipes cannot be made; it does not do so without a
    word. (mmap: no library calls it but the allocator itself.)"""
    if function == "mmap":
        with pytest.raises(AssertionError, match="no run calls mmap"):
            torture(function, error, 60, name="localhost", may_abort=True)
    else:
        torture(function, error, 60, name="localhost", command=COMMAND, may_abort=True)


# --- what grows with what servers answer ---

@pytest.mark.fault("R-9")
def test_many_statuses_urls_and_names(drive, plan, raw_server, driller):
    """900 statuses, 4,500 URLs and names; statistics are kept by the name as written."""
    def reply(request):
        status = 100 + request.number % 900
        return ok(status=b"%d x%d" % (status if status >= 200 else 999, request.number))

    server = raw_server(answering(reply))
    plan(f"base: {server.url}\niterations: 4500\nconcurrency: 1\nplan:\n"
         "  - name: 'n {{ iteration }}'\n    request: {url: '/u/{{ iteration }}?x={{ iteration }}'}\n")
    run = drive("run", "-b", "plan.yml", "--stats-format", "json", "-r", "report.yml")
    assert run.code == 0, run
    assert [step["name"] for step in run.json["steps"]] == ["n {{ iteration }}"]
    assert len(run.json["global"]["status_counts"]) == 800
    check_sums(run.json)
    if not sanitized(driller):
        assert run.json["generator"]["max_rss_bytes"] < 40 << 20


@pytest.mark.fault("R-9")
def test_many_different_failures_are_said_once_a_place(drive, plan, raw_server):
    """3,000 places with something to say; the rest is counted."""
    server = raw_server(answering(lambda request: ok(b"{}")))
    steps = "".join(f"  - {{name: n{i}, request: {{url: '/', headers: {{X-{i}: \"{{{{ x.text }}}}\"}}}}}}\n"
                    for i in range(3000))
    server.script = answering(lambda request: ok(b"a\nb"))
    plan(f"base: {server.url}\nplan:\n  - request: {{url: /}}\n    assign: x\n{steps}")
    run = drive("run", "-b", "plan.yml", "-q", "--stats-format", "json")
    assert run.code == 1, run
    assert run.json["global"]["causes"] == {"local": 3000}
    assert run.stderr.count("warning: not sent") == 1000
    assert "error: 3000 request(s) could not be sent as written" in run.stderr


# --- commands ---

def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            found = [int(word) for word in file.read().split()]
    except OSError:
        return []
    threads = os.listdir(f"/proc/{pid}/task")
    for thread in threads:
        if thread != str(pid):
            try:
                with open(f"/proc/{pid}/task/{thread}/children") as file:
                    found += [int(word) for word in file.read().split()]
            except OSError:
                pass
    return found


def state(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return None


@pytest.mark.fault("R-10")
def test_commands_are_reaped_and_get_no_descriptors(launch, plan, raw_server, tmp_path):
    """Hundreds of commands: no zombie is left waiting, and none sees a socket or the report."""
    server = raw_server(answering())
    plan(f"base: {server.url}\nconcurrency: 8\nplan:\n  - request: {{url: /}}\n"
         "  - exec: {command: 'ls -l /proc/$$/fd | cut -d: -f2- >> fds; readlink /proc/$$/fd/0 >> stdin; true'}\n")
    process = launch("run", "-b", "plan.yml", "-q", "-d", "1s", "-r", "report.yml", "--stats-format", "json")
    time.sleep(0.6)
    zombies = [pid for pid in children(process.pid) if state(pid) == "Z"]
    open_now = descriptors(process.pid)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    assert len(zombies) <= 8 and len(open_now) < 80
    done = json.loads(out)["iterations"]["completed"]
    assert done > 10
    seen = (tmp_path / "fds").read_text()
    beyond = [what for number, what in re.findall(r" (\d+) -> (.*)", seen) if int(number) > 2]
    assert all(what.startswith("pipe:") for what in beyond), beyond  # bash's own, between its parts
    assert set((tmp_path / "stdin").read_text().split()) == {"/dev/null"}


@pytest.mark.fault("R-10")
def test_a_command_that_never_ends(drive, plan, tmp_path):
    """Its whole group is ended at its time, those that mind no SIGTERM too."""
    plan("plan:\n  - exec: {command: 'trap \"\" TERM; (sleep 300 & echo $! > inner; echo $$ > outer; wait)'}\n"
         "    timeout: 0.2\n    assign: x\n  - assert: {key: x, value: ''}\n")
    run = drive("run", "-b", "plan.yml")
    assert run.code == 0 and run.seconds < 6, run
    assert "was ended after its time of 0.2 s" in run.stderr
    for name in ("inner", "outer"):
        assert state(int((tmp_path / name).read_text())) in (None, "Z"), name


@pytest.mark.fault("R-10")
def test_a_command_that_leaves_its_output_to_another(drive, plan, tmp_path):
    """What it has left behind holds the pipe open in another session; nobody waits for it for ever."""
    plan("plan:\n  - exec: {command: 'setsid sleep 20 & echo $! > left; echo done'}\n"
         "    timeout: 0.5\n    assign: x\n  - assert: {key: x, value: done}\n")
    run = drive("run", "-b", "plan.yml")
    try:
        assert run.code == 0 and run.seconds < 6, run
    finally:
        os.kill(int((tmp_path / "left").read_text()), signal.SIGKILL)


@pytest.mark.fault("R-10")
def test_a_command_that_prints_without_end(drive, plan, driller):
    plan("plan:\n  - exec: {command: 'yes xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx | tr -d \"\\n\" | head -c 100000000'}\n    assign: x\n"
         "  - exec: {command: 'head -c 3000000 /dev/zero >&2'}\n"
         "  - assert: {key: x, value: y}\n")
    run = drive("run", "-b", "plan.yml", "-q")
    assert run.code == 1, run
    got = re.search(r'got "(x*)(.*)"', run.stdout)
    assert got and len(got[1]) <= 1 << 20


@pytest.mark.fault("R-10")
@pytest.mark.parametrize("command, warning", [
    ("exit 3", "ended with status 3"), ("kill -9 $$", "was ended by signal 9"),
    ("no-such-program-here", "ended with status 127: bash: line 1: no-such-program-here"),
    ("echo -e 'bad\\e[2J' >&2; exit 1", "ended with status 1: bad\\x1B[2J"),
    ("exec 0<&- 1>&- 2>&-; sleep 0.1; exit 4", "ended with status 4"),
])
def test_how_commands_end(drive, plan, raw_server, command, warning):
    """A warning, and the iteration goes on."""
    server = raw_server(answering())
    plan(f"base: {server.url}\nplan:\n  - exec: {{command: {json.dumps(command)}}}\n"
         "    assign: x\n  - request: {url: /after}\n")
    run = drive("run", "-b", "plan.yml")
    assert run.code == 0 and warning in run.stderr, run
    assert len(server.requests) == 1


@pytest.mark.fault("R-10")
def test_no_bash(drive, plan, raw_server, tmp_path):
    server = raw_server(answering())
    plan(f"base: {server.url}\nplan:\n  - exec: {{command: 'true'}}\n  - request: {{url: /}}\n")
    run = drive("run", "-b", "plan.yml", env={"PATH": str(tmp_path)})
    assert run.code == 0 and "could not be run: No such file or directory" in run.stderr, run
    assert len(server.requests) == 1
