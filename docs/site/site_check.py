# SPDX-License-Identifier: BSL-1.0
"""Checks a folder of web pages: every link inside leads to a file and an element there, and nothing is loaded from elsewhere."""
import html.parser
import pathlib
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


def problems(top, skip=(), own_anchors=()):
    """Pages in the folders `skip` need not be there; links within the folders `own_anchors` may lead to no place on a page,
    since who made them makes such links."""
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8", errors="replace")) for path in pathlib.Path(top).rglob("*.html")}
    found = []
    for path, page in sorted(pages.items()):
        where = path.relative_to(pathlib.Path(top).resolve())
        for target in page.loaded:
            if urllib.parse.urlparse(target).scheme not in ("", "javascript") or target.startswith("//"):
                found.append(f"{where}: loads {target}")
        for target in page.links + page.loaded:
            parsed = urllib.parse.urlparse(target)
            if parsed.scheme or target.startswith("//"):
                continue
            there = (path.parent / urllib.parse.unquote(parsed.path)).resolve() if parsed.path else path
            if any(part in there.parts for part in skip):
                continue
            if not there.is_file():
                found.append(f"{where}: {target}: there is no such page")
            elif where.parts[0] in own_anchors:
                continue
            elif parsed.fragment and there in pages and urllib.parse.unquote(parsed.fragment) not in pages[there].ids:
                found.append(f"{where}: {target}: there is no such place")
    return found
