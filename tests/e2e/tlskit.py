"""What the tests of TLS share: certificates, good and bad, made as they are needed, and a server
that speaks TLS and is otherwise a RawServer."""
import contextlib
import datetime
import ipaddress
import re
import socket
import ssl

import pytest

from rawserver import RawServer, ok
from wirekit import Bad, check_server, check_verdict

pytest.importorskip("cryptography", reason="python3-cryptography is missing: TLS was NOT tested")
from cryptography import x509  # noqa: E402
from cryptography.hazmat.primitives import hashes, serialization  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import ec, rsa  # noqa: E402
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID  # noqa: E402

NOW = datetime.datetime.utcnow().replace(microsecond=0)
DAY = datetime.timedelta(days=1)
HOST = "localhost"
NOT_VERIFIED = Bad("tls/verify", "TLS error")
NO_HANDSHAKE = Bad("tls/handshake", "TLS error")
V1_2, V1_3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3


def new_key(rsa_bits=0):
    if rsa_bits:
        return rsa.generate_private_key(public_exponent=65537, key_size=rsa_bits)
    return ec.generate_private_key(ec.SECP256R1())


def name_of(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def alternative(name):
    """A name or an address as it stands in a certificate; what begins with 'dns:' is a name."""
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name.removeprefix("dns:"))


class Certificate:
    """A certificate and its key; `issuer` signs it, or it signs itself."""

    def __init__(self, *names, issuer=None, common_name="", ca=False, first=NOW - DAY,
                 last=NOW + 30 * DAY, key=None, digest=None, path_length=None,
                 usage=ExtendedKeyUsageOID.SERVER_AUTH, extensions=()):
        self.issuer = issuer
        self.key = key or new_key()
        signer = issuer or self
        self.name = name_of(common_name) if common_name else x509.Name([])
        builder = (x509.CertificateBuilder().subject_name(self.name).issuer_name(signer.name)
                   .public_key(self.key.public_key()).serial_number(x509.random_serial_number())
                   .not_valid_before(first).not_valid_after(last)
                   .add_extension(x509.BasicConstraints(ca, path_length), critical=True)
                   .add_extension(x509.SubjectKeyIdentifier.from_public_key(self.key.public_key()),
                                  critical=False))
        if issuer:
            builder = builder.add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.key.public_key()),
                critical=False)
        if names:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([alternative(name) for name in names]), critical=False)
        if not ca and usage:
            builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical=critical)
        self.x509 = builder.sign(signer.key, digest or hashes.SHA256())

    def issue(self, *names, **options):
        return Certificate(*names, issuer=self, **options)

    def pem(self):
        return self.x509.public_bytes(serialization.Encoding.PEM)

    def chain(self):
        """This and what leads up to its root, without that."""
        above = self.issuer.chain() if self.issuer and self.issuer.issuer else b""
        return self.pem() + above

    def key_pem(self, password=None):
        how = (serialization.BestAvailableEncryption(password.encode()) if password
               else serialization.NoEncryption())
        return self.key.private_bytes(serialization.Encoding.PEM,
                                      serialization.PrivateFormat.PKCS8, how)

    def write(self, folder, name, password=None, chain=None):
        """Writes NAME.pem and NAME.key; returns both paths."""
        cert, key = folder / f"{name}.pem", folder / f"{name}.key"
        cert.write_bytes(self.chain() if chain is None else chain)
        key.write_bytes(self.key_pem(password))
        return cert, key


def authority(common_name="Test Root", **options):
    return Certificate(common_name=common_name, ca=True, **options)


class Trust:
    """What most tests need: a root, one server's certificate, one client's, all as files."""

    def __init__(self, folder):
        self.folder = folder
        self.root = authority()
        self.server = self.root.issue(HOST, "a.test", "b.test", "127.0.0.1")
        self.client = self.root.issue(common_name="client", usage=ExtendedKeyUsageOID.CLIENT_AUTH)
        self.ca, _ = self.root.write(folder, "ca")
        self.cert, self.key = self.server.write(folder, "server")
        self.client_cert, self.client_key = self.client.write(folder, "client")


@pytest.fixture(scope="session")
def trust(tmp_path_factory):
    return Trust(tmp_path_factory.mktemp("trust"))


