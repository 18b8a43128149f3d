"""HTTP/1 responses that are wrong or odd (rows H of the catalogue of faults).

The tables hold what one response alone decides: each is sent whole, cut at every byte, and byte
by byte, and must give the same verdict each time (H-29). What takes more than one follows below.
"""
import pytest

from faultkit import check_sums, sanitized
from rawserver import CLOSE, RESET, ok
from wirekit import (BAD_BODY, BAD_HEAD, CUT_BODY, CUT_HEAD, LARGE_BODY, LARGE_HEAD, MIB, NO_REPLY,
                     Bad, Good, check_server, check_verdict, chunked, fault, http, in_pieces,
                     outcomes)

OK_BODY = b"2\r\nok\r\n0\r\n\r\n"
INTERIM = http(line=b"HTTP/1.1 103 Early Hints")
LENIENT = Good(lenient=1)


def sized(size):
    """A chunk of that size, as it stands on the wire."""
    return chunked(size + b"\r\nok\r\n0\r\n\r\n")


def length(text):
    return http(b"Content-Length: " + text, body=b"ok")


LENGTHS = [
    fault("H-1", "short", length(b"100"), CUT_BODY, CLOSE),
    fault("H-1", "short, reset", length(b"100"), Bad("reset", "response body error"), RESET),
    fault("H-10", "twice the same", http(b"Content-Length: 2", b"content-length: 2", body=b"ok"),
          LENIENT),
    fault("H-10", "list of the same", length(b"2, 2"), LENIENT),
    fault("H-11", "two", http(b"Content-Length: 2", b"Content-Length: 3", body=b"ok"), BAD_HEAD),
    fault("H-11", "list", length(b"2, 3"), BAD_HEAD),
    *(fault("H-12", text.decode("latin-1") or "empty", length(text), BAD_HEAD)
      for text in (b"-1", b"+2", b"2x", b"", b"2 2", b"0x2", b"2,", b"18446744073709551618",
                   b"9223372036854775808")),
    fault("H-12", "2^63-1", length(b"9223372036854775807"), CUT_BODY, CLOSE),
    fault("H-13", "length", http(b"Content-Length: 1000"), Good(), method="HEAD"),
    fault("H-13", "chunked", chunked(b""), Good(), method="HEAD"),
    *(fault("H-14", f"{line.decode()} {field.decode()}", http(field, line=b"HTTP/1.1 " + line),
            Good(int(line[:3])))
      for line in (b"204 No Content", b"304 Not Modified")
      for field in (b"Content-Length: 5", b"Transfer-Encoding: chunked", b"X: no length")),
    fault("H-18", "to the end", http(body=b"ok"), Good(reused=False), CLOSE),
    fault("H-18", "nothing to the end", http(), Good(reused=False), CLOSE),
    fault("H-18", "reset", http(body=b"ok"), Bad("reset", "response body error"), RESET),
]

