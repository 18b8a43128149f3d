"""Names and addresses: which ones connections go to and come from, and what happens if they do not
(rows D of faults.md)."""
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import time

import pytest

from faultkit import answering, check_sums
from rawserver import CLOSE, RawServer, ok
from wirekit import check_server, outcomes

JSON = ("--stats-format", "json")


@contextlib.contextmanager
def servers(*addresses, script=None):
    """A RawServer on each of the addresses, all on the same port."""
    for _ in range(20):
        started = []
        try:
            port = 0
            for address in addresses:
                started.append(RawServer(script or answering(), address=address, port=port))
                port = started[0].port
            break
        except OSError:  # somebody has that port on another of the addresses
            for server in started:
                server.stop()
    else:
        raise RuntimeError("no port is free on all of the addresses")
    try:
        yield started
    finally:
        for server in started:
            server.stop()


def has_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="no IPv6 here: it was NOT tried")


@pytest.fixture
def silent_address():
    """(address, port) that answers no attempt to connect: its queue is full."""
    with socket.create_server(("127.0.0.2", 0), backlog=0) as listener:
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        time.sleep(0.1)
        yield listener.getsockname()
        for filler in fillers:
            filler.close()


def used(run):
    """The addresses that the results show: how many connections, how many failures."""
    return {a["address"]: (a["connections"], a["failed"]) for a in run.json["addresses"]}


def causes(run):
    check_sums(run.json)
    return run.json["global"]["causes"]


# --- a name's addresses ---

@pytest.mark.fault("D-1")
def test_a_name_without_address(drive, plan):
    """Asked for once a second at most, whatever the number of requests."""
    run = drive("run", "http://no-such-name.invalid/", "-i", 30, "-p", 3, *JSON)
    assert (run.code, causes(run), run.json["addresses"]) == (0, {"dns": 30}, [])
    assert run.json["connections"]["opened"] == 0
    run = drive("run", "http://no-such-name.invalid/", "-v")
    assert outcomes(run) == ["DNS resolution failed"] and "  cause: " in run.stdout, run


@pytest.mark.fault("D-2")
def test_resolve_stands_in_for_the_resolver(drive, raw_server):
    server = raw_server(answering())
    host = f"there-is.no-such-name.invalid:{server.port}"
    run = drive("run", f"http://{host}/", "--resolve", f"{host}:127.0.0.1", "-i", 3, *JSON)
    assert (causes(run), run.json["addresses"]) == ({}, [])
    assert [r.field("Host") for r in server.requests] == [host] * 3
    check_server(run.json, server)
    # Another port, and another host, are not meant.
    run = drive("run", f"http://{host}/", "--resolve", f"there-is.no-such-name.invalid:1:127.0.0.1",
                "--resolve", f"other.invalid:{server.port}:127.0.0.1", *JSON)
    assert causes(run) == {"dns": 1}
    # The last one of a host counts, and * where there is none.
    run = drive("run", f"http://{host}/", "--resolve", f"*:{server.port}:127.0.0.9",
                "--resolve", f"{host}:127.0.0.8", "--resolve", f"{host}:127.0.0.1", *JSON)
    assert causes(run) == {}
    run = drive("run", f"http://{host}/", "--resolve", f"*:{server.port}:127.0.0.1", *JSON)
    assert causes(run) == {}


@pytest.mark.threads
@pytest.mark.fault("D-2")
@pytest.mark.parametrize("workers", [1, 2])
def test_all_addresses_of_a_name_are_used_in_turn(drive, workers):
    with servers("127.0.0.1", "127.0.0.2", "127.0.0.3", script=[[ok(b"", b"Connection: close"),
                                                                 CLOSE]]) as three:
        port = three[0].port
        run = drive("run", f"http://many.test:{port}/", "-i", 30, "-p", 2, "-w", workers, *JSON,
                    "--resolve", f"many.test:{port}:127.0.0.1,127.0.0.2,127.0.0.3")
        assert causes(run) == {}
        seen = [server.connections for server in three]
        assert sum(seen) == 30 and min(seen) >= 9, seen
        assert used(run) == {f"127.0.0.{i + 1}:{port}": (n, 0) for i, n in enumerate(seen)}
        check_server(run.json, *three)


