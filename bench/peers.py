"""The tools: how each is installed, and the command with which it does a work.

A tool is a function that makes the command for a job, or returns None if it cannot do that work.
@tool gives it its name and says where it comes from. All send the same headers as far as they let
themselves be told.
"""
import dataclasses
import os
import pathlib
import shutil
import subprocess

import server

HEADERS = {"User-Agent": "driller", "Accept": "*/*"}
TOOLS = {}


@dataclasses.dataclass(frozen=True)
class Source:
    """Where a tool comes from: the manager (apt, go or cargo), its program, and the package's name.
    Debian's packages stand in scripts/packages."""
    manager: str
    program: str
    package: str = ""


@dataclasses.dataclass(frozen=True)
class Tool:
    name: str
    source: object   # Source, or None for what is built here
    command: object
    counted: bool    # it takes a number of requests and no duration
    copies: int      # processes side by side
    keep: bool       # its standard output goes to a file and not to /dev/null


@dataclasses.dataclass
class Job:
    """What a tool is to do: a work, where, for how long, and a folder for its files."""
    work: object
    server: object
    program: str
    folder: pathlib.Path
    seconds: int
    requests: int    # for those that are counted

    @property
    def path(self):
        return self.server.body(self.work.size) if self.work.size else self.work.path

    @property
    def url(self):
        return self.server.url(self.work.kind, self.path)

    @property
    def base(self):
        return self.server.url(self.work.kind, "")

    def urls(self):
        if self.work.plan == "three":
            return [self.server.url(self.work.kind, path) for path in self.work.paths()]
        return [self.url]

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def sent_body(self):
        return self.file("body", "x" * self.work.post)


def tool(name, source=None, counted=False, copies=1, keep=False):
    def add(command):
        TOOLS[name] = Tool(name, source, command, counted, copies, keep)
        return command
    return add


def headers(option, extra=()):
    """The headers as repeated options."""
    pairs = [*HEADERS.items(), *extra]
    return [word for name, value in pairs for word in (option, f"{name}: {value}")]


# driller

def plan_text(job, settings=""):
    """The plan of a work, in the language that driller and the original have in common."""
    text = f"---\nbase: {job.base}\n{settings}plan:\n"
    if job.work.plan == "three":
        return text + f"""
  - name: Log in
    request:
      url: /json/1k
    assign: login
  - name: Check
    assert:
      key: login.body.id
      value: {server.ITEM}
  - name: Fetch
    request:
      url: /item/{{{{ login.body.id }}}}
      headers:
        X-Token: '{{{{ login.body.token }}}}'
  - name: Leave
    request:
      url: /
"""
    if job.work.plan == "json":
        return text + f"""
  - name: Read
    request:
      url: {job.path}
    assign: read
  - name: Check
    assert:
      key: read.body.token
      value: {server.TOKEN}
"""
    if job.work.post:
        return text + f"""
  - name: Send
    request:
      url: {job.path}
      method: POST
      body: {'x' * job.work.post}
"""
    if job.work.plan == "csv":
        return text + f"""
  - name: Row
    request:
      url: /user/{{{{ item.user }}}}
    with_items_from_csv: {job.path}
"""
    text += f"  - name: Get\n    request:\n      url: {job.path}\n"
    return text + ("  - name: Wait\n    delay:\n      seconds: 600\n" if job.work.plan == "idle" else "")


def driller_run(job, *more, quiet=True, users=None, plan=None):
    work = job.work
    argv = [job.program, "run", "-p", users or work.users, "-d", f"{job.seconds}s", *more]
    argv += ["--quiet"] if quiet else []
    argv += ["--timeout", job.seconds] if work.plan == "idle" else []
    if work.kind != "http":
        argv += ["--cacert", job.server.cert, "--http", "2" if work.kind == "h2" else "1.1"]
    if work.kind == "h2":
        argv += ["--connections", work.connections]
    if plan or work.plan or work.post:
        return [*argv, "--benchmark", job.file("plan.yml", plan or plan_text(job))]
    return [*argv, job.url]


@tool("driller")
def driller(job):
    return driller_run(job)


@tool("driller-plan")
def driller_plan(job):
    return driller_run(job, plan=plan_text(job))


@tool("driller-discard")
def driller_discard(job):
    """The same request without assign and assert."""
    return driller_run(job, plan=f"base: {job.base}\nplan:\n  - request:\n      url: {job.path}\n")


