"""Redirects and cookies as they go over the wire (rows K of the catalogue of faults)."""
import json
import re

import pytest

from rawserver import ok
from wirekit import BAD_HEAD, Bad, Good, check_server, check_verdict, outcomes

NOT_FOLLOWED = Bad("redirect", "request failed")

# Headers of a plan, and whether they go to another origin.
HEADERS = {"Authorization": "Bearer secret", "Cookie": "plan=secret",
           "Proxy-Authorization": "Basic secret", "X-Api-Key": "key", "Accept-Language": "de"}
KEPT_BACK = ("Authorization", "Cookie", "Proxy-Authorization")


def see(location, status=b"302 Found", *fields):
    """A redirect."""
    if isinstance(location, str):
        location = location.encode()
    return ok(b"", b"Location: " + location, *fields, status=status)


def a_plan(server, url="/", method="GET", more=""):
    return f"base: {server.url}\nplan:\n  - request: {{url: '{url}', method: {method}{more}}}\n"


@pytest.fixture
def go(drive, plan):
    """go(server, n, *options, …): the figures of a run of n requests, whose sums are checked."""
    def run(server, n, *options, url="/", method="GET", more="", others=()):
        plan(a_plan(server, url, method, more))
        result = drive("run", "-b", "plan.yml", "-i", n, "-p", 1, "--stats-format", "json",
                       *options)
        assert result.code == 0, result
        check_server(result.json, server, *others)
        return result.json
    return run


def headers_of(request):
    return {name: value for name, value in request.fields if name in HEADERS}


HEADERS_OF_PLAN = ", headers: " + json.dumps(HEADERS)
HEADERS_ELSEWHERE = {n: v for n, v in HEADERS.items() if n not in KEPT_BACK}


@pytest.mark.fault("K-1")
def test_same_origin_gets_all(go, raw_server):
    server = raw_server([see("/b"), ok()])
    figures = go(server, 1, more=HEADERS_OF_PLAN)
    check_verdict(figures, Good(redirects=1), 1)
    assert [headers_of(r) for r in server.requests] == [HEADERS, HEADERS]
    assert server.connections == 1


@pytest.mark.fault("K-1")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_another_origin_gets_no_secrets(host, go, raw_server):
    """Another port, and another name of the same host; also not when it leads back."""
    first = raw_server([lambda: None])
    other = raw_server([see(f"{first.url}/c")])
    first.script = [see(f"http://{host}:{other.port}/b"), ok()]
    figures = go(first, 1, more=HEADERS_OF_PLAN, others=[other])
    check_verdict(figures, Good(redirects=2), 1)
    assert headers_of(first.requests[0]) == HEADERS
    assert headers_of(other.requests[0]) == HEADERS_ELSEWHERE
    assert headers_of(first.requests[1]) == HEADERS_ELSEWHERE
    assert other.requests[0].field("Host") == f"{host}:{other.port}"
    assert first.requests[1].field("Host") == first.host


@pytest.mark.fault("K-1")
def test_credentials_of_a_url_stay_with_it(go, raw_server):
    """Those of the plan's URL go no further; those of a Location go where it says."""
    other = raw_server([ok()])
    first = raw_server([see(f"http://{other.host}/"),
                        see(f"http://a:b@{other.host}/")])
    go(first, 2, url=f"http://user:word@{first.host}/", others=[other])
    assert [r.field("Authorization") for r in first.requests] == ["Basic dXNlcjp3b3Jk"] * 2
    assert [r.field("Authorization") for r in other.requests] == [None, "Basic YTpi"]


@pytest.mark.fault("K-1")
def test_host_of_the_plan_stays_with_the_origin(go, raw_server):
    other = raw_server([ok()])
    first = raw_server([see("/b"), see(f"{other.url}/")])
    go(first, 1, more=", headers: {Host: shop.example}", others=[other])
    assert [r.field("Host") for r in first.requests] == ["shop.example"] * 2
    assert other.requests[0].field("Host") == other.host


# --- how many ---

