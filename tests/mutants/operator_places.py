# SPDX-License-Identifier: BSL-1.0
"""Finds, by libclang, the places of C++ headers at which operators of mutation apply.

What libclang does not know to be an expression that runs is no place."""
import re

from operator_texts import Mutant, Place

M = "::leasehold_mutants::"
RELATIONS = {"<": ("less", "<=", ">="), "<=": ("less_equal", "<", ">"), ">": ("greater", ">=", "<="), ">=": ("greater_equal", ">", "<")}
ARITHMETIC = {"+": ("plus", "-"), "-": ("minus", "+"), "*": ("times", "/"), "/": ("divided", "*")}
EQUALITIES = {"==": "!=", "!=": "=="}
LOGIC = {"&&": "||", "||": "&&"}


class Finder:
    """Walks the declarations of one translation unit."""

    def __init__(self, clang, headers):
        self.kinds = clang.CursorKind
        self.headers = {str(header.path): header for header in headers}
        k = self.kinds
        self.functions = {k.FUNCTION_DECL, k.CXX_METHOD, k.FUNCTION_TEMPLATE, k.CONSTRUCTOR, k.DESTRUCTOR, k.CONVERSION_FUNCTION}
        self.expressions_as_statements = {k.CALL_EXPR, k.BINARY_OPERATOR, k.COMPOUND_ASSIGNMENT_OPERATOR, k.UNARY_OPERATOR,
                                          k.UNEXPOSED_EXPR}
        self.header = None
        self.done = set()

    def walk(self, unit):
        for cursor in unit.cursor.get_children():
            file = cursor.location.file
            self.header = self.headers.get(file.name) if file else None
            if self.header:
                self.declaration(cursor)
        for header in self.headers.values():
            header.places.sort(key=lambda place: (place.begin, -place.end))

    def declaration(self, cursor):
        k = self.kinds
        if cursor.kind in self.functions:
            self.function(cursor)
        elif cursor.kind == k.FIELD_DECL:
            for child in cursor.get_children():
                if child.kind.is_expression():
                    self.expression(child)
        elif cursor.kind in (k.NAMESPACE, k.LINKAGE_SPEC, k.UNEXPOSED_DECL, k.CLASS_DECL, k.STRUCT_DECL, k.CLASS_TEMPLATE,
                             k.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION, k.FRIEND_DECL):
            for child in cursor.get_children():
                self.declaration(child)

    def function(self, cursor):
        key = (self.header.name, cursor.location.offset)  # a function with a parameter `auto` has no extent in libclang 14
        if key in self.done:
            return
        self.done.add(key)
        k = self.kinds
        named = False
        for child in cursor.get_children():
            if child.kind == k.COMPOUND_STMT:
                self.statement(child)
            elif cursor.kind == k.CONSTRUCTOR:  # its initializers: what is initialized, then by what
                if child.kind in (k.MEMBER_REF, k.TYPE_REF):
                    named = named or child.kind == k.MEMBER_REF
                elif named and child.kind.is_expression():
                    self.expression(child)

    # Statements

    def extent(self, cursor):
        return cursor.extent.start.offset, cursor.extent.end.offset

    def text(self, cursor):
        begin, end = self.extent(cursor)
        return self.header.text[begin:end]

    def head(self, cursor):
        """The tokens of a statement's parentheses: their index in the source, behind its first word."""
        i = self.header.begins.get(cursor.extent.start.offset)
        if i is None:
            return None
        tokens = self.header.source.tokens
        while tokens[i] != "(":
            i += 1
        return i, self.header.source.match[i]

    def statement(self, cursor):
        k = self.kinds
        children = list(cursor.get_children())
        if cursor.kind in (k.IF_STMT, k.WHILE_STMT, k.FOR_STMT):
            self.control(cursor, children)
        elif cursor.kind == k.CXX_FOR_RANGE_STMT:
            *head, body = children
            for child in head:
                self.inner(child)
            self.body(body)
        elif cursor.kind in (k.COMPOUND_STMT, k.CASE_STMT, k.DEFAULT_STMT, k.CXX_CATCH_STMT, k.CXX_TRY_STMT, k.DO_STMT, k.SWITCH_STMT,
                             k.LABEL_STMT):
            for i, child in enumerate(children):
                if cursor.kind == k.CASE_STMT and i == 0:
                    continue
                self.body(child)
        elif cursor.kind == k.RETURN_STMT:
            for child in children:
                self.returned(child)
        elif cursor.kind == k.DECL_STMT:
            for child in children:
                self.variable(child)
        elif cursor.kind.is_expression():
            self.expression(cursor)

    def variable(self, cursor):
        k = self.kinds
        if cursor.kind != k.VAR_DECL or re.match(r"(static\s+)?(inline\s+)?constexpr\b", self.text(cursor)):
            return
        for child in cursor.get_children():
            if child.kind.is_expression():
                self.expression(child)

    def inner(self, cursor):
        if cursor.kind.is_expression():
            self.expression(cursor)
        elif cursor.kind.is_statement():
            self.statement(cursor)
        elif cursor.kind == self.kinds.VAR_DECL:
            self.variable(cursor)

    def body(self, cursor):
        """A statement that stands for itself, so that it can be left out."""
        if cursor.kind in self.expressions_as_statements:
            self.leave_out(cursor)
        self.inner(cursor)

    def leave_out(self, cursor):
        begin, end = self.extent(cursor)
        text, tokens = self.header.text, self.header.source.tokens
        i = self.header.begins.get(begin)
        semicolon = re.compile(r"\s*;").match(text, end)
        if i is None or not semicolon or (re.match(r"[a-zA-Z_]\w*$", tokens[i]) and self.is_macro(tokens[i])):
            return
        before = tokens[i - 1]
        if before not in ("{", "}", ";", ")", "else", ":"):
            return
        end = semicolon.end()
        self.header.add(Place(begin, end, [Mutant("statement left out", [(begin, end, ";")])],
                              [(begin, end, "{{ if (!" + M + "is({0})) ", " }}")]))

    @staticmethod
    def is_macro(word):
        return word == "assert" or word.startswith("LEASEHOLD_")

    def control(self, cursor, children):
        k = self.kinds
        head = self.head(cursor)
        spans, tokens = self.header.source.spans, self.header.source.tokens
        if not head:
            return
        close = spans[head[1]][0]
        constant = cursor.kind == k.IF_STMT and tokens[head[0] - 1] != "if"
        inside = [child for child in children if child.extent.start.offset < close]
        condition = None
        if cursor.kind == k.FOR_STMT:
            ends = [spans[i][0] for i in range(*head) if tokens[i] == ";"]
            condition = next((child for child in inside if ends and ends[0] < child.extent.start.offset < ends[-1]), None)
        elif inside and inside[-1].kind.is_expression() and not any(
                child.kind == k.VAR_DECL and child.extent.end.offset >= inside[-1].extent.end.offset for child in inside):
            condition = inside[-1]  # and no variable that is declared there
        for child in children:
            if child.extent.start.offset > close:
                self.body(child)
            elif constant:
                continue
            elif child is condition:
                self.condition(child, loop=cursor.kind != k.IF_STMT)
            else:
                self.inner(child)

    def returned(self, cursor):
        k = self.kinds
        stripped = self.stripped(cursor)
        if stripped.kind in (k.DECL_REF_EXPR, k.MEMBER_REF_EXPR, k.CALL_EXPR) and cursor.type.spelling == "bool" and \
                not self.operator_of(stripped):
            self.wrap_bool(cursor, "flipped", "answer negated", "!(" + self.text(cursor) + ")")
        self.expression(cursor)

    # Expressions

    def stripped(self, cursor):
        """Without implicit conversions, which have the same extent as what they convert."""
        while cursor.kind == self.kinds.UNEXPOSED_EXPR:
            children = list(cursor.get_children())
            if len(children) != 1 or self.extent(children[0]) != self.extent(cursor):
                break
            cursor = children[0]
        return cursor

    def wrap_bool(self, cursor, how, kind, instead):
        begin, end = self.extent(cursor)
        self.header.add(Place(begin, end, [Mutant(kind, [(begin, end, instead)])], [(begin, end, M + how + "({0}, bool(", "))")]))

    def condition(self, cursor, loop):
        begin, end = self.extent(cursor)
        if begin >= end:
            return
        if not loop:
            self.wrap_bool(cursor, "always", "condition always true", "true")
        self.wrap_bool(cursor, "never", "condition never true", "false")
        self.expression(cursor, negated_already=True)

    def operands(self, cursor):
        """(left, operator's begin, operator, right) of an expression with two operands, built in or not; else None."""
        begin, end = self.extent(cursor)
        children = [child for child in cursor.get_children()
                    if child.kind.is_expression() and not re.fullmatch(r"[-+*/<>=!&|]{1,2}", self.text(child))]
        if len(children) != 2:
            return None
        left, right = children
        if left.extent.start.offset != begin or right.extent.end.offset != end:
            return None
        between = self.header.text[left.extent.end.offset:right.extent.start.offset]
        found = re.fullmatch(r"\s*([-+*/<>=!&|]{1,2})\s*", between)
        return found and (left, left.extent.end.offset + found.start(1), found.group(1), right)

    def operator_of(self, cursor):
        found = self.operands(cursor)
        return found[2] if found else ""

    def expression(self, cursor, negated_already=False):
        k = self.kinds
        cursor = self.stripped(cursor)
        begin, end = self.extent(cursor)
        if end <= begin:
            return
        if cursor.kind == k.LAMBDA_EXPR:
            for child in cursor.get_children():
                if child.kind == k.COMPOUND_STMT:
                    self.statement(child)
            return
        text = self.header.text[begin:end]
        if self.is_macro(re.match(r"\w*", text).group()) or cursor.kind in (k.DECL_REF_EXPR, k.SIZE_OF_PACK_EXPR) \
                or text.startswith(("requires", "sizeof", "noexcept", "decltype", "alignof")):
            return
        found = self.operands(cursor)
        if found:
            self.binary(begin, end, found, negated_already)
        elif cursor.kind == k.CXX_BOOL_LITERAL_EXPR and text in ("true", "false"):
            other = "false" if text == "true" else "true"
            self.header.add(Place(begin, end, [Mutant(text + " becomes " + other, [(begin, end, other)])],
                                  [(begin, end, M + "flipped({0}, ", ")")]))
        elif cursor.kind == k.INTEGER_LITERAL and text in ("0", "1"):
            other = "1" if text == "0" else "0"
            self.header.add(Place(begin, end, [Mutant(text + " becomes " + other, [(begin, end, other)])],
                                  [(begin, end, M + "zero_or_one({0}, ", ")")]))
        elif cursor.kind == k.UNARY_OPERATOR and re.match("![^=]", text) and not negated_already:
            self.wrap_bool(cursor, "flipped", "not left out", text[1:])
        elif cursor.kind == k.CONDITIONAL_OPERATOR:
            first, *rest = cursor.get_children()
            self.condition(first, loop=False)
            for child in rest:
                self.expression(child)
            return
        elif cursor.kind in (k.CALL_EXPR, k.UNEXPOSED_EXPR):
            self.minimum(cursor, begin, end, text)
        for child in cursor.get_children():
            if child.kind.is_expression():
                self.expression(child)

    def binary(self, begin, end, found, negated_already):
        left, at, operator, right = found
        behind = at + len(operator)
        parts = self.extent(left), self.extent(right)
        if operator in RELATIONS:
            name, bound, negation = RELATIONS[operator]
            self.header.add(Place(begin, end, [Mutant(f"{operator} becomes {bound}", [(at, behind, bound)]),
                                               Mutant(f"{operator} becomes {negation}", [(at, behind, negation)])],
                                  [(begin, end, M + name + "({0}, ", ")")], (at, behind, ",")))
        elif operator in EQUALITIES and not negated_already:
            other = EQUALITIES[operator]
            self.header.add(Place(begin, end, [Mutant(f"{operator} becomes {other}", [(at, behind, other)])],
                                  [(begin, end, M + "flipped({0}, ", ")")]))
        elif operator in LOGIC:
            other, neutral, how = ("||", "true", "always") if operator == "&&" else ("&&", "false", "never")
            mutants = [Mutant(f"{operator} becomes {other}", [(at, behind, other)])]
            spans = [(begin, end, "(" + M + "is({0}) != bool(", "))")]
            for i, part in enumerate(parts, 1):
                mutants.append(Mutant(f"part of {operator} left out", [(*part, neutral)]))
                spans.append((*part, "(" + M + "is({0}) != " + M + how + "({" + str(i) + "}, bool(", ")))"))
            self.header.add(Place(begin, end, mutants, spans))
        elif operator in ARITHMETIC:
            name, other = ARITHMETIC[operator]
            self.header.add(Place(begin, end, [Mutant(f"{operator} becomes {other}", [(at, behind, other)])],
                                  [(begin, end, M + name + "({0}, ", ")")], (at, behind, ",")))

    def minimum(self, cursor, begin, end, text):
        called = re.match(r"std::(min|max)\b(<[^()]*>)?\(", text)
        arguments = list(cursor.get_children())[-2:]
        open_at = self.header.begins.get(begin + called.end() - 1) if called else None
        if open_at is None or len(arguments) != 2 or self.header.source.spans[self.header.source.match[open_at]][1] != end:
            return
        word = called.group(1)
        other = "max" if word == "min" else "min"
        name = begin + len("std::")
        whole = [Mutant(f"{word} becomes {other}", [(name, name + 3, other)])]
        for child in arguments:
            whole.append(Mutant(f"one argument in place of {word}", [(begin, end, self.text(child))]))
        inside = begin + called.end()
        self.header.add(Place(begin, end, whole, [(inside, end, "{0}, ", "")], (begin, name, M)))
