"""Interrupted runs (rows S of faults.md): whatever a run is doing, its report comes, and soon."""
import json
import os
import re
import signal
import subprocess
import time

import pytest

from faultkit import answering, check_sums, full_listener
from rawserver import HANG, ok
from test_faults_resources import inject  # noqa: F401 (a fixture)

SOON = 3  # seconds; promised is one
SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


def wait_until(true, what, seconds=10):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"{what} has not come"
        time.sleep(0.01)


@pytest.fixture
def interrupt(launch, tmp_path):
    """interrupt(ready, number, *arguments) runs until ready() is true, sends the signal, and checks what
    is promised of all interrupted runs. It returns the statistics."""
    def check(ready, number, *arguments, env=None):
        process = launch("run", "-b", "plan.yml", "--stats-format", "json", *arguments, env=env)
        wait_until(ready, "the state to be interrupted")
        assert process.poll() is None
        sent = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
        assert time.monotonic() - sent < SOON
        assert process.returncode == 128 + number, err
        figures = json.loads(out)
        assert figures["interrupted"] == number.name
        check_sums(figures)
        return figures
    return check


@pytest.mark.fault("S-1")
@pytest.mark.parametrize("number, status", SIGNALS)
def test_healthy_run(interrupt, plan, raw_server, tmp_path, number, status):
    """All that was answered is in the statistics and in the report file."""
    server = raw_server(answering())
    plan(f"base: {server.url}\nconcurrency: 4\nplan:\n  - {{name: a, request: {{url: /}}}}\n")
    figures = interrupt(lambda: len(server.requests) > 200, number, "-d", "60s", "-w", "2", "-q", "-r", "r.yml")
    total = figures["global"]
    assert total["successful_requests"] > 190 and total["causes"] == {}
    assert total["aborted"] <= 4
    assert len(server.requests) - total["successful_requests"] <= 4
    report = (tmp_path / "r.yml").read_text()
    assert report.count("\n- name: a\n") == total["total_requests"]


@pytest.mark.fault("S-1")
def test_text_says_interrupted_too(launch, plan, raw_server):
    server = raw_server(answering())
    plan(f"base: {server.url}\nplan:\n  - {{name: a, request: {{url: /}}}}\n")
    process = launch("run", "-b", "plan.yml", "-d", "60s", "-q", "-s")
    wait_until(lambda: len(server.requests) > 20, "load")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert re.search(r"^Total requests +\d+$", out.decode(), re.MULTILINE)
    assert "interrupted" in out.decode().lower()


@pytest.mark.fault("S-1")
@pytest.mark.parametrize("number, status", SIGNALS)
def test_stalled_server(interrupt, plan, raw_server, number, status):
    server = raw_server([HANG])
    plan(f"base: {server.url}\niterations: 20\nconcurrency: 10\nplan:\n  - request: {{url: /}}\n")
    figures = interrupt(lambda: len(server.requests) == 10, number, "-o", "60")
    assert (figures["global"]["started"], figures["global"]["aborted"]) == (10, 10)
    assert figures["iterations"]["aborted"] == 10


