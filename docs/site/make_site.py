# SPDX-License-Identifier: BSL-1.0
"""Makes the web site: README, docs/, what they link to, and the reference of every public name. See docs/site/build, which
installs cmark-gfm and doxygen where they are missing."""
import argparse
import html
import os
import pathlib
import re
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "documentation"))
import links  # noqa: E402
import site_check  # noqa: E402

WORDS = {
    "cpp": "auto bool break case class concept const consteval constexpr continue default delete do double else enum explicit false for "
           "friend if inline int long mutable namespace new noexcept nullptr operator private public requires return sizeof static "
           "static_assert struct switch template this throw true try typename using void while".split(),
    "sql": "add alter and as bigint by cast column create current_timestamp default exists from grant if index insert integer into "
           "is key not null on or order primary select set table text timestamp unique update values where with".split(),
}
WORDS["c++"] = WORDS["cpp"]
COMMENTS = {"cpp": r"//[^\n]*|/\*.*?\*/", "c++": r"//[^\n]*|/\*.*?\*/", "sql": r"--[^\n]*", "cmake": r"\#[^\n]*", "sh": r"\#[^\n]*"}


def coloured(code, language):
    """HTML of a piece of code; comments, strings and words of the language marked."""
    if language not in COMMENTS:
        return html.escape(code, quote=False)
    words = "|".join(WORDS.get(language, ["(?!)"]))
    token = re.compile(rf"(?P<c>{COMMENTS[language]})|(?P<s>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+')|(?P<w>\b(?:{words})\b)", re.S)
    out, end = [], 0
    for found in token.finditer(code):
        out.append(html.escape(code[end:found.start()], quote=False))
        out.append(f'<span class="{found.lastgroup}">{html.escape(found.group(), quote=False)}</span>')
        end = found.end()
    return "".join(out) + html.escape(code[end:], quote=False)


class Site:
    def __init__(self, out):
        self.out = out
        self.done = set()
        self.waiting = []  # linked files and folders that have no page yet
        self.menu = self.read_menu()

    def read_menu(self):
        """(heading, [(text, page)]) from docs/README.md."""
        menu = []
        for line in (TOP / "docs/README.md").read_text(encoding="utf-8").splitlines():
            if heading := re.fullmatch(r"\*\*(.+)\*\*", line):
                menu.append((heading.group(1), []))
            elif entry := re.match(r"- \[(.+?)\]\((.+?\.md)\)", line):
                menu[-1][1].append((entry.group(1), (TOP / "docs" / entry.group(2)).resolve()))
        return menu

    @staticmethod
    def page_of(path):
        """Where the page of a file or folder of the repository goes."""
        inside = path.relative_to(TOP)
        if path == TOP / "README.md":
            return pathlib.Path("index.html")
        if path.is_dir():
            return inside / "folder.html"
        if path.suffix == ".md":
            return inside.with_name("index.html") if path.name == "README.md" else inside.with_suffix(".html")
        return inside if path.suffix in (".svg", ".png") else inside.with_name(inside.name + ".html")

    def href(self, page, target):
        """The link from a page of the site to a file of the repository, which then gets a page too."""
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target) or not path:
            return target
        found = (page.parent / path).resolve()
        if TOP not in found.parents or not found.exists():
            return target
        if found not in self.done:
            self.waiting.append(found)
        return self.relative(self.page_of(page), self.page_of(found)) + ("#" + anchor if anchor else "")

    @staticmethod
    def relative(here, there):
        return "../" * (len(here.parts) - 1) + there.as_posix()

    def write(self, source, title, body):
        here = self.page_of(source)
        entries = [f'<a class="name" href="{self.relative(here, pathlib.Path("index.html"))}">leasehold</a>']
        for heading, pages in self.menu:
            entries.append(f"<p>{heading}</p><ul>")
            for text, page in pages:
                current = ' aria-current="page"' if page == source else ""
                entries.append(f'<li><a href="{self.relative(here, self.page_of(page))}"{current}>{html.escape(text)}</a></li>')
            entries.append("</ul>")
        entries.append(f'<p>Reference</p><ul><li><a href="{self.relative(here, pathlib.Path("api/index.html"))}">Every public name</a></li></ul>')
        menu = "".join(entries)
        style = self.relative(here, pathlib.Path("style.css"))
        target = self.out / here
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(
            f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<title>{html.escape(title)} · leasehold</title>\n<link rel="stylesheet" href="{style}">\n'
            f'<div class="page">\n<nav><div>{menu}</div></nav>\n<main>\n{body}</main>\n</div>\n{SCRIPT}</html>\n', encoding="utf-8")

    def markdown(self, page):
        text = page.read_text(encoding="utf-8")
        # What every page says at its top for those who read it in a repository is the menu here.
        text = re.sub(r"^\[README\]\(\.\./README\.md\).*\n", "", text, flags=re.M)
        body = subprocess.run(["cmark-gfm", "-e", "table", "-e", "strikethrough", "-e", "autolink"], input=text, text=True, check=True, capture_output=True).stdout
        seen = {}

        def heading(found):
            level, inner = found.groups()
            anchor = links.slug(html.unescape(re.sub(r"<[^>]+>", "", inner)), seen)
            mark = f'<a class="anchor" href="#{anchor}" aria-label="link to this heading">#</a>' if level != "1" else ""
            return f'<h{level} id="{anchor}">{inner}{mark}</h{level}>'

        body = re.sub(r"<h([1-6])>(.*?)</h\1>", heading, body, flags=re.S)
        body = re.sub(r'<pre><code(?: class="language-([\w+]+)")?>(.*?)</code></pre>',
                      lambda f: f"<pre><code>{coloured(html.unescape(f.group(2)), f.group(1))}</code></pre>", body, flags=re.S)
        body = re.sub(r'(href|src)="([^"]+)"', lambda f: f'{f.group(1)}="{html.escape(self.href(page, html.unescape(f.group(2))))}"', body)
        body = body.replace("<table>", '<div class="scroll"><table>').replace("</table>", "</table></div>")
        body = re.sub(r"<p>(<img [^>]+>)</p>", r"<figure>\1</figure>", body)
        title = html.unescape(re.sub(r"<[^>]+>", "", re.search(r"<h1[^>]*>(.*?)</h1>", body, re.S).group(1)))
        self.write(page, title, body)

    def source(self, path):
        inside = path.relative_to(TOP).as_posix()
        language = {".hpp": "cpp", ".cpp": "cpp", ".cmake": "cmake"}.get(path.suffix, "sh")
        code = coloured(path.read_text(encoding="utf-8", errors="replace"), language)
        self.write(path, inside, f"<h1>{inside}</h1>\n<pre class=\"wide\"><code>{code}</code></pre>\n")

    def folder(self, path):
        inside = path.relative_to(TOP).as_posix()
        listed = subprocess.run(["git", "-C", str(TOP), "ls-files", "--cached", "--others", "--exclude-standard", "--", inside], text=True, capture_output=True).stdout.split()
        names = sorted({name[len(inside) + 1:].split("/")[0] for name in listed} or {p.name for p in path.iterdir()})
        items = "".join(f'<li><a href="{html.escape(self.href(path / "README.md", name))}">{html.escape(name)}</a></li>' for name in names)
        # A link is made beside a page that need not exist; from this folder's own page it is the same place.
        self.write(path, inside, f"<h1>{inside}</h1>\n<ul>{items}</ul>\n")

    def make(self):
        if self.out.exists():
            shutil.rmtree(self.out)
        self.out.mkdir(parents=True)
        shutil.copy(TOP / "docs/site/style.css", self.out)
        self.waiting = [TOP / "README.md", *sorted(TOP.glob("docs/*.md"))]
        while self.waiting:
            path = self.waiting.pop()
            if path in self.done:
                continue
            self.done.add(path)
            if path.suffix == ".svg":
                target = self.out / self.page_of(path)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
            elif path.is_dir():
                self.folder(path)
            elif path.suffix == ".md":
                self.markdown(path)
            else:
                self.source(path)