@pytest.mark.fault("K-2")
@pytest.mark.parametrize("options, hops", [([], 10), (["--max-redirects", 3], 3)])
def test_loop(options, hops, go, drive, raw_server):
    server = raw_server([see("/")])
    figures = go(server, 2, *options)
    check_verdict(figures, Bad("redirect", "", redirects=hops), 2)
    assert len(server.requests) == 2 * (hops + 1)
    assert outcomes(drive("run", server.url, *options)) == ["too many redirects"]


@pytest.mark.fault("K-2")
def test_ten_are_followed(go, raw_server):
    server = raw_server([*(see(f"/{i}") for i in range(10)), ok()])
    check_verdict(go(server, 1), Good(redirects=10), 1)
    assert [r.target for r in server.requests] == ["/", *(f"/{i}" for i in range(10))]


@pytest.mark.fault("K-2")
def test_none_is_followed_if_asked(go, raw_server):
    server = raw_server([see("/b")])
    check_verdict(go(server, 3, "--max-redirects", 0), Good(302), 3)


@pytest.mark.fault("K-2")
def test_large_heads_on_the_way(go, raw_server):
    """Each is within the limit, and none is kept."""
    server = raw_server([*(see(f"/{i}", b"302 Found", b"X: " + b"x" * 300_000)
                           for i in range(10)), ok()])
    figures = go(server, 1)
    check_verdict(figures, Good(redirects=10), 1)
    assert figures["generator"]["max_rss_bytes"] < 400 << 20


# --- where to ---

@pytest.mark.fault("K-3")
@pytest.mark.parametrize("location", [
    "", " ", "http://", "http://[::1", "http://[z]/", "http://127.0.0.1:99999/",
    "http://127.0.0.1:x/", "http://a b/", "http://a%00b/", "file:///etc/passwd",
    "gopher://127.0.0.1/", "javascript:alert(1)", "mailto:a@example.com", "ftp://127.0.0.1/",
    "data:,x", "//", "http://256.256.256.256/"])
def test_not_followed(location, go, drive, raw_server):
    server = raw_server([see(location)])
    check_verdict(go(server, 2), NOT_FOLLOWED, 2)
    assert len(server.requests) == 2
    assert outcomes(drive("run", server.url)) == ["request failed"]


@pytest.mark.fault("K-4")
@pytest.mark.parametrize("location, target", [
    ("/d", "/d"), ("d", "/a/b/d"), ("./d", "/a/b/d"), ("../d", "/a/d"), ("../../../d", "/d"),
    ("/x/../y/./z", "/y/z"), ("/%2e%2e/x", "/x"), ("?q=2", "/a/b/c?q=2"), ("?", "/a/b/c?"),
    ("/p#fragment", "/p"), ("/p?q#fragment", "/p?q"), ("/x y", "/x%20y"), ("/x?y z", "/x?y%20z"),
    ("/ä", "/%C3%A4"), ("/%c3%a4", "/%c3%a4"), ('/"<>', "/%22%3C%3E"), ("\\x", "/x"),
    ("  /trimmed\t", "/trimmed"), ("//{host}/y", "/y"), ("HTTP://{host}/y", "/y"),
    ("http://{host}", "/"), ("http:/y", "/y"), ("///{host}/y", "/y"), ("//{host}\\y", "/y"),
    ("http://0x7f.1:{port}/y", "/y"), ("http://2130706433:{port}/y", "/y")])
def test_where_a_location_leads(location, target, go, raw_server):
    server = raw_server([lambda: None])
    server.script = [see(location.format(host=server.host, port=server.port)), ok()]
    check_verdict(go(server, 1, url="/a/b/c?x=1"), Good(redirects=1), 1)
    assert [r.target for r in server.requests] == ["/a/b/c?x=1", target]


@pytest.mark.fault("K-4")
def test_a_folded_location(go, raw_server):
    server = raw_server([see(b"\r\n /d"), ok()])
    check_verdict(go(server, 1), Good(redirects=1, lenient=1), 1)
    assert server.requests[1].target == "/d"


