"""The tools at a rate: the command for it, and what each says of the times.

A tool is a function that makes the command for a job; `said` reads the percentiles from the files
that it left, in ms, or None where it says nothing.
"""
import dataclasses
import json
import pathlib
import subprocess

import peers

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
TOOLS = {}


@dataclasses.dataclass
class Job:
    """So many requests a second for so many seconds; what the tool prints goes to `output`."""
    program: str
    url: str
    rate: int
    seconds: int
    users: int
    folder: pathlib.Path

    @property
    def output(self):
        return self.folder / "output"

    @property
    def file(self):
        return self.folder / "file"


@dataclasses.dataclass(frozen=True)
class Tool:
    package: str    # its name in peers.py; "": built here
    command: object
    said: object


def tool(name, package, said=lambda job: None):
    def add(command):
        TOOLS[name] = Tool(package, command, said)
        return command
    return add


def driller_said(job):
    """Response times, and service times."""
    total = json.loads(job.output.read_text())["global"]
    return {kind: {name: total[key][name] for name in PERCENTILES}
            for kind, key in (("response", "latency_ms"), ("service", "service_ms"))}


def driller_run(job, *more):
    return [job.program, "run", job.url, "--rate", job.rate, "-d", f"{job.seconds}s", "--grace", "5s",
            "-p", job.users, "-q", "--stats-format", "json", *more]


@tool("driller", "driller", driller_said)
def driller(job):
    return driller_run(job)


@tool("driller-spin", "driller", driller_said)
def driller_spin(job):
    return driller_run(job, "--timer", "spin")


@tool("driller-kernel", "driller", driller_said)
def driller_kernel(job):
    return driller_run(job, "--timestamps", "kernel")


@tool("pacer", "")
def pacer(job):
    return [job.program, job.rate, job.seconds, job.url.rsplit(":", 1)[1]]


def vegeta_said(job):
    report = subprocess.run([job.program, "report", "-type", "json", job.file], check=True,
                            capture_output=True)
    times = json.loads(report.stdout)["latencies"]
    return {"said": {name: times[f"{name[1:]}th"] / 1e6 for name in PERCENTILES}}


@tool("vegeta", "vegeta", vegeta_said)
def vegeta(job):
    targets = job.folder / "targets"
    targets.write_text(f"GET {job.url}/\n")
    return [job.program, "attack", "-rate", f"{job.rate}/s", "-duration", f"{job.seconds}s",
            "-max-workers", job.users, "-connections", job.users, "-targets", targets, "-output",
            job.file]


def bombardier_said(job):
    times = json.loads(job.output.read_text())["result"]["latency"]["percentiles"]
    return {"said": {name: times[name[1:]] / 1e3 for name in PERCENTILES}}


@tool("bombardier", "bombardier", bombardier_said)
def bombardier(job):
    return [job.program, "-c", job.users, "-r", job.rate, "-d", f"{job.seconds}s", "-l", "-p", "r",
            "-o", "json", job.url]


def oha_said(job):
    times = json.loads(job.output.read_text())["latencyPercentiles"]
    return {"said": {name: times[name] * 1e3 for name in PERCENTILES}}


@tool("oha", "oha", oha_said)
def oha(job):
    return [job.program, "-c", job.users, "-q", job.rate, "-z", f"{job.seconds}s", "--no-tui",
            "--latency-correction", "--output-format", "json", job.url]


def k6_said(job):
    times = json.loads(job.file.read_text())
    return {"said": {name: times[f"p({name[1:]})"] for name in PERCENTILES}}


@tool("k6", "k6", k6_said)
def k6(job):
    script = job.folder / "k6.js"
    script.write_text(f"""
import http from "k6/http";
export const options = {{
    discardResponseBodies: true,
    summaryTrendStats: ["p(50)", "p(90)", "p(99)"],
    scenarios: {{ load: {{
        executor: "constant-arrival-rate", rate: {job.rate}, timeUnit: "1s",
        duration: "{job.seconds}s", preAllocatedVUs: {job.users}, maxVUs: {job.users},
    }} }},
}};
export default function () {{ http.get("{job.url}/"); }}
export function handleSummary(data) {{
    return {{ "{job.file}": JSON.stringify(data.metrics.http_req_duration.values) }};
}}
""")
    return [job.program, "run", "--quiet", "--no-usage-report", script]


def find(builds, may_install, names, obtain):
    """The programs of the tools: {name: path}."""
    packages = {TOOLS[name].package for name in names} - {""}
    found = obtain(sorted(packages & peers.TOOLS.keys()), builds, may_install)
    found[""] = builds / "bench" / "bench_pacer"
    return {name: found[TOOLS[name].package] for name in names if TOOLS[name].package in found}
