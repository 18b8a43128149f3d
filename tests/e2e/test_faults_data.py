"""Data that is wrong or odd: CSV files that a plan names, and the JSON that servers answer with (rows C
of faults.md)."""
import json
import os
import urllib.parse

import pytest

from faultkit import answering, bytes_of, check_sums, vectors
from rawserver import ok

CSV_STEP = ("  - name: row\n    request: {method: POST, url: /row, body: '{{ item }}'}\n"
            "    with_items_from_csv: data.csv\n")


@pytest.fixture
def rows_sent(drive, plan, raw_server, tmp_path):
    """rows_sent(csv): what the items of that file are, seen at a server, and how the run ended."""
    def send(data, **options):
        (tmp_path / "data.csv").write_bytes(data)
        server = raw_server(answering())
        plan(f"base: {server.url}\nplan:\n{CSV_STEP}")
        run = drive("run", "-b", "plan.yml", "-q", **options)
        return [json.loads(r.body) for r in server.requests], run
    return send


# --- CSV ---

@pytest.mark.fault("C-1")
def test_byte_order_mark_is_no_part_of_the_first_name(rows_sent):
    rows, run = rows_sent("\ufeffid,name\n1,é\n".encode())
    assert (rows, run.code) == ([{"id": "1", "name": "é"}], 0)


@pytest.mark.fault("C-1")
def test_byte_order_mark_before_a_quote(rows_sent):
    rows, run = rows_sent('\ufeff"id",name\n1,2\n'.encode())
    assert (rows, run.code) == ([{"id": "1", "name": "2"}], 0)


@pytest.mark.fault("C-2")
def test_public_csv_files(rows_sent):
    for vector in vectors("csv.json"):
        rows, run = rows_sent(bytes_of(vector))
        assert run.code == 0, (vector["name"], run)
        if vector["name"] == "location_coordinates":
            continue  # its rows are not those of its file, but for one column
        expected = vector["rows"] if isinstance(vector["rows"], list) else [vector["rows"]]
        assert rows == expected, vector["name"]


@pytest.mark.fault("C-2")
@pytest.mark.parametrize("text, rows", [
    (b'a,b\n1,"x ""y"", z"\n', [{"a": "1", "b": 'x "y", z'}]),
    (b'a,b\n"line 1\nline 2","l\r\nm"\n', [{"a": "line 1\nline 2", "b": "l\r\nm"}]),
    (b"a,b\r\n1,\r\n,2", [{"a": "1", "b": ""}, {"a": "", "b": "2"}]),
    (b'a,b\n"",""\n', [{"a": "", "b": ""}]),
    (b'a,b\n\n1,2\n\n\n3,4\n\n', [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]),
    (b"a\r1\r2\r", [{"a": "1"}, {"a": "2"}]),
    (b"a,b\n 1 , 2 \n", [{"a": " 1 ", "b": " 2 "}]),
    (b'a,b\n1,x"y\n', [{"a": "1", "b": 'x"y'}]),
    (b'a\n"{{ b }}"\n', [{"a": "{{ b }}"}]),
])
def test_rfc_4180(rows_sent, text, rows):
    sent, run = rows_sent(text)
    assert (sent, run.code) == (rows, 0), run


@pytest.mark.fault("C-3")
@pytest.mark.parametrize("text, place", [
    (b"a,b\n1,2\n3\n", "data.csv:3:"), (b"a,b\n1,2\n3,4,5\n", "data.csv:3:"),
    (b'a,b\n"1\n2",3\n4\n', "data.csv:4:"), (b'a,b\n1,"2\n3,4\n', "data.csv:2:"),
    (b'a,b\n"1"x,2\n', "data.csv:2:"), (b"a,a\n1,2\n", "data.csv:1:"), (b"a,,b\n1,2,3\n", "data.csv:1:"),
    (b"a,b\n1,\0\n", "data.csv:2:"), (b'a,"b\n1,2\n', "data.csv:1:"),
])
def test_tables_that_are_none(rows_sent, text, place):
    rows, run = rows_sent(text)
    assert rows == [] and run.code == 1 and run.stdout == "", run
    assert "error: " in run.stderr and place in run.stderr, run


@pytest.mark.fault("C-4")
def test_empty_csv(rows_sent):
    rows, run = rows_sent(b"")
    assert rows == [] and run.code == 1 and "error: " in run.stderr and "data.csv" in run.stderr, run


@pytest.mark.fault("C-4")
@pytest.mark.parametrize("text", [b"a,b\n", b"a,b", b"a,b\r\n\r\n"])
def test_csv_with_a_heading_only(drive, plan, raw_server, tmp_path, text):
    """No request, a warning, and the plan goes on."""
    (tmp_path / "data.csv").write_bytes(text)
    server = raw_server(answering())
    plan(f"base: {server.url}\nplan:\n{CSV_STEP}  - request: {{url: /after}}\n")
    run = drive("run", "-b", "plan.yml", "-q", "--stats-format", "json")
    assert run.code == 0 and "warning: plan.yml:5:26: with_items_from_csv gives no items" in run.stderr
    assert [r.target for r in server.requests] == ["/after"]
    check_sums(run.json)


