# SPDX-License-Identifier: BSL-1.0
from conan import ConanFile

required_conan_version = ">=2.0"


class SystemUnixodbcConan(ConanFile):
    """The system's unixODBC under the name of ConanCenter's, to try leasehold without a network:

    conan export conan/system_unixodbc
    """
    name = "odbc"
    version = "2.3.11"
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
        self.cpp_info.system_libs = ["odbc"]
        self.cpp_info.includedirs = self.cpp_info.libdirs = self.cpp_info.bindirs = []
