"""HTTP/2 servers that are wrong, odd or in trouble (rows F of the catalogue of faults)."""
import pytest

from faultkit import check_sums
from h2server import (ACK, CANCEL, CONTINUATION, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, HEADERS,
                      HTTP_1_1_REQUIRED, INTERNAL_ERROR, NO_ERROR, PING, PROTOCOL_ERROR,
                      PUSH_PROMISE, REFUSED_STREAM, SETTINGS, H2Server, block, data, field, frame,
                      goaway, headers, integer, reset, response, window_update)
from rawserver import Ended
from wirekit import MIB

BODY = "x" * (MIB // 2)


@pytest.fixture
def h2_server():
    """h2_server(script) starts an H2Server (see h2server.py); all are stopped at the end."""
    servers = []

    def start(script, **options):
        servers.append(H2Server(script, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def measure(drive):
    """measure(server, *args): the `global` figures of a run that ends well, whose sums hold."""
    def run(server, *args, url=True, **options):
        where = (server.url + "/",) if url else ()
        result = drive("run", *where, "--http", "2-prior-knowledge", "--stats-format", "json",
                       "--quiet", *args, **options)
        assert result.code == 0, result
        check_sums(result.json)
        total = result.json["global"]
        total["connections"] = total.get("connections") or result.json.get("connections")
        total["seconds"] = result.seconds
        return total
    return run


def answering(*frames, **greeting):
    """A script: each request on stream S is answered with what each of `frames` makes of S."""
    def serve(peer):
        peer.greet(**greeting)
        while True:
            stream = peer.request()
            peer.answer(stream, *(make(stream) for make in frames))
    return serve


def check_seen(server, total):
    """The server has seen what driller says it sent."""
    extra = total["extra"]
    assert server.count == total["started"] + extra["reconnects"] + extra["redirects"]


# --- F-1 to F-3: GOAWAY and REFUSED_STREAM ---

@pytest.mark.fault("F-1")
@pytest.mark.parametrize("close", [True, False])
@pytest.mark.parametrize("users", [1, 10])
def test_goaway_after_some(users, close, measure, h2_server):
    """Each connection takes five requests; those above come again on another."""
    def serve(peer):
        peer.greet()
        for _ in range(5):
            stream = peer.request()
            peer.answer(stream)
        peer.send(goaway(stream))
        if not close:
            peer.hang()
        try:
            while True:
                peer.read()
        except Ended:
            pass
    server = h2_server(serve)
    total = measure(server, "-p", users, "-i", 100)
    assert (total["status_counts"], total["causes"]) == ({"200": 100}, {})
    assert server.connections >= 20


@pytest.mark.fault("F-1")
def test_goaway_first(measure, h2_server):
    """The word comes before the answers to those that are still processed."""
    def serve(peer):
        peer.greet()
        streams = [peer.request() for _ in range(4)]
        peer.send(goaway(streams[0]))
        peer.wait(0.05)
        peer.answer(streams[0])
        peer.hang()
    server = h2_server(serve)
    total = measure(server, "-p", 4, "-i", 4, "--timeout", 2)
    # The last three of a connection never have a fourth beside them.
    assert total["status_counts"]["200"] == 1
    assert server.count == 4 + 3
    assert total["extra"]["reconnects"] == 3


@pytest.mark.fault("F-2")
@pytest.mark.parametrize("code", [ENHANCE_YOUR_CALM, HTTP_1_1_REQUIRED, NO_ERROR])
@pytest.mark.parametrize("when", ["at once", "after a request", "all claimed"])
def test_goaway_for_ever(when, code, measure, h2_server):
    def serve(peer):
        peer.greet()
        if when != "at once":
            peer.request()
        peer.send(goaway((1 << 31) - 1 if when == "all claimed" else 0, code))
        peer.connection.close()
    server = h2_server(serve)
    total = measure(server, "-p", 4, "-d", "1s")
    lost = "reset" if when == "all claimed" and code == NO_ERROR else "protocol/h2"
    assert total["status_counts"].keys() == {"520"}
    assert set(total["causes"]) <= {lost, "protocol/h2", "reset"} and total["causes"][lost] > 0
    assert server.connections < 300  # there is a pause after some that were in vain
    assert total["seconds"] < 5


@pytest.mark.fault("F-3")
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_refused_once(method, measure, plan, h2_server):
    """It was not processed, whatever it is: it is sent once more."""
    def serve(peer):
        peer.greet()
        while True:
            peer.send(reset(peer.request(), REFUSED_STREAM))
            peer.answer(peer.request())
    server = h2_server(serve)
    plan(f"base: {server.url}\nplan:\n  - request: {{url: /, method: {method}, body: ab}}\n")
    total = measure(server, "-b", "plan.yml", "-p", 1, "-i", 10, url=False)
    assert (total["status_counts"], total["extra"]["reconnects"]) == ({"200": 10}, 10)
    assert server.connections == 1
    check_seen(server, total)


@pytest.mark.fault("F-3")
def test_refused_for_ever(measure, h2_server):
    server = h2_server(answering(lambda stream: reset(stream, REFUSED_STREAM)))
    total = measure(server, "-p", 2, "-i", 10)
    assert (total["causes"], total["extra"]["reconnects"]) == ({"protocol/h2": 10}, 10)
    check_seen(server, total)


@pytest.mark.fault("F-3")
@pytest.mark.parametrize("code", [NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, CANCEL, 0xffffffff])
def test_reset_stream(code, measure, h2_server):
    server = h2_server(answering(lambda stream: reset(stream, code)))
    total = measure(server, "-p", 2, "-i", 10)
    assert (total["causes"], total["extra"]["reconnects"]) == ({"protocol/h2": 10}, 0)
    assert server.connections == 1
    check_seen(server, total)


# --- what one response decides; the connection lives ---

CLEAN = {"200": 10}


def fault(row, name, cause, *frames):
    return pytest.param(cause, frames, id=f"{row} {name}", marks=pytest.mark.fault(row))


def with_fields(*fields, status=b"200"):
    return lambda s: headers(s, *fields, status=status, end=True)


RESPONSES = [
    fault("F-4", "reset in the body", "truncated", lambda s: headers(s), lambda s: data(s, end=False),
        lambda s: reset(s, INTERNAL_ERROR)),
    fault("F-4", "no error, in the body", "truncated", lambda s: headers(s),
        lambda s: data(s, end=False), lambda s: reset(s, NO_ERROR)),
    fault("F-4", "no error, behind the end", None, lambda s: response(s),
        lambda s: reset(s, NO_ERROR)),
    fault("F-5", "less", "protocol/h2", lambda s: response(s, b"ok", (b"content-length", b"3"))),
    fault("F-5", "more", "protocol/h2", lambda s: response(s, b"ok", (b"content-length", b"1"))),
    fault("F-5", "nothing", "protocol/h2", with_fields((b"content-length", b"1"))),
    fault("F-5", "two", "protocol/h2",
        lambda s: response(s, b"ok", (b"content-length", b"2"), (b"content-length", b"3"))),
    fault("F-5", "equal", None, lambda s: response(s, b"ok", (b"content-length", b"2"))),
    fault("F-6", "no status", "protocol/h2", with_fields(status=None)),
    fault("F-6", "two", "protocol/h2", with_fields((b":status", b"200"))),
    fault("F-6", "abc", "protocol/h2", with_fields(status=b"abc")),
    fault("F-6", "20", "protocol/h2", with_fields(status=b"20")),
    fault("F-6", "101", "protocol/h2", with_fields(status=b"101")),
    fault("F-6", "upper case", "protocol/h2", with_fields((b"X-A", b"b"))),
    fault("F-6", "NUL", "protocol/h2", with_fields((b"x-a", b"b\0c"))),
    fault("F-6", "LF", "protocol/h2", with_fields((b"x-a", b"b\nc"))),
    fault("F-6", "connection", "protocol/h2", with_fields((b"connection", b"close"))),
    fault("F-6", "transfer-encoding", "protocol/h2",
        with_fields((b"transfer-encoding", b"chunked"))),
    fault("F-6", "path", "protocol/h2", with_fields((b":path", b"/"))),
    fault("F-7", "103", None, lambda s: headers(s, (b"link", b"<a>"), status=b"103"), response),
    fault("F-7", "100 and 103", None, lambda s: headers(s, status=b"100"),
        lambda s: headers(s, status=b"103"), response),
    fault("F-7", "trailers", None, lambda s: headers(s), lambda s: data(s, end=False),
        lambda s: frame(HEADERS, END_HEADERS | END_STREAM, s, block((b"x-a", b"b"), status=None))),
    fault("F-7", "trailers, no end", "protocol/h2", lambda s: headers(s),
        lambda s: data(s, end=False),
        lambda s: frame(HEADERS, END_HEADERS, s, block((b"x-a", b"b"), status=None))),
    fault("F-7", "unknown frame", None, lambda s: frame(0xbe, 0xff, s, b"what"),
        lambda s: frame(0xbe, 0xff, 0, b"what"), response),
    fault("F-7", "padding", None, lambda s: headers(s),
        lambda s: frame(0, END_STREAM | 8, s, b"\x05ok" + bytes(5))),
    fault("F-8", "16 interim", None, *[lambda s: headers(s, status=b"103")] * 16, response),
    fault("F-8", "17 interim", "too-large", *[lambda s: headers(s, status=b"103")] * 17),
    fault("F-12", "a few empty", None, lambda s: headers(s), lambda s: data(s, b"", end=False) * 900,
        data),
]


@pytest.mark.parametrize("cause, frames", RESPONSES)
def test_response(cause, frames, measure, h2_server):
    server = h2_server(answering(*frames))
    total = measure(server, "-p", 2, "-i", 10)
    assert total["causes"] == ({cause: 10} if cause else {})
    assert total["status_counts"] == ({"520": 10} if cause else CLEAN)
    assert server.connections == 1
    check_seen(server, total)


@pytest.mark.fault("F-8")
def test_endless_interim(measure, h2_server):
    def serve(peer):
        peer.greet()
        stream = peer.request()
        while True:
            peer.send(headers(stream, (b"link", b"<a>"), status=b"103"))
    total = measure(h2_server(serve), "-p", 1, "-i", 1)
    assert total["causes"] == {"too-large": 1}


# --- what ends the connection ---

def flood(piece):
    return lambda s: piece * 20000


def unended(s):
    return frame(HEADERS, END_STREAM, s, block())


CONNECTIONS = [
    fault("F-9", "full", "protocol/h2", unended, lambda s: frame(CONTINUATION, 0, s, field(b"a", b"b")) * 2000),
    fault("F-9", "empty", "protocol/h2", unended, lambda s: frame(CONTINUATION, 0, s) * 2000),
    fault("F-9", "of another stream", "protocol/h2", unended,
           lambda s: frame(CONTINUATION, END_HEADERS, s + 2, b"")),
    fault("F-11", "ping", "protocol/h2", flood(frame(PING, payload=bytes(8)))),
    fault("F-11", "settings", "protocol/h2", flood(frame(SETTINGS))),
    fault("F-12", "empty data", "protocol/h2", headers, flood(frame(0, 0, 1))),
    fault("F-14", "window overflow", "protocol/h2", lambda s: window_update(0, (1 << 31) - 1)),
    fault("F-14", "no increment", "protocol/h2", lambda s: window_update(0, 0)),
    fault("F-14", "initial window", "protocol/h2", lambda s: frame(SETTINGS, payload=b"\0\4\x80\0\0\0")),
    fault("F-15", "push", "protocol/h2", lambda s: frame(PUSH_PROMISE, END_HEADERS, s, b"\0\0\0\2" + block())),
    fault("F-15", "even stream", "protocol/h2", lambda s: headers(2)),
    fault("F-15", "idle stream", "protocol/h2", lambda s: headers(s + 1000)),
    fault("F-15", "data on 0", "protocol/h2", lambda s: data(0)),
    fault("F-15", "frame of 20 kB", "protocol/h2", headers, lambda s: data(s, bytes(20000))),
    fault("F-15", "settings of 5 bytes", "protocol/h2", lambda s: frame(SETTINGS, payload=bytes(5))),
    fault("F-15", "ping of 7 bytes", "protocol/h2", lambda s: frame(PING, payload=bytes(7))),
    fault("F-15", "wrong HPACK", "protocol/h2", lambda s: frame(HEADERS, END_HEADERS, s, b"\xff\xff\xff\xff\x7f")),
]


@pytest.mark.parametrize("cause, frames", CONNECTIONS)
def test_connection_ends(cause, frames, measure, h2_server):
    def serve(peer):
        peer.greet()
        stream = peer.request()
        peer.answer(stream, *(make(stream) for make in frames))
        peer.hang()
    server = h2_server(serve)
    total = measure(server, "-p", 1, "-i", 3, "--timeout", 5)
    assert total["causes"] == {cause: 3}
    assert server.connections == 3
    assert total["seconds"] < 4
    check_seen(server, total)


@pytest.mark.fault("F-10")
def test_hpack_bomb(measure, h2_server):
    """One field of 4 kB in the table, and 12,000 references to it."""
    add = b"\x40" + integer(1, 7) + b"a" + integer(4000, 7) + b"x" * 4000
    refer = b"\xbe" * 12000  # index 62, the newest of the dynamic table

    def serve(peer):
        peer.greet()
        while True:
            stream = peer.request()
            peer.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, block() + add + refer[:9000]))
    server = h2_server(serve)
    total = measure(server, "-p", 1, "-i", 200)
    assert total["causes"] == {"too-large": 200}


@pytest.mark.fault("F-11")
@pytest.mark.parametrize("piece", [window_update(0, 1), frame(0xbe, 0, 0, b"x"),
                                   frame(PING, ACK, 0, bytes(8)), frame(SETTINGS, ACK)],
                         ids=["window", "unknown", "pong", "settings ack"])
def test_floods_that_bring_nothing(piece, measure, h2_server):
    """They end no connection, perhaps, but no time limit waits for them."""
    def serve(peer):
        peer.greet()
        peer.request()
        while True:
            peer.send(piece * 5000)
    total = measure(h2_server(serve), "-p", 1, "-i", 1, "--timeout", 1)
    assert set(total["causes"]) <= {"timeout/first-byte", "protocol/h2"}
    assert total["seconds"] < 4


# --- F-13, F-14: limits ---

@pytest.mark.fault("F-13")
def test_no_streams(measure, h2_server):
    def serve(peer):
        peer.greet(MAX_CONCURRENT_STREAMS=0)
        peer.hang()
    server = h2_server(serve)
    total = measure(server, "-p", 5, "-i", 15, "--timeout", 0.3)
    assert total["causes"] == {"connect/timeout": 15}
    assert (server.connections, server.count) == (1, 0)


@pytest.mark.fault("F-13")
def test_streams_are_let_in_later(measure, h2_server):
    def serve(peer):
        peer.greet(MAX_CONCURRENT_STREAMS=0)
        peer.wait(0.2)
        peer.send(frame(SETTINGS, payload=b"\0\3\0\0\0\x0a"))
        while True:
            peer.answer(peer.request())
    server = h2_server(serve)
    total = measure(server, "-p", 5, "-i", 15)
    assert (total["status_counts"], server.connections) == ({"200": 15}, 1)


@pytest.mark.fault("F-13")
@pytest.mark.parametrize("limit", [1, 3, 1000])
def test_limit_is_kept(limit, measure, h2_server):
    def serve(peer):
        peer.greet(MAX_CONCURRENT_STREAMS=limit)
        while True:
            stream = peer.request()
            peer.wait(0.002)
            peer.answer(stream)
    server = h2_server(serve)
    total = measure(server, "-p", 12, "-i", 200)
    assert (total["status_counts"], total["causes"]) == ({"200": 200}, {})
    assert server.most <= limit
    assert server.connections == max(1, 12 // limit)
    check_seen(server, total)


@pytest.mark.fault("F-13")
def test_limit_is_lowered(measure, h2_server):
    def serve(peer):
        peer.greet(MAX_CONCURRENT_STREAMS=10)
        first = [peer.request() for _ in range(10 if peer.number == 1 else 1)]
        peer.send(frame(SETTINGS, payload=b"\0\3\0\0\0\1"))
        for stream in first:
            peer.answer(stream)
        while True:
            stream = peer.request()
            assert len(peer.open) == 1
            peer.answer(stream)
    server = h2_server(serve)
    total = measure(server, "-p", 10, "-i", 100)
    assert (total["status_counts"], total["causes"]) == ({"200": 100}, {})


@pytest.fixture
def upload(plan):
    """upload(server) writes a plan that sends half a MiB."""
    def write(server):
        plan(f"base: {server.url}\nplan:\n  - request: {{url: /, method: POST, body: {BODY}}}\n")
        return ("-b", "plan.yml")
    return write


@pytest.mark.fault("F-14")
def test_no_window(measure, upload, h2_server):
    def serve(peer):
        peer.greet(INITIAL_WINDOW_SIZE=0)
        peer.hang()
    server = h2_server(serve)
    total = measure(server, *upload(server), "-p", 2, "-i", 2, "--timeout", 0.5, url=False)
    assert total["causes"] == {"timeout/first-byte": 2}


@pytest.mark.fault("F-14")
def test_window_comes_later(measure, upload, h2_server):
    """Windows that open slowly, and one that is taken below nothing."""
    def serve(peer):
        peer.greet(INITIAL_WINDOW_SIZE=1000)
        while True:
            stream, size = peer.request(whole=False), 0
            peer.send(window_update(stream, 10), frame(SETTINGS, payload=b"\0\4\0\0\0\0"))
            while size < len(BODY):
                peer.send(window_update(stream, 20000), window_update(0, 20000))
                got = peer.read()
                size += len(got.payload) if got.kind == 0 else 0
            assert size == len(BODY)
            peer.answer(stream)
    server = h2_server(serve)
    total = measure(server, *upload(server), "-p", 1, "-i", 3, url=False)
    assert total["status_counts"] == {"200": 3}


@pytest.mark.fault("F-4")
def test_answer_before_the_upload_is_over(measure, upload, h2_server):
    """The rest is not sent, and the connection lives."""
    def serve(peer):
        peer.greet()
        while True:
            stream = peer.request(whole=False)
            peer.answer(stream, response(stream, status=b"413"), reset(stream, NO_ERROR))
    server = h2_server(serve)
    total = measure(server, *upload(server), "-p", 1, "-i", 5, url=False)
    assert total["status_counts"] == {"413": 5}
    assert server.connections == 1


@pytest.mark.fault("F-15")
@pytest.mark.parametrize("reply", [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", bytes(100),
                                   b"SSH-2.0-OpenSSH\r\n", headers(1), frame(PING, 0, 0, bytes(8))],
                         ids=["http1", "zeros", "ssh", "no settings", "ping first"])
def test_no_http2(reply, measure, h2_server):
    def serve(peer):
        peer.send(reply)
        peer.hang()
    server = h2_server(serve)
    total = measure(server, "-p", 2, "-i", 4, "--timeout", 5)
    assert total["causes"] == {"protocol/h2": 4}
    assert (server.count, total["connections"]["opened"]) == (0, 0)
    assert total["seconds"] < 4


# --- F-16: the connection is lost ---

@pytest.mark.fault("F-16")
@pytest.mark.parametrize("abrupt", [False, True])
@pytest.mark.parametrize("begun", [False, True])
def test_lost_with_many_open(begun, abrupt, measure, h2_server):
    def serve(peer):
        peer.greet(MAX_CONCURRENT_STREAMS=100)
        streams = [peer.request() for _ in range(100)]
        if begun:
            peer.send(*(headers(stream) for stream in streams))
            peer.wait(0.3)  # until they have been read: a reset throws away what was not
        peer.connection.reset() if abrupt else peer.connection.close()
    server = h2_server(serve)
    total = measure(server, "-p", 100, "-i", 100)
    assert total["causes"] == {"reset" if abrupt or not begun else "truncated": 100}
    assert (server.count, total["extra"]["reconnects"]) == (100, 0)


@pytest.mark.fault("F-16")
@pytest.mark.parametrize("method, good", [("GET", 10), ("POST", 5)])
def test_lost_while_kept_alive(method, good, measure, plan, h2_server):
    """As with HTTP/1 (L-1): a GET comes again on another connection, a POST does not."""
    def serve(peer):
        peer.greet()
        peer.answer(peer.request())
        peer.request()
    server = h2_server(serve)
    plan(f"base: {server.url}\nplan:\n  - request: {{url: /, method: {method}, body: ab}}\n")
    total = measure(server, "-b", "plan.yml", "-p", 1, "-i", 10, url=False)
    assert total["status_counts"].get("200") == good
    assert total["causes"] == ({"reset": 5} if method == "POST" else {})
    check_seen(server, total)


# --- F-17, F-18: long runs ---

@pytest.mark.fault("F-17")
def test_bodies_drain(measure, h2_server):
    """The server sends no more than the windows let it, and they have to be opened again."""
    size, piece = 24 * MIB, 16384  # three times the stream's window

    def serve(peer):
        peer.greet()
        while True:
            stream, sent = peer.request(), 0
            peer.windows[stream] = 8 * MIB
            peer.send(headers(stream))
            while sent < size:
                if min(peer.windows[stream], peer.windows[0]) < piece:
                    peer.read()
                    continue
                sent += piece
                peer.windows[0] -= piece
                peer.windows[stream] -= piece
                peer.send(data(stream, bytes(piece), end=sent == size))
            peer.open.discard(stream)
    server = h2_server(serve)
    total = measure(server, "-p", 1, "-i", 2, "--timeout", 30)
    assert total["status_counts"] == {"200": 2}
