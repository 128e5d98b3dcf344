#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Types what docs/tutorial.md shows: saves each step's program as report.cpp, runs the step's lines in a folder of its own beside a link to
the checkout, and compares what they print. tutorial.py [FOLDER OF THE REPOSITORY [NUMBER OF A STEP]...]

Processes of one step print at the same time, so their lines are compared without their order. A
step that prints something else is run once more: a busy machine can be late where the page counts on a second. Two steps run at a time."""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

STEPS = 6
COMPILER = "g++ "


def steps(page):
    text = page.read_text(encoding="utf-8")
    for number, section in enumerate(re.findall(r"^## Step (?:\d+): .*?(?=^## )", text, flags=re.M | re.S), 1):
        yield number, {language: re.findall(rf"^```{language}\n(.*?)^```$", section, flags=re.M | re.S) for language in ("cpp", "sh", "text")}


def typed(lines, folder):
    """What the lines print. A line that compiles goes through ccache where there is one."""
    if shutil.which("ccache"):
        lines = re.sub(rf"^{re.escape(COMPILER)}", f"ccache {COMPILER}", lines, flags=re.M)
    # Processes that are in the background when this ends are the step's mistake, and would keep the pipe open.
    ran = subprocess.run(["bash", "-c", lines], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900, check=False)
    return ran.stdout, ran.stderr


def wrong(number, blocks, top):
    """What is wrong with a step; empty: nothing."""
    if any(len(found) != 1 for found in blocks.values()):
        return f"step {number} has not one program, one block of lines and one of output"
    program, lines, shown = (blocks[language][0] for language in ("cpp", "sh", "text"))
    compiling, _, running = lines.partition("\n")
    if not compiling.startswith(COMPILER):
        return f"step {number} begins with {compiling!r}"
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(top, pathlib.Path(folder) / "leasehold")
        (pathlib.Path(folder) / "report.cpp").write_text(program, encoding="utf-8")
        printed, errors = typed(compiling, folder)
        if printed + errors or not (pathlib.Path(folder) / "report").exists():
            return f"step {number} does not compile without a word:\n{printed}{errors}"
        for _ in range(2):
            printed, errors = typed(running, folder)
            if sorted(printed.splitlines()) == sorted(shown.splitlines()):
                return ""
    return f"step {number} prints\n{printed}{errors}and not\n{shown}"


def main():
    top = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    all_steps = list(steps(top / "docs/tutorial.md"))
    if len(all_steps) != STEPS:
        print(f"docs/tutorial.md has {len(all_steps)} steps, and not {STEPS}")
        return 1
    chosen = [step for step in all_steps if str(step[0]) in sys.argv[2:] or len(sys.argv) < 3]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as two:
        found = [each for each in two.map(lambda step: wrong(*step, top), chosen) if each]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
