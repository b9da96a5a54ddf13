# SPDX-License-Identifier: MIT
"""Culvert for Conan 2: `conan create packaging/conan` builds the sources around this file."""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir


class CulvertConan(ConanFile):
    name = "culvert"
    description = "CUDA and graphics APIs on the same GPU memory, without copies"
    license = "MIT"
    topics = ("cuda", "vulkan", "opengl", "interop", "gpu")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "soft": [True, False], "tools": [True, False]}
    default_options = {"shared": True, "fPIC": True, "soft": False, "tools": False}
    sources = ("CMakeLists.txt", "LICENSE", "README.md", "cmake/*", "cuda_headers/*", "docs/*.md", "docs/man/*", "include/*", "samples/*", "soft/*",
               "src/*", "tools/*")

    @property
    def top(self):
        return os.path.normpath(os.path.join(self.recipe_folder, "..", ".."))

    def set_version(self):
        self.version = re.search(r"project\(culvert VERSION ([\d.]+)", load(self, os.path.join(self.top, "CMakeLists.txt"))).group(1)

    def export_sources(self):
        for pattern in self.sources:
            copy(self, pattern, src=self.top, dst=self.export_sources_folder)

    def config_options(self):
        if self.settings.os == "Windows":
            self.options.rm_safe("fPIC")
            self.options.rm_safe("soft")

    def configure(self):
        if self.options.shared:
            self.options.rm_safe("fPIC")
        self.settings.rm_safe("compiler.cppstd") # the library is C
        self.settings.rm_safe("compiler.libcxx")

    def validate(self):
        if self.settings.os not in ("Linux", "Windows"):
            raise ConanInvalidConfiguration("Culvert is for Linux and Windows: NVIDIA's driver is nowhere else")

    def requirements(self):
        self.requires("vulkan-headers/[>=1.3.239]", transitive_headers=True)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["CULVERT_SOFT"] = bool(self.options.get_safe("soft", False))
        toolchain.cache_variables["CULVERT_TOOLS"] = bool(self.options.tools)
        toolchain.cache_variables["CULVERT_CHECK"] = bool(self.options.tools)
        for part in ("TESTS", "SAMPLES", "BENCH"):
            toolchain.cache_variables[f"CULVERT_{part}"] = False
        headers = self.dependencies["vulkan-headers"].cpp_info.includedirs[0]
        toolchain.cache_variables["CULVERT_VULKAN_INCLUDE_DIR"] = headers.replace("\\", "/")
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        rmdir(self, os.path.join(self.package_folder, "share", "doc"))

    def package_info(self):
        # The package's own files for CMake and pkg-config are used.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs.append(os.path.join("lib", "cmake", "culvert"))
        microsoft = self.settings.os == "Windows" and self.settings.compiler != "gcc"
        self.cpp_info.libs = ["culvert_static" if microsoft and not self.options.shared else "culvert"]
        if not self.options.shared:
            self.cpp_info.defines = ["CULV_STATIC"]
        if self.settings.os == "Linux":
            self.cpp_info.system_libs = ["dl", "pthread"]
