"""Finds the tools, and installs those that are not there."""
import os
import pathlib
import subprocess
import sys

import peers

ROOT = pathlib.Path(__file__).resolve().parent.parent


def say(text):
    print(text, file=sys.stderr, flush=True)


def find_tools(names, builds, may_install):
    """The programs of the tools: {name: path}. Says which cannot be had."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"),
                         "driller-bench")
    cache.mkdir(parents=True, exist_ok=True)
    if may_install:
        subprocess.run([ROOT / "scripts" / "packages", "bench"], check=False)
    programs = {}
    for name in names:
        path = peers.find(name, cache, builds)
        source = peers.TOOLS[name].source
        if path is None and may_install and source.manager != "apt":
            say(f"installing {name}: {source.manager}, {source.package}")
            try:
                peers.install(name, cache)
                path = peers.find(name, cache, builds)
            except OSError as problem:
                say(f"  {problem}")
            except subprocess.CalledProcessError as problem:
                say(f"  {problem.stderr.decode(errors='replace').strip()[-300:]}")
        if path is None:
            say(f"skipped: {name} is not installed and cannot be had here")
        else:
            programs[name] = path
    return programs
