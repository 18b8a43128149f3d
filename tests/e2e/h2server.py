"""An HTTP/2 server (prior knowledge, RFC 9113) that does just what a test says, frame for frame.

The script is a function called with a Peer for each connection, on a thread of its own; when it
returns, the connection is closed. Frames are made here, byte by byte, so that they can be wrong.
What driller sends is read by hand: of a request's fields only their number of bytes is known.
"""
import collections
import struct
import threading

from rawserver import RawServer

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, \
    CONTINUATION = range(10)
END_STREAM = ACK = 1
END_HEADERS = 4

MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE = 3, 4, 5

NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR = 0, 1, 2
REFUSED_STREAM, CANCEL = 7, 8
ENHANCE_YOUR_CALM, HTTP_1_1_REQUIRED = 11, 13

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags=0, stream=0, payload=b""):
    return len(payload).to_bytes(3, "big") + struct.pack("!BBI", kind, flags, stream) + payload


def settings(**values):
    """settings(MAX_CONCURRENT_STREAMS=1), by the names above."""
    return frame(SETTINGS, payload=b"".join(struct.pack("!HI", globals()[name], value)
                                            for name, value in values.items()))


def integer(value, bits, first=0):
    """A prefixed integer of HPACK (RFC 7541 §5.1)."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    data, value = [first | most], value - most
    while value >= 128:
        data.append(value % 128 + 128)
        value //= 128
    return bytes([*data, value])


def field(name, value):
    """A literal field, not indexed, not Huffman coded (RFC 7541 §6.2.2)."""
    return b"\0" + integer(len(name), 7) + name + integer(len(value), 7) + value


def block(*fields, status=b"200"):
    """A field block; status None: none."""
    head = [] if status is None else [field(b":status", status)]
    return b"".join([*head, *(field(name, value) for name, value in fields)])


def headers(stream, *fields, status=b"200", end=False):
    return frame(HEADERS, END_HEADERS | (END_STREAM if end else 0), stream,
                 block(*fields, status=status))


def data(stream, body=b"ok", end=True):
    return frame(DATA, END_STREAM if end else 0, stream, body)


def response(stream, body=b"ok", *fields, status=b"200"):
    return headers(stream, *fields, status=status) + data(stream, body)


def reset(stream, code):
    return frame(RST_STREAM, 0, stream, struct.pack("!I", code))


def goaway(last, code=NO_ERROR):
    return frame(GOAWAY, payload=struct.pack("!II", last, code))


def window_update(stream, n):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack("!I", n))


class Frame:
    def __init__(self, kind, flags, stream, payload):
        self.kind = kind
        self.flags = flags
        self.stream = stream
        self.payload = payload


class Peer:
    """One connection. `open` holds streams whose requests came and that were not answered with
    answer(); the server's `most` is the largest number of them at one time."""

    def __init__(self, server, connection):
        self.server = server
        self.connection = connection
        self.number = connection.number
        self.open = set()
        self.windows = collections.Counter({0: 65535})  # for what is sent, by stream; 0: them all

    def greet(self, **values):
        """Says SETTINGS as soon as the preface is there; what the client acknowledges is read by
        the reads that follow."""
        preface = self.connection._take(len(PREFACE))
        assert preface == PREFACE, preface
        self.send(settings(**values))

    def send(self, *frames):
        self.connection.send(b"".join(frames))

    def wait(self, seconds):
        self.connection.wait(seconds)

    def hang(self):
        self.connection.hang()

    def read(self):
        """The next frame. SETTINGS and PING are acknowledged, requests are counted."""
        head = self.connection._take(9)
        size, (kind, flags, stream) = int.from_bytes(head[:3], "big"), struct.unpack("!BBI",
                                                                                     head[3:])
        got = Frame(kind, flags, stream, self.connection._take(size))
        if kind == SETTINGS and not flags & ACK:
            self.send(frame(SETTINGS, ACK))
        if kind == HEADERS:
            self.open.add(stream)
            self.server.begun(self)
        elif kind == RST_STREAM:
            self.open.discard(stream)
        elif kind == WINDOW_UPDATE:
            self.windows[stream] += int.from_bytes(got.payload, "big")
        elif kind == GOAWAY:
            self.server.goaways.append(got.payload)
        return got

    def request(self, whole=True):
        """The stream of the next request, when it has come whole; windows are kept open."""
        while True:
            got = self.read()
            if got.kind == DATA and got.payload:
                n = len(got.payload)
                self.send(window_update(0, n), window_update(got.stream, n))
            if got.kind in (HEADERS, DATA) and (got.flags & END_STREAM or not whole):
                return got.stream

    def answer(self, stream, *frames):
        self.open.discard(stream)
        self.send(*(frames or [response(stream)]))


class H2Server(RawServer):
    def __init__(self, script, **options):
        self.count = 0     # of requests, over all connections
        self.most = 0      # open at one time on one connection
        self.goaways = []  # the client's
        self._counting = threading.Lock()
        super().__init__(lambda connection: script(Peer(self, connection)), **options)

    def begun(self, peer):
        with self._counting:
            self.count += 1
            self.most = max(self.most, len(peer.open))
