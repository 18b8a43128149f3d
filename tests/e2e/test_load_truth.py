"""Loads are held against the record of a server that knows when each request came."""
import collections
import json
import math
import os
import signal
import time

import pytest

from faultkit import check_sums
from test_faults_signals import wait_until
from truthkit import (MS, S, Truth, check_least, latest_start, least_latencies, most_at_once,
                      numbers)

NUMBERED = "base: {url}\nplan:\n  - {{name: n, request: {{url: '/{{{{ iteration }}}}'}}}}\n"
LONG = "60s"  # a grace that nothing needs


@pytest.fixture
def truth(driller, tmp_path):
    """truth(*options) starts a server (tests/truth/truth.c); all are stopped at the end."""
    binary = driller.parent / "tests" / "truth" / "truth"
    if not binary.exists():
        pytest.fail(f"{binary} is not built", pytrace=False)
    running = []

    def start(*options):
        running.append(Truth(binary, tmp_path / f"record{len(running)}.csv", *options))
        return running[-1]

    yield start
    for server in running:
        server.process.kill()
        server.process.communicate()


@pytest.fixture
def load(drive, plan):
    """load(server, *options, text=NUMBERED) runs a plan against a server. It returns the JSON, the
    server's record, and a moment before the start."""
    def run(server, *options, text=NUMBERED):
        path = plan(text.format(url=server.url))
        before = time.monotonic_ns()
        done = drive("run", "-b", path, "-q", "--stats-format", "json", *options)
        assert done.code == 0, done
        check_sums(done.json)
        return done.json, server.stop(), before
    return run


def check_accounts(figures, due):
    """Each arrival that was due has been begun, dropped or missed."""
    generator, begun = figures["generator"], figures["iterations"]["started"]
    assert begun + generator["dropped_starts"] + generator["missed_starts"] == due
    assert generator["dropped_starts"] <= generator["late_starts"]


def check_schedule(figures, records, before, due, count):
    """All of `count` arrivals came, in their order, none before it was due; and the times that are
    reported begin where the schedule says, which they would not if it had drifted."""
    assert numbers(records) == list(range(count))
    assert latest_start(records, due) >= before
    assert figures["global"]["total_requests"] == count
    check_least(figures["global"]["latency_ms"], least_latencies(records, due))
    check_least(figures["global"]["service_ms"], sorted(r.answered - r.arrived for r in records))


# Rates

@pytest.mark.parametrize("options", [(), ("--timer", "spin"), ("--timestamps", "kernel"),
                                     ("--connections-first", "-p", "50")])
def test_constant_arrivals(load, truth, options):
    figures, records, before = load(truth(), "--rate", "400", "-d", "1s", "--grace", LONG, *options)
    check_accounts(figures, 400)
    check_schedule(figures, records, before, lambda k: k * S / 400, 400)


@pytest.mark.threads
def test_arrivals_of_several_threads(load, truth):
    """Numbers are given out as users come; together the arrivals are those of one thread."""
    figures, records, before = load(truth(), "--rate", "300", "-d", "1s", "--grace", LONG, "-w", "3")
    check_accounts(figures, 300)
    assert numbers(records) == list(range(300))
    for k, arrived in enumerate(sorted(r.arrived for r in records)):
        assert arrived >= before + k * S / 300


def test_a_server_that_closes_each_connection(load, truth):
    figures, records, before = load(truth("--close"), "--rate", "200", "-d", "1s", "--grace", LONG)
    check_schedule(figures, records, before, lambda k: k * S / 200, 200)
    assert figures["connections"]["opened"] == 200


def test_poisson_arrivals_are_those_of_the_seed(load, truth):
    """How many there are depends on the seed and on nothing else."""
    counts = []
    for seed in (1, 1, 2, 3):
        figures, records, before = load(truth(), "--rate", "400", "-d", "500ms", "--grace", LONG,
                                        "--arrival", "poisson", "--seed", seed)
        counts.append(figures["iterations"]["started"] + figures["generator"]["missed_starts"])
        assert numbers(records) == list(range(figures["iterations"]["started"]))
    assert counts[0] == counts[1] and len(set(counts)) > 1
    assert all(abs(count - 200) < 5 * math.sqrt(200) for count in counts)


