# SPDX-License-Identifier: BSL-1.0
"""Finds functions, statements and conditions in C++ headers by their names and words, wherever they stand, and edits them.

It reads tokens and brackets, not the language: enough for code as clang-format leaves it, and nothing to install. What it
does not understand it does not find, and a place that is not found is an error."""
import dataclasses
import difflib
import functools
import re

TOKEN = re.compile(r"""
    (?P<blank> \s+ | //[^\n]* | /\*.*?\*/ | ^[ \t]*\#(?:[^\n]*\\\n)*[^\n]* )
  | R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"
  | (?:u8|[uUL])?"(?:\\.|[^"\\\n])*"
  | (?:u8|[uUL])?'(?:\\.|[^'\\\n])+'
  | \.?\d(?:[eEpP][+-]|'?[\w.])*
  | \w+
  | <=> | <<= | \.\.\. | ->\* | :: | -> | \+\+ | -- | && | \|\| | << | [<>=!+\-*/%&|^]=
  | .
""", re.VERBOSE | re.DOTALL | re.MULTILINE)

WORD = re.compile(r"[A-Za-z_]\w*$")
CLOSER = {"(": ")", "[": "]", "{": "}"}
CLASS_KEYS = {"class", "struct", "union", "enum"}
# What stands before a parenthesis and is no function's name.
NOT_A_NAME = {"requires", "explicit", "noexcept", "decltype", "alignas", "static_assert", "void", "bool", "int", "char", "long", "unsigned",
              "auto", "return", "if", "for", "while", "switch", "catch", "sizeof"}
CONTROL = {"if", "for", "while", "switch"}


class Misfit(Exception):
    """A place that is not there, or not exactly once."""


def scan(text):
    return [token for token in TOKEN.finditer(text) if token["blank"] is None]


def words_of(text):
    return [token.group() for token in scan(text)]


@dataclasses.dataclass
class Place:
    """A function or a constant: where it stands, and which of the tokens are its parameters and its body (or value)."""
    source: "Source"
    name: str  # with its namespaces and classes
    parameters: tuple
    body: tuple
    function: bool

    def __str__(self):
        return f"{'::'.join(self.name.split('::')[-2:])} in {self.source.path}"


