"""Command lines and surroundings that are wrong or odd (rows U of faults.md)."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios

import pytest

from faultkit import answering, vectors
from rawserver import ok

URL = "http://127.0.0.1:1/"  # nothing gets so far that it is asked for

USAGE = [
    (["--frobnicate"], "unknown option '--frobnicate'"), (["--concurency", "3"], "did you mean '--concurrency'?"),
    (["-Z"], "-Z"), (["-p"], "--concurrency needs a value"), (["--concurrency="], "--concurrency"),
    (["-p", "0"], "'0'"), (["-p", "-1"], "'-1'"), (["-p", "1e9"], "'1e9'"), (["-p", "1000000001"], "1000000001"),
    (["-p", "+3"], "'+3'"), (["-p", "0x3"], "'0x3'"), (["-p", " 3"], "' 3'"), (["-p", ""], "''"),
    (["-i", "9223372036854775808"], "9223372036854775808"), (["-i", "18446744073709551617"], "18446744073709551617"),
    (["-i", "0"], "'0'"), (["-w", "0"], "'0'"), (["-w", "x"], "'x'"), (["-o", "0"], "'0'"), (["-o", "-1"], "'-1'"),
    (["-o", "nan"], "'nan'"), (["-o", "inf"], "'inf'"), (["-o", "1e400"], "1e400"), (["-e", "-1"], "'-1'"),
    (["-t", "x", "-c", "y"], "'x'"), (["-stats"], "did you mean '--stats'?"), (["--stats-format", "xml"], "'xml'"),
    (["--color", "blue"], "'blue'"), (["--max-body", "9q"], "'9q'"), (["--max-redirects", "-1"], "'-1'"),
    (["--seed", "x"], "'x'"), (["--tags", "a", "--skip-tags", "a"], "tag 'a'"),
    (["--arrival", "x"], "'constant' or 'poisson'"), (["--when-late", "x"], "'queue' or 'drop'"),
    (["--timer", "x"], "'sleep' or 'spin'"), (["--timestamps", "x"], "'clock' or 'kernel'"),
    (["--rate", "1", "--stages", "1:1"], "exclude each other"), (["--rate", "1", "-e", "1"], "--stages 10s:100/s"),
    (["--stages", "1:1", "-d", "1"], "ends with the last stage"), (["--stages", "1:1", "-e", "1"], "ramp-up, from 0"),
    (["-i", "1", "-d", "1"], "exclude each other"), (["-r", "x", "-c", "y", "-t", "1"], "exclude each other"),
    (["-q=1"], "'-='"), (["--quiet=1"], "--quiet"), (["x", "y"], "unexpected argument"),
    (["--\x1b[2J"], "--\\x1B[2J"), (["--caf\xe9"], "--caf"), (["-p", "\x1b[31m\n"], "\\x1B[31m\\n"),
]


@pytest.mark.fault("U-1")
def test_usage_errors(drive):
    """Exit status 2, one line and perhaps one of help, nothing on standard output, nothing sent."""
    for arguments, text in USAGE:
        run = drive("run", URL, *arguments)
        assert run.code == 2 and run.stdout == "", (arguments, run)
        assert text in run.stderr, (arguments, run)
        lines = run.stderr.splitlines()
        assert lines[0].startswith("error: ") and len(lines) <= 2, (arguments, run)
        assert all(line.startswith("  help: ") for line in lines[1:]), (arguments, run)


@pytest.mark.fault("U-1")
@pytest.mark.parametrize("arguments, status, text", [
    (["rnu", URL], 2, "did you mean 'run'?"), ([], 1, "usage: driller run <URL>"), (["run"], 1, "usage: "),
    (["--benchmark"], 2, "needs a value"), (["validate"], 2, "needs a FILE"), (["-p", "3", "-b", "x"], 2, "--concurrency is an option of 'driller run'"),
    (["help", "rnu"], 2, "run"), (["run", URL, "-d", "10q"], 1, "500ms, 30s, 1m30s"),
    (["run", URL, "-d", "0"], 1, "'0'"), (["run", URL, "-d", "-5s"], 1, "-5s"), (["run", URL, "-d", "nan"], 1, "nan"),
    (["run", URL, "-d", "99999999999999999999h"], 1, "99999999999999999999h"),
    (["run", URL, "--rate", "5x"], 1, "a rate looks like"), (["run", URL, "--rate", "5"], 1, "--duration 30s"),
    (["run", URL, "--stages", "1s:5,2s"], 1, "'2s'"), (["run", URL, "--stages", "1s:5", "-p", "3"], 1, "--concurrency"),
    (["run", URL, "--warmup", "x"], 1, "--warmup: 'x'"), (["run", URL, "--grace", "x"], 1, "--grace: 'x'"),
    (["run", URL, "-p", "3", "-i", "2"], 1, "concurrency"), (["run", URL, "-c", "x"], 1, "--threshold"),
])
def test_other_errors(drive, arguments, status, text):
    run = drive(*arguments)
    assert run.code == status and run.stdout == "" and text in run.stderr, run
    assert run.stderr.startswith("error: "), run


@pytest.mark.fault("U-1")
def test_many_and_long_arguments(drive):
    run = drive("run", URL, *["-q"] * 5000, "--tags", "a," * 50000, "--frobnicate" + "x" * 100000)
    assert run.code == 2 and len(run.stderr) < 300000, run.code


@pytest.mark.fault("U-2")
@pytest.mark.parametrize("url, text", [
    ("127.0.0.1:1/x", "e.g. http://127.0.0.1:1/x"), ("localhost", "e.g. http://localhost"), ("/x", "scheme"),
    ("http://", "host"), ("http://[::1", "host"), ("http://a b/", "host"), ("http://\x01/", "host"),
    ("http://a\x7fb/", "host"), ("http://127.0.0.1:99999/", "port"), ("http://127.0.0.1:abc/", "port"),
    ("http://1.2.3.4.5/", "host"), ("http://0x100000000/", "host"), ("http://[fe80::1%25eth0]/", "host"),
    ("ftp://127.0.0.1/", "http:// or https://"), ("javascript:alert(1)", "http"), ("file:///etc/passwd", "http"),
    ("http://" + "a" * 70000, "too long"), ("", ""),
], ids=lambda value: value[:30])
def test_urls_that_are_none(drive, url, text):
    run = drive("run", url)
    assert run.code == 1 and run.stdout == "", run
    assert run.stderr.startswith("error: ") and text in run.stderr, run


@pytest.mark.fault("U-2")
@pytest.mark.parametrize("form", [
    "http://127.0.0.1:{port}/a?b", "HTTP://127.0.0.1:{port}/a?b", "http:/127.0.0.1:{port}/a?b",
    "http:127.0.0.1:{port}/a?b", "http:\\\\127.0.0.1:{port}\\a?b", "http://127.1:{port}/a?b",
    "http://0x7f000001:{port}/a?b", "http://2130706433:{port}/x/../a?b", "http://127.0.0.1:0{port}/a?b#c",
    "  http://127.0.0.1:{port}/a?b  ", "http://%31%32%37.0.0.1:{port}/a?b", "http://LOCALHOST:{port}/a?b",
])
def test_urls_as_the_standard_reads_them(drive, raw_server, form):
    server = raw_server(answering())
    run = drive("run", form.format(port=server.port))
    assert run.code == 0, run
    assert [r.target for r in server.requests] == ["/a?b"]


@pytest.mark.fault("U-2")
def test_credentials_in_a_url(drive, raw_server):
    server = raw_server(answering())
    run = drive("run", f"http://us%65r:p%40ss@{server.host}/x", "-v", "-s")
    assert server.requests[0].field("Authorization") == "Basic dXNlcjpwQHNz"
    assert "***" in run.stdout and not re.search("us%65r|p%40ss|p@ss|dXNlcjpwQHNz", run.stdout + run.stderr)


@pytest.mark.fault("U-2")
def test_public_urls_do_not_crash(drive, plan):
    """All of the web platform's, as the urls of a plan that is only read: each is one of two things."""
    urls = [v["input"] for v in vectors("url.json") if isinstance(v, dict)]
    texts = ['"' + "".join(f"\\U{ord(c):08X}" if not 0xd800 <= ord(c) < 0xe000 else "\\uFFFD" for c in u) + '"'
             for u in urls]
    plan("base: http://127.0.0.1:1\nplan:\n" + "".join(f"- request: {{url: {t}}}\n" for t in texts))
    run = drive("validate", "plan.yml")
    assert run.code == 1 and run.stderr.count("error: plan.yml:") > 50, run
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f]", run.stderr)


