"""One request, from the command line to the wire and back."""
import json
import signal
import threading

import pytest

from rawserver import CLOSE, HANG, ok


def test_the_request_as_it_goes_out(drive, raw_server):
    server = raw_server([ok()])
    done = drive("run", f"{server.url}/a?b=c#d")
    assert done.code == 0, done
    (request,) = server.requests
    assert request.method == "GET" and request.target == "/a?b=c"
    assert request.version == "HTTP/1.1"
    assert request.field("Host") == server.host
    assert request.field("Accept") == "*/*"
    assert request.field("User-Agent").startswith("driller")
    assert request.body == b""


def test_one_connection_carries_all_requests_of_a_user(drive, raw_server):
    server = raw_server([ok()])
    assert drive("run", server.url, "-i", 20, "-q").code == 0
    assert len(server.requests) == 20
    assert server.connections == 1


@pytest.mark.threads
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_every_request_is_counted_once(drive, shop, workers):
    done = drive("run", f"{shop.url}/health", "-i", 300, "-p", 6, "-w", workers,
                 "--stats-format", "json")
    assert done.code == 0, done
    totals = done.json["global"]
    assert totals["started"] == totals["total_requests"] == totals["successful_requests"] == 300
    assert totals["status_counts"] == {"200": 300}
    assert done.json["iterations"]["completed"] == 300
    assert shop.stop() == 300


def test_a_failed_request_is_counted_and_no_failure_of_the_run(drive, dead_port):
    done = drive("run", f"http://127.0.0.1:{dead_port}/", "-i", 3, "--stats-format", "json")
    assert done.code == 0, done
    totals = done.json["global"]
    assert totals["failed_requests"] == 3
    assert totals["status_counts"] == {"520": 3}
    assert totals["class_rollup"]["connection_errors"] == 3
    assert totals["causes"] == {"connect/refused": 3}


def test_a_body_cut_short_is_no_success(drive, raw_server):
    short = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"
    server = raw_server([[short, CLOSE]])
    done = drive("run", server.url, "--stats-format", "json")
    assert done.code == 0, done
    assert done.json["global"]["causes"] == {"truncated": 1}
    assert done.json["global"]["successful_requests"] == 0


def test_a_timeout_ends_a_request_that_nobody_answers(drive, raw_server):
    server = raw_server([HANG])
    done = drive("run", server.url, "--timeout", "0.2", "--stats-format", "json")
    assert done.code == 0, done
    (cause, number), = done.json["global"]["causes"].items()
    assert cause.startswith("timeout/") and number == 1


@pytest.mark.threads
def test_a_timed_run_ends_whatever_the_server_does(drive, raw_server):
    server = raw_server([HANG])
    done = drive("run", server.url, "-d", "300ms", "-p", 4, "-w", 2, "--timeout", 60,
                 "--stats-format", "json", timeout=20)
    assert done.code == 0, done
    assert done.json["global"]["aborted"] == done.json["global"]["started"] == 4


def test_nginx(drive, nginx):
    server = nginx(keepalive_requests=10)
    done = drive("run", f"{server.url}/index.html", "-i", 100, "-p", 4, "--stats-format", "json")
    assert done.code == 0, done
    assert done.json["global"]["successful_requests"] == 100
    server.stop()
    lines = server.requests()
    assert len(lines) == 100 + done.json["global"]["extra"].get("reconnects", 0)
    assert all('"GET /index.html HTTP/1.1" 200' in line for line in lines)


@pytest.mark.threads
@pytest.mark.parametrize("name,code", [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_ends_the_run_and_the_figures_are_printed(launch, raw_server, name, code):
    begun = threading.Event()

    def script(connection):
        for _ in range(3):
            connection.read_request()
            connection.send(ok())
        connection.read_request()
        begun.set()
        connection.hang()

    server = raw_server(script)
    process = launch("run", server.url, "-i", 100, "-p", 2, "-w", 2, "--timeout", 60,
                     "--stats-format", "json")
    assert begun.wait(20)
    process.send_signal(getattr(signal, name))
    out, err = process.communicate(timeout=20)
    assert process.returncode == code, err
    totals = json.loads(out)["global"]
    assert totals["successful_requests"] >= 3
    assert totals["started"] == totals["total_requests"] + totals["aborted"]
    assert json.loads(out)["interrupted"] == name


def test_the_tests_are_not_changed_by_this_environment(monkeypatch, drive, raw_server):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    server = raw_server([ok()])
    assert drive("run", server.url, "-q").code == 0
    assert len(server.requests) == 1