@pytest.mark.fault("C-6")
@pytest.mark.parametrize("change", ["truncate", "remove", "overwrite"])
def test_files_that_change_during_the_run(drive, plan, raw_server, tmp_path, change):
    """They were read before; what becomes of them then changes nothing."""
    n = 300
    rows = [f"{i},{'x' * 200}" for i in range(n)]
    data, body = tmp_path / "data.csv", tmp_path / "body.bin"
    data.write_text("\n".join(["id,fill", *rows]) + "\n")
    body.write_bytes(b"b" * 100000)

    def reply(request):
        if request.number == 0:
            for path in (data, body):
                if change == "remove":
                    path.unlink()
                else:
                    os.truncate(path, 0)
                if change == "overwrite":
                    path.write_text("nonsense")
        return ok()

    server = raw_server(answering(reply))
    plan(f"base: {server.url}\nplan:\n"
         "  - request: {method: POST, url: '/{{ item.id }}', body: '{{ item.id }},{{ item.fill }}'}\n"
         "    with_items_from_csv: data.csv\n"
         "  - request: {method: POST, url: /body, body: {file: body.bin}}\n")
    run = drive("run", "-b", "plan.yml", "-q")
    assert run.code == 0, run
    assert [r.body.decode() for r in server.requests[:n]] == rows
    assert server.requests[n].body == b"b" * 100000


# --- JSON ---

ECHO = ("plan:\n  - name: get\n    request: {url: '/get/{{ iteration }}'}\n    assign: x\n"
        "  - name: send\n    request: {method: POST, url: '/send/{{ iteration }}', body: '%s'}\n")


@pytest.fixture
def sent_on(drive, plan, raw_server):
    """sent_on(bodies, template): what becomes of the template for each response body that a step
    assigns; every iteration goes through and the sums hold."""
    def send(bodies, template, content_type=b"application/json", options=()):
        seen = {}

        def reply(request):
            _, kind, i = request.target.split("/")
            if kind == "get":
                return ok(bodies[int(i)], b"Content-Type: " + content_type)
            seen[int(i)] = request.body
            return ok()

        server = raw_server(answering(reply))
        plan(f"base: {server.url}\niterations: {len(bodies)}\nconcurrency: 1\n" + ECHO % template)
        run = drive("run", "-b", "plan.yml", "-q", "--stats-format", "json", *options)
        assert run.code == 0, run
        check_sums(run.json)
        assert run.json["global"]["successful_requests"] == 2 * len(bodies)
        assert sorted(seen) == list(range(len(bodies)))
        return [seen[i] for i in range(len(bodies))]
    return send


def text_of(value):
    """The text that a template makes of a value."""
    if value is None:
        return b""
    return value.encode("utf-8", "replace") if isinstance(value, str) else None


@pytest.mark.fault("C-7")
def test_public_json_texts_as_response_bodies(sent_on):
    """What is no JSON is null; what is JSON is there, value for value."""
    cases = vectors("json.json")
    assert len(cases) > 300
    bodies = [bytes_of(case) for case in cases]
    whole = sent_on(bodies, "{{ x }}")
    texts = sent_on(bodies, "{{ x.body }}")
    wrong = []
    for case, body, answer, text in zip(cases, bodies, whole, texts):
        parsed = json.loads(answer.decode("utf-8", "surrogatepass"))["body"]
        if case["must"] == "fail":
            good = parsed is None and text == b"" and b'"body":null' in answer
        elif case["must"] == "parse":
            expected = json.loads(body.decode("utf-8"))
            good = parsed == expected
            if isinstance(expected, (str, type(None))):
                good = good and text == text_of(expected)
            else:
                good = good and json.loads(text) == expected
        else:
            good = True  # either: it went through, and the run went on
        if not good:
            wrong.append((case["name"], case["must"], body[:80], text[:80]))
    assert wrong == []


@pytest.mark.fault("C-7")
def test_public_json_texts_whatever_the_charset_says(sent_on):
    """Nothing is lost or crashes when the same bytes are announced as something else."""
    bodies = [bytes_of(case) for case in vectors("json.json")]
    for charset in (b"utf-16", b"iso-8859-1", b"nonsense"):
        sent_on(bodies, "{{ x.body }}", b"application/json; charset=" + charset)


