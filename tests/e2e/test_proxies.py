"""Proxies: what they are told, what goes through them, and what they do wrong (rows X of faults.md).
Scripted ones, and tinyproxy, squid and microsocks where they are installed."""
import os
import shutil
import socket
import subprocess
import time

import pytest

from faultkit import answering, check_sums
from proxykit import (HttpProxy, SocksProxy, basic, make_certificate, over_tls, relay,
                      server_context)
from rawserver import CLOSE, HANG, RESET, ok
from wirekit import check_server, outcomes

JSON = ("--stats-format", "json")
SECRET = "s3cr3t%21"  # as in a URL; the proxy is told s3cr3t!
PLAIN = "who:s3cr3t!"


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def trust(certificate):
    return ("--cacert", certificate[0])


@pytest.fixture
def https_server(raw_server, certificate):
    return raw_server(over_tls(server_context(*certificate), answering()))


def causes(run):
    assert run.code == 0, run
    check_sums(run.json)
    return run.json["global"]["causes"]


# --- http proxies ---

def test_http_target_in_absolute_form(drive, raw_server):
    proxy = HttpProxy()
    front = raw_server(proxy)
    run = drive("run", "http://shop.test:81/a?b=c", "--proxy", front.url, "-i", 3, *JSON)
    assert causes(run) == {} and proxy.connects == [] and front.connections == 1
    request = proxy.others[0]
    assert request.target == "http://shop.test:81/a?b=c"
    assert request.field("Host") == "shop.test:81"
    assert request.field("Proxy-Authorization") is None
    check_server(run.json, front)


def test_an_address_without_a_scheme_is_an_http_proxy(drive, raw_server):
    proxy = HttpProxy()
    assert causes(drive("run", "http://shop.test/", "--proxy", raw_server(proxy).host, *JSON)) == {}
    assert proxy.others[0].target == "http://shop.test/"


@pytest.mark.fault("X-3")
def test_https_target_through_connect(drive, raw_server, https_server, trust):
    """The proxy is told no header of the request, the server none of the proxy's."""
    proxy = HttpProxy(https_server.port, credentials=PLAIN)
    front = raw_server(proxy)
    run = drive("run", "https://shop.test:444/a", "--proxy", f"http://who:{SECRET}@{front.host}",
                *trust, "-i", 2, *JSON)
    assert causes(run) == {}
    (connect,) = proxy.connects
    assert (connect.target, connect.field("Host")) == ("shop.test:444", "shop.test:444")
    assert connect.field("Proxy-Authorization") == basic(PLAIN)
    assert {n.lower() for n, _ in connect.fields} <= {"host", "proxy-authorization", "user-agent",
                                                      "proxy-connection"}
    assert [(r.method, r.target, r.field("Host")) for r in https_server.requests] == [
        ("GET", "/a", "shop.test:444")] * 2
    assert all(r.field("Proxy-Authorization") is None for r in https_server.requests)
    assert run.json["tls_verified"] is True
    check_server(run.json, https_server)


@pytest.mark.fault("X-3")
def test_headers_of_the_plan_stay_in_the_tunnel(drive, plan, raw_server, https_server, trust):
    proxy = HttpProxy(https_server.port)
    plan("base: https://shop.test\nplan:\n  - request:\n      url: /\n      headers:\n"
         "        Authorization: Bearer of-the-plan\n        X-Api-Key: of-the-plan\n"
         "        Cookie: a=of-the-plan\n")
    run = drive("run", "-b", "plan.yml", "--proxy", raw_server(proxy).url, *trust, *JSON)
    assert causes(run) == {}
    assert b"of-the-plan" not in proxy.connects[0].bytes
    assert https_server.requests[0].bytes.count(b"of-the-plan") == 3


@pytest.mark.fault("X-3")
def test_credentials_with_a_http_target(drive, raw_server):
    proxy = HttpProxy(credentials=PLAIN)
    run = drive("run", "http://shop.test/", "--proxy", f"http://who:{SECRET}@{raw_server(proxy).host}",
                "-i", 2, *JSON)
    assert causes(run) == {} and run.json["global"]["successful_requests"] == 2
    assert [r.field("Proxy-Authorization") for r in proxy.others] == [basic(PLAIN)] * 2


