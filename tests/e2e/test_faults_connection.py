"""Connections that end, stall or never come about (rows L of the catalogue of faults)."""
import json
import socket
import time

import pytest

from faultkit import check_sums
from rawserver import CLOSE, HANG, RESET, Ended, ok
from wirekit import NO_REPLY, Bad, Good, check_server, check_verdict, http, outcomes

UPLOAD = 20_000_000  # more than all socket buffers hold

IDEMPOTENT = ("GET", "HEAD", "PUT", "DELETE", "OPTIONS")


@pytest.fixture
def measure(drive):
    """measure(*args): the figures of a run that ends with 0."""
    def run(*args, **options):
        result = drive("run", *args, "--stats-format", "json", **options)
        assert result.code == 0, result
        return result.json
    return run


def a_plan(server, *steps):
    return f"base: {server.url}\nplan:\n" + "".join(f"  - {step}\n" for step in steps)


def request(method="GET", more=""):
    return f"request: {{url: /, method: {method}{more}}}"


# --- the keep-alive race ---

def every_second_is_dropped(end):
    """A script: each connection answers its first request and ends, so, at its second."""
    def serve(connection):
        connection.read_request()
        connection.send(ok(b""))
        connection.read_request()
        connection.do(end)
    return serve


@pytest.mark.fault("L-1")
@pytest.mark.parametrize("end", [CLOSE, RESET])
@pytest.mark.parametrize("method", IDEMPOTENT)
def test_sent_once_more(method, end, measure, plan, raw_server):
    server = raw_server(every_second_is_dropped(end))
    plan(a_plan(server, request(method)))
    figures = measure("-b", "plan.yml", "-i", 10, "-p", 1)
    assert figures["global"]["status_counts"] == {"200": 10}
    assert figures["global"]["extra"]["reconnects"] == 9
    assert (len(server.requests), server.connections) == (19, 10)
    check_server(figures, server)


@pytest.mark.fault("L-1")
@pytest.mark.parametrize("end", [CLOSE, RESET])
@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_not_sent_twice(method, end, measure, plan, raw_server):
    """Who knows what the server has done with the first."""
    server = raw_server(every_second_is_dropped(end))
    plan(a_plan(server, request(method)))
    figures = measure("-b", "plan.yml", "-i", 10, "-p", 1)
    assert figures["global"]["status_counts"] == {"200": 5, "520": 5}
    assert figures["global"]["causes"] == {"reset": 5}
    assert figures["global"]["extra"]["reconnects"] == 0
    assert len(server.requests) == 10
    check_server(figures, server)


@pytest.mark.fault("L-1")
def test_not_more_than_once(measure, raw_server):
    server = raw_server([ok(), CLOSE, CLOSE, ok()])
    figures = measure(server.url, "-i", 4, "-p", 1)
    assert figures["global"]["status_counts"] == {"200": 3, "520": 1}
    assert figures["global"]["causes"] == {"reset": 1}
    assert figures["global"]["extra"]["reconnects"] == 1
    assert len(server.requests) == 5
    check_server(figures, server)


@pytest.mark.fault("L-1")
def test_not_once_an_answer_has_begun(measure, raw_server):
    server = raw_server([ok(), [b"HTTP/1.1 2", CLOSE], ok()])
    figures = measure(server.url, "-i", 3, "-p", 1)
    assert figures["global"]["causes"] == {"truncated": 1}
    assert figures["global"]["extra"]["reconnects"] == 0
    assert len(server.requests) == 3


