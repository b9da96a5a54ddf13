"""Proves that check_headers.py fails where it must: a tree that passes, then one fault at a time.
SPDX-License-Identifier: MIT"""
import pathlib
import subprocess
import tempfile

import check_headers as check

COMMENT = "/** Says what.\n *  Threads: one at a time.\n *  Since: 0.2 */\n"
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
#define CULV_INLINE static inline
{COMMENT}CULV_INLINE culv_a_desc culv_a_desc_init(void)
{{
    culv_a_desc d;
    d.struct_size = sizeof d;
    d.value = 0;
    return d;
}}
#define CULV_INIT(type) CULV_INLINE type type##_init(void) {{ type e = {{0}}; return e; }}
typedef struct culv_b_desc {{
  size_t struct_size;
}} culv_b_desc;
/** culv_b_desc_init(): b. */
CULV_INIT(culv_b_desc)
{COMMENT}CULV_EXPORT int culv_a(const culv_a_desc *desc);
#ifdef __cplusplus
}}
#endif
#endif
"""
DECISIONS = "**R1. A rule.** Of `culv_c`.\n"
SYMBOLS = "libculvert.so.0 libculvert0 #MINVER#\n (symver)CULVERT_0 0.1.0\n"
CMAKE = "project(culvert VERSION 0.1.0 LANGUAGES C)\n"
FUNCTION = f"{COMMENT}CULV_EXPORT int culv_a("

# What is replaced in GOOD, by what, and what the checker must say.
TEXT_FAULTS = [
    (FUNCTION, "CULV_EXPORT int culv_a(", "culv_a has no /** comment"),
    (FUNCTION, FUNCTION.replace("CULV_EXPORT", "\nCULV_EXPORT"), "culv_a has no /** comment"),
    (FUNCTION, FUNCTION.replace("int culv_a", "culv_result culv_a"), "culv_a: its comment has no part 'Errors:'"),
    (FUNCTION, FUNCTION.replace("int culv_a", "int *culv_a"), "culv_a: its comment has no part 'Ownership:'"),
    (f"{FUNCTION}const culv_a_desc *desc", f"{FUNCTION}culv_a_desc **desc", "no part 'Ownership:'"),
    (FUNCTION, FUNCTION.replace("Threads:", "Errors: none.  Threads:"), "'Errors: none.' says nothing"),
    (FUNCTION, FUNCTION.replace("Threads: one at a time.", "Threads:"), "'Threads:' is empty"),
    (FUNCTION, FUNCTION.replace("one at a time.", "any."), "'Threads: any.' says nothing"),
    (FUNCTION, FUNCTION.replace("0.2", "0.1"), "names no version after 0.1"),
    (FUNCTION, FUNCTION.replace("0.2", "soon"), "names no version"),
    ("culv_b_desc_init():", "b:", "culv_b_desc_init has a comment that is not"),
    ("/** culv_b_desc_init(): b. */\nCULV_INIT(culv_b_desc)\n", "", "culv_b_desc has no culv_b_desc_init()"),
    (FUNCTION, FUNCTION.replace("Says what.", ""), "does not say what it does"),
    (f"{COMMENT}CULV_INLINE", "CULV_INLINE", "culv_a_desc_init has no /** comment"),
    ("    size_t struct_size;\n    int value;", "    int value;\n    size_t struct_size;", "must be size_t struct_size"),
    ("    size_t struct_size;", "    unsigned struct_size;", "must be size_t struct_size"),
    ("culv_a_desc_init(void)", "culv_a_desc_other(void)", "has no culv_a_desc_init()"),
    ("    int value;", "    unsigned value : 3;", "bit-field"),
    ("    int value;", "    _Atomic int value;", "atomic"),
    ("CULV_EXPORT int culv_a(", "int culv_a(", "declared without CULV_EXPORT"),
    ("CULV_EXPORT int culv_a(", "CULV_EXPORT int other(", "does not begin with culv_"),
    ("#include <stddef.h>", "#include <stddef.h>\n#define OTHER 1", "macro OTHER"),
    ("#include <stddef.h>", "#include <stddef.h>\n#include <cuda.h>", "a core header includes cuda"),
    ("#include <stddef.h>", "#include <stddef.h> /* R1, but also (R2) */", "base.h:3: docs/decisions.md has no R2"),
    ("typedef struct culv_a_desc {", "typedef struct culv_b { int a; } culv_b;\ntypedef struct culv_a_desc {",
     "culv_b has no struct_size"),
    ("#define CULV_VERSION_MINOR 1", "#define CULV_VERSION_MINOR 2", "base.h says version 0.2.0"),
]
# Declarations, and what a linker says of a library that has culv_a alone; None where it links.
MAP_FAULTS = [
    ("int culv_a(const culv_a_desc *desc);", None),
    ("int culv_a(const culv_a_desc *desc);\nCULV_EXPORT int culv_b(void);", "culv_b"),
    ("int (*culv_b(void))(int);", "culv_b"),
    ("int other(void);", "no function of Culvert's"),
]
COMPILE_FAULTS = [
    ("#include <stddef.h>", "", "base.h does not compile alone"),
    ("d.value = 0;", "d.value = d.struct_size;", "base.h does not compile alone"),
    ("int value;", "int class;", "base.h does not compile alone"),
    ("#ifndef CULV_BASE_H_\n#define CULV_BASE_H_\n", "#if 1\n", "base.h does not compile alone"),
    ("#include <stddef.h>", "#include <stddef.h>\n#ifndef CULV_EXPERIMENTAL\n#endif", "is not asked for"),
]


def tree(directory, header=GOOD):
    root = pathlib.Path(directory)
    (root / "include" / "culvert").mkdir(parents=True, exist_ok=True)
    (root / "debian").mkdir(exist_ok=True)
    (root / "include" / "culvert" / "base.h").write_text(header)
    (root / "debian" / "libculvert0.symbols").write_text(SYMBOLS)
    (root / "CMakeLists.txt").write_text(CMAKE)
    (root / "docs").mkdir(exist_ok=True)
    (root / "docs" / "decisions.md").write_text(DECISIONS)
    return root


def archive(root):
    """Of what library() was made of last."""
    subprocess.run(["gcc", "-c", "-o", root / "try.o", root / "try.c"], check=True)
    subprocess.run(["ar", "rcs", root / "libtry.a", root / "try.o"], check=True)
    return root / "libtry.a"


def library(root, source, *flags):
    path = root / "libtry.so"
    (root / "try.c").write_text(source)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", path, root / "try.c", *flags], check=True)
    return str(path)


def linked(root):
    """What CMake's script makes of the headers, and a linker of that: the complaints."""
    version_script = root / "try.map"
    made = subprocess.run(["cmake", "-D", "KIND=map", "-D", f"HEADERS={root}/include/culvert/*.h", "-D", f"OUT={version_script}",
                           "-P", check.ROOT / "cmake" / "culvert_exports.cmake"], capture_output=True, text=True)
    if made.returncode != 0:
        return [" ".join(made.stderr.split())]
    (root / "try.c").write_text("int culv_a(void) { return 1; } int leaked(void) { return 2; }")
    made = subprocess.run(["gcc", "-shared", "-fPIC", "-o", root / "libtry.so", root / "try.c", "-Wl,--no-undefined-version",
                           f"-Wl,--version-script={version_script}"], capture_output=True, text=True)
    return made.stderr.splitlines()


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
        expect("good exports", check.check_exports(root, {"culv_a"}, {"culv_a", "culv_a_desc_init"}), None)
        (root / "docs" / "decisions.md").write_text("**R2. A rule.** Text.\n")
        expect("rules in disorder", check.check_text(root), "in order, not R2")
        (root / "docs" / "decisions.md").write_text(DECISIONS)
        expect("good C", check.check_compile(root, "gcc", "c11", work, []), None)
        expect("good C++", check.check_compile(root, "g++", "c++11", work, []), None)
        expect("not exported", check.check_exports(root, set(), {"culv_a"}), "the library does not export it")
        expect("exported besides", check.check_exports(root, {"culv_a", "culvi_b"}, set()), "the library exports culvi_b")
        expect("not declared", check.check_exports(root, {"culv_a"}, {"culv_b"}), "the library defines culv_b")
        (root / "src").mkdir()
        (root / "src" / "a.c").write_text("CULV_EXPORT int culv_b;")
        expect("marker", check.check_text(root), "a.c: CULV_EXPORT is for the public headers")
        (root / "src" / "a.c").write_text("int CULV_EXPORTED;")
        expect("no marker", check.check_text(root), None)
        (root / "debian" / "libculvert0.symbols").write_text(SYMBOLS.replace("0.1.0", "0.0.9"))
        expect("Debian's version", check.check_text(root), "libculvert0.symbols says version 0.0.9")
        (root / "debian" / "libculvert0.symbols").write_text(SYMBOLS)

        expect("installed", check.check_installed(root, root), None)
        (root / "include" / "culvert" / "private").mkdir()
        (root / "include" / "culvert" / "private" / "p.h").write_text("")
        base = root / "include" / "culvert" / "base.h"
        base.write_text(GOOD.replace("#include <stddef.h>", "/* docs/page.md has more. */\n#include <stddef.h>"))
        expect("page missing", check.check_installed(root, root), "a header speaks of docs/page.md")
        base.write_text(GOOD)
        expect("private header", check.check_installed(root, root), "culvert/private/p.h is installed")
        expect("nothing installed", check.check_installed(root, root / "cmake"), "culvert/base.h is not installed")

        good = library(root, "int culv_a(void) { return 1; }", "-Wl,--no-as-needed", "-Wl,-soname,libculvert.so.0")
        expect("library", check.check_needed(good), None)
        expect("its exports", check.check_exports(root, check.exported_names(good), check.defined_names(archive(root))), None)
        more = library(root, "int culv_a(void) { return 1; } int leaked(void) { return 2; }\n"
                       "__attribute__((visibility(\"hidden\"))) int culv_b(void) { return 3; }",
                       "-Wl,--no-as-needed", "-lresolv")
        bad = check.check_exports(root, check.exported_names(more), check.defined_names(archive(root)))
        expect("leaked symbol", bad, "the library exports leaked")
        expect("hidden symbol", bad, "the library defines culv_b")
        expect("library too many", check.check_needed(more), "links libresolv.so.2")
        expect("soname", check.check_needed(more), "SONAME")

    for old, new, wanted in TEXT_FAULTS:
        with tempfile.TemporaryDirectory() as work:
            root = tree(work, replaced(GOOD, old, new))
            expect(repr(new), check.check_text(root), wanted)
    for declarations, wanted in MAP_FAULTS:
        with tempfile.TemporaryDirectory() as work:
            expect(declarations, linked(tree(work, replaced(GOOD, "int culv_a(const culv_a_desc *desc);", declarations))), wanted)
    for old, new, wanted in COMPILE_FAULTS:
        with tempfile.TemporaryDirectory() as work:
            compiler, standard = ("g++", "c++11") if "class" in new else ("gcc", "c11")
            expect(repr(new), check.check_compile(tree(work, replaced(GOOD, old, new)), compiler, standard, work, []), wanted)

    for problem in problems:
        print(problem)
    print(f"{checked} expectations, {len(problems)} not met")
    return 1 if problems else 0