CHUNKS = [
    fault("H-2", "no last chunk", chunked(b"2\r\nok\r\n"), CUT_BODY, CLOSE),
    fault("H-2", "no empty line", chunked(b"2\r\nok\r\n0\r\n"), CUT_BODY, CLOSE),
    fault("H-2", "in a chunk", chunked(b"5\r\nok"), CUT_BODY, CLOSE),
    fault("H-2", "in a size", chunked(b"2\r\nok\r\n1"), CUT_BODY, CLOSE),
    fault("H-2", "no chunk", chunked(b""), CUT_BODY, CLOSE),
    *(fault("H-3", size.decode("latin-1") or "empty", sized(size), BAD_BODY)
      for size in (b"10000000000000002", b"f" * 17, b"f" * 100, b"-2", b"+2", b"0x2", b"zz", b"",
                   b"0_2e", b" 2", b"\xb2")),
    fault("H-3", "empty, as the last", chunked(b"2\r\nok\r\n\r\n\r\n"), BAD_BODY),
    fault("H-3", "only an extension", chunked(b";a=b\r\n\r\n"), BAD_BODY),
    fault("H-3", "16 digits", sized(b"f" * 16), CUT_BODY, CLOSE),
    fault("H-4", "no line end", chunked(b"2\r\nokX0\r\n\r\n"), BAD_BODY),
    fault("H-4", "next chunk at once", chunked(b"2\r\nok0\r\n\r\n"), BAD_BODY),
    fault("H-4", "blank", sized(b"2 "), BAD_BODY),
    fault("H-4", "blank, word", sized(b"2 ext"), BAD_BODY),
    fault("H-4", "bare LF", chunked(b"2\nok\r\n0\r\n\r\n"), BAD_BODY),
    fault("H-4", "bare LF behind", chunked(b"2\r\nok\n0\r\n\r\n"), BAD_BODY),
    fault("H-4", "bare CR", chunked(b"2\rok\r\n0\r\n\r\n"), BAD_BODY),
    fault("H-5", "extensions", chunked(b'2;a;b=c;d="x;y"\r\nok\r\n0;last\r\n\r\n'), Good()),
    fault("H-5", "4,000 bytes", sized(b"2;a=" + b"x" * 4000), Good()),
    fault("H-5", "5,000 bytes", sized(b"2;a=" + b"x" * 5000), LARGE_BODY),
    fault("H-5", "NUL", sized(b"2;a=\0"), BAD_BODY),
    fault("H-7", "trailer", chunked(b"0\r\nX-A: b\r\n\r\n"), Good()),
    fault("H-7", "announced", chunked(b"2\r\nok\r\n0\r\nX-A: b\r\nX-B:\r\n\r\n", b"Trailer: X-A"),
          Good()),
    fault("H-7", "bare LF", chunked(b"0\r\nX-A: b\n\n"), LENIENT),
    fault("H-7", "NUL", chunked(b"0\r\nX-A: \0\r\n\r\n"), BAD_BODY),
    fault("H-7", "no colon", chunked(b"0\r\nX-A\r\n\r\n"), BAD_BODY),
    fault("H-7", "cut short", chunked(b"0\r\nX-A: b\r\n"), CUT_BODY, CLOSE),
    fault("H-8", "both", chunked(OK_BODY, b"Content-Length: 5"),
          Good(reused=False, both_lengths=1)),
    fault("H-8", "both, short", chunked(OK_BODY, b"Content-Length: 1"),
          Good(reused=False, both_lengths=1)),
    fault("H-9", "chunked, identity", http(b"Transfer-Encoding: chunked, identity", body=OK_BODY),
          BAD_HEAD),
    fault("H-9", "twice", chunked(OK_BODY, b"Transfer-Encoding: chunked"), BAD_HEAD),
    fault("H-9", "list of two", http(b"Transfer-Encoding: chunked, chunked", body=OK_BODY),
          BAD_HEAD),
    fault("H-9", "chunkedchunked", http(b"Transfer-Encoding: chunkedchunked", body=OK_BODY),
          BAD_HEAD),
    fault("H-9", "identity", http(b"Transfer-Encoding: identity", b"Content-Length: 2", body=b"ok"),
          BAD_HEAD),
]

INTERIMS = [
    *(fault("H-15", f"{n} x {line.decode()}", http(line=b"HTTP/1.1 " + line) * n + ok(),
            Good(interim=n))
      for line in (b"100 Continue", b"102 Processing", b"103 Early Hints") for n in (1, 10)),
    fault("H-15", "with fields", http(b"Link: </a.css>", b"Content-Length: 7",
                                      line=b"HTTP/1.1 103 Early Hints") + ok(), Good(interim=1)),
    fault("H-16", "16", INTERIM * 16 + ok(), Good(interim=16)),
    fault("H-16", "17", INTERIM * 17 + ok(), Bad("too-large", "request failed", interim=17)),
    fault("H-16", "cut short", INTERIM, Bad("truncated", "request failed", interim=1), CLOSE),
    fault("H-17", "101", http(b"Upgrade: websocket", b"Connection: upgrade",
                              line=b"HTTP/1.1 101 Switching Protocols"), BAD_HEAD),
]

