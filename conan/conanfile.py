# SPDX-License-Identifier: BSL-1.0
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load
from conan.tools.scm import Version

required_conan_version = ">=2.0"


class LeaseholdConan(ConanFile):
    name = "leasehold"
    description = "Leases, locks and leader election in the database you already have"
    license = "BSL-1.0"
    url = "https://github.com/OWNER/leasehold"
    homepage = "https://github.com/OWNER/leasehold"
    topics = ("lease", "distributed-lock", "leader-election", "odbc", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"with_odbc": [True, False], "with_asio": [True, False], "with_opentelemetry": [True, False],
               "enable_contract": [True, False]}
    default_options = {"with_odbc": False, "with_asio": False, "with_opentelemetry": False, "enable_contract": False}
    no_copy_source = True

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "..", "include", "leasehold", "version.hpp"))
        self.version = ".".join(re.search(rf"LEASEHOLD_VERSION_{part} (\d+)", header).group(1)
                                for part in ("MAJOR", "MINOR", "PATCH"))

    def export_sources(self):
        top = os.path.join(self.recipe_folder, "..")
        copy(self, "LICENSE", top, self.export_sources_folder)
        for headers in ("include", "tests/contract", "tests/history", "tests/support"):
            copy(self, "*.hpp", os.path.join(top, headers), os.path.join(self.export_sources_folder, headers))

    def layout(self):
        self.folders.root = ".."  # where `conan editable` finds the headers
        self.folders.source = "."
        self.folders.build = self.folders.generators = "build/conan"  # which is ignored, so that a checkout stays clean
        self.cpp.source.components["core"].includedirs = ["include"]
        if self.options.with_odbc:
            self.cpp.source.components["odbc"].includedirs = ["include"]
        if self.options.with_asio:
            self.cpp.source.components["asio"].includedirs = ["include"]
        if self.options.with_opentelemetry:
            self.cpp.source.components["opentelemetry"].includedirs = ["include"]
        if self.options.enable_contract:
            self.cpp.source.components["contract"].includedirs = ["tests"]

    def requirements(self):
        if self.options.with_odbc and self.settings.os != "Windows":
            self.requires("odbc/2.3.11")
        if self.options.with_asio or self.options.enable_contract:
            self.requires("boost/1.83.0")
        if self.options.with_opentelemetry:
            self.requires("opentelemetry-cpp/1.17.0")

    def package_id(self):
        self.info.clear()

    def validate(self):
        check_min_cppstd(self, 20)
        # What the tests run with; of the others, the first that may have what is needed. libc++ before 20 has no std::stop_token.
        compiler, version = str(self.settings.compiler), Version(self.settings.compiler.version)
        oldest = {"gcc": "12", "clang": "14", "apple-clang": "17", "msvc": "193"}.get(compiler)
        if oldest and version < oldest:
            raise ConanInvalidConfiguration(f"{self.ref} needs {compiler} {oldest} or later")
        if compiler == "clang" and self.settings.get_safe("compiler.libcxx") == "libc++" and version < "20":
            raise ConanInvalidConfiguration(f"{self.ref} needs std::stop_token, which libc++ has from version 20 on")

    def build(self):
        pass

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*.hpp", os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))
        # The tests for stores of users' own. Not in include/: they need Boost.Test.
        tests, installed = os.path.join(self.source_folder, "tests"), os.path.join(self.package_folder, "res")
        copy(self, "contract/*.hpp", tests, installed, excludes=("*/odbc_*", "*/broken_store*"))
        copy(self, "history/*.hpp", tests, installed, excludes=("*/exhaustive*", "*/random_history*", "*/written*"))
        for header in ("eventually.hpp", "printing.hpp"):
            copy(self, f"support/{header}", tests, installed)

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "leasehold")
        # A root target links every component, so that users of the core would link ODBC: no name to be taken for the core's.
        self.cpp_info.set_property("cmake_target_name", "leasehold::all")
        self.cpp_info.set_property("pkg_config_name", "leasehold-all")
        core = self._component("core", "leasehold::leasehold", "leasehold")
        if self.settings.os in ("Linux", "FreeBSD"):
            core.system_libs = ["pthread"]
        if self.options.with_odbc:
            odbc = self._component("odbc", "leasehold::odbc", "leasehold-odbc")
            odbc.requires = ["core"]
            if self.settings.os == "Windows":
                odbc.system_libs = ["odbc32"]
            else:
                odbc.requires.append("odbc::odbc")
        if self.options.with_asio:
            asio = self._component("asio", "leasehold::asio", "leasehold-asio")
            asio.requires = ["core", "boost::headers"]
        if self.options.with_opentelemetry:
            telemetry = self._component("opentelemetry", "leasehold::opentelemetry", "leasehold-opentelemetry")
            telemetry.requires = ["core", "opentelemetry-cpp::opentelemetry_api"]
        if self.options.enable_contract:
            contract = self._component("contract", "leasehold::contract", "leasehold-contract")
            contract.includedirs = ["res"]
            contract.requires = ["core", "boost::unit_test_framework"]

    def _component(self, name, target, module):
        component = self.cpp_info.components[name]
        component.set_property("cmake_target_name", target)
        component.set_property("pkg_config_name", module)
        component.bindirs = component.libdirs = []
        return component