@pytest.mark.fault("X-3")
def test_credentials_do_not_follow_a_redirect_past_the_proxy(drive, raw_server):
    server = raw_server(answering())
    moved = b"HTTP/1.1 302 Found\r\nLocation: %s/x\r\nContent-Length: 0\r\n\r\n" % server.url.encode()
    front = raw_server([moved])
    run = drive("run", "http://shop.test/", "--proxy", f"http://who:{SECRET}@{front.host}",
                "--no-proxy", "127.0.0.1", *JSON)
    assert causes(run) == {} and len(server.requests) == 1
    assert front.requests[0].field("Proxy-Authorization") == basic(PLAIN)
    assert server.requests[0].field("Proxy-Authorization") is None
    assert server.requests[0].target == "/x"


@pytest.mark.fault("X-3")
@pytest.mark.parametrize("scheme", ["http", "socks5h"])
@pytest.mark.parametrize("how", ["flag", "environment"])
def test_credentials_are_never_shown(drive, raw_server, https_server, trust, how, scheme):
    """Neither when all is well, nor when the proxy refuses, nor when it is not there."""
    hop = HttpProxy if scheme == "http" else SocksProxy
    good = raw_server(hop(https_server.port, credentials=PLAIN)).host
    bad = raw_server(hop(https_server.port, credentials="someone:else")).host
    for host in (good, bad, "127.0.0.1:1", "127.0.0.1:x", "[::1"):
        url = f"{scheme}://who:{SECRET}@{host}"
        given = ["--proxy", url] if how == "flag" else []
        for verbose in ("-v", "-vv"):
            run = drive("run", "https://shop.test/", *given, *trust, verbose, "--stats",
                        env={} if given else {"HTTPS_PROXY": url})
            text = run.stdout + run.stderr
            for secret in ("s3cr3t", basic(PLAIN).split()[1]):
                assert secret not in text, run
        assert run.code == (1 if host in ("127.0.0.1:x", "[::1") else 0), run


def test_https_proxy(drive, raw_server, certificate, trust, https_server):
    """TLS to the proxy, and for an https target TLS within it; its certificate counts."""
    proxy = HttpProxy(https_server.port, credentials=PLAIN)
    front = raw_server(over_tls(server_context(*certificate), proxy))
    url = f"https://who:{SECRET}@localhost:{front.port}"
    run = drive("run", "http://shop.test/x", "--proxy", url, *trust, "-4", *JSON)
    assert causes(run) == {}
    assert proxy.others[0].target == "http://shop.test/x"
    run = drive("run", "https://shop.test/x", "--proxy", url, *trust, "-4", *JSON)
    assert causes(run) == {} and run.json["global"]["successful_requests"] == 1
    assert proxy.connects[0].target == "shop.test:443" and len(https_server.requests) == 1
    # Untrusted, and another name: nothing is sent to it.
    seen = len(front.requests)
    assert causes(drive("run", "http://shop.test/", "--proxy", url, "-4", *JSON)) == {"tls/verify": 1}
    run = drive("run", "http://shop.test/", "--proxy", f"https://127.0.0.2:{front.port}", *trust,
                "--local-address", "127.0.0.1", *JSON)
    assert set(causes(run)) <= {"tls/verify", "connect/refused"} and len(front.requests) == seen


# --- socks ---

def test_socks5h_is_told_the_name(drive, raw_server):
    server = raw_server(answering())
    proxy = SocksProxy(server.port)
    run = drive("run", "http://no-such-name.invalid:82/x", "--proxy",
                f"socks5h://{raw_server(proxy).host}", "-i", 2, *JSON)
    assert causes(run) == {} and proxy.told == [(3, "no-such-name.invalid", 82)]
    assert [(r.target, r.field("Host")) for r in server.requests] == [
        ("/x", "no-such-name.invalid:82")] * 2
    assert server.requests[0].field("Proxy-Authorization") is None


