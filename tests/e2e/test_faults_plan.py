"""Plans that are wrong, hostile or odd (rows P of faults.md): every fault is named by its place before
anything is sent."""
import os
import time

import pytest

from faultkit import answering, check_sums
from rawserver import ok

BASE = "base: http://127.0.0.1:1\n"  # an error comes before anybody could be connected to
STEP = "plan:\n  - name: a\n    request:\n      url: /\n"
QUICK = 3  # seconds; what is bounded takes milliseconds, what is not, minutes


@pytest.fixture
def refused(drive, tmp_path):
    """refused(plan, *texts): the plan is refused with exit status 1, and each text is in standard
    error; nothing is printed as if it had run."""
    def check(plan, *texts):
        (tmp_path / "p.yml").write_bytes(plan if isinstance(plan, bytes) else plan.encode())
        run = drive("run", "-b", "p.yml", timeout=30)
        assert run.code == 1, run
        assert run.stdout == "", run
        assert "error: " in run.stderr, run
        for text in texts:
            assert text in run.stderr, run
        assert run.seconds < QUICK, run
        return run
    return check


def check_table(refused, rows):
    """All rows, so that one that fails does not hide the others."""
    failures = []
    for plan, *texts in rows:
        try:
            refused(plan, *texts)
        except AssertionError as error:
            failures.append(f"{plan!r}: {texts}\n{error}")
    assert not failures, "\n\n".join(failures)


# --- hostile sizes and shapes ---

@pytest.mark.fault("P-1")
def test_alias_bomb(refused):
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n"
    for before, name in zip("abcdefgh", "bcdefghi"):
        bomb += f"{name}: &{name} [{','.join(['*' + before] * 9)}]\n"
    assert len(bomb) < 500
    refused(bomb + BASE + STEP, "p.yml:6:", "more than 100000 values")


@pytest.mark.fault("P-1")
@pytest.mark.parametrize("plan, place", [
    ("plan: &p\n  - *p\n", "p.yml:2:5:"),
    ("x: &a [*a]\n" + BASE + STEP, "p.yml:1:8:"),
    ("x: &a {y: {z: [1, *a]}}\n" + BASE + STEP, "p.yml:1:19:"),
])
def test_alias_that_stands_within_itself(refused, plan, place):
    refused(plan, place, "within what it names")


@pytest.mark.fault("P-2")
@pytest.mark.parametrize("plan, place", [
    ("[" * 100000, "p.yml:1:65:"),
    ("{a: " * 25000, "p.yml:1:257:"),
    ("? " * 20000, "p.yml:1:129:"),
    ("- " * 20000, "p.yml:1:129:"),
    ("\n".join(" " * i + "a:" for i in range(3000)), "p.yml:65:65:"),
    (BASE + STEP + "    with_items: " + "[" * 100000, "p.yml:6:"),
], ids=["flow lists", "flow mappings", "complex keys", "lists", "mappings", "items"])
def test_depth(refused, plan, place):
    refused(plan, place, "nested more than 64 deep")


