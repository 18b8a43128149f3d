#!/usr/bin/env python3
"""Check the documentation against the program and the tree.

Usage: check_docs.py DRILLER [ROOT]  check the tree at ROOT (default: this project)
       check_docs.py --self-test     check the checker on documents made for it

Prints one line FILE:LINE: FAULT for each fault and exits 1 if there are any.

The rules, for README.md, CHANGELOG.md, CONTRIBUTING.md and docs/*.md:
- a relative link leads to a file, and its #anchor to a heading there;
- an option of `driller …` in a code block, or alone in `code`, is in the program's help;
- a ```yaml block with `plan:` passes `driller validate`, one that begins with `- ` does as a list
  of steps;
- a function named as `name()` is in the sources.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^ *```(\w*)\s*$")
LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
CODE = re.compile(r"`([^`]+)`")
HELP_OPTION = re.compile(r"^ +(?:-(\w), | {4})(--[a-z][a-z0-9-]*)(?: ([A-Z]\S*))?", re.MULTILINE)
COMMAND = re.compile(r"(?:^|[\s;|&(=`])(?:[\w./]*/)?driller ([^;|&#`<>]*)")
FUNCTION = re.compile(r"`(\w+)\(\)`")

# What the plans shown take from the environment.
ENVIRONMENT = {"TARGET": "http://localhost:9000", "ROUNDS": "4", "TOKEN": "t"}


def documents(root):
    names = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"]
    found = [root / name for name in names if (root / name).exists()]
    return found + sorted((root / "docs").glob("*.md"))


def split(text):
    """The lines outside of code blocks, with their numbers, and the blocks: (line, language, text)."""
    prose, blocks, block = [], [], None
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if fence and block is None:
            block = (number, fence[1], len(line) - len(line.lstrip()), [])
        elif fence:
            blocks.append((block[0], block[1], "\n".join(block[3]) + "\n"))
            block = None
        elif block is not None:
            block[3].append(line[block[2]:])
        else:
            prose.append((number, line))
    return prose, blocks


def anchors(path):
    """The anchors of a document's headings, as GitHub makes them."""
    found = set()
    for _, line in split(path.read_text())[0]:
        if re.match(r"#+ ", line):
            heading = line.lstrip("#").strip().replace("`", "").lower()
            found.add(re.sub(r"[^\w\- ]", "", heading).replace(" ", "-"))
    return found


