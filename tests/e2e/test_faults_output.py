"""Output that cannot be written, and what is written (rows O of faults.md): a report or statistics that
are lost are never exit status 0."""
import json
import os
import re
import resource
import subprocess

import pytest

from faultkit import answering, check_sums, descriptors
from rawserver import CLOSE, HANG, RESET, ok

STEP = "plan:\n  - {name: a, request: {url: /}}\n"


@pytest.fixture
def healthy(plan, raw_server):
    """A plan over a server that answers; the server."""
    server = raw_server(answering())
    plan(f"base: {server.url}\niterations: 5\nconcurrency: 1\n{STEP}")
    return server


FORMS = [["--stats-format", "json"], ["-s"], ["-q", "-s"], []]


@pytest.mark.fault("O-1")
@pytest.mark.parametrize("arguments", [
    *[["run", "-b", "plan.yml", *form] for form in FORMS], ["run", "-b", "plan.yml", "--list-tags"],
    ["run", "-b", "plan.yml", "--list-tasks"], ["validate", "plan.yml"], ["--version"], ["--help"],
    ["run", "--help"]])
def test_full_disk_behind_standard_output(launch, healthy, arguments):
    with open("/dev/full", "wb") as full:
        process = launch(*arguments, stdout=full)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 1
    assert b"error: couldn't write standard output: No space left on device\n" in err


@pytest.mark.fault("O-1")
def test_full_disk_behind_standard_error(launch, healthy):
    """Then there is nobody to tell; the results stay what they are."""
    with open("/dev/full", "wb") as full:
        process = launch("run", "-b", "plan.yml", "--stats-format", "json", stderr=full)
        out, _ = process.communicate(timeout=20)
    assert json.loads(out)["global"]["successful_requests"] == 5


@pytest.mark.fault("O-1")
def test_a_report_survives_a_lost_standard_output(launch, healthy, tmp_path):
    with open("/dev/full", "wb") as full:
        process = launch("run", "-b", "plan.yml", "-r", "r.yml", "--stats-format", "json", stdout=full)
        process.communicate(timeout=20)
    assert process.returncode == 1
    assert (tmp_path / "r.yml").read_text().count("\n- name:") == 5


@pytest.mark.fault("O-2")
@pytest.mark.parametrize("arguments", FORMS)
def test_reader_that_leaves(launch, plan, raw_server, arguments):
    """`driller … | head -n 1`: the run ends at once, quietly."""
    server = raw_server(answering())
    plan(f"base: {server.url}\nconcurrency: 2\n{STEP}")
    process = launch("run", "-b", "plan.yml", "-d", "30s", *arguments)
    if "json" in arguments:
        assert process.stderr.readline().startswith(b"Concurrency")
    else:
        assert process.stdout.readline() == b"Concurrency 2\n"
    process.stdout.close()
    assert process.wait(timeout=10) == 141
    assert b"error" not in process.stderr.read()


@pytest.mark.fault("O-2")
@pytest.mark.parametrize("arguments", [["--help"], ["run", "-b", "plan.yml", "-q", "-s"]])
def test_reader_that_was_never_there(launch, healthy, arguments):
    read, write = os.pipe()
    os.close(read)
    process = launch(*arguments, stdout=write)
    os.close(write)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 141 and b"error" not in err


@pytest.mark.fault("O-3")
@pytest.mark.parametrize("closed", ["0", "1", "2", "01", "02", "12", "012"])
def test_standard_descriptors_that_are_closed(driller, launch, plan, raw_server, tmp_path, closed):
    """No socket and no report ever takes their place, and a lost standard output is an error."""
    seen = {}

    def reply(request):
        seen.setdefault("fds", descriptors(process.pid))
        return ok()

    server = raw_server(answering(reply))
    plan(f"base: {server.url}\niterations: 3\nconcurrency: 1\n{STEP}")
    closing = " ".join(f"{fd}<&-" if fd == "0" else f"{fd}>&-" for fd in closed)
    process = subprocess.Popen(
        ["bash", "-c", f'exec "$0" run -b plan.yml -q -s -r r.yml {closing}', driller], cwd=tmp_path,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=20)
    assert process.returncode == (1 if "1" in closed else 0), err
    for fd in closed:
        if seen:
            assert seen["fds"][int(fd)] == "/dev/null"
    if "1" in closed:
        assert out == b""
        assert "2" in closed or b"error: couldn't write standard output" in err
    else:
        assert b"Total requests            3" in out
        assert (tmp_path / "r.yml").read_text().count("- name:") == 3
        assert b"HTTP" not in out + err


