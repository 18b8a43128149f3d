"""Real servers, each in every way that it can be spoken to: what they count is what driller counts.

A cell is a server and a way; cells that cannot be are not there, and a server that is not installed
is skipped. Each cell starts its own server, with the log that tells what it has seen.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest

from faultkit import check_sums
from rawserver import RawServer, ok
from tlskit import HOST, trust  # noqa: F401

N, FEW = 40, 4


class Way:
    """How the server is spoken to."""

    def __init__(self, http="1.1", tls=None, mutual=False, close=False):
        self.http = http      # "1.1" or "2"
        self.tls = tls        # "1.2", "1.3" or None
        self.mutual = mutual  # both sides have a certificate
        self.close = close    # a connection for each request


WAYS = {
    "plain": Way(),
    "tls-1.2": Way(tls="1.2"),
    "tls-1.3": Way(tls="1.3"),
    "http2": Way("2", "1.3"),
    "http2-tls-1.2": Way("2", "1.2"),
    "http2-plain": Way("2"),
    "mutual-1.2": Way(tls="1.2", mutual=True),
    "mutual-1.3": Way(tls="1.3", mutual=True),
    "http2-mutual": Way("2", "1.3", mutual=True),
    "resumed-1.2": Way(tls="1.2", close=True),
    "resumed-1.3": Way(tls="1.3", close=True),
}


class Seen:
    """A request as a server's log has it."""

    def __init__(self, http, tls, resumed):
        self.http, self.tls, self.resumed = http, tls, resumed

    @classmethod
    def of(cls, line):
        """A line 'PATH HTTP/… TLSv… resumed-or-not', as most logs can be made to have it."""
        _, http, tls, resumed = line.split()[-4:]
        version = re.fullmatch(r"TLSv(1\.\d)", tls)
        return cls(re.fullmatch(r"HTTP/(1\.1|2)(?:\.0)?", http)[1], version and version[1],
                   resumed in ("r", "Resumed", "1"))


class Server:
    """A server of the test's own; `seen` is complete only after stop()."""

    ways = tuple(WAYS)
    program = None
    stop_signal = signal.SIGTERM

    def __init__(self, way, trust, folder):
        self.way, self.trust, self.folder = way, trust, folder
        self.log = folder / "access.log"
        for _ in range(5):  # a free port may be somebody else's by now
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = probe.getsockname()[1]
            with open(folder / "output", "wb") as output:
                self.process = subprocess.Popen(
                    self.command(), stdin=subprocess.DEVNULL, stdout=output,
                    stderr=subprocess.STDOUT, cwd=folder, start_new_session=True,
                    env={**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)})
            if self._answers():
                return
            self.stop()
        raise RuntimeError(f"{self.program} does not start:\n" + (folder / "output").read_text())

    def _answers(self):
        for _ in range(500):
            if self.process.poll() is not None:
                return False
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return True
            except OSError:
                time.sleep(0.01)
        return False

    def write(self, text):
        config = self.folder / "config"
        config.write_text(text)
        return config

    @classmethod
    def path(cls):
        return shutil.which(cls.program, path=f"{os.environ['PATH']}:/usr/sbin")

    def both(self):
        """The server's certificate and key in one file."""
        path = self.folder / "both.pem"
        path.write_bytes(self.trust.cert.read_bytes() + self.trust.key.read_bytes())
        return path

    @property
    def seen(self):
        return [Seen.of(line) for line in self.log.read_text().splitlines() if "/hello" in line]

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(self.stop_signal)
            try:
                self.process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Nginx(Server):
    program = "nginx"
    stop_signal = signal.SIGQUIT
    ways = [way for way in WAYS if way != "http2-plain"]  # this version speaks one on a port

    def command(self):
        way, trust = self.way, self.trust
        secure = "" if not way.tls else f"""
            ssl_certificate {trust.cert}; ssl_certificate_key {trust.key};
            ssl_protocols TLSv{way.tls};"""
        if way.mutual:
            secure += f"ssl_client_certificate {trust.ca}; ssl_verify_client on;"
        kinds = (" ssl" if way.tls else "") + (" http2" if way.http == "2" else "")
        (self.folder / "hello").write_text("hello\n")
        temporary = "".join(f"{name}_temp_path {self.folder}/{name};"
                            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        config = self.write(f"""
            daemon off; master_process off; pid {self.folder}/pid;
            events {{ worker_connections 256; }}
            http {{
                log_format seen '$uri $server_protocol $ssl_protocol- $ssl_session_reused';
                access_log {self.log} seen; {temporary}
                server {{ listen 127.0.0.1:{self.port}{kinds}; root {self.folder}; {secure} }}
            }}""".replace("$ssl_protocol-", "$ssl_protocol" if way.tls else "-").replace(
                "$ssl_session_reused", "$ssl_session_reused" if way.tls else "-"))
        return [self.path(), "-p", self.folder, "-c", config, "-e", self.folder / "error.log"]


class Apache(Server):
    program = "apache2"
    modules = "mpm_event authz_core ssl http2 socache_shmcb"

    def command(self):
        way, trust = self.way, self.trust
        secure = "" if not way.tls else f"""
            SSLEngine on
            SSLProtocol -all +TLSv{way.tls}
            SSLCertificateFile {trust.cert}
            SSLCertificateKeyFile {trust.key}"""
        if way.mutual:
            secure += f"\nSSLCACertificateFile {trust.ca}\nSSLVerifyClient require"
        (self.folder / "hello").write_text("hello\n")
        load = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so"
                         for name in self.modules.split())
        who = "User www-data\nGroup www-data" if os.geteuid() == 0 else ""
        config = self.write(f"""
            {load}
            {who}
            ServerName {HOST}
            ServerRoot {self.folder}
            DefaultRuntimeDir {self.folder}
            PidFile {self.folder}/pid
            ErrorLog {self.folder}/error.log
            Listen 127.0.0.1:{self.port}
            StartServers 1
            ServerLimit 1
            ThreadsPerChild 25
            MaxRequestWorkers 25
            KeepAlive On
            MaxKeepAliveRequests 0
            Protocols {"h2 h2c" if way.http == "2" else "http/1.1"}
            LogFormat "%U %H %{{SSL_PROTOCOL}}x %{{SSL_SESSION_RESUMED}}x" seen
            CustomLog {self.log} seen
            DocumentRoot {self.folder}
            {secure}
            """)
        return [self.path(), "-D", "FOREGROUND", "-f", config]