def check_links(path, prose):
    for number, line in prose:
        for target in LINK.findall(CODE.sub("``", line)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            there = path.parent / name if name else path
            if not there.exists():
                yield number, f"no such file: {target}"
            elif anchor and anchor not in anchors(there):
                yield number, f"no such heading: {target}"


def options_of(driller):
    """Every option of the program: its names, and whether it takes a value."""
    known = {}
    for command in ([], ["run"], ["validate"]):
        text = subprocess.run([driller, *command, "--help"], stdout=subprocess.PIPE, text=True,
                              check=True, timeout=60).stdout
        for letter, name, value in HELP_OPTION.findall(text):
            known[name] = bool(value)
            if letter:
                known["-" + letter] = bool(value)
    return known


def unknown_options(words, known):
    """Those of the words that look like options of the program and are none."""
    for word in words:
        word = word.strip("[],.:()")
        if re.match(r"--[a-z]", word):
            name = word.split("=")[0]
            if name not in known:
                yield name
        elif re.match(r"-[A-Za-z]", word):
            for letter in word[1:]:
                if "-" + letter not in known:
                    yield word
                if known.get("-" + letter, True):
                    break


def check_options(prose, blocks, known):
    for number, line in prose:
        for code in CODE.findall(line):
            command = COMMAND.search(code)
            words = command[1] if command else code if code.startswith("-") else ""
            for name in unknown_options(words.split(), known):
                yield number, f"no such option: {name}"
    for start, language, text in blocks:
        if language:
            continue
        for offset, line in enumerate(text.splitlines(), 1):
            if re.match(r"\s*(error|warning|help): ", line):
                continue
            for words in COMMAND.findall(line):
                for name in unknown_options(words.split(), known):
                    yield start + offset, f"no such option: {name}"


def check_plans(root, blocks, driller):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(root / "examples", folder, dirs_exist_ok=True)
        for start, language, text in blocks:
            arguments = []
            if language != "yaml":
                continue
            if text.startswith("- "):
                text = "base: http://localhost\nplan:\n" + text
                arguments = ["--relaxed-interpolations"]
            elif not re.search(r"^plan:", text, re.MULTILINE):
                continue
            plan = pathlib.Path(folder, "from-the-manual.yml")
            plan.write_text(text)
            done = subprocess.run([driller, "validate", *arguments, plan.name], cwd=folder,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  env={**os.environ, **ENVIRONMENT}, check=False, timeout=60)
            if done.returncode != 0:
                yield start, "the plan is refused: " + done.stderr.strip().replace("\n", " / ")


def check_functions(prose, sources):
    for number, line in prose:
        for name in FUNCTION.findall(line):
            if not re.search(rf"\b{name}\(", sources):
                yield number, f"no such function: {name}"


def check(root, driller):
    known = options_of(driller)
    sources = "\n".join(path.read_text() for path in sorted((root / "src").glob("*/*.[ch]")))
    faults = []
    for path in documents(root):
        prose, blocks = split(path.read_text())
        found = [*check_links(path, prose), *check_options(prose, blocks, known),
                 *check_plans(root, blocks, driller), *check_functions(prose, sources)]
        faults += [f"{path.relative_to(root)}:{number}: {text}" for number, text in sorted(found)]
    return faults


HELP = """\
usage: driller run [OPTIONS] URL

  -p, --concurrency N       users
  -q, --quiet               no lines
      --color WHEN          colour
      --relaxed-interpolations
                            see above --not-an-option
"""

PROGRAM = f"""\
#!/bin/sh
for last; do :; done
[ "$last" = --help ] || {{ ! grep -q faulty "$last" || {{ echo "error: faulty" >&2; exit 1; }}; }}
cat <<'EOF'
{HELP}EOF
"""

GOOD = """\
# One `--quiet` thing

[here](#one---quiet-thing), [there](docs/other.md#two), [away](https://example.com/nothing)
`[no link](nowhere)`, `--quiet`, `-qp4`, `driller run --color=never`, `cmake --preset x`, `open()`

```
$ TOKEN=x build/driller run -q | sort --reverse # --nothing
example_server --port 0; cmake --build build
```
"""

BAD = """\
[a](nowhere.md) and [b](docs/other.md#three)
`--quite` and `-qx`, `driller run --colour`

```
$ driller run -p 4 --verbos http://x/
```
```yaml
plan: faulty
```
```yaml
- faulty
```
```yaml
base: faulty, but no plan
```
`close()`
"""

FAULTS = {1: 2, 2: 3, 5: 1, 7: 1, 10: 1, 16: 1}


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name in ("docs", "examples", "src/base"):
            (root / name).mkdir(parents=True)
        driller = root / "driller"
        driller.write_text(PROGRAM)
        driller.chmod(0o755)
        (root / "src/base/x.h").write_text("int open(void);\n")
        (root / "docs/other.md").write_text("# Two\n\n[up](../README.md)\n")
        (root / "README.md").write_text(GOOD)
        wrong = [f"must be no fault: {fault}" for fault in check(root, driller)]
        (root / "README.md").write_text(BAD)
        found = check(root, driller)
        for line, n in FAULTS.items():
            there = sum(fault.startswith(f"README.md:{line}: ") for fault in found)
            if there != n:
                wrong.append(f"README.md:{line}: {there} faults found, {n} are there")
        if len(found) != sum(FAULTS.values()):
            wrong += found
        return wrong


def main(arguments):
    if arguments == ["--self-test"]:
        found = self_test()
    elif len(arguments) in (1, 2) and not any(a.startswith("-") for a in arguments):
        root = pathlib.Path(arguments[1]) if arguments[1:] else pathlib.Path(__file__).parents[1]
        found = check(root.resolve(), pathlib.Path(arguments[0]).resolve())
    else:
        print(__doc__, file=sys.stderr)
        return 2
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
