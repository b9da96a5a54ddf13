# SPDX-License-Identifier: MIT
"""Makes wheels and source archives of the package: the back-end that pyproject.toml names (PEP 517), and scripts/wheel.

It needs Python's own library, and for `pip install .` what building Culvert needs besides: a C compiler, CMake, Vulkan's
headers and, in a checkout, pycparser for the declarations. A wheel has libculvert and the software twin, stripped. One wheel serves every Python 3.8 and newer,
because the libraries link nothing of Python, CUDA or Vulkan."""
import base64
import gzip
import hashlib
import io
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

TOP = pathlib.Path(__file__).resolve().parents[2]
DATE = (2020, 1, 1, 0, 0, 0)  # the same files make the same archive
SECONDS = 1577836800
# What a build of the libraries reads.
SOURCES = ("CHANGELOG.md", "CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md", "pyproject.toml", "bindings/python", "cmake", "cuda_headers",
           "docs/python.md", "include", "soft", "src")


class BuildError(SystemExit):
    """What is missing, in a sentence."""


def version() -> str:
    return re.search(r'__version__ = "([^"]+)"', (TOP / "bindings/python/culvert/__init__.py").read_text()).group(1)


MAKER = TOP / "scripts" / "python-declarations"  # in a checkout; a source archive has what it makes
MADE = [TOP / "bindings" / "python" / "culvert" / name for name in ("_declarations.py", "_vulkan.py")]


def _made() -> bool:
    """Whether the declarations are there, and newer than what they are made of."""
    if not all(path.exists() for path in MADE):
        return False
    of = [MAKER, *(TOP / "include" / "culvert").glob("*.h")] if MAKER.exists() else []
    return all(path.stat().st_mtime >= max([0.0, *(f.stat().st_mtime for f in of)]) for path in MADE)


def _parser() -> "str | None":
    """A Python that has pycparser: this one, or the system's. pip's build environment hides the system's packages by
    PYTHONPATH from every Python that it starts, so -E."""
    for python in (sys.executable, "python3", "/usr/bin/python3"):
        try:
            if subprocess.run([python, "-E", "-c", "import pycparser"], capture_output=True).returncode == 0:
                return python
        except OSError:
            pass
    return None


