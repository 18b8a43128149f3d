"""What templates bring into requests (rows I of faults.md): nothing that a value holds can make two
requests of one, or be looked at as a template again."""
import json
import re

import pytest

from faultkit import answering, check_sums, vectors
from rawserver import ok

BASE = "base: http://127.0.0.1:1\n"


@pytest.mark.fault("I-1")
@pytest.mark.parametrize("template, place", [
    ("request: {url: '/{{ nobody }}'}", "p.yml:3:20:"),
    ("request: {url: /, headers: {X: '{{ nobody }}'}}", "p.yml:3:36:"),
    ("request: {url: /, method: POST, body: '{{ nobody.id }}'}", "p.yml:3:43:"),
    ("{name: '{{ nobody }}', request: {url: /}}", "p.yml:3:12:"),
    ("assign: {key: a, value: '{{ nobody }}'}", "p.yml:3:29:"),
    ("assert: {key: nobody, value: b}", "p.yml:3:19:"),
    ("exec: {command: 'echo {{ nobody }}'}", "p.yml:3:21:"),
])
def test_unknown_name_is_found_when_the_plan_is_read(drive, plan, template, place):
    plan(BASE + f"plan:\n  - {template}\n", "p.yml")
    run = drive("run", "-b", "p.yml")
    assert run.code == 1 and run.stdout == "", run
    assert f"error: {place}" in run.stderr and "'nobody" in run.stderr, run


@pytest.mark.fault("I-1")
def test_a_misspelt_name_is_told_the_nearest(drive, plan):
    plan(BASE + "plan:\n  - request: {url: /}\n    assign: account\n"
         "  - request: {url: '/{{ acount.body.id }}'}\n")
    assert "did you mean 'account'?" in drive("run", "-b", "plan.yml").stderr


@pytest.mark.fault("I-1")
def test_what_is_no_template_is_left_as_it_stands(drive, plan, raw_server):
    server = raw_server(answering())
    texts = ["{{}}", "{{ }}", "{{ open", "close }}", "{{ a b }}", "{{ 7 }}", "{{ é }}", "{{{{", "}}{{",
             "{ { a } }", "{{ a | upper }}"]
    items = "".join(f"  - request: {{method: POST, url: /, body: '{t}'}}\n" for t in texts)
    plan(f"base: {server.url}\nplan:\n{items}")
    run = drive("run", "-b", "plan.yml")
    assert run.code == 0, run
    assert [r.body.decode() for r in server.requests] == texts
    assert run.stderr.count("is no template and is left as it stands") >= 7


@pytest.mark.fault("I-1")
def test_nested_braces(drive, plan, raw_server):
    server = raw_server(answering())
    plan(f"base: {server.url}\nplan:\n"
         "  - request: {method: POST, url: /, body: '{{ {{ iteration }} }}'}\n")
    assert drive("run", "-b", "plan.yml").code == 0
    assert server.requests[0].body == b"{{ 0 }}"


@pytest.mark.fault("I-1")
@pytest.mark.parametrize("path", ["x.body.id", "x.headers.gone", "x.nothing", "x.status.more", "base.x"])
def test_missing_at_run_time_gives_up_the_iteration(drive, plan, raw_server, path):
    server = raw_server(answering(lambda request: ok(b"{}")))
    plan(f"base: {server.url}\niterations: 3\nconcurrency: 1\nplan:\n"
         "  - name: get\n    request: {url: /get}\n    assign: x\n"
         f"  - name: use\n    request: {{url: '/{{{{ {path} }}}}'}}\n"
         "  - name: after\n    request: {url: /after}\n")
    run = drive("run", "-b", "plan.yml", "--stats-format", "json")
    assert run.code == 1, run
    assert [r.target for r in server.requests] == ["/get"] * 3
    assert run.json["global"]["causes"] == {"missing-variable": 3}
    assert run.json["iterations"]["abandoned"] == 3
    assert f"'{path}' is missing" in run.stderr
    check_sums(run.json)
    run = drive("run", "-b", "plan.yml", "--relaxed-interpolations", "--stats-format", "json")
    assert run.code == 0 and run.json["global"]["successful_requests"] == 9, run


