"""The works: what is asked for, by how many users, and who is compared at it.

A work is a row of WORKS. Its contenders are names of peers.py; driller is the one that the ratios
are taken to. `special` names a function of special.py that measures something else than the cost
of a request.
"""
import dataclasses

import server

PLAIN = ("driller", "floor", "wrk", "h2load", "ab", "hey", "siege", "bombardier", "vegeta", "oha",
         "k6", "original")


@dataclasses.dataclass(frozen=True)
class Work:
    name: str                # GROUP-VARIANT: asked for by either
    title: str
    contenders: tuple = ("driller", "floor", "wrk")
    kind: str = "http"       # the listener: http, https (HTTP/1.1) or h2 (over TLS)
    path: str = "/"
    size: int = 0            # of a file to fetch, in place of the path
    users: int = 64
    post: int = 0            # bytes of a body to send
    reconnect: bool = False  # the server closes after each answer
    streams: int = 1         # HTTP/2: requests at once on a connection
    plan: str = ""           # a plan of peers.py in place of one request
    factor: int = 1          # its runs are so much longer than others
    setups: tuple = ("one", "two")
    workers: int = 1         # processes of the server
    special: str = ""        # a function of special.py in place of requests counted
    columns: str = ""        # other ones of table.py

    @property
    def group(self):
        return self.name.split("-")[0]

    @property
    def connections(self):
        return self.users // self.streams

    def paths(self):
        """Those that the plan fetches in turn, or the one path."""
        plans = {"three": ("/json/1k", f"/item/{server.ITEM}", "/")}
        return plans.get(self.plan, (self.path,))

    def with_users(self, users):
        """This work with other users."""
        name = f"{self.group if self.group == 'get' else self.name}@{users}"
        title = self.title.replace(f"{self.users:,} users", f"{users:,} users")
        return dataclasses.replace(self, name=name, users=users, title=title)


def size_name(size):
    for unit, name in ((1 << 20, "m"), (1 << 10, "k")):
        if size >= unit:
            return f"{size // unit}{name}"
    return str(size)


def size_text(size):
    return size_name(size).replace("m", " MiB").replace("k", " KiB") if size >= 1024 else f"{size} B"


def works():
    for users in (16, 64, 256, 1024, 10000):
        names = [n for n in PLAIN if users < 10000 or n not in ("siege", "k6", "vegeta", "hey")]
        yield Work(f"get-{users}", f"GET, 12 bytes, keep-alive, {users:,} users", tuple(names),
                   users=users, factor=4 if users >= 10000 else 1)
    yield Work("connect", "GET, 12 bytes, a new connection for each request, 64 users",
               ("driller", "floor", "wrk", "ab", "hey", "bombardier", "oha", "k6"), path="/close",
               reconnect=True)
    yield Work("plan", "plan of three requests: JSON of 1 KB assigned, two values of it used, an "
               "assert; 64 users", ("driller", "floor", "wrk", "wrk-lua", "original", "k6"),
               plan="three")
    for size in ("1k", "10k", "100k"):
        yield Work(f"json-{size}", f"JSON of {size[:-1]} KB assigned, its last value compared, "
                   "64 users", ("driller", "driller-discard", "floor", "wrk", "original", "k6"),
                   plan="json", path=f"/json/{size}")
    yield Work("tls", "GET, 12 bytes, TLS 1.3, keep-alive, 64 users",
               ("driller", "wrk", "h2load", "ab", "hey", "bombardier", "oha", "k6", "original"),
               kind="https")
    for streams, connections in ((64, 1), (100, 1), (64, 8), (100, 8)):
        yield Work(f"h2-{streams}x{connections}", f"GET, 12 bytes, HTTP/2 over TLS 1.3, {streams} "
                   f"streams on {'one connection' if connections == 1 else 'each of 8 connections'}",
                   ("driller", "h2load", "oha"), kind="h2", users=streams * connections,
                   streams=streams)
    for size in (3, 8 << 10, 64 << 10, 512 << 10, 1 << 20, 2 << 20, 10 << 20):
        yield Work(f"body-{size_name(size)}", f"GET, body of {size_text(size)}, 16 users",
                   ("driller", "floor", "wrk", "h2load", "bombardier", "oha", "k6"), size=size,
                   users=16, factor=2 if size >= 2 << 20 else 1)
    for size in (1 << 10, 64 << 10):
        yield Work(f"post-{size_name(size)}", f"POST of {size_text(size)}, 64 users",
                   ("driller", "floor", "wrk", "h2load", "ab", "hey", "bombardier", "oha", "k6"),
                   post=size, path="/post")
    yield Work("output", "GET, 12 bytes, 64 users: quiet, lines to a file, report",
               ("driller", "driller-lines", "driller-report"), columns="output")
    for size in (3, 8 << 10, 64 << 10, 512 << 10, 2 << 20, 10 << 20):
        yield Work(f"workers-{size_name(size)}", f"two workers against two processes, body of "
                   f"{size_text(size)}, 64 users", ("driller-w2", "driller-2x"), size=size,
                   workers=2, setups=("all",), factor=2 if size >= 2 << 20 else 1)
    yield Work("idle", "memory of an idle connection with its user",
               ("driller", "original"), plan="idle", special="idle", columns="idle", setups=("two",))
    yield Work("idle-tls", "memory of an idle TLS connection with its user",
               ("driller", "original"), kind="https", plan="idle", special="idle", columns="idle",
               setups=("two",))
    yield Work("start", "start to the first request",
               ("driller", "driller-plan", "floor", "wrk", "hey", "oha", "k6", "original"),
               special="start", columns="start", setups=("two",))
    yield Work("start-tls", "start to the first request, https",
               ("driller", "wrk", "hey", "oha", "k6"), kind="https", special="start",
               columns="start", setups=("two",))
    yield Work("csv", "plan over a CSV file of a million rows: start to the first request, memory",
               ("driller", "original"), special="csv", columns="csv", setups=("two",))


WORKS = {work.name: work for work in works()}


def select(words, users):
    """The works that are named, by name or group; all without words. Raises KeyError."""
    chosen = []
    for word in words or WORKS:
        found = [w for w in WORKS.values() if word in (w.name, w.group)]
        if not found:
            raise KeyError(word)
        chosen += found
    if users:
        chosen = [w if w.kind == "h2" else w.with_users(users) for w in chosen]
    return list({work.name: work for work in chosen}.values())
