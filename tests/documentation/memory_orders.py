#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks that the table of docs/memory_orders.md has each atomic of include/, with the orders of its operations, and nothing else.
memory_orders.py [FOLDER OF THE REPOSITORY]"""
import pathlib
import re
import sys

DECLARATION = re.compile(r"(?:(?:mutable|inline|static|const)\s+)*std::.*?[>\w]\s+(\w+)\s*[{=;]")
OPERATION = r"(?:\[[^\];]*\])*\.(?:load|store|exchange|fetch_\w+|compare_exchange_\w+|test_and_set|test|clear)\("


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def declared(sources):
    """(file, name) of each atomic, and of each count of references that is read."""
    for file, text in sources.items():
        for line in (line.strip() for line in text.splitlines()):
            if re.search(r"\bstd::atomic\w*\b", line) and "make_unique<std::atomic" not in line:
                found = DECLARATION.match(line)
                yield file, found.group(1) if found else f"? {line}"
            if ".use_count()" in line:
                yield file, "use_count"


def argument(text, begin):
    """From behind a bracket to the one that closes it."""
    depth = 1
    for end in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            return text[begin:end]
    return ""


def own_part(text):
    """Without what stands in brackets."""
    while (shorter := re.sub(r"\([^()]*\)", "", text)) != text:
        text = shorter
    return text


def named_orders(sources, file, name):
    """The orders that operations on it name. A member whose name ends with _ is looked for in its own file only."""
    if name == "use_count":
        return {"relaxed"}  # as the standard has it
    orders = set()
    for text in [sources[file]] if name.endswith("_") else sources.values():
        for operation in re.finditer(rf"\b{name}{OPERATION}", text):
            orders.update(re.findall(r"memory_order_(\w+)", own_part(argument(text, operation.end()))))
    return orders


def rows(page):
    """File, names and orders of each row whose first column begins with a header."""
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        codes = re.findall(r"`([^`]+)`", cells[0]) if cells else []
        if codes and codes[0].endswith(".hpp"):
            yield codes[0], codes[1:], set(re.findall(r"\b(relaxed|acquire|release|acq_rel|seq_cst)\b", cells[1]))


def problems(top):
    include = top / "include/leasehold"
    sources = {str(path.relative_to(include)): without_comments(path.read_text(encoding="utf-8")) for path in sorted(include.rglob("*.hpp"))}
    there = set(declared(sources))
    told = set()
    for file, names, orders in rows((top / "docs/memory_orders.md").read_text(encoding="utf-8")):
        told.update((file, name) for name in names)
        used = set().union(*(named_orders(sources, file, name) for name in names if (file, name) in there))
        for order in sorted(used - orders):
            yield f"{file}: an operation on {' or '.join(names)} is {order}, and the table does not say so"
        for order in sorted(orders - used - {"seq_cst"}):
            yield f"{file}: no operation on {' or '.join(names)} is {order}, as the table says"
    for file, name in sorted(there - told):
        yield f"{file}: {name} is not in the table"
    for file, name in sorted(told - there):
        yield f"{file}: there is no atomic {name}, which the table has"
    if not there:
        yield "there are no atomics"


def main():
    found = list(problems(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))
    print(*(f"docs/memory_orders.md: {line}" for line in found), sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
