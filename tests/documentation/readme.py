#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks that README.md and README.ko.md say the same where a machine can tell, that README.md's program is examples/quick_start.cpp,
and that the demo's output on them was recorded. readme.py [FOLDER OF THE REPOSITORY]

In each section the two have the same code blocks, the same code within the text, the same links and the same figures. The lines of
the demo are lines of the recording, in its order."""
import json
import pathlib
import re
import sys

ENGLISH, KOREAN = "README.md", "README.ko.md"
FRONT_PAGE = "docs/site/index.md"
EXAMPLE = "examples/quick_start.cpp"
RECORDING = "docs/site/.vitepress/theme/demo.cast"


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
    # 3분의 1 is "a third".
    text = text.replace("3분의 1", "")
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


def other_first_lines(english, front_page):
    """The web site's front page begins with the README's lines."""
    lines = [block.splitlines()[1:] for block in code_blocks(english) if block.startswith("```sh\n")]
    if not lines or lines[0] not in (block.splitlines()[1:] for block in code_blocks(front_page)):
        yield f"{FRONT_PAGE} has not the first lines of {ENGLISH}"


def recorded_lines(cast):
    events = [json.loads(line) for line in cast.splitlines()[1:]]
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", "".join(data for _, kind, data in events if kind == "o"))
    return [part.rstrip() for part in re.split(r"[\r\n]+", text)]


def not_recorded(english, cast):
    blocks = [block for block in code_blocks(english) if block.startswith("```text\n")]
    if len(blocks) != 1:
        yield f"{ENGLISH} has {len(blocks)} blocks of the demo's output"
        return
    recorded = iter(recorded_lines(cast))
    for line in blocks[0].splitlines()[1:-1]:
        if line.rstrip() not in recorded:
            yield f"{ENGLISH}: the recording of the demo does not have, at this place: {line}"
            return


def main():
    top = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    english, korean, front_page, example, cast = (
        (top / name).read_text(encoding="utf-8") for name in (ENGLISH, KOREAN, FRONT_PAGE, EXAMPLE, RECORDING))
    found = [*differences(english, korean), *not_the_example(english, example), *other_first_lines(english, front_page),
             *not_recorded(english, cast)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