@pytest.mark.fault("U-3")
def test_plan_from_standard_input(drive, raw_server):
    server = raw_server(answering())
    text = f"base: {server.url}\nplan:\n  - {{name: a, request: {{url: /}}}}\n"
    assert drive("run", "-b", "-", stdin=text).code == 0
    assert len(server.requests) == 1
    run = drive("run", "-b", "-", stdin="plan: 7\n")
    assert run.code == 1 and "<stdin>:1:7: plan must be a list" in run.stderr, run
    run = drive("run", "-b", "-")
    assert run.code == 1 and "the file is empty" in run.stderr, run


@pytest.mark.fault("U-3")
@pytest.mark.parametrize("name, why", [("gone.yml", "No such file or directory"), (".", "is a directory"),
                                       ("gone/x.yml", "No such file or directory"), ("", "No such file"),
                                       ("\x1b[2J", "No such file")])
def test_plan_that_cannot_be_read(drive, name, why):
    run = drive("run", "-b", name)
    assert run.code == 1 and run.stdout == "" and run.stderr.count("\n") == 1, run
    assert run.stderr.startswith("error: couldn't open ") and why in run.stderr and "\x1b" not in run.stderr, run


@pytest.mark.fault("U-3")
@pytest.mark.parametrize("text", [b"", b"\n\n", b"\xff\xfe\n", b"x" * 1000000, b"\xef\xbb\xbf\n", b"\0\n"],
                         ids=range(6))