class Source:
    """A header: its text and tokens."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        found = scan(text)
        self.tokens = [token.group() for token in found]
        self.spans = [token.span() for token in found]
        self.match = {}
        open_brackets = []
        for i, token in enumerate(self.tokens):
            if token in CLOSER:
                open_brackets.append(i)
            elif token in CLOSER.values():
                if not open_brackets or CLOSER[self.tokens[open_brackets[-1]]] != token:
                    raise Misfit(f"{path}: its brackets do not match at '{self.around(i)}'")
                begin = open_brackets.pop()
                self.match[begin], self.match[i] = i, begin
        if open_brackets:
            raise Misfit(f"{path}: a bracket is not closed at '{self.around(open_brackets[-1])}'")
        self.places = []
        self._read_scope(0, len(self.tokens), [])

    def around(self, i):
        return " ".join(self.tokens[max(0, i - 5):i + 5])

    def replaced(self, begin, end, text):
        """This file with other text in place of these tokens."""
        first, last = self.spans[begin][0], self.spans[end - 1][1]
        return Source(self.path, self.text[:first] + text + self.text[last:])

    # Declarations

    def _read_scope(self, i, end, scope):
        start = i
        while i < end:
            token = self.tokens[i]
            if token == ";":
                self._read_constant(start, i, scope)
                start = i = i + 1
            elif token in ("public", "private", "protected") and self.tokens[i + 1] == ":":
                start = i = i + 2
            elif token in ("(", "["):
                i = self.match[i] + 1
            elif token == "{":
                kind, name, parameters = self._head(start, i)
                close = self.match[i]
                if kind == "scope":
                    self._read_scope(i + 1, close, scope + name)
                elif kind == "function":
                    self.places.append(Place(self, "::".join(scope + [name]), parameters, (parameters[1], close), True))
                i = close + 1
                if kind:
                    start = i
            else:
                i += 1

    def _read_constant(self, start, end, scope):
        outer = list(self._outer(start, end))
        if "constexpr" not in (self.tokens[i] for i in outer):
            return
        for i in outer:
            if self.tokens[i] in ("=", "{") and WORD.match(self.tokens[i - 1]):
                value = (i + 1, end) if self.tokens[i] == "=" else (i + 1, self.match[i])
                self.places.append(Place(self, "::".join(scope + [self.tokens[i - 1]]), (i, i), value, False))
                return

    def _outer(self, start, end):
        """The tokens of a declaration outside its brackets and template arguments, with the opening brackets."""
        i, angles = start, 0
        while i < end:
            token = self.tokens[i]
            before = self.tokens[i - 1] if i > start else ""
            if token == "<" and (WORD.match(before) and before != "operator"):
                angles += 1
            elif token == ">" and angles:
                angles -= 1
            elif not angles:
                yield i
            i = self.match[i] + 1 if token in CLOSER else i + 1

    def _head(self, start, brace):
        """What a brace opens: ("scope", names, None), ("function", name, parameters) or (None, None, None)."""
        nothing = (None, None, None)
        outer = list(self._outer(start, brace))
        words = [self.tokens[i] for i in outer]
        if "namespace" in words:
            names = self.tokens[start + words.index("namespace") + 1:brace]
            return "scope", [name for name in names if name not in ("::", "inline")], None
        if words[:1] == ["extern"] and len(words) == 2:
            return "scope", [], None
        parameters = name = None
        for at, i in enumerate(outer):
            before = self.tokens[i - 1] if i > start else ""
            if self.tokens[i] == "=" and before != "operator":
                return nothing
            if self.tokens[i] in CLASS_KEYS and not parameters:
                return "scope", [self._class_name(outer[at + 1:])], None
            if self.tokens[i] != "(":
                continue
            name = self._function_name(start, i)
            if name and not (name == "operator" and self.tokens[i + 1] == ")" and self.tokens[self.match[i] + 1] == "("):
                parameters = (i, self.match[i] + 1)
                break
        if not parameters:
            return nothing
        last = self.tokens[brace - 1]
        initialisers = any(self.tokens[i] == ":" for i in outer if i >= parameters[1])
        if initialisers and (WORD.match(last) or last == ">"):
            return nothing
        opener = self.match[brace - 1] if last == ")" else brace
        if self.tokens[opener - 1] == "requires" and self.tokens[opener - 2] in ("requires", "&&", "||", "("):
            return nothing
        return "function", name, parameters

    def _class_name(self, rest):
        for i in rest:
            if WORD.match(self.tokens[i]) and self.tokens[i] not in CLASS_KEYS | {"alignas", "final"}:
                return self.tokens[i]
        return "unnamed"

    def _function_name(self, start, paren):
        """The name before a parenthesis: `f`, `c::f`, `~c`, `operator==`; None where it is no function's."""
        i = paren - 1
        if i < start:
            return None
        for back in (1, 2, 3):
            if paren - back >= start and self.tokens[paren - back] == "operator":
                return "".join(self.tokens[paren - back:paren])
        if not WORD.match(self.tokens[i]) or self.tokens[i] in NOT_A_NAME:
            return None
        name = self.tokens[i]
        if self.tokens[i - 1] == "~":
            i, name = i - 1, "~" + name
        while i - 2 >= start and self.tokens[i - 1] == "::" and WORD.match(self.tokens[i - 2]):
            i, name = i - 2, self.tokens[i - 2] + "::" + name
        return name

    # Statements

    def statements(self, begin, end):
        """(first token, one past the last) of every statement, also of those in lambdas, outer ones first."""
        found = []
        while begin < end:
            begin = self._read_statement(begin, end, found)
        return found

    def _read_statement(self, i, end, found):
        begin, mine = i, len(found)
        found.append(None)
        token = self.tokens[i]
        if token == "{":
            found += self.statements(i + 1, self.match[i])
            i = self.match[i] + 1
        elif token in CONTROL:
            while self.tokens[i] != "(":
                i += 1
            self._read_groups(i, self.match[i], found)
            i = self._read_statement(self.match[i] + 1, end, found)
            if token == "if" and i < end and self.tokens[i] == "else":
                i = self._read_statement(i + 1, end, found)
        elif token in ("do", "try"):
            i = self._read_statement(i + 1, end, found)
            while token == "try" and i < end and self.tokens[i] == "catch":
                i = self._read_statement(self.match[i + 1] + 1, end, found)
            if token == "do":
                i = self.match[i + 1] + 2
        elif token in ("case", "default"):
            while self.tokens[i] != ":":
                i += 1
            i += 1
        else:
            while i < end and self.tokens[i] != ";":
                if self.tokens[i] in CLOSER:
                    self._read_groups(i, self.match[i], found)
                    i = self.match[i]
                i += 1
            i += 1
        found[mine] = (begin, min(i, end))
        return i

    def _read_groups(self, opener, close, found):
        """The bodies of lambdas between these brackets: braces with statements in them."""
        i, is_body = opener + 1, self.tokens[opener] == "{" and self.tokens[opener + 1] in CONTROL
        while i < close and not is_body:
            is_body = self.tokens[opener] == "{" and self.tokens[i] == ";"
            i = self.match[i] + 1 if self.tokens[i] in CLOSER else i + 1
        if is_body:
            found += self.statements(opener + 1, close)
            return
        i = opener + 1
        while i < close:
            if self.tokens[i] in CLOSER:
                self._read_groups(i, self.match[i], found)
                i = self.match[i]
            i += 1


