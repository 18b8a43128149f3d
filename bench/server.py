"""The server that is loaded: an nginx of the suite's own, with plain, TLS and HTTP/2 listeners."""
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request

# What `path` of a work may be, besides the files /body/BYTES that are made when asked for.
TOKEN, ITEM = "b6f1c0d2a94e4f7c", "1841"


def document(size, **fields):
    """A JSON document of about `size` bytes with these fields, the last of them at its end."""
    rows = []
    while len(json.dumps({"rows": rows, **fields})) < size - 100:
        rows.append({"id": len(rows), "name": f"item {len(rows)}", "price": len(rows) * 1.25,
                     "tags": ["a", "b"], "sold": len(rows) % 3 == 0})
    return json.dumps({"rows": rows, **fields})


CONFIG = """
daemon off;
{user}
worker_processes {workers};
worker_rlimit_nofile {files};
pid {dir}/nginx.pid;
error_log {dir}/error.log crit;
events {{ worker_connections {connections}; }}
http {{
    access_log off;
    client_body_temp_path {dir}/client;
    proxy_temp_path {dir}/proxy;
    fastcgi_temp_path {dir}/fastcgi;
    uwsgi_temp_path {dir}/uwsgi;
    scgi_temp_path {dir}/scgi;
    default_type text/plain;
    types {{ }}
    sendfile on;
    tcp_nodelay on;
    open_file_cache max=100;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    client_max_body_size 0;
    ssl_certificate {dir}/cert.pem;
    ssl_certificate_key {dir}/key.pem;
    ssl_protocols TLSv1.3;
    server {{
        listen 127.0.0.1:{http} backlog=4096;
        listen 127.0.0.1:{https} ssl backlog=4096;
        listen 127.0.0.1:{h2} ssl http2 backlog=4096;
        root {dir}/www;
        location = / {{ return 200 "hello world\\n"; }}
        location = /post {{ return 200 "hello world\\n"; }}
        location = /close {{ keepalive_timeout 0; return 200 "hello world\\n"; }}
        location /item/ {{ return 200 "hello world\\n"; }}
        location /json/ {{ default_type application/json; }}
        location = /status {{ stub_status; }}
    }}
}}
"""


def free_ports(count):
    """Ports that are free now; somebody else may take one before it is used."""
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


class Server:
    """An nginx with `workers` processes on these CPUs; `folder` is its own."""

    def __init__(self, folder, workers=1, cpus=None):
        self.folder, self.workers = folder, workers
        os.makedirs(folder / "www" / "body", exist_ok=True)
        os.makedirs(folder / "www" / "json", exist_ok=True)
        for name, size in (("1k", 1000), ("10k", 10000), ("100k", 100000)):
            (folder / "www" / "json" / name).write_text(document(size, id=int(ITEM), token=TOKEN))
        self.cert = folder / "cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-subj",
                        "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                        folder / "key.pem", "-out", self.cert], check=True, capture_output=True)
        for _ in range(5):
            self.ports = dict(zip(("http", "https", "h2"), free_ports(3)))
            user = "user root;" if os.geteuid() == 0 else ""  # `folder` is closed to others
            (folder / "nginx.conf").write_text(CONFIG.format(
                dir=folder, user=user, workers=workers, files=20000, connections=19500,
                **self.ports))
            self.process = subprocess.Popen(
                [shutil.which("nginx") or "/usr/sbin/nginx", "-p", folder, "-c",
                 folder / "nginx.conf", "-e", folder / "error.log"], stdin=subprocess.DEVNULL)
            if self._answers():
                break
            self.stop()
        else:
            raise RuntimeError("nginx does not start: " + (folder / "error.log").read_text())
        if cpus:
            self.pin(cpus)

    def _answers(self):
        for _ in range(100):
            if self.process.poll() is not None:
                return False
            try:
                self.status()
                return True
            except OSError:
                time.sleep(0.02)
        return False

    def url(self, kind, path="/"):
        """The URL of a path; kind is http, https or h2."""
        return f"{'http' if kind == 'http' else 'https'}://127.0.0.1:{self.ports[kind]}{path}"

    def body(self, size):
        """The path of a file of this size, which is made unless it is there."""
        file = self.folder / "www" / "body" / str(size)
        if not file.exists():
            file.write_bytes(b"x" * size)
        return f"/body/{size}"

    def pids(self):
        children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        with open(children, encoding="ascii") as file:
            return [self.process.pid] + [int(pid) for pid in file.read().split()]

    def pin(self, cpus):
        for pid in self.pids():
            os.sched_setaffinity(pid, cpus)

    def status(self):
        """The server's own counts: connections accepted, requests begun (this one not included)."""
        with urllib.request.urlopen(self.url("http", "/status"), timeout=60) as answer:
            lines = answer.read().decode().splitlines()
        accepts, _, requests = map(int, lines[2].split())
        self.asked = getattr(self, "asked", 0) + 1
        return {"connections": accepts - self.asked, "requests": requests - self.asked,
                "active": int(lines[0].split()[-1]) - 1}

    def cpu_us(self):
        """Processor time that the server has used, from the scheduler's own sums."""
        total = 0
        for pid in self.pids():
            with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0]) // 1000
        return total

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
