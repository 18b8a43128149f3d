"""TLS from the command line to the wire (rows T of the catalogue of faults)."""
import contextlib
import fcntl
import os
import re
import select
import ssl
import subprocess
import termios
import time

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import ExtendedKeyUsageOID

from rawserver import HANG, ok
from test_faults_redirects import HEADERS, HEADERS_ELSEWHERE, HEADERS_OF_PLAN, headers_of, see
from tlskit import DAY, HOST, NO_HANDSHAKE, NOT_VERIFIED, NOW, V1_2, V1_3, an_issuer, authority, \
    figures_of, identity, new_key, notify, one_each, outcomes_of_tls, server_context, shake, \
    tls_server, trust  # noqa: F401
from wirekit import Bad, Good, check_server, check_verdict



# --- what is refused ---

def a_root(**options):
    return authority("Test Root", **options)


def limited(root):
    elsewhere = x509.NameConstraints([x509.DNSName("elsewhere.test")], None)
    return an_issuer(root, extensions=[(elsewhere, True)])


def unknown_extension():
    return x509.UnrecognizedExtension(x509.ObjectIdentifier("1.3.6.1.4.1.55555.1"), b"\x05\x00")


# Each: what makes a certificate out of the trusted root, and the reason that is given.
BAD = {
    "expired": (lambda root: root.issue(HOST, first=NOW - 3 * DAY, last=NOW - DAY),
                "certificate has expired"),
    "not yet valid": (lambda root: root.issue(HOST, first=NOW + DAY), "not yet valid"),
    "self-signed": (lambda root: authority(HOST, path_length=0), "self-signed certificate"),
    "untrusted root": (lambda root: authority("Stranger").issue(HOST), "local issuer"),
    "same name as the root": (lambda root: a_root().issue(HOST), "local issuer|signature failure"),
    "wrong host": (lambda root: root.issue("other.test"), "hostname mismatch"),
    "common name alone": (lambda root: root.issue(common_name=HOST), "hostname mismatch"),
    "NUL in the common name": (lambda root: root.issue(common_name=f"{HOST}\0.evil.test"),
                               "hostname mismatch"),
    "NUL in the name": (lambda root: root.issue(f"dns:{HOST}\0.evil.test"), "hostname mismatch"),
    "wildcard for all": (lambda root: root.issue("dns:*"), "hostname mismatch"),
    "missing intermediate": (lambda root: an_issuer(root).issue(HOST), "local issuer"),
    "expired intermediate": (lambda root: an_issuer(root, first=NOW - 3 * DAY,
                                                    last=NOW - DAY).issue(HOST),
                             "certificate has expired"),
    "issued by no authority": (lambda root: root.issue("other.test").issue(HOST),
                               "invalid CA certificate|local issuer"),
    "chain too long": (lambda root: an_issuer(root, path_length=0).issue(
        common_name="Another", ca=True).issue(HOST), "path length"),
    "outside of its limits": (lambda root: limited(root).issue(HOST), "permitted subtree"),
    "for clients": (lambda root: root.issue(HOST, usage=ExtendedKeyUsageOID.CLIENT_AUTH),
                    "purpose"),
    "weak key": (lambda root: root.issue(HOST, key=new_key(1024)), "key too weak"),
    "weak signature": (lambda root: root.issue(HOST, digest=hashes.SHA1()),
                       "digest algorithm too weak"),
    "unknown critical extension": (
        lambda root: root.issue(HOST, extensions=[(unknown_extension(), True)]),
        "unhandled critical extension"),
}


@pytest.mark.fault("T-1")
@pytest.mark.parametrize("kind", BAD)
def test_bad_certificate(kind, drive, trust, tls_server):
    make, reason = BAD[kind]
    certificate = make(trust.root)
    server = tls_server(certificate=certificate,
                        chain=certificate.pem() if kind == "missing intermediate" else None)
    done = drive("run", server.url, "-i", 2, "-v", "--cacert", trust.ca)
    assert done.code == 0, done
    assert outcomes_of_tls(done) == ["TLS error"] * 2
    reasons = re.findall(r"^ *cause: (.*)$", done.stdout, re.MULTILINE)
    assert len(reasons) == 2 and all(re.search(reason, text) for text in reasons), done
    server.stop()
    assert server.requests == server.handshakes == []
    assert len(server.refused) == 2


