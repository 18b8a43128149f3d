"""TLS: client certificates and settings, from flags, environment and plan (rows T)."""
import re
import shutil
import subprocess

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from rawserver import ok
from tlskit import NO_HANDSHAKE, NOT_VERIFIED, V1_2, V1_3, an_issuer, authority, \
    figures_of, identity, outcomes_of_tls, shake, \
    tls_server, trust  # noqa: F401
from wirekit import Good, check_verdict, outcomes


# --- the client's certificate ---

@pytest.fixture
def asking(trust, tls_server):
    """A server that wants a certificate of the client's."""
    return tls_server(client_ca=trust.ca, version=V1_2)


@pytest.mark.fault("T-11")
@pytest.mark.parametrize("version", [V1_2, V1_3], ids=["1.2", "1.3"])
def test_client_certificate(version, shake, trust, tls_server):
    server = tls_server(client_ca=trust.ca, version=version)
    shake(server, Good(), *identity(trust))
    assert server.handshakes[0].client["subject"] == ((("commonName", "client"),),)
    shake(server, NO_HANDSHAKE)  # none
    stranger = authority("Stranger").issue(common_name="client")
    stranger.write(trust.folder, "stranger")
    shake(server, NO_HANDSHAKE, "--cert", trust.folder / "stranger.pem",
          "--key", trust.folder / "stranger.key")
    assert len(server.requests) == 2


@pytest.mark.fault("T-11")
def test_key_in_the_same_file(shake, trust, asking, tmp_path):
    both = tmp_path / "both.pem"
    both.write_bytes(trust.client_cert.read_bytes() + trust.client_key.read_bytes())
    shake(asking, Good(), "--cert", both)


@pytest.mark.fault("T-11")
def test_client_certificate_with_its_chain(shake, trust, asking):
    client = an_issuer(trust.root).issue(common_name="c", usage=ExtendedKeyUsageOID.CLIENT_AUTH)
    cert, key = client.write(trust.folder, "chained")
    shake(asking, Good(), "--cert", cert, "--key", key)


@pytest.mark.fault("T-11")
def test_encrypted_key(shake, trust, asking, tmp_path):
    cert, key = trust.client.write(tmp_path, "locked", password="open sesame")
    word = tmp_path / "word"
    options = ["--cert", cert, "--key", key]
    for text in ("open sesame", "open sesame\n", "open sesame\r\nmore\n"):
        word.write_text(text, newline="")
        shake(asking, Good(), *options, "--key-pass-file", word, n=1)
    shake(asking, Good(), *options, n=1, env={"DRILLER_KEY_PASS": "open sesame"})
    # The file beats the variable.
    shake(asking, Good(), *options, "--key-pass-file", word, n=1, env={"DRILLER_KEY_PASS": "x"})


def refused_before(drive, server, *options, env=None):
    """The run does not begin; the one line that says why."""
    done = drive("run", server.url, *options, env=env)
    assert (done.code, done.stdout) == (1, ""), done
    assert server.connections == 0
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, done
    return lines[0]


@pytest.mark.fault("T-11")
@pytest.mark.parametrize("env, pass_file, reason", [
    ({}, None, "no passphrase was given"),
    ({"DRILLER_KEY_PASS": "mistaken"}, None, "cannot be decrypted"),
    ({}, "mistaken", "cannot be decrypted"),
    ({}, "", "cannot be decrypted"),
    ({"DRILLER_KEY_PASS": "open sesame"}, "mistaken", "cannot be decrypted"),
])
def test_wrong_password(env, pass_file, reason, drive, trust, asking, tmp_path):
    cert, key = trust.client.write(tmp_path, "locked", password="open sesame")
    options = ["--cert", cert, "--key", key]
    if pass_file is not None:
        (tmp_path / "word").write_text(pass_file)
        options += ["--key-pass-file", "word"]
    line = refused_before(drive, asking, *options, env=env)
    assert str(key) in line and reason in line
    assert "sesame" not in line and "mistaken" not in line