def test_socks5_is_told_an_address(drive, raw_server):
    server = raw_server(answering())
    proxy = SocksProxy(server.port)
    url = f"socks5://{raw_server(proxy).host}"
    run = drive("run", "http://shop.test:82/", "--proxy", url, "--resolve",
                "shop.test:82:192.0.2.7", *JSON)
    assert causes(run) == {} and proxy.told == [(1, "192.0.2.7", 82)]
    run = drive("run", "http://shop.test:82/", "--proxy", url, "--resolve",
                "shop.test:82:2001:db8::7", *JSON)
    assert causes(run) == {} and proxy.told[1:] == [(4, "2001:db8::7", 82)]
    assert causes(drive("run", "http://no-such-name.invalid/", "--proxy", url, *JSON)) == {"dns": 1}
    assert len(proxy.told) == 2


@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
def test_socks_with_credentials_and_tls(drive, raw_server, https_server, trust, scheme):
    proxy = SocksProxy(https_server.port, credentials=PLAIN)
    host = raw_server(proxy).host
    to = ("--resolve", "shop.test:443:192.0.2.7")
    run = drive("run", "https://shop.test/", "--proxy", f"{scheme}://who:{SECRET}@{host}", *trust,
                *to, *JSON)
    assert causes(run) == {} and proxy.logins == [PLAIN]
    for url in (f"{scheme}://{host}", f"{scheme}://who:wrong@{host}"):
        run = drive("run", "https://shop.test/", "--proxy", url, *trust, *to, *JSON)
        assert causes(run) == {"connect/proxy": 1}


@pytest.mark.parametrize("reply", [1, 2, 3, 4, 5, 6, 7, 8, 99])
def test_socks_refusals(drive, raw_server, reply):
    proxy = SocksProxy(1, reply=reply)
    run = drive("run", "http://shop.test/", "--proxy", f"socks5h://{raw_server(proxy).host}", "-v")
    assert outcomes(run) == ["could not connect"], run
    assert "  cause: " in run.stdout and run.stdout.split("  cause: ")[1].strip(), run


# --- what goes wrong ---