class Library:
    """All headers below a folder."""

    def __init__(self, sources):
        self.sources = {source.path: source for source in sources}

    @functools.cached_property
    def words(self):
        return {token for source in self.sources.values() for token in source.tokens}

    @classmethod
    def read(cls, folder):
        return cls(Source(str(path.relative_to(folder)), path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.hpp")))

    def find(self, wanted, text=""):
        """The one function or constant of this name: `c::f`, or `c::f(words)` for the overload with these in its parameters. Where it
        is gone, the error names those that it may have become: of the same name, with `text` in it, or of a name like it."""
        name, parameters = re.fullmatch(r"([^(]*?operator\(\)|[^(]*)\(?(.*)", wanted).groups()
        places = [place for source in self.sources.values() for place in source.places]
        found = [place for place in places if f"::{place.name}".endswith(f"::{name.strip()}")]
        if parameters:
            words = words_of(parameters.rpartition(")")[0])
            found = [place for place in found if occurrences(place.source.tokens, place.parameters, words)]
        if len(found) == 1:
            return found[0]
        if found:
            raise Misfit(f"more than one function {wanted}: " + "; ".join(str(place) for place in found))
        named = {"::".join(place.name.split("::")[-2:]): str(place) for place in places}
        words = words_of(text)
        likely = [each for each in named if each.rpartition("::")[2] == name.rpartition("::")[2]]
        likely = likely or ["::".join(place.name.split("::")[-2:]) for place in places
                            if words and occurrences(place.source.tokens, place.body, words)]
        near = difflib.get_close_matches(name, likely or named, 3, 0 if likely else 0.6)
        raise Misfit(f"no function {wanted}" + (f"; is it now {' or '.join(named[each] for each in near)}?" if near else ""))


def occurrences(tokens, where, words):
    return [i for i in range(where[0], where[1] - len(words) + 1) if tokens[i:i + len(words)] == words]


def locate(place, text):
    """(first token, one past the last) of this text in the place: there exactly once, however it is spaced."""
    words = words_of(text)
    found = occurrences(place.source.tokens, place.body, words)
    if len(found) != 1:
        raise Misfit(f"'{text}' is {'not' if not found else f'{len(found)} times'} in {place}")
    return found[0], found[0] + len(words)


# The operators. Each takes a place and the text that says where in it, and gives the changed source.

def drop_statement(place, text):
    """Leaves out the innermost statement that has the text in it; where that is in an `if`'s condition, all of the `if`."""
    begin, end = locate(place, text)
    source = place.source
    statements = source.statements(source.match[place.body[1]] + 1, place.body[1]) if place.function else []
    around = [(a, b) for a, b in statements if a <= begin and end <= b and source.tokens[a] != "{"]
    if not around:
        raise Misfit(f"{place}: '{text}' is in no statement")
    first, last = min(around, key=lambda each: each[1] - each[0])
    return source.replaced(first, last, ";")


def drop_condition(place, text):
    """Has the operand of && or || that has the text in it decide nothing."""
    begin, end = locate(place, text)
    tokens, match = place.source.tokens, place.source.match
    stops = {"&&", "||", ";", ",", "?", ":", "=", "return", "(", "{", "[", ")", "}", "]"}
    while tokens[begin - 1] not in stops or tokens[begin - 1] in CLOSER.values():
        begin = match[begin - 1] if tokens[begin - 1] in CLOSER.values() else begin - 1
    while tokens[end] not in stops or tokens[end] in CLOSER:
        end = match[end] + 1 if tokens[end] in CLOSER else end + 1
    beside = {tokens[begin - 1], tokens[end]}
    if "||" in beside and "&&" not in beside:
        neutral = "false"
    elif "&&" in beside:
        neutral = "true"  # && binds more tightly
    else:
        raise Misfit(f"{place}: '{text}' is no operand of && or ||")
    return place.source.replaced(begin, end, neutral)


def replace(place, text, other):
    """Puts other text in its place."""
    begin, end = locate(place, text)
    return place.source.replaced(begin, end, other)


def set_value(place, value):
    """Gives a constant another value."""
    if place.function:
        raise Misfit(f"{place} is a function, not a constant")
    return place.source.replaced(place.body[0], place.body[1], " " + value)
