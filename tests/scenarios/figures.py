# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Rows of figures that several scenarios write into one file of build/results.

Two guests may run at once and share no locks, so each scenario writes a part of its own and then
joins all parts; the last one to write has seen every part.
"""

import json
import os
import pathlib
import sys

import lib


def replace(path, value):
    mine = path.with_suffix(f".{lib.MACHINE}.{os.getpid()}")
    mine.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    mine.rename(path)


class Figures:
    def __init__(self, name):
        self.name, self.rows = name, []

    def add(self, **row):
        self.rows.append({"machine": lib.MACHINE, **row})
        parts = lib.RESULTS / f"{self.name}.d"
        parts.mkdir(parents=True, exist_ok=True)
        replace(parts / f"{pathlib.Path(sys.argv[0]).stem}-{lib.MACHINE}.json", self.rows)
        replace(lib.RESULTS / f"{self.name}.json",
                [row for part in sorted(parts.glob("*.json"))
                 for row in json.loads(part.read_text(encoding="utf-8"))])
