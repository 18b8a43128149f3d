"""What is said of a load before it runs: the banner, and what is lowered or refused."""
import subprocess

import pytest

from faultkit import answering


def load_lines(run):
    """The lines of the banner between those that are always there."""
    lines = run.stdout.splitlines()
    return lines[3:[line.startswith("Base URL") for line in lines].index(True)]


@pytest.mark.parametrize("arguments, lines", [
    ("-i 3", []),
    ("--rate 6000/m -i 3 --arrival poisson --grace 0.5", ["Rate 100/s (poisson)", "Grace 0.5s"]),
    ("--rate 90r/s -i 3", ["Rate 90r/s"]),
    ("--stages 100ms:1,0s:2 --warmup 20ms", ["Stages 0.1s:1, 0s:2", "Warmup 0.02s"]),
    ("--stages 0s:50/s,100ms:50/s", ["Stages 0s:50/s, 0.1s:50/s"]),
])
def test_banner(drive, raw_server, arguments, lines):
    run = drive("run", raw_server(answering()).url, "-q", *arguments.split())
    assert run.code == 0 and run.stderr == "", run
    assert load_lines(run) == lines


def test_plan_and_flags(drive, raw_server, plan):
    server = raw_server(answering())
    path = plan(f"base: {server.url}\nrate: 50\narrival: poisson\nduration: 100ms\n"
                "plan:\n- request: {url: /}\n- delay: {min: 1ms, max: 2ms}\n")
    assert load_lines(drive("-b", path, "-q")) == ["Rate 50/s (poisson)"]
    run = drive("run", "-b", path, "-q", "--rate", "70", "-i", "2", "--arrival", "constant")
    assert run.code == 0 and load_lines(run) == ["Rate 70/s"]
    run = drive("run", "-b", path, "-q", "--stages", "50ms:1")
    assert run.code == 0 and load_lines(run) == ["Stages 0.05s:1"]
    assert run.stderr == "warning: the plan's arrival does nothing without a rate\n"


def test_users_that_nobody_asked_for_are_as_many_as_can_be(driller, raw_server):
    """16 descriptors a thread and 32 others are no users'."""
    server = raw_server(answering())

    def with_200(*arguments):
        command = ["sh", "-c", 'ulimit -n 200; exec "$@"', "sh", driller, "run", server.url, "-q"]
        return subprocess.run([*command, "--rate", "50", "-d", "100ms", *arguments], timeout=60,
                              capture_output=True, text=True)

    run = with_200()
    assert run.returncode == 0 and run.stdout.startswith("Concurrency 152\n"), run
    run = with_200("-p", "1000")
    assert run.returncode == 1 and "1000 users need 1048 file descriptors" in run.stderr, run
