# SPDX-License-Identifier: BSL-1.0
"""What the benchmarks measured, and how a figure is written."""
import pathlib
import sys


class Results:
    """Tab-separated lines (program, subject, measure, value); of several lines for one thing the last one counts. Those of the program
    `note` have a text as their value."""

    def __init__(self, path):
        self.values = {}
        self.notes = {}
        for line_number, line in enumerate(pathlib.Path(path).read_text(encoding="utf-8").splitlines(), 1):
            fields = line.split("\t")
            if len(fields) != 4:
                sys.exit(f"{path}:{line_number}: not four fields")
            if fields[0] == "note":
                self.notes[tuple(fields[1:3])] = fields[3]
            else:
                self.values[tuple(fields[:3])] = float(fields[3])

    def get(self, program, subject, measure):
        return self.values.get((program, subject, measure))

    def write(self, path):
        lines = ["\t".join(["note", *key, text]) for key, text in self.notes.items()]
        lines += ["\t".join([*key, f"{value:g}"]) for key, value in self.values.items()]
        pathlib.Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def nanoseconds(microseconds):
    return None if microseconds is None else microseconds * 1000


def number(value, unit="", digits=None):
    if value is None:
        return "–"
    if value == 0:
        return "0" + unit
    if digits is None:
        digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}{unit}"
