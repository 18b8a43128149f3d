"""What is promised about secrets, files, terminals and the binary itself (rows Z of faults.md; see
SECURITY.md)."""
import json
import os
import re
import shutil
import stat
import subprocess

import pytest

from faultkit import answering, sanitized
from rawserver import ok

# --- secrets ---

SECRET = "plan:\n" + "".join(f"  - {{name: {name}, request: {{url: '{url}', headers: {{{headers}}}}}{more}}}\n"
                             for name, url, headers, more in [
    ("static", "/a", "Authorization: Bearer canary-1", ""),
    ("proxy", "/b", "Proxy-Authorization: Basic canary-2", ""),
    ("cookie", "/c", "cookie: s=canary-3", ""),
    ("environment", "/d", "AUTHORIZATION: '{{ CANARY }}'", ""),
    ("data", "/e", "Authorization: '{{ item.token }}'", ", with_items_from_csv: secrets.csv"),
    ("set by the server", "/set", "X: y", ""),
    ("and sent back", "/f", "X: y", ""),
])


@pytest.mark.fault("Z-1")
def test_secrets_are_in_no_output(drive, plan, raw_server, tmp_path):
    """Values of the headers that hold credentials, and those of URLs, from whatever source."""
    def reply(request):
        if request.target == "/set":
            return ok(b"x", b"Set-Cookie: s=canary-6; Path=/")
        return ok()

    server = raw_server(answering(reply))
    (tmp_path / "secrets.csv").write_text("token\ncanary-5\n")
    plan(f"base: http://us-canary-7:pw-canary-8@{server.host}\n" + SECRET
         + "  - {name: gone, request: {url: 'http://us-canary-9:pw-canary-9@127.0.0.1:1/'}}\n"
         "  - {name: templated, request: {url: 'http://{{ CANARY }}:{{ CANARY }}@127.0.0.1:1/'}}\n")
    env = {"CANARY": "canary-4"}
    seen = ""
    for form in ([], ["-v"], ["-v", "-s"], ["--stats-format", "json"], ["-q", "-v", "-r", "r.yml"], ["--list-tags"]):
        run = drive("run", "-b", "plan.yml", *form, env=env)
        assert run.code == 0, run
        seen += run.stdout + run.stderr
    seen += (tmp_path / "r.yml").read_text()
    assert re.findall(".*canary.*", seen) == []
    assert "***" in seen
    sent = b"".join(r.bytes for r in server.requests).decode()
    assert {f"canary-{i}" for i in range(1, 7)} <= set(re.findall(r"canary-\d", sent))
    # Twice --verbose is asked for when they are what is looked for.
    run = drive("run", "-b", "plan.yml", "-v", "-v", env=env)
    assert {f"canary-{i}" for i in range(1, 7)} <= set(re.findall(r"canary-\d", run.stdout))


@pytest.mark.fault("Z-1")
def test_secrets_are_in_no_fault(drive, plan):
    """A URL that is none is shown without its credentials."""
    for base in ("us-canary:pw-canary@127.0.0.1/", "http://us-canary:pw-canary@127.0.0.1:99999/",
                 "http://us-canary:pw-canary@a b/", "http:us-canary:pw-canary@:x",
                 "htp://us-canary:pw-canary@host/", "http://us-canary:pw-canary@/"):
        for text, arguments in (("", [base]), (f"base: '{base}'\nplan:\n  - request: {{url: /}}\n", ["-b", "plan.yml"]),
                                (f"plan:\n  - request: {{url: '{base}'}}\n", ["-b", "plan.yml"])):
            plan(text)
            run = drive("run", *arguments)
            assert run.code == 1 and "pw-canary" not in run.stdout + run.stderr, run
            assert base.startswith("us-") or "us-canary" not in run.stderr, run


# --- commands ---

@pytest.mark.fault("Z-2")
@pytest.mark.parametrize("value, origin", [
    ("{{ x.text }}", "a response"), ("{{ x.headers.a }}", "a response"), ("{{ cookies.c }}", "a response"),
    ("{{ item.a }}", "a data file"), ("{{ HOME }}", "the environment"), ("{{ y }}", "a response"),
])
def test_foreign_values_in_commands_are_warned_of(drive, plan, value, origin):
    plan("a\n1\n", "d.csv")
    plan("base: http://127.0.0.1:1\nplan:\n  - {request: {url: /}, assign: x}\n"
         "  - {request: {url: /}, with_items_from_csv: d.csv}\n"
         "  - assign: {key: y, value: 'a {{ x.text }}'}\n"
         f"  - exec: {{command: 'true {value}'}}\n")
    run = drive("validate", "plan.yml", env={"HOME": "/"})
    assert run.code == 0 and "warning: plan.yml:6:21: " in run.stderr and origin in run.stderr, run
    assert "whoever can choose the value can run commands here" in run.stderr


