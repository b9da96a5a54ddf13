"""Proves that check_headers.py fails where it must: a tree that passes, then one fault at a time.
SPDX-License-Identifier: MIT"""
import pathlib
import subprocess
import tempfile

import check_headers as check

COMMENT = "/** Says what.\n *  Errors: none.  Ownership: none.  Threads: any.\n *  Since: 0.1 */\n"
GOOD = f"""#ifndef CULV_BASE_H_
#define CULV_BASE_H_
#include <stddef.h>
#define CULV_EXPORT __attribute__((visibility("default")))
#define CULV_VERSION_MAJOR 0
#define CULV_VERSION_MINOR 1
#define CULV_VERSION_PATCH 0
#ifdef __cplusplus
extern "C" {{
#endif
typedef struct culv_a_desc {{
    size_t struct_size;
    int value;
}} culv_a_desc;
{COMMENT}static inline culv_a_desc culv_a_desc_init(void)
{{
    culv_a_desc d;
    d.struct_size = sizeof d;
    d.value = 0;
    return d;
}}
{COMMENT}CULV_EXPORT int culv_a(const culv_a_desc *desc);
#ifdef __cplusplus
}}
#endif
#endif
"""
MAP = "/* culv_in_a_comment; */\nCULVERT_0 {\nglobal:\n    culv_a;\nlocal:\n    *;\n};\n"
DECISIONS = "**R1. A rule.** Of `culv_c`.\n"
CMAKE = "project(culvert VERSION 0.1.0 LANGUAGES C)\n"
FUNCTION = f"{COMMENT}CULV_EXPORT int culv_a("

# What is replaced in GOOD, by what, and what the checker must say.
TEXT_FAULTS = [
    (FUNCTION, "CULV_EXPORT int culv_a(", "culv_a has no /** comment"),
    (FUNCTION, FUNCTION.replace("CULV_EXPORT", "\nCULV_EXPORT"), "culv_a has no /** comment"),
    (FUNCTION, FUNCTION.replace("Errors: none.", ""), "culv_a: its comment has no part 'Errors:'"),
    (FUNCTION, FUNCTION.replace("Ownership: none.", ""), "no part 'Ownership:'"),
    (FUNCTION, FUNCTION.replace("Threads: any.", "Threads:"), "'Threads:' is empty"),
    (FUNCTION, FUNCTION.replace("Since: 0.1", ""), "no part 'Since:'"),
    (FUNCTION, FUNCTION.replace("0.1", "soon"), "names no version"),
    (FUNCTION, FUNCTION.replace("Says what.", ""), "does not say what it does"),
    (f"{COMMENT}static", "static", "culv_a_desc_init has no /** comment"),
    ("    size_t struct_size;\n    int value;", "    int value;\n    size_t struct_size;", "must be size_t struct_size"),
    ("    size_t struct_size;", "    unsigned struct_size;", "must be size_t struct_size"),
    ("culv_a_desc_init(void)", "culv_a_desc_other(void)", "has no static inline culv_a_desc_init"),
    ("    int value;", "    unsigned value : 3;", "bit-field"),
    ("    int value;", "    _Atomic int value;", "atomic"),
    ("CULV_EXPORT int culv_a(", "int culv_a(", "declared without CULV_EXPORT"),
    ("CULV_EXPORT int culv_a(", "CULV_EXPORT int other(", "does not begin with culv_"),
    ("CULV_EXPORT int culv_a(const culv_a_desc *desc)", "CULV_EXPORT int (*culv_b(void))(int)", "culv_b is declared"),
    ("#include <stddef.h>", "#include <stddef.h>\n#define OTHER 1", "macro OTHER"),
    ("#include <stddef.h>", "#include <stddef.h>\n#include <cuda.h>", "a core header includes cuda"),
    ("#include <stddef.h>", "#include <stddef.h> /* R1, but also (R2) */", "base.h:3: docs/decisions.md has no R2"),
    ("typedef struct culv_a_desc {", "typedef struct culv_b { int a; } culv_b;\ntypedef struct culv_a_desc {",
     "culv_b has no struct_size"),
    ("#define CULV_VERSION_MINOR 1", "#define CULV_VERSION_MINOR 2", "base.h says version 0.2.0"),
]
MAP_FAULTS = [
    ("    culv_a;\n", "", "culv_a is declared in a header but not in cmake/culvert.map"),
    ("    culv_a;\n", "    culv_a;\n    culv_b;\n", "culv_b is in cmake/culvert.map but declared in no header"),
    ("    culv_a;\n", "    culv_a;\n    culv_a;\n", "sorted, each once"),
    ("    culv_a;\n", "    culv_a;\n    culv_*;\n", "is no plain name"),
]
COMPILE_FAULTS = [
    ("#include <stddef.h>", "", "base.h does not compile alone"),
    ("d.value = 0;", "d.value = d.struct_size;", "base.h does not compile alone"),
    ("int value;", "int class;", "base.h does not compile alone"),
    ("#ifndef CULV_BASE_H_\n#define CULV_BASE_H_\n", "#if 1\n", "base.h does not compile alone"),
]


