"""Proxies of the tests' own, and a certificate for those that speak TLS.

HttpProxy and SocksProxy are scripts for raw_server: what they are asked for is kept, and they
connect to `target` whatever the name they are told.
"""
import base64
import contextlib
import shutil
import socket
import ssl
import subprocess
import threading

import pytest

from rawserver import Ended, ok

NAMES = "subjectAltName=DNS:localhost,DNS:shop.test,IP:127.0.0.1"


def make_certificate(folder):
    """(certificate, key): a self-signed one for localhost, shop.test and 127.0.0.1."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed: TLS was NOT tried")
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=tests",
                    "-addext", NAMES, "-keyout", key, "-out", cert], check=True,
                   capture_output=True)
    return cert, key


def server_context(cert, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context


def over_tls(context, script):
    """The script, once the client has shaken hands."""
    def serve(connection):
        try:
            connection.sock = context.wrap_socket(connection.sock, server_side=True)
        except (OSError, ssl.SSLError):
            raise Ended from None
        script(connection)
    return serve


def copy(source, sink):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def relay(connection, target):
    """Both ways, until both have ended."""
    with socket.create_connection(("127.0.0.1", target)) as there:
        if connection.rest:
            there.sendall(connection.rest)
        back = threading.Thread(target=copy, args=[there, connection.sock], daemon=True)
        back.start()
        copy(connection.sock, there)
        back.join(timeout=10)


def basic(credentials):
    return "Basic " + base64.b64encode(credentials.encode()).decode()


class HttpProxy:
    """Answers absolute-form requests itself, and tunnels CONNECT to the target port."""

    def __init__(self, target=None, credentials=None):
        self.target = target
        self.credentials = credentials
        self.connects = []  # Request each
        self.others = []

    def __call__(self, connection):
        while True:
            request = connection.read_request()
            connects = request.method == "CONNECT"
            (self.connects if connects else self.others).append(request)
            if self.credentials and request.field("Proxy-Authorization") != basic(self.credentials):
                connection.send(ok(b"who are you?", b'Proxy-Authenticate: Basic realm="x"',
                                   status=b"407 Proxy Authentication Required"))
                continue
            if connects:
                connection.send(b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n")
                relay(connection, self.target)
                return
            connection.send(ok(b"by proxy"))


class SocksProxy:
    """SOCKS 5 (RFC 1928, 1929). reply: the code that CONNECT gets."""

    def __init__(self, target, credentials=None, reply=0):
        self.target = target
        self.credentials = credentials
        self.reply = reply
        self.told = []   # (kind, host, port): kind 1 IPv4, 3 a name, 4 IPv6
        self.logins = []

    def _login(self, connection):
        _, n = connection._take(2)
        user = connection._take(n)
        secret = connection._take(connection._take(1)[0])
        self.logins.append(f"{user.decode()}:{secret.decode()}")
        good = self.logins[-1] == self.credentials
        connection.send(bytes([1, 0 if good else 1]))
        return good

    def __call__(self, connection):
        version, n = connection._take(2)
        methods = connection._take(n)
        wanted = 2 if self.credentials else 0
        assert version == 5
        if wanted not in methods:
            connection.send(b"\x05\xff")
            return
        connection.send(bytes([5, wanted]))
        if self.credentials and not self._login(connection):
            return
        version, command, _, kind = connection._take(4)
        assert (version, command) == (5, 1)
        size = {1: 4, 4: 16}.get(kind) or connection._take(1)[0]
        host = connection._take(size)
        host = host.decode() if kind == 3 else socket.inet_ntop(
            socket.AF_INET if kind == 1 else socket.AF_INET6, host)
        self.told.append((kind, host, int.from_bytes(connection._take(2), "big")))
        connection.send(bytes([5, self.reply, 0, 1, 0, 0, 0, 0, 0, 0]))
        if self.reply == 0:
            relay(connection, self.target)
