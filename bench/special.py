"""Works that measure something else than the cost of a request.

A function here takes the bench, the work, the name of a tool and its CPUs, runs the tool once, and
returns figures, or None if the tool cannot do it.
"""
import dataclasses
import os
import signal
import socket
import ssl
import threading
import time

import measure
import peers

ANSWER = (b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\n"
          b"hello world\n")
FEW, MANY = 1000, 10000
CSV_ROWS = 1000000


class Watch:
    """A server that notes when the first byte of a request comes, and answers slowly."""

    def __init__(self, kind, server):
        self.first_ns, self.came = None, threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.ports = {kind: self.listener.getsockname()[1]}
        self.cert, self.url = server.cert, lambda kind, path="/": (
            f"{'http' if kind == 'http' else 'https'}://127.0.0.1:{self.ports[kind]}{path}")
        self.context = None
        if kind != "http":
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(server.cert, server.folder / "key.pem")
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
            while connection.recv(65536):
                self.first_ns = self.first_ns or time.monotonic_ns()
                self.came.set()
                time.sleep(0.05)
                connection.sendall(ANSWER)
        except OSError:
            pass
        finally:
            connection.close()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def to_first_request(bench, job, name, cpus):
    """Runs a tool until its first request, and ends it: start_ms and rss_mib."""
    watch = Watch(job.work.kind, job.server)
    job.server = watch
    argv = peers.TOOLS[name].command(job)
    try:
        if argv is None:
            return None
        with measure.Run(bench.spawn, argv, cpus) as run:
            if not watch.came.wait(120):
                raise measure.Failed("sent nothing")
            time.sleep(0.2)
            os.kill(run.tool(), signal.SIGKILL)
            used = run.figures(killed=True)
        return {"start_ms": (watch.first_ns - used["begun_ns"]) / 1e6,
                "rss_mib": used["max_rss_kb"] / 1024}
    finally:
        watch.close()


def start(bench, work, name, cpus):
    return to_first_request(bench, bench.job(dataclasses.replace(work, users=1), name, 1000),
                            name, cpus)


def csv(bench, work, name, cpus):
    file = bench.folder / "rows.csv"
    if not file.exists():
        with open(file, "w", encoding="ascii") as out:
            out.write("id,user,password,favourite\n")
            out.writelines(f"{n},user{n},{n * 7919 % 1000003:x},tea\n" for n in range(CSV_ROWS))
    job = bench.job(dataclasses.replace(work, users=1, plan="csv", path=str(file)), name, 1)
    figures = to_first_request(bench, job, name, cpus)
    figures["file_share"] = figures["rss_mib"] * 1024 * 1024 / file.stat().st_size
    return figures


def resident_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def resident_with(bench, work, name, cpus, users):
    """KiB of a tool whose users have each had an answer and now wait."""
    job = bench.job(dataclasses.replace(work, users=users), name, users, seconds=600)
    argv = peers.TOOLS[name].command(job)
    server = bench.server(work.workers)
    measure.settle(server)
    before = server.status()["requests"]
    with measure.Run(bench.spawn, argv, cpus) as run:
        for _ in range(600):
            status = server.status()
            if status["requests"] - before >= users and status["active"] >= users:
                time.sleep(1)
                return resident_kb(run.tool())
            run.tool()
            time.sleep(0.1)
    raise measure.Failed(f"has not got {users} users to wait")


def idle(bench, work, name, cpus):
    few = resident_with(bench, work, name, cpus, FEW)
    many = resident_with(bench, work, name, cpus, MANY)
    return {"idle_kib": (many - few) / (MANY - FEW), "rss_mib": many / 1024}


MEASURES = {"start": start, "csv": csv, "idle": idle}