@pytest.mark.fault("D-2")
def test_addresses_in_the_text(drive):
    """With --verbose, where there are several, and nowhere else."""
    with servers("127.0.0.1") as (server,):
        url = f"http://many.test:{server.port}/"
        two = ("--resolve", f"many.test:{server.port}:127.0.0.1,127.0.0.2")
        run = drive("run", url, *two, "-i", 4, "-p", 2, "-v", "-q", "--stats")
        tail = run.stdout[run.stdout.index("\nAddresses\n"):]
        assert re.search(rf"^  127\.0\.0\.1:{server.port} +2 connections, 0 failed$", tail, re.M), run
        assert re.search(rf"^  127\.0\.0\.2:{server.port} +0 connections, \d failed$", tail, re.M), run
        assert "Addresses" not in drive("run", url, *two, "-q", "--stats").stdout
        one = ("--resolve", f"many.test:{server.port}:127.0.0.1")
        assert "Addresses" not in drive("run", url, *one, "-v", "-q", "--stats").stdout


@pytest.mark.fault("D-3")
def test_an_address_that_refuses_is_followed_by_the_next(drive):
    with servers("127.0.0.3", script=[[ok(b"", b"Connection: close"), CLOSE]]) as (server,):
        run = drive("run", f"http://many.test:{server.port}/", "-i", 20, *JSON, "--resolve",
                    f"many.test:{server.port}:127.0.0.1,127.0.0.2,127.0.0.3")
        assert causes(run) == {}
        assert server.connections == 20 and run.json["connections"]["failed"] == 0
        shown = used(run)
        assert shown[f"127.0.0.3:{server.port}"] == (20, 0)
        # Those that have just failed come last: they are not tried before each connection.
        for dead in ("127.0.0.1", "127.0.0.2"):
            connections, failed = shown[f"{dead}:{server.port}"]
            assert connections == 0 and 1 <= failed <= 5
        check_server(run.json, server)


@pytest.mark.fault("D-3")
def test_all_addresses_refuse(drive, dead_port):
    run = drive("run", f"http://many.test:{dead_port}/", "-i", 2, *JSON, "--resolve",
                f"many.test:{dead_port}:127.0.0.1,127.0.0.2")
    assert causes(run) == {"connect/refused": 2}
    assert used(run) == {f"127.0.0.{i}:{dead_port}": (0, 2) for i in (1, 2)}
    assert run.json["connections"]["failed"] == 2


@pytest.mark.fault("D-3")
def test_an_address_that_does_not_answer_is_followed_by_the_next(drive, silent_address):
    silent, port = silent_address
    server = RawServer(answering(), port=port)
    try:
        run = drive("run", f"http://many.test:{port}/", "-i", 3, "--timeout", 5, *JSON, "--resolve",
                    f"many.test:{port}:{silent},127.0.0.1")
        assert causes(run) == {}
        assert used(run)[f"127.0.0.1:{port}"] == (1, 0)
        assert used(run)[f"{silent}:{port}"] == (0, 1)
        assert run.json["global"]["latency_ms"]["max"] < 4000
    finally:
        server.stop()


@pytest.mark.fault("D-3")
def test_connect_timeout(drive, silent_address):
    """It is for the connection alone; the rest of the request still has --timeout."""
    silent, port = silent_address
    begun = time.monotonic()
    run = drive("run", f"http://{silent}:{port}/", "--connect-timeout", 0.3, "--timeout", 30, *JSON)
    assert causes(run) == {"connect/timeout": 1} and time.monotonic() - begun < 10
    assert 250 < run.json["global"]["latency_ms"]["max"] < 5000
    assert outcomes(drive("run", f"http://{silent}:{port}/", "--connect-timeout", 0.1)) == [
        "request timed out"]


