# SPDX-License-Identifier: BSL-1.0
import os
import sysconfig

from conan import ConanFile
from conan.errors import ConanException

required_conan_version = ">=2.0"


class SystemUnixodbcConan(ConanFile):
    """The system's unixODBC in place of ConanCenter's: see README.md of the folder above."""
    name = "odbc"
    version = "system"
    description = "unixODBC as the system has it"
    license = "LGPL-2.1-or-later"
    settings = "os", "arch", "compiler", "build_type"
    package_type = "shared-library"

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "both")
        self.cpp_info.set_property("cmake_file_name", "ODBC")
        self.cpp_info.set_property("cmake_target_name", "ODBC::ODBC")
        self.cpp_info.set_property("pkg_config_name", "odbc")
        # By its file, not as a system library: where a project has a target called odbc, CMake would link that one.
        self.cpp_info.libs = ["odbc"]
        self.cpp_info.libdirs = [self._folder()]
        self.cpp_info.includedirs = self.cpp_info.bindirs = []

    def _folder(self):
        for folder in (f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}", "/usr/lib64", "/usr/lib", "/usr/local/lib",
                       "/opt/homebrew/lib"):
            if any(os.path.exists(os.path.join(folder, f"libodbc.{kind}")) for kind in ("so", "dylib", "a")):
                return folder
        raise ConanException("odbc/system: no unixODBC to link here (Debian, Ubuntu: unixodbc-dev)")