@pytest.mark.fault("T-11")
@pytest.mark.parametrize("options, reason", [
    (["--cert", "{client}.pem", "--key", "{server}.key"], "does not belong"),
    (["--cert", "{client}.pem"], "no private key"),
    (["--key", "{client}.key"], "--key needs --cert"),
    (["--cert", "{client}.key", "--key", "{client}.key"], "no certificate"),
    (["--cert", "missing.pem", "--key", "{client}.key"], "missing.pem: No such file"),
    (["--cert", "{client}.pem", "--key", "missing.key"], "missing.key: No such file"),
    (["--cert", "{client}.pem", "--key", "."], "Is a directory"),
    (["--cert", "{client}.pem", "--key", "{client}.key", "--key-pass-file", "none"], "none: "),
    (["--cacert", "missing.pem"], "missing.pem: No such file"),
    (["--cacert", "."], "Is a directory"),
    (["--cacert", "{client}.key"], "no certificate"),
    (["--cacert", "/dev/null"], "no certificate"),
    (["--ciphers", "NO-SUCH-CIPHER"], "NO-SUCH-CIPHER"),
    (["--ciphers", "TLS_NO_SUCH_SUITE"], "TLS_NO_SUCH_SUITE"),
])
def test_settings_that_cannot_be(options, reason, drive, trust, tls_server):
    paths = {"client": trust.folder / "client", "server": trust.folder / "server"}
    line = refused_before(drive, tls_server(), *(text.format(**paths) for text in options))
    assert reason in line


@pytest.mark.parametrize("arguments", [["--tls-min", "1.1"], ["--cacrt", "x"], ["--cert"]])
def test_usage(arguments, drive):
    assert drive("run", "https://localhost/", *arguments).code == 2


# --- from the environment and the plan ---

def test_trust_from_the_environment(figures_of, drive, trust, tls_server, tmp_path):
    server = tls_server()
    check_verdict(figures_of(server, 1, env={"SSL_CERT_FILE": str(trust.ca)}), Good(), 1)
    # The flag goes before it.
    other, _ = authority("Other").write(tmp_path, "other")
    check_verdict(figures_of(server, 1, "--cacert", other, env={"SSL_CERT_FILE": str(trust.ca)}),
                  NOT_VERIFIED, 1)
    folder = tmp_path / "certs"
    folder.mkdir()
    digest = subprocess.run(["openssl", "x509", "-hash", "-noout", "-in", trust.ca], check=True,
                            capture_output=True, text=True, timeout=30).stdout.strip()
    shutil.copy(trust.ca, folder / f"{digest}.0")
    check_verdict(figures_of(server, 1, env={"SSL_CERT_DIR": str(folder)}), Good(), 1)


def test_trust_of_the_environment_that_cannot_be(drive, raw_server, tls_server):
    """It is nobody's loss unless there is TLS."""
    done = drive("run", tls_server().url, "-v", env={"SSL_CERT_FILE": "/nowhere.pem"})
    assert outcomes_of_tls(done) == ["TLS error"]
    assert "cause: /nowhere.pem: No such file or directory" in done.stdout
    done = drive("run", raw_server([ok()]).url, env={"SSL_CERT_FILE": "/nowhere.pem"})
    assert outcomes(done) == ["200 OK"]


@pytest.mark.parametrize("version, label", [(V1_2, "CLIENT_RANDOM"),
                                            (V1_3, "CLIENT_TRAFFIC_SECRET_0")])
def test_key_log(version, label, drive, trust, tls_server, tmp_path):
    server = tls_server(version=version)
    log = tmp_path / "keys"
    done = drive("run", server.url, "--cacert", trust.ca, env={"SSLKEYLOGFILE": str(log)})
    assert done.code == 0 and len(server.requests) == 1
    assert re.search(rf"^warning: .*SSLKEYLOGFILE.*{log}", done.stderr, re.MULTILINE), done
    assert re.search(rf"^{label} [0-9a-f]{{64}} [0-9a-f]+$", log.read_text(), re.MULTILINE)
    assert log.stat().st_mode & 0o077 == 0


