#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Sum up gcov's view of the core: lines executed per file and in all."""

import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
WORK = HERE / "../../build/core/cov"
RESULT = HERE / "../../build/results/core-coverage.json"


def executable_lines(text):
    """{line: was it executed} of one annotated file."""
    lines = {}
    for mark, number in re.findall(r"^\s*([^:]+):\s*(\d+):", text, re.M):
        if int(number) and mark.strip() != "-":
            lines[int(number)] = not mark.strip().startswith(("#", "="))
    return lines


def main():
    files = {}
    for notes in sorted(WORK.glob("core_*.gcno")):
        done = subprocess.run(["gcov", "-t", "-o", WORK, notes], cwd=HERE, capture_output=True,
                              text=True, check=False)
        for part in re.split(r"^\s*-:\s*0:Source:", done.stdout, flags=re.M)[1:]:
            name = pathlib.Path(part.split("\n", maxsplit=1)[0]).name
            if name == notes.stem.removeprefix("core_") + ".c":
                files[name] = executable_lines(part)
    if not files:
        sys.exit("no coverage data")
    for name, lines in sorted(files.items()):
        missed = [n for n, run in sorted(lines.items()) if not run]
        print(f"{name:22} {100 - 100 * len(missed) / len(lines):6.1f} % of {len(lines):4} lines"
              f"{'   not: ' + ' '.join(map(str, missed)) if missed else ''}")
    total = sum(len(lines) for lines in files.values())
    run = sum(sum(lines.values()) for lines in files.values())
    print(f"core: {100 * run / total:.1f} % of {total} lines")
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps({"percent": round(100 * run / total, 1), "lines": total}),
                      encoding="utf-8")


if __name__ == "__main__":
    main()
