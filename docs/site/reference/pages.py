#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Makes the pages of the reference: pages.py XML_OF_DOXYGEN FOLDER. Each public name becomes a page in Markdown, and names.json lists them."""
import json
import pathlib
import re
import shutil
import sys
import xml.etree.ElementTree as ElementTree

PRIVATE = ("detail", "renewal", "waiting", "group", "v0", "std")
# Of a class, in this order: the members of these kinds
KINDS = [("typedef", "Types"), ("enum", "Types"), ("variable", "Data"), ("function", "Functions"), ("friend", "Functions")]
SPECIAL = {"*": "multiply", "==": "equal", "<=>": "compare", "<<": "print", "=": "assign", "()": "call", "->": "arrow"}


def is_private(name):
    parts = name.split("::")
    return any(part in PRIVATE for part in parts[:-1]) or parts[-1] in PRIVATE


def short(name):
    return re.sub(r"^leasehold::", "", name)


def page_of(name):
    """The file name of a public name's page."""
    name = short(name)
    for sign, word in SPECIAL.items():
        if name.endswith(f"operator{sign}"):
            name = name.removesuffix(sign) + f"-{word}"
    return re.sub(r"[^\w.-]", "-", name.replace("::", "."))


def escaped(text):
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", text).replace("{{", "{&#8203;{")


def code(text):
    text = text.strip()
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}" if text else ""


def plain(element):
    return re.sub(r"\s+", " ", "".join(element.itertext())).strip() if element is not None else ""


class Names:
    """What can be linked to: compounds and members by Doxygen's id."""

    def __init__(self):
        self.places = {}
        self.page = None  # the one that is being written

    def add(self, key, page, anchor=""):
        self.places.setdefault(key, {})[page] = anchor

    def link(self, key, text):
        """What several classes inherit is on the pages of all of them: on this one first."""
        places = self.places.get(key)
        if not places:
            return text
        page = self.page if self.page in places else next(iter(places))
        return text if page == self.page and not places[page] else f"[{text}](/reference/{page}.html{places[page]})"


class Writer:
    """Doxygen's description as Markdown."""

    def __init__(self, names):
        self.names = names

    def inline(self, element):
        parts = [escaped(element.text or "")]
        for child in element:
            parts.append(self.one(child))
            parts.append(escaped(child.tail or ""))
        return "".join(parts)

    def one(self, child):
        if child.tag == "computeroutput":
            refs = child.findall("ref")
            text = code("".join(child.itertext()))
            return self.names.link(refs[0].get("refid"), text) if len(refs) == 1 and plain(refs[0]) == plain(child) else text
        if child.tag == "ref":
            return self.names.link(child.get("refid"), code(plain(child)))
        if child.tag == "ulink":
            return f"[{self.inline(child)}]({child.get('url')})"
        if child.tag in ("bold", "emphasis"):
            return f"*{self.inline(child).strip()}*"
        if child.tag in ("linebreak", "zwj", "anchor"):
            return " " if child.tag == "linebreak" else ""
        return self.block(child) if child.tag in ("table", "verbatim", "itemizedlist", "orderedlist", "simplesect") else self.inline(child)

    def block(self, element):
        if element.tag == "verbatim":
            return f"\n\n```cpp\n{(element.text or '').rstrip()}\n```\n\n"
        if element.tag == "table":
            return f"\n\n{self.table(element)}\n\n"
        if element.tag in ("itemizedlist", "orderedlist"):
            return "\n\n" + "\n".join(f"- {self.inline(item).strip()}" for item in element.findall("listitem")) + "\n\n"
        return f"\n\n{self.inline(element).strip()}\n\n"

    def table(self, table):
        rows = [[re.sub(r"\s+", " ", self.inline(entry)).strip() for entry in row.findall("entry")] for row in table.findall("row")]
        rows.insert(1, ["---"] * len(rows[0]))
        return "\n".join("| " + " | ".join(row) + " |" for row in rows)

    def description(self, element):
        paragraphs = []
        for part in ("briefdescription", "detaileddescription"):
            for para in element.findall(f"{part}/para"):
                text = re.sub(r"[ \t]*\n{3,}", "\n\n", self.inline(para)).strip()
                if text:
                    paragraphs.append(re.sub(r"(?<=\.) (?=(Thread safety|Lifetime|Errors): )", "\n\n", text))
        return "\n\n".join(paragraphs)


def template_of(element):
    parameters = element.find("templateparamlist")
    if parameters is None:
        return ""
    texts = []
    for each in parameters.findall("param"):
        text = " ".join(filter(None, [plain(each.find("type")), plain(each.find("declname"))]))
        value = plain(each.find("defval"))
        texts.append(f"{text} = {value}" if value else text)
    clause = plain(element.find("requiresclause"))
    return f"template <{', '.join(texts)}>\n" + (f"    requires {clause}\n" if clause else "")


def without_scope(text, scope):
    """A declaration without the class or namespace that it stands in."""
    text = re.sub(re.escape(scope) + r"(< [^()]*? >)?::", "", text)
    return re.sub(r"\bleasehold::(v0::)?", "", text)


def declaration(member, scope):
    kind = member.get("kind")
    name = member.findtext("name")
    if kind == "enum":
        values = [f"    {each.findtext('name')}{' ' + plain(each.find('initializer')) if each.find('initializer') is not None else ''}"
                  for each in member.findall("enumvalue")]
        return f"enum class {name} {{\n" + ",\n".join(values) + "\n};"
    attributes = [word for word in ("static", "explicit") if member.get(word) == "yes"]
    text = without_scope(plain(member.find("type")), scope)
    if kind == "typedef":
        return f"{template_of(member)}using {name} = {tidy(text)};"
    if kind == "friend" or text.split(" ")[0] == "friend":
        attributes = []
    text = tidy(" ".join(filter(None, [*attributes, text, name])))
    if kind in ("function", "friend"):
        arguments = plain(member.find("argsstring")).replace(") const &noexcept", ") const& noexcept").replace("const &&", "const&&")
        arguments = re.sub(r"\) const &", ") const&", arguments)
        text += re.sub(r" ([&*])(?=\w)", r"\1 ", re.sub(r"(?<![=<>! ])=(?=[\w{])", " = ", arguments)).replace("  =", " =")
        text = text if len(text) <= 78 else wrapped(text)
    elif kind == "variable" and member.find("initializer") is not None:
        initializer = plain(member.find("initializer"))
        text += initializer if initializer.startswith("{") else f" {initializer}"
    return template_of(member) + text + ";"


def tidy(text):
    text = re.sub(r"(?<=\w)< ", "<", text)
    return re.sub(r"(?<=[\w&*>]) >", ">", text).replace(" &", "&").replace(" *", "*").replace(" &&", "&&")


def wrapped(text):
    """A long declaration with a parameter a line."""
    begin = text.find("(")
    depth, parts, last = 0, [], begin + 1
    for at in range(begin, len(text)):
        depth += text[at] in "(<[{"
        depth -= text[at] in ")]}" or (text[at] == ">" and text[at - 1] != "-")
        if text[at] == "," and depth == 1:
            parts.append(text[last:at])
            last = at + 1
    return text[:begin + 1] + ",".join([*parts, text[last:]]).replace(", ", ",\n    ") if not parts else \
        text[:begin + 1] + "\n    " + ",\n    ".join(part.strip() for part in [*parts, text[last:]])


class Reference:
    def __init__(self, folder):
        self.compounds = {}
        for path in sorted(pathlib.Path(folder).glob("*.xml")):
            root = ElementTree.parse(path).getroot()
            for each in root.findall("compounddef"):
                if each.get("kind") in ("class", "struct", "concept", "namespace"):
                    self.compounds[each.get("id")] = each
        self.by_name = {each.findtext("compoundname"): each for each in self.compounds.values()}
        self.names = Names()
        self.writer = Writer(self.names)
        self.index = []

    def is_public(self, compound):
        name = compound.findtext("compoundname")
        return name.startswith("leasehold::") and "<" not in name and not is_private(name) and compound.get("prot") in (None, "public")

    def types(self):
        return [each for each in self.compounds.values() if each.get("kind") != "namespace" and self.is_public(each)]

    def free_members(self):
        """Of namespaces, by qualified name."""
        found = {}
        for each in self.compounds.values():
            scope = each.findtext("compoundname")
            if each.get("kind") != "namespace" or (scope != "leasehold" and not self.is_public(each)):
                continue
            for member in each.findall("sectiondef/memberdef"):
                name = f"{scope}::{member.findtext('name')}"
                # Deduction guides have the name of their class, whose page says more.
                if name not in self.by_name and self.writer.description(member):
                    found.setdefault(name, []).append((scope, member))
        return found

    def members(self, compound, seen=()):
        """The public members with a comment, also of bases that have no page of their own."""
        scope = compound.findtext("compoundname")
        found = [(scope, member) for member in compound.findall("sectiondef/memberdef")
                 if member.get("prot") == "public" and self.writer.description(member)]
        own = {member.findtext("name") for _, member in found}
        for base in compound.findall("basecompoundref"):
            name = re.sub(r"<.*", "", plain(base)).strip()
            there = self.compounds.get(base.get("refid")) or self.by_name.get(name) or self.by_name.get(f"leasehold::{name}")
            if there is None or base.get("prot") != "public" or there.get("id") in seen or self.is_public(there):
                continue
            inherited = self.members(there, (*seen, compound.get("id")))
            found += [(s, m) for s, m in inherited if m.findtext("name") not in own and m.findtext("name") != there.findtext("compoundname").split("::")[-1]]
        return found

    def name_all(self):
        for each in self.types():
            page = page_of(each.findtext("compoundname"))
            self.names.add(each.get("id"), page)
            for _, member in self.members(each):
                name = member.findtext("name")
                self.names.add(member.get("id"), page, f"#{name}" if re.fullmatch(r"\w+", name) else "")
        for name, members in self.free_members().items():
            for _, member in members:
                self.names.add(member.get("id"), page_of(name))
                for value in member.findall("enumvalue"):
                    self.names.add(value.get("id"), page_of(name))

    def member_texts(self, members):
        """One heading for all overloads of a name."""
        texts = []
        for title in dict.fromkeys(title for _, title in KINDS):
            kinds = [kind for kind, of in KINDS if of == title]
            named = {}
            for scope, member in members:
                if member.get("kind") in kinds:
                    named.setdefault(member.findtext("name"), []).append((scope, member))
            if named:
                texts.append(f"## {title}")
            for name, same in named.items():
                texts.append(f"### {escaped(name)}")
                texts += self.overloads(same)
        return texts

    def overloads(self, members):
        texts = []
        for scope, member in members:
            texts += [f"```cpp\n{declaration(member, scope)}\n```", self.writer.description(member)]
            values = [each for each in member.findall("enumvalue") if self.writer.description(each)]
            if values:
                texts.append("| value | |\n|---|---|\n" + "\n".join(
                    f"| {code(each.findtext('name'))} | {self.writer.description(each)} |" for each in values))
        return texts

    def type_page(self, compound):
        name = compound.findtext("compoundname")
        self.names.page = page_of(name)
        kind = compound.get("kind")
        if kind == "concept":
            shown = without_scope("".join(compound.find("initializer").itertext()).strip() + ";", "leasehold")
            shown = re.sub(r" =  ", " = ", shown)
        else:
            shown = f"{template_of(compound)}{kind} {short(name)};"
        texts = [f"# {escaped(short(name))}", f"```cpp\n#include <{compound.findtext('includes')}>\n```", self.writer.description(compound),
                 f"```cpp\n{shown}\n```", *self.member_texts(self.members(compound))]
        return name, kind, compound.findtext("includes"), plain(compound.find("briefdescription")), texts

    def free_page(self, name, members):
        self.names.page = page_of(name)
        file = members[0][1].find("location").get("file")
        texts = [f"# {escaped(short(name))}", f"```cpp\n#include <{file}>\n```", *self.overloads(members)]
        return name, members[0][1].get("kind"), file, plain(members[0][1].find("briefdescription")), texts

    def write(self, out, main_page):
        self.name_all()
        pages = [self.type_page(each) for each in self.types()] + [self.free_page(*each) for each in self.free_members().items()]
        self.names.page = "index"
        for name, kind, file, brief, texts in sorted(pages):
            text = "\n\n".join(filter(None, texts))
            (out / f"{page_of(name)}.md").write_text(f"{text}\n", encoding="utf-8")
            self.index.append({"name": short(name), "page": page_of(name), "kind": kind, "file": file, "brief": brief,
                               "members": sorted({each.replace("\\", "") for each in re.findall(r"^### (\w[\w\\]*)$", text, re.M)})})
        (out / "names.json").write_text(json.dumps(self.index, indent=1), encoding="utf-8")
        (out / "index.md").write_text(self.contents(main_page), encoding="utf-8")

    def contents(self, main_page):
        groups = {}
        for each in self.index:
            groups.setdefault(group_of(each["file"]), []).append(each)
        texts = [re.sub(r" \{#mainpage\}", "", main_page).strip()]
        for group, pages in sorted(groups.items(), key=lambda item: (item[0] != "leasehold", item[0])):
            texts.append(f"## {group}")
            texts.append("| name | |\n|---|---|\n" + "\n".join(
                f"| [{code(each['name'])}](/reference/{each['page']}.html) | {escaped(each['brief'])} |" for each in pages))
        return "\n\n".join(texts) + "\n"


def group_of(file):
    """The folder of a header, as the menu shows it."""
    return "/".join(pathlib.PurePosixPath(file or "leasehold/x").parts[:-1])


def main():
    source, out = sys.argv[1], pathlib.Path(sys.argv[2])
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    Reference(source).write(out, (pathlib.Path(__file__).parent.parent / "api.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
