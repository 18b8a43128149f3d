"""--connections-first: the connections are there before the clock starts."""
import signal
import socket
import time

import pytest

from faultkit import answering, check_sums, full_listener
from test_faults_signals import interrupt  # noqa: F401 (a fixture)


def test_every_user_has_a_connection(drive, raw_server):
    """Ten users would do with one or two at this rate."""
    server = raw_server(answering())
    run = drive("run", server.url, "--rate", "50/s", "--duration", "0.1", "--concurrency", "10",
                "--connections-first", "--stats-format", "json")
    assert run.code == 0, run
    assert run.json["connections"]["opened"] == 10
    assert server.connections == 10
    check_sums(run.json)


def test_each_server_of_the_plan(drive, plan, raw_server):
    one, two = raw_server(answering()), raw_server(answering())
    plan(f"iterations: 6\nconcurrency: 3\nplan:\n"
         f"  - request: {{url: '{one.url}/a'}}\n"
         f"  - request: {{url: '{two.url}/b'}}\n"
         f"  - request: {{url: '{one.url}/c'}}\n")
    run = drive("run", "-b", "plan.yml", "--connections-first", "--stats-format", "json")
    assert run.code == 0, run
    assert (one.connections, two.connections) == (3, 3)
    assert run.json["global"]["successful_requests"] == 18
    # All but the first on each connection; one may be left over.
    connections = run.json["connections"]
    assert (connections["opened"], connections["failed"]) == (6, 0)
    assert 12 <= connections["reused"] <= 16


def test_a_server_that_is_down(drive):
    """Its users find out for themselves."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        run = drive("run", f"http://127.0.0.1:{unused.getsockname()[1]}/", "--concurrency", "4",
                    "--iterations", "4", "--connections-first", "--stats-format", "json")
    assert run.code == 0, run
    assert run.json["global"]["causes"] == {"connect/refused": 4}
    assert run.json["connections"] == {"opened": 0, "reused": 0, "failed": 8}


@pytest.mark.fault("S-1")
def test_interrupted_before_the_clock_starts(interrupt, plan):  # noqa: F811
    """The connections do not come about."""
    with full_listener() as port:
        plan(f"base: http://127.0.0.1:{port}\nplan:\n  - request: {{url: /}}\n")
        begun = time.monotonic()
        figures = interrupt(lambda: time.monotonic() - begun > 0.5, signal.SIGINT,
                            "--connections-first", "-o", "60", "-d", "60s", "-p", "4", "-w", "2")
        assert figures["global"]["started"] == 0
        assert figures["duration_s"] == 0