@tool("driller-lines", keep=True)
def driller_lines(job):
    return driller_run(job, quiet=False)


@tool("driller-report")
def driller_report(job):
    return driller_run(job, "--report", job.folder / "report.yml")


@tool("driller-w2")
def driller_w2(job):
    return driller_run(job, "-w", 2)


@tool("driller-2x", copies=2)
def driller_2x(job):
    return driller_run(job, users=job.work.users // 2)


# The lower bound (floor.c).

@tool("floor")
def floor(job):
    work = job.work
    if work.kind != "http":
        return None
    token = [("X-Token", server.TOKEN)] if work.plan == "three" else []
    return [job.program, "-c", work.users, "-d", job.seconds, *headers("-H", token),
            *(["-n"] if work.reconnect else []), *(["-b", work.post] if work.post else []),
            *job.urls()]


# Others. Where one has no plans, it fetches the last and plainest of the URLs.

def plainest(job):
    return job.urls()[-1]


def wrk_run(job, url, script=None):
    return [job.program, "-t", 1, "-c", job.work.users, "-d", f"{job.seconds}s",
            *headers("-H"), *(["-s", job.file("wrk.lua", script)] if script else []), url]


@tool("wrk", Source("apt", "wrk"))
def wrk(job):
    if job.work.kind == "h2":
        return None
    script = f'wrk.method = "POST"\nwrk.body = string.rep("x", {job.work.post})\n'
    return wrk_run(job, plainest(job), script if job.work.post else None)


@tool("wrk-lua", Source("apt", "wrk"))
def wrk_lua(job):
    """wrk's scripts do not know which connection an answer is from: this one fetches the three in
    turn with the last values that any of them got."""
    if job.work.plan != "three":
        return None
    return wrk_run(job, job.base + "/", f"""
local turn, id, token = 0, "{server.ITEM}", "{server.TOKEN}"
function request()
    turn = turn % 3 + 1
    if turn == 1 then return wrk.format("GET", "/json/1k") end
    if turn == 2 then
        wrk.headers["X-Token"] = token
        local text = wrk.format("GET", "/item/" .. id)
        wrk.headers["X-Token"] = nil
        return text
    end
    return wrk.format("GET", "/")
end
function response(status, headers, body)
    local found = body:match('"id": (%d+), "token"')
    if found then
        id, token = found, body:match('"token": "(%x+)"')
        if id ~= "{server.ITEM}" then error("assertion failed") end
    end
end
""")


@tool("h2load", Source("apt", "h2load"))
def h2load(job):
    work = job.work
    if work.reconnect:
        return None
    return [job.program, "-t", 1, "-c", work.connections, "-m", work.streams,
            *([] if work.kind == "h2" else ["--h1"]), "-D", job.seconds, *headers("-H"),
            *(["-d", job.sent_body()] if work.post else []), plainest(job)]


@tool("ab", Source("apt", "ab"), counted=True)
def ab(job):
    work = job.work
    if work.kind == "h2":
        return None
    return [job.program, "-q", "-c", work.users, "-n", max(job.requests, work.users),
            *([] if work.reconnect else ["-k"]), *headers("-H"),
            *(["-p", job.sent_body()] if work.post else []), plainest(job)]


@tool("hey", Source("apt", "hey"))
def hey(job):
    work = job.work
    if work.kind == "h2":
        return None
    return [job.program, "-c", work.users, "-z", f"{job.seconds}s",
            *(["-m", "POST", "-D", job.sent_body()] if work.post else []),
            *headers("-H"), plainest(job)]


@tool("siege", Source("apt", "siege"))
def siege(job):
    if job.work.kind != "http" or job.work.post or job.work.reconnect:
        return None
    rc = job.file("siegerc", "verbose = false\nquiet = true\nlogging = false\nshow-logfile = false\n"
                  "connection = keep-alive\nparser = false\nlimit = 20000\nbenchmark = true\n")
    return [job.program, "-R", rc, "-b", "-c", job.work.users, "-t", f"{job.seconds}S",
            "-A", HEADERS["User-Agent"], "-H", "Accept: */*", plainest(job)]


@tool("bombardier", Source("go", "bombardier", "github.com/codesenberg/bombardier@v1.2.6"))
def bombardier(job):
    work = job.work
    return [job.program, "-c", work.users, "-d", f"{job.seconds}s", "-k", "-p", "r",
            *(["--http2"] if work.kind == "h2" else []), *headers("-H"),
            *(["-m", "POST", "-f", job.sent_body()] if work.post else []), plainest(job)]


@tool("vegeta", Source("go", "vegeta", "github.com/tsenart/vegeta/v12@v12.13.0"))
def vegeta(job):
    work = job.work
    if work.post or work.kind == "h2":
        return None
    targets = job.file("targets", f"GET {plainest(job)}\n")
    return [job.program, "attack", "-rate", 0, "-max-workers", work.users, "-workers", work.users,
            "-connections", work.users, "-duration", f"{job.seconds}s", "-insecure",
            *headers("-header"), "-targets", targets, "-output", "/dev/null"]


@tool("oha", Source("cargo", "oha", "oha@1.16.0"))
def oha(job):
    work = job.work
    return [job.program, "-c", work.connections, "-z", f"{job.seconds}s", "--no-tui", "--insecure",
            *(["--http2", "-p", work.streams] if work.kind == "h2" else []), *headers("-H"),
            *(["-m", "POST", "-D", job.sent_body()] if work.post else []), plainest(job)]


def k6_script(job):
    if job.work.plan == "three":
        return f"""
    const login = http.get("{job.base}/json/1k", keep);
    const body = login.json();
    check(body, {{ id: (b) => b.id == {server.ITEM} }});
    http.get(`{job.base}/item/${{body.id}}`, {{ headers: {{ ...H, "X-Token": body.token }} }});
    http.get("{job.base}/", {{ headers: H }});"""
    if job.work.plan == "json":
        return f"""
    check(http.get("{job.url}", keep).json(), {{ token: (b) => b.token == "{server.TOKEN}" }});"""
    if job.work.post:
        return f"""
    http.post("{job.url}", text, {{ headers: H }});"""
    return f"""
    http.get("{job.url}", {{ headers: H }});"""


@tool("k6", Source("go", "k6", "go.k6.io/k6@v1.8.1"))
def k6(job):
    script = job.file("k6.js", f"""
import http from "k6/http";
import {{ check, sleep }} from "k6";
const H = {{ "User-Agent": "driller", "Accept": "*/*" }};
const keep = {{ headers: H, responseType: "text" }};
const text = "x".repeat({job.work.post});
export const options = {{ discardResponseBodies: true }};
export default function () {{{k6_script(job)}
    {"sleep(600);" if job.work.plan == "idle" else ""}
}}
""")
    return [job.program, "run", "--quiet", "--no-usage-report", "--no-summary",
            "--insecure-skip-tls-verify", "--vus", job.work.users,
            "--duration", f"{job.seconds}s", script]


@tool("original", Source("cargo", "driller", "driller@0.13.1"), counted=True)
def original(job):
    """The Rust program whose plans driller reads. It counts iterations."""
    work = job.work
    if work.kind == "h2" or work.reconnect:
        return None
    rounds = max(job.requests // len(work.paths()), work.users)
    settings = f"concurrency: {work.users}\niterations: {rounds}\n"
    return [job.program, "--quiet", "--no-check-certificate", "--timeout", max(10, job.seconds),
            "--benchmark", job.file("original.yml", plan_text(job, settings))]


# Installing

def find(name, cache, build):
    """The path of a tool's program, or None if it is not there."""
    source = TOOLS[name].source
    if source is None:
        return build / ("bench/bench_floor" if name == "floor" else "driller")
    if source.manager == "apt":
        return shutil.which(source.program)
    folder = cache / "bin" if source.manager == "go" else cache / name / "bin"
    path = folder / source.program
    return path if path.exists() else None


def install(name, cache):
    """Compiles a tool into the cache folder. Raises OSError or CalledProcessError."""
    source = TOOLS[name].source
    env = dict(os.environ)
    if source.manager == "go":
        argv = ["go", "install", source.package]
        env["GOBIN"] = str(cache / "bin")
    else:
        argv = ["cargo", "install", "--quiet", "--locked", "--root", cache / name, source.package]
        env["CARGO_TARGET_DIR"] = str(cache / "target")
    subprocess.run(argv, env=env, check=True, stdin=subprocess.DEVNULL, capture_output=True,
                   cwd=cache)