# What stands behind the response is sent 2 ms later at most: the user waits, so that it finds the
# connection idle. The responses behind are failures, and would be seen if they were taken.
SECOND = ok(b"", status=b"500 Injected")
EXTRA = Good(reused=False, extra_bytes=1)
EXTRAS = [
    fault("H-19", "second response", ok() + SECOND, EXTRA, pause=0.2),
    fault("H-19", "garbage", ok() + b"\0\1\2", EXTRA, pause=0.2),
    fault("H-19", "line end", ok() + b"\r\n", EXTRA, pause=0.2),
    fault("H-19", "behind chunks", chunked(OK_BODY + SECOND), EXTRA, pause=0.2),
    fault("H-19", "body after HEAD", ok(b"hello"), EXTRA, method="HEAD", pause=0.2),
    fault("H-19", "body after 204", ok(b"hello", status=b"204 No Content"),
          Good(204, reused=False, extra_bytes=1), pause=0.2),
    fault("H-19", "body after 304", ok(b"hello", status=b"304 Not Modified"),
          Good(304, reused=False, extra_bytes=1), pause=0.2),
]

FIELDS = [
    *(fault("H-20", name, ok(b"ok", field), BAD_HEAD)
      for name, field in (("NUL in a value", b"X-A: a\0b"), ("NUL in a name", b"X\0A: b"),
                          ("NUL alone", b"\0"), ("bare CR in a value", b"X-A: a\rb"),
                          ("bare CR in a name", b"X\rA: b"), ("two CR", b"X-A: b\r"),
                          ("control character", b"X-A: a\x01b"), ("escape", b"X-A: \x1b[2J"),
                          ("DEL", b"X-A: a\x7fb"), ("DEL in a name", b"X\x7fA: b"))),
    fault("H-20", "NUL in the phrase", ok(status=b"200 O\0K"), BAD_HEAD),
    fault("H-20", "NUL before the head", b"\0" + ok(), BAD_HEAD),
    fault("H-21", "all", ok().replace(b"\r\n", b"\n"), LENIENT),
    fault("H-21", "one", ok(b"ok", b"X-A: b\nX-C: d"), LENIENT),
    fault("H-21", "the last", ok().replace(b"\r\n\r\n", b"\r\n\n"), LENIENT),
    fault("H-22", "fold", ok(b"ok", b"X-A: a\r\n b\r\n\tc"), LENIENT),
    fault("H-22", "folded length", http(b"Content-Length:\r\n 2", body=b"ok"), LENIENT),
    fault("H-22", "first line", http(b" X-A: a", b"Content-Length: 2", body=b"ok"), BAD_HEAD),
    fault("H-23", "no colon", ok(b"ok", b"X-A"), BAD_HEAD),
    fault("H-23", "blank before", ok(b"ok", b"X-A : b"), BAD_HEAD),
    fault("H-23", "TAB before", ok(b"ok", b"X-A\t: b"), BAD_HEAD),
    fault("H-23", "empty name", ok(b"ok", b": b"), BAD_HEAD),
    fault("H-23", "blank in a name", ok(b"ok", b"X A: b"), BAD_HEAD),
]

STATUS_LINES = [
    *(fault("H-24", text.decode()[:9], ok(status=text + b" X"), BAD_HEAD)
      for text in (b"099", b"1000", b"20", b"abc", b"2" * 100, b"-20", b"2e2", b" 200")),
    fault("H-24", "999", ok(status=b"999 X"), Good(999)),
    fault("H-25", "no phrase", ok(status=b"200 "), Good()),
    fault("H-25", "no blank", ok(status=b"200"), LENIENT),
    fault("H-25", "bytes past ASCII", ok(status=b"200 \xc3\xa4 \xff"), Good()),
    *(fault("H-26", line.decode(), http(b"Content-Length: 2", body=b"ok", line=line), Good())
      for line in (b"HTTP/1.2 200 OK", b"HTTP/1.9 200 OK")),
    *(fault("H-26", line.decode(), http(b"Content-Length: 2", body=b"ok", line=line), BAD_HEAD)
      for line in (b"HTTP/5.6 200 OK", b"HTTP/2 200 OK", b"HTTP/2.0 200 OK", b"HTTP/01.1 200 OK",
                   b"HTTP/1.10 200 OK", b"HTTP/0.9 200 OK", b"http/1.1 200 OK", b"RTSP/1.0 200 OK",
                   b"ICY 200 OK", b"HTTP/1.1  200 OK", b"HTTP/1.1\t200 OK")),
    fault("H-26", "0.9 body", b"<html>hello</html>", BAD_HEAD, CLOSE),
    fault("H-26", "empty line first", b"\r\n" + ok(), BAD_HEAD),
    fault("H-27", "empty reply", b"", NO_REPLY, CLOSE),
    fault("H-27", "empty reply, reset", b"", NO_REPLY, RESET),
    fault("H-27", "one byte", b"H", CUT_HEAD, CLOSE),
    fault("H-27", "in the status line", b"HTTP/1.1 20", CUT_HEAD, CLOSE),
    fault("H-27", "in a field", b"HTTP/1.1 200 OK\r\nContent-Le", CUT_HEAD, CLOSE),
    fault("H-27", "before the empty line", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", CUT_HEAD,
          CLOSE),
    fault("H-27", "in a head, reset", b"HTTP/1.1 200 OK\r\nCon", NO_REPLY, RESET),
    fault("H-30", "TLS alert", b"\x15\x03\x01\x00\x02\x02\x28", BAD_HEAD, CLOSE),
    fault("H-30", "TLS alert, open", b"\x15\x03\x01\x00\x02\x02\x28", BAD_HEAD),
    fault("H-30", "SMTP", b"220 mail.example.com ESMTP ready\r\n", BAD_HEAD),
    fault("H-30", "SSH", b"SSH-2.0-OpenSSH_9.2\r\n", BAD_HEAD),
    fault("H-30", "binary", bytes(range(256)), BAD_HEAD),
]

