"""What driller sends, as servers of the world read it: nginx, Python's http.server, Node's http and Go's
net/http see the method, target, fields and body that the plan says, and as many requests as there
are; none of them can be made to see two in one."""
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import time

import pytest

from faultkit import answering, check_sums, vectors
from test_faults_templates import controls, quoted, standard_target

SERVERS = os.path.join(os.path.dirname(__file__), "servers")


class Echo:
    """A server that prints what it reads."""

    def __init__(self, command, log):
        self.log = log
        with open(log, "wb") as file:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=file)
        for _ in range(1000):
            line = log.read_text(encoding="utf-8")
            if line.endswith("\n"):
                break
            time.sleep(0.02)
        assert line.startswith("listening on "), line
        self.url = f"http://127.0.0.1:{line.split()[-1]}"

    def read(self):
        """Ends it; what it has read: (method, target, fields, body) each."""
        self.process.communicate(timeout=20)
        seen = map(json.loads, self.log.read_text(encoding="utf-8").split("\n")[1:-1])
        return [(r["method"], r["target"], r["headers"], base64.b64decode(r["body"])) for r in seen]

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()


@pytest.fixture(scope="session")
def go_server(tmp_path_factory):
    if not shutil.which("go"):
        pytest.skip("go is not installed: net/http was NOT asked")
    binary = tmp_path_factory.mktemp("go") / "echo"
    env = {**os.environ, "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "", "GO111MODULE": "off"}
    try:
        done = subprocess.run(["go", "build", "-o", binary, os.path.join(SERVERS, "echo.go")], env=env,
                              capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        pytest.skip("go takes minutes to build its library for the first time: net/http was NOT asked")
    if done.returncode:
        pytest.skip(f"go cannot build its server: {done.stderr}")
    return [binary]


class Nginx:
    """nginx, which hands on what it has read to a server of ours, and logs it."""

    def __init__(self, nginx, raw_server):
        self.behind = raw_server(answering())
        self.front = nginx(f"""
            client_max_body_size 64m;
            large_client_header_buffers 8 64k;
            location / {{
                proxy_pass http://{self.behind.host};
                proxy_http_version 1.1;
                proxy_set_header Host $http_host;
                proxy_set_header Connection $http_connection;
            }}""")
        self.url = self.front.url

    def read(self):
        self.front.stop()
        log = "\n".join(self.front.requests()).replace("\\x5C", "\\")
        logged = re.findall(r'"(\S+ \S+ HTTP/1\.1)" 200 ', log)
        seen = [(r.method, r.target, [[n, v.encode("latin-1").decode()] for n, v in r.fields], r.body)
                for r in self.behind.requests]
        assert logged == [f"{method} {target} HTTP/1.1" for method, target, _, _ in seen]
        return seen


@pytest.fixture(params=["nginx", "python", "node", "go"])
def server(request):
    name = request.param
    if name == "nginx":
        yield Nginx(request.getfixturevalue("nginx"), request.getfixturevalue("raw_server"))
        return
    if name == "node" and not shutil.which("node"):
        pytest.skip("node is not installed: its http was NOT asked")
    command = {"python": [sys.executable, os.path.join(SERVERS, "echo.py")],
               "node": ["node", os.path.join(SERVERS, "echo.js")],
               "go": request.getfixturevalue("go_server") if name == "go" else None}[name]
    echo = Echo(command, request.getfixturevalue("tmp_path") / "echo.log")
    yield echo
    echo.stop()


def fields_of(fields, *names):
    """Values by name, for the names that are asked for; each may stand once."""
    found = {}
    for name, value in fields:
        if name.lower() in names:
            assert name.lower() not in found, f"{name} stands twice"
            found[name.lower()] = value
    return found


METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "REPORT"]


@pytest.mark.fault("Z-7")
def test_methods_fields_and_bodies(drive, plan, server, tmp_path):
    bodies = {"none": ("", b""), "empty": (", body: ''", b""), "text": (", body: 'é {\"a\": 1}\t'", 'é {"a": 1}\t'.encode()),
              "bytes": (", body: {hex: '00 0d0a0d0a ff 474554202f65 76696c'}", b"\0\r\n\r\n\xffGET /evil"),
              "request": (", body: \"GET /evil HTTP/1.1\\r\\nHost: evil\\r\\n\\r\\n\"",
                          b"GET /evil HTTP/1.1\r\nHost: evil\r\n\r\n"),
              "chunks": (", body: \"0\\r\\n\\r\\nGET /evil HTTP/1.1\\r\\n\\r\\n\"", b"0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n"),
              "file": (", body: {file: big.bin}", bytes(range(256)) * 512)}
    (tmp_path / "big.bin").write_bytes(bodies["file"][1])
    expected, steps = [], ""
    for method in METHODS:
        for name, (text, body) in bodies.items():
            target = f"/{method}/{name}?a=b&c=%2F%20"
            steps += (f"  - request: {{url: '{target}', method: {method}, headers: "
                      f"{{X-One: 'a: b, c', x-two: '', X-Three: \"tab\\there\", Accept: text/x}}{text}}}\n")
            expected.append((method, target, body))
    plan(f"base: {server.url}\niterations: 2\nconcurrency: 1\nplan:\n{steps}")
    run = drive("run", "-b", "plan.yml", "-q", "--stats-format", "json")
    assert run.code == 0, run
    assert run.json["global"]["status_counts"] == {"200": 2 * len(expected)}
    check_sums(run.json)
    seen = server.read()
    assert [(m, t, b) for m, t, _, b in seen] == expected * 2
    for method, target, fields, body in seen:
        found = fields_of(fields, "x-one", "x-three", "accept", "user-agent", "host", "content-length",
                          "transfer-encoding")
        length = found.pop("content-length", None)
        assert found == {"x-one": "a: b, c", "x-three": "tab\there", "accept": "text/x", "user-agent": "driller",
                         "host": server.url[7:]}
        # Go takes the length out of the fields of a request without a body.
        said = body or not target.split("?")[0].endswith("/none") or method in ("POST", "PUT", "PATCH")
        assert length in ((str(len(body)), None) if not body else (str(len(body)),)) if said else length is None


def broken_escapes(target):
    """Percent signs that escape nothing; the URL standard leaves them as they are, some servers do not."""
    return re.search("%(?![0-9A-Fa-f]{2})|%00", target.partition("?")[0])


@pytest.mark.fault("I-8")
@pytest.mark.fault("Z-7")
def test_naughty_strings(drive, plan, server, tmp_path):
    """In targets, fields and bodies at once."""
    strings = vectors("naughty_strings.json")
    strings = [s for s in strings if not controls(s)]
    (tmp_path / "data.csv").write_text(
        "n,text\n" + "".join('%d,"%s"\n' % (i, s.replace('"', '""')) for i, s in enumerate(strings)),
        encoding="utf-8", newline="")
    plan(f"base: {server.url}\nplan:\n"
         "  - name: '{{ item.text }}'\n"
         "    request: {url: '/{{ item.n }}/{{ item.text }}', method: POST, headers: {X-S: '{{ item.text }}'},\n"
         "      body: '{{ item.text }}'}\n    with_items_from_csv: data.csv\n"
         "  - request: {url: '/q{{ item.n }}?{{ item.text }}', headers: {X-S: '{{ item.text }}'}}\n"
         "    with_items_from_csv: data.csv\n")
    run = drive("run", "-b", "plan.yml", "-q", "--stats-format", "json")
    assert run.code == 0, run
    check_sums(run.json)
    expected = [("POST", standard_target(f"/{i}/{s}"), s, s.encode()) for i, s in enumerate(strings)]
    expected += [("GET", standard_target(f"/q{i}?{s}"), s, b"") for i, s in enumerate(strings)]
    seen = {}
    for method, target, fields, body in server.read():
        assert (method, target) not in seen
        seen[method, target] = fields_of(fields, "x-s")["x-s"], body
    wrong, refused = [], 0
    for method, target, text, body in expected:
        got = seen.pop((method, target), None)
        if got is None and broken_escapes(target):
            refused += 1  # the server has said 400
        elif got is None or (got[0].strip(), got[1]) != (text.strip(), body):
            wrong.append((method, target, text, got))
    assert wrong == [] and seen == {}
    counts = run.json["global"]["status_counts"]
    assert counts.get("400", 0) == refused and counts["200"] == len(expected) - refused


@pytest.mark.fault("Z-7")
def test_written_names_and_values(drive, plan, server):
    """Odd, but allowed: what a plan has written down is sent as it stands."""
    values = ["", "  inner  blanks ", "\"quoted\"", "é ü 中", "a" * 6000, "{{", ":", ",;=", "%0d%0a", "\\r\\n", "`${x}`"]
    steps = "".join(f"  - request: {{url: /{i}, headers: {{X-V: {quoted(v)}}}}}\n" for i, v in enumerate(values))
    plan(f"base: {server.url}\nplan:\n{steps}")
    run = drive("run", "-b", "plan.yml", "-q")
    assert run.code == 0, run
    seen = server.read()
    assert [t for _, t, _, _ in seen] == [f"/{i}" for i in range(len(values))]
    assert [fields_of(f, "x-v").get("x-v", "").strip() for _, _, f, _ in seen] == [v.strip() for v in values]
