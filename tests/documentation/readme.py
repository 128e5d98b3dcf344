#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks README.md and README.ko.md. readme.py [FOLDER OF THE REPOSITORY [PROGRAM COMMAND]]

README.md is short, and its sections are in their order; its table of purposes has ten rows, each with one link to a page. Each library that
it compares has a section in docs/beside_others.md. In each section the two have the same code blocks, the same code within the text, the same
links and the same figures. The front page of the web site has README.md's first commands, and says of its live picture what that is. The program is
examples/quick_start.cpp, and PROGRAM, built from it, prints what README.md shows: the token is 2 at the second start, and while COMMAND,
leasehold's own, holds the lease, another host is doing it. The lines of the demo are lines of its recording, in
that order. The durations are near those of docs/performance/results.tsv."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ENGLISH, KOREAN = "README.md", "README.ko.md"
FRONT_PAGE = "docs/site/index.md"
EXAMPLE = "examples/quick_start.cpp"
RECORDING = "docs/site/.vitepress/theme/demo.cast"
RESULTS = "docs/performance/results.tsv"
PEERS = "docs/beside_others.md"
REPLICA = "docs/site/live/replica.hpp"
LINES = 179
SECTIONS = ["A program", "Install", "I want X: use Y", "What is promised", "Beside others", "Platforms"]
PURPOSES = 10
# Row of the table of figures: which of the results, and how many of the README's units it has for one.
FIGURES = {
    "a grant and its release": ("cost", "{}, flushing", "grant + release", 0.001),
    "… in durations of two bare UPDATEs": ("cost", "{}, flushing", "grant + release, ratio", 1),
    "from a release to the next holder": ("hand_over", "{}", "hand-over, 1 waiter", 1),
    "from the end of a killed holder's ttl to the next holder": ("hand_over", "{}", "after the expiry, holder killed", 1),
}
NEAR = 1.5
# What the front page says of its live picture, and what stands in the code of that.
LIVE = [("A lease lasts 4 s unless it is renewed", ".ttl = 4s"), ("its holder stops half a second earlier", ".safety_margin = 500ms"),
        ("they divide six shards", "shard_count = 6;")]
NUMBERS = "no one two three four five six seven eight nine ten eleven twelve".split()


def sections(text):
    return re.split(r"^## .*$", re.sub(r"\(README(\.ko)?\.md\)", "(the other)", text), flags=re.M)


def code_blocks(text):
    return re.findall(r"^```.*?^```$", text, flags=re.M | re.S)