def test_url_from_standard_input_that_is_none(drive, text):
    run = drive("run", "-", stdin=text)
    assert run.code == 1 and run.stdout == "" and run.stderr.startswith("error: "), run


@pytest.mark.fault("U-3")
def test_url_from_standard_input(drive, raw_server):
    server = raw_server(answering())
    assert drive("run", "-", stdin=f"\ufeff\r\n  {server.url}/x  \r\nmore".encode()).code == 0
    assert [r.target for r in server.requests] == ["/x"]


# --- terminals ---

@pytest.fixture
def on_terminal(driller, plan, raw_server, tmp_path):
    """on_terminal(columns, env): what a run prints whose standard streams are a terminal."""
    server = raw_server(answering())
    plan(f"base: {server.url}\niterations: 3\nconcurrency: 1\nplan:\n  - {{name: a, request: {{url: /}}}}\n")

    def start(columns, env):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([driller, "run", "-b", "plan.yml", "-s"], cwd=tmp_path, stdin=theirs,
                                   stdout=theirs, stderr=theirs,
                                   env={k: v for k, v in {**os.environ, **env}.items() if v is not None})
        os.close(theirs)
        text = b""
        while True:
            try:
                ready, _, _ = select.select([ours], [], [], 20)
                piece = os.read(ours, 65536) if ready else b""
            except OSError:  # the other side is closed
                piece = b""
            if not piece:
                break
            text += piece
            fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns + 5, 0, 0))
        os.close(ours)
        assert process.wait(timeout=10) == 0
        return text.decode().replace("\r\n", "\n")
    return start


PLAIN = {"NO_COLOR": None, "CLICOLOR_FORCE": None, "TERM": "xterm"}
FIGURES = r"(?m)^(Total|Successful|Failed) requests +(\d+)$"


@pytest.mark.fault("U-4")
@pytest.mark.parametrize("columns", [20, 80, 1])
def test_colours_on_a_terminal_only(on_terminal, columns):
    text = on_terminal(columns, PLAIN)
    assert "\x1b[32ma" in text and set(re.findall("\x1b.[^m]*", text)) and "\x1b[2J" not in text
    assert re.findall(FIGURES, re.sub("\x1b\\[[0-9;]*m", "", text)) == [
        ("Total", "3"), ("Successful", "3"), ("Failed", "0")]


@pytest.mark.fault("U-4")
@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}])
def test_terminals_without_colours(on_terminal, env):
    text = on_terminal(80, {**PLAIN, **env})
    assert "\x1b" not in text and len(re.findall(FIGURES, text)) == 3


@pytest.mark.fault("U-4")
@pytest.mark.parametrize("env", [{}, {"LC_ALL": "C"}, {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"},
                                 {"LC_ALL": "nonsense"}, {"TERM": ""}, {"COLUMNS": "20"}, {"LANG": "tr_TR.UTF-8"}])
def test_pipes_get_no_escapes_and_the_same_figures(drive, plan, raw_server, env):
    server = raw_server(answering())
    plan(f"base: {server.url}\niterations: 3\nconcurrency: 1\nplan:\n  - {{name: é, request: {{url: /}}}}\n")
    run = drive("run", "-b", "plan.yml", "-s", env=env)
    assert run.code == 0 and "\x1b" not in run.stdout + run.stderr, run
    assert len(re.findall(FIGURES, run.stdout)) == 3 and "é" + " " * 25 + server.url in run.stdout
    assert not re.search(r"\d,\d", run.stdout)


@pytest.mark.fault("U-5")
def test_secrets_need_not_be_arguments(drive, launch, plan, raw_server, tmp_path):
    """From the environment or a file beside the plan: they are sent, and stand in no argument and no output."""
    server = raw_server(answering())
    (tmp_path / "secret.csv").write_text("token\ncanary-in-file\n")
    plan(f"base: {server.url}\nplan:\n"
         "  - {name: a, request: {url: /, headers: {Authorization: 'Bearer {{ TOKEN }}'}}}\n"
         "  - {name: b, request: {url: /, headers: {Authorization: 'Bearer {{ item.token }}'}}, "
         "with_items_from_csv: secret.csv}\n")
    run = drive("run", "-b", "plan.yml", "-v", "-s", env={"TOKEN": "canary-in-environment"})
    assert [r.field("Authorization") for r in server.requests] == ["Bearer canary-in-environment",
                                                                   "Bearer canary-in-file"]
    assert run.code == 0 and "canary" not in run.stdout + run.stderr
