#!/usr/bin/env python3
"""Checks that one object of the static library alone calls the heap's functions: the one that defines culvi_alloc,
through which tests count allocations and make them fail.

  check_allocations.py ARCHIVE
  check_allocations.py selftest COMPILER    the check fails on bad archives made for it

SPDX-License-Identifier: MIT"""
import pathlib
import re
import subprocess
import sys
import tempfile

# What allocates, and what gives back. fopen's FILE is on the heap, too.
HEAP = re.compile(r"_?_?(malloc|calloc|realloc|reallocarray|free|strdup|strndup|wcsdup|asprintf|vasprintf|aligned_alloc"
                  r"|posix_memalign|memalign|valloc|pvalloc|getline|getdelim|open_memstream|fopen|fopen64|fdopen"
                  r"|opendir|scandir|getcwd|realpath|brk|sbrk)(_chk)?$|_Zn[wa]|_Zd[la]")


def symbols(archive):
    """Of each object: the names that it defines, and those that it only uses."""
    output = subprocess.run(["nm", "-A", archive], check=True, capture_output=True, text=True).stdout
    objects = {}
    for line in output.splitlines():
        where, rest = line.rsplit(":", 1)
        kind, name = rest.split()[-2:]
        defined, used = objects.setdefault(where.rsplit(":", 1)[-1], (set(), set()))
        (used if kind in "UwW" and len(rest.split()) == 2 else defined).add(re.sub(r"@.*", "", name))
    return objects


def check(archive):
    objects = symbols(archive)
    units = [name for name, (defined, _) in objects.items() if "culvi_alloc" in defined]
    if len(units) != 1:
        return [f"culvi_alloc is defined by {len(units)} objects of {archive}"]
    bad = []
    for name, (_, used) in sorted(objects.items()):
        heap = sorted(n for n in used if HEAP.match(n))
        if name == units[0] and not heap:
            bad.append(f"{name} defines culvi_alloc and calls no function of the heap: is the list above right?")
        if name != units[0] and heap:
            bad.append(f"{name} calls {', '.join(heap)}; allocate by culvi_alloc ({units[0]})")
    return bad


def selftest(compiler):
    unit = "#include <stdlib.h>\nvoid *culvi_alloc(size_t n) { return calloc(1, n); }\n"
    user = "#include <stddef.h>\nvoid *culvi_alloc(size_t);\nvoid *use(void) { return culvi_alloc(4); }\n"
    thief = "#include <stdlib.h>\nvoid *steal(size_t n) { return malloc(n); }\n"
    copier = "#include <string.h>\nchar *copy(const char *s);\nchar *copy(const char *s) { return strdup(s); }\n"
    file = "#include <stdio.h>\nint look(void) { FILE *f = fopen(\"x\", \"r\"); return f && fclose(f); }\n"
    cases = [("right", [unit, user], False), ("malloc", [unit, user, thief], True), ("strdup", [unit, copier], True),
             ("fopen", [unit, file], True), ("no unit", [user], True), ("two units", [unit, unit], True),
             ("idle unit", [user.replace("void *use(void) { return culvi_alloc(4); }",
                                         "void *culvi_alloc(size_t n) { return (void *)n; }")], True)]
    failures = 0
    for name, sources, wrong in cases:
        with tempfile.TemporaryDirectory() as work:
            objects = []
            for i, source in enumerate(sources):
                path = pathlib.Path(work) / f"part{i}.c"
                path.write_text(source)
                objects.append(path.with_suffix(".o"))
                subprocess.run([compiler, "-std=gnu11", "-O1", "-c", path, "-o", objects[-1]], check=True)
            archive = pathlib.Path(work) / "test.a"
            subprocess.run(["ar", "rcs", archive, *objects], check=True)
            bad = check(archive)
        if bool(bad) != wrong:
            print(f"{name}: the check says {bad}")
            failures += 1
    print(f"{len(cases)} archives, {failures} misjudged")
    return 1 if failures else 0


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "selftest":
        return selftest(arguments[1])
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    bad = check(arguments[0])
    print("\n".join(bad) if bad else "no complaints")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
