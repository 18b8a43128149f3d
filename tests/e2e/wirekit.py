"""What the tests of the wire share: responses byte by byte, how to cut them, and what must add up.

A case of a table is made with fault(row, name, response, verdict, …): the row of the catalogue
(docs/faults.md), what the server sends, and what driller must say.
"""
import math
import re

import pytest

from faultkit import check_sums
from rawserver import CLOSE, RESET

MIB = 1 << 20

# Fine classes of requests that no server has seen.
NEVER_SENT = ("dns", "connect/", "tls/", "local", "missing-variable")


class Good:
    """A response: its status, whether its connection is used again, and what is counted beside."""

    def __init__(self, status=200, reused=True, **extra):
        self.status = status
        self.reused = reused
        self.extra = extra


class Bad:
    """A request without a response: the fine class, and the label that follows ERR."""

    def __init__(self, cause, label, **extra):
        self.cause = cause
        self.label = label
        self.reused = False
        self.extra = extra


BAD_HEAD = Bad("protocol/h1", "request failed")
BAD_BODY = Bad("protocol/h1", "response body error")
CUT_HEAD = Bad("truncated", "request failed")
CUT_BODY = Bad("truncated", "response body error")
LARGE_HEAD = Bad("too-large", "request failed")
LARGE_BODY = Bad("too-large", "body too large")
NO_REPLY = Bad("reset", "request failed")


class Case:
    def __init__(self, response, verdict, then, method, pause):
        self.response = response
        self.verdict = verdict
        self.then = then      # None: the connection stays open for what driller does with it
        self.method = method
        self.pause = pause    # seconds between the requests of a user

    @property
    def plan(self):
        step = f"  - request: {{url: /, method: {self.method}}}\n"
        if self.pause:
            step += f"  - delay: {{seconds: {self.pause}}}\n"
        return f"plan:\n{step}"


def fault(row, name, response, verdict, then=None, method="GET", pause=0):
    case = Case(response, verdict, then, method, pause)
    return pytest.param(case, id=f"{row} {name}", marks=pytest.mark.fault(row))


def http(*fields, body=b"", line=b"HTTP/1.1 200 OK"):
    """A response of just these lines."""
    return b"\r\n".join([line, *fields]) + b"\r\n\r\n" + body


def chunked(body, *fields, line=b"HTTP/1.1 200 OK"):
    """A response whose chunks, as they stand on the wire, are `body`."""
    return http(b"Transfer-Encoding: chunked", *fields, body=body, line=line)


def ways_to_cut(size, most=400):
    """Lists of places to cut at: whole, each single byte, once everywhere. Of a long response only
    so many places, its beginning and end among them."""
    places = list(range(1, size))
    if size > most:
        edge = most // 4
        step = math.ceil(size / (most // 2))
        places = sorted({*places[:edge], *places[::step], *places[-edge:]})
    return [[], *([place] for place in places), *([places] if 1 < size <= most else [])]


def cut(data, places):
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)])]


def in_pieces(case):
    """A script for raw_server: request after request gets the case's response, cut in another way
    each time. Between two pieces there is time enough for the first to be read alone."""
    ways = ways_to_cut(len(case.response))

    def serve(connection):
        while True:
            number = connection.read_request().number
            places = ways[number % len(ways)]
            connection.send_pieces(cut(case.response, places), 0.002 if len(places) < 2 else 0.0005)
            if case.then == CLOSE:
                return
            if case.then == RESET:
                connection.wait(0.02)  # until it has been read: a reset throws away what was not
                connection.reset()
                return
    serve.ways = len(ways)
    return serve


LINE = re.compile(r"^.{25,}? (https?://\S+) (?:ERR (?P<label>\D+)|(?P<status>\d{3}[^\d]*)) \d+ms$")


def outcomes(run):
    """What stands on the lines of requests: labels of failures, statuses of responses."""
    found = (LINE.match(line) for line in run.lines)
    return [(m["label"] or m["status"]).strip() for m in found if m]


def check_verdict(figures, verdict, n):
    """All n requests ended so, and nothing else was counted."""
    total = figures["global"]
    if isinstance(verdict, Good):
        assert (total["status_counts"], total["causes"]) == ({str(verdict.status): n}, {})
    else:
        assert (total["causes"], total["status_counts"]) == ({verdict.cause: n}, {"520": n})
    counted = {name: count for name, count in total["extra"].items() if count}
    assert counted == {name: count * n for name, count in verdict.extra.items()}


def never_sent(total):
    return sum(n for cause, n in total["causes"].items() if cause.startswith(NEVER_SENT))


def check_server(figures, *servers):
    """The sums hold, and the servers have seen as many requests as driller says it has sent."""
    check_sums(figures)
    total = figures["global"]
    sent = (total["started"] - never_sent(total) + total["extra"]["redirects"] +
            total["extra"]["reconnects"])
    # Those in flight at the end may not have got there.
    seen = sum(len(server.requests) for server in servers)
    assert sent - total["aborted"] <= seen <= sent
