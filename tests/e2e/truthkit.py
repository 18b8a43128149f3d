"""A server that knows when each request came (tests/truth), and what follows from its record.

What is asserted of a load has to hold on a machine that does something else for a while. So a test
says what cannot be otherwise: a request comes to the server no sooner than the client began it, and
its answer is read no sooner than the server sent it. All times are those of CLOCK_MONOTONIC, in ns.
"""
import csv
import dataclasses
import math
import subprocess

MS, S = 10**6, 10**9
ROUNDING = 0.99  # of what a histogram says


@dataclasses.dataclass(frozen=True)
class Record:
    number: int      # in the path of the request
    connection: int
    arrived: int     # when it was read
    kernel: int      # when the packet came, with --kernel
    answered: int    # just before the answer was sent; 0: never


class Truth:
    """The server, while it runs. stop() ends it and returns its record."""

    def __init__(self, binary, file, *options):
        self.file = file
        self.process = subprocess.Popen([binary, *map(str, options), file], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def wait_for_load(self):
        assert self.process.stdout.readline() == "begun\n"

    def stop(self):
        self.process.communicate(timeout=20)
        with open(self.file, encoding="ascii", newline="") as file:
            return [Record(**{key: int(value) for key, value in row.items()})
                    for row in csv.DictReader(file)]


def numbers(records):
    return sorted(record.number for record in records)


def most_at_once(records):
    """How many requests were at the server at the same time, at most."""
    changes = [(r.arrived, 1) for r in records] + [(r.answered, -1) for r in records if r.answered]
    now = most = 0
    for _, change in sorted(changes):
        now += change
        most = max(most, now)
    return most


def latest_start(records, due):
    """The start of the schedule can be no later than this; due(k) is what request k waits for."""
    return min(record.arrived - due(record.number) for record in records)


def least_latencies(records, due):
    """What the response times are at least, sorted: an answer was not read before it was sent."""
    start = latest_start(records, due)
    return sorted(record.answered - start - due(record.number) for record in records)


def check_least(times, least):
    """No percentile of the JSON's times is below what the server's record allows; `least` sorted."""
    for name, part in (("p50", 0.5), ("p75", 0.75), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99),
                       ("max", 1)):
        bound = least[math.ceil(part * len(least)) - 1] / MS
        assert times[name] >= bound * ROUNDING, (name, bound, times)
    assert times["mean"] >= sum(least) / len(least) / MS * ROUNDING
