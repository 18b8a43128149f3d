#!/usr/bin/python3
"""Counts the instructions that driller spends on a request, and fails if they are too many.

    tests/instructions/count.py build/driller                each work against its ceiling
    tests/instructions/count.py build/driller get plan       these, and the functions they go to

User space only, by callgrind, with everything on that is on by default. Two runs of different
lengths are subtracted, so that start and end do not count. Instructions, unlike seconds, are the
same on a busy machine. The ceilings are those of the preset `release` with gcc on x86-64, 5 % above
what was reached; where there is nothing to judge by, it says so and ends with 77.

There is one user, so that driller wakes up once for each answer: with several, their answers would
share wake-ups as luck has it, at a tenth less for each request. And only the worker's thread counts:
what is added up at the end grows with the spread of the times. So counts differ by less than 1 %.
"""
import argparse
import collections
import itertools
import json
import os
import platform
import re
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

SKIPPED = 77
SHORT, LONG = 500, 4500  # iterations
WORKER = "worker_main"
SHOWN = 20  # functions

PLAN = """
plan:
  - name: get an object
    request:
      url: /object
    assign: object
  - name: use what it says
    request:
      url: /items/{{ object.body.items[2].id }}
      headers:
        X-Token: '{{ object.body.token }}'
  - name: check
    assert:
      key: object.status
      value: 200
  - name: say goodbye
    request:
      url: /
"""

Work = collections.namedtuple("Work", "name what path requests ceiling")
WORKS = [
    Work("get", "one URL, over and over", "/", 1, 1655),
    Work("heads", "the same, and no two heads of answers are alike", "/heads", 1, 2500),
    Work("plan", "three requests; JSON of 1 KB is kept, two values of it used", None, 3, 6880),
    Work("connect", "a new connection for each request", "/close", 1, 3310),
]

BY_NAME = {work.name: work for work in WORKS}


def answer(media, body, fields=b"Connection: keep-alive\r\n"):
    return (b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Mon, 06 Jul 2026 09:30:00 GMT\r\n"
            b"Content-Type: %s\r\nContent-Length: %d\r\n%s\r\n%s"
            % (media, len(body), fields, body))


def an_object():
    items = [{"id": str(1000 + i), "name": f"item {i}", "price": 10 + i, "tags": ["a", "b"]}
             for i in range(14)]
    return json.dumps({"items": items, "token": "c0ffee", "total": len(items)}).encode()


class Server(threading.Thread):
    """Requests are small and come whole."""

    def __init__(self):
        super().__init__(daemon=True)
        self.answered = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.selector = selectors.EpollSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.hello = answer(b"text/plain", b"hello world\n")
        self.last = answer(b"text/plain", b"hello world\n", b"Connection: close\r\n")
        self.object = answer(b"application/json", an_object())
        self.numbers = itertools.count()

    def run(self):
        while True:
            for key, _ in self.selector.select():
                if key.fileobj is self.listener:
                    self.selector.register(self.listener.accept()[0], selectors.EVENT_READ)
                elif request := key.fileobj.recv(4096):
                    self.answer(key.fileobj, request.split()[1])
                else:
                    self.close(key.fileobj)

    def answer(self, connection, path):
        self.answered += 1
        if path == b"/object":
            connection.send(self.object)
        elif path == b"/heads":
            field = b"Connection: keep-alive\r\nX-Request-Id: %016x\r\n" % next(self.numbers)
            connection.send(answer(b"text/plain", b"hello world\n", field))
        elif path == b"/close":
            connection.send(self.last)
            self.close(connection)
        else:
            connection.send(self.hello)

    def close(self, connection):
        self.selector.unregister(connection)
        connection.close()


def by_function(profile):
    """The instructions of each function itself, from callgrind's file."""
    names, costs, function = {}, collections.Counter(), None
    lines = iter(profile.read_text().splitlines())
    for line in lines:
        if match := re.match(r"fn=(\(\d+\))(?: (.*))?", line):
            function = names.setdefault(match[1], match[2])
        elif match := re.match(r"cfn=(\(\d+\)) (.*)", line):
            names.setdefault(match[1], match[2])
        elif line.startswith("calls="):
            next(lines)  # what the callee took
        elif function and re.match(r"[\d+*-]\d* \d+$", line):
            costs[function] += int(line.split()[1])
    return costs


def run(driller, work, iterations, folder):
    """The instructions of a whole run, by function."""
    server = Server()
    server.start()
    if work.path:
        what = [f"http://127.0.0.1:{server.port}{work.path}"]
    else:
        (folder / "plan.yml").write_text(PLAN)
        what = ["--benchmark", folder / "plan.yml", f"http://127.0.0.1:{server.port}"]
    out = folder / "callgrind.out"
    ended = subprocess.run(
        ["valgrind", "--tool=callgrind", "--dump-line=no", f"--toggle-collect={WORKER}",
         f"--callgrind-out-file={out}", driller, "run", "--quiet", "--iterations", str(iterations), *what],
        capture_output=True, text=True, timeout=300)
    wanted = iterations * work.requests
    if ended.returncode or server.answered != wanted:
        sys.exit(f"error: {work.name}: exit status {ended.returncode}, {server.answered} requests "
                 f"of {wanted}\n{ended.stdout}{ended.stderr}")
    costs = by_function(out)
    if not costs:
        sys.exit(f"error: nothing was counted: is {WORKER}() still what a worker's thread runs?")
    return costs


def count(driller, work):
    """Instructions a request, by function."""
    with tempfile.TemporaryDirectory() as folder:
        short, long = (run(driller, work, n, Path(folder)) for n in (SHORT, LONG))
    long.subtract(short)
    requests = (LONG - SHORT) * work.requests
    return {function: n / requests for function, n in long.items()}


def unjudged():
    """Why nothing can be judged here, or None."""
    if not shutil.which("valgrind"):
        return "valgrind is not installed"
    if platform.machine() != "x86_64":
        return f"the ceilings are those of x86-64, and this is {platform.machine()}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("driller", type=os.path.abspath)
    parser.add_argument("works", nargs="*", metavar="WORK",
                        help=f"only these, with their functions: {', '.join(BY_NAME)}")
    options = parser.parse_args()
    if unknown := set(options.works) - set(BY_NAME):
        parser.error(f"no such work: {', '.join(unknown)}")
    if why := unjudged():
        print("SKIPPED:", why)
        return SKIPPED
    failed = False
    for work in [BY_NAME[name] for name in options.works] or WORKS:
        costs = count(options.driller, work)
        total = sum(costs.values())
        above = total - work.ceiling
        failed |= above > 0
        print(f"{work.name} ({work.what}): {total:.0f} instructions a request, {abs(above):.0f} "
              f"({abs(above) / work.ceiling:.1%}) {'ABOVE' if above > 0 else 'below'} the ceiling "
              f"of {work.ceiling}", flush=True)
        if options.works or above > 0:
            for function, n in collections.Counter(costs).most_common(SHOWN):
                print(f"{n:10.1f}  {function}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