def tree(directory, header=GOOD, version_script=MAP):
    root = pathlib.Path(directory)
    (root / "include" / "culvert").mkdir(parents=True, exist_ok=True)
    (root / "cmake").mkdir(exist_ok=True)
    (root / "include" / "culvert" / "base.h").write_text(header)
    (root / "cmake" / "culvert.map").write_text(version_script)
    (root / "CMakeLists.txt").write_text(CMAKE)
    (root / "docs").mkdir(exist_ok=True)
    (root / "docs" / "decisions.md").write_text(DECISIONS)
    return root


def library(root, source, *flags):
    path = root / "libtry.so"
    (root / "try.c").write_text(source)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", path, root / "try.c", *flags], check=True)
    return str(path)


def run():
    problems = []
    checked = 0

    def expect(what, bad, wanted):
        nonlocal checked
        checked += 1
        hit = any(wanted in line for line in bad) if wanted else not bad
        if not hit:
            problems.append(f"{what}: wanted {wanted or 'no complaint'!r}, got {bad}")

    def replaced(text, old, new):
        if text.count(old) != 1:
            problems.append(f"the self-test's own fault {old!r} occurs {text.count(old)} times")
        return text.replace(old, new)

    with tempfile.TemporaryDirectory() as work:
        root = tree(work)
        expect("good text", check.check_text(root), None)
        expect("good map", check.check_exports(root, {"culv_a"}), None)
        (root / "docs" / "decisions.md").write_text("**R2. A rule.** Text.\n")
        expect("rules in disorder", check.check_text(root), "in order, not R2")
        (root / "docs" / "decisions.md").write_text(DECISIONS)
        expect("good C", check.check_compile(root, "gcc", "c11", work, []), None)
        expect("good C++", check.check_compile(root, "g++", "c++11", work, []), None)
        expect("not exported", check.check_exports(root, set()), "the library does not export it")
        expect("exported besides", check.check_exports(root, {"culv_a", "culvi_b"}), "the library exports culvi_b")

        expect("installed", check.check_installed(root, root), None)
        (root / "include" / "culvert" / "private").mkdir()
        (root / "include" / "culvert" / "private" / "p.h").write_text("")
        expect("private header", check.check_installed(root, root), "culvert/private/p.h is installed")
        expect("nothing installed", check.check_installed(root, root / "cmake"), "culvert/base.h is not installed")

        good = library(root, "int culv_a(void) { return 1; }", "-Wl,--no-as-needed", "-Wl,-soname,libculvert.so.0")
        expect("library", check.check_needed(good), None)
        expect("its exports", check.check_exports(root, check.exported_names(good)), None)
        more = library(root, "int culv_a(void) { return 1; } int leaked(void) { return 2; }", "-Wl,--no-as-needed",
                       "-lresolv")
        expect("leaked symbol", check.check_exports(root, check.exported_names(more)), "the library exports leaked")
        expect("library too many", check.check_needed(more), "links libresolv.so.2")
        expect("soname", check.check_needed(more), "SONAME")

    for old, new, wanted in TEXT_FAULTS:
        with tempfile.TemporaryDirectory() as work:
            root = tree(work, replaced(GOOD, old, new))
            expect(repr(new), check.check_text(root) + check.check_exports(root, None), wanted)
    for old, new, wanted in MAP_FAULTS:
        with tempfile.TemporaryDirectory() as work:
            expect(repr(new), check.check_exports(tree(work, version_script=replaced(MAP, old, new)), None), wanted)
    for old, new, wanted in COMPILE_FAULTS:
        with tempfile.TemporaryDirectory() as work:
            compiler, standard = ("g++", "c++11") if "class" in new else ("gcc", "c11")
            expect(repr(new), check.check_compile(tree(work, replaced(GOOD, old, new)), compiler, standard, work, []), wanted)

    for problem in problems:
        print(problem)
    print(f"{checked} expectations, {len(problems)} not met")
    return 1 if problems else 0
