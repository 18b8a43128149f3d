"""--timestamps kernel: a response's time is when its packets came, whenever driller gets to them."""
import json
import os
import signal
import threading
import time

import pytest

from rawserver import ok

STOPPED = 0.5  # seconds


class Server:
    """Answers the first request at once, for the kernel begins to stamp packets a moment after it was
    asked to; the second one when it is told to, and knows when it has."""

    def __init__(self, body):
        self.body = body
        self.asked, self.may_answer, self.answered = (threading.Event() for _ in range(3))

    def __call__(self, connection):
        connection.read_request()
        connection.send(ok())
        connection.read_request()
        self.asked.set()
        assert self.may_answer.wait(20)
        connection.send(ok(self.body))
        self.answered.set()


@pytest.fixture
def measured(launch, raw_server):
    """measured(server, *options): the latency in ms that driller tells of a response that came while it
    was stopped, and the time from its launch until the response had been sent."""
    def measure(server, *options):
        url = raw_server(server).url
        begun = time.monotonic()
        process = launch("run", url, "-i", "2", "--stats-format", "json", *options)
        assert server.asked.wait(20)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        time.sleep(0.1)
        server.may_answer.set()
        assert server.answered.wait(20)
        sent_ms = (time.monotonic() - begun) * 1000
        time.sleep(STOPPED)
        process.send_signal(signal.SIGCONT)
        out, err = process.communicate(timeout=20)
        assert process.returncode == 0, err
        figures = json.loads(out)
        assert figures["global"]["successful_requests"] == 2
        return figures["global"]["latency_ms"]["max"], sent_ms
    return measure


@pytest.mark.parametrize("size", [2, 20000])  # the sockets' buffers hold all of it
def test_kernel(measured, size):
    latency_ms, sent_ms = measured(Server(b"x" * size), "--timestamps", "kernel")
    assert 0 < latency_ms <= sent_ms


def test_clock(measured):
    latency_ms, _ = measured(Server(b"ok"))
    assert latency_ms >= STOPPED * 1000


def test_bodies_that_nobody_keeps(drive, raw_server):
    """They are thrown away in the kernel, and have times all the same."""
    server = raw_server([ok(b"x" * 3000000)])
    run = drive("run", server.url, "--iterations", "5", "--timestamps", "kernel", "--stats-format", "json")
    assert run.code == 0, run
    total = run.json["global"]
    assert total["successful_requests"] == 5
    assert 0 < total["latency_ms"]["min"] <= total["latency_ms"]["max"] <= run.json["duration_s"] * 1000
    assert total["phases_ms"]["body"]["count"] == 5
