#!/usr/bin/env python3
"""Check that each source file includes only what its layer may see.

Usage: check_layers.py [ROOT]       check the tree at ROOT (default: this project)
       check_layers.py --self-test  check the checker on trees made for it

Prints one line FILE:LINE: OFFENCE for each offence and exits 1 if there are any.

The rules (docs/ARCHITECTURE.md says why):
- a file of src/LAYER includes its own layer and those its arrow names, as "layer/module.h";
- a foreign library's header is included by its one module only;
- no source file has more than 600 lines.
"""
import pathlib
import re
import sys
import tempfile

MAX_LINES = 600

ARROWS = {
    "base": [],
    "net": ["base"],
    "plan": ["base"],
    "stats": ["base"],
    "http": ["net", "base"],
    "out": ["stats", "base"],
    "run": ["plan", "http", "stats", "net", "base"],
    "cli": ["run", "out", "plan", "http", "stats", "net", "base"],
}

# A foreign header (or the folder it is in) and who may include it: a file, or a folder's files.
FOREIGN = {
    "uv.h": "net/",
    "openssl/": "net/tls_openssl.h",
    "nghttp2/": "http/h2_fields.h",
    "zlib.h": "http/body.c",
    "brotli/": "http/body.c",
    "zstd.h": "http/body.c",
    "libpsl.h": "http/psl.c",
    "yaml.h": "plan/yaml.c",
    "idn2.h": "base/idn.c",
}

# What comes with the C library, the kernel and the compiler. Anything else in <> is a foreign
# library.
SYSTEM_FOLDERS = ("sys/", "linux/", "netinet/", "arpa/", "net/", "asm/")
SYSTEM = set("""
assert complex ctype dirent dlfcn endian errno execinfo fcntl fenv fnmatch float getopt glob
iconv ifaddrs inttypes langinfo limits locale malloc math netdb poll pthread regex sched search
semaphore setjmp signal spawn stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib
stdnoreturn string strings termios threads time uchar unistd wchar wctype
emmintrin tmmintrin smmintrin immintrin arm_neon
""".split())

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]*)"|<([^>]*)>|(.*))')
CODE = ("*.c", "*.h", "*.py")
FOLDERS = ("src", "examples", "tests", "bench", "scripts")


def quoted_fault(src, layer, header):
    parts = header.split("/")
    if len(parts) != 2 or parts[0] not in ARROWS:
        return f'"{header}" must be written as "layer/module.h"'
    if parts[0] != layer and parts[0] not in ARROWS[layer]:
        return f'{layer} must not see {parts[0]} ("{header}")'
    if not (src / header).is_file():
        return f'"{header}" is not there'
    return None


def foreign_fault(name, header):
    for foreign, owner in FOREIGN.items():
        if header == foreign or (foreign.endswith("/") and header.startswith(foreign)):
            owns = name.startswith(owner) if owner.endswith("/") else name == owner
            return None if owns else f"<{header}> belongs to {owner}"
    if header.startswith(SYSTEM_FOLDERS) or header.removesuffix(".h") in SYSTEM:
        return None
    return f"<{header}> is neither the system's nor a library that a module owns"


def check_includes(src, path):
    """Yields (line number, fault) for a file somewhere below src."""
    name = path.relative_to(src).as_posix()
    layer = name.split("/")[0]
    if name.count("/") != 1 or layer not in ARROWS:
        yield 1, f"not in the folder of a layer ({', '.join(ARROWS)})"
        return
    for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        quoted, system, other = found.groups()
        if other is not None:
            fault = f"an include that cannot be read: {other}"
        elif quoted is not None:
            fault = quoted_fault(src, layer, quoted)
        else:
            fault = foreign_fault(name, system)
        if fault:
            yield number, fault


def check(root):
    """All offences of a tree, as lines."""
    found = []
    src = root / "src"
    for path in sorted(p for kind in ("*.c", "*.h") for p in src.rglob(kind)):
        for number, fault in check_includes(src, path):
            found.append(f"{path.relative_to(root)}:{number}: {fault}")
    for path in sorted(p for f in FOLDERS for kind in CODE for p in (root / f).rglob(kind)):
        lines = path.read_bytes().count(b"\n")
        if lines > MAX_LINES:
            found.append(f"{path.relative_to(root)}:{MAX_LINES + 1}: "
                         f"{lines} lines, {MAX_LINES} are the most")
    return found


# A tree, and where offences must be found in it.
GOOD = {
    "src/base/str.h": "#include <stdint.h>\n",
    "src/base/idn.c": '#include <idn2.h>\n#include "base/str.h"\n',
    "src/net/loop.c": '#include <sys/socket.h>\n#include <uv.h>\n#include "base/str.h"\n',
    "src/net/tls_openssl.h": "#include <openssl/ssl.h>\n",
    "src/net/net.h": "",
    "src/http/h2_fields.h": '#include <nghttp2/nghttp2.h>\n#include "net/net.h"\n',
    "src/plan/plan.h": '/* #include "http/h2.h" */\n',
    "src/run/run.c": '#include "plan/plan.h"\n # include "net/net.h"\n',
    "src/cli/main.c": '#include "plan/plan.h"\n',
    "tests/unit/test_long.c": "\n" * MAX_LINES,
}
BAD = {
    "src/base/up.c": ('\n#include "net/net.h"\n', 2, "base must not see net"),
    "src/plan/side.c": ('#include "stats/x.h"\n', 1, "plan must not see stats"),
    "src/net/up.h": ('#include "http/h2.h"\n', 1, "net must not see http"),
    "src/run/out.c": ('#include "out/text.h"\n', 1, "run must not see out"),
    "src/http/uv.c": ("#include <stdio.h>\n#include <uv.h>\n", 2, "<uv.h> belongs to net/"),
    "src/http/h1.c": ("#include <openssl/ssl.h>\n", 1, "belongs to net/tls_openssl.h"),
    "src/plan/other.c": ("#include <yaml.h>\n", 1, "belongs to plan/yaml.c"),
    "src/out/curl.c": ("#include <curl/curl.h>\n", 1, "neither the system's"),
    "src/cli/short.c": ('#include "main.h"\n', 1, "must be written as"),
    "src/cli/gone.c": ('#include "run/gone.h"\n', 1, "is not there"),
    "src/cli/macro.c": ("#include HEADER\n", 1, "cannot be read"),
    "src/extra/new.c": ("", 1, "not in the folder of a layer"),
    "src/loose.h": ("", 1, "not in the folder of a layer"),
    "tests/e2e/long.py": ("\n" * (MAX_LINES + 1), MAX_LINES + 1, "601 lines"),
}


def write_tree(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def self_test():
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        write_tree(root, GOOD)
        faults += [f"must be no offence: {line}" for line in check(root)]
        write_tree(root, {name: text for name, (text, _, _) in BAD.items()})
        lines = check(root)
        for name, (_, number, words) in BAD.items():
            if not any(line.startswith(f"{name}:{number}: ") and words in line for line in lines):
                faults.append(f"not found: {name}:{number}: … {words}")
        if len(lines) != len(BAD):
            faults.append(f"{len(lines)} offences found, {len(BAD)} are there")
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