# --- values that would split a request ---

HOSTILE = ["a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\rX-Evil: 1", "a\0b", "a\r\n\r\nGET /evil HTTP/1.1\r\n\r\n",
           "\x01", "\x1b[31m", "\x7f", "\x0b", "a HTTP/1.1\r\nHost: evil\r\n\r\n"]


@pytest.mark.fault("I-2")
@pytest.mark.fault("Z-7")
def test_values_that_would_split_a_request_are_not_sent(drive, plan, raw_server):
    """From a response, in every slot that is part of a head: nothing is sent, the cause is local."""
    def reply(request):
        if request.target.startswith("/get/"):
            return ok(json.dumps({"v": HOSTILE[int(request.target[5:])]}).encode())
        return ok()

    server = raw_server(answering(reply))
    slots = {"path": "url: '/{{ x.body.v }}'", "query": "url: '/?q={{ x.body.v }}'",
             "fragment": "url: '/#{{ x.body.v }}'",
             "host": "url: '" + server.url + "{{ x.body.v }}/'", "whole": "url: '{{ x.body.v }}'",
             "header": "url: /h, headers: {X-V: '{{ x.body.v }}'}",
             "host header": "url: /h, headers: {Host: '{{ x.body.v }}'}",
             "cookie": "url: /h, headers: {Cookie: 'a={{ x.body.v }}'}"}
    steps = "".join(f"  - name: {name}\n    request: {{{text}}}\n" for name, text in slots.items())
    plan(f"base: {server.url}\niterations: {len(HOSTILE)}\nconcurrency: 1\nplan:\n"
         f"  - name: get\n    request: {{url: '/get/{{{{ iteration }}}}'}}\n    assign: x\n{steps}")
    run = drive("run", "-b", "plan.yml", "-v")
    assert run.code == 1, run
    assert [r.target for r in server.requests] == [f"/get/{i}" for i in range(len(HOSTILE))]
    assert f"error: {len(HOSTILE) * len(slots)} request(s) could not be sent as written" in run.stderr
    assert "not sent: X-V holds a line break or another control character" in run.stderr
    assert run.stdout.count("ERR not sent") == len(HOSTILE) * len(slots)
    run = drive("run", "-b", "plan.yml", "--stats-format", "json")
    assert run.json["global"]["causes"] == {"local": len(HOSTILE) * len(slots)}
    check_sums(run.json)


@pytest.mark.fault("I-2")
@pytest.mark.parametrize("text, place", [
    ('headers: {X: "a\\r\\nb"}', "p.yml:3:36:"), ('headers: {X: "a\\0b"}', "p.yml:3:36:"),
    ('headers: {"X\\nY": b}', "p.yml:3:33:"), ('method: "GET /x HTTP/1.1\\r\\n"', "p.yml:3:31:"),
])
def test_written_down_they_are_found_when_the_plan_is_read(drive, plan, text, place):
    plan(BASE + f"plan:\n  - request: {{url: /, {text}}}\n", "p.yml")
    run = drive("run", "-b", "p.yml")
    assert run.code == 1 and run.stdout == "" and f"error: {place}" in run.stderr, run
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f]", run.stderr), run
    assert all(line.startswith(("error: ", "  help: ")) for line in run.stderr.splitlines()), run


@pytest.mark.fault("I-2")
def test_control_characters_in_a_body_are_its_own_business(drive, plan, raw_server):
    server = raw_server(answering(lambda r: ok(json.dumps({"v": HOSTILE}).encode())))
    plan(f"base: {server.url}\nplan:\n  - request: {{url: /}}\n    assign: x\n" + "".join(
        f"  - request: {{method: POST, url: /, body: '{{{{ x.body.v[{i}] }}}}'}}\n"
        for i in range(len(HOSTILE))))
    assert drive("run", "-b", "plan.yml", "-q").code == 0
    assert [r.body.decode() for r in server.requests[1:]] == HOSTILE


# --- how URLs are encoded ---

def percent(text, also):
    return "".join(c if 0x21 <= ord(c) <= 0x7e and c not in also else
                   "".join(f"%{b:02X}" for b in c.encode("utf-8")) for c in text)


