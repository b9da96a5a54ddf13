"""check.py ROOT CMAKE WORK: the vcpkg port and the Conan recipe, by what can be said without vcpkg and Conan: the files are
of their grammar, both run on stand-ins of what they call, and each option, file and version that they name exists.
SPDX-License-Identifier: MIT
"""
import fnmatch
import json
import pathlib
import re
import subprocess
import sys
import types

root, cmake, work = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], pathlib.Path(sys.argv[3])
work.mkdir(parents=True, exist_ok=True)
project = (root / "CMakeLists.txt").read_text()
version = re.search(r"project\(culvert VERSION ([\d.]+)", project).group(1)
options = set(re.findall(r"^option\((\w+)", project, re.M)) | {"CULVERT_VULKAN_INCLUDE_DIR", "CMAKE_INSTALL_BINDIR"}


def need(what, said):
    if not what:
        sys.exit(f"FAILED: {said}")


# vcpkg: the manifest, and the port on functions that say how they were called.
port = root / "packaging/vcpkg/culvert"
manifest = json.loads((port / "vcpkg.json").read_text())
need(manifest["name"] == "culvert" and manifest["version-semver"] == version, f"the port's version is not {version}")
need(set(manifest) <= {"name", "version-semver", "description", "license", "supports", "dependencies", "features"}, "a field of no manifest")
need(re.fullmatch(r"[\w\s()|&!]+", manifest["supports"]), "supports is no platform expression")
FUNCTIONS = ("vcpkg_cmake_configure", "vcpkg_cmake_install", "vcpkg_cmake_config_fixup", "vcpkg_fixup_pkgconfig",
             "vcpkg_install_copyright")
OF_A_SYSTEM = {"ON": "vcpkg_copy_tools", "OFF": "vcpkg_replace_string"} # by VCPKG_TARGET_IS_WINDOWS
stand_ins = "".join(f'function({f})\n  message("{f}: ${{ARGV}}")\nendfunction()\n' for f in (*FUNCTIONS, *OF_A_SYSTEM.values()))
stand_ins += """function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" OUT_FEATURE_OPTIONS FEATURES)
  set(made "")
  while(arg_FEATURES)
    list(POP_FRONT arg_FEATURES feature option)
    message("feature: ${feature}")
    if(feature IN_LIST FEATURES)
      list(APPEND made -D${option}=ON)
    else()
      list(APPEND made -D${option}=OFF)
    endif()
  endwhile()
  set(${arg_OUT_FEATURE_OPTIONS} ${made} PARENT_SCOPE)
endfunction()
"""
for windows, other in OF_A_SYSTEM.items():
    (work / "port.cmake").write_text(f"cmake_minimum_required(VERSION 3.22)\n{stand_ins}set(FEATURES core soft tools)\nset(PORT culvert)\n"
                                     f"set(VCPKG_TARGET_IS_WINDOWS {windows})\nset(CURRENT_PACKAGES_DIR \"{work}/packages\")\n"
                                     f"include(\"{port}/portfile.cmake\")\n")
    ran = subprocess.run([cmake, "-P", str(work / "port.cmake")], capture_output=True, text=True)
    need(ran.returncode == 0, f"the port: {ran.stderr}")
    for function in (*FUNCTIONS, other):
        need(f"{function}: " in ran.stderr or f"{function}:" in ran.stderr, f"the port does not call {function}")
used = re.findall(r"-D(\w+)=", ran.stderr)
need(used and set(used) <= options, f"the port sets {set(used) - options}")
need(set(re.findall(r"^feature: (\w+)", ran.stderr, re.M)) == set(manifest["features"]), "features of the port are not the manifest's")
need(f"SOURCE_PATH;{root};" in ran.stderr, "the port builds another tree")
need("culvert::culvert" in (port / "usage").read_text(), "usage")

# Conan: the recipe on stand-ins of its modules.
for name in ("conanfile.py", "test_package/conanfile.py"):
    source = root / "packaging/conan" / name
    compile(source.read_text(), str(source), "exec")


class Base: # ConanFile
    recipe_folder = str(root / "packaging/conan")


class Bag(dict):
    """settings and options: attributes, rm_safe, get_safe."""

    def __getattr__(self, name):
        return self[name]

    def rm_safe(self, name):
        self.pop(name, None)

    def get_safe(self, name, default=None):
        return self.get(name, default)


class Toolchain:
    def __init__(self, recipe):
        self.cache_variables = recipe.variables = {}

    def generate(self):
        pass


class Nothing:
    def __init__(self, *_):
        pass

    def __getattr__(self, _):
        return lambda *a, **k: None


copied = []


def stand_in(name, **content):
    module = types.ModuleType(name)
    module.__dict__.update(content)
    sys.modules[name] = module


def copy(_, pattern, src, dst):
    found = [p for p in pathlib.Path(src).rglob("*") if p.is_file() and fnmatch.fnmatch(p.relative_to(src).as_posix(), pattern)] \
        if "*" in pattern else [pathlib.Path(src) / pattern]
    need(found and all(p.exists() for p in found[:1]), f"the recipe copies {pattern}, which does not exist")
    copied.append((pattern, dst))


stand_in("conan", ConanFile=Base)
stand_in("conan.errors", ConanInvalidConfiguration=type("ConanInvalidConfiguration", (Exception,), {}))
stand_in("conan.tools")
stand_in("conan.tools.cmake", CMake=Nothing, CMakeDeps=Nothing, CMakeToolchain=Toolchain, cmake_layout=lambda _: None)
stand_in("conan.tools.files", copy=copy, load=lambda _, path: pathlib.Path(path).read_text(), rmdir=lambda _, path: None)
namespace = {}
exec(compile((root / "packaging/conan/conanfile.py").read_text(), "conanfile.py", "exec"), namespace)
recipe = namespace["CulvertConan"]()
recipe.set_version()
need(recipe.version == version, "the recipe's version")
recipe.settings = Bag(os="Linux", arch="x86_64")
recipe.options = Bag({name: recipe.default_options[name] for name in recipe.options})
recipe.requires = lambda reference, **_: None
recipe.dependencies = {"vulkan-headers": types.SimpleNamespace(cpp_info=types.SimpleNamespace(includedirs=["/headers"]))}
recipe.cpp_info = types.SimpleNamespace(set_property=lambda *_: None, builddirs=[])
recipe.source_folder, recipe.package_folder, recipe.export_sources_folder = str(root), str(work), str(work / "sources")
for step in ("export_sources", "config_options", "configure", "validate", "requirements", "layout", "generate", "build", "package", "package_info"):
    getattr(recipe, step)()
need(set(recipe.variables) <= options, f"the recipe sets {set(recipe.variables) - options}")
need(recipe.cpp_info.libs == ["culvert"] and len(copied) == len(recipe.sources) + 1, "the recipe's files")
recipe.settings["os"] = "Macos"
try:
    recipe.validate()
    need(False, "the recipe takes macOS")
except namespace["ConanInvalidConfiguration"]:
    pass
# All that a build reads is exported: the directories that CMakeLists.txt adds for the library, the twin and the tools.
for folder in ("src", "soft", "tools", "cmake", "cuda_headers", "include"):
    need(any(p.startswith(folder + "/") for p in recipe.sources), f"the recipe leaves {folder} out")
for page in (root / "docs/man").glob("*.1"): # an installation has them
    need(any(fnmatch.fnmatch(page.relative_to(root).as_posix(), p) for p in recipe.sources), f"the recipe leaves {page.name} out")
print(f"vcpkg: {len(used)} options, Conan: {len(recipe.variables)}; each exists")
