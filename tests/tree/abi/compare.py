#!/usr/bin/env python3
"""Holds cuda_headers/*.h against a CUDA toolkit: every size, offset, number, function and vector type in them is the toolkit's.

usage: compare.py ABI_DIRECTORY TOOLKIT_INCLUDE SCRATCH COMPILER CXX_COMPILER

One program that prints all sizes, offsets and numbers is compiled with either directory, and the outputs are compared.
Functions are compared by the compiler, with the toolkit's headers alone. SPDX-License-Identifier: MIT"""
import pathlib
import re
import subprocess
import sys

VECTORS = [f"{base}{count}" for base in ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "longlong",
                                         "ulonglong", "float", "double") for count in (1, 2, 3, 4)]


def declarations(text):
    """The file's top-level declarations, each in one line."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"^#.*(?:\\\n.*)*$", "", text, flags=re.MULTILINE).replace('extern "C" {', "")
    found, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == ";" and depth == 0:
            found.append(" ".join(text[start:at + 1].split()))
            start = at + 1
    return found


def members(body):
    """Names of a struct's members, those of unions and structs in it as paths."""
    names, depth, part, inner = [], 0, "", ""
    for letter in body:
        if letter == "{":
            depth += 1
            if depth == 1:
                inner = ""
                continue
        if letter == "}":
            depth -= 1
            if depth == 0:
                continue
        if depth > 0:
            inner += letter
        elif letter == ";":
            if inner and part.split() in (["union"], ["struct"]):  # without a name: its members are the struct's own
                names += members(inner)
                part = inner = ""
                continue
            name = re.search(r"(?:\(\*|CUDA_CB \*)?(\w+)(?:\[[^\]]*\])*\)?(?:\(.*\))?\s*$", part).group(1)
            names.append(name)
            names += [f"{name}.{each}" for each in members(inner)] if inner else []
            part = inner = ""
        else:
            part += letter
    return names


def run(*command, **options):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def facts(found, macros):
    lines = []
    for text in found:
        name = re.search(r"(\w+);$", text)
        enum = re.match(r"(?:typedef )?enum \w* ?{(.*)}", text)
        struct = re.match(r"(typedef )?(struct|union) (\w*) ?{(.*)} ?(\w*);$", text)
        if enum:
            lines += [f'NUMBER({value});' for value in re.findall(r"(\w+) = ", enum.group(1))]
        elif struct:
            tag = struct.group(5) or f"{struct.group(2)} {struct.group(3)}"
            lines.append(f"SIZE({tag});")
            lines += [f"MEMBER({tag}, {member});" for member in members(struct.group(4))]
        elif text.startswith("typedef") and name and "(" not in text:
            lines.append(f"SIZE({name.group(1)});")
    return lines + [f"NUMBER({macro});" for macro in macros]


def main():
    abi, toolkit, scratch, compiler, cxx = sys.argv[1:]
    scratch = pathlib.Path(scratch)
    scratch.mkdir(parents=True, exist_ok=True)
    header = (pathlib.Path(abi) / "cuda.h").read_text()
    version = [int(re.search(r"define CUDA_VERSION +(\d+)", (pathlib.Path(place) / "cuda.h").read_text()).group(1))
               for place in (abi, toolkit)]
    if version[1] < version[0]:
        print(f"SKIP: the toolkit's CUDA_VERSION is {version[1]}, older than that of cuda_headers/cuda.h, {version[0]}")
        sys.exit(77)
    found = declarations(header)
    macros = [name for name in re.findall(r"^#define (C\w+) ", header, re.MULTILINE)
              if name not in ("CUDA_VERSION", "CULVERT_ABI_CUDA_H_")]

    source = scratch / "facts.c"
    lines = facts(found, macros)
    source.write_text("#include <cuda.h>\n#include <cudaTypedefs.h>\n#include <stdio.h>\n"
                      "#define SIZE(T) printf(#T \" %zu\\n\", sizeof(T))\n"
                      "#define MEMBER(T, m) printf(#T \".\" #m \" %zu %zu\\n\", offsetof(T, m), sizeof(((T *)0)->m))\n"
                      "#define NUMBER(n) printf(#n \" %lld\\n\", (long long)(n))\n"
                      "int main(void)\n{\n" + "\n".join(lines) + "\n}\n")
    outputs = []
    for place in (abi, toolkit):
        program = scratch / f"facts{len(outputs)}"
        run(compiler, "-std=c11", "-w", "-O0", "-include", "stddef.h", "-isystem", place, source, "-o", program)
        outputs.append(run(program).splitlines())
    different = [f"{mine} here, {theirs} in the toolkit" for mine, theirs in zip(*outputs) if mine != theirs]

    # A typed entry point is the same type; so is a function that the twin defines.
    functions = scratch / "functions.c"
    checks = []
    for text in found:
        pointer = re.match(r"typedef (.*\(CUDAAPI \*)(PFN_\w+)(\)\(.*\));$", text)
        function = re.match(r"(.*?CUDAAPI )(\w+)(\(.*\));$", text)
        if pointer:
            before, name, after = pointer.groups()
            checks.append(f"typedef {before}abi_{name}{after}; _Static_assert(_Generic((abi_{name})0, {name}: 1, default: 0), \"{name}\");")
        elif function and not text.startswith("typedef"):
            before, name, after = function.groups()
            checks.append(f"{before}{name}{after};") # the compiler refuses another one
    functions.write_text("#define __CUDA_API_VERSION_INTERNAL\n#include <cuda.h>\n#include <cudaTypedefs.h>\n"
                         + "\n".join(checks) + "\n")
    run(compiler, "-std=c11", "-w", "-fsyntax-only", "-isystem", toolkit, functions)

    vectors = scratch / "vectors.cpp"
    vectors.write_text("".join(f"#include <{name}.h>\n" for name in
                               ("vector_types", "vector_functions", "surface_types", "texture_types"))
                       + "#include <cstdio>\nint main()\n{\n"
                       + "".join(f'    std::printf("{name} %zu %zu\\n", sizeof({name}), alignof({name}));\n'
                                 for name in VECTORS + ["dim3", "cudaSurfaceObject_t", "cudaTextureObject_t"])
                       + "    float4 v = make_float4(1, 2, 3, 4);\n    uchar3 u = make_uchar3(1, 2, 3);\n"
                       + '    std::printf("%d %d\\n", int(v.w), int(u.z));\n'
                       + '    std::printf("%d %d %d\\n", cudaBoundaryModeZero, cudaBoundaryModeClamp, cudaBoundaryModeTrap);\n}\n')
    outputs_of_vectors = []
    for place in (abi, toolkit):
        program = scratch / f"vectors{len(outputs_of_vectors)}"
        run(cxx, "-std=c++17", "-w", "-D__host__=", "-D__device__=", "-isystem", place, vectors, "-o", program)
        outputs_of_vectors.append(run(program).splitlines())
    different += [f"{mine} here, {theirs} in the toolkit" for mine, theirs in zip(*outputs_of_vectors) if mine != theirs]

    for line in different:
        print(line)
    print(f"{len(outputs[0])} sizes, offsets and numbers, {len(checks)} functions, {len(VECTORS)} vector types")
    # A parser that finds nothing would compare nothing.
    if len(outputs[0]) < 500 or len(checks) < 200:
        sys.exit("too few facts: the parser does not understand cuda_headers/cuda.h")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
