#!/usr/bin/env python3
"""Check that every row of the catalogue of faults has a test.

Usage: check_faults.py [ROOT]       check the tree at ROOT (default: this project)
       check_faults.py --self-test  check the checker on trees made for it

Prints one line for each row of docs/faults.md that no test names, or that stands there twice, and
exits 1 if there are any. A row begins with `| H-1 |`. A test names it, with others perhaps, by

- @pytest.mark.fault("H-1"), or the entry fault("H-1", …) of a table, in tests/e2e/*.py;
- a comment `fault: H-1` in tests/*/*.c.
"""
import pathlib
import re
import sys
import tempfile

ROW = re.compile(r"^\| *([A-Z]-\d+) *\|", re.MULTILINE)
IN_PYTHON = re.compile(r'\bfault\(\s*("[A-Z]-\d+"(?:\s*,\s*"[A-Z]-\d+")*)')
IN_C = re.compile(r"\bfault: ([A-Z]-\d+(?:, [A-Z]-\d+)*)")
ID = re.compile(r"[A-Z]-\d+")


def named(root):
    """The rows that tests name."""
    found = set()
    for pattern, form in (("tests/e2e/*.py", IN_PYTHON), ("tests/*/*.c", IN_C)):
        for path in root.glob(pattern):
            for match in form.finditer(path.read_text("utf-8", "replace")):
                found.update(ID.findall(match[1]))
    return found


def check(root):
    """What is wrong with a tree, as lines."""
    rows = ROW.findall((root / "docs" / "faults.md").read_text("utf-8"))
    if not rows:
        return ["docs/faults.md: no rows"]
    tested = named(root)
    twice = {row for row in rows if rows.count(row) > 1}
    return ([f"docs/faults.md: {row} has no test" for row in rows if row not in tested] +
            [f"docs/faults.md: {row} stands there twice" for row in sorted(twice)])


TREE = {
    "docs/faults.md": "| | a | b |\n|---|---|---|\n| H-1 | a | H-9 |\n|H-2| | |\n| C-3 | | |\n"
                      "| C-4 | | |\n| K-5 | | |\n| K-6 | | |\nL-7 | |\n",
    "tests/e2e/test_a.py": '@pytest.mark.fault("H-1",\n  "C-4")\nfault("H-2", "name", b"")\n'
                           'default("K-6")\n',
    "tests/unit/test_b.c": "/* fault: C-3, K-5 */\n",
    "docs/other.md": "fault: K-6\n",
}


def self_test():
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in TREE.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        if check(root) != ["docs/faults.md: K-6 has no test"]:
            faults.append(f"one row has no test, found: {check(root)}")
        (root / "tests/e2e/test_c.py").write_text('fault("K-6")')
        if check(root):
            faults.append(f"every row has a test, found: {check(root)}")
        (root / "docs/faults.md").write_text("| H-1 | |\n| H-1 | |\n")
        if check(root) != ["docs/faults.md: H-1 stands there twice"]:
            faults.append(f"a row stands there twice, found: {check(root)}")
        (root / "docs/faults.md").write_text("nothing\n")
        if check(root) != ["docs/faults.md: no rows"]:
            faults.append("no rows: not found")
    return faults


def main(arguments):
    if arguments == ["--self-test"]:
        found = self_test()
    elif len(arguments) <= 1 and not any(a.startswith("-") for a in arguments):
        root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).parents[1]
        found = check(root)
    else:
        print(__doc__, file=sys.stderr)
        return 2
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