@pytest.mark.fault("O-4")
@pytest.mark.parametrize("path, why", [
    ("gone/r.yml", "No such file or directory"), ("folder", "Is a directory"), ("folder/", "Is a directory"),
    ("file/r.yml", "Not a directory"), ("", "No such file"), ("x" * 300, "File name too long"),
    ("loop", "symbolic links"), ("new/", "No such file"), ("/proc/r.yml", "No such file"),
])
def test_report_that_cannot_be(drive, healthy, tmp_path, path, why):
    """Found before the first request."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    run = drive("run", "-b", "plan.yml", "-r", path)
    assert run.code in (1, 2) and run.stdout == "", run
    assert "error: " in run.stderr and healthy.requests == []
    assert why.lower() in run.stderr.lower() or path == "", run


@pytest.mark.fault("O-4")
def test_report_that_must_not_be_written(launch, healthy, tmp_path, driller):
    (tmp_path / "r.yml").write_text("old\n")
    (tmp_path / "r.yml").chmod(0o444)
    if os.geteuid() == 0:
        pytest.skip("root may write everything")
    process = launch("run", "-b", "plan.yml", "-r", "r.yml")
    _, err = process.communicate(timeout=20)
    assert process.returncode == 1 and b"Permission denied" in err and healthy.requests == []


@pytest.mark.fault("O-4")
def test_disk_that_fills_up(launch, plan, raw_server, tmp_path):
    """A limit to the size of files stands for the full disk: exit status 1, the statistics all the same,
    the old report, no temporary file."""
    server = raw_server(answering())
    plan(f"base: {server.url}\niterations: 2000\nconcurrency: 1\n{STEP}")
    (tmp_path / "r.yml").write_text("old\n")
    process = launch("run", "-b", "plan.yml", "-r", "r.yml", "--stats-format", "json",
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)))
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1, err
    assert b"error: couldn't write the report r.yml: File too large\n" in err
    check_sums(json.loads(out))
    assert (tmp_path / "r.yml").read_text() == "old\n"
    assert set(os.listdir(tmp_path)) == {"plan.yml", "r.yml"}


@pytest.mark.fault("O-4")
def test_full_disk_behind_a_device(drive, healthy):
    run = drive("run", "-b", "plan.yml", "-r", "/dev/full", "--stats-format", "json")
    assert run.code == 1 and "error: couldn't write the report /dev/full: No space left" in run.stderr, run
    check_sums(run.json)


@pytest.mark.fault("O-4")
def test_report_through_a_link(drive, healthy, tmp_path):
    """The file that it leads to is replaced, the link stays."""
    (tmp_path / "real").mkdir()
    (tmp_path / "r.yml").symlink_to("real/there.yml")
    assert drive("run", "-b", "plan.yml", "-r", "r.yml").code == 0
    assert (tmp_path / "r.yml").is_symlink()
    assert (tmp_path / "real/there.yml").read_text().count("- name:") == 5
    assert os.listdir(tmp_path / "real") == ["there.yml"]


ODD = ["\x1b[2J\x07", "\u202egpj.exe", "\x85\x9b2J", "\ufeffx", "\ud83d\ude00", "a\nb", "<script>", '"quoted"\\',
       "=cmd()", "\u2028", "x" * 5000, "\x7f", "- name: x", "null", "0x1f", "'", "#", "a: b", "---", " blank "]


@pytest.mark.fault("O-5")
def test_odd_bytes_in_names(drive, plan, raw_server, tmp_path):
    """The statistics are JSON, and give the names as they are; nothing raw reaches a terminal."""
    server = raw_server(answering())
    names = [n.encode("utf-16", "surrogatepass").decode("utf-16") for n in ODD]
    quoted = ['"' + "".join(f"\\U{ord(c):08X}" for c in n) + '"' for n in names]
    plan(f"base: {server.url}\nplan:\n" + "".join(f"  - {{name: {q}, request: {{url: /}}}}\n" for q in quoted))
    run = drive("run", "-b", "plan.yml", "--stats-format", "json")
    assert run.code == 0 and [s["name"] for s in run.json["steps"]] == names, run
    run = drive("run", "-b", "plan.yml", "-s", "-v", "-r", "r.yml")
    assert run.code == 0
    controls = "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
    assert not re.search(controls, run.stdout + run.stderr)
    report = (tmp_path / "r.yml").read_bytes().decode("utf-8")
    assert not re.search(controls, report) and len(report.split("\n- name: ")) - 1 == len(names)
    (tmp_path / "r.yml").write_text(re.sub(r"(?m)^  duration: .*$", "  duration: 0.0", report))
    run = drive("run", "-b", "plan.yml", "-q", "-c", "r.yml", "-t", "0")
    assert run.stdout.count(" slower than before\n") == len(names)


@pytest.mark.fault("O-5")
@pytest.mark.parametrize("raw", [b"\xff\xfe", b"\x80", b"\xed\xa0\x80", b"\xc0\xaf", b"\x1b]52;c;aGk=\x07"])
def test_odd_bytes_of_a_server(drive, plan, raw_server, raw):
    server = raw_server(answering(lambda request: ok(b"body " + raw, b"X-A: a" + raw.replace(b"\x1b", b"").replace(
        b"\x07", b""), status=b"200 " + raw.replace(b"\x1b", b"").replace(b"\x07", b""))))
    plan(f"base: {server.url}\nplan:\n  - request: {{url: /}}\n    assign: x\n"
         "  - {name: '{{ x.text }}', request: {url: /}}\n  - assert: {key: x.text, value: y}\n")
    run = drive("run", "-b", "plan.yml", "-v", "-s")
    assert run.code == 1
    run.stdout.encode("utf-8")  # it is none that only surrogateescape could read
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", run.stdout + run.stderr)
    assert drive("run", "-b", "plan.yml", "--stats-format", "json").json


@pytest.mark.fault("O-6")
def test_figures_of_nothing(drive, plan, raw_server):
    plan("plan:\n  - delay: {milliseconds: 1}\n")
    run = drive("run", "-b", "plan.yml", "-s")
    assert run.code == 0 and "nan" not in run.stdout.lower() and "inf" not in run.stdout.lower(), run
    assert "Total requests            0" in run.lines and "Requests per second       0.00 [#/sec]" in run.lines
    assert "Status codes" not in run.stdout
    run = drive("run", "-b", "plan.yml", "--stats-format", "json")
    total = run.json["global"]
    assert (total["total_requests"], total["status_counts"], total["latency_ms"]["mean"]) == (0, {}, 0)
    assert total["latency_ms"]["p50"] is None and total["responses_ms"]["p99"] is None
    check_sums(run.json)


@pytest.mark.fault("O-6")
@pytest.mark.parametrize("script, done, failed", [
    ([ok()], 1, 0), ([CLOSE], 1, 1), ([RESET], 1, 1), ([b"nonsense\r\n\r\n"], 1, 1), ([HANG], 1, 1),
])
def test_figures_of_one(drive, plan, raw_server, script, done, failed):
    server = raw_server(script)
    plan(f"base: {server.url}\n{STEP}")
    run = drive("run", "-b", "plan.yml", "-o", "0.3", "--stats-format", "json")
    total = run.json["global"]
    assert run.code == 0 and (total["total_requests"], total["failed_requests"]) == (done, failed)
    latency = total["latency_ms"]
    assert latency["stdev"] == 0 and latency["min"] == latency["max"] == latency["p50"]
    if failed:
        assert total["responses_ms"]["mean"] in (None, 0) and total["responses_ms"]["p50"] is None
    check_sums(run.json)
    run = drive("run", "-b", "plan.yml", "-o", "0.3", "-s")
    assert "nan" not in run.stdout.lower() and "Sample standard deviation 0ms" in run.lines, run


@pytest.mark.fault("O-6")
def test_figures_of_all_failed(drive, plan, dead_port):
    plan(f"base: http://127.0.0.1:{dead_port}\niterations: 5\n{STEP}")
    run = drive("run", "-b", "plan.yml", "--stats-format", "json")
    assert run.code == 0 and run.json["global"]["causes"] == {"connect/refused": 5}
    assert run.json["global"]["class_rollup"] == {"connection_errors": 5}
    check_sums(run.json)
