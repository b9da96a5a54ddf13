#!/usr/bin/env python3
"""Compiles the C example of README.md, or of another page: the first ```c block after the line <!-- example -->.

    compile_example.py README.md OUTPUT_DIR LIBRARY COMPILER [FLAGS...]

The block must be a translation unit that compiles without a warning, in at most MAX_LINES lines, and every culv_
function that it leaves open must be one that LIBRARY (libculvert.so) exports. Exit 77: README has no such block yet.

SPDX-License-Identifier: MIT
"""
import pathlib
import re
import subprocess
import sys

MARK = "<!-- example -->"
MAX_LINES = 40


def extract(text):
    """The block's lines, or None without the mark; a mark without a block is an error."""
    if not any(line.strip() == MARK for line in text.splitlines()):
        return None
    lines = iter(text.splitlines())
    for line in lines:
        if line.strip() == MARK:
            break
    for line in lines:
        if line.strip() == "":
            continue
        if line.strip() != "```c":
            sys.exit(f"FAILED: after {MARK} comes {line!r}, not ```c")
        break
    block = []
    for line in lines:
        if line.strip() == "```":
            return block
        block.append(line)
    sys.exit(f"FAILED: the block after {MARK} has no end")


def undefined(nm_output):
    return {m.group(1) for m in re.finditer(r"^\s*U (culv_\w+)$", nm_output, re.M)}


def defined(nm_output):
    return {m.group(1) for m in re.finditer(r"^[0-9a-f]+ T (culv_\w+)(?:@@\w+)?$", nm_output, re.M)}


def main(readme, directory, library, *command):
    block = extract(pathlib.Path(readme).read_text(encoding="utf-8")) if pathlib.Path(readme).exists() else None
    if block is None:
        print(f"SKIP: {readme} has no block marked {MARK}")
        return 77
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    source = directory / "readme_example.c"
    source.write_text("\n".join(block) + "\n", encoding="utf-8")
    if len(block) > MAX_LINES:
        print(f"FAILED: the example has {len(block)} lines, more than {MAX_LINES}")
        return 1
    compiled = subprocess.run([*command, "-c", source, "-o", directory / "readme_example.o"], check=False)
    if compiled.returncode != 0:
        print("FAILED: the example does not compile")
        return 1
    used = undefined(subprocess.run(["nm", directory / "readme_example.o"], check=True, text=True,
                                    stdout=subprocess.PIPE).stdout)
    exported = defined(subprocess.run(["nm", "-D", library], check=True, text=True, stdout=subprocess.PIPE).stdout)
    if not used:
        print("FAILED: the example calls nothing of Culvert")
        return 1
    if used - exported:
        print("FAILED: not exported by the library:", ", ".join(sorted(used - exported)))
        return 1
    print(f"{len(block)} lines, {len(used)} functions of Culvert")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
