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
    requests: int
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
                "server": self.server, "rss_mib": self.rss_kb / 1024}


def spawn(binary, argv, cpus, copies=1, stdout=subprocess.DEVNULL, timeout=120):
    """Runs bench_spawn (spawn.c): returns its figures. Raises Failed."""
    with tempfile.TemporaryFile("w+") as result, tempfile.TemporaryFile("w+") as errors:
        def descriptor_3():
            os.dup2(result.fileno(), 3)
            os.set_inheritable(3, True)

        process = subprocess.Popen(
            [binary, ",".join(map(str, sorted(cpus))), str(copies), *map(str, argv)],
            stdin=subprocess.DEVNULL, stdout=stdout, stderr=errors, close_fds=False,
            preexec_fn=descriptor_3, start_new_session=True)
        try:
            process.wait(timeout)
        except BaseException as problem:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(problem, subprocess.TimeoutExpired):
                raise Failed(f"did not end within {timeout} s") from None
            raise
        result.seek(0)
        errors.seek(0)
        text, said = result.read(), errors.read().strip()
        figures = json.loads(text) if text else {"status": process.returncode or 1}
        if figures["status"] != 0:
            raise Failed(f"ended with status {figures['status']}: {said[-300:] or 'no message'}")
        return figures


def settle(server):
    """Waits until the connections of the tool before are gone from the server."""
    for _ in range(250):
        if server.status()["active"] <= 0:
            return
        time.sleep(0.02)


def sample(binary, server, argv, cpus, copies=1, stdout=None):
    """One run: a Sample. Raises Failed."""
    settle(server)
    before, server_before = server.status(), server.cpu_us()
    used = spawn(binary, argv, cpus, copies, stdout or subprocess.DEVNULL)
    requests = server.status()["requests"] - before["requests"]
    if requests <= 0:
        raise Failed("sent nothing")
    return Sample(requests, used["wall_ns"] / 1e9, used["user_us"] / requests,
                  used["system_us"] / requests, (server.cpu_us() - server_before) / requests,
                  used["max_rss_kb"])