@pytest.mark.fault("L-1", "L-11")
@pytest.mark.parametrize("end", ["close", "half-close", "reset"])
def test_end_of_an_idle_connection_is_noticed(end, measure, plan, raw_server):
    """It is not used, also for POST; it is closed on this side, and costs no CPU."""
    gone = []

    def serve(connection):
        connection.read_request()
        connection.send(ok())
        connection.wait(0.1)
        if end == "half-close":
            connection.sock.shutdown(socket.SHUT_WR)
            try:
                connection.hang()
            except Ended:
                gone.append(time.monotonic())
        elif end == "reset":
            connection.reset()

    server = raw_server(serve)
    plan(a_plan(server, request("POST"), "delay: {seconds: 0.4}"))
    figures = measure("-b", "plan.yml", "-i", 3, "-p", 1)
    check_verdict(figures, Good(), 3)
    check_server(figures, server)
    assert server.connections == 3
    assert figures["generator"]["cpu_s"] < 0.4  # of 1.2 s
    assert end != "half-close" or len(gone) == 3


@pytest.mark.fault("L-2")
def test_close_after_some_responses(measure, raw_server):
    def serve(connection):
        for _ in range(3):
            connection.read_request()
            connection.send(ok())

    server = raw_server(serve)
    figures = measure(server.url, "-i", 60, "-p", 4)
    assert figures["global"]["status_counts"] == {"200": 60}
    assert len(server.requests) == 60  # none was read and left without an answer
    assert server.connections <= 24


@pytest.mark.fault("L-3")
def test_connection_close_is_kept_to(measure, raw_server):
    """The server says close and does not: driller does."""
    closed = []

    def serve(connection):
        connection.read_request()
        connection.send(ok(b"ok", b"Connection: close"))
        try:
            connection.read_request()
        except Ended:
            closed.append(connection.number)
            raise

    server = raw_server(serve)
    figures = measure(server.url, "-i", 20, "-p", 2)
    check_verdict(figures, Good(), 20)
    check_server(figures, server)
    assert server.connections == 20 and figures["duration_s"] < 5
    server.stop()
    assert len(closed) == 20


@pytest.mark.fault("L-4")
@pytest.mark.parametrize("fields, connections", [
    ([], 10), ([b"Connection: keep-alive"], 1), ([b"connection: Keep-Alive"], 1),
    ([b"Connection: close"], 10), ([b"Connection: keep-alive, close"], 10)])
def test_http_1_0(fields, connections, measure, raw_server):
    server = raw_server([http(b"Content-Length: 2", *fields, body=b"ok", line=b"HTTP/1.0 200 OK")])
    figures = measure(server.url, "-i", 10, "-p", 1)
    check_verdict(figures, Good(), 10)
    assert server.connections == connections
    check_server(figures, server)


# --- resets ---