@pytest.mark.fault("S-1")
def test_stalled_body(interrupt, plan, raw_server):
    server = raw_server([[b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome", HANG]])
    plan(f"base: {server.url}\nplan:\n  - request: {{url: /}}\n")
    figures = interrupt(lambda: len(server.requests) == 1, signal.SIGINT, "-o", "60")
    assert figures["global"]["aborted"] == 1


@pytest.mark.fault("S-1")
def test_connect_that_gets_no_answer(interrupt, plan):
    with full_listener() as port:
        plan(f"base: http://127.0.0.1:{port}\nplan:\n  - request: {{url: /}}\n")
        begun = time.monotonic()
        figures = interrupt(lambda: time.monotonic() - begun > 0.5, signal.SIGINT, "-o", "60")
        assert figures["global"]["aborted"] == 1


@pytest.mark.fault("S-1")
@pytest.mark.parametrize("number, status", SIGNALS)
def test_name_look_up(interrupt, plan, inject, tmp_path, number, status):  # noqa: F811
    """The system's resolver hangs and cannot be called off; nobody waits for it."""
    plan("base: http://some.name.example\nplan:\n  - request: {url: /}\n")
    reached = tmp_path / "reached"
    figures = interrupt(reached.exists, number, "-o", "60", env=inject("getaddrinfo:1:ever:hang", reached))
    assert figures["global"]["aborted"] == 1


@pytest.mark.fault("S-1")
@pytest.mark.parametrize("command", ["echo $$ > pid; exec sleep 300",
                                     "trap '' TERM INT; echo $$ > pid; while true; do sleep 300; done"])
def test_command(interrupt, plan, tmp_path, command):
    """It is ended with the run, also one that minds no SIGTERM."""
    plan(f"plan:\n  - exec: {{command: {json.dumps(command)}}}\n")
    pid = tmp_path / "pid"
    interrupt(lambda: pid.exists() and pid.read_text().endswith("\n"), signal.SIGINT)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


@pytest.mark.fault("S-1")
def test_delay_and_ramp_up(interrupt, plan, raw_server, tmp_path):
    server = raw_server(answering())
    plan(f"base: {server.url}\niterations: 10\nconcurrency: 10\nrampup: 600\nplan:\n"
         "  - request: {url: /}\n  - exec: {command: echo > answered}\n  - delay: {seconds: 600}\n")
    figures = interrupt((tmp_path / "answered").exists, signal.SIGINT)
    assert figures["global"]["successful_requests"] == 1
    assert figures["iterations"]["completed"] == 0


@pytest.mark.fault("S-1")
def test_nothing_done_yet(interrupt, plan, raw_server, tmp_path):
    """No request has ended: figures of nothing, and an old report stays."""
    server = raw_server([HANG])
    (tmp_path / "r.yml").write_text("old\n")
    plan(f"base: {server.url}\nplan:\n  - request: {{url: /}}\n")
    interrupt(lambda: len(server.requests) == 1, signal.SIGTERM, "-o", "60", "-r", "r.yml")
    assert (tmp_path / "r.yml").read_text() == "old\n"


@pytest.mark.fault("S-2")
def test_second_signal_ends_at_once(launch, plan, tmp_path):
    """The first waits up to a second for a command to end; the second waits for nothing."""
    command = "trap '' TERM INT; echo $$ > pid; while true; do sleep 300; done"
    plan(f"plan:\n  - exec: {{command: {json.dumps(command)}}}\n")
    pid = tmp_path / "pid"
    process = launch("run", "-b", "plan.yml", "-s")
    wait_until(lambda: pid.exists() and pid.read_text().endswith("\n"), "the command")
    try:
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        assert process.poll() is None
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 130
        assert time.monotonic() - sent < 0.7
    finally:
        os.killpg(int(pid.read_text()), signal.SIGKILL)


@pytest.mark.fault("S-2")
def test_second_signal_while_nobody_reads(launch, plan, raw_server):
    """A full pipe holds the run up; two signals end it all the same."""
    server = raw_server(answering())
    plan(f"base: {server.url}\nplan:\n  - request: {{url: '/{'x' * 1000}'}}\n")
    process = launch("run", "-b", "plan.yml", "-d", "60s")
    before = [-1]

    def stopped():
        time.sleep(0.3)
        same = len(server.requests) == before[0]
        before[0] = len(server.requests)
        return same and same > 0
    wait_until(stopped, "a full pipe", 30)
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=SOON) == 130


@pytest.mark.fault("S-3")
def test_peers_that_close_while_being_written_to(drive, plan, raw_server):
    """EPIPE and RST while a large body is sent: counted, no SIGPIPE."""
    server = raw_server(lambda connection: connection.reset())
    plan(f"base: {server.url}\niterations: 30\nconcurrency: 10\nplan:\n"
         "  - request: {method: POST, url: /, body: {file: big}}\n")
    plan("x" * 5000000, "big")
    run = drive("run", "-b", "plan.yml", "--stats-format", "json")
    assert run.code == 0, run
    assert run.json["global"]["causes"] == {"reset": 30}
    check_sums(run.json)


@pytest.mark.fault("S-3")
def test_a_command_that_reads_and_writes_nothing(drive, plan):
    plan("plan:\n  - exec: {command: 'exec <&- >&- 2>&-'}\n    assign: x\n  - assert: {key: x, value: ''}\n")
    assert drive("run", "-b", "plan.yml").code == 0


@pytest.mark.fault("S-5")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_report_is_whole_or_absent(launch, plan, raw_server, tmp_path, number):
    """Runs that are ended at any moment, the end included: the report that FILE names is the old one or a
    whole new one, and no temporary file is left, unless SIGKILL came between two system calls."""
    server = raw_server(answering())
    plan(f"base: {server.url}\niterations: 150\nconcurrency: 3\nplan:\n  - {{name: a, request: {{url: /}}}}\n")
    report = tmp_path / "r.yml"
    whole = re.compile(r"(\n- name: a\n  duration: [\d.]+\n  status: 200\n)+\Z")
    begun = time.monotonic()
    launch("run", "-b", "plan.yml", "-q", "-r", "r.yml").communicate(timeout=20)
    length = time.monotonic() - begun
    assert whole.match(report.read_text())
    for i in range(24):
        report.write_text("old\n")
        process = launch("run", "-b", "plan.yml", "-q", "-r", "r.yml")
        time.sleep(length * i / 18)
        process.send_signal(number)
        process.communicate(timeout=20)
        text = report.read_text()
        assert text == "old\n" or whole.match(text), (i, process.returncode, text[-200:])
        left = set(os.listdir(tmp_path)) - {"plan.yml", "r.yml"}
        assert not left or number == signal.SIGKILL and len(left) == 1
        for name in left:
            assert whole.match((tmp_path / name).read_text())
            (tmp_path / name).unlink()