@pytest.mark.fault("P-8")
def test_file_of_64_mib(refused):
    refused(b"# no more than this comment\n" * (64 * 1024 * 1024 // 28), "p.yml", "larger than 16 MiB")


@pytest.mark.fault("P-8")
def test_more_steps_than_a_file_may_have(refused):
    refused(BASE + "plan:\n" + "- delay: {seconds: 0}\n" * 100000, "p.yml:",
            "more than 100000 values")


@pytest.mark.fault("P-8")
def test_many_steps_take_linear_time(drive, plan, raw_server):
    server = raw_server(answering())
    names = "".join(f"- {{name: s{i}, request: {{url: /{i}}}}}\n" for i in range(3000))
    plan(f"base: {server.url}\nplan:\n{names}")
    run = drive("run", "-b", "plan.yml", "-q", "--stats-format", "json")
    assert run.code == 0, run
    assert [r.target for r in server.requests] == [f"/{i}" for i in range(3000)]
    assert len(run.json["steps"]) == 3000
    check_sums(run.json)


@pytest.mark.fault("P-8")
def test_many_faults_are_all_counted_and_not_all_printed(refused):
    run = refused(BASE + "plan:\n" + "- requst: {url: /}\n" * 5000, "p.yml:3:3:")
    lines = [line for line in run.stderr.splitlines() if line.startswith("error: ")]
    assert lines[-1].startswith("error: and ") and lines[-1].endswith(" more")
    assert len(lines) - 1 + int(lines[-1].split()[2]) == 5000


# --- what people write ---

FAULTS = [
    (BASE + BASE + STEP, "p.yml:2:1:", "'base' stands twice"),
    (BASE + STEP + "      url: /again\n", "p.yml:6:7:", "'url' stands twice"),
    (BASE + STEP.replace("request", "requst"), "p.yml:4:5:", "did you mean 'request'?"),
    (BASE + "plan:\n\t- name: a\n", "p.yml:3:1:", "a tab in the indentation"),
    (BASE + "plan: 7\n", "p.yml:2:7:", "plan must be a list"),
    (BASE + "plan: {a: b}\n", "p.yml:2:7:", "plan must be a list"),
    (BASE + "plan:\n", "p.yml:2:", "plan"),
    (BASE, "p.yml:1:1:", "no key 'plan'"),
    ("", "p.yml:1:1:", "the file is empty"),
    ("# nothing here\n\n", "p.yml:1:1:", "the file is empty"),
    ("---\n", "p.yml:1:1:", "the file is empty"),
    ("[]\n", "p.yml:1:1:", "must be a mapping"),
    ("7\n", "p.yml:1:1:", "must be a mapping"),
    (BASE + "plan: [7]\n", "p.yml:2:8:", "step"),
    (BASE + "plan: [[]]\n", "p.yml:2:8:", "step"),
    (BASE + "plan: [{}]\n", "p.yml:2:8:", "step"),
    (BASE + "plan: [{name: a}]\n", "p.yml:2:8:", "step"),
    (BASE + STEP.replace("url: /", "url: [a]"), "p.yml:5:12:", "url must be a text"),
    (BASE + STEP.replace("url: /", "url:"), "p.yml:5:", "needs a 'url'"),
    (BASE + STEP.replace("url: /", "url: ftp://x/"), "p.yml:5:12:", "http"),
    (BASE + STEP.replace("url: /", "url: nowhere"), "p.yml:5:12:", "url"),
    (STEP, "p.yml:4:12:", "no base"),
    (BASE + STEP + "      method: 'GE T'\n", "p.yml:6:15:", "method"),
    (BASE + STEP + "      method: CONNECT\n", "p.yml:6:15:", "CONNECT"),
    (BASE + STEP + "      headers: [a]\n", "p.yml:6:16:", "headers must be a mapping"),
    (BASE + STEP + "      headers: {'a b': c}\n", "p.yml:6:17:", "no name of a header"),
    (BASE + STEP + "      headers: {a: [b]}\n", "p.yml:6:20:", "header a must be"),
    (BASE + STEP + "      headers: {a: b, A: c}\n", "p.yml:6:23:", "stands twice"),
    (BASE + STEP + "      body: [a]\n", "p.yml:6:13:", "body must be"),
    (BASE + STEP + "      body: {hex: '0g'}\n", "p.yml:6:19:", "hexadecimal"),
    (BASE + STEP + "      body: {file: gone.bin}\n", "p.yml:6:20:", "No such file"),
    (BASE + STEP + "    assign: 7x\n", "p.yml:6:13:", "7x"),
    (BASE + STEP + "    assign: {a: b}\n", "p.yml:6:", "assign"),
    (BASE + STEP + "    tags: {a: b}\n", "p.yml:6:11:", "tag"),
    (BASE + STEP + "    with_items: 7\n", "p.yml:6:17:", "with_items"),
    (BASE + STEP + "    with_items_range: 7\n", "p.yml:6:23:", "with_items_range"),
    (BASE + STEP + "    with_items: [1]\n    with_items_range: {start: 0, stop: 1}\n", "p.yml:7:23:",
     "both with_items and with_items_range"),
    (BASE + STEP + "    shuffle: true\n", "p.yml:6:", "shuffle"),
    (BASE + STEP + "    pick: 1\n", "p.yml:6:", "pick"),
    (BASE + "plan: [{assert: {key: 'a b', value: c}}]\n", "p.yml:2:", "a b"),
    (BASE + "plan: [{assign: {key: k}}]\n", "p.yml:2:", "value"),
    (BASE + "plan: [{exec: {}}]\n", "p.yml:2:", "command"),
    (BASE + "plan: [{delay: {}}]\n", "p.yml:2:", "seconds"),
    (BASE + "plan: [{include: [a]}]\n", "p.yml:2:18:", "include"),
    ("a: b: c\n", "p.yml:1:", ""),
    ("a: 'open\n", "p.yml:1:4:", ""),
    ("a: *nothing\n", "p.yml:1:4:", "nothing"),
    ("a: !!binary xx\n" + BASE + STEP.replace("name: a", "name: {x: y}"), "p.yml:4:", "name"),
    ("%FOO bar\n---\n" + BASE + STEP, "p.yml:1:", ""),
    ("a: \x01\n", "p.yml:1:4:", ""),
]


@pytest.mark.fault("P-3")
def test_faults_have_places(refused):
    check_table(refused, FAULTS)


@pytest.mark.fault("P-3")
def test_all_faults_of_a_plan_are_found_at_once(refused):
    run = refused(BASE + "iterations: 0\nplan:\n  - requst: {url: /}\n  - request: {url: '{{ nobody }}'}\n",
                  "p.yml:2:13:", "p.yml:4:5:", "p.yml:5:20:", "nobody")
    assert run.stderr.count("error: ") == 3


@pytest.mark.fault("P-3")
@pytest.mark.parametrize("plan, warning, strict", [
    ("iteration: 3\n" + BASE + STEP, "p.yml:1:1: the key 'iteration'", True),
    (BASE + STEP + "    asign: x\n", "p.yml:6:5: the key 'asign'", True),
    (BASE + STEP + "      header: {a: b}\n", "p.yml:6:7: the key 'header'", True),
    (BASE + STEP + "---\n" + STEP, "p.yml:6:1: only the first document", False),
    ("threads: 1\n" + BASE + STEP, "p.yml:1:10: 'threads' is read as 'concurrency'", False),
    (BASE + STEP + "      method: GOT\n", "p.yml:6:15: method 'GOT'", False),
])
def test_warnings(drive, tmp_path, plan, warning, strict):
    """A run passes over what validate, the strict reader, may refuse."""
    (tmp_path / "p.yml").write_text(plan)
    run = drive("run", "-b", "p.yml", "-i", "1", "-p", "1")
    assert run.code == 0 and "warning: " + warning in run.stderr, run
    run = drive("validate", "p.yml")
    assert run.code == (1 if strict else 0), run
    assert warning in run.stderr, run


# --- values ---

@pytest.mark.fault("P-4")
def test_scalars_keep_their_text(drive, plan, raw_server):
    server = raw_server(answering())
    texts = ["no", "on", "y", "1e3", "0o10", "010", "0x1F", "1_000", ".inf", "-.INF", ".nan",
             "2001-12-14", "12:30:45", "2.50", "+1", "-0", "1.", "True", "TRUE", "0.1e-7",
             "100000000000000000000000000000000001"]
    items = "".join(f"      - {t}\n" for t in texts)
    plan(f"base: {server.url}\nplan:\n  - request: {{method: POST, url: '/{{{{ item }}}}', "
         f"headers: {{X-V: '{{{{ item }}}}'}}, body: '{{{{ item }}}}'}}\n    with_items:\n{items}"
         "  - request: {url: /written, headers: {X-A: no, X-B: 1e3, X-C: 0o10, X-D: 1_000}}\n")
    run = drive("run", "-b", "plan.yml", "-q")
    assert run.code == 0, run
    for text, request in zip(texts, server.requests):
        seen = (request.target, request.field("X-V"), request.body)
        assert seen == ("/" + text, text, text.encode())
    last = server.requests[-1]
    assert [last.field(f"X-{c}") for c in "ABCD"] == ["no", "1e3", "0o10", "1_000"]


@pytest.mark.fault("P-4")
@pytest.mark.parametrize("text, n", [("0o10", 8), ("0x1F", 31), ("010", 10), ("'12'", 12), ("+3", 3)])
def test_whole_numbers_are_read_by_yaml_1_2(drive, plan, raw_server, text, n):
    server = raw_server(answering())
    plan(f"base: {server.url}\niterations: {text}\nconcurrency: 1\n" + STEP)
    assert drive("run", "-b", "plan.yml", "-q").code == 0
    assert len(server.requests) == n


COUNTS = ["-1", "0", "-0", "1000000000000000000", "9223372036854775808", "1e400", ".nan", ".inf", "1e3",
          "2.5", "1_000", "yes", "null", "[]", "{}", "''", "'x'", "'-1'", "12:30"]
SECONDS = ["-1", "-0.1", ".nan", ".inf", "1e300", "1e18", "yes", "[]", "'x'"]
NUMBERS = [
    *[(f"{key}: {v}\n" + BASE + STEP, f"p.yml:1:{len(key) + 3}:", key)
      for key in ("iterations", "concurrency") for v in COUNTS],
    *[(f"rampup: {v}\n" + BASE + STEP, "p.yml:1:9:", "rampup") for v in SECONDS],
    *[(BASE + f"plan: [{{delay: {{seconds: {v}}}}}]\n", "p.yml:2:26:", "seconds") for v in SECONDS],
    *[(BASE + f"plan: [{{exec: {{command: 'true'}}, timeout: {v}}}]\n", "p.yml:2:43:", "timeout")
      for v in SECONDS],
    *[(BASE + STEP + f"    with_items: [1]\n    pick: {v}\n", "p.yml:7:11:", "pick")
      for v in ("-1", "0", "2", "1e3", "x", "9223372036854775808")],
    *[(BASE + STEP + f"    with_items_range: {{start: 0, stop: 5, step: {v}}}\n", "p.yml:6:49:", "step")
      for v in ("0", ".nan", "1.5", "x", "9223372036854775808")],
]


@pytest.mark.fault("P-5")
def test_numbers_out_of_range(refused):
    check_table(refused, NUMBERS)


@pytest.mark.fault("P-5")
@pytest.mark.parametrize("start, stop, step, items", [
    (9223372036854775800, 9223372036854775807, 3,
     ["9223372036854775800", "9223372036854775803", "9223372036854775806"]),
    (-9223372036854775808, -9223372036854775807, 1, ["-9223372036854775808", "-9223372036854775807"]),
    (9223372036854775807, -9223372036854775808, -9223372036854775807,
     ["9223372036854775807", "0", "-9223372036854775807"]),
    (1, -1, 1, []),
])
def test_ranges_do_not_overflow(drive, plan, raw_server, start, stop, step, items):
    server = raw_server(answering())
    plan(f"base: {server.url}\nplan:\n  - request: {{url: '/{{{{ item }}}}'}}\n"
         f"    with_items_range: {{start: {start}, stop: {stop}, step: {step}}}\n")
    assert drive("run", "-b", "plan.yml", "-q").code == 0
    assert [r.target[1:] for r in server.requests] == items


@pytest.mark.fault("P-5")
def test_more_users_than_can_be(drive, plan):
    plan("iterations: 1000000000000\n" + BASE + STEP)
    run = drive("run", "-b", "plan.yml")
    assert run.code == 1 and run.stdout == "" and run.stderr.startswith("error: "), run


@pytest.mark.fault("P-5")
def test_a_range_without_end_does_not_cost_memory(drive, plan, raw_server):
    server = raw_server(answering())
    plan(f"base: {server.url}\nplan:\n  - request: {{url: /}}\n"
         "    with_items_range: {start: -9223372036854775808, stop: 9223372036854775807}\n")
    run = drive("run", "-b", "plan.yml", "-d", "200ms", "--stats-format", "json")
    assert run.code == 0, run
    assert run.json["generator"]["max_rss_bytes"] < 200 << 20
    check_sums(run.json)


# --- files that a plan names ---

@pytest.mark.fault("P-6")
@pytest.mark.parametrize("files", [
    {"plan.yml": "plan:\n  - include: plan.yml\n"},
    {"plan.yml": "plan:\n  - include: a.yml\n", "a.yml": "- include: b.yml\n", "b.yml": "- include: ./a.yml\n"},
    {"plan.yml": "plan:\n  - include: sub/a.yml\n", "sub/a.yml": "- include: ../plan.yml\n"},
], ids=["itself", "two", "by way of a folder"])
def test_circle_of_includes(drive, plan, files):
    for name, text in files.items():
        plan(text, name)
    run = drive("run", "-b", "plan.yml", timeout=10)
    assert run.code == 1 and run.stdout == "", run
    assert "include goes round in a circle" in run.stderr, run


@pytest.mark.fault("P-6")
def test_thousand_includes_deep(drive, plan):
    plan(BASE + "plan:\n  - include: f0.yml\n")
    for i in range(1000):
        plan(f"- include: f{i + 1}.yml\n", f"f{i}.yml")
    plan("- request: {url: /}\n", "f1000.yml")
    run = drive("run", "-b", "plan.yml", timeout=10)
    assert run.code == 1 and "f63.yml:1:12: includes are nested more than 64 deep" in run.stderr, run


@pytest.mark.fault("P-6")
def test_includes_that_double(drive, plan):
    """2^40 steps from 40 small files."""
    plan(BASE + "plan:\n  - include: f0.yml\n")
    for i in range(40):
        plan(f"- include: f{i + 1}.yml\n- include: f{i + 1}.yml\n", f"f{i}.yml")
    plan("- request: {url: /}\n", "f40.yml")
    run = drive("run", "-b", "plan.yml", timeout=20)
    assert run.code == 1 and "more than 10000 files are included" in run.stderr, run


NAMED = [
    ("plan: [{include: %s}]\n", "p.yml:2:18:"),
    (STEP + "      body: {file: %s}\n", "p.yml:6:20:"),
    (STEP + "    with_items_from_csv: %s\n", "p.yml:6:26:"),
    (STEP + "    with_items_from_file: %s\n", "p.yml:6:27:"),
]


@pytest.mark.fault("P-6")
@pytest.mark.parametrize("name, why", [
    ("gone", "No such file"), ("folder", "is a directory"), ("fifo", "is not a regular file"),
    ("/dev/zero", "is not a regular file"), ("loop", "symbolic links"),
])
def test_files_that_are_none(refused, tmp_path, name, why):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to("loop")
    for form, place in NAMED:
        refused(BASE + form % name, place, why)


@pytest.mark.fault("P-6")
@pytest.mark.parametrize("name", ["folder", "fifo", "/dev/zero", "gone"])
def test_the_plan_itself_is_no_file(drive, tmp_path, name):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    begun = time.monotonic()
    run = drive("run", "-b", name, timeout=20)
    assert run.code == 1 and run.stderr.startswith(f"error: couldn't open {name}: "), run
    assert run.stderr.count("\n") == 1
    assert time.monotonic() - begun < QUICK


@pytest.mark.fault("P-6")
def test_a_plan_without_end_on_standard_input(launch):
    with open("/dev/zero", "rb") as zeros:
        process = launch("run", "-b", "-", stdin=zeros)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (1, b"")
    assert err == b"error: couldn't read standard input: is larger than 16 MiB\n"


# --- encodings ---

@pytest.mark.fault("P-7")
@pytest.mark.parametrize("change", [
    lambda t: b"\xef\xbb\xbf" + t, lambda t: t.replace(b"\n", b"\r\n"), lambda t: t.replace(b"\n", b"\r"),
    lambda t: t.rstrip(b"\n"), lambda t: b"\xef\xbb\xbf---\r\n" + t.replace(b"\n", b"\r\n") + b"...\r\n",
], ids=["byte-order mark", "CRLF", "CR", "no last newline", "all"])
def test_accepted_encodings(drive, tmp_path, raw_server, change):
    server = raw_server(answering())
    text = f"base: {server.url}\nplan:\n  - name: é\n    request:\n      url: /é\n".encode()
    (tmp_path / "p.yml").write_bytes(change(text))
    run = drive("run", "-b", "p.yml")
    assert run.code == 0 and run.lines[-1].startswith("é" + " " * 24), run
    assert [r.target for r in server.requests] == ["/%C3%A9"]


@pytest.mark.fault("P-7")
@pytest.mark.parametrize("plan, place, text", [
    ((BASE + STEP).encode("utf-16"), "p.yml:1:1:", "UTF-16"),
    ((BASE + STEP).encode("utf-16-le"), "p.yml:1:", ""),
    ((BASE + STEP).encode("utf-32"), "p.yml:1:1:", "UTF-"),
    ((BASE + STEP.replace("name: a", "name: é")).encode("latin-1"), "p.yml:3:11:", "0xE9"),
    ((BASE + STEP.replace("name: a", "name: a\0b")).encode(), "p.yml:3:12:", "NUL"),
    ((BASE + STEP).encode().replace(b"name: a", b"name: \xed\xa0\x80"), "p.yml:3:11:", "UTF-8"),
    ((BASE + STEP).encode().replace(b"name: a", b"name: \xc0\xaf"), "p.yml:3:11:", "UTF-8"),
])
def test_refused_encodings(refused, plan, place, text):
    refused(plan, place, text)


@pytest.mark.fault("P-3")
def test_dashes_in_a_text_begin_no_document(drive, plan, raw_server):
    server = raw_server(answering(lambda request: ok()))
    plan(f"base: {server.url}\nplan:\n  - request:\n      url: /\n      method: POST\n"
         "      body: |\n        a\n        ---\n        b\n")
    run = drive("run", "-b", "plan.yml")
    assert (run.code, run.stderr) == (0, ""), run
    assert server.requests[0].body == b"a\n---\nb\n"
