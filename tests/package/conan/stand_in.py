#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""What a Conan recipe says of itself, without Conan: stand_in.py RECIPE PAGE. For each choice of its options and some systems, its
requirements and components fit together as Conan demands, and its targets are those in the page's table. It refuses the compilers
that the page says, and no others."""
import importlib.util
import itertools
import pathlib
import re
import sys
import types

sys.dont_write_bytecode = True


class Cpp(types.SimpleNamespace):
    """A component, or the package as a whole."""
    def __init__(self):
        super().__init__(requires=[], system_libs=[], includedirs=["include"], properties={})

    def set_property(self, name, value):
        self.properties[name] = value


class Info(Cpp):
    def __init__(self):
        super().__init__()
        self.components = Components()


class Version:
    def __init__(self, text):
        self.text = str(text)

    def __lt__(self, other):
        return [int(part) for part in self.text.split(".")] < [int(part) for part in str(other).split(".")]


class Settings(types.SimpleNamespace):
    def get_safe(self, name):
        return getattr(self.compiler, name.split(".")[1], None)


class Compiler(types.SimpleNamespace):
    def __str__(self):
        return self.name


class Refused(Exception):
    pass


class Components(dict):
    def __missing__(self, name):
        self[name] = Cpp()
        return self[name]


class ConanFile:
    def requires(self, reference):
        self.required.append(reference)


def stand_in():
    names = {"conan": {"ConanFile": ConanFile}, "conan.errors": {"ConanInvalidConfiguration": Refused}, "conan.tools": {},
             "conan.tools.build": {"check_min_cppstd": lambda recipe, oldest: None}, "conan.tools.files": {"copy": None, "get": None, "load": None},
             "conan.tools.layout": {"basic_layout": lambda recipe, src_folder: None}, "conan.tools.scm": {"Version": Version}}
    for name, members in names.items():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(members)


def recipe_class(path):
    spec = importlib.util.spec_from_file_location("recipe", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.LeaseholdConan


def described(recipe_type, options, system):
    recipe = recipe_type()
    recipe.options, recipe.settings, recipe.required = types.SimpleNamespace(**options), types.SimpleNamespace(os=system), []
    recipe.folders, recipe.cpp_info = types.SimpleNamespace(), Info()
    recipe.cpp = types.SimpleNamespace(source=Info())
    recipe.layout()
    recipe.requirements()
    recipe.package_info()
    return recipe


def table(page):
    """{component: (CMake's target, pkg-config's module, option or None)}"""
    rows = {}
    for line in page.splitlines():
        row = re.match(r"\| `leasehold::(\w+)` \| `([\w:-]+)` \| `([\w-]+)` \| (?:`(\w+)`)?", line)
        if row:
            rows[row[1]] = (row[2], row[3], row[4])
    return rows


def check(recipe, options, rows, page):
    there = {name: (each.properties["cmake_target_name"], each.properties["pkg_config_name"]) for name, each in recipe.cpp_info.components.items()}
    wanted = {name: row[:2] for name, row in rows.items() if row[2] is None or options[row[2]]}
    assert there == wanted, f"components {there}, but the page has {wanted}"
    # Conan links the root target to all components. Users who meet its name must not take it for the core's.
    root = recipe.cpp_info.properties["cmake_target_name"]
    assert root == "leasehold::all" and f"not `{root}`" in page, f"the page does not warn of {root}"
    assert recipe.cpp_info.properties["pkg_config_name"] == "leasehold-all"
    packages = {reference.split("/")[0] for reference in recipe.required}
    used = set()
    for name, component in recipe.cpp_info.components.items():
        if name == "core":
            assert not component.requires, "the core requires something"
            continue
        assert "core" in component.requires, f"{name} does not require the core"
        used |= {each.split("::")[0] for each in component.requires if "::" in each}
    assert packages == used, f"required {packages}, used by components {used}"
    headers = {name for name, component in recipe.cpp_info.components.items() if component.includedirs == ["include"]}
    editable = set(recipe.cpp.source.components)  # nothing, where the recipe can't be used from a checkout
    assert not editable or editable == set(recipe.cpp_info.components), f"from a checkout: {editable}"
    assert headers == set(wanted) - {"contract"}, headers


def takes(recipe_type, name, version, libcxx):
    recipe = recipe_type()
    recipe.ref, recipe.settings = "leasehold", Settings(compiler=Compiler(name=name, version=version, libcxx=libcxx))
    try:
        recipe.validate()
    except Refused:
        return False
    return True


def check_compilers(recipe_type, page):
    """The oldest of each compiler is on the page, as in `gcc` 12; a version older is refused."""
    for name, libcxx, oldest in (("gcc", "libstdc++11", 12), ("clang", "libstdc++11", 14), ("clang", "libc++", 20),
                                 ("apple-clang", "libc++", 17), ("msvc", None, 193)):
        said = f"`{libcxx}` of `{name}` {oldest}" if libcxx == "libc++" and name == "clang" else f"`{name}` {oldest}"
        assert said in page, f"the page does not say {said}"
        for version, right in ((oldest - 1, False), (oldest, True), (oldest + 1, True)):
            assert takes(recipe_type, name, str(version), libcxx) == right, f"{name} {version} with {libcxx}: should it be taken? {right}"
    assert not takes(recipe_type, "apple-clang", "13", "libc++") and not takes(recipe_type, "clang", "9", "libc++")


def main():
    stand_in()
    recipe_type = recipe_class(sys.argv[1])
    page = pathlib.Path(sys.argv[2]).read_text(encoding="utf-8")
    rows = table(page)
    try:
        check_compilers(recipe_type, page)
    except AssertionError as failed:
        sys.exit(f"{sys.argv[1]}: {failed}")
    names = list(recipe_type.options)
    assert {row[2] for row in rows.values()} == {None, *names}, f"options {names}, but the page has {rows}"
    for name, default in recipe_type.default_options.items():
        said = "on" if default else "off"
        assert f"`{name}`, {said} by default" in page, f"the page does not say that {name} is {said} by default"
    for values in itertools.product([False, True], repeat=len(names)):
        for system in ("Linux", "Windows", "Macos"):
            options = dict(zip(names, values))
            try:
                check(described(recipe_type, options, system), options, rows, page)
            except AssertionError as failed:
                sys.exit(f"{sys.argv[1]}: {options} on {system}: {failed}")


if __name__ == "__main__":
    main()