@pytest.mark.fault("T-1")
def test_the_system_does_not_trust_it(drive, tls_server):
    """And nothing is said of it on standard error: it stands among the causes."""
    server = tls_server()
    done = drive("run", server.url, "-i", 5, "--stats-format", "json",
                 env={"SSL_CERT_FILE": "", "SSL_CERT_DIR": ""})
    assert done.code == 0 and "certificate" not in done.stderr, done
    check_verdict(done.json, NOT_VERIFIED, 5)
    assert server.requests == []


@pytest.mark.fault("T-2")
@pytest.mark.parametrize("how", ["flag", "plan"])
@pytest.mark.parametrize("kind", ["expired", "untrusted root", "wrong host"])
def test_not_verified_when_asked(kind, how, drive, plan, trust, tls_server):
    server = tls_server(certificate=BAD[kind][0](trust.root))
    settings = "tls: {verify: false}\n" if how == "plan" else ""
    plan(f"base: {server.url}\n{settings}plan:\n  - request: {{url: /}}\n")
    options = ["-b", "plan.yml"] + (["--no-check-certificate"] if how == "flag" else [])
    done = drive("run", *options, "--stats-format", "json")
    assert done.code == 0, done
    check_server(done.json, server)
    assert done.json["global"]["successful_requests"] == 1
    assert done.json["tls_verified"] is False
    text = drive("run", *options, "--stats")
    assert re.search(r"^TLS certificates +NOT verified$", text.stdout, re.MULTILINE), text


def test_what_the_results_say_of_verification(shake, figures_of, raw_server, tls_server, drive,
                                              trust):
    assert shake(tls_server(), Good())["tls_verified"] is True
    assert figures_of(raw_server([ok()]), 1)["tls_verified"] is None
    text = drive("run", tls_server().url, "--cacert", trust.ca, "--stats")
    assert "verified" not in text.stdout


# --- names ---

@pytest.mark.fault("T-3")
@pytest.mark.parametrize("names, verdict", [(["127.0.0.1"], Good()),
                                            (["dns:127.0.0.1", HOST], NOT_VERIFIED),
                                            (["127.0.0.2"], NOT_VERIFIED)])
def test_address(names, verdict, shake, trust, tls_server):
    server = tls_server(certificate=trust.root.issue(*names))
    shake(server, verdict, url=f"https://127.0.0.1:{server.port}/")
    assert set(server.names) == {None}


@pytest.mark.fault("T-4")
@pytest.mark.parametrize("host, name", [("A.Test", "a.test"), ("a.test.", "a.test"),
                                        ("bücher.test", "xn--bcher-kva.test")])
def test_name_in_another_form(host, name, shake, trust, tls_server):
    server = tls_server(certificate=trust.root.issue(name))
    shake(server, Good(), "--connect-to", f"::127.0.0.1:{server.port}",
          url=f"https://{host}:{server.port}/")
    assert set(server.names) == {name}


@pytest.mark.fault("T-5")
def test_no_tls_there(shake, raw_server, drive, trust):
    def answer(connection):
        connection._more()
        connection.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    server = raw_server(answer)
    url = f"https://{HOST}:{server.port}/"
    shake(server, NO_HANDSHAKE, url=url)
    assert "wrong version number" in drive("run", url, "-v").stdout


# --- time and ends ---

def stall(context, keep):
    """A script: the client's first flight is read, of the answer `keep` bytes are sent, and then
    nothing more."""
    def serve(connection):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_side=True)
        while not outgoing.pending:
            connection._more()
            incoming.write(connection.rest)
            connection.rest = b""
            with contextlib.suppress(ssl.SSLWantReadError):
                tls.do_handshake()
        connection.send(outgoing.read(keep))
        connection.hang()
    return serve


@pytest.mark.fault("T-6")
@pytest.mark.parametrize("keep", [0, 1, 300])
@pytest.mark.parametrize("option", ["--connect-timeout", "--timeout"])
def test_stalled_handshake(option, keep, drive, trust, raw_server):
    server = raw_server(stall(server_context(trust.cert, trust.key), keep) if keep else [HANG])
    done = drive("run", f"https://{HOST}:{server.port}/", "-i", 2, option, 0.2,
                 "--cacert", trust.ca, "--stats-format", "json")
    assert done.json["global"]["causes"] == {"connect/timeout": 2}