def test_stages_of_rates(load, truth):
    """Up, level, down: 50, 100 and 50 arrivals, the area below the lines."""
    def due(k):
        if k < 50:
            return math.sqrt(k / 200) * S
        if k < 150:
            return (0.5 + (k - 50) / 200) * S
        return (1.5 - math.sqrt((200 - k) / 200)) * S

    figures, records, before = load(truth(), "--stages", "500ms:200/s,500ms:200/s,500ms:0/s",
                                    "--grace", LONG)
    check_accounts(figures, 200)
    check_schedule(figures, records, before, due, 200)


STEPS = """base: {url}
plan:
  - {{name: a, request: {{url: /1}}}}
  - {{name: b, request: {{url: '/{{{{ item }}}}'}}, with_items: [2, 3]}}
"""


def test_requests_are_paced_one_by_one(load, truth):
    figures, records, before = load(truth(), "--rate", "300r/s", "-d", "1s", "--grace", LONG,
                                    text=STEPS)
    total = figures["global"]
    assert len(records) == total["total_requests"] == total["started"]
    assert total["started"] + figures["generator"]["missed_starts"] == 300
    arrived = sorted(r.arrived for r in records)
    for k, moment in enumerate(arrived):
        assert moment >= before + k * S / 300
    start = min(moment - k * S / 300 for k, moment in enumerate(arrived))
    answered = sorted(r.answered for r in records)
    least = sum(moment - start - k * S / 300 for k, moment in enumerate(answered)) / len(answered)
    assert total["latency_ms"]["mean"] >= least / MS * 0.99


def test_no_arrival_is_used_up_at_the_end(load, truth):
    """The one user is free for the first request, late for all others, and then done."""
    figures, records, _ = load(truth("--wait", 5000), "--rate", "400r/s", "-i", "5", "-p", "1",
                               text=STEPS)
    assert len(records) == figures["global"]["started"] == 15
    assert figures["generator"]["late_starts"] < 15


def test_a_plan_without_requests(drive, plan):
    path = plan("plan:\n  - {name: a, assign: {key: a, value: b}}\n")
    done = drive("run", "-b", path, "--rate", "100", "-d", "300ms", "-q", "--stats-format", "json")
    assert done.code == 0 and done.json["iterations"]["completed"] == 30


# Users that are busy