def test_connect_timeout_is_not_for_the_response(drive, raw_server):
    server = raw_server([[0.6, ok()]])
    run = drive("run", server.url, "--connect-timeout", 0.2, *JSON)
    assert causes(run) == {} and run.json["global"]["latency_ms"]["max"] >= 600


# --- another host, a family, a socket ---

def test_connect_to(drive, raw_server):
    server = raw_server(answering())
    run = drive("run", "http://example.test/x", "--connect-to",
                f"example.test:80:127.0.0.1:{server.port}", *JSON)
    assert causes(run) == {}
    (request,) = server.requests
    assert (request.field("Host"), request.target) == ("example.test", "/x")
    # Empty parts: any host, any port; the first that fits counts.
    run = drive("run", "http://example.test:81/", "--connect-to", f"::127.0.0.1:{server.port}",
                "--connect-to", "example.test:81:127.0.0.1:1", *JSON)
    assert causes(run) == {} and len(server.requests) == 2
    run = drive("run", f"http://example.test:{server.port}/", "--connect-to", ":::",
                "--resolve", f"*:{server.port}:127.0.0.1", *JSON)
    assert causes(run) == {} and len(server.requests) == 3
    # What it leads to may itself be resolved otherwise.
    run = drive("run", "http://example.test/", "--connect-to", f"example.test::other.test:{server.port}",
                "--resolve", f"other.test:{server.port}:127.0.0.1", *JSON)
    assert causes(run) == {} and server.requests[-1].field("Host") == "example.test"


@needs_ipv6
def test_families(drive):
    with servers("127.0.0.1", "::1") as (four, six):
        both = ("--resolve", f"both.test:{four.port}:127.0.0.1,::1")
        url = f"http://both.test:{four.port}/"
        for option, server in (("-4", four), ("--ipv4", four), ("-6", six), ("--ipv6", six)):
            before = len(server.requests)
            run = drive("run", url, *both, option, "-i", 3, *JSON)
            assert causes(run) == {} and len(server.requests) == before + 3
            assert run.json["addresses"] == []
        run = drive("run", url, *both, "-i", 2, "-p", 2, *JSON)
        assert used(run) == {f"127.0.0.1:{four.port}": (1, 0), f"[::1]:{four.port}": (1, 0)}


@pytest.mark.parametrize("option,host", [("-6", "127.0.0.1"), ("-4", "[::1]")])
def test_an_address_of_the_other_family_is_none(drive, raw_server, option, host):
    server = raw_server(answering())
    run = drive("run", f"http://{host}:{server.port}/", option, "-v")
    assert outcomes(run) == ["DNS resolution failed"] and server.connections == 0
    assert f"it has no IPv{option[1]} address, and only those are asked for" in run.stdout


@needs_ipv6
@pytest.mark.fault("D-5")
def test_an_ipv6_address_in_a_url(drive):
    with servers("::1") as (server,):
        run = drive("run", f"http://[::1]:{server.port}/", *JSON)
        assert causes(run) == {}
        assert server.requests[0].field("Host") == f"[::1]:{server.port}"


@pytest.mark.fault("D-5", "D-6")
@pytest.mark.parametrize("url", [
    "http://[::1", "http://[::1]x/", "http://[fe80::1%25eth0]/", "http://[1:2]/", "http://h:65536/",
    "http://h:abc/", "http://h:-1/", "http://exa mple/", "http://a..%00b/",
    "http://" + "a" * 70000 + "/"], ids=lambda url: url[:24])
def test_hosts_that_cannot_be(drive, url):
    run = drive("run", url)
    assert run.code in (1, 2) and run.stdout == "", run
    first = run.stderr.splitlines()[0]
    assert first.startswith("error: ") and len(run.stderr) < 1000, run