@pytest.mark.fault("T-7")
@pytest.mark.parametrize("version", [V1_2, V1_3], ids=["1.2", "1.3"])
@pytest.mark.parametrize("head, body, noted, verdict", [
    (b"", b"all of it", True, Good(reused=False)),
    (b"", b"all of it", False, Bad("truncated", "response body error")),
    (b"Connection: close\r\nContent-Length: 9\r\n", b"all of it", False, Good(reused=False)),
    (b"Content-Length: 9\r\n", b"half", True, Bad("truncated", "response body error")),
    (b"Content-Length: 9\r\n", b"half", False, Bad("truncated", "response body error")),
], ids=["to the end", "cut", "complete", "short", "short and cut"])
def test_end_without_notice(head, body, noted, verdict, version, shake, tls_server):
    def serve(connection):
        connection.read_request()
        connection.send(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n" + body)
        if noted:
            notify(connection)
    shake(tls_server(serve, version=version), verdict)


# --- versions, ciphers, ALPN ---

@pytest.mark.fault("T-9")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
def test_old_version(version, shake, tls_server):
    server = tls_server(version=version)
    shake(server, NO_HANDSHAKE)
    assert server.handshakes == server.requests == []


@pytest.mark.fault("T-9")
@pytest.mark.parametrize("ciphers", ["NULL:@SECLEVEL=0", "aNULL:@SECLEVEL=0"])
def test_no_encryption(ciphers, shake, tls_server):
    server = tls_server(version=V1_2, ciphers=ciphers)
    shake(server, NO_HANDSHAKE, "--no-check-certificate")
    assert server.requests == []


@pytest.mark.fault("T-9")
def test_small_group(shake, trust, tls_server, tmp_path):
    made = subprocess.run(["openssl", "dhparam", "-dsaparam", "1024"], capture_output=True,
                          check=True, timeout=30)
    (tmp_path / "dh.pem").write_bytes(made.stdout)
    server = tls_server(certificate=trust.root.issue(HOST, key=new_key(2048)), version=V1_2,
                        ciphers="DHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0")
    server.context.load_dh_params(tmp_path / "dh.pem")
    shake(server, NO_HANDSHAKE, "--ciphers", "DHE-RSA-AES128-GCM-SHA256")
    assert server.requests == []


@pytest.mark.parametrize("serves, options, verdict", [
    (V1_2, [], Good()), (V1_3, [], Good()),
    (V1_2, ["--tls-min", "1.3"], NO_HANDSHAKE), (V1_3, ["--tls-min", "1.3"], Good()),
    (V1_2, ["--tls-min", "1.2"], Good()),
])
def test_least_version(serves, options, verdict, shake, tls_server):
    server = tls_server(version=serves)
    shake(server, verdict, *options)
    assert {h.version for h in server.handshakes} <= {serves.name.replace("_", ".")}


@pytest.mark.parametrize("version, name", [(V1_2, "ECDHE-ECDSA-CHACHA20-POLY1305"),
                                           (V1_3, "TLS_CHACHA20_POLY1305_SHA256")])
def test_ciphers(version, name, shake, tls_server):
    server = tls_server(version=version)
    both = "ECDHE-ECDSA-CHACHA20-POLY1305:TLS_CHACHA20_POLY1305_SHA256"
    shake(server, Good(), "--ciphers", both)
    assert {h.cipher for h in server.handshakes} == {name}


@pytest.mark.fault("T-10")
@pytest.mark.parametrize("serves", [None, ["http/1.1"], ["spdy/3", "http/0.9"]])
def test_no_http2_there(serves, shake, drive, trust, tls_server):
    server = tls_server(alpn=serves)
    shake(server, Good())
    shake(server, Good(), "--http", "1.1")
    done = drive("run", server.url, "--cacert", trust.ca, "--http", "2", "--stats-format", "json")
    assert done.json["global"]["causes"] == {"protocol/h2": 1}
    assert len(server.requests) == 4
    chosen = "http/1.1" if serves == ["http/1.1"] else None
    assert {h.protocol for h in server.handshakes} == {chosen}


@pytest.mark.fault("T-10")
def test_http2_is_not_asked_for_with_1_1(shake, tls_server):
    server = tls_server(alpn=["h2", "http/1.1"])
    shake(server, Good(), "--http", "1.1")
    assert {h.protocol for h in server.handshakes} == {"http/1.1"}


# --- odd traffic ---

@contextlib.contextmanager
def s_server(trust, *options):
    """openssl s_server, which does as it is told by lines."""
    process = subprocess.Popen(
        ["openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", trust.cert, "-key", trust.key,
         *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        bufsize=0)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def read_until(process, pattern):
    """What the process prints, until it matches."""
    text, until = b"", time.monotonic() + 20
    while not (found := re.search(pattern, text)):
        ready, _, _ = select.select([process.stdout], [], [], max(0, until - time.monotonic()))
        data = os.read(process.stdout.fileno(), 65536) if ready else b""
        assert data, f"openssl: {text!r}"
        text += data
    return found


def wait_until_read(pipe):
    """Until whoever is at the other end has taken all of it."""
    for _ in range(2000):
        left = fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))
        if left == bytes(4):
            return
        time.sleep(0.01)
    pytest.fail("openssl does not read")


