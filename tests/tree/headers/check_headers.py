#!/usr/bin/env python3
"""Checks the public headers and the shared library against each other. See CMakeLists.txt beside this file.

  check_headers.py compile COMPILER STANDARD CUDA_INCLUDE_DIR [FLAG ...]
                                                          each header compiles alone, cudart.h with that directory
  check_headers.py musl COMPILER CUDA_INCLUDE_DIR [SYSTEM_INCLUDE_DIR ...]
                                                          what asks the system compiles with another C library
  check_headers.py text                                   comments, descriptors, names, versions, decisions
  check_headers.py exports LIBRARY ARCHIVE                LIBRARY exports what the headers declare; ARCHIVE defines no more
  check_headers.py needed LIBRARY                         LIBRARY links nothing but the C library's own
  check_headers.py installed PREFIX                       an installation has these headers and no others
  check_headers.py selftest                               every check above fails on a bad input made for it

SPDX-License-Identifier: MIT"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
PARTS = ["Errors", "Ownership", "Threads", "Since"]
# glibc's parts, and the sanitizers' run-time libraries in sanitized builds.
NEEDED = re.compile(r"(libc|libm|libdl|libpthread|ld-linux[\w-]*|libgcc_s|libasan|libubsan|libtsan)\.so\.\d+$")
# Included by the other headers alone; nothing else may be pulled into the core ones.
FOREIGN = re.compile(r'#\s*include\s*[<"](cuda|vulkan/|GL/|windows\.h|d3d)')
OPT_IN = re.compile(r"(vulkan|gl|d3d12|cudart|cuda_api)(_\w+)?\.h")
# The library fills these and hands out pointers to them, so that nobody begins with an empty one.
HANDED_OUT = ["culv_cuda_api"]
DESTROYS = re.compile(r"_(destroy|unmap|unload|detach|close|put)$")


def blank_comments(text):
    """The same text with comments blanked, so that offsets stay."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)


def blank_directives(text):
    return re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.M)


class Header:
    def __init__(self, path):
        self.path = path
        self.text = path.read_text()
        self.code = blank_directives(blank_comments(self.text))
        self.functions = {}  # exported: name -> offset
        self.inlines = {}
        for m in re.finditer(r"^CULV_(?:EXPORT|EXTRA)\b([^;{]*\([^;{]*\)\s*);", self.code, re.M):
            # The name stands before the first parenthesis, or inside it when a function pointer is returned.
            name = re.search(r"\(\s*\*\s*(\w+)\s*\(", m.group(1)) or re.search(r"\b(\w+)\s*\(", m.group(1))
            self.functions[name.group(1)] = m.start()
        for m in re.finditer(r"^CULV_INLINE\b[^;{]*?\b(\w+)\s*\([^;{]*\)\s*\{", self.code, re.M):
            self.inlines[m.group(1)] = m.start()
        # Functions that the macro makes: name -> offset
        self.inits = {f"{m.group(1)}_init": m.start() for m in re.finditer(r"^CULV_INIT\((\w+)\)$", self.code, re.M)}

    def where(self, offset):
        return f"{self.path.name}:{self.text.count(chr(10), 0, offset) + 1}"

    def comment_before(self, offset):
        """The doc comment that ends right before offset, as one line of words; None without one."""
        m = re.search(r"/\*\*((?:(?!\*/).)*)\*/[ \t]*\n\Z", self.text[:offset], re.S)
        return re.sub(r"\s*\n\s*\*?\s*", " ", m.group(1)).strip() if m else None


def headers(root):
    return [Header(p) for p in sorted((root / "include" / "culvert").glob("*.h"))]


def extra_headers(root):
    """Those of culvert-extra, which no library exports."""
    return [Header(p) for p in sorted((root / "extra" / "include" / "culvert" / "extra").glob("*.h"))]


def needs(part, header, name, offset):
    """Whether a function's comment must have that part: errors where it returns some, ownership where it hands out a
    pointer or takes the place of one. culvert.h says it for all calls that destroy, and of threads for all others."""
    before, after = header.code[offset : re.compile("[;{]").search(header.code, offset).start()].split(name, 1)
    if part == "Errors":
        return "culv_result" in before
    if part in ["Threads", "Since"]:
        return False  # culvert.h says it of any thread, base.h for all of 0.1
    return part != "Ownership" or "*" in before or ("**" in after and not DESTROYS.search(name))