def without_dots(path):
    done = []
    segments = path.split("/")[1:]
    for i, segment in enumerate(segments):
        plain = segment.lower().replace("%2e", ".")
        last = i == len(segments) - 1
        if plain == "..":
            done = done[:-1]
        elif plain != ".":
            done.append(segment)
        if last and plain in (".", ".."):
            done.append("")
    return "/" + "/".join(done)


def standard_target(rest):
    """What stands behind the authority of a special URL, by the URL standard (url.spec.whatwg.org):
    its basic parser, put in another way."""
    rest = rest.rstrip("".join(map(chr, range(0x21))))
    rest = re.sub("[\t\r\n]", "", rest)
    rest = rest.partition("#")[0]
    path, mark, query = rest.partition("?")
    path = without_dots(path.replace("\\", "/"))
    return percent(path, '"#<>?^`{}') + mark + percent(query, "\"#<>'")


@pytest.mark.fault("I-3")
@pytest.mark.parametrize("value, path, query", [
    ("?a&b#c", "/v/?a&b", "/v?q=?a&b"), ("%2F é", "/v/%2F%20%C3%A9", "/v?q=%2F%20%C3%A9"),
    ("a/../b", "/v/b", "/v?q=a/../b"), ("100%", "/v/100%", "/v?q=100%"), ("%zz", "/v/%zz", "/v?q=%zz"),
    ("a\\b", "/v/a/b", "/v?q=a\\b"), ("it's", "/v/it's", "/v?q=it%27s"), ("+ +", "/v/+%20+", "/v?q=+%20+"),
    ("{}|^`", "/v/%7B%7D|%5E%60", "/v?q={}|^`"), ("%25", "/v/%25", "/v?q=%25"),
    ("..", "/", "/v?q=.."), ("%2e%2E/x", "/x", "/v?q=%2e%2E/x"), ("//x", "/v///x", "/v?q=//x"),
])
def test_values_in_urls(drive, plan, raw_server, value, path, query):
    """Encoded as the URL standard has it, never twice."""
    server = raw_server(answering(lambda r: ok(json.dumps(value).encode())))
    plan(f"base: {server.url}\nplan:\n  - request: {{url: /}}\n    assign: x\n"
         "  - request: {url: '/v/{{ x.body }}'}\n  - request: {url: '/v?q={{ x.body }}'}\n")
    assert drive("run", "-b", "plan.yml", "-q").code == 0
    assert [r.target for r in server.requests[1:]] == [path, query]
    assert [standard_target("/v/" + value), standard_target("/v?q=" + value)] == [path, query]


@pytest.mark.fault("I-4")
def test_values_are_never_templates(drive, plan, raw_server, tmp_path):
    value = "{{ iteration }} {{ base }} {{ SECRET }} {{"
    (tmp_path / "data.csv").write_text(f"v\n{value}\n")
    server = raw_server(answering(lambda r: ok(json.dumps(value).encode(),
                                               b"Set-Cookie: c=" + value.encode())))
    plan(f"base: {server.url}\nplan:\n  - request: {{url: /}}\n    assign: x\n"
         "  - assign: {key: y, value: '{{ x.body }}'}\n"
         "  - request: {method: POST, url: '/{{ x.body }}', headers: {X-V: '{{ y }}'}, body: '{{ x.body }}'}\n"
         "  - request: {method: POST, url: /, headers: {X-V: '{{ cookies.c }}'}, body: '{{ ENV }}'}\n"
         "  - request: {method: POST, url: /, headers: {X-V: '{{ item.v }}'}, body: '{{ item.v }}'}\n"
         "    with_items_from_csv: data.csv\n"
         "  - exec: {command: 'cat'}\n    assign: z\n")
    run = drive("run", "-b", "plan.yml", "-q", env={"ENV": value, "SECRET": "not told"})
    assert run.code == 0, run
    for request in server.requests[1:]:
        assert (request.field("X-V"), request.body.decode()) == (value, value)
    assert server.requests[1].target == standard_target("/" + value)


