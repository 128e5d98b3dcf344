#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks that docs/guarantees.md names checks for each promise, and that those exist of which the name alone doesn't say what they are:
themes of the contract suite, rules of the simulator, mutants, files of unit tests. names.py looks for the tests.
guarantees.py [FOLDER OF THE REPOSITORY]"""
import pathlib
import re
import sys


def rows(page):
    """Promise and checks of each row of the table."""
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 3 and cells[0] != "promise":
            yield cells[0], cells[2]


def problems(top):
    themes = set(re.findall(r'\btheme\("(\w+)"', (top / "tests/contract/contract.hpp").read_text()))
    mutants = set(re.findall(r"^mutant ([\w-]+):", (top / "tests/mutants/catalogue.txt").read_text(), flags=re.M))
    simulator = "".join(path.read_text() for path in (top / "tests/simulation").glob("*.hpp"))
    found = list(rows((top / "docs/guarantees.md").read_text(encoding="utf-8")))
    if len(found) < 9:
        yield f"the table has {len(found)} promises only"
    for promise, checks in found:
        names = 0
        for part in checks.split(";"):
            for name in re.findall(r"`([^`]+)`", part):
                names += 1
                if "contract:" in part:
                    exists = name in themes
                elif "mutant" in part:
                    exists = name in mutants
                elif name.endswith("_test"):
                    exists = any((top / "tests/unit").rglob(f"{name}.cpp"))
                else:
                    continue
                if not exists:
                    yield f"{name!r} is no test: {promise}"
            for name in re.findall(r"\*([^*]+)\*", part):
                names += 1
                if f'"{name}' not in simulator:
                    yield f"the simulator does not check {name!r}: {promise}"
        if not names:
            yield f"no test is named: {promise}"


def main():
    found = list(problems(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
