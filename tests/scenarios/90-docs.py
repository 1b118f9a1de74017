#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: uml
# timeout: 500
"""Documentation is executed: each block of commands in README.md and docs/*.md that is marked

    <!-- run -->

runs here, block by block, in one shell for each page, as it stands. A block that cannot be run in a guest says
why, in the same place: <!-- not run: reason -->. Our machines are slow: `sleep` is stretched, and a
bandwidth test that does not say how often does fewer iterations.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

REPO = pathlib.Path(__file__).resolve().parent.parent.parent
SLOW = {"uml": 2, "uml-kasan": 5, "uml-lockdep": 5}.get(os.environ.get("RXE_OOO_MACHINE"), 4)
MARK = re.compile(r"<!-- (run|not run: .*?) -->\s*$")


def blocks(page):
    """(line, mark or None, text) of each block of commands: indented, or fenced as sh or bash."""
    lines = page.read_text(encoding="utf-8").split("\n")
    at, mark = 0, None
    while at < len(lines):
        line = lines[at]
        found = MARK.match(line)
        if found:
            mark = found.group(1)
        elif line.startswith("```"):
            end = lines.index("```", at + 1)
            if line[3:] in ("sh", "bash", "console"):
                yield at + 1, mark, "\n".join(lines[at + 1:end])
            at, mark = end, None
        elif line.startswith("    ") and (at == 0 or not lines[at - 1].strip() or mark):
            end = at
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            yield at + 1, mark, "\n".join(x[4:] for x in lines[at:end]).rstrip()
            at, mark = end - 1, None
        elif line.strip():
            mark = None
        at += 1


def is_commands(text):
    """Does a block that has no mark begin with a command? Diagrams and tables do not."""
    first = re.split(r"[ \n;(]", text.strip(), maxsplit=1)[0]
    return bool(shutil.which(first)) or first in ("sudo", "export", "cd", "echo")


# A page finds a machine with an interface eth0, and leaves none of its own behind.
BEFORE = """
ip link add eth0 type veth peer name eth0-peer
ip addr add 192.0.2.1/24 dev eth0
ip link set eth0 up
ip link set eth0-peer up
"""
AFTER = """
for d in $(rdma link | sed -n 's|^link \\([^/]*\\)/.*|\\1|p'); do rdma link del $d; done
for n in $(ip netns | cut -d' ' -f1); do ip netns del $n; done
ip link del eth0
"""


def run_page(page, work):
    """Run a page's blocks; true if there is one to run."""
    name = page.relative_to(REPO)
    todo = []
    for line, mark, text in blocks(page):
        if mark == "run":
            todo.append((line, text))
        elif mark:
            print(f"note {name}:{line} is not run here: {mark[len('not run: '):]}")
        elif is_commands(text):
            print(f"skip {name}:{line} - it has no mark that says whether to run it")
    if not todo:
        return
    script = ["set -eu -o pipefail", f"sleep() {{ command sleep $(($1 * {SLOW})); }}"]
    for line, text in todo:
        script += [f"echo '::begin {line}' >&2", text, f"echo '::end {line}' >&2"]
    subprocess.run(["bash", "-ec", BEFORE], check=True)
    env = dict(os.environ, PATH=f"{work}:{REPO}/scripts:{os.environ['PATH']}")
    output = work / "output"
    with open(output, "wb") as file:
        try:
            subprocess.run(["bash", "-c", "\n".join(script)], cwd=REPO, env=env, check=False, stdout=file,
                           stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=200 * SLOW)
        except subprocess.TimeoutExpired:
            file.write(b"the page takes too long\n")
    text = output.read_text(encoding="utf-8", errors="replace")
    failed = False
    for line, _ in todo:
        if f"::end {line}\n" in text:
            print(f"ok {name}:{line}")
        else:
            print(f"not ok {name}:{line} - {'an earlier block failed' if failed else 'it failed'}")
            failed = True
    if failed:
        print("\n".join(text.split("\n")[-40:]))
    subprocess.run(["bash", "-c", AFTER], check=False)


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        for program in ("ib_write_bw", "ib_read_bw", "ib_send_bw"):
            (work / program).write_text(
                "#!/bin/sh\ncase \" $* \" in *' -n '*) ;; *) set -- -n 100 \"$@\" ;; esac\n"
                f"exec /usr/bin/{program} \"$@\"\n", encoding="ascii")
            (work / program).chmod(0o755)
        pages = [REPO / "README.md", *sorted((REPO / "docs").glob("*.md"))]
        only = sys.argv[1:]
        for page in pages:
            if not only or page.name in only:
                run_page(page, work)
                sys.stdout.flush()


if __name__ == "__main__":
    main()
