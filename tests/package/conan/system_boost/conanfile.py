# SPDX-License-Identifier: BSL-1.0
import sysconfig

from conan import ConanFile


class SystemBoostConan(ConanFile):
    """The system's Boost.Test and headers in place of ConanCenter's Boost, to try leasehold without a network."""
    name = "boost"
    version = "system"
    settings = "os", "arch", "compiler", "build_type"
    package_type = "shared-library"

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "Boost")
        headers = self.cpp_info.components["headers"]
        headers.set_property("cmake_target_name", "Boost::headers")
        headers.libdirs = headers.includedirs = headers.bindirs = []
        test = self.cpp_info.components["unit_test_framework"]
        test.requires = ["headers"]
        test.set_property("cmake_target_name", "Boost::unit_test_framework")
        test.defines = ["BOOST_ALL_DYN_LINK"]  # as ConanCenter's says it of a shared one
        test.libs = ["boost_unit_test_framework"]
        test.libdirs = [f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}"]
        test.includedirs = test.bindirs = []