@pytest.mark.fault("D-6")
def test_long_names_are_no_addresses(drive):
    for name in ("a" * 64 + ".invalid", ".".join(["a" * 60] * 5)):
        run = drive("run", f"http://{name}/", *JSON)
        assert run.code in (0, 1, 2), run
        if run.code == 0:
            assert causes(run) == {"dns": 1}


@pytest.mark.fault("D-4")
def test_a_name_is_looked_up_once_a_run(drive, raw_server):
    server = raw_server([[ok(b"", b"Connection: close"), CLOSE]])
    run = drive("run", f"http://localhost:{server.port}/", "-4", "-i", 20, *JSON)
    assert causes(run) == {} and server.connections == 20
    assert run.json["global"]["phases_ms"]["dns"]["count"] == 1


class UnixServer:
    def __init__(self, path):
        self.heads = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.serve, args=self.listener.accept()[:1],
                                 daemon=True).start()

    def serve(self, sock):
        rest = b""
        with sock, contextlib.suppress(OSError):
            while data := sock.recv(65536):
                rest += data
                while b"\r\n\r\n" in rest:
                    head, _, rest = rest.partition(b"\r\n\r\n")
                    self.heads.append(head)
                    sock.sendall(ok())


def test_unix_socket(drive, tmp_path):
    path = tmp_path / "sock"
    server = UnixServer(path)
    # No name is looked up, and no proxy asked.
    run = drive("run", "http://no-such-name.invalid:81/x", "--unix-socket", path, "-i", 6, "-p", 2,
                *JSON, env={"HTTP_PROXY": "http://127.0.0.1:1"})
    server.listener.close()
    assert (causes(run), run.json["addresses"]) == ({}, [])
    assert run.json["connections"]["opened"] == 2 and len(server.heads) == 6
    assert b"\r\nHost: no-such-name.invalid:81\r\n" in server.heads[0]
    assert server.heads[0].startswith(b"GET /x HTTP/1.1\r\n")
    run = drive("run", "http://x.test/", "--unix-socket", tmp_path / "none", "-v")
    assert run.code == 0 and len(outcomes(run)) == 1 and "cause: " in run.stdout, run
    run = drive("run", "http://x.test/", "--unix-socket", "/" + "x" * 200)
    assert (run.code, run.stdout) == (1, "") and "--unix-socket: a path has at most" in run.stderr


# --- where connections come from ---

def peers_of(script):
    """A script that notes who comes."""
    peers = []

    def serve(connection):
        peers.append(connection.sock.getpeername()[0])
        script(connection)
    return serve, peers


def test_local_addresses_in_turn(drive, raw_server):
    def one(connection):
        connection.read_request()
        connection.send(ok(b"", b"Connection: close"))
    serve, peers = peers_of(one)
    server = raw_server(serve)
    run = drive("run", server.url, "--local-address", "127.0.0.2,127.0.0.3", "-i", 10, *JSON)
    assert causes(run) == {}
    assert sorted(peers) == ["127.0.0.2"] * 5 + ["127.0.0.3"] * 5
    peers.clear()
    # Those of another family are passed over.
    run = drive("run", server.url, "--local-address", "::1,127.0.0.4", "-i", 2, *JSON)
    assert causes(run) == {} and peers == ["127.0.0.4"] * 2


def test_a_local_address_that_is_not_here(drive, raw_server):
    server = raw_server(answering())
    run = drive("run", server.url, "--local-address", "127.0.0.1,192.0.2.1")
    assert (run.code, run.stdout, server.connections) == (1, "", 0), run
    assert run.stderr == "error: --local-address: this machine does not have the address 192.0.2.1\n"