def server_context(cert, key, version=None, ciphers=None, alpn=None, client_ca=None):
    """version: the only one that is spoken. Old ones and weak keys are not refused here."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers(ciphers or "ALL:@SECLEVEL=0")
    context.minimum_version = version or ssl.TLSVersion.MINIMUM_SUPPORTED
    context.maximum_version = version or ssl.TLSVersion.MAXIMUM_SUPPORTED
    context.load_cert_chain(cert, key)
    if alpn:
        context.set_alpn_protocols(alpn)
    if client_ca:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(client_ca)
    return context


class Handshake:
    """What the server knows of a handshake that was completed."""

    def __init__(self, sock, name):
        self.name = name  # SNI
        self.version = sock.version()
        self.cipher = sock.cipher()[0]
        self.reused = sock.session_reused
        self.protocol = sock.selected_alpn_protocol()
        self.client = sock.getpeercert()


class TlsServer(RawServer):
    """`handshakes` are the completed ones, `refused` the reasons of the others, `names` what the
    clients asked for by SNI (or None). CLOSE in a script ends without close_notify."""

    def __init__(self, script, context, **options):
        self.context = context
        self.handshakes, self.refused, self.names = [], [], []
        context.sni_callback = self._named
        super().__init__(script, **options)
        self.host = f"{HOST}:{self.port}"
        self.url = f"https://{self.host}"

    def _named(self, sock, name, _context):
        self.names.append(name)

    def _serve(self, connection):
        plain = connection.sock
        try:
            plain.settimeout(20)
            secure = self.context.wrap_socket(plain, server_side=True,
                                              do_handshake_on_connect=False)
        except OSError:  # it is gone already
            return
        with self._lock:
            self._open.discard(plain)
            self._open.add(secure)
        connection.sock = secure
        try:
            secure.do_handshake()
            self.handshakes.append(Handshake(secure, self.names[-1] if self.names else None))
        except OSError as error:
            self.refused.append(str(error))
            # What is left unread would make a RST of the end, which may overtake the alert.
            with contextlib.suppress(OSError):
                secure.shutdown(socket.SHUT_WR)
                while secure.recv(65536):
                    pass
            secure.close()
            with self._lock:
                self._open.discard(secure)
            return
        super()._serve(connection)


def notify(connection):
    """Says close_notify."""
    with contextlib.suppress(OSError, ValueError):
        connection.sock.settimeout(0.5)
        connection.sock = connection.sock.unwrap()


def one_each(reply=ok()):
    """A script: one response a connection, and an orderly end."""
    def serve(connection):
        connection.read_request()
        connection.send(reply.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
        notify(connection)
    return serve


@pytest.fixture
def tls_server(trust):
    """tls_server(script=[ok()], certificate=None, chain=None, **context options)"""
    servers = []

    def start(script=None, certificate=None, chain=None, **options):
        cert, key = trust.cert, trust.key
        if certificate:
            cert, key = certificate.write(trust.folder, f"server{len(servers)}", chain=chain)
        server = TlsServer(script or [ok()], server_context(cert, key, **options))
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def figures_of(drive):
    """figures_of(server, n, *options): the figures of a run of n requests, whose sums are checked;
    url="": the plan that the options name says where to."""
    def run(server, n, *options, url=None, env=None):
        target = () if url == "" else (url or f"{server.url}/",)
        before = len(server.requests)
        result = drive("run", *target, "-i", n, "-p", 1, "--stats-format", "json", *options,
                       env=env)
        assert result.code == 0, result
        check_server(result.json, Since(server, before))
        return result.json
    return run


class Since:
    """What a server has seen since then."""

    def __init__(self, server, before):
        self.requests = server.requests[before:]


@pytest.fixture
def shake(figures_of, trust):
    """shake(server, verdict, *options): two requests that all end so; the root is trusted."""
    def run(server, verdict, *options, n=2, **more):
        figures = figures_of(server, n, "--cacert", trust.ca, *options, **more)
        check_verdict(figures, verdict, n)
        return figures
    return run


def an_issuer(root, **options):
    return root.issue(common_name="Issuer", ca=True, **options)


def outcomes_of_tls(run):
    return [text.rsplit(" ", 1)[0] for text in re.findall(r"ERR (\D+\d+ms)$", run.stdout, re.M)]


def identity(trust):
    return ["--cert", trust.client_cert, "--key", trust.client_key]