LARGE = [
    fault("H-28", "100 kB value", ok(b"ok", b"X-A: " + b"x" * 100_000), Good()),
    fault("H-28", "5,000 fields", ok(b"ok", *[b"X-A: b"] * 4999), Good()),
    fault("H-28", "5,001 fields", ok(b"ok", *[b"X-A: b"] * 5000), LARGE_HEAD),
    fault("H-28", "20,000 fields", ok(b"ok", *[b"X-A: b"] * 20_000), LARGE_HEAD),
    fault("H-28", "400 kB value", ok(b"ok", b"X-A: " + b"x" * 400_000), LARGE_HEAD),
    fault("H-28", "400 kB name", ok(b"ok", b"x" * 400_000 + b": b"), LARGE_HEAD),
    fault("H-28", "400 kB phrase", ok(status=b"200 " + b"x" * 400_000), LARGE_HEAD),
]

SMALL = LENGTHS + CHUNKS + INTERIMS + EXTRAS + FIELDS + STATUS_LINES


@pytest.mark.parametrize("case", SMALL + LARGE)
def test_line(case, drive, plan, raw_server):
    server = raw_server(in_pieces(case))
    plan(f"base: {server.url}\n{case.plan}")
    run = drive("run", "-b", "plan.yml", "-v")
    assert run.code == 0 and run.stderr == ""
    if isinstance(case.verdict, Bad):
        assert outcomes(run) == [case.verdict.label]
        assert run.stdout.count("  cause: ") == 1 and "<<<No response from server!" in run.lines
    else:
        assert [line[:3] for line in outcomes(run)] == [str(case.verdict.status)]
        assert "<<< " in run.stdout and "  cause: " not in run.stdout
    assert run.seconds < 5  # none waits for the time limit, which is 10 s


def run_cut(case, drive, plan, raw_server, limit=None):
    """One run that meets the response in every way in which it can be cut."""
    script = in_pieces(case)
    server = raw_server(script)
    plan(f"base: {server.url}\n{case.plan}")
    n = limit or script.ways
    users = n if case.pause else min(n, 48)  # who pauses leaves its connection to other users
    run = drive("run", "-b", "plan.yml", "-i", n, "-p", users, "--stats-format", "json")
    assert run.code == 0, run
    check_verdict(run.json, case.verdict, n)
    check_server(run.json, server)
    connections = run.json["connections"]
    assert connections["opened"] == server.connections and connections["failed"] == 0
    assert connections["opened"] + connections["reused"] == n
    if case.verdict.reused:
        assert connections["opened"] <= users
        assert run.json["global"]["bytes_received"] == n * len(case.response)
    else:
        assert connections["opened"] == n
    return run


@pytest.mark.fault("H-29")
@pytest.mark.parametrize("case", SMALL)
def test_same_verdict_at_every_cut(case, drive, plan, raw_server):
    run_cut(case, drive, plan, raw_server)