ANSWER = b"HTTP/1.1 200 OK\nContent-Length: 0\n\n"


@pytest.mark.fault("T-8")
@pytest.mark.parametrize("options, command, answer, status", [
    (["-tls1_3"], b"K\n", ANSWER, b"200"), (["-tls1_3"], b"k\n", ANSWER, b"200"),
    (["-tls1_3", "-num_tickets", "5"], b"", ANSWER, b"200"), (["-tls1_2"], b"r\n", b"", b"520")])
def test_handshake_within_a_connection(options, command, answer, status, launch, trust):
    """New keys (K asks for ours, too), many tickets, and a renegotiation: that is refused, and then
    OpenSSL's server gives up."""
    with s_server(trust, *options) as server:
        port = int(read_until(server, rb"ACCEPT \S+:(\d+)\n")[1])
        client = launch("run", f"https://{HOST}:{port}/", "--cacert", trust.ca, "--http", "1.1",
                        "--timeout", "5", "--stats-format", "json")
        read_until(server, rb"User-Agent: .*\r?\n\r?\n")
        if command:
            server.stdin.write(command)
            wait_until_read(server.stdin)  # what comes together is taken for text
        server.stdin.write(answer)
        out, _ = client.communicate(timeout=20)
    assert b'"status_counts":{"%s":1}' % status in re.sub(rb"\s", b"", out), out


@pytest.mark.fault("T-12")
def test_certificate_of_ten_thousand_names(figures_of, trust, tls_server):
    names = [f"dns:host-{i}.names.test" for i in range(10000)]
    server = tls_server(certificate=trust.root.issue(*names, HOST))
    figures = figures_of(server, 2, "--cacert", trust.ca)
    total = figures["global"]
    assert total["causes"] in ({}, {"tls/handshake": 2}, {"tls/verify": 2})
    assert total["successful_requests"] == (0 if total["causes"] else 2)


@pytest.mark.fault("T-12")
def test_records_of_one_byte(shake, tls_server):
    def serve(connection):
        while True:
            connection.read_request()
            for byte in ok(b"x" * 200):
                connection.send(bytes([byte]))
    server = tls_server(serve)
    shake(server, Good(), n=3)
    assert server.connections == 1


# --- sessions ---

@pytest.mark.fault("T-13")
@pytest.mark.parametrize("version", [V1_2, V1_3], ids=["1.2", "1.3"])
def test_session_is_for_one_host(version, figures_of, plan, trust, tls_server):
    """Two names of one server, which would take either's session for both."""
    server = tls_server(one_each(), version=version)
    plan("plan:\n" + "".join(f"  - request: {{url: 'https://{host}:{server.port}/'}}\n"
                             for host in ("a.test", "b.test")))
    figures = figures_of(server, 3, "-b", "plan.yml", "--cacert", trust.ca, "--connect-to",
                         f"::127.0.0.1:{server.port}", url="")
    assert figures["global"]["status_counts"] == {"200": 6}
    assert server.connections == 6
    reused = {name: [h.reused for h in server.handshakes if h.name == name]
              for name in ("a.test", "b.test")}
    assert reused == {"a.test": [False, True, True], "b.test": [False, True, True]}


@pytest.mark.fault("T-13")
def test_session_is_not_for_another_port(figures_of, plan, trust, tls_server):
    """Two servers that share the keys of their tickets, one of which wants to know the client."""
    first = tls_server(one_each(), version=V1_2)
    second = tls_server(one_each(), version=V1_2)
    second.context = first.context
    plan(f"plan:\n  - request: {{url: {first.url}/}}\n  - request: {{url: {second.url}/}}\n")
    result = figures_of_both(figures_of, first, second, trust)
    assert result["global"]["status_counts"] == {"200": 4}
    assert [h.reused for h in first.handshakes] == [False, True]
    assert [h.reused for h in second.handshakes] == [False, True]