# On a phone the menu stands above the page, closed.
SCRIPT = """<script>
const menu = document.querySelector("nav > div");
if (matchMedia("(max-width: 60rem)").matches) {
    const box = document.createElement("details"), top = document.createElement("summary");
    top.append(menu.firstChild, "menu");
    box.append(top, ...menu.childNodes);
    menu.append(box);
}
</script>
"""


def reference(out):
    """Doxygen's pages; its configuration names build/docs, which may be elsewhere here."""
    settings = (TOP / "docs/Doxyfile").read_text(encoding="utf-8") + f"\nOUTPUT_DIRECTORY = {out}\n"
    return subprocess.run(["doxygen", "-"], input=settings, text=True, cwd=TOP).returncode == 0


def main():
    parser = argparse.ArgumentParser(prog="docs/site/build", description=__doc__)
    parser.add_argument("--no-reference", action="store_true", help="without Doxygen's pages")
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=TOP / "build/docs")
    asked = parser.parse_args()
    missing = [tool for tool in ("cmark-gfm", "doxygen") if not shutil.which(tool)]
    if missing:
        print(f"SKIPPED: without {' and '.join(missing)} there is no site", file=sys.stderr)
        return 1 if os.environ.get("LEASEHOLD_REQUIRE_SERVERS") else 77
    out = asked.folder.resolve()
    if out.is_dir() and not (out / "style.css").exists() and any(entry.name != "api" for entry in out.iterdir()):
        print(f"{out} has something else in it, and would be replaced", file=sys.stderr)
        return 1
    Site(out).make()
    good = asked.no_reference or reference(out)
    broken = site_check.problems(out, skip=["api"] if asked.no_reference else [], own_anchors=["api"])
    print(*broken, sep="\n", end="\n" if broken else "")
    print(f"{out}/index.html")
    return 0 if good and not broken else 1


if __name__ == "__main__":
    sys.exit(main())
