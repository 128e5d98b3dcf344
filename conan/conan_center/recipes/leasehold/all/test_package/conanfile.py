import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class TestPackageConan(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps"

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires(self.tested_reference_str)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # leaves no CMakeUserPresets.json beside the sources
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            for program in ("test_package", "test_odbc", "test_asio"):
                path = os.path.join(self.cpp.build.bindir, program)
                if os.path.exists(path) or os.path.exists(path + ".exe"):
                    self.run(path, env="conanrun")