@pytest.mark.fault("L-5")
@pytest.mark.parametrize("before, verdict", [
    (b"", NO_REPLY), (b"HTTP/1.1 200 OK\r\nX-", NO_REPLY),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", Bad("reset", "response body error"))])
def test_reset(before, verdict, drive, measure, raw_server):
    """Half of the requests are reset in the middle; the run goes on."""
    server = raw_server([ok(b"ok", b"Connection: close"), [before, 0.03, RESET]] * 10)
    figures = measure(server.url, "-i", 20, "-p", 1)
    assert figures["global"]["status_counts"] == {"200": 10, "520": 10}
    assert figures["global"]["causes"] == {verdict.cause: 10}
    check_server(figures, server)
    assert outcomes(drive("run", server.url)) == [verdict.label]


@pytest.mark.fault("L-5")
def test_reset_at_accept(drive, measure, raw_server):
    server = raw_server(lambda connection: connection.reset())
    figures = measure(server.url, "-i", 40, "-p", 4)
    check_verdict(figures, NO_REPLY, 40)
    check_sums(figures)
    assert server.connections == 40
    assert outcomes(drive("run", server.url)) == ["request failed"]


# --- time limits ---

def check_timeouts(run, cause, n):
    check_verdict(run.json, Bad(cause, "request timed out"), n)
    latency = run.json["global"]["latency_ms"]
    assert 1000 <= latency["min"] and latency["max"] < 2000
    assert run.seconds < 3


@pytest.mark.fault("L-6")
def test_no_answer(drive, raw_server):
    server = raw_server([HANG])
    run = drive("run", server.url, "-p", 4, "-i", 4, "--timeout", 1, "--stats-format", "json")
    check_timeouts(run, "timeout/first-byte", 4)
    check_server(run.json, server)
    run = drive("run", server.url, "--timeout", 0.2)
    assert outcomes(run) == ["request timed out"] and run.code == 0


@pytest.mark.fault("L-6")
def test_next_requests_after_a_timeout(drive, raw_server):
    """A user whose request timed out goes on, on a new connection."""
    closed = []

    def serve(connection):
        while connection.read_request().number % 2:
            connection.send(ok())
        try:
            connection.hang()
        except Ended:
            closed.append(len(server.requests))
            raise

    server = raw_server(serve)
    run = drive("run", server.url, "-p", 1, "-i", 6, "--timeout", 0.3, "--stats-format", "json")
    assert run.json["global"]["status_counts"] == {"200": 3, "520": 3}
    assert server.connections == 4
    check_server(run.json, server)
    server.stop()
    assert closed[0] < 6  # that connection was closed then, and not at the end of the run


@pytest.mark.fault("L-7")
@pytest.mark.parametrize("begin", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"])
def test_drip(begin, drive, raw_server):
    """That bytes keep coming does not put the limit off."""
    head = b"HTTP/1.1 200 OK\r\nX-A: "
    server = raw_server([[begin or head[:1], *(part for i in range(1, 40)
                                               for part in (0.1, head[i:i + 1] or b"x"))]])
    run = drive("run", server.url, "-p", 4, "-i", 4, "--timeout", 1, "--stats-format", "json")
    check_timeouts(run, "timeout/total", 4)
    check_server(run.json, server)


@pytest.mark.fault("L-10")
def test_server_that_does_not_read(drive, plan, tmp_path, raw_server):
    server = raw_server(lambda connection: connection.wait(5))
    (tmp_path / "body").write_bytes(b"x" * UPLOAD)
    plan(a_plan(server, request("POST", ", body: {file: body}")))
    run = drive("run", "-b", "plan.yml", "-p", 2, "-i", 2, "--timeout", 1, "--stats-format", "json")
    check_timeouts(run, "timeout/first-byte", 2)
    assert 0 < run.json["global"]["bytes_sent"] < 2 * UPLOAD
    assert run.json["generator"]["cpu_s"] < 1


# --- answers that come too soon ---

@pytest.mark.fault("L-8")
def test_response_before_the_request(measure, raw_server):
    def serve(connection):
        connection.send(ok(b"ok", b"Connection: close", status=b"503 Full"))
        connection.read_request()

    server = raw_server(serve)
    figures = measure(server.url, "-i", 10, "-p", 2)
    check_verdict(figures, Good(503), 10)
    assert server.connections == 10


@pytest.mark.fault("L-8")
@pytest.mark.parametrize("close", [False, True])
def test_early_refusal_of_an_upload(close, measure, plan, tmp_path, raw_server):
    """The status counts, the rest is not sent, and a connection closed under a write is no end."""
    received = []

    def serve(connection):
        head = connection.sock.recv(1000)
        connection.send(ok(b"", status=b"413 Content Too Large"))
        received.append(len(head))
        while not close:
            data = connection.sock.recv(1000)  # slowly
            if not data:
                return
            received.append(len(data))
            connection.wait(0.01)

    server = raw_server(serve)
    (tmp_path / "body").write_bytes(b"x" * UPLOAD)
    plan(a_plan(server, request("POST", ", body: {file: body}")))
    figures = measure("-b", "plan.yml", "-i", 4, "-p", 2)
    check_verdict(figures, Good(413), 4)
    assert server.connections == 4
    server.stop()
    assert 0 < sum(received) < 2 * UPLOAD


# --- no connection ---

@pytest.mark.fault("L-12")
def test_refused(drive, measure, dead_port):
    url = f"http://127.0.0.1:{dead_port}/"
    figures = measure(url, "-d", "1s", "-p", 4)
    total = figures["global"]
    assert total["causes"] == {"connect/refused": total["total_requests"]}
    assert figures["connections"]["opened"] == 0
    assert figures["connections"]["failed"] == total["total_requests"]
    # 8 at once, then with pauses of 1 ms, doubling up to 250 ms.
    assert 8 <= total["total_requests"] <= 60
    assert figures["generator"]["cpu_s"] < 0.7 and figures["duration_s"] < 3
    check_sums(figures)
    assert outcomes(drive("run", url)) == ["connection refused"]


@pytest.mark.fault("L-12")
def test_unreachable(drive, measure):
    """TCP to a multicast address is no route's."""
    figures = measure("http://224.0.0.1:9/", "-i", 4)
    check_verdict(figures, Bad("connect/unreachable", "could not connect"), 4)
    assert outcomes(drive("run", "http://224.0.0.1:9/")) == ["could not connect"]


@pytest.fixture
def silent_port():
    """A port that answers no attempt to connect: its queue is full, what comes is dropped."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        port = listener.getsockname()[1]
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        time.sleep(0.1)
        yield port
        for filler in fillers:
            filler.close()


@pytest.mark.fault("L-12")
def test_black_hole(drive, silent_port):
    run = drive("run", f"http://127.0.0.1:{silent_port}/", "-p", 4, "-i", 4, "--timeout", 1,
                "--stats-format", "json")
    check_timeouts(run, "connect/timeout", 4)
    assert run.json["connections"] == {"opened": 0, "reused": 0, "failed": 4}
    check_sums(run.json)


@pytest.mark.fault("L-13")
def test_server_that_restarts(launch, plan, raw_server):
    """Down for a second of three: errors meanwhile, then every user is back."""
    first = raw_server([ok()])
    plan(a_plan(first, request(), "delay: {milliseconds: 20}"))
    process = launch("run", "-b", "plan.yml", "-d", "3s", "-p", 4, "--stats-format", "json")
    deadline = time.monotonic() + 10
    while len(first.requests) < 20 and time.monotonic() < deadline:
        time.sleep(0.02)
    first.stop()
    time.sleep(1)
    second = raw_server([ok()], port=first.port)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    figures = json.loads(out)
    causes = figures["global"]["causes"]
    assert causes["connect/refused"] > 0 and set(causes) <= {"connect/refused", "reset"}
    # A user takes whatever connection is idle, so that fewer than four may do.
    assert 1 <= second.connections <= 4 and len(second.requests) > 20
    check_sums(figures)


# --- the end of the run ---

@pytest.mark.fault("L-14")
def test_in_flight_at_the_end(drive, raw_server):
    server = raw_server([ok()] * 10 + [HANG])
    run = drive("run", server.url, "-d", "1s", "-p", 8, "--stats-format", "json")
    total = run.json["global"]
    assert (total["started"], total["total_requests"], total["aborted"]) == (18, 10, 8)
    assert total["status_counts"] == {"200": 10} and total["causes"] == {}
    assert total["latency_ms"]["max"] < 1000
    assert run.json["iterations"]["aborted"] == 8
    check_server(run.json, server)
    assert run.seconds < 3 and run.code == 0


@pytest.mark.fault("L-14")
def test_in_flight_is_no_line(drive, raw_server):
    server = raw_server([HANG])
    run = drive("run", server.url, "-d", "0.3s", "-p", 3, "--stats")
    assert run.code == 0 and outcomes(run) == [] and "ERR" not in run.stdout
    assert "Total requests            0" in run.lines


@pytest.mark.fault("L-15")
@pytest.mark.parametrize("fields", [[], [b"Connection: close"]])
def test_timed_run_ends_on_time(fields, drive, raw_server):
    server = raw_server([ok(b"ok", *fields)])
    run = drive("run", server.url, "-d", "1s", "-p", 8, "--stats-format", "json")
    assert run.code == 0 and 1 <= run.seconds < 3
    assert run.json["global"]["causes"] == {}
    assert set(run.json["global"]["status_counts"]) == {"200"}
    check_server(run.json, server)