@pytest.mark.fault("Z-2")
def test_values_of_the_plan_itself_are_not(drive, plan):
    plan("plan:\n  - assign: {key: y, value: one}\n  - exec: {command: 'echo {{ y }} {{ iteration }}'}\n")
    assert drive("validate", "plan.yml").stderr == ""


# --- files ---

@pytest.mark.fault("Z-4")
@pytest.mark.parametrize("step", [
    "request: {url: /, method: POST, body: {file: '{{ x.text }}'}}", "include: '{{ x.text }}'",
    "{request: {url: /}, with_items_from_csv: '{{ x.text }}'}", "{request: {url: /}, with_items_from_file: '{{ base }}'}",
    "{request: {url: /}, with_items_from_csv: {file_name: '{{ base }}'}}",
])
def test_no_value_becomes_the_name_of_a_file(drive, plan, raw_server, step):
    """Names of files are fixed when the plan is read: what a server sends cannot choose one."""
    server = raw_server(answering(lambda request: ok(b"/etc/passwd")))
    plan(f"base: {server.url}\nplan:\n  - request: {{url: /}}\n    assign: x\n  - {step}\n")
    run = drive("run", "-b", "plan.yml")
    assert run.code == 1 and run.stdout == "" and "error: plan.yml:5:" in run.stderr, run
    assert server.requests == []


@pytest.mark.fault("Z-4")
def test_names_are_relative_to_the_file_that_has_them(drive, plan, raw_server, tmp_path):
    server = raw_server(answering())
    plan("- request: {method: POST, url: /, body: {file: here.txt}}\n"
         "- request: {method: POST, url: '/{{ item }}', body: {file: ../up.txt}}\n  with_items_from_file: list\n",
         "sub/steps.yml")
    plan("here", "sub/here.txt")
    plan("up", "up.txt")
    plan("one\n", "sub/list")
    path = plan(f"base: {server.url}\nplan:\n  - include: sub/steps.yml\n")
    assert drive("run", "-b", path, cwd="/").code == 0
    assert [(r.target, r.body) for r in server.requests] == [("/", b"here"), ("/one", b"up")]


# --- terminals ---

@pytest.mark.fault("Z-5")
def test_bytes_of_a_server_never_act_on_a_terminal(drive, plan, raw_server):
    attacks = ["\x1b[2J", "\x1b]52;c;aGk=\x07", "\x1b]8;;http://evil\x1b\\x", "\x9b31m", "\u202e", "\u2066", "\x07\x08",
               "a\rb", "\x7f", "\ufeff\u200b", "x" * 10000]

    def reply(request):
        text = attacks[int(request.target.rpartition("/")[2])].encode()
        clean = re.sub(rb"[\x00-\x1f\x7f]", b"", text)
        return ok(json.dumps({"v": text.decode()}).encode(), b"X-A: " + clean, b"Set-Cookie: c=" + clean,
                  b"Location: /x/" + clean, status=b"200 " + clean)

    server = raw_server(answering(reply))
    plan(f"base: {server.url}\niterations: {len(attacks)}\nconcurrency: 1\nplan:\n"
         "  - {name: get, request: {url: '/{{ iteration }}'}, assign: x}\n"
         "  - {name: '{{ x.body.v }}', request: {url: '/again/{{ iteration }}'}}\n"
         "  - {assign: {key: y, value: '{{ x.body.v }}'}}\n"
         "  - {assert: {key: y, value: nothing}}\n"
         "  - {name: in a url, request: {url: '/{{ y }}/{{ iteration }}'}}\n"
         "  - {exec: {command: 'cat >&2; exit 1'}}\n")
    for form in (["-v", "-v"], ["-v", "--color", "always"], ["-s"]):
        run = drive("run", "-b", "plan.yml", *form)
        assert run.code == 1, run
        text = re.sub("\x1b\\[[0-9;]*m", "", run.stdout) if "always" in form else run.stdout
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text + run.stderr)
        text.encode("utf-8")
    assert f"{'x' * 256}…" in text, "a name that a server has chosen is cut"


@pytest.mark.fault("Z-5")
def test_bytes_of_a_plan_never_act_on_a_terminal(drive, plan):
    """Also when it is only looked at."""
    evil = '"\\e[2J\\a\\x9b"'
    plan(f"base: http://127.0.0.1:1\nplan:\n  - {{name: {evil}, request: {{url: /, {evil}: 1}}, tags: [{evil}], "
         f"{evil}: {evil}}}\n  - {evil}: x\n  - request: {{url: /, method: {evil}}}\n  - include: {evil}\n", "p.yml")
    good = f"base: http://127.0.0.1:1\nplan:\n  - {{name: {evil}, request: {{url: /}}, tags: [{evil}]}}\n"
    for arguments in (["validate", "p.yml"], ["run", "-b", "p.yml"]):
        run = drive(*arguments)
        assert run.code == 1 and "\\x1B[2J" in run.stderr, run
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", run.stdout + run.stderr), run
    plan(good)
    for arguments in (["--list-tags"], ["--list-tasks"], []):
        run = drive("run", "-b", "plan.yml", *arguments)
        assert run.code == 0 and not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", run.stdout + run.stderr), run


