"""The plans in examples/, against the server that is meant for them, and what they teach."""
import collections
import csv
import pathlib
import re

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
PLANS = sorted(EXAMPLES.glob("*.yml"))


@pytest.fixture
def example(drive, shop):
    """example(name, *options) runs one against a server of its own."""
    def run(name, *options, **more):
        return drive("run", "--benchmark", EXAMPLES / name, "--base-url", shop.url, *options,
                     **more)
    return run


def steps_of(done):
    return {step["name"]: step for step in done.json["steps"]}


def names_of(done):
    """The names of the printed request lines, in order."""
    return [line[:25].strip() for line in done.lines if re.search(r" \d\d\d .*\d+ms$", line)]


def test_there_are_plans():
    assert len(PLANS) >= 7


def test_all_are_valid(drive):
    done = drive("validate", *PLANS)
    assert done.code == 0 and not done.stderr, done


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_each_runs_as_it_is(example, path):
    done = example(path.name, "--stats-format", "json")
    assert done.code == 0, done
    totals = done.json["global"]
    assert totals["total_requests"] > 0
    assert totals["started"] == totals["total_requests"] and totals["aborted"] == 0
    assert totals["causes"] == {}
    if path.stem != "slow-and-flaky":
        assert totals["failed_requests"] == 0


@pytest.mark.threads
def test_log_in_and_browse(example, shop):
    done = example("login-and-browse.yml", "--iterations", 30, "--concurrency", 6, "-w", 2,
                   "--stats-format", "json")
    assert done.code == 0, done
    assert {name: step["total_requests"] for name, step in steps_of(done).items()} == {
        "Log in": 30, "Fetch my account": 30, "Fetch my manager": 30, "Browse users": 90,
        "Place an order": 30, "Fetch the order": 30}
    assert done.json["global"]["status_counts"] == {"200": 210, "201": 30}
    orders = shop.get("/api/orders")
    assert orders["total"] == 30
    assert orders["orders"][0]["item"] == "tea for ada" and orders["orders"][0]["quantity"] == 2
    assert shop.stop() == 240 + 1


def test_every_row_of_the_csv_file_logs_in(example, shop):
    done = example("csv-users.yml", "--iterations", 1, "--concurrency", 1)
    assert done.code == 0, done
    with open(EXAMPLES / "users.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert collections.Counter(names_of(done)) == {
        "Log in": len(rows), "Fetch my account": 1, "Place an order": 3}
    ordered = [order["item"] for order in shop.get("/api/orders")["orders"]]
    assert len(set(ordered)) == 3 and set(ordered) <= {row["favourite"] for row in rows}


def test_a_seed_repeats_what_was_picked(example):
    first, again = (example("ranges.yml", "--iterations", 1, "--seed", 7) for _ in range(2))
    assert first.code == again.code == 0, first
    urls = [re.findall(r"/api/users/\d+", done.stdout) for done in (first, again)]
    assert urls[0] == urls[1]
    assert urls[0][:10] == [f"/api/users/{n}" for n in range(10, 101, 10)]
    assert urls[0][10:15] == [f"/api/users/{n}" for n in (5, 4, 3, 2, 1)]


@pytest.mark.parametrize("options,names", [
    ([], ["Log in", "Fetch my account", "List users", "Fetch a user", "Fetch a user",
          "Fetch a user", "Place an order"]),
    (["--tags", "account"], ["Log in", "Fetch my account"]),
    (["--tags", "users"], ["Log in", "Fetch my account", "List users", "Fetch a user",
                           "Fetch a user", "Fetch a user"]),
    (["--skip-tags", "orders,users"], ["Log in"]),
    (["--tags", "never"], ["Log in", "Wait for a slow page"]),
    (["--tags", "orders", "--skip-tags", "always"], ["Place an order"]),
])
def test_tags_choose_steps(example, options, names):
    done = example("include-and-tags.yml", "-i", 1, "-p", 1, *options)
    assert done.code == 0, done
    assert names_of(done) == names


def test_a_check_that_does_not_hold_fails_the_run(example):
    done = example("checks.yml", "--iterations", 3, "--quiet", "--tags", "never")
    assert done.code == 1, done
    line = 'Expect somebody else      FAIL: account.body.name -- expected "ada", got "grace"'
    assert done.lines.count(line) == 3
    assert "3 assertion(s) failed" in done.stderr


def test_variables(example):
    done = example("variables.yml")
    assert done.code == 0, done
    found = re.findall(r"run=run-(\d)&at=\d+ 200 OK", done.stdout)
    assert sorted(found) == ["0", "1", "2", "3"]
    assert done.stdout.count("Fetch the manager of grace ") == 4


def test_failures_are_counted(example):
    done = example("slow-and-flaky.yml", "--stats-format", "json")
    assert done.code == 0, done
    steps = steps_of(done)
    assert steps["Fetch a page that fails"]["status_counts"] == {"200": 45, "503": 5}
    assert steps["Fetch what is not there"]["status_counts"] == {"404": 50}
    assert steps["Follow a redirect"]["status_counts"] == {"200": 50}
    assert done.json["global"]["extra"]["redirects"] == 150
    assert steps["Wait for a slow page"]["latency_ms"]["min"] >= 100


def test_failures_by_timeout(example):
    done = example("slow-and-flaky.yml", "--stats-format", "json", "--iterations", 4,
                   "--concurrency", 2, "--timeout", "0.02")
    assert done.code == 0, done
    slow = steps_of(done)["Wait for a slow page"]
    assert slow["failed_requests"] == 4
    assert all("timeout" in cause for cause in slow["causes"])
