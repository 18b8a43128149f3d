#!/usr/bin/env python3
"""Lets driller load the chaos server for long, watches it from outside, and checks its sums.

Usage: soak.py --driller FILE --chaos FILE [--seed N] [--samples FILE] SECONDS

Every second its memory, descriptors, threads and children are looked at. At the end its figures
must be consistent in themselves and with what the server has counted. An interrupt ends the run
early and in order. The last line is "soak: passed", or what was violated comes before
"soak: FAILED" and the exit status is 1.
"""
import argparse
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
USERS, WORKERS, TIMEOUT = 50, 2, 1
STEPS = 14  # of the plan, that send something
REQUEST_MAX = 1_100_000  # bytes: what a command has printed is sent
SETTLED = 60  # seconds after which memory may not grow any more
GROWTH_KIB = 1024
STDERR_MAX = 1 << 20
LEFT_OUT = "left-out"
# What the start of a request can come to without a byte of it being sent.
NEVER_SENT = ("dns", "connect/", "tls/", "local", "missing-variable")


class Sample:
    """What /proc tells of a process at a time."""

    def __init__(self, pid, seconds):
        self.seconds = seconds
        folder = f"/proc/{pid}"
        with open(f"{folder}/status", encoding="ascii", errors="replace") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        self.rss_kib = int(status["VmRSS"].split()[0])
        self.threads = int(status["Threads"])
        self.descriptors = len(os.listdir(f"{folder}/fd"))
        self.zombies = set()
        for task in os.listdir(f"{folder}/task"):
            with open(f"{folder}/task/{task}/children", encoding="ascii") as file:
                self.zombies |= {child for child in file.read().split() if is_zombie(child)}


def is_zombie(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] == b"Z"
    except OSError:
        return False


