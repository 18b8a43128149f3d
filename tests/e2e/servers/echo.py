"""Python's http.server, telling what it reads: "listening on PORT", then a line of JSON a request."""
import base64
import http.server
import json
import sys
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        print(json.dumps({"method": self.command, "target": self.path,
                          "headers": [[n, v.encode("latin-1").decode("utf-8")] for n, v in self.headers.items()],
                          "body": base64.b64encode(body).decode()}), flush=True)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def __getattr__(self, name):
        if name.startswith("do_"):
            return self.answer
        raise AttributeError(name)

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"listening on {server.server_address[1]}", flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
