"""A TCP server that does just what a test says, byte for byte.

The script is either

- a list, an entry for each request in the order of arrival over all connections (the last one
  stands for all that follow): bytes are sent as they are; CLOSE, RESET and HANG act on the
  connection; a list or tuple of these is done in turn; a number in it waits so many seconds;
- a function called with a Connection as soon as it is accepted, which does what it likes with it:
  conn.read_request(), conn.send(…), conn.reset(), …; when it returns the connection is closed.

Every request's bytes are kept in `requests`; `connections` counts the accepted ones.
"""
import contextlib
import socket
import struct
import threading

CLOSE = "close"  # an orderly end (FIN)
RESET = "reset"  # RST
HANG = "hang"    # nothing more is said; the connection stays until the peer or the test ends it


def ok(body=b"ok", *fields, status=b"200 OK"):
    """A response with a length; fields are bytes like b"X-A: 1"."""
    head = [b"HTTP/1.1 " + status, b"Content-Length: %d" % len(body), *fields]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


class Request:
    """One request as it came: `bytes` is all of it, the rest is read out of it."""

    def __init__(self, head, body, connection):
        self.bytes = head + body
        self.head = head
        self.body = body
        self.connection = connection  # its number, from 1
        self.number = None  # among all requests, from 0; set by RawServer.note
        lines = head[:-4].split(b"\r\n")
        self.method, self.target, self.version = lines[0].decode("latin-1").split(" ", 2)
        pairs = (line.partition(b":") for line in lines[1:])
        self.fields = [(n.decode("latin-1"), v.strip().decode("latin-1")) for n, _, v in pairs]

    def field(self, name):
        """The value of a field, in any case; None if there is none; fails on more than one."""
        values = [v for n, v in self.fields if n.lower() == name.lower()]
        assert len(values) <= 1, f"{name} stands {len(values)} times"
        return values[0] if values else None


class Ended(Exception):
    """The peer has closed or reset the connection, or the server is being stopped."""


class Connection:
    def __init__(self, server, sock, number):
        self.server = server
        self.sock = sock
        self.number = number
        self.rest = b""

    def _receive(self):
        try:
            data = self.sock.recv(65536)
        except OSError:
            data = b""
        if not data:
            raise Ended
        return data

    def _more(self):
        self.rest += self._receive()

    def _take(self, n):
        pieces, missing = [self.rest], n - len(self.rest)
        while missing > 0:
            pieces.append(self._receive())
            missing -= len(pieces[-1])
        data = b"".join(pieces)
        self.rest = data[n:]
        return data[:n]

    def _take_through(self, mark):
        while mark not in self.rest:
            self._more()
        return self._take(self.rest.index(mark) + len(mark))

    def _chunks(self):
        body = b""
        while True:
            line = self._take_through(b"\r\n")
            size = int(line.split(b";")[0], 16)
            body += line + self._take(size + 2)
            if size == 0:
                return body

    def read_request(self):
        """The next request, body included; it is also added to server.requests."""
        head = self._take_through(b"\r\n\r\n")
        request = Request(head, b"", self.number)
        if (request.field("Transfer-Encoding") or "").lower() == "chunked":
            request = Request(head, self._chunks(), self.number)
        elif request.field("Content-Length"):
            request = Request(head, self._take(int(request.field("Content-Length"))), self.number)
        self.server.note(request)
        return request

    def send(self, data):
        try:
            self.sock.sendall(data)
        except OSError:
            raise Ended from None

    def send_pieces(self, pieces, pause):
        """Sends them one by one, with a pause between two of them."""
        for i, piece in enumerate(pieces):
            if i:
                self.wait(pause)
            self.send(piece)

    def close(self):
        """An orderly end. What has come in is read first: left unread, it would make a RST of it."""
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_WR)
            self.sock.settimeout(0)
            while self.sock.recv(65536):
                pass
        self.sock.close()

    def reset(self):
        with contextlib.suppress(OSError):
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def hang(self):
        """Until the peer ends it; what the peer still sends is dropped."""
        while True:
            self.rest = b""
            self._more()

    def wait(self, seconds):
        if self.server.ending.wait(seconds):
            raise Ended

    def do(self, action):
        """One entry of a script; False if the connection is over with it."""
        if isinstance(action, (list, tuple)):
            return all(self.do(part) for part in action)
        if action == CLOSE or action == RESET:
            self.close() if action == CLOSE else self.reset()
            return False
        if action == HANG:
            self.hang()
        elif isinstance(action, (int, float)):
            self.wait(action)
        else:
            self.send(action)
        return True


class RawServer:
    def __init__(self, script, backlog=1024, port=0, address="127.0.0.1"):
        self.script = script
        self.requests = []
        self.connections = 0
        self.errors = []  # what a script raised
        self.ending = threading.Event()
        self._lock = threading.Lock()
        self._open = set()
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._listener = socket.create_server((address, port), family=family, backlog=backlog)
        self.port = self._listener.getsockname()[1]
        self.host = f"[{address}]:{self.port}" if ":" in address else f"{address}:{self.port}"
        self.url = f"http://{self.host}"
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def note(self, request):
        """Keeps a request and gives it its number."""
        with self._lock:
            request.number = len(self.requests)
            self.requests.append(request)

    def _accept(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                if self.ending.is_set():
                    sock.close()
                    return
                self.connections += 1
                connection = Connection(self, sock, self.connections)
                self._open.add(sock)
                thread = threading.Thread(target=self._serve, args=[connection], daemon=True)
                self._threads.append(thread)
            thread.start()

    def _serve(self, connection):
        try:
            if callable(self.script):
                self.script(connection)
            else:
                self._follow(connection)
        except Ended:
            pass
        except Exception as error:  # shown by stop(), in the test that it belongs to
            self.errors.append(error)
        finally:
            connection.close()
            with self._lock:
                self._open.discard(connection.sock)

    def _follow(self, connection):
        while True:
            number = connection.read_request().number
            if not connection.do(self.script[min(number, len(self.script) - 1)]):
                return

    def stop(self):
        """Ends all connections. Raises what a script raised."""
        self.ending.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes accept()
        self._listener.close()
        with self._lock:
            for sock in self._open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(timeout=10)
        if self.errors:
            raise self.errors[0]