@pytest.mark.fault("I-5")
def test_values_of_a_server_in_a_json_body(drive, plan, raw_server):
    """Lists and mappings come as JSON and may stand there bare; a text comes as it is, and is not
    escaped."""
    document = {"list": [1, "a\"b"], "map": {"k": "\n"}, "text": 'a"b', "number": 1.50}
    server = raw_server(answering(lambda r: ok(json.dumps(document).encode())))
    plan(f"base: {server.url}\nplan:\n  - request: {{url: /}}\n    assign: x\n"
         "  - request: {method: POST, url: /, body: '{\"l\":{{ x.body.list }},\"m\":{{ x.body.map }}}'}\n"
         "  - request: {method: POST, url: /, body: '{{ x.body.text }}'}\n")
    assert drive("run", "-b", "plan.yml", "-q").code == 0
    assert json.loads(server.requests[1].body) == {"l": document["list"], "m": document["map"]}
    assert server.requests[2].body == b'a"b'


@pytest.mark.fault("I-6")
def test_huge_values(drive, plan, raw_server):
    """What makes a request larger than 64 MiB is not sent; a large one is, once."""
    server = raw_server(answering(
        lambda r: ok(b"x" * (40 << 20)) if r.target == "/get" else ok()))
    plan(f"base: {server.url}\nplan:\n  - request: {{url: /get}}\n    assign: x\n"
         "  - request: {method: POST, url: /one, body: '{{ x.text }}'}\n"
         "  - request: {method: POST, url: /two, body: '{{ x.text }}{{ x.text }}'}\n"
         "  - name: url\n    request: {url: '/{{ x.text }}'}\n"
         "  - request: {url: /after}\n")
    run = drive("run", "-b", "plan.yml", "-q", "--stats-format", "json")
    assert run.code == 1, run
    assert [r.target for r in server.requests] == ["/get", "/one", "/after"]
    assert len(server.requests[1].body) == 40 << 20
    assert run.json["global"]["causes"] == {"local": 2}
    assert "larger than 64 MiB" in run.stderr and "longer than 65536 bytes" in run.stderr


@pytest.mark.fault("I-6")
def test_ten_thousand_placeholders(drive, plan, raw_server):
    server = raw_server(answering())
    n = 10000
    plan(f"base: {server.url}\niterations: 20\nconcurrency: 1\nplan:\n"
         f"  - request: {{method: POST, url: /, body: '{'{{ iteration }},' * n}'}}\n")
    run = drive("run", "-b", "plan.yml", "-q")
    assert run.code == 0 and run.seconds < 10, run
    assert [r.body for r in server.requests] == [b"%d," % i * n for i in range(20)]


@pytest.mark.fault("I-7")
@pytest.mark.fault("Z-7")
@pytest.mark.parametrize("headers, text", [
    ("{Transfer-Encoding: chunked}", "Transfer-Encoding"), ("{transfer-encoding: ''}", "Transfer-Encoding"),
    ("{Transfer-Encoding: '{{ base }}'}", "Transfer-Encoding"), ("{Content-Length: 4}", "3 bytes"),
    ("{Content-Length: '3, 3'}", "3 bytes"), ("{content-length: +3}", "3 bytes"),
    ("{Content-Length: '{{ base }}'}", "Content-Length"), ("{Host: a, host: b}", "stands twice"),
    ("{Content-Length: 3, content-length: 3}", "stands twice"), ("{'Content-Length ': 3}", "no name"),
    ("{'Transfer-Encoding:x': y}", "no name"), ("{Connection: 'close, Host'}", "Connection"),
    ("{Connection: '{{ base }}'}", "Connection"),
])
def test_headers_that_frame_the_request(drive, plan, headers, text):
    """A plan cannot make a request end somewhere else than driller has it end."""
    plan(BASE + f"plan:\n  - request: {{url: /, method: POST, body: abc, headers: {headers}}}\n", "p.yml")
    run = drive("run", "-b", "p.yml")
    assert run.code == 1 and run.stdout == "", run
    assert "error: p.yml:3:" in run.stderr and text in run.stderr, run