class Haproxy(Server):
    program = "haproxy"

    def command(self):
        way = self.way
        bind = f"bind 127.0.0.1:{self.port}"
        if way.tls:
            bind += (f" ssl crt {self.both()} ssl-min-ver TLSv{way.tls} ssl-max-ver TLSv{way.tls}"
                     f" alpn {'h2' if way.http == '2' else 'http/1.1'}")
        elif way.http == "2":
            bind += " proto h2"
        if way.mutual:
            bind += f" ca-file {self.trust.ca} verify required"
        config = self.write(f"""
global
    log stdout format raw local0
    nbthread 1
defaults
    mode http
    log global
    timeout client 10s
    timeout http-keep-alive 10s
frontend front
    {bind}
    log-format "seen %HP %HV %sslv %[ssl_fc_is_resumed]"
    http-request return status 200 content-type text/plain string hello
""")
        self.log = self.folder / "output"
        return [self.path(), "-db", "-f", config]


class Nghttpd(Server):
    program = "nghttpd"
    ways = ["http2", "http2-plain", "http2-mutual"]  # HTTP/2 and the newest TLS alone

    def command(self):
        (self.folder / "hello").write_text("hello\n")
        self.log = self.folder / "output"
        secure = [self.trust.key, self.trust.cert] if self.way.tls else ["--no-tls"]
        more = ["--verify-client"] if self.way.mutual else []
        # It trusts the system's certificates; without these any client's is refused.
        return ["env", f"SSL_CERT_FILE={self.trust.ca}", self.path(), "-v", "-a", "127.0.0.1", "-d",
                self.folder, *more, str(self.port), *secure]

    @property
    def seen(self):
        paths = re.findall(r"recv \(stream_id=\d+\) :path: /hello", self.log.read_text())
        return [Seen("2", self.way.tls, False) for _ in paths]


