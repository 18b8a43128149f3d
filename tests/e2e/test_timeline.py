"""What is shown and written while a run goes on: the time line, stages, the progress."""
import csv
import fcntl
import os
import pty
import signal
import struct
import termios
import threading
import time

import pytest

from rawserver import HANG, ok


def wait_for(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def total(entries, key):
    return sum(int(entry[key]) for entry in entries)


def check_sums(entries, totals):
    assert total(entries, "started") == totals["started"]
    assert total(entries, "requests") == totals["total_requests"]
    assert total(entries, "ok") == totals["successful_requests"]
    assert total(entries, "aborted") == totals["aborted"]
    assert total(entries, "bytes_received") == totals["bytes_received"]
    assert total(entries, "bytes_sent") == totals["bytes_sent"]


@pytest.mark.threads
def test_the_time_line_adds_up(drive, shop, tmp_path):
    done = drive("run", f"{shop.url}/slow?ms=5", "-d", "1200ms", "-p", 6, "-w", 2, "--interval", "100ms",
                 "--stats-format", "json", "--timeline", "t.csv")
    assert done.code == 0, done
    timeline, totals = done.json["timeline"], done.json["global"]
    entries = timeline["entries"]
    assert timeline["interval_s"] == 0.1
    assert totals["aborted"] > 0
    check_sums(entries, totals)
    assert sum(entry["seconds"] for entry in entries) == pytest.approx(done.json["duration_s"])
    for before, after in zip(entries, entries[1:]):
        assert after["t_s"] == pytest.approx(before["t_s"] + before["seconds"])
    rows = list(csv.DictReader((tmp_path / "t.csv").open()))
    check_sums(rows, totals)
    assert len(rows) == len(entries)
    assert [int(row["requests"]) for row in rows] == [entry["requests"] for entry in entries]


def test_an_interrupted_run_has_its_time_line(launch, raw_server, tmp_path):
    server = raw_server([ok(), HANG])
    process = launch("run", server.url, "-i", 10, "-q", "--timeline", "t.csv")
    wait_for(lambda: len(server.requests) == 2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    rows = list(csv.DictReader((tmp_path / "t.csv").open()))
    assert total(rows, "started") == 2 and total(rows, "requests") == 1 and total(rows, "aborted") == 1


def test_a_full_disk_behind_the_time_line(drive, shop):
    done = drive("run", f"{shop.url}/health", "-i", 5, "--timeline", "/dev/full", "--stats-format", "json")
    assert done.code == 1
    assert "error: couldn't write the time line /dev/full: No space left" in done.stderr, done
    assert done.json["global"]["total_requests"] == 5


def test_a_time_line_that_cannot_be_opened(drive, shop):
    done = drive("run", f"{shop.url}/health", "--timeline", "nowhere/t.csv")
    assert done.code == 1 and "couldn't open the time line nowhere/t.csv" in done.stderr, done
    assert shop.stop() == 0


@pytest.mark.parametrize("interval", ["9ms", "x", "0s"])
def test_intervals_that_are_none(drive, dead_port, interval):
    done = drive("run", f"http://127.0.0.1:{dead_port}/", "--interval", interval)
    assert done.code == 1 and "is no interval" in done.stderr, done


def test_too_many_intervals(drive, dead_port):
    done = drive("run", f"http://127.0.0.1:{dead_port}/", "-d", "1h", "--interval", "10ms", "--timeline", "t.csv")
    assert done.code == 1 and "more than 100000 intervals" in done.stderr, done


@pytest.mark.threads
def test_stages_add_up(drive, shop):
    done = drive("run", f"{shop.url}/slow?ms=5", "--stages", "300ms:6,0s:2,300ms:2", "-w", 2,
                 "--stats-format", "json")
    assert done.code == 0, done
    stages = done.json["stages"]
    assert [(stage["t_s"], stage["seconds"], stage["from"], stage["to"]) for stage in stages] == \
        [(0, 0.3, 0, 6), (0.3, 0.3, 2, 2)]
    check_sums(stages, done.json["global"])
    assert all(stage["requests"] > 0 for stage in stages)


# --- the progress ---


class Terminal:
    """A pseudo-terminal, and all that was written to it."""

    def __init__(self, columns=80):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.text = b""
        self.changed = threading.Condition()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        while True:
            try:
                piece = os.read(self.master, 4096)
            except OSError:
                piece = b""
            with self.changed:
                self.text += piece
                self.changed.notify_all()
            if not piece:
                return

    def wait_for(self, text):
        with self.changed:
            assert self.changed.wait_for(lambda: text in self.text, 30), self.text

    def close(self):
        """All that was written, once nobody has it open any more."""
        os.close(self.slave)
        self.thread.join(30)
        os.close(self.master)
        return self.text.decode()


def test_progress_on_a_terminal(launch, raw_server):
    server = raw_server([ok(), HANG])
    terminal = Terminal(columns=40)
    process = launch("run", server.url, "-i", 10, "-q", "--color", "never", stderr=terminal.slave)
    terminal.wait_for(b" of 10")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    text = terminal.close()
    assert process.returncode == 130
    assert "\033" not in out.decode() and " of 10" not in out.decode()
    frames = text.split("\r\033[K")
    assert len(frames) > 2 and frames[0] == "" and frames[-1] == "", text
    assert all(len(frame) < 40 and "\n" not in frame for frame in frames), text


def test_progress_keeps_out_of_the_way_of_warnings(launch, plan, raw_server):
    server = raw_server([ok(), HANG])
    plan(f"base: {server.url}\niterations: 1\nplan:\n- name: a\n  request: {{url: /}}\n- name: b\n"
         "  exec: {command: exit 3}\n- name: c\n  request: {url: /}\n")
    terminal = Terminal()
    process = launch("run", "-b", "plan.yml", "-q", "--color", "never", stderr=terminal.slave)
    terminal.wait_for(b"status 3")
    terminal.wait_for(b"of 1  ")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    lines = terminal.close().split("\n")
    warning = next(line for line in lines if "status 3" in line)
    assert warning.split("\033[K")[-1].startswith("warning: "), lines


@pytest.mark.parametrize("arguments", [["-q", "--no-progress"], []])
def test_no_progress(launch, shop, arguments):
    """It was not asked for, or lines go to that terminal."""
    terminal = Terminal()
    process = launch("run", f"{shop.url}/slow?ms=500", *arguments, stdout=terminal.slave, stderr=terminal.slave)
    assert process.wait(20) == 0
    assert "\033[K" not in terminal.close()


@pytest.mark.parametrize("arguments", [["-q"], ["-s"], ["--stats-format", "json"], ["-q", "--progress"]])
def test_nothing_of_it_in_pipes(drive, shop, arguments):
    done = drive("run", f"{shop.url}/slow?ms=500", *arguments)
    assert done.code == 0, done
    assert "\033" not in done.stdout + done.stderr and "in flight" not in done.stdout + done.stderr


def test_a_run_says_how_busy_it_was(drive, shop):
    done = drive("run", f"{shop.url}/health", "-i", 100, "--stats-format", "json")
    assert 0 < done.json["generator"]["busy"] <= 1.1
    assert done.json["generator"]["warnings"] == []


def test_late_starts_are_warned_of(drive, shop):
    """One user cannot begin 200 iterations of 20 ms in a second."""
    done = drive("run", f"{shop.url}/slow?ms=20", "--rate", "200/s", "-d", "1s", "-p", 1, "--stats-format", "json")
    assert done.code == 0, done
    assert any("found no free user" in warning for warning in done.json["generator"]["warnings"])
    assert "warning: the figures are the load generator's, not the server's: " in done.stderr
