# SPDX-License-Identifier: BSL-1.0
from conan import ConanFile


class SystemOpentelemetryConan(ConanFile):
    """The system's headers of OpenTelemetry's API in place of ConanCenter's package, to try leasehold without a network."""
    name = "opentelemetry-cpp"
    version = "system"
    settings = "os", "arch", "compiler", "build_type"
    package_type = "header-library"

    def package_id(self):
        self.info.clear()

    def package_info(self):
        api = self.cpp_info.components["opentelemetry_api"]  # as ConanCenter's package calls it
        api.set_property("cmake_target_name", "opentelemetry-cpp::opentelemetry_api")
        api.libdirs = api.includedirs = api.bindirs = []