def left_behind(mark):
    """Processes, of any parent, that have the mark in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue
        if mark.encode() in environment.split(b"\0"):
            found.append(pid)
    return found


class Soak:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.samples = []
        self.interrupted = False
        self.figures = self.server = self.records = self.status = None
        self.mark = f"SOAK_MARK={os.getpid()}-{random.getrandbits(64):x}"

    def start(self):
        own = {"start_new_session": True}  # an interrupt of the terminal is for us alone
        self.chaos = subprocess.Popen([self.options.chaos, str(self.options.seed)],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, **own)
        url = self.chaos.stdout.readline().decode().split()[-1]
        report = self.folder / "report"
        os.mkfifo(report)
        self.counter = subprocess.Popen(["grep", "-a", "-c", "^- name: ", report],
                                        stdout=subprocess.PIPE, **own)
        picture = random.Random(self.options.seed).randbytes(200_000)
        (self.folder / "picture.bin").write_bytes(picture)
        self.stderr = self.folder / "stderr"
        kept = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
        name, _, value = self.mark.partition("=")
        with open(self.folder / "stdout", "wb") as out, open(self.stderr, "ab") as err:
            self.driller = subprocess.Popen(
                [self.options.driller, "run", "--benchmark", HERE / "plan.yml",
                 "--base-url", url, "--concurrency", str(USERS), "--worker-threads", str(WORKERS),
                 "--duration", f"{self.options.seconds}s", "--timeout", str(TIMEOUT),
                 "--skip-tags", LEFT_OUT, "--seed", str(self.options.seed),
                 "--stats-format", "json", "--report", report],
                stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=self.folder,
                env={**kept, "SOAK_PORT": url.rpartition(":")[2], name: value}, **own)

    def watch(self):
        """Until driller has ended; looks at it every second."""
        begun = time.monotonic()
        while True:
            try:
                self.driller.wait(timeout=max(0, begun + len(self.samples) + 1 - time.monotonic()))
                return
            except subprocess.TimeoutExpired:
                pass
            except KeyboardInterrupt:
                self.interrupt()
                continue
            seconds = time.monotonic() - begun
            if seconds > self.options.seconds + 30:
                self.driller.kill()  # shows as an exit status that is not the expected one
                continue
            try:
                self.samples.append(Sample(self.driller.pid, seconds))
            except (OSError, KeyError):
                continue  # it is just ending
            if self.stderr.stat().st_size > STDERR_MAX:
                os.truncate(self.stderr, 0)

    def interrupt(self):
        if not self.interrupted:
            self.interrupted = True
            self.driller.send_signal(signal.SIGINT)

    def finish(self):
        self.status = self.driller.wait()
        self.chaos.stdin.close()
        self.server = json.loads(self.chaos.stdout.read() or "null")
        self.chaos.wait()
        self.records = int(self.counter.communicate(timeout=10)[0])
        try:
            self.figures = json.loads((self.folder / "stdout").read_text())
        except ValueError:
            self.figures = None

    def stop(self):
        for process in (self.driller, self.chaos, self.counter):
            if process.poll() is None:
                process.kill()
                process.wait()


def never_sent(causes):
    return sum(n for cause, n in causes.items() if cause.startswith(NEVER_SENT))


class Verdict:
    """Everything that must hold; what does not is in `violated`."""

    def __init__(self, soak):
        self.soak = soak
        self.violated = []
        if soak.figures is None or soak.server is None:
            self.check(False, f"no figures: driller ended with {soak.status}, "
                              f"the server with {soak.chaos.returncode}")
            return
        self.exit_status()
        self.sums("global", soak.figures["global"])
        for step in soak.figures["steps"]:
            self.sums(step["name"], step)
        self.whole_run()
        self.server()
        self.process()

    def check(self, holds, text):
        if not holds:
            self.violated.append(text)

    def exit_status(self):
        figures = self.soak.figures
        failed = figures["checks"]["failed"] or figures["iterations"]["abandoned"] or \
            figures["global"]["causes"].get("local")
        expected = 130 if self.soak.interrupted else 1 if failed else 0
        self.check(self.soak.status == expected,
                   f"exit status {self.soak.status}, expected {expected}")
        self.check(figures["interrupted"] == ("SIGINT" if self.soak.interrupted else None),
                   f"interrupted: {figures['interrupted']}")

    def sums(self, name, part):
        total, causes = part["total_requests"], sum(part["causes"].values())
        for what, value, wanted in (
                ("started - aborted", part["started"] - part["aborted"], total),
                ("successful + failed", part["successful_requests"] + part["failed_requests"],
                 total),
                ("statuses", sum(part["status_counts"].values()), total),
                ("classes", sum(part["class_rollup"].values()), total),
                ("causes", causes, part["class_rollup"]["connection_errors"])):
            self.check(value == wanted, f"{name}: {what}: {value}, expected {wanted}")

    def whole_run(self):
        figures = self.soak.figures
        whole = figures["global"]
        for key in ("started", "aborted", "total_requests", "bytes_sent", "bytes_received"):
            parts = sum(step[key] for step in figures["steps"])
            self.check(parts == whole[key], f"{key} of the steps: {parts}, in all {whole[key]}")
        rounds = figures["iterations"]
        ends = rounds["completed"] + rounds["abandoned"] + rounds["aborted"]
        self.check(ends == rounds["started"],
                   f"iterations: {rounds['started']} started, {ends} ended")
        self.check(self.soak.records == whole["total_requests"],
                   f"{self.soak.records} records in the report of {whole['total_requests']}")
        names = {step["name"] for step in figures["steps"]}
        self.check(len(names) == STEPS, f"{len(names)} steps of {STEPS} sent something")

    def server(self):
        """The server's own count: spoken of in docs and in chaos.c."""
        whole, server = self.soak.figures["global"], self.soak.server
        causes, extra = whole["causes"], whole["extra"]
        late = causes.get("connect/timeout", 0)
        self.expected = whole["started"] - never_sent(causes) + extra["redirects"] + \
            extra["reconnects"]
        low, high = self.expected - server["blind"] - whole["aborted"], self.expected + late
        seen = server["requests"] + server["unread"]
        self.check(low <= seen <= high,
                   f"the server has seen {seen} requests, expected {low} to {high}")
        opened = self.soak.figures["connections"]["opened"]
        most = opened + late + server["unread"] + whole["aborted"]
        self.check(opened <= server["connections"] <= most,
                   f"the server had {server['connections']} connections, "
                   f"expected {opened} to {most}")
        most = whole["bytes_sent"] + whole["aborted"] * REQUEST_MAX  # not counted for those
        self.check(server["bytes"] <= most,
                   f"the server has read {server['bytes']} bytes of at most {most}")
        for key, what in (("malformed", "requests that are no good HTTP"),
                          ("mismatched", "requests with something of another iteration"),
                          ("unclosed", "connections that driller left open")):
            self.check(server[key] == 0, f"{server[key]} {what}")

    def process(self):
        samples = self.soak.samples
        before = [s.rss_kib for s in samples if SETTLED / 2 < s.seconds <= SETTLED * 3 / 2]
        after = [s.rss_kib for s in samples if s.seconds > SETTLED * 3 / 2][-60:]
        if len(after) == 60 and not self.soak.options.no_memory:
            grown = statistics.median(after) - statistics.median(before)
            self.check(grown <= GROWTH_KIB, f"memory grew by {grown} KiB from the first minute on")
        half = len(samples) // 2
        long = len(samples) >= 2 * SETTLED  # enough to have seen the most there can be
        for what, slack in (("descriptors", 10 if long else 40), ("threads", 0 if long else 4)):
            before = max((getattr(s, what) for s in samples[:half]), default=0)
            after = max((getattr(s, what) for s in samples[half:]), default=0)
            self.check(not half or after <= before + slack,
                       f"{what} grew from {before} to {after}")
        for one, two in zip(samples, samples[1:]):
            both = one.zombies & two.zombies
            self.check(not both, f"zombies at {two.seconds:.0f} s: {sorted(both)}")
        left = left_behind(self.soak.mark)
        self.check(not left, f"processes left behind: {left}")


