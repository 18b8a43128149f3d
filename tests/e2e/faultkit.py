"""What the tests of faults share: public vectors, scripts for the raw server, sums that must hold."""
import base64
import contextlib
import json
import os
import pathlib
import socket

import pytest

from rawserver import ok

VECTORS = pathlib.Path(__file__).resolve().parents[3] / "shared" / "vectors"


def vectors(name):
    """Public test data; it is no part of the project, and a test without it is skipped."""
    path = VECTORS / name
    if not path.exists():
        pytest.skip(f"{path} is not here: its cases were NOT run")
    return json.loads(path.read_text(encoding="utf-8"))


def bytes_of(vector):
    return base64.b64decode(vector["b64"])


@contextlib.contextmanager
def full_listener():
    """The port of a listener whose queue is full: the kernel lets further connections wait."""
    with contextlib.ExitStack() as sockets:
        listener = sockets.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            filler = sockets.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def answering(reply=lambda request: ok()):
    """A script for raw_server: each request is answered with reply(request)."""
    def serve(connection):
        while True:
            connection.send(reply(connection.read_request()))
    return serve


def check_sums(figures):
    """Every request that was started has exactly one end."""
    total = figures["global"]
    assert total["started"] == total["total_requests"] + total["aborted"]
    assert total["total_requests"] == sum(total["status_counts"].values())
    assert sum(total["causes"].values()) == total["class_rollup"]["connection_errors"]
    for key in ("total_requests", "started", "aborted"):
        assert sum(step[key] for step in figures["steps"]) == total[key]


def sanitized(binary):
    """Is it built with a sanitizer? Those mind LD_PRELOAD and limits of the address space."""
    data = pathlib.Path(binary).read_bytes()
    return b"__asan_init" in data or b"__tsan_init" in data


def descriptors(pid):
    """What the descriptors of a process are, by number."""
    folder = f"/proc/{pid}/fd"
    found = {}
    for name in os.listdir(folder):
        try:
            found[int(name)] = os.readlink(f"{folder}/{name}")
        except OSError:
            pass
    return found