@pytest.mark.fault("I-7")
def test_headers_that_agree_with_the_request(drive, plan, raw_server):
    server = raw_server(answering())
    plan(f"base: {server.url}\nplan:\n  - request: {{url: /, method: POST, body: abc, "
         "headers: {content-length: 3, Host: other.example, Connection: close}}\n")
    run = drive("run", "-b", "plan.yml")
    assert run.code == 0, run
    request = server.requests[0]
    assert request.body == b"abc" and request.field("Host") == "other.example"
    assert request.field("Content-Length") == "3" and request.field("Connection") == "close"


# --- naughty strings in every slot ---

def quoted(text):
    """As YAML, whatever it holds."""
    return '"' + "".join(c if c.isascii() and c.isalnum() else f"\\U{ord(c):08X}" for c in text) + '"'


def controls(text):
    return any((ord(c) < 0x20 and c != "\t") or ord(c) == 0x7f for c in text)


@pytest.mark.fault("I-8")
def test_naughty_strings_in_every_slot(drive, plan, raw_server, tmp_path):
    strings = vectors("naughty_strings.json")
    assert len(strings) == 515
    (tmp_path / "data.csv").write_text(
        "n,text\n" + "".join('%d,"%s"\n' % (i, s.replace('"', '""')) for i, s in enumerate(strings)),
        encoding="utf-8", newline="")
    server = raw_server(answering())
    slots = {"path": "url: '/path/{{ item.text }}'", "query": "url: '/query?q={{ item.text }}'",
             "value": "url: /value, headers: {X-S: '{{ item.text }}', X-I: '{{ item.n }}'}",
             "body": "url: /body, method: POST, headers: {X-I: '{{ item.n }}'}, body: '{{ item.text }}'"}
    steps = "".join(
        f"  - name: '{slot} {{{{ item.text }}}}'\n    request: {{{text}}}\n"
        "    with_items_from_csv: data.csv\n" for slot, text in slots.items())
    plan(f"base: {server.url}\nplan:\n{steps}")

    expected = [standard_target("/path/" + s).encode() for s in strings if not controls(s)]
    expected += [standard_target("/query?q=" + s).encode() for s in strings if not controls(s)]
    expected += [b"/value " + s.encode() for s in strings if not controls(s)]
    expected += [b"/body " + s.encode() for s in strings]
    refused = 3 * sum(map(controls, strings))

    run = drive("run", "-b", "plan.yml", "--report", "report.yml", "-s", "-v")
    seen = []
    for request in server.requests:
        target = request.target.encode("latin-1")
        if request.target == "/value":
            target += b" " + re.search(rb"\r\nX-S: (.*)\r\nX-I: \d+\r\n", request.head, re.DOTALL)[1]
        elif request.target == "/body":
            target += b" " + request.body
        seen.append(target)
    assert seen == expected
    assert run.code == 1 and f"error: {refused} request(s) could not be sent as written" in run.stderr
    assert run.stdout.count(" ERR not sent ") == refused
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", run.stdout + run.stderr)
    assert (tmp_path / "report.yml").read_text().count("\n- name:") == 4 * 515


@pytest.mark.fault("I-8")
@pytest.mark.fault("O-5")
def test_naughty_strings_as_names(drive, plan, raw_server, tmp_path):
    """Names written in a plan come back from JSON statistics and from a report as they are."""
    strings = list(dict.fromkeys(s for s in vectors("naughty_strings.json") if s.strip() and "{{" not in s))
    server = raw_server(answering())
    steps = "".join(f"  - name: {quoted(s)}\n    request: {{url: /}}\n" for s in strings)
    plan(f"base: {server.url}\nplan:\n{steps}")
    run = drive("run", "-b", "plan.yml", "--stats-format", "json", "--report", "report.yml")
    assert run.code == 0, run
    assert [step["name"] for step in run.json["steps"]] == strings
    report = (tmp_path / "report.yml").read_text(encoding="utf-8")
    report, n = re.subn(r"(?m)^  duration: .*$", "  duration: 0.0", report)
    assert n == len(strings)
    (tmp_path / "report.yml").write_text(report, encoding="utf-8")
    # Every name of this run is found in the report again: all are slower than 0 ms.
    run = drive("run", "-b", "plan.yml", "-q", "--compare", "report.yml", "--threshold", "0")
    assert run.code == 1, run
    assert run.stdout.count(" slower than before\n") == len(strings)
