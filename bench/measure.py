"""Runs a tool once against the server and says what it cost."""
import dataclasses
import json
import os
import signal
import subprocess
import tempfile
import time


class Failed(Exception):
    """A tool that could not be run, or ended badly; the text says why."""


@dataclasses.dataclass
class Sample:
    """One run of one tool, and what it cost for a request in µs.

    `requests` is the server's count; user and system time are the tool's own (getrusage of the
    ended process and its children), `server` is the server's; `rss_kb` is the largest resident set.
    """
    requests: float
    seconds: float
    user: float
    system: float
    server: float
    rss_kb: int

    @property
    def rate(self):
        return self.requests / self.seconds

    def figures(self):
        return {"requests": self.requests, "seconds": self.seconds, "rate": self.rate,
                "user": self.user, "system": self.system, "cpu": self.user + self.system,
                "server": self.server, "both": self.user + self.system + self.server,
                "rss_mib": self.rss_kb / 1024}


class Run:
    """A tool that runs under bench_spawn (spawn.c). `binary` is that."""

    def __init__(self, binary, argv, cpus, copies=1, stdout=subprocess.DEVNULL):
        self.result = tempfile.TemporaryFile("w+")
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [binary, ",".join(map(str, sorted(cpus))), str(copies), *map(str, argv)],
            stdin=subprocess.DEVNULL, stdout=stdout, stderr=self.errors, close_fds=False,
            preexec_fn=self._descriptor_3, process_group=0)

    def _descriptor_3(self):
        os.dup2(self.result.fileno(), 3)
        os.set_inheritable(3, True)

    def tool(self):
        """The process of the tool, of which there is one. Raises Failed when it has ended."""
        pid = self.process.pid
        while self.process.poll() is None:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                pids = file.read().split()
            if pids:
                return int(pids[0])
            time.sleep(0.01)
        raise Failed(self._ended())

    def _ended(self):
        self.errors.seek(0)
        said = [line for line in self.errors.read().splitlines() if line.strip()]
        return "ended badly: " + (said[0][:200] if said else "no message")

    def figures(self, timeout=120, killed=False):
        """Waits for the end and returns what bench_spawn says. Raises Failed; a tool that was
        `killed` has not."""
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.abort()
            raise Failed(f"did not end within {timeout} s") from None
        self.result.seek(0)
        text = self.result.read()
        if not text or json.loads(text)["status"] != 0 and not killed:
            raise Failed(self._ended())
        return json.loads(text)

    def abort(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.abort()
        self.result.close()
        self.errors.close()


def settle(server):
    """Waits until the connections of the tool before are gone from the server."""
    for _ in range(250):
        if server.status()["active"] <= 0:
            return
        time.sleep(0.02)


def sample(binary, server, argv, cpus, copies=1, stdout=None, cut_off=0):
    """One run: a Sample. The requests that were `cut_off` at its end count for half, as they were
    somewhere between their beginning and their end. Raises Failed."""
    settle(server)
    before, server_before = server.status(), server.cpu_us()
    with Run(binary, argv, cpus, copies, stdout or subprocess.DEVNULL) as run:
        used = run.figures()
    requests = server.status()["requests"] - before["requests"] - cut_off / 2
    if requests <= 0:
        raise Failed("sent nothing")
    return Sample(requests, used["wall_ns"] / 1e9, used["user_us"] / requests,
                  used["system_us"] / requests, (server.cpu_us() - server_before) / requests,
                  used["max_rss_kb"])