def figures_of_both(figures_of, first, second, trust):
    class Both:
        @property
        def requests(self):
            return first.requests + second.requests
    return figures_of(Both(), 2, "-b", "plan.yml", "--cacert", trust.ca, url="")


@pytest.mark.fault("T-13")
def test_session_goes_with_the_identity(figures_of, trust, tls_server):
    """Each run begins without a session, and keeps its own."""
    server = tls_server(one_each(), client_ca=trust.ca)
    second = trust.root.issue(common_name="second", usage=ExtendedKeyUsageOID.CLIENT_AUTH)
    cert, key = second.write(trust.folder, "second")
    for options in (identity(trust), ["--cert", cert, "--key", key]):
        check_verdict(figures_of(server, 3, "--cacert", trust.ca, *options), Good(), 3)
    names = [h.client["subject"][0][0][1] for h in server.handshakes]
    assert names == ["client"] * 3 + ["second"] * 3
    assert [h.reused for h in server.handshakes] == [False, True, True] * 2


@pytest.mark.threads
@pytest.mark.fault("T-13")
@pytest.mark.parametrize("version", [V1_2, V1_3], ids=["1.2", "1.3"])
def test_workers_have_sessions_of_their_own(version, drive, trust, tls_server):
    server = tls_server(one_each(), version=version)
    done = drive("run", server.url, "-i", 40, "-p", 3, "-w", 3, "--cacert", trust.ca,
                 "--stats-format", "json")
    check_server(done.json, server)
    check_verdict(done.json, Good(), 40)
    assert 1 <= sum(not h.reused for h in server.handshakes) <= 3


# --- redirects and cookies between the two schemes ---

@pytest.mark.fault("K-1")
@pytest.mark.parametrize("secure_first", [True, False])
def test_other_scheme_is_another_origin(secure_first, drive, plan, trust, raw_server, tls_server):
    plain, secure = raw_server([ok()]), tls_server()
    first, second = (secure, plain) if secure_first else (plain, secure)
    first.script = [see(f"{second.url}/b")]
    plan(f"base: {first.url}\nplan:\n  - request: {{url: /{HEADERS_OF_PLAN}}}\n")
    done = drive("run", "-b", "plan.yml", "--cacert", trust.ca, "--stats-format", "json")
    check_server(done.json, first, second)
    check_verdict(done.json, Good(redirects=1), 1)
    assert headers_of(first.requests[0]) == HEADERS
    assert headers_of(second.requests[0]) == HEADERS_ELSEWHERE


@pytest.mark.fault("K-3", "T-1")
def test_redirect_to_a_bad_certificate(drive, trust, raw_server, tls_server):
    secure = tls_server(certificate=BAD["wrong host"][0](trust.root))
    plain = raw_server([see(f"{secure.url}/b")])
    done = drive("run", plain.url, "--cacert", trust.ca, "--stats-format", "json")
    assert done.json["global"]["causes"] == {"tls/verify": 1}
    assert len(plain.requests) == 1 and secure.requests == []


@pytest.mark.fault("K-6")
def test_secure_cookies(drive, plan, trust, raw_server, tls_server):
    """What is set as Secure goes over TLS only, and cannot be set, or replaced, without."""
    secure = tls_server([ok(b"", b"Set-Cookie: s=1; Secure", b"Set-Cookie: both=1",
                            b"Set-Cookie: __Host-h=1; Secure; Path=/"), ok()])
    plain = raw_server([ok(b"", b"Set-Cookie: p=1; Secure", b"Set-Cookie: s=2",
                           b"Set-Cookie: q=1"), ok()])
    base = f"http://{HOST}:{plain.port}"
    plan("plan:\n" + "".join(f"  - request: {{url: {url}/}}\n"
                             for url in (secure.url, base, secure.url, base)))
    done = drive("run", "-b", "plan.yml", "--cacert", trust.ca, "--stats-format", "json")
    assert done.json["global"]["status_counts"] == {"200": 4}, done

    def cookies(request):
        return set(filter(None, (request.field("Cookie") or "").split("; ")))
    assert [cookies(r) for r in secure.requests] == [
        set(), {"s=1", "both=1", "__Host-h=1", "q=1"}]
    assert [cookies(r) for r in plain.requests] == [{"both=1"}, {"both=1", "q=1"}]