class Nghttpx(Server):
    """A proxy: what is behind it answers in Python."""

    program = "nghttpx"

    def __init__(self, *args):
        self.behind = RawServer([ok(b"hello")])
        super().__init__(*args)

    def stop(self):
        super().stop()
        self.behind.stop()

    def command(self):
        way, trust = self.way, self.trust
        front = f"--frontend=127.0.0.1,{self.port}" + ("" if way.tls else ";no-tls")
        options = ["--workers=1", f"--backend=127.0.0.1,{self.behind.port}",
                   "--conf=/dev/null", f"--errorlog-file={self.folder}/error.log",
                   f"--accesslog-file={self.log}",
                   "--accesslog-format=$request $tls_protocol $tls_session_reused"]
        if way.tls:
            options += [f"--tls-min-proto-version=TLSv{way.tls}",
                        f"--tls-max-proto-version=TLSv{way.tls}",
                        f"--npn-list={'h2' if way.http == '2' else 'http/1.1'}"]
        if way.mutual:
            options += ["--verify-client", f"--verify-client-cacert={trust.ca}"]
        return [self.path(), front, *options, trust.key, trust.cert]


class Caddy(Server):
    program = "caddy"
    ways = [way for way in WAYS if way != "http2-plain"]

    def command(self):
        way, trust = self.way, self.trust
        secure = ""
        if way.tls:
            client = ("client_auth {\nmode require_and_verify\n"
                      f"trusted_ca_cert_file {trust.ca}\n}}" if way.mutual else "")
            secure = (f"tls {trust.cert} {trust.key} {{\nprotocols tls{way.tls} tls{way.tls}\n"
                      f"{client}\n}}")
        config = self.write(f"""
{{
    admin off
    auto_https off
    servers {{
        protocols {"h1 h2" if way.http == "2" else "h1"}
    }}
}}
{"https" if way.tls else "http"}://{HOST}:{self.port} {{
    bind 127.0.0.1
    {secure}
    log {{
        output file {self.log}
    }}
    respond hello
}}
""")
        return [self.path(), "run", "--config", config, "--adapter", "caddyfile"]

    @property
    def seen(self):
        entries = [json.loads(line)["request"] for line in self.log.read_text().splitlines()]
        versions = {771: "1.2", 772: "1.3"}
        return [Seen(re.fullmatch(r"HTTP/(1\.1|2)(?:\.0)?", e["proto"])[1],
                     versions.get(e.get("tls", {}).get("version")),
                     e.get("tls", {}).get("resumed", False)) for e in entries]


SERVERS = [Nginx, Apache, Haproxy, Nghttpd, Nghttpx, Caddy]
CELLS = [pytest.param(server, WAYS[way], id=f"{server.program} {way}")
         for server in SERVERS for way in server.ways]


@pytest.fixture
def start(trust):
    """start(kind, way) starts a server; its folder can be read by whoever it runs as."""
    running = []

    def begin(kind, way):
        if not kind.path():
            pytest.skip(f"{kind.program} is not installed: it was NOT tested")
        folder = pathlib.Path(tempfile.mkdtemp(prefix="driller-server-"))
        folder.chmod(0o755)
        try:
            server = kind(way, trust, folder)
        except RuntimeError:
            shutil.rmtree(folder)
            raise
        running.append(server)
        return server

    yield begin
    for server in running:
        server.stop()
        shutil.rmtree(server.folder)


@pytest.mark.parametrize("kind, way", CELLS)
def test_cell(kind, way, start, drive, plan, trust):
    server = start(kind, way)
    scheme = "https" if way.tls else "http"
    close = ", headers: {Connection: close}" if way.close else ""
    plan(f"base: {scheme}://{HOST}:{server.port}\n"
         f"plan:\n  - request: {{url: /hello{close}}}\n")
    version = "2-prior-knowledge" if way.http == "2" and not way.tls else way.http
    options = ["-b", "plan.yml", "-p", 1 if way.close else 4, "--cacert", trust.ca,
               "--http", version, "--stats-format", "json"]
    identity = ["--cert", trust.client_cert, "--key", trust.client_key] if way.mutual else []
    done = drive("run", *options, *identity, "-i", N)
    assert done.code == 0, done
    check_sums(done.json)
    total = done.json["global"]
    assert total["status_counts"] == {"200": N}, done
    if way.mutual:  # nothing is to be had without a certificate
        refused = drive("run", *options, "-i", FEW).json["global"]
        assert refused["failed_requests"] == FEW
    server.stop()
    seen = server.seen
    # nginx answers those who have no certificate, with 400.
    answered = FEW if way.mutual and kind is Nginx else 0
    assert len(seen) == N + total["extra"]["reconnects"] + answered
    assert {(s.http, s.tls) for s in seen} == {(way.http, way.tls)}
    if way.close:
        assert [s.resumed for s in seen] == [False] + [True] * (N - 1)
        assert done.json["connections"]["opened"] == N
