import os

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, get
from conan.tools.layout import basic_layout

required_conan_version = ">=2.0"


class LeaseholdConan(ConanFile):
    name = "leasehold"
    description = "Leases, locks and leader election in the database you already have"
    license = "BSL-1.0"
    url = "https://github.com/conan-io/conan-center-index"
    homepage = "https://github.com/OWNER/leasehold"
    topics = ("lease", "distributed-lock", "leader-election", "odbc", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"with_odbc": [True, False]}
    default_options = {"with_odbc": False}
    no_copy_source = True

    def layout(self):
        basic_layout(self, src_folder="src")

    def requirements(self):
        if self.options.with_odbc and self.settings.os != "Windows":
            self.requires("odbc/2.3.11")

    def package_id(self):
        self.info.clear()

    def validate(self):
        check_min_cppstd(self, 20)

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def build(self):
        pass

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*.hpp", os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "leasehold")
        # Not leasehold::leasehold: a root target links every component, so that users of the core would link ODBC.
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

    def _component(self, name, target, module):
        component = self.cpp_info.components[name]
        component.set_property("cmake_target_name", target)
        component.set_property("pkg_config_name", module)
        component.bindirs = component.libdirs = []
        return component
