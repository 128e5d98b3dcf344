#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks a folder of web pages: every link inside leads to a file and an element there, and nothing is loaded from elsewhere."""
import argparse
import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids = set()
        self.links = []   # what a reader follows
        self.loaded = []  # what a browser loads by itself
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        for name in ("id", "name"):
            if values.get(name):
                self.ids.add(values[name])
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif tag == "link" and values.get("href"):
            self.loaded.append(values["href"])
        elif values.get("src"):
            self.loaded.append(values["src"])


def problems(top, base="/", skip=(), own_anchors=()):
    """Pages in the folders `skip` need not be there; links within the folders `own_anchors` may lead to no place on a page,
    since the generator of those pages makes such links."""
    top = pathlib.Path(top).resolve()
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8", errors="replace")) for path in top.rglob("*.html")}
    for path, page in sorted(pages.items()):
        where = path.relative_to(top)
        for target in page.loaded:
            if urllib.parse.urlparse(target).scheme not in ("", "javascript", "data") or target.startswith("//"):
                yield f"{where}: loads {target}"
        for target in page.links + page.loaded:
            parsed = urllib.parse.urlparse(target)
            if parsed.scheme or target.startswith("//"):
                continue
            to = urllib.parse.unquote(parsed.path)
            if to.startswith("/") and not to.startswith(base):
                yield f"{where}: {target}: outside of {base}"
                continue
            there = (top / to[len(base):] if to.startswith("/") else path.parent / to if to else path).resolve()
            if top not in (there, *there.parents):
                yield f"{where}: {target}: outside of the site"
                continue
            if there == top or to.endswith("/"):
                there = there / "index.html"
            if any(part in there.relative_to(top).parts for part in skip):
                continue
            if not there.is_file():
                yield f"{where}: {target}: there is no such page"
            elif where.parts[0] in own_anchors:
                continue
            elif parsed.fragment and there in pages and urllib.parse.unquote(parsed.fragment) not in pages[there].ids:
                yield f"{where}: {target}: there is no such place"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", default="/", help="the path of the site on its server")
    parser.add_argument("--skip", action="append", default=[], help="a folder that need not be there")
    parser.add_argument("--own-anchors", action="append", default=[], help="a folder whose links may lead to no place on a page")
    parser.add_argument("folder")
    asked = parser.parse_args()
    found = list(problems(asked.folder, asked.base, asked.skip, asked.own_anchors))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