def without_code_blocks(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def inline_code(text):
    return sorted(re.findall(r"`([^`\n]+)`", without_code_blocks(text)))


def links(text):
    return sorted(re.findall(r"\]\(([^)]+)\)", without_code_blocks(text)))


def figures(text):
    """Numbers in digits, but for those of lists, of links and of a month."""
    text = re.sub(r"\]\([^)]+\)", "]", without_code_blocks(text))
    text = re.sub(r"^\d+\. ", "", text, flags=re.M)
    text = re.sub(r"(\d{4})년 \d+월", r"\1", text)
    # 3분의 1 is "a third", 10분의 1 "a tenth".
    text = re.sub(r"\d+분의 1", "", text)
    return sorted(re.findall(r"\d[\d.,]*\d|\d", text))


def differences(english, korean):
    ours, theirs = sections(english), sections(korean)
    if len(ours) != len(theirs):
        yield f"{KOREAN} has {len(theirs)} sections, {ENGLISH} {len(ours)}"
    for number, (one, other) in enumerate(zip(ours, theirs)):
        for what in (code_blocks, inline_code, links, figures):
            a, b = what(one), what(other)
            if a != b:
                missing, more = [x for x in a if a.count(x) > b.count(x)], [x for x in b if b.count(x) > a.count(x)]
                yield f"section {number} ({one.strip()[:30]!r}): {what.__name__.replace('_', ' ')}: {KOREAN} lacks {missing}, has besides {more}"


def not_the_example(english, example):
    programs = [block for block in code_blocks(english) if block.startswith("```cpp\n")]
    if len(programs) != 1 or not example.endswith("\n\n" + "\n".join(programs[0].splitlines()[1:-1]) + "\n"):
        yield f"{ENGLISH} has another program than {EXAMPLE}"


def section(text, heading):
    found = re.search(rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", text, flags=re.M | re.S)
    return found[1] if found else ""


def blocks_of(text, language):
    return [block.splitlines()[1:-1] for block in code_blocks(text) if block.startswith(f"```{language}\n")]


def commands(lines):
    return [command for line in lines for command in line.split(" && ")]


def other_first_lines(english, front_page):
    """The web site's front page begins with the README's commands."""
    ours = commands(line for block in blocks_of(section(english, "Install"), "sh") for line in block)
    theirs = [commands(block.splitlines()[1:-1]) for block in code_blocks(front_page) if block.startswith("```sh")]
    if not ours or ours not in theirs:
        yield f"{FRONT_PAGE} has not the first commands of {ENGLISH}"


def other_live_picture(front_page, replica):
    for said, code in LIVE:
        if said not in front_page.replace("\n", " ") or code not in replica:
            yield f"{FRONT_PAGE} says {said!r}, or {REPLICA} {code!r}, no longer"


def rows_of(text):
    return [row.strip("| ").split(" | ") for row in re.findall(r"^\|.*\|$", text, flags=re.M)]


def other_peers(english, peers):
    """Who is compared, in one order; and how many other locks were measured."""
    rows = rows_of(section(english, "Beside others"))
    compared = [row[0].split(" (")[0].split()[-1 if "Jdbc" in row[0] else 0] for row in rows if re.match(r"[\w .-]+ \(", row[0])]
    headings = re.findall(r"^## (.*)$", peers, flags=re.M)
    with_sections = [heading for heading in headings if heading not in ("Measured side by side", "When to take one of them")]
    if len(compared) != len(with_sections) or not all(name in heading for name, heading in zip(compared, with_sections)):
        yield f"{ENGLISH} compares {compared}, and {PEERS} {with_sections}"
    others = sum(not row[0].startswith("**") for row in rows_of(section(peers, "Measured side by side"))[2:])
    if f"beside {NUMBERS[others]} other locks" not in english:
        yield f"{PEERS} measures {others} other locks, and {ENGLISH} says another number"


def wrong_shape(english):
    count = len(english.splitlines())
    if count > LINES:
        yield f"{ENGLISH} has {count} lines, {LINES} at most"
    found = re.findall(r"^## (.*)$", english, flags=re.M)
    if found != SECTIONS:
        yield f"{ENGLISH} has the sections {found}, and not {SECTIONS}"
    rows = rows_of(section(english, "I want X: use Y"))[2:]
    if len(rows) != PURPOSES:
        yield f"{ENGLISH} has {len(rows)} purposes, and not {PURPOSES}"
    for row in rows:
        if len(row) != 2 or len(re.findall(r"\]\(docs/\w+\.md(?:#[\w-]+)?\)", row[1])) != 1:
            yield f"{ENGLISH}: not one purpose and one page: {row}"


def far_from_results(english, results):
    measured = {tuple(key): float(value) for *key, value in (line.split("\t") for line in results.splitlines())}
    table = rows_of(section(english, "Beside others"))
    head = next((row for row in table if row[:2] == ["PostgreSQL", "MariaDB"]), [])
    rows = {row[0]: row[1:] for row in table}
    for name, (part, store, what, scale) in FIGURES.items():
        if len(rows.get(name, [])) != len(head):
            yield f"{ENGLISH}: the table of figures has no row {name!r}"
            continue
        for column, cell in zip(head, rows[name]):
            value = measured[part, store.format(column), what] * scale
            if not 1 / NEAR <= float(cell.split()[0]) / value <= NEAR:
                yield f"{ENGLISH}: {name}, {column}: {cell}, but {RESULTS} has {value:.2f}"


def not_printed(english, program, command):
    shown = blocks_of(section(english, "A program"), "text")
    first = "\n".join(shown[0]) if len(shown) == 1 else ""
    under_the_lease = [command, "run", "nightly-report", "--store", "Driver=SQLite3;Database=jobs.db", "--", program]
    with tempfile.TemporaryDirectory() as folder:
        for start, expected in [([program], first), ([program], first.replace("token 1", "token 2")),
                                (under_the_lease, "another host is doing it")]:
            printed = subprocess.run(start, cwd=folder, capture_output=True, text=True, check=False, timeout=60)
            if printed.stdout.strip() != expected or printed.returncode != 0:
                yield f"{ENGLISH} shows {expected!r}; {start[0]} ends with {printed.returncode} and prints {printed.stdout + printed.stderr!r}"
    for said in ["the token is 2", "another host is doing it"]:
        if said not in section(english, "A program"):
            yield f"{ENGLISH} does not say: {said}"


def recorded_lines(cast):
    events = [json.loads(line) for line in cast.splitlines()[1:]]
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", "".join(data for _, kind, data in events if kind == "o"))
    return [part.rstrip() for part in re.split(r"[\r\n]+", text)]


def not_recorded(english, cast):
    blocks = blocks_of(section(english, "What is promised"), "text")
    if len(blocks) != 1:
        yield f"{ENGLISH} has {len(blocks)} blocks of the demo's output"
        return
    recorded = iter(recorded_lines(cast))
    for line in blocks[0]:
        if line.rstrip() not in recorded:
            yield f"{ENGLISH}: the recording of the demo does not have, at this place: {line}"
            return


def main():
    top = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    english, korean, front_page, example, cast, results, peers, replica = (
        (top / name).read_text(encoding="utf-8")
        for name in (ENGLISH, KOREAN, FRONT_PAGE, EXAMPLE, RECORDING, RESULTS, PEERS, REPLICA))
    found = [*wrong_shape(english), *differences(english, korean), *not_the_example(english, example),
             *other_first_lines(english, front_page), *not_recorded(english, cast), *far_from_results(english, results),
             *other_peers(english, peers), *other_live_picture(front_page, replica)]
    if len(sys.argv) > 3:
        found += not_printed(english, sys.argv[2], sys.argv[3])
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
