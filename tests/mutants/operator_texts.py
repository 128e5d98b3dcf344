# SPDX-License-Identifier: BSL-1.0
"""A C++ header's text, its mutants by the places where they stand, and one text that has all of them in it.

Each mutant is chosen at run time by its number: see chosen.hpp."""
import bisect
import dataclasses
import difflib
import re

import places


@dataclasses.dataclass
class Mutant:
    """One change of the program's text, as a person would make it."""
    kind: str
    edits: list  # (begin, end, text)
    number: int = 0
    place: "Place" = None


@dataclasses.dataclass
class Place:
    """What stands around the text in all mutants of one expression or statement, and the mutants. {0} is the first one's number."""
    begin: int
    end: int
    mutants: list
    spans: list  # (begin, end, before, behind)
    instead: tuple = None  # (begin, end, text), of an operator
    header: "Header" = None
    complaint: str = "it did not compile before"


class Header:
    """A header's text and places. Its offsets count bytes, as libclang's do: each byte is a character here."""

    def __init__(self, name, path):
        self.name, self.path = name, path
        self.text = path.read_bytes().decode("latin-1")
        self.source = places.Source(name, self.text)
        self.begins = {begin: i for i, (begin, _) in enumerate(self.source.spans)}
        self.lines = [0] + [match.end() for match in re.finditer("\n", self.text)]
        self.places = []

    def add(self, place):
        """Once each: implicit conversions have the extent of what they convert."""
        if any((each.begin, each.end, each.mutants[0].kind) == (place.begin, place.end, place.mutants[0].kind) for each in self.places):
            return
        place.header = self
        for mutant in place.mutants:
            mutant.place = place
        self.places.append(place)

    def line_of(self, offset):
        return bisect.bisect_right(self.lines, offset)

    def line_text(self, offset):
        begin = self.lines[self.line_of(offset) - 1]
        return self.text[begin:].split("\n", 1)[0].strip()

    def changed_by(self, mutant):
        text = self.text
        for begin, end, other in sorted(mutant.edits, reverse=True):
            text = text[:begin] + other + text[end:]
        return text

    def diff(self, mutant):
        return "".join(difflib.unified_diff(self.text.splitlines(True), self.changed_by(mutant).splitlines(True),
                                            self.name, self.name, n=1))

    def with_all_mutants(self):
        """The text, and where in it each place now is: (begin, end, place)."""
        before, behind, instead, tracked = {}, {}, {}, []
        for order, place in enumerate(self.places):
            number = place.mutants[0].number
            numbers = [number + i for i in range(8)]
            for inner, (begin, end, opening, closing) in enumerate(place.spans):
                before.setdefault(begin, []).append((begin - end, order, inner, opening.format(*numbers)))
                behind.setdefault(end, []).append((end - begin, -order, -inner, closing.format(*numbers)))
            if place.instead:
                instead[place.instead[0]] = place.instead[1:]
        out, length, moved, position = [], 0, {}, 0

        def put(text):
            nonlocal length
            out.append(text)
            length += len(text)

        for here in sorted({0, len(self.text), *before, *behind, *instead}):
            put(self.text[position:here])
            position = max(position, here)
            for *_, text in sorted(behind.get(here, []), key=lambda entry: entry[:3]):
                put(text)
            moved[here] = length
            for *_, text in sorted(before.get(here, []), key=lambda entry: entry[:3]):
                put(text)
            if here in instead:
                put(instead[here][1])
                position = instead[here][0]
        put(self.text[position:])
        for place in self.places:
            tracked.append((moved[place.begin], moved[place.end], place))
        return "".join(out), tracked


def number(headers):
    """Numbers the mutants from 1 on, in the order of files and places."""
    mutants = []
    for header in headers:
        for place in header.places:
            for mutant in place.mutants:
                mutant.number = len(mutants) + 1
                mutants.append(mutant)
    return mutants
