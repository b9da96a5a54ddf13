#!/usr/bin/env python3
"""Compiles the C examples of a page: each ```c block after a line <!-- example -->, and runs those that are programs.

    compile_example.py PAGE OUTPUT_DIR LIBRARY COMPILER [FLAGS...] [-- LINK_FLAGS...]

A block is a translation unit that compiles without a warning, of at most MAX_LINES lines. Every culv_ function that it
leaves open must be one that LIBRARY (libculvert.so) exports. In place of <!-- example --> stands

    <!-- example: 12 lines -->      the block may be long, and has just so many lines of code (count() says what those are)
    <!-- example: part of NAME -->  the blocks of that name make one translation unit, which may be long
    <!-- output of NAME -->         with LINK_FLAGS, the program NAME runs and prints just what the next block has

Exit 77: the page has no such block, or the program says so (its first line then begins with SKIP).

SPDX-License-Identifier: MIT
"""
import pathlib
import re
import subprocess
import sys

MARK = re.compile(r"<!-- (example|output of (?P<name>\w+))(?:: (?P<what>.*))? -->$")
MAX_LINES = 40


def blocks(text):
    """(the mark's match, the block's lines) of each mark; a mark without a block is an error."""
    lines = iter(text.splitlines())
    for line in lines:
        mark = MARK.match(line.strip())
        if not mark:
            if re.match(r"<!-- (example|output)", line.strip()):
                sys.exit(f"FAILED: what is {line!r}?")
            continue
        start = next((line for line in lines if line.strip()), "the end")
        if start.strip() != ("```c" if mark.group(1) == "example" else "```"):
            sys.exit(f"FAILED: after {mark.group()} comes {start!r}, not the block")
        block = []
        for line in lines:
            if line.strip() == "```":
                break
            block.append(line)
        else:
            sys.exit(f"FAILED: the block after {mark.group()} has no end")
        yield mark, block


def count(block):
    """Lines of code: without blank ones, comments, preprocessor lines and lone braces."""
    code = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), "\n".join(block), flags=re.S)
    return sum(re.fullmatch(r"[\s{}();,]*|\s*#.*", line) is None for line in code.split("\n"))


def units(text):
    """{name: lines} of the translation units, and {name: output} of what programs print."""
    sources, outputs = {}, {}
    for mark, block in blocks(text):
        what = mark.group("what") or ""
        part = re.fullmatch(r"part of (\w+)", what)
        lines = re.fullmatch(r"(\d+) lines", what)
        if mark.group("name"):
            outputs[mark.group("name")] = "\n".join(block) + "\n"
        elif part:
            sources.setdefault(part.group(1), []).extend([*block, ""])
        elif what and not lines:
            sys.exit(f"FAILED: what is {what!r}?")
        elif not lines and len(block) > MAX_LINES:
            sys.exit(f"FAILED: the example has {len(block)} lines, more than {MAX_LINES}")
        elif lines and count(block) != int(lines.group(1)):
            sys.exit(f"FAILED: the example has {count(block)} lines of code, not {lines.group(1)}")
        else:
            sources[f"example_{len(sources) + 1}"] = block
    return sources, outputs


def undefined(nm_output):
    return {m.group(1) for m in re.finditer(r"^\s*U (culv_\w+)$", nm_output, re.M)}


def defined(nm_output):
    return {m.group(1) for m in re.finditer(r"^[0-9a-f]+ T (culv_\w+)(?:@@\w+)?$", nm_output, re.M)}


def compile_unit(source, library, command):
    """How many functions of Culvert the unit calls."""
    compiled = subprocess.run([*command, "-c", source, "-o", source.with_suffix(".o")], check=False)
    if compiled.returncode != 0:
        sys.exit(f"FAILED: {source.stem} does not compile")
    used = undefined(subprocess.run(["nm", source.with_suffix(".o")], check=True, text=True, stdout=subprocess.PIPE).stdout)
    exported = set()
    for each in library.split(","): # with add-ons, which are archives
        exported |= defined(subprocess.run(["nm", *["-D"] * (not each.endswith(".a")), each], check=True, text=True, stdout=subprocess.PIPE).stdout)
    if not used:
        sys.exit(f"FAILED: {source.stem} calls nothing of Culvert")
    if used - exported:
        sys.exit("FAILED: not exported by the library: " + ", ".join(sorted(used - exported)))
    return len(used)


def run_program(source, wanted, compiler, link):
    """Whether it ran."""
    program = source.with_suffix("")
    linked = subprocess.run([compiler, source.with_suffix(".o"), "-o", program, *link], check=False)
    if linked.returncode != 0:
        sys.exit(f"FAILED: {source.stem} does not link")
    ran = subprocess.run([program], check=False, text=True, stdout=subprocess.PIPE, timeout=100)
    print(ran.stdout, end="")
    if ran.returncode == 77 and ran.stdout.startswith("SKIP"):
        return False
    if ran.returncode != 0 or ran.stdout != wanted:
        sys.exit(f"FAILED: {source.stem} ended with {ran.returncode}; it should print\n{wanted}")
    return True


def main(readme, directory, library, *command):
    command, link = list(command), None
    if "--" in command:
        command, link = command[:command.index("--")], command[command.index("--") + 1:]
    text = pathlib.Path(readme).read_text(encoding="utf-8") if pathlib.Path(readme).exists() else ""
    sources, outputs = units(text)
    if not sources:
        print(f"SKIP: {readme} has no block marked <!-- example -->")
        return 77
    if set(outputs) - set(sources):
        sys.exit("FAILED: the output of no program: " + ", ".join(sorted(set(outputs) - set(sources))))
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    ran = True
    for name, block in sources.items():
        source = directory / f"{name}.c"
        source.write_text("\n".join(block) + "\n", encoding="utf-8")
        print(f"{name}: {len(block)} lines, {compile_unit(source, library, command)} functions of Culvert", flush=True)
        if link is not None and name in outputs:
            ran = run_program(source, outputs[name], command[0], link) and ran
    return 0 if ran else 77


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