@pytest.mark.fault("K-4")
@pytest.mark.parametrize("second", [b"Location: /b", b"location: /c"])
def test_two_locations(second, go, drive, raw_server):
    server = raw_server([see("/b", b"302 Found", second)])
    check_verdict(go(server, 2), BAD_HEAD, 2)
    assert len(server.requests) == 2
    assert outcomes(drive("run", server.url)) == ["request failed"]


@pytest.mark.fault("K-4")
@pytest.mark.parametrize("status", [b"200 OK", b"201 Created", b"300 Multiple Choices",
                                    b"304 Not Modified", b"305 Use Proxy", b"404 Not Found"])
def test_location_of_other_statuses(status, go, raw_server):
    server = raw_server([see("/b", status)])
    check_verdict(go(server, 2), Good(int(status[:3])), 2)


@pytest.mark.fault("K-4")
def test_redirect_without_a_location(go, raw_server):
    server = raw_server([ok(status=b"302 Found")])
    check_verdict(go(server, 2), Good(302), 2)


# --- what is sent then ---

@pytest.mark.fault("K-5")
@pytest.mark.parametrize("status, method, then", [
    (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (307, "POST", "POST"),
    (308, "POST", "POST"), (301, "PUT", "PUT"), (302, "PATCH", "PATCH"), (303, "PUT", "GET"),
    (303, "DELETE", "GET"), (302, "DELETE", "DELETE"), (303, "HEAD", "HEAD"), (301, "HEAD", "HEAD"),
    (303, "GET", "GET"), (308, "PUT", "PUT")])
def test_method_and_body(status, method, then, go, raw_server):
    """They go together: with another method, the body and its headers stay behind."""
    server = raw_server([see("/b", b"%d X" % status), ok(b"")])
    headers = {"Content-Type": "text/plain", "Content-Language": "de", "X-Api-Key": "key"}
    figures = go(server, 1, method=method,
                 more=f", body: hello, headers: {json.dumps(headers)}")
    check_verdict(figures, Good(redirects=1), 1)
    first, second = server.requests
    assert (first.method, second.method) == (method, then)
    assert first.body == b"hello" and first.field("X-Api-Key") == second.field("X-Api-Key") == "key"
    kept = method == then and status != 303 or method == "HEAD"
    assert second.body == (b"hello" if kept else b"")
    for name in ("Content-Type", "Content-Language", "Content-Length"):
        assert second.field(name) == (first.field(name) if kept else None), name
    assert second.field("Referer") is None


@pytest.mark.fault("K-5", "L-1")
def test_a_post_that_became_a_get_may_be_sent_again(go, raw_server):
    """Its connection ends before the answer to the GET."""
    def serve(connection):
        if connection.read_request().method == "POST":
            connection.send(see("/b", b"303 See Other"))
            connection.read_request()
        else:
            connection.send(ok())

    server = raw_server(serve)
    figures = go(server, 1, method="POST")
    assert figures["global"]["extra"]["reconnects"] == 1
    assert [r.method for r in server.requests] == ["POST", "GET", "GET"]


# --- cookies ---

def cookies_back(go, raw_server, *set_cookie, host=None):
    """What Cookie header the request for /a/c has after these Set-Cookie in the answer to /a/b."""
    fields = [b"Set-Cookie: " + value for value in set_cookie]
    server = raw_server([see("/a/c", b"302 Found", *fields), ok()])
    url = f"http://{host}:{server.port}/a/b" if host else "/a/b"
    go(server, 1, url=url)
    assert server.requests[0].field("Cookie") is None
    return server.requests[1].field("Cookie")


@pytest.mark.fault("K-6")
@pytest.mark.parametrize("set_cookie, back", [
    (b"a=1", "a=1"), (b"a=1; HttpOnly; SameSite=Strict", "a=1"), (b"a=b=c", "a=b=c"),
    (b'a="x y"', 'a="x y"'), (b"  a = 1 ;x", "a=1"), (b"a=", "a="), (b"a", None), (b"=", None),
    (b"a=1; Path=/a", "a=1"), (b"a=1; Path=/a/b/c", None), (b"a=1; Path=/x", None),
    (b"a=1; Path=nonsense", "a=1"), (b"a=1; Max-Age=100", "a=1"), (b"a=1; Max-Age=0", None),
    (b"a=1; Max-Age=-1", None), (b"a=1; Expires=Thu, 01 Jan 1970 00:00:01 GMT", None),
    (b"a=1; Expires=Fri, 01 Jan 2100 00:00:00 GMT", "a=1"), (b"a=1; Expires=never", "a=1"),
    (b"a=1; Secure", None), (b"__Host-a=1; Secure; Path=/", None), (b"__Host-a=1; Path=/", None),
    (b"__Secure-a=1", None), (b"a=1; Domain=example.com", None), (b"a=1; Domain=com", None),
    (b"a=1; Domain=127.0.0.1", "a=1"), (b"a=1; Domain=0.0.1", None), (b"a=1; Domain=", "a=1"),
    (b"a=\xc3\xa4", "a=\xc3\xa4"), (b"a=" + b"x" * 4000, "a=" + "x" * 4000),
    (b"a=" + b"x" * 5000, None), (b"x" * 5000 + b"=a", None),
    (b"a=1; Path=/" + b"x" * 2000, "a=1")])
def test_what_a_server_sets(set_cookie, back, go, raw_server):
    assert cookies_back(go, raw_server, set_cookie) == back


@pytest.mark.fault("K-6")
@pytest.mark.parametrize("set_cookie, back", [
    (b"a=1", "a=1"), (b"a=1; Domain=localhost", "a=1"), (b"a=1; Domain=local", None)])
def test_a_host_that_is_a_public_suffix(set_cookie, back, go, raw_server):
    """It may set cookies for itself (RFC 6265, 5.3, step 5)."""
    assert cookies_back(go, raw_server, set_cookie, host="localhost") == back


@pytest.mark.fault("K-6")
@pytest.mark.parametrize("byte", [b"\x01", b"\x1f", b"\x7f"])
def test_control_characters_spoil_the_response(byte, go, raw_server):
    server = raw_server([see("/b", b"302 Found", b"Set-Cookie: a=" + byte)])
    check_verdict(go(server, 1), BAD_HEAD, 1)


@pytest.mark.fault("K-6")
def test_fifty_of_a_response(go, raw_server):
    back = cookies_back(go, raw_server, *(b"c%d=1" % i for i in range(1000)))
    assert back.split("; ") == [f"c{i}=1" for i in range(50)]


@pytest.mark.fault("K-6")
def test_eight_kilobytes_are_sent(go, raw_server):
    back = cookies_back(go, raw_server, *(b"c%d=" % i + b"x" * 1000 for i in range(20)))
    assert 7000 < len(back) <= 8190 and back.startswith("c0=x")


@pytest.mark.fault("K-6")
def test_one_hundred_and_fifty_are_kept(go, raw_server):
    """The oldest make room."""
    server = raw_server([*(see(f"/{r}", b"302 Found",
                               *(b"Set-Cookie: c%d=1" % (50 * r + i) for i in range(50)))
                           for r in range(5)), ok()])
    go(server, 1)
    back = server.requests[5].field("Cookie").split("; ")
    assert back == [f"c{i}=1" for i in range(100, 250)]


@pytest.mark.fault("K-6", "K-1")
def test_cookies_belong_to_a_host(go, raw_server):
    """To all its ports (RFC 6265), and to no other name."""
    server = raw_server([lambda: None])
    other = raw_server([ok()])
    server.script = [see(f"http://localhost:{server.port}/b", b"302 Found", b"Set-Cookie: a=1"),
                     see(f"http://{other.host}/c", b"302 Found", b"Set-Cookie: l=1")]
    go(server, 1, others=[other])
    assert [r.field("Cookie") for r in server.requests] == [None, None]
    assert other.requests[0].field("Cookie") == "a=1"


@pytest.mark.fault("K-6", "K-1")
def test_cookies_of_the_plan_stand_in_place(go, raw_server):
    """For the request, as far as it goes to the same origin."""
    other = raw_server([ok()])
    server = raw_server([see("/b", b"302 Found", b"Set-Cookie: a=1"), see(f"{other.url}/")])
    go(server, 1, more=", headers: {Cookie: mine=1}", others=[other])
    assert [r.field("Cookie") for r in server.requests] == ["mine=1", "mine=1"]
    assert other.requests[0].field("Cookie") == "a=1"


@pytest.mark.threads
@pytest.mark.fault("K-7")
def test_users_share_no_cookies(drive, plan, raw_server):
    """Nor do the iterations of one: each logs in without a cookie and then has its own."""
    def serve(connection):
        while True:
            request = connection.read_request()
            connection.send(ok(b"ok", b"Set-Cookie: id=%d" % request.number)
                            if request.target == "/login" else ok())

    server = raw_server(serve)
    plan(f"base: {server.url}\nplan:\n  - request: {{url: /login}}\n"
         "  - delay: {milliseconds: 5}\n  - request: {url: /me}\n  - request: {url: /me}\n")
    run = drive("run", "-b", "plan.yml", "-i", 200, "-p", 20, "-w", 2, "--stats-format", "json")
    check_verdict(run.json, Good(), 600)
    check_server(run.json, server)
    logins = [r for r in server.requests if r.target == "/login"]
    seen = [r.field("Cookie") for r in server.requests if r.target == "/me"]
    assert [r.field("Cookie") for r in logins] == [None] * 200
    assert sorted(seen) == sorted([f"id={r.number}" for r in logins] * 2)


# --- what is counted ---

@pytest.mark.fault("K-8")
def test_a_redirected_request_is_one(drive, tmp_path, raw_server):
    """One line, one record, one latency from the first byte sent to the last one read."""
    server = raw_server([[0.2, see("/b")], [0.2, see("/c", b"301 Moved")], [0.2, ok()]])
    run = drive("run", server.url, "-r", "report.yml", "--stats")
    assert outcomes(run) == ["200 OK"]
    assert server.url in run.stdout and "/b" not in run.stdout
    assert "Total requests            1" in run.lines
    report = (tmp_path / "report.yml").read_text()
    assert re.findall("status: (.*)", report) == ["200"]
    assert float(re.search("duration: (.*)", report)[1]) >= 600


@pytest.mark.fault("K-8")
def test_figures_of_a_redirected_request(go, raw_server):
    server = raw_server([[0.1, see("/b")], [0.1, see("/c")], [0.1, ok()]])
    figures = go(server, 1)
    check_verdict(figures, Good(redirects=2), 1)
    assert figures["global"]["responses_ms"]["min"] >= 300
    assert figures["global"]["phases_ms"]["first_byte"]["max"] >= 300
    assert figures["connections"] == {"opened": 1, "reused": 2, "failed": 0}


@pytest.mark.fault("K-8")
def test_time_limit_spans_redirects(go, raw_server):
    server = raw_server([[0.4, see("/b")]])
    figures = go(server, 1, "--timeout", 1)
    check_verdict(figures, Bad("timeout/first-byte", "", redirects=2), 1)
    assert 1000 <= figures["global"]["latency_ms"]["min"] < 2000
    assert len(server.requests) == 3


@pytest.mark.fault("K-8")
def test_failure_behind_a_redirect(dead_port, drive, raw_server):
    """It counts as what it is; its line names the URL of the plan."""
    server = raw_server([see(f"http://127.0.0.1:{dead_port}/")])
    run = drive("run", server.url)
    assert outcomes(run) == ["connection refused"] and server.url in run.lines[-1]
    run = drive("run", server.url, "--stats-format", "json")
    check_verdict(run.json, Bad("connect/refused", "", redirects=1), 1)
