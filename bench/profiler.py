"""Where the processor time of driller goes in a work, from samples that perf takes."""
import collections
import os
import re
import shutil
import subprocess

import measure
import peers

LINE = re.compile(r"^\s*(\d+\.\d+)%\s+(\S+)\s+\[(.)\]\s+(.*\S)\s*$")
KERNEL = "kernel"


def record(bench, work, name, cpus):
    """Runs a tool under perf: {(object, function): percent}. Raises Failed."""
    if not shutil.which("perf"):
        raise measure.Failed("perf is not installed (linux-perf)")
    data = bench.folder / "perf.data"
    argv = peers.TOOLS[name].command(bench.job(work, name))
    with measure.Run(bench.spawn, ["perf", "record", "-q", "-e", "cpu-clock", "-o", data, *argv],
                     cpus) as run:
        run.figures()
    report = subprocess.run(["perf", "report", "-i", data, "--stdio", "--sort", "dso,symbol"],
                            text=True, capture_output=True, check=False).stdout
    shares = {}
    for line in report.splitlines():
        found = LINE.match(line)
        if found:
            place = KERNEL if found[3] == "k" else found[2]
            # Without what the compiler and perf's unused columns append to the name.
            function = re.sub(r"\.(lto_priv|part|constprop|isra)\.\d+", "", found[4].split()[0])
            shares[place, function] = shares.get((place, function), 0) + float(found[1])
    if not shares:
        raise measure.Failed("perf took no samples")
    return shares


def text(shares, program):
    """Two lines: the share of each object, and the functions of the program that have most."""
    objects = collections.Counter()
    for (place, _), share in shares.items():
        objects[place.split(".so")[0]] += share
    parts = [f"{place} {share:.0f} %" for place, share in objects.most_common() if share >= 0.5]
    own = sorted(((share, name) for (place, name), share in shares.items()
                  if place == os.path.basename(program)), reverse=True)[:8]
    return (", ".join(parts) + ".\nOf its own: " +
            ", ".join(f"`{name}` {share:.1f}" for share, name in own) + ".")