def print_samples(samples):
    print("\n   time   memory  descriptors  threads")
    rows = min(len(samples), 12)
    for row in range(rows):
        s = samples[(len(samples) - 1) * row // max(1, rows - 1)]
        print(f"{s.seconds:5.0f} s {s.rss_kib:5} KiB {s.descriptors:12} {s.threads:8}")


def print_figures(soak, verdict):
    figures, server = soak.figures, soak.server
    whole = figures["global"]
    print()
    for label, value in (
            ("seconds", f"{figures['duration_s']:.1f}"),
            ("requests started", whole["started"]),
            ("responses", whole["total_requests"] - whole["class_rollup"]["connection_errors"]),
            ("without a response", whole["class_rollup"]["connection_errors"]),
            *((f"  {cause}", n) for cause, n in sorted(whole["causes"].items())),
            ("aborted at the end", whole["aborted"]),
            *((name, n) for name, n in whole["extra"].items()),
            ("iterations", figures["iterations"]["started"]),
            ("  given up", figures["iterations"]["abandoned"]),
            ("checks failed", figures["checks"]["failed"]),
            ("seen by the server", server["requests"] + server["unread"]),
            ("  expected", getattr(verdict, "expected", "-")),
            ("  in part", server["partial"]),
            ("  reset unread", server["unread"]),
            ("  idle ones reset", server["blind"]),
            ("connections", server["connections"]),
            ("refusing", f"{server['refusals']} times"),
            ("CPU seconds", f"{figures['generator']['cpu_s']:.1f}")):
        print(f"{label:22} {value:>12}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seconds", type=int, metavar="SECONDS")
    parser.add_argument("--driller", type=pathlib.Path, required=True)
    parser.add_argument("--chaos", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--samples", type=pathlib.Path, help="write every sample to FILE, as CSV")
    parser.add_argument("--no-memory", action="store_true",
                        help="do not judge the memory (a sanitizer keeps what is freed)")
    return parser.parse_args()


def main():
    options = arguments()
    options.driller = options.driller.resolve()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="soak-", dir=memory) as folder:
        soak = Soak(options, pathlib.Path(folder))
        soak.start()
        try:
            soak.watch()
            soak.finish()
        finally:
            soak.stop()
        verdict = Verdict(soak)
        if verdict.violated:
            text = soak.stderr.read_bytes()[-3000:].decode("utf-8", "backslashreplace")
            print(f"the end of what driller said:\n{text}")
    print_samples(soak.samples)
    if options.samples:
        options.samples.write_text("seconds,rss_kib,descriptors,threads\n" + "".join(
            f"{s.seconds:.1f},{s.rss_kib},{s.descriptors},{s.threads}\n" for s in soak.samples))
    if soak.figures and soak.server:
        print_figures(soak, verdict)
    print()
    for text in verdict.violated:
        print(f"VIOLATED: {text}")
    print("soak: FAILED" if verdict.violated else "soak: passed")
    return 1 if verdict.violated else 0


if __name__ == "__main__":
    sys.exit(main())