@pytest.mark.fault("H-29")
@pytest.mark.parametrize("case", LARGE)
def test_same_verdict_of_large_heads(case, drive, plan, raw_server, driller):
    run = run_cut(case, drive, plan, raw_server, limit=40)
    assert run.json["generator"]["max_rss_bytes"] < (400 if sanitized(driller) else 64) * MIB


# --- coalesced ---

@pytest.mark.fault("H-29", "H-19")
def test_responses_in_one_segment(drive, raw_server):
    """The first of several counts; the others are thrown away with the connection."""
    bad = [case.values[0].response for case in FIELDS if case.values[0].verdict is BAD_HEAD]
    server = raw_server([ok() + response for response in (ok(), SECOND, INTERIM, *bad)])
    n = len(server.script)
    run = drive("run", server.url, "-i", n, "--stats-format", "json")
    check_verdict(run.json, EXTRA, n)
    check_server(run.json, server)
    assert server.connections == n


@pytest.mark.fault("H-19")
def test_bytes_on_an_idle_connection(drive, plan, raw_server):
    """What comes long after the response is never taken for the answer to the next request."""
    server = raw_server([[ok(), 0.1, SECOND]])
    plan(f"base: {server.url}\nplan:\n  - request: {{url: /}}\n  - delay: {{seconds: 0.5}}\n")
    run = drive("run", "-b", "plan.yml", "-i", 3, "-p", 1, "--stats-format", "json")
    check_verdict(run.json, EXTRA, 3)
    check_server(run.json, server)
    assert server.connections == 3


# --- what is kept of an odd response ---

@pytest.mark.fault("H-22")
def test_a_fold_reads_as_a_blank(drive, plan, raw_server):
    server = raw_server([ok(b"ok", b"X-A: a\r\n  b\r\n\tc")])
    plan(f"base: {server.url}\nplan:\n"
         "  - {request: {url: /}, assign: r}\n  - assert: {key: r.headers.x-a, value: a b c}\n")
    run = drive("run", "-b", "plan.yml")
    assert run.code == 0, run


@pytest.mark.fault("H-24")
def test_status_without_a_meaning(drive, raw_server):
    server = raw_server([ok(status=b"999 Ours")])
    run = drive("run", server.url)
    assert outcomes(run) == ["999"]
    run = drive("run", server.url, "--stats-format", "json")
    assert run.json["global"]["class_rollup"] == {"other": 1, "connection_errors": 0}


@pytest.mark.fault("H-5", "H-7")
def test_extensions_and_trailers_are_no_body(drive, plan, raw_server):
    server = raw_server([chunked(b'2;a="b"\r\no\r\r\n1;c\r\nk\r\n0;d\r\nX-T: u\r\n\r\n')])
    plan(f"base: {server.url}\nplan:\n"
         '  - {request: {url: /}, assign: r}\n  - assert: {key: r.text, value: "o\\rk"}\n')
    run = drive("run", "-b", "plan.yml")
    assert run.code == 0, run


# --- floods ---

def flood(piece, begin=b"", pause=0):
    """A script: after the beginning, the piece again and again, to path /flood; others are ok."""
    def serve(connection):
        while True:
            if connection.read_request().target != "/flood":
                connection.send(ok())
                continue
            connection.send(begin)
            while True:
                connection.send(piece)
                connection.wait(pause)
    return serve


BOTH = ("plan:\n  - name: bad\n    request: {url: /flood}\n"
        "  - name: good\n    request: {url: /}\n")
FLOODS = [
    ("H-16", INTERIM * 1000, b"", "too-large"),
    ("H-28", b"X-A: b\r\n" * 1000, b"HTTP/1.1 200 OK\r\n", "too-large"),
    ("H-28", b"x" * 8000, b"HTTP/1.1 200 OK\r\nX-A: ", "too-large"),
    ("H-28", b"x" * 8000, b"HTTP/1.1 200 ", "too-large"),
    ("H-5", b"x" * 8000, chunked(b"2;"), "too-large"),
    ("H-3", b"0" * 8000, chunked(b""), "protocol/h1"),
    ("H-7", b"X-A: b\r\n" * 1000, chunked(b"0\r\n"), "too-large"),
    ("H-26", b"x" * 8000, b"", "protocol/h1"),
]


@pytest.mark.parametrize("piece, begin, cause", [
    pytest.param(*rest, id=f"{row} {rest[1][-12:]!r}", marks=pytest.mark.fault(row))
    for row, *rest in FLOODS])