def check_comments(header):
    bad = []
    for name, offset in {**header.functions, **header.inlines}.items():
        comment = header.comment_before(offset)
        if comment is None:
            bad.append(f"{header.where(offset)}: {name} has no /** comment right before it")
            continue
        found = [p for p in PARTS if re.search(rf"\b{p}:", comment)]
        for part in PARTS:
            if part not in found:
                if needs(part, header, name, offset):
                    bad.append(f"{header.where(offset)}: {name}: its comment has no part '{part}:'")
            elif not re.search(rf"\b{part}:\s*(?!(?:{'|'.join(PARTS)}):)[\w*]", comment):
                bad.append(f"{header.where(offset)}: {name}: '{part}:' is empty")
            elif empty := re.search(rf"\b({part}: (?:none|any)\.)(?: +(?:{'|'.join(PARTS)}|Source):|$)", comment):
                bad.append(f"{header.where(offset)}: {name}: '{empty.group(1)}' says nothing; leave it out")
        if "Since" in found and not re.search(r"\bSince:\s*(?!0\.1\b)\d+\.\d+\b", comment):
            bad.append(f"{header.where(offset)}: {name}: 'Since:' names no version after 0.1")
        if re.match(r"(Errors|Ownership|Threads|Since):", comment):
            bad.append(f"{header.where(offset)}: {name}: its comment does not say what it does")
    for name, offset in header.inits.items():  # base.h says what all of them do
        comment = header.comment_before(offset)
        if comment is not None and not comment.startswith(f"{name}(): "):
            bad.append(f"{header.where(offset)}: {name} has a comment that is not '{name}(): ...' right before it")
    # A declaration that the patterns miss would go unchecked.
    for m in re.finditer(r"\bCULV_(?:EXPORT|EXTRA)\b", header.code):
        if not any(offset == m.start() for offset in header.functions.values()):
            bad.append(f"{header.where(m.start())}: a CULV_EXPORT declaration must begin its line and be a function")
    for m in re.finditer(r"^(?!CULV_INLINE\b|static\b|typedef\b|CULV_EXPORT\b|CULV_EXTRA\b)[a-z_][\w \t*]*?\b(culv_\w+)\s*\(", header.code, re.M):
        bad.append(f"{header.where(m.start())}: {m.group(1)} is declared without CULV_EXPORT")
    return bad


def check_structs(header):
    bad = []
    for m in re.finditer(r"\btypedef struct (\w+)\s*\{(.*?)^\}\s*(\w+)\s*;", header.code, re.M | re.S):
        tag, body, name = m.groups()
        where = header.where(m.start())
        if tag != name:
            bad.append(f"{where}: struct {tag} and its typedef {name} differ")
        first = re.match(r"\s*([^;]*);", body)
        sized_first = first is not None and re.fullmatch(r"size_t\s+struct_size", first.group(1).strip())
        sized = re.search(r"\bstruct_size\b", body) is not None
        if (name.endswith("_desc") or sized) and not sized_first:
            bad.append(f"{where}: the first member of {name} must be size_t struct_size")
        if (name.endswith("_desc") or sized) and name not in HANDED_OUT \
                and f"{name}_init" not in {**header.inlines, **header.inits}:
            bad.append(f"{where}: {name} has no {name}_init()")
        if re.search(r"\b_?[Aa]tomic\b|\b_Atomic\b", body):
            bad.append(f"{where}: {name} has an atomic member; public structs have none")
        if re.search(r"\w\s*:\s*\d+\s*;", body):
            bad.append(f"{where}: {name} has a bit-field; public structs have none")
    return bad


def check_names(header):
    bad = []
    for name, offset in {**header.functions, **header.inlines}.items():
        if not name.startswith("culv_"):
            bad.append(f"{header.where(offset)}: {name} does not begin with culv_")
    for m in re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", header.text, re.M):
        if not m.group(1).startswith("CULV_"):
            bad.append(f"{header.where(m.start())}: macro {m.group(1)} does not begin with CULV_")
    if not OPT_IN.fullmatch(header.path.name):
        for m in FOREIGN.finditer(blank_comments(header.text)):
            bad.append(f"{header.where(m.start())}: a core header includes {m.group(1)}")
    return bad