@pytest.fixture
def narrow():
    """A network namespace of its own with ten local ports; a prefix for commands in it."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("not root, or no ip: ports do NOT run out here")
    name = f"driller-{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode:
        pytest.skip("no network namespace can be made here: ports do NOT run out")
    inside = ["ip", "netns", "exec", name]
    try:
        subprocess.run([*inside, "ip", "link", "set", "lo", "up"], check=True)
        done = subprocess.run([*inside, "sh", "-c", "echo 40000 40009 > /proc/sys/net/ipv4/"
                               "ip_local_port_range"], capture_output=True)
        if done.returncode:
            pytest.skip("the range of ports cannot be set here: they do NOT run out")
        yield inside
    finally:
        subprocess.run(["ip", "netns", "del", name])


# In the namespace: a server whose connections stay open, and then driller with the arguments.
HOLDER = """
import socket, subprocess, sys, threading
listener = socket.create_server(("127.0.0.1", 80))
def serve(sock):
    while sock.recv(65536):
        sock.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")
    sock.close()
def accept():
    while True:
        threading.Thread(target=serve, args=[listener.accept()[0]], daemon=True).start()
threading.Thread(target=accept, daemon=True).start()
sys.exit(subprocess.run(sys.argv[1:]).returncode)
"""


@pytest.mark.clear
@pytest.mark.fault("R-3")
def test_local_ports_run_out(driller, narrow, plan, tmp_path):
    """Twenty users, ten ports: ten fail, and go on with the ports that others have let go."""
    plan("base: http://127.0.0.1\nconcurrency: 20\nplan:\n  - request: {url: /}\n"
         "  - delay: {milliseconds: 50}\n")

    def drive_inside(*args):
        done = subprocess.run([*narrow, "python3", "-c", HOLDER, driller, "run", "-b", "plan.yml",
                               *args], capture_output=True, text=True, timeout=60, cwd=tmp_path)
        assert done.returncode == 0, done
        return done

    figures = json.loads(drive_inside("-i", "60", *JSON, "--local-address", "127.0.0.2").stdout)
    check_sums(figures)
    total = figures["global"]
    assert set(total["causes"]) == {"connect/no-port"}
    assert total["successful_requests"] >= 10
    assert figures["connections"]["opened"] <= 10
    said = drive_inside("-i", "40", "-v", "--local-address", "127.0.0.2").stdout
    assert "ERR could not connect" in said and "--local-address" in said, said
    # As the hint has it: more addresses, more ports; those of the first are all taken by now.
    figures = json.loads(drive_inside("-i", "60", *JSON, "--local-address",
                                      "127.0.0.2,127.0.0.3,127.0.0.4").stdout)
    assert figures["global"]["successful_requests"] == 60


# --- what cannot be ---

@pytest.mark.parametrize("arguments", [
    ["--resolve", "x"], ["--resolve", "x:80"], ["--resolve", "x:80:"], ["--resolve", "x:0:1.2.3.4"],
    ["--resolve", "x:80:1.2.3.4,"], ["--resolve", "x:80:name"], ["--resolve", "x:99999:1.2.3.4"],
    ["--resolve", "[::1:80:1.2.3.4"], ["--resolve", ""],
    ["--resolve", "x:80:" + ",".join(["1.2.3.4"] * 65)],
    ["--connect-to", "x"], ["--connect-to", "a:80:b"], ["--connect-to", "a:80:b:0"],
    ["--connect-to", "a:b:c:d"], ["--connect-to", "a b:80:c:80"],
    ["--local-address", "localhost"], ["--local-address", "127.0.0.1:80"],
    ["--local-address", "127.0.0.1,x"], ["--local-address", ""],
    ["--connect-timeout", "0"], ["--connect-timeout", "-1"], ["--connect-timeout", "x"],
    ["--connect-timeout", "nan"], ["--connect-timeout", "1e300"],
    ["-4", "-6"], ["--unix-socket", ""], ["--unix-socket", "x" * 108],
], ids=" ".join)
def test_values_that_cannot_be(drive, raw_server, arguments):
    server = raw_server(answering())
    run = drive("run", server.url, *arguments)
    assert run.code in (1, 2) and run.stdout == "" and server.connections == 0, run
    assert sum(line.startswith("error: ") for line in run.stderr.splitlines()) == 1, run
    assert arguments[0].lstrip("-") in run.stderr.splitlines()[0], run
