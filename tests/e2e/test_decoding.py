"""Bodies with a Content-Encoding, where a step keeps them and where none does (row H-31)."""
import gzip
import json
import shutil
import struct
import subprocess
import zlib

import pytest

from faultkit import answering, check_sums
from rawserver import ok
from wirekit import MIB, outcomes

DOCUMENT = json.dumps({"name": "Žofie", "list": list(range(300))}).encode()
BAD = (["response body error"], {"protocol/h1": 1})
LARGE = (["body too large"], {"too-large": 1})


def zlib_of(data):
    return zlib.compress(data)


def raw_deflate(data):
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def stored_brotli(data):
    """Brotli (RFC 7932) with the data as it is: a window of 16 bits, one uncompressed part, the end."""
    assert 0 < len(data) <= 1 << 16
    bits = 0 | 0 << 1 | 0 << 2 | (len(data) - 1) << 4 | 1 << 20  # WBITS, ISLAST, MNIBBLES, MLEN, raw
    return struct.pack("<I", bits)[:3] + data + b"\x03"


def stored_zstd(data):
    """Zstandard (RFC 8878) with the data as it is, in one block."""
    assert len(data) <= 1 << 17
    return (b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(data)) +
            struct.pack("<I", 1 | len(data) << 3)[:3] + data)


def zstd_run(byte, blocks):
    """Zstandard, `blocks` times 128 KiB of the same byte in four bytes each."""
    size = 1 << 17
    last = struct.pack("<I", 1 | 1 << 1 | size << 3)[:3] + byte
    other = struct.pack("<I", 1 << 1 | size << 3)[:3] + byte
    # A window of 128 KiB, and no size in the head.
    return b"\x28\xb5\x2f\xfd\x00\x38" + other * (blocks - 1) + last


def node_brotli(data):
    node = shutil.which("node")
    if not node:
        pytest.skip("node is not installed: its brotli was NOT tried")
    code = ("const z=require('zlib'),d=[];process.stdin.on('data',c=>d.push(c)).on('end',()=>"
            "process.stdout.write(z.brotliCompressSync(Buffer.concat(d))))")
    return subprocess.run([node, "-e", code], input=data, capture_output=True, check=True).stdout


def real_zstd(data):
    zstd = shutil.which("zstd")
    if not zstd:
        pytest.skip("zstd is not installed: it was NOT tried")
    return subprocess.run([zstd, "-c", "-q"], input=data, capture_output=True, check=True).stdout


CODINGS = {
    "gzip": ("gzip", gzip.compress), "x-gzip": ("x-gzip", gzip.compress),
    "deflate": ("deflate", zlib_of), "raw deflate": ("deflate", raw_deflate),
    "br": ("br", stored_brotli), "zstd": ("zstd", stored_zstd),
    "br of node": ("br", node_brotli), "zstd of zstd": ("zstd", real_zstd),
    "upper case": ("GZip", gzip.compress), "identity": ("identity", lambda data: data),
    "gzip twice": ("gzip, gzip", lambda data: gzip.compress(gzip.compress(data))),
    "deflate, then gzip": ("deflate, gzip", lambda data: gzip.compress(zlib_of(data))),
    "br, then zstd": ("br,zstd", lambda data: stored_zstd(stored_brotli(data))),
    "two members": ("gzip", lambda data: gzip.compress(data[:100]) + gzip.compress(data[100:])),
}


def reply(coding, body, *fields):
    return ok(body, b"Content-Encoding: " + coding.encode(), *fields)


@pytest.fixture
def keep(drive, plan, raw_server):
    """keep(response, *options) runs a step that keeps it: (run, what JSON statistics say)."""
    def run(response, *options, then=""):
        server = raw_server([response])
        plan(f"base: {server.url}\nplan:\n  - {{request: {{url: /}}, assign: r}}\n{then}")
        figures = drive("run", "-b", "plan.yml", "--stats-format", "json", *options).json
        check_sums(figures)
        return drive("run", "-b", "plan.yml", *options), figures
    return run


def check_failure(result, expected):
    run, figures = result
    assert (outcomes(run), figures["global"]["causes"]) == expected, run
    assert run.code == 0, run


@pytest.mark.parametrize("name", CODINGS)
def test_a_body_that_is_kept_is_decoded(keep, name):
    coding, encode = CODINGS[name]
    body = encode(DOCUMENT)
    run, figures = keep(reply(coding, body, b"Content-Type: application/json"), then="".join(
        f"  - assert: {{key: {key}, value: {value}}}\n"
        for key, value in (("r.body.name", "Žofie"), ("r.body.list.299", "299"))))
    assert run.code == 0 and outcomes(run) == ["200 OK"], run
    assert figures["checks"] == {"passed": 2, "failed": 0}
    # What is counted is what came.
    assert len(body) <= figures["global"]["bytes_received"] < len(body) + 200


def test_nothing_asks_for_a_coding(drive, plan, raw_server):
    server = raw_server(answering())
    plan(f"base: {server.url}\nplan:\n  - {{request: {{url: /}}, assign: r}}\n")
    drive("run", "-b", "plan.yml")
    assert server.requests[0].field("Accept-Encoding") is None


def test_codings_on_several_lines_are_one_list(keep):
    body = gzip.compress(zlib_of(b"text"))
    run, _ = keep(ok(body, b"Content-Encoding: deflate", b"Content-Encoding: gzip"),
                  then="  - assert: {key: r.text, value: text}\n")
    assert run.code == 0, run


