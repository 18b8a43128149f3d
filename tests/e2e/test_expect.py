"""Expect: 100-continue (row L-9): the body waits for the server's word, or for a second."""
import time

import pytest

from faultkit import check_sums
from rawserver import CLOSE, Request, ok
from tlskit import tls_server, trust  # noqa: F401 (fixtures)
from wirekit import check_server

BODY = b"x" * 3000


class Server:
    """A script: what is sent as soon as the head is here, and after the body if that comes. How
    long the body took to come is kept, in seconds; None: it did not."""

    def __init__(self, *answers, final=ok(b"", status=b"201 Created"), wait=5):
        self.answers = answers
        self.final = final
        self.wait = wait
        self.delays = []

    def __call__(self, connection):
        while True:
            head = connection._take_through(b"\r\n\r\n")
            request = Request(head, b"", connection.number)
            connection.server.note(request)
            size = int(request.field("Content-Length") or 0)
            begun = time.monotonic()
            expects = request.field("Expect") is not None
            for answer in self.answers if expects else ():
                if answer == CLOSE:
                    return
                connection.send(answer)
            connection.sock.settimeout(self.wait)
            request.body = connection._take(size)
            connection.sock.settimeout(None)
            self.delays.append(time.monotonic() - begun)
            connection.send(self.final)


@pytest.fixture
def upload(drive, plan, tmp_path):
    (tmp_path / "body").write_bytes(BODY)

    def run(server, *options, method="POST", body="{file: body}", n=1):
        plan(f"base: {server.url}\niterations: {n}\nconcurrency: 1\nplan:\n  - request:\n"
             f"      url: /\n      method: {method}\n      headers: {{Expect: 100-continue}}\n"
             + (f"      body: {body}\n" if body else ""))
        done = drive("run", "-b", "plan.yml", "--stats-format", "json", *options)
        assert done.code == 0, done
        check_sums(done.json)
        return done.json
    return run


def counted(figures):
    return {name: n for name, n in figures["global"]["extra"].items() if n}


@pytest.mark.fault("L-9")
def test_the_word_lets_the_body_go(upload, raw_server):
    script = Server(b"HTTP/1.1 100 Continue\r\n\r\n")
    server = raw_server(script)
    figures = upload(server, n=5)
    assert figures["global"]["status_counts"] == {"201": 5}
    assert [r.body for r in server.requests] == [BODY] * 5 and server.connections == 1
    assert server.requests[0].field("Expect") == "100-continue"
    assert max(script.delays) < 0.9 and counted(figures) == {"interim": 5}
    check_server(figures, server)


@pytest.mark.fault("L-9")
def test_the_body_waits_for_it(upload, raw_server):
    """Not a byte of it comes with the head."""
    early = []

    def serve(connection):
        head = connection._take_through(b"\r\n\r\n")
        connection.server.note(Request(head, b"", connection.number))
        connection.wait(0.3)
        connection.sock.setblocking(False)
        try:
            early.append(connection.rest + connection.sock.recv(65536))
        except BlockingIOError:
            early.append(connection.rest)
        connection.sock.setblocking(True)
        connection.send(b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
        connection._take(len(BODY))
        connection.send(ok())
    figures = upload(raw_server(serve))
    assert figures["global"]["status_counts"] == {"200": 1} and early == [b""]


@pytest.mark.fault("L-9")
def test_without_a_word_it_goes_after_a_second(upload, raw_server):
    script = Server()
    server = raw_server(script)
    figures = upload(server, n=2)
    assert figures["global"]["status_counts"] == {"201": 2} and server.connections == 1
    assert all(0.8 < delay < 4 for delay in script.delays), script.delays
    assert counted(figures) == {}


@pytest.mark.fault("L-9")
def test_a_word_in_between_is_none(upload, raw_server):
    script = Server(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
    figures = upload(raw_server(script))
    assert figures["global"]["status_counts"] == {"201": 1} and script.delays[0] > 0.8


@pytest.mark.fault("L-9")
def test_417_sends_it_again_without(upload, raw_server):
    script = Server(ok(b"no", status=b"417 Expectation Failed"), CLOSE)
    server = raw_server(script)
    figures = upload(server, n=3)
    assert figures["global"]["status_counts"] == {"201": 3}
    assert [r.field("Expect") for r in server.requests] == ["100-continue", None] * 3
    assert [r.body for r in server.requests] == [b"", BODY] * 3
    assert counted(figures) == {"reconnects": 3}
    check_server(figures, server)


@pytest.mark.fault("L-9")
def test_417_to_a_request_without_it_is_the_response(upload, raw_server):
    script = Server(ok(b"no", status=b"417 Expectation Failed"), CLOSE,
                    final=ok(b"no", status=b"417 Expectation Failed"))
    server = raw_server(script)
    figures = upload(server)
    assert figures["global"]["status_counts"] == {"417": 1} and len(server.requests) == 2


@pytest.mark.fault("L-9")
@pytest.mark.parametrize("status", [b"200 OK", b"401 Unauthorized", b"413 Content Too Large"])
def test_a_final_response_at_once_is_the_response(upload, raw_server, status):
    """The body is not sent, and the connection, on which it is still due, not used again."""
    script = Server(ok(b"", status=status), wait=3)
    server = raw_server(script)
    figures = upload(server, n=3)
    assert figures["global"]["status_counts"] == {status[:3].decode(): 3}
    assert server.connections == 3 and script.delays == [] and figures["duration_s"] < 2
    check_server(figures, server)


@pytest.mark.fault("L-9")
def test_the_server_goes_away_instead(upload, raw_server):
    figures = upload(raw_server(Server(CLOSE)))
    assert figures["global"]["causes"] == {"reset": 1}


@pytest.mark.fault("L-9")
def test_the_time_limit_holds_while_it_waits(upload, raw_server):
    server = raw_server(lambda connection: connection.hang())
    figures = upload(server, "--timeout", 0.4)
    assert figures["global"]["causes"] == {"timeout/first-byte": 1}
    assert figures["global"]["latency_ms"]["max"] < 900


def test_without_a_body_nothing_waits(upload, raw_server):
    server = raw_server([ok()])
    figures = upload(server, method="GET", body=None, n=3)
    assert figures["global"]["status_counts"] == {"200": 3} and figures["duration_s"] < 0.9
    assert server.connections == 1


def test_the_time_limit_and_the_second_together(drive, plan, tls_server, trust):  # noqa: F811
    """Over TLS, on connections that have been used: both are due at the same moment, and what writes the
    body must not outlive the connection."""
    def serve(connection):
        connection._take_through(b"\r\n\r\n")
        connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        connection._take(5)
        connection.send(ok())
        connection._take_through(b"\r\n\r\n")
        connection._take(5)  # no word, and no answer
    server = tls_server(serve)
    plan(f"base: {server.url}\niterations: 40\nconcurrency: 20\nplan:\n  - request:\n"
         "      {url: /, method: POST, body: hello, headers: {Expect: 100-continue}}\n")
    done = drive("run", "-b", "plan.yml", "--cacert", trust.ca, "--http", "1.1", "--timeout", "1",
                 "--stats-format", "json")
    assert done.code == 0, done
    check_sums(done.json)
    assert done.json["global"]["total_requests"] == 40
