#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks that what the Markdown pages name in `backticks` and in commands exists: files, identifiers, options and tests.
names.py [FOLDER OF THE REPOSITORY [FOLDER OF A BUILD]]

An identifier exists if a file outside of docs/ has the word, or is named so. In a block without a language, which draws how things call
each other, a name is one of a header, and `scope::member` are two words of one header. Most names of tests are known only from a build.
Of a group of tests that a build leaves out, as faults without ODBC, none is checked."""
import os
import pathlib
import re
import sys

# Other programs' names, which nothing here has to say but the pages.
OTHERS = {"backend_xmin", "caching_sha2_password", "group_replication_member_expel_timeout", "group_replication_single_primary_mode",
          "node_textfile_mtime_seconds", "remote_apply", "server_login_retry"}
# A name of the reader's choice.
EXAMPLE = re.compile(r"\b(foo|my)(_|\b)|_foo\b")
FILE = r"\w[\w-]*\.(?:cpp|hpp|cppm|cmake|json|md|py|sh|svg|tsv|txt|yml)"


def files_in(top):
    for folder, folders, names in os.walk(top):
        folders[:] = [each for each in folders if each not in (".git", "build", "__pycache__")]
        yield from (pathlib.Path(folder) / name for name in names)


def tests_in(build):
    """As CTest lists them. It isn't asked, because it would write into the log of the CTest that runs this."""
    listed = build / "CTestTestfile.cmake"
    text = listed.read_text(encoding="utf-8") if listed.exists() else ""
    yield from re.findall(r'^add_test\((?:\[=*\[)?"?([\w.-]+)', text, flags=re.M)
    for folder in re.findall(r'^subdirs\("?([^")]+)', text, flags=re.M):
        yield from tests_in(build / folder)


class tree:
    """What there is in the repository, and in a build of it."""

    def __init__(self, top, build):
        self.top = top
        self.files = list(files_in(top))
        self.file_names = {f.name for f in self.files}
        self.words = {f.stem for f in self.files}
        self.options = set()
        self.header_words = []
        for f in self.files:
            if f.suffix == ".md" or top / "docs" in f.parents or f == pathlib.Path(__file__).resolve():
                continue
            try:
                text = f.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue
            words = set(re.findall(r"\w+", text))
            self.words |= words
            if f.suffix == ".hpp" and top / "include" in f.parents:
                self.header_words.append(words | {f.stem})
            self.options.update(re.findall(r"(?<![\w-])--?([a-zA-Z][\w-]*)", text))
        self.tests = set(tests_in(pathlib.Path(build))) if build else set()
        self.test_groups = {name.partition(".")[0] for name in self.tests if "." in name}
        # Those that only some builds have, in full.
        for f in top.glob("tests/**/CMakeLists.txt"):
            self.tests.update(re.findall(r"NAME ([\w.]+)(?=[\s)])", f.read_text(encoding="utf-8")))

    def has_path(self, path, page):
        places = [page.parent, self.top, self.top / "include", self.top / "include/leasehold"]
        return any((place / path).exists() for place in places)

    def has_test(self, name):
        return any(each == name or each.startswith(name + ".") for each in self.tests)


def spans(text):
    """(line, whether it is in a block of code, words) of each `span` in the text, and of each line of a block."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*```", line):
            fenced = not fenced
        elif fenced or (line.startswith("    ") and "`" not in line):  # else it goes on a list's item
            yield number, True, line.split()
        else:
            for span in re.findall(r"`([^`]+)`", line):
                yield number, False, span.split()


def drawn_names(text):
    """(line, name) of each name with an underscore or a scope in a block without a language."""
    language = None
    for number, line in enumerate(text.splitlines(), 1):
        if fence := re.match(r"\s*```(.*)", line):
            language = fence[1].strip() if language is None else None
        elif language == "":
            yield from ((number, name) for name in re.findall(r"(?<![\w-])[A-Za-z]\w*(?:::[a-z]\w*)+|(?<![\w-])[a-z][a-z0-9]*(?:_[a-z0-9]+)+", line))


def missing_word(word, page, there):
    """Why this word of a `span` names nothing; None: it does, or is no name."""
    if EXAMPLE.search(word) or "*" in word or "<" in word:
        return None
    if re.fullmatch(r"[\w.-]+(/[\w.-]+)+/?", word):
        first = word.partition("/")[0]
        ours = (there.top / first).is_dir() or re.search(r"\.[ch]pp$", word)
        if ours and first != "build" and not there.has_path(word, page):
            return "there is no such file or folder"
    elif re.fullmatch(FILE, word):
        # The test tool.json is no file.
        if word not in there.file_names and word not in there.tests:
            return "there is no file of that name"
    elif re.fullmatch(r"[a-z]\w*(\.\w+)+", word):
        if word.partition(".")[0] in there.test_groups and not there.has_test(word):
            return "there is no test of that name"
    elif re.fullmatch(r"--[a-z][a-z-]+(=.*)?", word):
        if word.partition("=")[0][2:] not in there.options:
            return "nothing here has that option"
    elif re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)+|LEASEHOLD(_[A-Z0-9]+)+", word):
        if word not in there.words and word not in OTHERS:
            return "nothing here has that name"
    return None


def missing_in_command(words, there):
    """(word, why) of what isn't there in a line that calls a script of this repository."""
    words = words[1:] if words[:1] == ["$"] else words
    if not words or not re.fullmatch(r"(tests|\.ci|\.github)/[\w./-]+", words[0]) or EXAMPLE.search(words[0]):
        return
    script = there.top / words[0]
    if not script.exists():
        yield words[0], "there is no such file"
        return
    if script.is_dir():
        return
    text = script.read_text(encoding="utf-8", errors="replace")
    for word in words[1:]:
        if word.startswith("#"):
            return
        option = re.match(r"--[a-z][\w-]*", word)
        if option and option.group() not in text:
            yield option.group(), f"{words[0]} does not have that option"


def problems(there):
    top = there.top
    pages = [top / "README.md", *sorted(top.glob("docs/*.md")), *sorted(top.glob(".github/*.md")),
             *sorted(top.glob("examples/**/*.md"))]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for line, block, words in spans(text):
            found = list(missing_in_command(words, there))
            if not block:
                for word in (each.strip(",;:()[]{}\"'") for each in words):
                    if why := missing_word(word, page, there):
                        found.append((word, why))
            for word, why in dict(found).items():
                yield f"{page.relative_to(top)}:{line}: {word}: {why}"
        for line, name in drawn_names(text):
            if not any(set(name.split("::")) <= words for words in there.header_words):
                yield f"{page.relative_to(top)}:{line}: {name}: no header has that"
        # The tests that caught a mutant.
        for file, suite, case in re.findall(r"\bunit:(\S+\.cpp): (\w+)/(\w+)", text):
            source = top / "tests/unit" / file
            if not source.exists():
                yield f"{page.relative_to(top)}: tests/unit/{file}: there is no such file"
            elif not {suite, case} <= set(re.findall(r"\w+", source.read_text(encoding="utf-8"))):
                yield f"{page.relative_to(top)}: {suite}/{case}: tests/unit/{file} has no such case"


def main():
    top = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = list(problems(tree(top, sys.argv[2] if len(sys.argv) > 2 else None)))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