def test_a_body_in_pieces(drive, plan, raw_server):
    """Chunks of one byte, as slowly as they come."""
    body = b"".join(b"1\r\n%c\r\n" % byte for byte in gzip.compress(b"text")) + b"0\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"

    def serve(connection):
        connection.read_request()
        connection.send_pieces([head, *(body[i:i + 7] for i in range(0, len(body), 7))], 0.001)
    plan(f"base: {raw_server(serve).url}\nplan:\n  - {{request: {{url: /}}, assign: r}}\n"
         "  - assert: {key: r.text, value: text}\n")
    run = drive("run", "-b", "plan.yml")
    assert run.code == 0, run


def test_no_body_is_no_fault(keep):
    run, _ = keep(reply("gzip", b""), then="  - assert: {key: r.text, value: ''}\n")
    assert run.code == 0 and outcomes(run) == ["200 OK"], run


def damaged(data):
    return data[:-9] + bytes([data[-9] ^ 0x55]) + data[-8:]


BROKEN = {
    "gzip that is none": ("gzip", b"<html></html>"),
    "gzip cut short": ("gzip", gzip.compress(DOCUMENT)[:-20]),
    "gzip without its end": ("gzip", gzip.compress(DOCUMENT)[:-1]),
    "gzip with another sum": ("gzip", gzip.compress(DOCUMENT)[:-8] + bytes(8)),
    "gzip damaged": ("gzip", damaged(gzip.compress(DOCUMENT))),
    "deflate that is none": ("deflate", b"\xff\xff\xff\xff"),
    "deflate cut short": ("deflate", zlib_of(DOCUMENT)[:-20]),
    "br that is none": ("br", b"\xff\xff\xff\xff"),
    "br cut short": ("br", stored_brotli(DOCUMENT)[:-20]),
    "zstd that is none": ("zstd", b"\xff\xff\xff\xff"),
    "zstd cut short": ("zstd", stored_zstd(DOCUMENT)[:-20]),
    "only the outer one": ("gzip, gzip", gzip.compress(b"text")),
    "six codings": ("gzip, gzip, gzip, gzip, gzip, gzip", gzip.compress(b"text")),
}


@pytest.mark.fault("H-31")
@pytest.mark.parametrize("name", BROKEN)
def test_what_is_not_in_its_coding(keep, drive, raw_server, name):
    coding, body = BROKEN[name]
    check_failure(keep(reply(coding, body)), BAD)
    # Nobody looks at it: it is a response like others.
    run = drive("run", raw_server([reply(coding, body)]).url, "-i", 3)
    assert run.code == 0 and outcomes(run) == ["200 OK"] * 3, run


@pytest.mark.fault("H-31")
def test_the_connection_is_used_again(drive, plan, raw_server):
    """The framing was good, whatever was in it."""
    server = raw_server([reply("gzip", b"none")])
    plan(f"base: {server.url}\niterations: 5\nconcurrency: 1\nplan:\n"
         "  - {request: {url: /}, assign: r}\n")
    run = drive("run", "-b", "plan.yml", "-v")
    assert outcomes(run) == ["response body error"] * 5 and server.connections == 1, run
    assert "  cause: the body is not what its Content-Encoding says\n" in run.stdout


@pytest.mark.fault("H-31")
def test_five_codings_are_not_too_many(keep):
    body = b"text"
    for _ in range(5):
        body = gzip.compress(body)
    run, _ = keep(reply("gzip, gzip, gzip, gzip, gzip", body),
                  then="  - assert: {key: r.text, value: text}\n")
    assert run.code == 0, run


BOMBS = {
    "gzip": lambda: ("gzip", gzip.compress(bytes(64 * MIB))),
    "deflate": lambda: ("deflate", zlib_of(bytes(64 * MIB))),
    "zstd": lambda: ("zstd", zstd_run(b"\0", 512)),
    "br": lambda: ("br", node_brotli(bytes(16 * MIB))),
    "gzip twice": lambda: ("gzip, gzip", gzip.compress(gzip.compress(bytes(64 * MIB)))),
}


@pytest.mark.fault("H-31")
@pytest.mark.parametrize("name", BOMBS)
def test_bombs(keep, drive, raw_server, name):
    """Of 16 or 64 MiB no more is decoded than may be kept; where nobody looks, nothing is."""
    coding, body = BOMBS[name]()
    small = keep(reply(coding, body), "--max-body", 2 * MIB)
    check_failure(small, LARGE)
    run = drive("run", raw_server([reply(coding, body)]).url, "--max-body", 1)
    assert outcomes(run) == ["200 OK"], run
    plain = keep(ok(b"x"))[1]["generator"]["max_rss_bytes"]
    # Twice the limit, a decoder and its window.
    assert small[1]["generator"]["max_rss_bytes"] < plain + 24 * MIB


@pytest.mark.fault("H-31")
@pytest.mark.parametrize("more", [0, 1])
def test_the_limit_is_exact(keep, more):
    result = keep(reply("gzip", gzip.compress(b"x" * (100000 + more))), "--max-body", 100000)
    if more:
        check_failure(result, LARGE)
    else:
        assert outcomes(result[0]) == ["200 OK"], result[0]


@pytest.mark.fault("H-31")
@pytest.mark.parametrize("coding", ["compress", "x-unknown", "gzip, x-unknown", ""])
def test_an_unknown_coding_is_left_as_it_is(keep, coding):
    run, _ = keep(reply(coding, b"as it came"), then="  - assert: {key: r.text, value: as it came}\n")
    assert run.code == 0 and outcomes(run) == ["200 OK"], run


def test_a_head_may_name_a_coding_without_a_body(drive, plan, raw_server):
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 500\r\n\r\n"
    server = raw_server([head])
    plan(f"base: {server.url}\nplan:\n  - {{request: {{url: /, method: HEAD}}, assign: r}}\n"
         "  - assert: {key: r.status, value: 200}\n")
    run = drive("run", "-b", "plan.yml")
    assert run.code == 0, run
