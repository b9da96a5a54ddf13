#!/usr/bin/env python3
"""Shows that compile_example.py can fail: selftest.py OUTPUT_DIR LIBRARY COMPILER [FLAGS...]

SPDX-License-Identifier: MIT
"""
import pathlib
import subprocess
import sys

HEAD = "# x\n\n<!-- example -->\n```c\n#include <culvert/culvert.h>\nint go(void);\nint go(void)\n{\n"
TAIL = "}\n```\n"
CASES = [
    ("a right one", HEAD + "    culv_device *d = 0;\n    return culv_device_open_by_ordinal(0, 0, &d);\n" + TAIL, 0),
    ("no mark", "# x\n", 77),
    ("a mark without a block", "<!-- example -->\ntext\n", 1),
    ("a block without an end", "<!-- example -->\n```c\nint x;\n", 1),
    ("an unknown function", HEAD + "    return culv_device_open_by_name();\n" + TAIL, 1),
    ("a warning", HEAD + "    int unused;\n    culv_device_close(0);\n    return 0;\n" + TAIL, 1),
    ("a declared function that the library lacks",
     HEAD.replace("int go(void);", "int go(void);\nint culv_nothing(void);") + "    return culv_nothing();\n" + TAIL, 1),
    ("nothing of Culvert", HEAD + "    return 0;\n" + TAIL, 1),
    ("two examples, of which one is wrong", HEAD + "    culv_device_close(0);\n    return 0;\n" + TAIL +
     HEAD.replace("go", "come") + "    return culv_nothing();\n" + TAIL, 1),
    ("lines of code", HEAD.replace("example", "example: 4 lines") + "    /* a\n b */\n\n    culv_device_close(0);\n    return 0;\n" + TAIL, 0),
    ("lines that are not so many", HEAD.replace("example", "example: 3 lines") + "    culv_device_close(0);\n    return 0;\n" + TAIL, 1),
    ("parts", "<!-- example: part of a -->\n```c\n#include <culvert/culvert.h>\nint go(void);\n```\n<!-- example: part of a -->\n"
     "```c\nint go(void)\n{\n    culv_device_close(0);\n    return 0;\n}\n```\n", 0),
    ("a mark that nobody knows", HEAD.replace("example", "example: twice") + "    culv_device_close(0);\n    return 0;\n" + TAIL, 1),
    ("the output of no program", HEAD + "    culv_device_close(0);\n    return 0;\n" + TAIL + "<!-- output of x -->\n```\n```\n", 1),
    ("too many lines", HEAD + "\n" * 60 + "    culv_device_close(0);\n    return 0;\n" + TAIL, 1),
]


def main(directory, *rest):
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    script = pathlib.Path(__file__).with_name("compile_example.py")
    failed = 0
    for name, text, expected in CASES:
        readme = directory / "README.md"
        readme.write_text(text, encoding="utf-8")
        run = subprocess.run([sys.executable, script, readme, directory, *rest], check=False, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if run.returncode != expected:
            failed += 1
            print(f"FAILED: {name}: exit {run.returncode}, not {expected}\n{run.stdout}")
    print(f"{len(CASES) - failed} of {len(CASES)} passed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
