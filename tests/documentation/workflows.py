#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks that each step of .ci/run and .ci/nightly is in the matrix of its workflow, which else would leave it out unseen.
workflows.py [FOLDER OF THE REPOSITORY]"""
import pathlib
import re
import sys

WORKFLOWS = {".ci/run": "tests.yml", ".ci/nightly": "nightly.yml"}


def steps(script):
    releases = re.search(r"^for release in (.*); do$", script, flags=re.M)
    for name in re.findall(r"^ *step (\S+) ", script, flags=re.M):
        if "$release" in name:
            yield from (name.strip('"').replace("$release", each) for each in releases.group(1).split())
        else:
            yield name


def problems(top):
    for script, workflow in WORKFLOWS.items():
        listed = re.search(r"^ +step: \[(.*)\]$", (top / ".github/workflows" / workflow).read_text(), flags=re.M).group(1).split(", ")
        found = list(steps((top / script).read_text()))
        if len(found) < 2:
            yield f"{script}: no steps are found in it"
        for name in sorted(set(found) ^ set(listed)):
            yield f"{workflow}: " + (f"leaves out {name} of {script}" if name in found else f"has {name}, which {script} has not")


def main():
    found = list(problems(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