def _make_declarations() -> None:
    if _made():
        return
    python = _parser() if MAKER.exists() else None
    if python is None:
        raise BuildError(f"culvert: {MADE[0].name} is not made, and no Python here has pycparser (Debian: python3-pycparser)")
    ran = subprocess.run([python, "-E", str(MAKER)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ran.returncode != 0:
        raise BuildError(f"culvert: {MAKER.name} failed:\n{ran.stdout[-6000:]}")


def metadata() -> str:
    return (f"Metadata-Version: 2.1\nName: culvert\nVersion: {version()}\n"
            "Summary: CUDA and graphics APIs on the same GPU memory, waiting for each other on the GPU, without copies\n"
            "License: MIT\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n"
            + (TOP / "docs" / "python.md").read_text())


def _stripped(path: pathlib.Path) -> bytes:
    strip = shutil.which("strip")
    if strip is None:
        raise BuildError("culvert: strip is missing (Debian: binutils), and the wheel would carry megabytes of debug data")
    with tempfile.TemporaryDirectory() as room:
        out = pathlib.Path(room) / path.name
        subprocess.run([strip, "--strip-unneeded", "-o", str(out), str(path)], check=True)
        return out.read_bytes()


def _platform_tag(files) -> str:
    """The newest version of glibc that the libraries name."""
    found = (2, 17)
    for f in files:
        text = subprocess.run(["readelf", "-W", "--dyn-syms", str(f)], capture_output=True, text=True, check=True).stdout
        for a, b in re.findall(r"@GLIBC_(\d+)\.(\d+)", text):
            found = max(found, (int(a), int(b)))
    return f"manylinux_{found[0]}_{found[1]}_{platform.machine()}"


def pack(build: pathlib.Path, out: pathlib.Path, twin: bool = True) -> pathlib.Path:
    """The wheel of a build tree's libraries."""
    lib = build / "lib"
    library = lib / "libculvert.so.0"
    if not library.exists():
        raise BuildError(f"culvert: {library} does not exist; build first: cmake --preset dev && cmake --build --preset dev")
    _make_declarations()
    entries = {}
    for f in sorted((TOP / "bindings" / "python" / "culvert").iterdir()):
        if f.suffix == ".py" or f.name == "py.typed":
            entries[f"culvert/{f.name}"] = f.read_bytes()
    binaries = [library]
    entries["culvert/lib/libculvert.so.0"] = _stripped(library)
    if twin:
        soft, layer = lib / "libculvert-soft.so.0", lib / "libVkLayer_culvert_soft.so"
        manifest = lib / "culvert" / "explicit_layer.d" / "VkLayer_culvert_soft.json"
        if not (soft.exists() and layer.exists() and manifest.exists()):
            raise BuildError(f"culvert: {lib} has no software twin, without which nothing runs where there is no GPU. "
                             "Build it (-DCULVERT_SOFT=ON), or leave it out by name (scripts/wheel --without-twin, or "
                             "pip's --config-settings twin=off)")
        binaries += [soft, layer]
        entries["culvert/lib/libculvert-soft.so.0"] = _stripped(soft)
        entries["culvert/lib/libVkLayer_culvert_soft.so"] = _stripped(layer)
        # Where the twin looks: beside itself, as in a build tree.
        text = re.sub(r'("library_path":\s*)"[^"]*"', r'\1"../../libVkLayer_culvert_soft.so"', manifest.read_text())
        entries["culvert/lib/culvert/explicit_layer.d/VkLayer_culvert_soft.json"] = text.encode()
    tag = f"py3-none-{_platform_tag(binaries)}"
    info = f"culvert-{version()}.dist-info"
    entries[f"{info}/METADATA"] = metadata().encode()
    entries[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: culvert\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    entries[f"{info}/LICENSE"] = (TOP / "LICENSE").read_bytes()
    rows = []
    for name, data in entries.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(data)}\n")
    entries[f"{info}/RECORD"] = "".join(rows + [f"{info}/RECORD,,\n"]).encode()

    out.mkdir(parents=True, exist_ok=True)
    path = out / f"culvert-{version()}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in entries.items():
            entry = zipfile.ZipInfo(name, DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            z.writestr(entry, data)
    return path


# PEP 517 -------------------------------------------------------------------------------------------------------------

def get_requires_for_build_wheel(config_settings=None) -> list:
    return [] if _made() or _parser() else ["pycparser"]


get_requires_for_build_sdist = get_requires_for_build_wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None) -> str:
    """Builds the libraries, and packs them. config_settings: twin=off; build=DIR, a build tree to use as it is."""
    settings = config_settings or {}
    twin = settings.get("twin", "on") not in ("off", "0", "no")
    out = pathlib.Path(wheel_directory)
    if "build" in settings:
        return pack(pathlib.Path(settings["build"]), out, twin).name
    cmake = shutil.which("cmake")
    if cmake is None or not (shutil.which("ninja") or shutil.which("make")):
        raise BuildError("culvert: building needs CMake, make or ninja, a C and a C++ compiler, Vulkan's headers and strip (Debian: apt "
                         "install cmake make g++ libvulkan-dev)")
    with tempfile.TemporaryDirectory() as room:
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        parts = [f"-DCULVERT_{part}=OFF" for part in ("TESTS", "SAMPLES", "TOOLS", "BENCH")]
        for command in ([cmake, "-S", str(TOP), "-B", room, *generator, "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON",
                         f"-DCULVERT_SOFT={'ON' if twin else 'OFF'}", *parts],
                        [cmake, "--build", room, "--parallel", str(os.cpu_count() or 1)]):
            made = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if made.returncode != 0:
                raise BuildError(f"culvert: {' '.join(command)} failed:\n{made.stdout[-6000:]}")
        return pack(pathlib.Path(room), out, twin).name


def build_sdist(sdist_directory, config_settings=None) -> str:
    name = f"culvert-{version()}"
    _make_declarations()
    try:
        listed = subprocess.run(["git", "-C", str(TOP), "ls-files", "-z", "--", *SOURCES], capture_output=True, text=True,
                                check=True).stdout.split("\0") + [str(path.relative_to(TOP)) for path in MADE]
    except (OSError, subprocess.CalledProcessError):  # an unpacked source archive
        listed = [str(f.relative_to(TOP)) for part in SOURCES for f in ([TOP / part] if (TOP / part).is_file() else
                                                                        (TOP / part).rglob("*")) if f.is_file()]
    files = {f: (TOP / f).read_bytes() for f in sorted(filter(None, listed)) if "__pycache__" not in f}
    files["PKG-INFO"] = metadata().encode()
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, data in files.items():
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size, entry.mtime = len(data), SECONDS
            entry.mode = 0o755 if data.startswith(b"#!") else 0o644
            tar.addfile(entry, io.BytesIO(data))
    with open(pathlib.Path(sdist_directory) / f"{name}.tar.gz", "wb") as f:
        with gzip.GzipFile(filename="", fileobj=f, mode="wb", mtime=SECONDS) as z:
            z.write(raw.getvalue())
    return f"{name}.tar.gz"
