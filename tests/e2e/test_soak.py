"""A short run of the soak test (scripts/soak): a misbehaving server, and sums that must hold."""
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from faultkit import sanitized

SOAK = pathlib.Path(__file__).resolve().parents[1] / "soak" / "soak.py"


@pytest.fixture
def soak(driller):
    """soak(seconds) starts a soak test; returns its Popen."""
    chaos = driller.parent / "tests" / "soak" / "chaos"
    if not chaos.exists():
        pytest.fail(f"{chaos} is not built", pytrace=False)
    running = []

    def start(seconds):
        options = ["--no-memory"] if sanitized(driller) else []
        running.append(subprocess.Popen(
            [sys.executable, SOAK, "--driller", driller, "--chaos", chaos, *options, str(seconds)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        return running[-1]

    yield start
    for process in running:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)  # it ends what it has started
        process.communicate()


@pytest.mark.clear
@pytest.mark.threads
def test_ten_seconds_of_a_misbehaving_server(soak):
    process = soak(10)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and output.endswith("soak: passed\n"), output


@pytest.mark.clear
def test_an_interrupt_ends_it_in_order(soak):
    process = soak(30)
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=15)
    assert process.returncode == 0 and output.endswith("soak: passed\n"), output
