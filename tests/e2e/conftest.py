"""Fixtures of the end-to-end tests: the binary, and servers for it to load.

The binary is $DRILLER (default: build/driller); the example server is the one built beside it.
Everything listens on 127.0.0.1, on a port that was free, and is gone when the test is.
"""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time
import urllib.request

import pytest

from rawserver import RawServer

pytest.register_assert_rewrite("faultkit", "wirekit")  # their asserts show what differs, too

ROOT = pathlib.Path(__file__).resolve().parents[2]


def pytest_configure(config):
    config.addinivalue_line("markers", "clear: wants whole reads; not run in bad weather "
                                       "(src/net/weather.h)")
    config.addinivalue_line("markers", "threads: runs several workers; run with TSan as well")
    config.addinivalue_line("markers", "fault(*ids): holds the tool to these rows of the catalogue "
                                       "of faults")


class Result:
    """What a finished run of the binary gave: code, stdout, stderr, and seconds that it took."""

    def __init__(self, code, stdout, stderr, seconds):
        self.code = code
        self.stdout = stdout.decode("utf-8", "surrogateescape")
        self.stderr = stderr.decode("utf-8", "surrogateescape")
        self.seconds = seconds

    @property
    def json(self):
        """Standard output as one JSON document; NaN and Infinity are none."""
        def refuse(word):
            raise ValueError(f"{word} is not JSON")
        return json.loads(self.stdout, parse_constant=refuse)

    @property
    def lines(self):
        return self.stdout.splitlines()

    def __repr__(self):
        return f"exit {self.code}\n--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"


def clean_environment(extra):
    """The environment without what would change a run: proxies, colours, sharding."""
    kept = {k: v for k, v in os.environ.items()
            if "proxy" not in k.lower() and k not in ("NO_COLOR", "CLICOLOR_FORCE")}
    return {**kept, "LC_ALL": "C.UTF-8", **(extra or {})}


@pytest.fixture(scope="session")
def driller():
    """The path of the binary under test."""
    path = pathlib.Path(os.environ.get("DRILLER", ROOT / "build" / "driller")).resolve()
    if not path.exists():
        pytest.fail(f"{path} is not built (scripts/build), see $DRILLER", pytrace=False)
    return path


@pytest.fixture
def drive(driller, tmp_path):
    """drive(*args, stdin=None, env=None, timeout=60, cwd=None) runs the binary to its end.

    stdin is text or bytes; the working folder is a temporary one unless cwd says otherwise.
    """
    def run(*args, stdin=None, env=None, timeout=60, cwd=None):
        if isinstance(stdin, str):
            stdin = stdin.encode()
        begun = time.monotonic()
        done = subprocess.run([driller, *map(str, args)], input=stdin if stdin else b"",
                              capture_output=True, timeout=timeout, cwd=cwd or tmp_path,
                              env=clean_environment(env))
        return Result(done.returncode, done.stdout, done.stderr, time.monotonic() - begun)
    return run


@pytest.fixture
def launch(driller, tmp_path):
    """launch(*args, env=None, **popen) starts the binary and returns its Popen, for tests that
    send signals or close pipes; what still runs at the end of the test is killed."""
    running = []

    def start(*args, env=None, **popen):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, "cwd": tmp_path, **popen}
        process = subprocess.Popen([driller, *map(str, args)], env=clean_environment(env),
                                   **options)
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                pipe.close()


@pytest.fixture
def plan(tmp_path):
    """plan(text, name="plan.yml") writes a plan into the working folder and returns its path."""
    def write(text, name="plan.yml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path
    return write


@pytest.fixture
def raw_server():
    """raw_server(script) starts a RawServer (see rawserver.py); all are stopped at the end."""
    servers = []

    def start(script, **options):
        server = RawServer(script, **options)
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def dead_port():
    """A port that refuses connections: bound, so that nobody else gets it, and not listening."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


class Shop:
    """The example server, while it runs."""

    def __init__(self, binary, *args):
        self.process = subprocess.Popen(
            [binary, "--port", "0", "--exit-when-stdin-closes", *args],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            self.process.kill()
            raise RuntimeError(f"the example server said {line!r}")
        self.url = line.split()[-1]

    def get(self, path):
        """The JSON at a path, fetched without driller."""
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:
            return json.load(answer)

    def stop(self):
        """Ends it; returns how many requests it answered, those of get() included."""
        self.process.send_signal(signal.SIGTERM)
        rest, _ = self.process.communicate(timeout=10)
        return int(rest.split()[0])


@pytest.fixture(scope="session")
def shop_binary(driller):
    path = driller.parent / "examples" / "example_server"
    if not path.exists():
        pytest.fail(f"{path} is not built", pytrace=False)
    return path


@pytest.fixture
def shop(shop_binary):
    """An example server of the test's own."""
    server = Shop(shop_binary)
    yield server
    if server.process.poll() is None:
        server.stop()


NGINX_CONFIG = """
daemon off;
master_process off;
pid {dir}/nginx.pid;
error_log {dir}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log {dir}/access.log;
    client_body_temp_path {dir}/body;
    proxy_temp_path {dir}/proxy;
    fastcgi_temp_path {dir}/fastcgi;
    uwsgi_temp_path {dir}/uwsgi;
    scgi_temp_path {dir}/scgi;
    keepalive_requests {keepalive_requests};
    default_type text/plain;
    server {{
        listen 127.0.0.1:{port};
        root {dir}/www;
        {server}
    }}
}}
"""


class Nginx:
    """An nginx of the test's own; `www` is the folder that it serves."""

    def __init__(self, folder, server="", keepalive_requests=1000000):
        self.folder = folder
        self.www = folder / "www"
        self.www.mkdir(parents=True, exist_ok=True)
        (self.www / "index.html").write_text("hello world\n")
        # Taken from the kernel and let go again: somebody may be quicker, so try again then.
        for _ in range(5):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = probe.getsockname()[1]
            config = folder / "nginx.conf"
            config.write_text(NGINX_CONFIG.format(dir=folder, port=self.port, server=server,
                                                  keepalive_requests=keepalive_requests))
            self.process = subprocess.Popen(
                [shutil.which("nginx") or "/usr/sbin/nginx", "-p", folder, "-c", config,
                 "-e", folder / "error.log"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if self._answers():
                break
            self.stop()
        else:
            raise RuntimeError("nginx does not start:\n" + (folder / "error.log").read_text())
        self.url = f"http://127.0.0.1:{self.port}"

    def _answers(self):
        for _ in range(200):
            if self.process.poll() is not None:
                return False
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return True
            except OSError:
                time.sleep(0.02)
        return False

    def requests(self):
        """The lines of the access log; complete only after stop()."""
        log = self.folder / "access.log"
        return log.read_text().splitlines() if log.exists() else []

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            try:
                self.process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()


@pytest.fixture
def nginx(tmp_path_factory):
    """nginx(server="", …) starts an nginx with these directives in its server block."""
    if not (shutil.which("nginx") or os.path.exists("/usr/sbin/nginx")):
        pytest.skip("nginx is not installed")
    running = []

    def start(server="", **options):
        running.append(Nginx(tmp_path_factory.mktemp("nginx"), server, **options))
        return running[-1]

    yield start
    for server in running:
        server.stop()
