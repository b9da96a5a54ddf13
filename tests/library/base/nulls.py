#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""nulls.py ROOT OUT: a row for nulls.c for each pointer that a function of the headers takes: the
function called with NULL there, with the defaults for other descriptors, and other objects of nulls.c's (null_object());
and null_destroys(): what gives up an object called with NULL, and with a pointer to NULL."""
import pathlib
import re
import sys

root, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
folders = [root / "include", root / "extra/include"]
headers = [h for folder in folders for h in sorted(folder.rglob("*.h")) if h.parent.name != "abi" and h.name != "cudart.h" and not h.name.startswith("d3d")]
text = "".join(re.sub(r"/\*.*?\*/", "", h.read_text(), flags=re.S) for h in headers)
inits = set(re.findall(r"\b(culv_\w+)_init\(void\)", text))
enums = set(re.findall(r"^typedef enum (culv_\w+)", text, re.M))
HANDLES = re.compile(r"(PFN_\w+|Vk(Instance|PhysicalDevice|Device|Queue|CommandBuffer)|CU(graph|graphExec|graphNode|context))$")


def pointer(kind):
    return kind.endswith("*") or HANDLES.match(kind) is not None


print_to = [f"#include <{h.relative_to(folder)}>" for folder in folders for h in headers if folder in h.parents] + ['#include "nulls.h"']
rows = []
for name, parameters in re.findall(r"^CULV_(?:EXPORT|EXTRA)\s+culv_result\s+(culv_\w+)\(([^()]*)\);", text, re.M):
    taken = [re.match(r"(.*?[ *])(\w+)(\[\w*\])?$", re.sub(r"\s+", " ", p.strip())) for p in parameters.split(",")]
    if taken == [None]:
        continue
    taken = [(m[1].strip() + (" *" if m[3] else ""), m[2]) for m in taken]
    for at, (kind, what) in enumerate(taken):
        if not pointer(kind):
            continue
        before, given = "", []
        for i, (other, _) in enumerate(taken):
            base = re.sub(r"\bconst\b|[* ]", "", other)
            if i == at:
                given.append("NULL")
            elif pointer(other) and other.count("*") == 1 and base in inits:
                before += f" {base} d{i} = {base}_init();"
                given.append(f"&d{i}")
            elif pointer(other):
                given.append(f'({other})(uintptr_t)null_object("{base if other.count("*") == 1 else ""}")')
            elif other == "CUdeviceptr":
                given.append('(CUdeviceptr)(uintptr_t)null_object("")')
            elif other.startswith("culv_") and other not in enums and other != "culv_bool":
                given.append(f"({other}){{0}}")
            else:
                given.append(f"({other})0")
        print_to.append(f"static culv_result f{len(rows)}(void) {{{before} return {name}({', '.join(given)}); }}")
        rows.append(f'    {{"{name}", "{what}", f{len(rows)}}},')
ends = re.findall(r"^CULV_(?:EXPORT|EXTRA)\s+\w+\s+(culv_\w+_(?:destroy|unmap|unload|close|detach))\(\s*(culv_\w+) \*\*\w+(,\s*const CUstream \*\w+)?\);", text, re.M)
print_to += ["void null_destroys(void) {"] + [f"    {{ {kind} *o = NULL; CUstream s = NULL; (void)s; " + " ".join(f"(void){name}({o}{last});" for o in ("NULL", "&o")
             for last in ((", NULL", ", &s") if after else ("",))) + " }" for name, kind, after in ends] + ["}", f"const unsigned null_ends = {len(ends)};"]
out.write_text("\n".join(print_to + ["const null_row null_rows[] = {", *rows, "    {NULL, NULL, NULL}};", ""]))
