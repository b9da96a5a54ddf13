#!/usr/bin/env python3
"""Builds and runs the project of docs/kernels.md, from an installed Culvert, with CMake and with make.

    page.py PAGE PREFIX WORK_DIRECTORY GENERATOR ARCHITECTURE

Each block after a line <!-- file: NAME --> is that file. SPDX-License-Identifier: MIT
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

EXPECTED = "256 256 256 232\n"


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"FAILED: {' '.join(map(str, command))}: {done.returncode}\n{done.stdout}")
    return done.stdout


def main(page, prefix, work, generator, architecture):
    work, prefix = pathlib.Path(work), pathlib.Path(prefix)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    text = pathlib.Path(page).read_text(encoding="utf-8")
    files = re.findall(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", text, re.M | re.S)
    for name, content in files:
        (work / name).write_text(content, encoding="utf-8")
    names = [name for name, _ in files]
    if sorted(names) != ["CMakeLists.txt", "Makefile", "launch.cpp", "sums.c", "sums.cu"]:
        sys.exit(f"FAILED: the page has the files {names}")
    libraries = next(prefix.glob("**/culvert.pc")).parent.parent
    environment = dict(os.environ, PKG_CONFIG_PATH=str(libraries / "pkgconfig"), LD_LIBRARY_PATH=str(libraries))
    flags = "-Wall -Wextra -Werror"

    run("cmake", "-S", work, "-B", work / "build", "-G", generator, f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCULVERT_CUDA_ARCHITECTURES={architecture}", f"-DCMAKE_C_FLAGS={flags}", f"-DCMAKE_CXX_FLAGS={flags}")
    run("cmake", "--build", work / "build")
    out = run(work / "build/sums", work / "build/share/culvert", env=environment)
    if out != EXPECTED:
        sys.exit(f"FAILED: with CMake it prints {out!r}")

    run("make", "-C", work, f"CFLAGS={flags} {run('pkg-config', '--cflags', 'culvert', env=environment).strip()}",
        env=environment)
    out = run(work / "sums", cwd=work, env=environment)
    if out != EXPECTED:
        sys.exit(f"FAILED: with make it prints {out!r}")

    # What goes wrong is said.
    script = run("pkg-config", "--variable=kernel_compiler", "culvert", env=environment).strip()
    for arguments, part in ((["--nonsense"], "--help lists the options"), ([], "no source"), (["-o"], "needs a directory"),
                            (["/dev/zero"], "/dev/zero is not a file")):
        done = subprocess.run([script, *arguments], capture_output=True, text=True, check=False, timeout=60)
        if done.returncode == 0 or part not in done.stderr:
            sys.exit(f"FAILED: {script} {arguments}: {done.returncode}, {done.stderr!r}")
    if "--arch" not in run(script, "--help") or "-ffp-contract=off" not in run(script, "--flags"):
        sys.exit(f"FAILED: {script} does not say how it is called")
    # A kernel may do without its index, and its path may have blanks and quotes.
    work = work / "it's here"
    work.mkdir()
    (work / "seven.cu").write_text('''#include "culvert_kernel.h"
CULV_KERNEL void seven(CULV_GRID unsigned *out) { *out = 7; }
CULV_KERNELS(seven)
''', encoding="utf-8")
    warned = run(script, "--soft", "-o", work / "made", "-I", work, "-D", "IN='a b'", work / "seven.cu")
    if warned or not (work / "made/seven.soft.so").exists():
        sys.exit(f"FAILED: a kernel without an index: {warned}")
    work = work.parent
    wrong = subprocess.run([work / "sums", work / "nowhere"], capture_output=True, text=True, check=False, env=environment)
    if wrong.returncode != 1 or "nowhere/sums." not in wrong.stderr:
        sys.exit(f"FAILED: without kernels it says {wrong.stderr!r}")
    print("the page's project was built and run twice")


main(*sys.argv[1:])
