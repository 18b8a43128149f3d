"""How loads end, and that what was due is what is counted."""
import signal
import socket

import pytest

from faultkit import answering, check_sums
from test_faults_signals import interrupt, wait_until  # noqa: F401 (a fixture)

PACED = """base: {url}
iterations: 1
concurrency: 1
pacing: 500s
plan:
  - request: {{url: /}}
"""

STAGES = """base: {url}
iterations: 3
stages: [{{duration: 0s, users: 3}}, {{duration: 1s, users: 0}}, {{duration: 500s, users: 3}}]
plan:
  - request: {{url: /}}
"""


@pytest.mark.parametrize("text, n", [(PACED, 1), (STAGES, 3)])
def test_the_last_iteration_is_the_end(drive, plan, raw_server, text, n):
    """Nobody sleeps for an iteration that there will not be."""
    server = raw_server(answering())
    plan(text.format(url=server.url))
    run = drive("run", "-b", "plan.yml", "--stats-format", "json")
    assert run.code == 0, run
    assert len(server.requests) == run.json["global"]["total_requests"] == n


UNSENDABLE = r"""base: {url}
plan:
  - assign: {{key: nl, value: "a\nb"}}
  - request: {{url: /, headers: {{X: '{{{{ nl }}}}'}}}}
  - request: {{url: /}}
"""


def test_a_request_that_is_not_sent_uses_its_arrival_up(drive, plan, raw_server):
    server = raw_server(answering())
    plan(UNSENDABLE.format(url=server.url))
    run = drive("run", "-b", "plan.yml", "--rate", "100r/s", "-d", "500ms", "--grace", "20s",
                "--stats-format", "json")
    assert run.json["global"]["started"] + run.json["generator"]["missed_starts"] == 50
    check_sums(run.json)


def test_arrivals_of_users_that_send_nothing_are_missed(drive, plan, raw_server):
    server = raw_server(answering())
    plan(f"base: {server.url}\nplan:\n  - delay: {{seconds: 300}}\n  - request: {{url: /}}\n")
    run = drive("run", "-b", "plan.yml", "--rate", "100r/s", "-d", "300ms", "-p", "200",
                "--stats-format", "json")
    assert (run.json["global"]["started"], run.json["generator"]["missed_starts"]) == (0, 30)


def test_what_is_missed_is_not_rounded_up(drive):
    """0.55 times 100 is a little more than 55."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        run = drive("run", f"http://127.0.0.1:{silent.getsockname()[1]}/", "--rate", "100", "-d", "0.55s",
                    "-p", "1", "--stats-format", "json")
    assert run.json["iterations"]["started"] + run.json["generator"]["missed_starts"] == 55


@pytest.mark.fault("S-1")
def test_a_rate_that_has_not_begun(interrupt, plan):  # noqa: F811
    """The server accepts, and does not shake hands: --connections-first waits."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        plan(f"base: https://127.0.0.1:{silent.getsockname()[1]}\nplan:\n  - request: {{url: /}}\n")
        silent.settimeout(10)
        accepted = []

        def knocked():
            accepted.append(silent.accept())
            return True
        figures = interrupt(knocked, signal.SIGINT, "--connections-first", "--rate", "10", "-d", "60s",
                            "-p", "2")
        assert figures["global"]["started"] == 0
        accepted[0][0].close()


@pytest.mark.fault("S-1")
def test_a_signal_while_the_output_is_read_slowly(launch, raw_server):
    """There is always more to write; the signal has its turn all the same."""
    server = raw_server(answering())
    process = launch("run", f"{server.url}/{'x' * 900}", "-p", "20", "-d", "600s")
    wait_until(lambda: len(server.requests) > 3000, "load", 60)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)  # reads all that is there
    assert process.returncode == 130, err
