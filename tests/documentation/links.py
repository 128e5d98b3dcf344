#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks the Markdown pages: every link inside the repository leads to a file, and its anchor to a heading; every page of
docs/ is in docs/README.md. links.py [FOLDER OF THE REPOSITORY]"""
import pathlib
import re
import sys
import urllib.parse


def without_code(text):
    text = re.sub(r"^```.*?^```", lambda block: "\n" * block.group().count("\n"), text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", lambda code: "`" + "x" * (len(code.group()) - 2) + "`", text)


def slug(heading, seen):
    """The anchor that GitHub gives to a heading."""
    heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip())
    heading = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
    count = seen.get(heading, 0)
    seen[heading] = count + 1
    return f"{heading}-{count}" if count else heading


def anchors(page):
    seen = {}
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return {slug(heading, seen) for heading in re.findall(r"^#{1,6} +(.*?) *#*$", text, flags=re.M)}


def links(page):
    """(line, target) of each link and picture that is not a web address."""
    for number, line in enumerate(without_code(page.read_text(encoding="utf-8")).splitlines(), 1):
        for target in re.findall(r"\]\(([^)\s]+)[^)]*\)", line) + re.findall(r"(?:src|srcset|href)=\"([^\"]+)\"", line):
            if not re.match(r"[a-z]+:", target):
                yield number, urllib.parse.unquote(target)


def problems(top):
    pages = [top / "README.md", *sorted(top.glob("docs/*.md")), *sorted(top.glob("*.md")), *sorted(top.glob(".github/*.md")),
             *sorted(top.glob("examples/**/*.md")), *sorted(top.glob("conan/*.md")), *sorted(top.glob("vcpkg/*.md"))]
    for page in dict.fromkeys(pages):
        for line, target in links(page):
            path, _, anchor = target.partition("#")
            found = (page.parent / path).resolve() if path else page
            if not found.exists():
                yield f"{page.relative_to(top)}:{line}: {target}: there is no such file"
            elif top not in (found, *found.parents):
                yield f"{page.relative_to(top)}:{line}: {target}: outside of the repository"
            elif anchor and found.suffix == ".md" and anchor not in anchors(found):
                yield f"{page.relative_to(top)}:{line}: {target}: there is no such heading"
    listed = {(top / "docs" / target.partition("#")[0]).resolve() for _, target in links(top / "docs/README.md")}
    for page in sorted(top.glob("docs/*.md")):
        if page.name != "README.md" and page.resolve() not in listed:
            yield f"docs/README.md does not list {page.name}"


def main():
    top = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = list(problems(top))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