def test_endless(piece, begin, cause, drive, driller, plan, raw_server):
    """It ends at the limit, at once; the other requests go on as ever; memory stays small."""
    server = raw_server(flood(piece, begin))
    plan(f"base: {server.url}\n{BOTH}")
    run = drive("run", "-b", "plan.yml", "-i", 8, "-p", 4, "--stats-format", "json")
    bad, good = run.json["steps"]
    assert bad["causes"] == {cause: 8} and good["status_counts"] == {"200": 8}
    check_server(run.json, server)
    assert run.seconds < 8  # not by the time limit
    assert run.json["generator"]["max_rss_bytes"] < (400 if sanitized(driller) else 40) * MIB


SLOW = [
    ("H-16", INTERIM, b""),
    ("H-28", b"X-A: b\r\n", b"HTTP/1.1 200 OK\r\n"),
    ("H-7", b"X-A: b\r\n", chunked(b"0\r\n")),
    ("H-6", b"1\r\nx\r\n", chunked(b"")),
]


@pytest.mark.parametrize("piece, begin", [
    pytest.param(*rest, id=f"{row} {rest[0]!r}", marks=pytest.mark.fault(row))
    for row, *rest in SLOW])
def test_endless_and_slow(piece, begin, drive, plan, raw_server):
    """Whatever comes, and however small, the time limit holds."""
    server = raw_server(flood(piece, begin, pause=0.1))
    plan(f"base: {server.url}\n{BOTH}")
    run = drive("run", "-b", "plan.yml", "-p", 4, "-i", 4, "--timeout", 1,
                "--stats-format", "json")
    bad, good = run.json["steps"]
    assert bad["causes"] == {"timeout/total": 4} and good["status_counts"] == {"200": 4}
    assert 1000 <= bad["latency_ms"]["min"] and run.seconds < 3
    check_server(run.json, server)


@pytest.mark.fault("H-6")
def test_a_million_chunks_of_a_byte(drive, driller, raw_server):
    """Their time is that of their bytes."""
    server = raw_server([chunked(b"1\r\nx\r\n" * 1_000_000 + b"0\r\n\r\n")])
    run = drive("run", server.url, "-i", 2, "--stats-format", "json")
    check_verdict(run.json, Good(), 2)
    assert run.json["generator"]["cpu_s"] < (10 if sanitized(driller) else 2)
    assert run.json["generator"]["max_rss_bytes"] < (400 if sanitized(driller) else 40) * MIB
    assert server.connections == 1


@pytest.mark.fault("H-7")
def test_ten_megabytes_of_trailers(drive, driller, raw_server):
    server = raw_server([chunked(b"0\r\n" + b"X-A: 0123456789abcdef\r\n" * 500_000 + b"\r\n")])
    run = drive("run", server.url, "-i", 2, "--stats-format", "json")
    check_verdict(run.json, LARGE_BODY, 2)
    assert run.json["generator"]["max_rss_bytes"] < (400 if sanitized(driller) else 40) * MIB
    check_sums(run.json)


# --- interim responses take their time ---

@pytest.mark.fault("H-15")
def test_latency_ends_with_the_final_response(drive, raw_server):
    server = raw_server([[INTERIM, 0.3, INTERIM, 0.3, ok()]])
    run = drive("run", server.url, "--stats-format", "json")
    check_verdict(run.json, Good(interim=2), 1)
    assert run.json["global"]["responses_ms"]["min"] >= 600
    assert len(server.requests) == 1


@pytest.mark.clear
@pytest.mark.fault("H-30")
@pytest.mark.parametrize("banner, shown", [
    (b"\x15\x03\x01\x00\x02\x02\x28", r"\x15\x03\x01\x00\x02\x02("),
    (b"220 mail.example.com ESMTP\r\n", r"220 mail.example.com"),
    (b"\x1b]0;title\x07<html>", r"\x1B]0;title\x07<html>"),
])
def test_first_bytes_of_another_protocol_are_shown(banner, shown, drive, raw_server):
    server = raw_server([banner])
    run = drive("run", server.url, "-v")
    cause = [line for line in run.lines if line.startswith("  cause: ")]
    assert len(cause) == 1 and shown in cause[0], run
    assert "\x1b" not in run.stdout
