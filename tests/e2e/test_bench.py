"""The benchmark suite works: it runs tools against its server and says what came of it. What a run
costs is not looked at here."""
import json
import os
import shutil
import subprocess

import pytest

from conftest import ROOT


@pytest.fixture
def bench(driller, tmp_path):
    """bench(*args) runs bench/run with the binaries that are built; returns its CompletedProcess."""
    if not (shutil.which("nginx") or os.path.exists("/usr/sbin/nginx")):
        pytest.skip("nginx is not installed")
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")

    def run(*args):
        return subprocess.run(
            [ROOT / "bench" / "run", "--no-install", "--build", driller.parent, *args], text=True,
            capture_output=True, timeout=120, env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)})
    return run


def test_every_set_up_of_a_work(bench, tmp_path):
    done = bench("get", "plan", "--users", "4", "--quick", "--peers", "floor", "--json",
                 tmp_path / "history")
    assert done.returncode == 0, done.stderr
    titles = [line.split("**")[1] for line in done.stdout.splitlines() if line.startswith("**")]
    assert titles == ["get@4", "get@4", "plan@4", "plan@4", "Requests a second",
                      "CPU for a request", "CPU for a request"]
    rows = [line for line in done.stdout.splitlines() if line.startswith(("| driller ", "| floor "))]
    assert len(rows) == 8
    history = [json.loads(line) for line in (tmp_path / "history").read_text().splitlines()]
    assert [(r["work"], r["setup"]) for r in history[0]["results"]] == [
        ("get@4", "one"), ("get@4", "two"), ("plan@4", "one"), ("plan@4", "two")]
    for result in history[0]["results"]:
        assert set(result["tools"]) == {"driller", "floor"}
        for runs in result["tools"].values():
            assert all(run["requests"] > 0 and run["cpu"] > 0 and run["rss_mib"] > 0 for run in runs)


def test_start_is_measured_by_the_first_request(bench):
    done = bench("start", "--quick", "--peers", "floor")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n| driller ") == 2  # plain and TLS
    assert done.stdout.count("\n| floor ") == 1


def test_history_grows(bench, tmp_path):
    for _ in range(2):
        assert bench("get-16", "--quick", "--peers", "", "--setup", "one", "--json",
                     tmp_path / "history").returncode == 0
    assert len((tmp_path / "history").read_text().splitlines()) == 2


def test_tools_that_are_not_there_are_skipped(bench):
    done = bench("get-16", "--quick", "--peers", "oha,floor", "--setup", "one")
    assert done.returncode == 0, done.stderr
    assert "skipped: oha is not installed" in done.stderr
    assert "| floor " in done.stdout


@pytest.mark.parametrize("args, message", [
    (["no-such-work"], "no such work: 'no-such-work'"),
    (["get", "--peers", "floor,nobody"], "no such tool: nobody"),
])
def test_names_that_are_none(bench, args, message):
    done = bench(*args)
    assert done.returncode == 1
    assert message in done.stderr


def test_list_names_every_work_once(bench):
    lines = bench("--list").stdout.splitlines()
    names = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert len(names) == len(set(names)) > 30
    assert "get-10000" in names and "h2-64x8" in names


def test_pacing_of_driller_and_of_the_bare_pacer(driller, tmp_path):
    if not (driller.parent / "bench" / "bench_pacer").exists():
        pytest.fail("bench_pacer is not built", pytrace=False)
    done = subprocess.run(
        [ROOT / "bench" / "pacing", "--no-install", "--build", driller.parent, "--rounds", "1",
         "--seconds", "1", "--peers", "pacer", "pace-2000", "wait"],
        text=True, capture_output=True, timeout=120, env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()
            if line.startswith(("| driller", "| pacer"))]
    assert sorted(row[0] for row in rows if len(row) == 7) == [
        "driller", "driller-kernel", "driller-spin", "pacer"]
    assert sum(row[1:2] == ["response"] for row in rows) == 3  # of the work `wait`