def test_key_log_that_cannot_be_written(drive, tls_server, tmp_path):
    log = tmp_path / "none" / "keys"
    line = refused_before(drive, tls_server(), env={"SSLKEYLOGFILE": str(log)})
    assert f"{log}: No such file" in line


def a_plan(server, settings):
    return f"base: {server.url}\n{settings}\nplan:\n  - request: {{url: /}}\n"


def test_settings_of_a_plan(figures_of, trust, plan, asking, tmp_path):
    """Files lie beside the plan; names may come from the environment."""
    shutil.copytree(trust.folder, tmp_path / "sub" / "keys")
    trust.client.write(tmp_path / "sub" / "keys", "client", password="open sesame")
    (tmp_path / "sub" / "keys" / "word").write_text("open sesame\n")
    plan(a_plan(asking, "tls:\n  cacert: keys/ca.pem\n  cert: keys/{{ WHO }}.pem\n"
                        "  key: keys/client.key\n  key_pass_file: keys/word\n  min: 1.2\n"
                        "  ciphers: ECDHE-ECDSA-CHACHA20-POLY1305"), "sub/plan.yml")
    figures = figures_of(asking, 2, "-b", "sub/plan.yml", url="", env={"WHO": "client"})
    check_verdict(figures, Good(), 2)
    assert asking.handshakes[0].cipher == "ECDHE-ECDSA-CHACHA20-POLY1305"


def test_flag_beats_plan(figures_of, trust, plan, tls_server, tmp_path):
    server = tls_server(client_ca=trust.ca, version=V1_2)
    authority("Other").write(tmp_path, "other")
    plan(a_plan(server, "tls: {cacert: other.pem, cert: other.pem, key: other.key, min: 1.3, "
                        "key_pass_file: nowhere, ciphers: ECDHE-RSA-AES128-GCM-SHA256}"))
    (tmp_path / "word").write_text("")
    figures = figures_of(server, 1, "-b", "plan.yml", "--cacert", trust.ca, *identity(trust),
                         "--tls-min", "1.2", "--key-pass-file", "word", "--ciphers",
                         "ECDHE-ECDSA-AES128-GCM-SHA256", url="")
    check_verdict(figures, Good(), 1)
    assert server.handshakes[0].cipher == "ECDHE-ECDSA-AES128-GCM-SHA256"


@pytest.mark.parametrize("settings, reason", [
    ("tls: {cacert: nowhere.pem}", "nowhere.pem: No such file"),
    ("tls: {cert: nowhere.pem}", "nowhere.pem: No such file"),
    ("tls: {key: nowhere.pem}", "needs"),
    ("tls: {ciphers: NONE-SUCH}", "NONE-SUCH"),
    ("tls: {min: 1.1}", "min must be 1.2 or 1.3"),
    ("tls: {verify: perhaps}", "verify must be true or false"),
    ("tls: [a]", "tls must be a mapping"),
    ("tls: {cacert: [a]}", "cacert must be the name of a file"),
])
def test_plan_that_cannot_be(settings, reason, drive, plan, tls_server):
    server = tls_server()
    plan(a_plan(server, settings))
    done = drive("run", "-b", "plan.yml")
    assert (done.code, done.stdout, server.connections) == (1, "", 0), done
    assert reason in done.stderr, done


def test_misspelt_setting(drive, plan, trust, tls_server):
    server = tls_server()
    plan(a_plan(server, f"tls: {{cacrt: {trust.ca}}}"))
    done = drive("run", "-b", "plan.yml", "--stats-format", "json")
    assert done.code == 0 and "cacert" in done.stderr, done
    check_verdict(done.json, NOT_VERIFIED, 1)
    done = drive("validate", "plan.yml")
    assert done.code == 1 and "cacert" in done.stderr + done.stdout, done