def test_one_user_who_is_always_late(load, truth):
    """The queue of arrivals is known from both sides: an answer was read before the user's next
    request came."""
    figures, records, before = load(truth("--wait", 5000), "--rate", "400", "-i", "100", "-p", "1")
    check_schedule(figures, records, before, lambda k: k * S / 400, 100)
    assert most_at_once(records) == 1
    assert figures["generator"]["late_starts"] > 50
    most = sorted(after.arrived - before - one.number * S / 400
                  for one, after in zip(records, records[1:]))
    assert figures["global"]["latency_ms"]["p50"] <= most[len(records) // 2] / MS / 0.99


def test_late_arrivals_are_dropped(load, truth):
    figures, records, _ = load(truth("--wait", 50000), "--rate", "200", "-d", "1s", "-p", "2",
                               "--grace", LONG, "--when-late", "drop")
    check_accounts(figures, 200)
    generator = figures["generator"]
    assert generator["dropped_starts"] == generator["late_starts"] >= 200 - 2 * 21
    assert len(records) == figures["global"]["total_requests"] and most_at_once(records) <= 2


def test_late_arrivals_wait(load, truth):
    figures, records, _ = load(truth("--wait", 50000), "--rate", "200", "-d", "1s", "-p", "2",
                               "--grace", LONG, "--when-late", "queue")
    check_accounts(figures, 200)
    generator = figures["generator"]
    assert generator["dropped_starts"] == 0 and generator["missed_starts"] >= 200 - 2 * 21
    assert len(records) == figures["global"]["total_requests"] and most_at_once(records) <= 2
    check_least(figures["global"]["latency_ms"], least_latencies(records, lambda k: k * S / 200))


@pytest.mark.fault("L-16")
def test_a_stall_is_in_the_percentiles(load, truth):
    """The server stands still for 400 ms of a second: whoever came then waited, and not only the
    five users who noticed."""
    figures, records, before = load(truth("--stall", "300,400"), "--rate", "200", "-d", "1s", "-p",
                                    "5", "--grace", LONG)
    check_accounts(figures, 200)
    least = least_latencies(records, lambda k: k * S / 200)
    check_least(figures["global"]["latency_ms"], least)
    assert least[round(0.9 * len(least))] >= 200 * MS
    total = figures["global"]
    assert total["latency_ms"]["p90"] >= 190 and total["latency_ms"]["max"] >= 350
    assert total["service_ms"]["p75"] < total["latency_ms"]["p75"]


@pytest.mark.fault("L-17")
def test_a_rate_that_cannot_be_reached(load, truth):
    """What was due and not begun is counted, and the run ends in time."""
    figures, records, _ = load(truth(), "--rate", "1000000", "-d", "300ms", "-p", "4")
    check_accounts(figures, 300000)
    assert figures["generator"]["late_starts"] > 0 and figures["generator"]["missed_starts"] > 0
    total = figures["global"]
    assert total["total_requests"] <= len(records) <= total["started"]


def test_a_server_that_is_down_does_not_bend_the_schedule(drive, dead_port):
    done = drive("run", f"http://127.0.0.1:{dead_port}/", "--rate", "200", "-d", "1s", "-q", "-p",
                 "20", "--grace", LONG, "--stats-format", "json")
    check_sums(done.json)
    check_accounts(done.json, 200)
    assert done.json["global"]["causes"] == {"connect/refused": 200}


@pytest.mark.threads
def test_fewer_iterations_than_a_worker_each(load, truth):
    figures, records, _ = load(truth(), "--rate", "100", "-i", "3", "-w", "4")
    assert numbers(records) == [0, 1, 2] and figures["global"]["total_requests"] == 3


# Users that come and go

def test_stages_of_users(load, truth):
    """No more are at the server than are wanted; on the way up, than were by then."""
    figures, records, before = load(truth("--wait", 10000), "--stages", "500ms:4,1s:4,1s:0",
                                    "--grace", LONG)
    assert most_at_once(records) == 4
    for record in records:
        at_once = sum(r.arrived <= record.arrived < r.answered for r in records)
        assert at_once <= math.ceil((record.arrived - before) / (0.5 * S) * 4)
    lasts = collections.defaultdict(int)
    for record in records:
        lasts[record.connection] = max(lasts[record.connection], record.arrived)
    assert len(lasts) == 4 and max(lasts.values()) - min(lasts.values()) > 0.3 * S
    assert len(records) == figures["global"]["total_requests"]


PACED = "pacing: 100ms\n" + NUMBERED


def test_pacing(load, truth):
    """A user that has nothing to wait for begins each 100 ms."""
    figures, records, before = load(truth(), "-i", "6", "-p", "1", text=PACED)
    assert [r.number for r in records] == list(range(6))
    for record in records:
        assert record.arrived >= before + record.number * 100 * MS


DELAYS = NUMBERED + "  - delay: {{min: 5ms, max: 100ms}}\n"


def test_delays_between_two_times(load, truth):
    figures, records, _ = load(truth(), "-i", "12", "-p", "1", "--seed", "1", text=DELAYS)
    gaps = [after.arrived - one.answered for one, after in zip(records, records[1:])]
    assert min(gaps) >= 5 * MS
    assert max(gaps) - min(gaps) > 20 * MS


# The beginning and the end

@pytest.mark.parametrize("options", [("--rate", "200"), ("--stages", "0s:200/s,500ms:200/s")])
def test_a_warm_up_does_not_count(load, truth, options):
    length = ("-d", "500ms") if options[0] == "--rate" else ()
    figures, records, before = load(truth(), *options, *length, "--warmup", "400ms", "--grace", LONG)
    check_accounts(figures, 100)
    assert figures["global"]["total_requests"] == 100
    times = collections.defaultdict(list)
    for record in records:
        times[record.number].append(record.arrived)
    assert {number: len(t) for number, t in times.items()} == {
        number: 2 if number < 80 else 1 for number in range(100)}
    for number in range(100):
        assert max(times[number]) >= before + 400 * MS + number * 5 * MS


def test_a_warm_up_of_users_does_not_count(load, truth):
    figures, records, before = load(truth("--wait", 10000), "-p", "2", "-i", "10", "--warmup", "300ms")
    assert figures["global"]["total_requests"] == figures["iterations"]["started"] == 10
    counted = [max(r.arrived for r in records if r.number == number) for number in range(10)]
    assert len(records) > 10 and min(counted) >= before + 300 * MS


def test_requests_in_flight_have_the_grace(load, truth):
    figures, records, _ = load(truth("--wait", 200000), "--rate", "100", "-d", "500ms", "--grace",
                               LONG)
    assert figures["global"]["aborted"] == 0 and figures["global"]["total_requests"] == 50
    assert numbers(records) == list(range(50)) and all(r.answered for r in records)


@pytest.mark.fault("L-14")
def test_without_grace_they_are_aborted(load, truth):
    figures, records, _ = load(truth("--stall", "0,60000"), "--rate", "100", "-d", "500ms")
    check_accounts(figures, 50)
    total = figures["global"]
    assert total["aborted"] == total["started"] and total["total_requests"] == 0
    assert len(records) <= total["started"]


def signal_taken(process, number):
    """True when the process has taken a signal that was sent to it."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        pending = [int(line.split()[1], 16) for line in file if line.startswith(("SigPnd", "ShdPnd"))]
    return not any(mask >> (number - 1) & 1 for mask in pending)


@pytest.fixture
def started(launch, plan):
    """started(server, *options) is a run whose first request has come."""
    def start(server, *options):
        path = plan(NUMBERED.format(url=server.url))
        process = launch("run", "-b", path, "-q", "--stats-format", "json", *options)
        server.wait_for_load()
        return process
    return start


@pytest.mark.fault("S-1")
@pytest.mark.parametrize("options", [("-p", "3", "-d", "60s"), ("--rate", "100", "-d", "60s")])
def test_an_interrupt_leaves_the_grace(started, truth, options):
    """Nothing begins any more, and what has begun ends."""
    server = truth("--wait", 100000)
    process = started(server, *options, "--grace", LONG)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    figures, records = json.loads(out), server.stop()
    check_sums(figures)
    assert figures["interrupted"] == "SIGINT" and figures["global"]["aborted"] == 0
    assert len(records) == figures["global"]["total_requests"]
    assert all(record.answered for record in records)


@pytest.mark.fault("S-2")
def test_a_second_interrupt_ends_the_grace(started, truth):
    server = truth("--wait", 600000000)  # one is in flight
    process = started(server, "--rate", "1000", "-d", "60s", "--grace", LONG)
    process.send_signal(signal.SIGINT)
    wait_until(lambda: signal_taken(process, signal.SIGINT), "the first signal")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == 130


@pytest.mark.fault("S-4")
def test_a_run_that_stands_still_makes_up_for_it(started, truth):
    """All that was due meanwhile is sent, and its times say how late that was."""
    server = truth()
    before = time.monotonic_ns()
    process = started(server, "--rate", "200", "-d", "2s", "--grace", LONG)
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    time.sleep(1)
    process.send_signal(signal.SIGCONT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    figures = json.loads(out)
    check_accounts(figures, 400)
    check_schedule(figures, server.stop(), before, lambda k: k * S / 200, 400)
    assert figures["generator"]["schedule_lag_ms"]["max"] >= 900
    assert figures["generator"]["stopped"] == 1
    assert b"stopped and continued 1 time" in err