PAGE = b"<html>not the target's</html>"
REFUSALS = {
    "405": (ok(PAGE, status=b"405 Method Not Allowed"), "405"),
    "407": (ok(PAGE, b"Proxy-Authenticate: Basic", status=b"407 Proxy Authentication Required"), "407"),
    "502": (ok(PAGE, status=b"502 Bad Gateway"), "502"),
    "503 without reason": (b"HTTP/1.0 503\r\n\r\n" + PAGE, "503"),
    "302": (ok(b"", b"Location: http://127.0.0.1:1/", status=b"302 Found"), "302"),
    "chunks and a length": (b"HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n"
                            b"Content-Length: 5\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "403"),
    "NUL": (b"HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n", "something that is not HTTP"),
    "no HTTP": (b"220 smtp.test ESMTP\r\n", "something that is not HTTP"),
    "nothing": (b"", None),
    "half a head": (b"HTTP/1.1 200 OK\r\nX: ", None),
    "a head without end": (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200000, None),
}


@pytest.mark.fault("X-1")
@pytest.mark.parametrize("name", REFUSALS)
def test_refused_connect(drive, raw_server, trust, name):
    answer, said = REFUSALS[name]
    front = raw_server([[answer, CLOSE]])
    run = drive("run", "https://shop.test/", "--proxy", front.url, *trust, "-i", 2, "-v")
    assert outcomes(run) == ["could not connect"] * 2, run
    detail = run.stdout.split("  cause: ")[1].split("\n")[0]
    assert "proxy" in detail and (said is None or said in detail), run
    assert "not the target" not in run.stdout
    assert [r.method for r in front.requests] == ["CONNECT"] * 2
    run = drive("run", "https://shop.test/", "--proxy", front.url, *trust, "-i", 2, *JSON)
    assert causes(run) == {"connect/proxy": 2}
    assert run.json["global"]["status_counts"] == {"520": 2}
    assert run.json["connections"] == {"opened": 0, "reused": 0, "failed": 2}


@pytest.mark.fault("X-1")
@pytest.mark.parametrize("step", [1, 2, 3, 7])
def test_answers_of_a_proxy_in_pieces(drive, raw_server, https_server, trust, step):
    answer = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 Fine\r\nX: y\r\nContent-Length: 7\r\n\r\n"

    def serve(connection):
        connection.read_request()
        connection.send_pieces([answer[i:i + step] for i in range(0, len(answer), step)], 0.001)
        relay(connection, https_server.port)
    run = drive("run", "https://shop.test/", "--proxy", raw_server(serve).url, *trust, *JSON)
    assert causes(run) == {} and len(https_server.requests) == 1


@pytest.mark.fault("X-1")
def test_a_reset_within_connect(drive, raw_server, trust):
    front = raw_server([RESET])
    run = drive("run", "https://shop.test/", "--proxy", front.url, *trust, "-i", 2, *JSON)
    (cause,) = causes(run)
    assert cause in ("connect/proxy", "reset"), cause


@pytest.mark.fault("X-2")
@pytest.mark.parametrize("scheme", ["http", "https", "socks5h"])
def test_a_proxy_that_stalls(drive, raw_server, trust, scheme):
    front = raw_server(lambda connection: connection.hang())
    run = drive("run", "https://shop.test/", "--proxy", f"{scheme}://{front.host}", *trust,
                "--connect-timeout", 0.3, "--timeout", 30, "-p", 2, "-i", 2, *JSON)
    assert causes(run) == {"connect/timeout": 2}
    assert 250 < run.json["global"]["latency_ms"]["max"] < 5000
    run = drive("run", "https://shop.test/", "--proxy", f"{scheme}://{front.host}", *trust,
                "--timeout", 0.3)
    assert outcomes(run) == ["request timed out"]


@pytest.mark.fault("X-2")
def test_a_proxy_that_stalls_within_its_answer(drive, raw_server, trust):
    front = raw_server([[b"HTTP/1.1 200 OK\r\nX: ", HANG]])
    run = drive("run", "https://shop.test/", "--proxy", front.url, *trust, "--connect-timeout", 0.3,
                *JSON)
    assert causes(run) == {"connect/timeout": 1}


@pytest.mark.fault("X-2")
@pytest.mark.parametrize("target", ["http", "https"])
def test_a_proxy_that_is_not_there(drive, dead_port, trust, target):
    for scheme in ("http", "https", "socks5h"):
        run = drive("run", f"{target}://shop.test/", "--proxy", f"{scheme}://127.0.0.1:{dead_port}",
                    *trust, "-i", 2, *JSON)
        assert causes(run) == {"connect/refused": 2}
    run = drive("run", f"{target}://shop.test/", "--proxy", "http://no-such-proxy.invalid", *JSON)
    assert causes(run) == {"dns": 1}


@pytest.mark.fault("X-1")
def test_the_next_of_the_proxy_s_addresses(drive, raw_server):
    proxy = HttpProxy()
    port = raw_server(proxy).port
    run = drive("run", "http://shop.test/", "--proxy", f"http://proxy.test:{port}", *JSON,
                "--resolve", f"proxy.test:{port}:127.0.0.2,127.0.0.1")
    assert causes(run) == {} and len(proxy.others) == 1
    assert {a["address"]: a["connections"] for a in run.json["addresses"]} == {
        f"127.0.0.2:{port}": 0, f"127.0.0.1:{port}": 1}


@pytest.mark.fault("X-5")
@pytest.mark.parametrize("target", ["http", "https"])
def test_a_line_break_is_not_sent_through_a_proxy(drive, plan, raw_server, target):
    front = raw_server(HttpProxy())
    plan(f"base: {target}://shop.test\nplan:\n  - request:\n      url: /\n      headers: "
         "{X-A: '{{ item }}'}\n    with_items: [\"a\\r\\nX-B: c\"]\n")
    run = drive("run", "-b", "plan.yml", "--proxy", front.url, *JSON)
    assert run.code == 1 and run.json["global"]["causes"] == {"local": 1}, run
    assert front.requests == []
    plan(f"base: {target}://shop.test\nplan:\n  - request: {{url: 'http://{{{{ item }}}}/'}}\n"
         "    with_items: [\"a\\r\\nX-B: c\"]\n")
    run = drive("run", "-b", "plan.yml", "--proxy", front.url, *JSON)
    assert run.code == 1 and front.requests == [], run


# --- which proxy, and when none ---

ROUTES = {
    "HTTP_PROXY": ({"HTTP_PROXY": "{one}"}, [], "one"),
    "http_proxy": ({"http_proxy": "{one}"}, [], "one"),
    "upper case wins": ({"HTTP_PROXY": "{one}", "http_proxy": "{two}"}, [], "one"),
    "ALL_PROXY": ({"ALL_PROXY": "{one}"}, [], "one"),
    "all_proxy": ({"all_proxy": "{one}"}, [], "one"),
    "the particular one wins": ({"ALL_PROXY": "{two}", "http_proxy": "{one}"}, [], "one"),
    "blank is not set": ({"HTTP_PROXY": " ", "ALL_PROXY": "{one}"}, [], "one"),
    "not for http": ({"HTTPS_PROXY": "{one}"}, [], None),
    "CGI": ({"HTTP_PROXY": "{one}", "REQUEST_METHOD": "GET"}, [], None),
    "CGI, lower case": ({"http_proxy": "{one}", "REQUEST_METHOD": "GET"}, [], "one"),
    "the flag wins": ({"HTTP_PROXY": "{two}"}, ["--proxy", "{one}"], "one"),
    "an empty flag": ({"HTTP_PROXY": "{one}"}, ["--proxy", ""], None),
    "NO_PROXY": ({"HTTP_PROXY": "{one}", "NO_PROXY": "127.0.0.1"}, [], None),
    "no_proxy": ({"HTTP_PROXY": "{one}", "no_proxy": "127.0.0.1"}, [], None),
    "NO_PROXY for the flag": ({"NO_PROXY": "127.0.0.1"}, ["--proxy", "{one}"], None),
    "the flag's exceptions win": ({"NO_PROXY": "127.0.0.1"},
                                  ["--proxy", "{one}", "--no-proxy", "x.test"], "one"),
    "an empty list": ({"NO_PROXY": "*"}, ["--proxy", "{one}", "--no-proxy", ""], "one"),
}


@pytest.mark.fault("X-4")
@pytest.mark.parametrize("name", ROUTES)
def test_which_proxy(drive, raw_server, name):
    environment, flags, via = ROUTES[name]
    server, one, two = raw_server(answering()), raw_server(HttpProxy()), raw_server(HttpProxy())

    def filled(text):
        return text.format(one=one.url, two=two.url)
    run = drive("run", server.url, *map(filled, flags), *JSON,
                env={key: filled(value) for key, value in environment.items()})
    assert causes(run) == {}
    assert (len(server.requests), len(one.requests), len(two.requests)) == (
        via is None, via == "one", via == "two")


@pytest.mark.fault("X-4")
def test_https_proxy_variable(drive, raw_server, https_server, trust):
    proxy = HttpProxy(https_server.port)
    front = raw_server(proxy)
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        run = drive("run", "https://shop.test/", *trust, *JSON, env={name: front.url})
        assert causes(run) == {}
    assert len(proxy.connects) == 3
    run = drive("run", "https://shop.test/", *trust, "--resolve", "shop.test:443:127.0.0.1",
                *JSON, env={"HTTP_PROXY": front.url, "HTTPS_PROXY": front.url, "NO_PROXY": ".test"})
    assert set(causes(run)) == {"connect/refused"} and len(proxy.connects) == 3


EXCEPTIONS = [  # what stands in the list, the host, reached directly?
    ("shop.test", "shop.test", True), ("shop.test", "www.shop.test", True),
    (".shop.test", "www.shop.test", True), (".shop.test", "shop.test", True),
    ("*.shop.test", "www.shop.test", True), ("SHOP.Test", "shop.test", True),
    ("shop.test", "SHOP.TEST.", True), ("shop.test", "workshop.test", False),
    ("a.test, shop.test\tb.test", "shop.test", True), (",,", "shop.test", False),
    ("*", "shop.test", True), ("*", "127.0.0.1", True),
    ("127.0.0.0/8", "127.0.0.1", True), ("127.0.0.0/8", "shop.test", False),
    ("126.0.0.0/8", "127.0.0.1", False), ("127.0.0.1/32", "127.0.0.1", True),
    ("0.0.0.0/0", "127.0.0.1", True), ("127.0.0.1", "127.0.0.1", True),
    ("::1", "[::1]", True), ("[::1]", "[::1]", True), ("::/64", "[::1]", True),
    ("2001:db8::/32", "[::1]", False), ("::/0", "127.0.0.1", False),
    ("shop.test:{port}", "shop.test", True), ("shop.test:1", "shop.test", False),
    ("[::1]:{port}", "[::1]", True), ("127.0.0.1:1", "127.0.0.1", False),
]


@pytest.mark.fault("X-4")
@pytest.mark.parametrize("entry,host,direct", EXCEPTIONS)
@pytest.mark.parametrize("how", ["flag", "variable"])
def test_exceptions(drive, raw_server, entry, host, direct, how):
    server, front = raw_server(answering()), raw_server(HttpProxy())
    entry = entry.format(port=server.port)
    given = ["--no-proxy", entry] if how == "flag" else []
    run = drive("run", f"http://{host}:{server.port}/", "--proxy", front.url, *given, *JSON,
                "--resolve", f"*:{server.port}:127.0.0.1", "--connect-to",
                f"[::1]:{server.port}:127.0.0.1:{server.port}",
                env={} if given else {"NO_PROXY": entry})
    assert causes(run) == {}
    assert (len(server.requests), len(front.requests)) == (direct, not direct)


@pytest.mark.parametrize("arguments,said", [
    (["--proxy", "ftp://proxy.test"], "scheme"), (["--proxy", "socks4://proxy.test"], "scheme"),
    (["--proxy", "http://"], "host"), (["--proxy", "http://:80"], "host"),
    (["--proxy", "http://proxy.test:0"], "port"), (["--proxy", "proxy.test:x"], "port"),
    (["--proxy", "http://a b"], "host"), (["--proxy", "http://[::1"], ""),
    (["--proxy", f"socks5://{'u' * 256}:p@proxy.test"], "255"),
    (["--no-proxy", "10.0.0.0/33"], "network"),
    (["--no-proxy", "shop.test:x"], ""), (["--no-proxy", "a.test,*.*"], ""),
])
def test_settings_that_cannot_be(drive, raw_server, arguments, said):
    server = raw_server(answering())
    run = drive("run", server.url, *arguments)
    assert run.code in (1, 2) and run.stdout == "" and server.connections == 0, run
    first = run.stderr.splitlines()[0]
    assert first.startswith("error: ") and arguments[0] in first and said in first, run
    assert run.stderr.count("error: ") == 1, run


@pytest.mark.fault("X-4")
def test_variables_that_cannot_be(drive, raw_server):
    """A proxy is an error, an exception is passed over."""
    server = raw_server(answering())
    run = drive("run", server.url, env={"HTTP_PROXY": "ftp://x"})
    assert run.code == 1 and "HTTP_PROXY" in run.stderr and server.requests == [], run
    run = drive("run", server.url, *JSON,
                env={"HTTP_PROXY": "http://127.0.0.1:1", "NO_PROXY": "1.2.3.4/99,127.0.0.1"})
    assert causes(run) == {}


# --- real ones ---

def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Program:
    """A proxy program, once it answers on its port."""

    def __init__(self, port, *command):
        self.port = port
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        self.stop()
        raise RuntimeError(f"{command[0]} does not start")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def find(name):
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    if not path:
        pytest.skip(f"{name} is not installed: it was NOT asked")
    return path


def tinyproxy(folder, port):
    program = find("tinyproxy")
    config = folder / "tinyproxy.conf"
    config.write_text(f"Port {port}\nListen 127.0.0.1\nTimeout 30\nMaxClients 50\nLogLevel Error\n"
                      f'LogFile "{folder}/log"\nPidFile "{folder}/pid"\nBasicAuth who s3cr3t\n')
    return Program(port, program, "-d", "-c", config)


def squid(folder, port):
    program = find("squid")
    folder.chmod(0o777)
    for parent in list(folder.parents)[:2]:
        os.chmod(parent, 0o755)  # it gives up being root
    config = folder / "squid.conf"
    config.write_text(
        f"http_port 127.0.0.1:{port}\nhttp_access allow all\nacl CONNECT method CONNECT\n"
        f"cache deny all\ncache_mem 1 MB\nmemory_pools off\nnetdb_filename none\n"
        f"pid_filename {folder}/pid\ncache_log {folder}/cache.log\naccess_log none\n"
        f"coredump_dir {folder}\nshutdown_lifetime 0 seconds\npinger_enable off\n"
        f"logfile_rotate 0\nhosts_file none\ndns_nameservers 127.0.0.1\n")
    return Program(port, program, "-N", "-f", config)


@pytest.fixture(params=[tinyproxy, squid], ids=["tinyproxy", "squid"])
def real_proxy(request, tmp_path_factory):
    program = request.param(tmp_path_factory.mktemp("proxy"), free_port())
    yield program
    program.stop()


@pytest.fixture
def real_socks():
    port = free_port()
    program = Program(port, find("microsocks"), "-i", "127.0.0.1", "-p", str(port), "-u", "who",
                      "-P", "s3cr3t")
    yield program
    program.stop()


def test_real_http_proxies(drive, raw_server, https_server, trust, real_proxy):
    server = raw_server(answering(lambda request: ok(b"x" * 5000)))
    url = f"http://who:s3cr3t@127.0.0.1:{real_proxy.port}"
    run = drive("run", f"{server.url}/a?b", "--proxy", url, "-i", 20, "-p", 3, *JSON)
    assert causes(run) == {} and run.json["global"]["status_counts"] == {"200": 20}, run
    assert [(r.target, r.field("Host")) for r in server.requests] == [("/a?b", server.host)] * 20
    assert all(r.field("Proxy-Authorization") is None for r in server.requests)
    run = drive("run", f"https://127.0.0.1:{https_server.port}/", "--proxy", url, *trust, "-i", 20,
                "-p", 3, *JSON)
    assert causes(run) == {} and run.json["global"]["status_counts"] == {"200": 20}
    assert len(https_server.requests) == 20
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        run = drive("run", f"https://127.0.0.1:{holder.getsockname()[1]}/", "--proxy", url, *JSON)
        assert causes(run) == {"connect/proxy": 1}


@pytest.mark.clear  # microsocks wants each message whole
@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
def test_real_socks_proxy(drive, raw_server, https_server, trust, real_socks, scheme):
    server = raw_server(answering())
    url = f"{scheme}://who:s3cr3t@127.0.0.1:{real_socks.port}"
    run = drive("run", f"http://localhost:{server.port}/", "--proxy", url, "-4", "-i", 20, "-p", 3,
                *JSON)
    assert causes(run) == {} and len(server.requests) == 20
    run = drive("run", f"https://127.0.0.1:{https_server.port}/", "--proxy", url, *trust, "-i", 5,
                *JSON)
    assert causes(run) == {} and len(https_server.requests) == 5
    run = drive("run", server.url, "--proxy", f"{scheme}://127.0.0.1:{real_socks.port}", *JSON)
    assert causes(run) == {"connect/proxy": 1}