@pytest.mark.fault("C-7")
def test_digits_and_order_are_kept(sent_on):
    bodies = [b'{"b": 1.0, "a": 1e400, "c": 123456789012345678901234567890, "a2": -0}', b"1.50", b"-0",
              b'"\\ud83d\\ude00\\u0000x"', b"true", b"[ ]", b'{"a":{"a":[1 , 2]}}']
    assert sent_on(bodies, "{{ x.body }}") == [
        b'{"b":1.0,"a":1e400,"c":123456789012345678901234567890,"a2":-0}', b"1.50", b"-0",
        "\U0001f600\0x".encode(), b"true", b"[]", b'{"a":{"a":[1,2]}}']


@pytest.mark.fault("C-7")
def test_depth(sent_on):
    def nested(n):
        return b"[" * n + b"]" * n
    bodies = [nested(512), nested(513), nested(100000), b"[" * 100000, b'{"a":' * 100000]
    assert sent_on(bodies, "{{ x.body }}") == [nested(512), b"", b"", b"", b""]


@pytest.mark.fault("C-7")
def test_large_json_takes_linear_time(sent_on):
    big = b'{"k":[' + b",".join(b'{"id":%d,"s":"\\u00e9"}' % i for i in range(200000)) + b'],"last":7}'
    same = b"{" + b",".join(b'"k":%d' % i for i in range(200000)) + b',"last":8}'
    assert sent_on([big, same], "{{ x.body.last }}") == [b"7", b"8"]


@pytest.mark.fault("C-7")
def test_body_that_is_larger_than_may_be_kept(drive, plan, raw_server):
    """The request fails and says why; a body that nobody keeps is not limited."""
    server = raw_server(answering(lambda request: ok(b"[" + b"1," * 100000 + b"1]")))
    plan(f"base: {server.url}\nplan:\n  - name: keep\n    request: {{url: /}}\n    assign: x\n"
         "  - name: drop\n    request: {url: /}\n")
    run = drive("run", "-b", "plan.yml", "--max-body", "100k")
    assert run.code == 0, run
    assert "body too large" in run.stdout and "200 OK" in run.lines[-1], run
    run = drive("run", "-b", "plan.yml", "--max-body", "100k", "--stats-format", "json")
    assert run.json["global"]["causes"] == {"too-large": 1}


@pytest.mark.fault("C-7")
def test_a_path_into_what_is_no_json_gives_up_the_iteration_only(drive, plan, raw_server):
    server = raw_server(answering(lambda r: ok(b'{"id": 7}' if r.number % 2 else b"{'id': 7}")))
    plan(f"base: {server.url}\niterations: 4\nconcurrency: 1\nplan:\n"
         "  - name: get\n    request: {url: /get}\n    assign: x\n"
         "  - name: use\n    request: {url: '/use/{{ x.body.id }}'}\n")
    run = drive("run", "-b", "plan.yml", "--stats-format", "json")
    assert run.code == 1, run
    assert run.json["global"]["causes"] == {"missing-variable": run.json["iterations"]["abandoned"]}
    assert run.json["iterations"]["abandoned"] >= 1 and run.json["iterations"]["completed"] >= 1
    assert "'x.body.id' is missing" in run.stderr
    check_sums(run.json)
    assert all(r.target in ("/get", "/use/7") for r in server.requests)


# --- naughty strings as data ---

@pytest.mark.fault("I-8")
def test_naughty_strings_through_csv_and_json(drive, plan, raw_server, tmp_path):
    """A CSV cell, a JSON response that is assigned, and what is sent on of both."""
    strings = vectors("naughty_strings.json")
    quoted = ['"%s"' % s.replace('"', '""') for s in strings]
    (tmp_path / "data.csv").write_text("text,n\n" + "".join(f"{q},{i}\n" for i, q in enumerate(quoted)),
                                       encoding="utf-8", newline="")
    cells, values = {}, {}

    def reply(request):
        _, kind, i = request.target.split("/")
        if kind == "json":
            return ok(json.dumps({"s": strings[int(i)]}, ensure_ascii=int(i) % 2 == 0).encode())
        (cells if kind == "cell" else values)[int(i)] = request.body
        return ok()

    server = raw_server(answering(reply))
    plan(f"base: {server.url}\niterations: {len(strings)}\nconcurrency: 1\nplan:\n"
         "  - request: {url: '/json/{{ iteration }}'}\n    assign: x\n"
         "  - request: {method: POST, url: '/value/{{ iteration }}', body: '{{ x.body.s }}'}\n")
    plan(f"base: {server.url}\nplan:\n"
         "  - request: {method: POST, url: '/cell/{{ item.n }}', body: '{{ item.text }}'}\n"
         "    with_items_from_csv: data.csv\n", "cells.yml")
    for name in ("plan.yml", "cells.yml"):
        run = drive("run", "-b", name, "-q", "--stats-format", "json")
        assert run.code == 0, run
        check_sums(run.json)
    expected = {i: s.encode("utf-8") for i, s in enumerate(strings)}
    assert cells == expected
    assert values == expected
