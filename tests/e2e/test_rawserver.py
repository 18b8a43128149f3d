"""The scripted server itself: what other tests conclude from it must be so."""
import contextlib
import socket

import pytest

from rawserver import CLOSE, HANG, RESET, ok

GET = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"


def talk(server, *pieces, timeout=5):
    """Sends the pieces and reads to the end of the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=timeout) as sock:
        for piece in pieces:
            sock.sendall(piece)
        with contextlib.suppress(OSError):  # it may have been reset already
            sock.shutdown(socket.SHUT_WR)
        data = b""
        while more := sock.recv(65536):
            data += more
        return data


def test_answers_follow_the_list_and_the_last_one_stays(raw_server):
    server = raw_server([b"one", [b"tw", 0.01, b"o"], b"three"])
    assert talk(server, GET * 4) == b"onetwothreethree"
    assert talk(server, GET) == b"three"
    assert server.connections == 2
    assert [r.connection for r in server.requests] == [1, 1, 1, 1, 2]


def test_requests_are_kept_byte_for_byte(raw_server):
    server = raw_server([ok()])
    post = b"POST /b HTTP/1.1\r\nX-A: 1\r\nContent-Length: 3\r\n\r\nabc"
    chunked = b"PUT /c HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
    talk(server, post[:20], post[20:] + chunked)
    assert [r.bytes for r in server.requests] == [post, chunked]
    first = server.requests[0]
    assert (first.method, first.target, first.body) == ("POST", "/b", b"abc")
    assert first.field("x-a") == "1" and first.field("x-b") is None


def test_close_and_reset(raw_server):
    server = raw_server([[b"bye", CLOSE], RESET])
    assert talk(server, GET + GET) == b"bye"
    with pytest.raises(ConnectionResetError):
        talk(server, GET)


def test_hang_ends_with_the_peer(raw_server):
    server = raw_server([[b"x", HANG, b"never"]])
    assert talk(server, GET) == b"x"


def test_a_function_does_what_it_likes(raw_server):
    def script(connection):
        connection.send(b"hello " + connection.read_request().target.encode())

    assert talk(raw_server(script), GET) == b"hello /a"


def test_a_fault_of_a_script_is_seen(raw_server):
    def script(connection):
        raise ValueError("mine")

    server = raw_server(script)
    talk(server)
    with pytest.raises(ValueError, match="mine"):
        server.stop()
    server.errors.clear()