def check_versions(root):
    numbers = []
    base = (root / "include" / "culvert" / "base.h").read_text()
    for part in ["MAJOR", "MINOR", "PATCH"]:
        m = re.search(rf"#define CULV_VERSION_{part}\s+(\d+)", base)
        numbers.append(m.group(1) if m else "?")
    header, cmake = ".".join(numbers), "?"
    m = re.search(r"project\(culvert VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text())
    if m:
        cmake = m.group(1)
    bad = [] if header == cmake else [f"base.h says version {header}, CMakeLists.txt {cmake}"]
    # A node of the linker's map is as new as its newest function, and CULVERT_0 takes functions until 1.0.
    symbols = re.findall(r"^ \(symver\)CULVERT_(?:0|EXPERIMENTAL) (\S+)$", (root / "debian" / "libculvert0.symbols").read_text(), re.M)
    return bad + [f"debian/libculvert0.symbols says version {v}, CMakeLists.txt {cmake}" for v in symbols if v != cmake]


def check_decisions(root):
    """docs/decisions.md has each rule that a comment cites, and each public struct that cannot grow."""
    decisions = (root / "docs" / "decisions.md").read_text()
    rules = re.findall(r"^\*\*R(\d+)\. ", decisions, re.M)
    bad = [f"decisions.md: the rules must be R1, R2, ... in order, not R{n}"
           for i, n in enumerate(rules, 1) if int(n) != i]
    for folder in ["bench", "extra", "include", "samples", "soft", "src", "tests", "tools"]:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in [".c", ".h", ".cpp", ".cu"]:
                continue
            text = path.read_text()
            for comment in re.finditer(r"/\*.*?\*/|//[^\n]*", text, re.S):
                for m in re.finditer(r"\bR(\d{1,2})\b", comment.group()):  # some are formats, which does no harm
                    if m.group(1) not in rules:
                        line = text.count("\n", 0, comment.start() + m.start()) + 1
                        bad.append(f"{path.name}:{line}: docs/decisions.md has no R{m.group(1)}")
    for header in headers(root) + extra_headers(root):
        for m in re.finditer(r"\btypedef struct (\w+)\s*\{([^;]*);", header.code):
            if "struct_size" not in m.group(2) and f"`{m.group(1)}`" not in decisions:
                bad.append(f"{header.where(m.start())}: {m.group(1)} has no struct_size, and docs/decisions.md no reason")
    return bad


def check_text(root):
    bad = check_versions(root) + check_decisions(root) + check_marker(root)
    for header in headers(root) + extra_headers(root):
        bad += check_comments(header) + check_structs(header) + check_names(header)
    return bad


def check_exports(root, exported, defined):
    """exported: the names that the library exports; defined: what its objects define whose name begins with culv_."""
    declared = {name for header in headers(root) for name in header.functions}
    known = declared | {name for header in headers(root) for name in [*header.inlines, *header.inits]}
    bad = [f"{n} is declared in a header, but the library does not export it" for n in sorted(declared - exported)]
    bad += [f"the library exports {n}, which no header declares" for n in sorted(exported - declared)]
    bad += [f"the library defines {n}, which no header declares" for n in sorted(defined - known - exported)]
    return bad


def check_marker(root):
    """On Windows the marker exports wherever it stands."""
    return [f"{path.name}: CULV_EXPORT is for the public headers"
            for path in sorted((root / "src").rglob("*.[ch]")) if re.search(r"\bCULV_EXPORT\b", path.read_text())]


def names_of(library, *flags):
    output = subprocess.run(["nm", "--defined-only", *flags, library], check=True, capture_output=True, text=True).stdout
    for fields in map(str.split, output.splitlines()):
        # Not an archive's file names, nor the version node itself.
        if len(fields) > 1 and not (fields[-2] == "A" and fields[-1].startswith("CULVERT_")):
            yield re.sub(r"[@.].*", "", fields[-1])


def exported_names(library):
    return set(names_of(library, "-D"))


def defined_names(archive):
    """What begins with culv_. What a compiler makes of a part of a function (culv_a.cold) counts as the function."""
    return {name for name in names_of(archive) if re.match(r"culv(ert)?_", name)}


def check_needed(library):
    output = subprocess.run(["readelf", "-d", "-W", library], check=True, capture_output=True, text=True).stdout
    needed = re.findall(r"\(NEEDED\)[^\[]*\[([^\]]+)\]", output)
    bad = [f"{library} links {n}; only the C library's own are allowed" for n in needed if not NEEDED.match(n)]
    if not needed:
        bad.append(f"{library}: readelf shows no NEEDED entry at all")
    soname = re.search(r"\(SONAME\)[^\[]*\[([^\]]+)\]", output)
    if not soname or soname.group(1) != "libculvert.so.0":
        bad.append(f"{library}: its SONAME is {soname.group(1) if soname else 'missing'}, not libculvert.so.0")
    return bad


def check_installed(root, prefix):
    public = {p.name for p in (root / "include" / "culvert").glob("*.h*")}
    if (pathlib.Path(prefix) / "include" / "culvert" / "mpi.h").exists():  # where MPI was found
        public |= {p.name for p in (root / "mpi" / "include" / "culvert").glob("*.h")}
    if (pathlib.Path(prefix) / "include" / "culvert" / "extra").exists():
        public |= {f"extra/{header.path.name}" for header in extra_headers(root)}
    public |= {"abi/cuda.h"} if (root / "cuda_headers" / "cuda.h").exists() else set()
    include = pathlib.Path(prefix) / "include"
    found = {str(p.relative_to(include)) for p in include.rglob("*") if p.is_file()}
    wanted = {f"culvert/{name}" for name in public}
    bad = [f"{n} is installed but is no public header" for n in sorted(found - wanted)]
    # The pages that the headers speak of.
    pages = {page for header in headers(root) for page in re.findall(r"\bdocs/[\w/-]+\.md", header.text)}
    manual = pathlib.Path(prefix) / "share" / "doc" / "culvert"
    bad += [f"a header speaks of {p}, which is not installed" for p in sorted(pages) if not (manual / p).exists()]
    return bad + [f"{n} is not installed" for n in sorted(wanted - found)]


def check_compile(root, compiler, standard, cuda_include, flags):
    bad = []
    suffix = ".cpp" if "++" in standard else ".c"
    toolkit = ["-isystem", cuda_include]
    # cuda_api.h brings its own cuda.h where there is none; with a toolkit's, names depend on the default stream.
    ways = [(header, []) for header in headers(root) + extra_headers(root) if header.path.name != "cudart.h"]
    for header in headers(root):
        if header.path.name in ["cudart.h", "cuda_api.h"]:
            if not (pathlib.Path(cuda_include) / "cuda_runtime_api.h").exists():
                print(f"{header.path.name} is left out: no cuda_runtime_api.h in {cuda_include}")
                continue
            ways += [(header, toolkit), (header, [*toolkit, "-DCUDA_API_PER_THREAD_DEFAULT_STREAM"])]
    for header, cuda in ways:
        with tempfile.TemporaryDirectory() as work:
            source = pathlib.Path(work) / ("alone" + suffix)
            # Twice, for the include guard.
            source.write_text(f'#include "{header.path.parent.name.replace("extra", "culvert/extra")}/{header.path.name}"\n' * 2 + "int alone_;\n")
            command = [compiler, f"-std={standard}", *WARNINGS, *flags, *cuda, f"-I{root / 'include'}", f"-I{root / 'extra/include'}", "-fsyntax-only", source]
            if re.search(r"^#ifndef CULV_EXPERIMENTAL$", header.text, re.M):
                result = subprocess.run(command, capture_output=True, text=True)
                if "define CULV_EXPERIMENTAL first" not in result.stderr:
                    bad.append(f"{header.path.name} is experimental, and compiles where that is not asked for")
                command.append("-DCULV_EXPERIMENTAL")
            result = subprocess.run(command, capture_output=True, text=True)
            if result.returncode != 0:
                bad.append(f"{header.path.name} does not compile alone by {compiler} -std={standard}:\n{result.stderr}")
    return bad


def check_strangers(root, compiler, standard, flags):
    """All headers behind other people's macros. What they include themselves comes before, as it does in Qt's programs."""
    cpp = "++" in standard
    names = [h.path.name for h in headers(root) if h.path.name != "cudart.h"] + cpp * sorted(
        p.name for p in (root / "include" / "culvert").glob("*.hpp"))
    texts = {name: (root / "include" / "culvert" / name).read_text() for name in names}
    own = sorted({m for text in texts.values() for m in re.findall(r"^#\s*include (<(?!windows|d3d|dxgi|cuda|nvsci)[^>]*>)", text, re.M)})
    with tempfile.TemporaryDirectory() as work:
        source = pathlib.Path(work) / ("strangers" + (".cpp" if cpp else ".c"))
        lines = [*own, f'"{pathlib.Path(__file__).with_name("strangers.h")}"', *(f'"culvert/{name}"' for name in names)]
        source.write_text("".join(f"#include {line}\n" for line in lines) + "int alone_;\n")
        result = subprocess.run([compiler, f"-std={'c++17' if cpp else standard}", *WARNINGS, *flags, f"-I{root / 'include'}",
                                 "-DCULV_EXPERIMENTAL", "-fsyntax-only", source], capture_output=True, text=True)
    return [f"behind other people's macros, {compiler}:\n{result.stderr}"] if result.returncode else []


def check_module(root, compiler, flags):
    """A C++ module exports the functions that the headers define, where CULV_INLINE says so. GCC 12 would export static ones."""
    if "clang++" not in compiler:
        return []
    with tempfile.TemporaryDirectory() as work:
        source = pathlib.Path(work) / "culvert.cppm"
        source.write_text("module;\n#define CULV_INLINE inline\n#include <culvert/culvert.h>\nexport module culvert;\n"
                          "export using ::culv_device_desc_init;\nexport using ::culv_ipc_info_named;\n")
        result = subprocess.run([compiler, "-std=c++20", *flags, f"-I{root / 'include'}", "--precompile", "-x", "c++-module", source,
                                 "-o", f"{work}/culvert.pcm"], capture_output=True, text=True)
    return [f"in a module, {compiler}:\n{result.stderr}"] if result.returncode else []


def check_musl(root, compiler, cuda_include, system):
    """What asks the system compiles with another C library. The kernel's headers are the system's."""
    bad = []
    for source in sorted((root / "src").glob("*/posix_*.c")):
        result = subprocess.run([compiler, "-std=c11", "-D_GNU_SOURCE", "-DCULV_EXPERIMENTAL", "-Wall", "-Wextra", "-Werror",
                                 f"-I{root / 'include'}", f"-I{root / 'src'}", f"-I{cuda_include}",
                                 *(word for path in system for word in ("-idirafter", path)), "-fsyntax-only", source],
                                capture_output=True, text=True)
        if result.returncode != 0:
            bad.append(f"{source.name} does not compile by {compiler}:\n{result.stderr}")
    return bad


# The self-test: a tree that passes, then one fault at a time. -------------------------------------------------------------

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
    """Of what try_library() was made of last."""
    subprocess.run(["gcc", "-c", "-o", root / "try.o", root / "try.c"], check=True)
    subprocess.run(["ar", "rcs", root / "libtry.a", root / "try.o"], check=True)
    return root / "libtry.a"


def try_library(root, source, *flags):
    path = root / "libtry.so"
    (root / "try.c").write_text(source)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", path, root / "try.c", *flags], check=True)
    return str(path)


def linked(root):
    """What CMake's script makes of the headers, and a linker of that: the complaints."""
    version_script = root / "try.map"
    made = subprocess.run(["cmake", "-D", "KIND=map", "-D", f"HEADERS={root}/include/culvert/*.h", "-D", f"OUT={version_script}",
                           "-P", ROOT / "cmake" / "culvert_exports.cmake"], capture_output=True, text=True)
    if made.returncode != 0:
        return [" ".join(made.stderr.split())]
    (root / "try.c").write_text("int culv_a(void) { return 1; } int leaked(void) { return 2; }")
    made = subprocess.run(["gcc", "-shared", "-fPIC", "-o", root / "libtry.so", root / "try.c", "-Wl,--no-undefined-version",
                           f"-Wl,--version-script={version_script}"], capture_output=True, text=True)
    return made.stderr.splitlines()


def selftest():
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
        expect("good text", check_text(root), None)
        expect("good exports", check_exports(root, {"culv_a"}, {"culv_a", "culv_a_desc_init"}), None)
        (root / "docs" / "decisions.md").write_text("**R2. A rule.** Text.\n")
        expect("rules in disorder", check_text(root), "in order, not R2")
        (root / "docs" / "decisions.md").write_text(DECISIONS)
        expect("good C", check_compile(root, "gcc", "c11", work, []), None)
        expect("good C++", check_compile(root, "g++", "c++11", work, []), None)
        expect("not exported", check_exports(root, set(), {"culv_a"}), "the library does not export it")
        expect("exported besides", check_exports(root, {"culv_a", "culvi_b"}, set()), "the library exports culvi_b")
        expect("not declared", check_exports(root, {"culv_a"}, {"culv_b"}), "the library defines culv_b")
        (root / "src").mkdir()
        (root / "src" / "a.c").write_text("CULV_EXPORT int culv_b;")
        expect("marker", check_text(root), "a.c: CULV_EXPORT is for the public headers")
        (root / "src" / "a.c").write_text("int CULV_EXPORTED;")
        expect("no marker", check_text(root), None)
        (root / "debian" / "libculvert0.symbols").write_text(SYMBOLS.replace("0.1.0", "0.0.9"))
        expect("Debian's version", check_text(root), "libculvert0.symbols says version 0.0.9")
        (root / "debian" / "libculvert0.symbols").write_text(SYMBOLS)

        expect("installed", check_installed(root, root), None)
        (root / "include" / "culvert" / "private").mkdir()
        (root / "include" / "culvert" / "private" / "p.h").write_text("")
        base = root / "include" / "culvert" / "base.h"
        base.write_text(GOOD.replace("#include <stddef.h>", "/* docs/page.md has more. */\n#include <stddef.h>"))
        expect("page missing", check_installed(root, root), "a header speaks of docs/page.md")
        base.write_text(GOOD)
        expect("private header", check_installed(root, root), "culvert/private/p.h is installed")
        expect("nothing installed", check_installed(root, root / "cmake"), "culvert/base.h is not installed")

        good = try_library(root, "int culv_a(void) { return 1; }", "-Wl,--no-as-needed", "-Wl,-soname,libculvert.so.0")
        expect("library", check_needed(good), None)
        expect("its exports", check_exports(root, exported_names(good), defined_names(archive(root))), None)
        more = try_library(root, "int culv_a(void) { return 1; } int leaked(void) { return 2; }\n"
                       "__attribute__((visibility(\"hidden\"))) int culv_b(void) { return 3; }",
                       "-Wl,--no-as-needed", "-lresolv")
        bad = check_exports(root, exported_names(more), defined_names(archive(root)))
        expect("leaked symbol", bad, "the library exports leaked")
        expect("hidden symbol", bad, "the library defines culv_b")
        expect("library too many", check_needed(more), "links libresolv.so.2")
        expect("soname", check_needed(more), "SONAME")

    for old, new, wanted in TEXT_FAULTS:
        with tempfile.TemporaryDirectory() as work:
            root = tree(work, replaced(GOOD, old, new))
            expect(repr(new), check_text(root), wanted)
    for declarations, wanted in MAP_FAULTS:
        with tempfile.TemporaryDirectory() as work:
            expect(declarations, linked(tree(work, replaced(GOOD, "int culv_a(const culv_a_desc *desc);", declarations))), wanted)
    for old, new, wanted in COMPILE_FAULTS:
        with tempfile.TemporaryDirectory() as work:
            compiler, standard = ("g++", "c++11") if "class" in new else ("gcc", "c11")
            expect(repr(new), check_compile(tree(work, replaced(GOOD, old, new)), compiler, standard, work, []), wanted)

    for problem in problems:
        print(problem)
    print(f"{checked} expectations, {len(problems)} not met")
    return 1 if problems else 0


def report(bad):
    for line in bad:
        print(line)
    print(f"{len(bad)} complaints" if bad else "no complaints")
    return 1 if bad else 0


def main(arguments):
    verb, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if verb == "compile" and len(rest) >= 3:
        return report(check_compile(ROOT, *rest[:3], rest[3:]) + check_strangers(ROOT, *rest[:2], rest[3:]) +
                      check_module(ROOT, rest[0], rest[3:]))
    if verb == "musl" and len(rest) >= 2:
        return report(check_musl(ROOT, *rest[:2], rest[2:]))
    if verb == "text" and not rest:
        return report(check_text(ROOT))
    if verb == "exports" and len(rest) == 2:
        return report(check_exports(ROOT, exported_names(rest[0]), defined_names(rest[1])))
    if verb == "needed" and len(rest) == 1:
        return report(check_needed(rest[0]))
    if verb == "installed" and len(rest) == 1:
        return report(check_installed(ROOT, rest[0]))
    if verb == "selftest" and not rest:
        return selftest()
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