# --- where requests go ---

@pytest.mark.fault("Z-9")
@pytest.mark.parametrize("location", ["file:///etc/passwd", "gopher://127.0.0.1/", "javascript:alert(1)", "data:,x",
                                      "ftp://127.0.0.1/", "unix:/run/x.sock"])
def test_redirects_lead_to_http_only(drive, plan, raw_server, location):
    server = raw_server([ok(b"", b"Location: " + location.encode(), status=b"302 Found")])
    plan(f"base: {server.url}\nplan:\n  - {{name: a, request: {{url: /, headers: {{Authorization: secret}}}}}}\n")
    run = drive("run", "-b", "plan.yml", "--stats-format", "json")
    assert run.code == 0 and run.json["global"]["causes"] == {"redirect": 1}, run
    assert len(server.requests) == 1


@pytest.mark.fault("Z-9")
def test_redirects_take_no_credentials_to_another_origin(drive, plan, raw_server):
    there = raw_server(answering())
    here = raw_server(answering(lambda request: ok(b"", b"Location: " + there.url.encode() + b"/x",
                                                   b"Set-Cookie: own=1; Path=/", status=b"302 Found")))
    plan(f"base: http://u:p@{here.host}\nplan:\n"
         "  - {name: a, request: {url: /1, headers: {Authorization: secret, Cookie: a=b, "
         "Proxy-Authorization: secret, X-Key: kept}}}\n  - {name: b, request: {url: /2}}\n")
    assert drive("run", "-b", "plan.yml").code == 0
    assert [r.field("X-Key") for r in there.requests] == ["kept", None]
    for request in there.requests:
        for name in ("Authorization", "Proxy-Authorization"):
            assert request.field(name) is None


# --- files that are written ---

@pytest.mark.fault("Z-11")
def test_report_obeys_the_umask_and_follows_no_stranger(driller, drive, plan, raw_server, tmp_path):
    server = raw_server(answering())
    plan(f"base: {server.url}\nplan:\n  - {{name: a, request: {{url: /}}}}\n")
    for umask, mode in ((0o077, 0o600), (0o022, 0o644)):
        (tmp_path / "r.yml").unlink(missing_ok=True)
        subprocess.run([driller, "run", "-b", "plan.yml", "-r", "r.yml"], cwd=tmp_path, check=True,
                       stdout=subprocess.DEVNULL, preexec_fn=lambda: os.umask(umask))
        assert stat.S_IMODE((tmp_path / "r.yml").stat().st_mode) == mode
    # One that is replaced keeps its mode.
    (tmp_path / "r.yml").chmod(0o640)
    assert drive("run", "-b", "plan.yml", "-r", "r.yml").code == 0
    assert stat.S_IMODE((tmp_path / "r.yml").stat().st_mode) == 0o640


@pytest.mark.fault("Z-11")
def test_report_in_the_making_has_no_name(launch, plan, raw_server, tmp_path):
    """So nobody can guess it, put a link in its place, or find it left over."""
    names = []

    def reply(request):
        names.append(set(os.listdir(tmp_path)))
        return ok()

    server = raw_server(answering(reply))
    plan(f"base: {server.url}\niterations: 30\nconcurrency: 1\nplan:\n  - {{name: a, request: {{url: /}}}}\n")
    process = launch("run", "-b", "plan.yml", "-r", "r.yml")
    process.communicate(timeout=20)
    others = set().union(*names) - {"plan.yml"}
    assert all(re.fullmatch(r"\.driller-[0-9a-f]{16}\.tmp", name) for name in others), others
    assert set(os.listdir(tmp_path)) == {"plan.yml", "r.yml"}


# --- the binary ---

@pytest.mark.fault("Z-12")
def test_binary_is_hardened(driller):
    if not shutil.which("readelf"):
        pytest.skip("readelf (binutils) is not installed")

    def read(*options):
        return subprocess.run(["readelf", "-W", *options, driller], capture_output=True, text=True, check=True).stdout
    assert re.search(r"Type:\s+DYN", read("-h")), "no position independent executable"
    segments = read("-l")
    assert re.search(r"GNU_STACK .* RW +0x", segments), "an executable stack"
    assert "GNU_RELRO" in segments
    assert not re.search(r"LOAD .* RWE ", segments), "a segment that is written and executed"
    assert re.search(r"\(FLAGS_1\).*NOW", read("-d")) or "BIND_NOW" in read("-d")
    assert "RPATH" not in read("-d") and "RUNPATH" not in read("-d")
    symbols = read("--dyn-syms")
    assert "__stack_chk_fail" in symbols, "no stack protector"
    if not sanitized(driller):
        build = (driller.parent / "CMakeCache.txt")
        if build.exists() and "CMAKE_BUILD_TYPE:STRING=Rel" in build.read_text():
            assert re.search(r"__\w+_chk", symbols.replace("__stack_chk_fail", "")), "nothing is fortified"
