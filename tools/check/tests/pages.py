#!/usr/bin/env python3
"""tools/check/docs/culvert-check-findings.md is made of pages.c and tools/check/model_rules.c, and of what culvert-check says of the programs.

usage: pages.py page BUILD    runs the programs on the software twin, and prints the page
       pages.py check BUILD   says where the page in tools/check/docs is another one, and where a wrong program does not have its finding
                              and nothing else, or a right one has any
       pages.py nvidia BUILD  runs the programs on NVIDIA's driver; BUILD may be a bundle
SPDX-License-Identifier: MIT
"""
import concurrent.futures
import difflib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

what, build = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
here = pathlib.Path(__file__).resolve().parent
nvidia = what == "nvidia"
# No software driver of Vulkan exports binary semaphores.
NOT_ON_THE_TWIN = {"signaled-twice"}
HEAD = """# What culvert-check finds
<!-- made by tools/check/tests/pages.py: change the comments and programs of tools/check/tests/pages.c, or tools/check/model_rules.c -->

Each finding of [culvert-check](culvert-check.md) has a section here: what is wrong, the rule and its source, a small program (`-` are the lines with the mistake, `+` those that mend it), and the report.
A test runs the programs, so the reports are what the tool says. They are shortened: under each call stand the places in the program that made it, objects have their handles, and rule, source and mend are repeated, with the section to read.

The programs use a few functions, so that only what matters is on the page ([tools/check/tests/seeds_parts.c](../../../tools/check/tests/seeds_parts.c)):

| function | |
| --- | --- |
| `make_buffer(dedicated)` | a `VkBuffer` in memory of its own that can be exported; `s.allocated` is its `allocationSize` |
| `memory_fd(&s)` | `vkGetMemoryFdKHR`: a new descriptor of its memory |
| `import_memory(&s.import, fd, size, flags)` | `cuImportExternalMemory` |
| `share_buffer()`, `share_image()` | all of that without a mistake, and mapped: `s.pointer` or `s.array` is CUDA's |
| `make_timeline(&fd)`, `share_timeline()` | a timeline semaphore with a descriptor, or imported into CUDA |
| `vulkan_writes(&s, &t, after, signal)` | a submission that waits for `after`, fills the buffer, and signals `signal`; 0 is no wait or no signal, `NULL` no buffer |
| `cuda_paints(&s)` | a copy from the host into the image's array, in `streams[0]` |
| `change_layout(commands, &s, from, to, owner)` | a barrier from one layout to another, that releases the image to CUDA (1) or takes it back (-1) |
| `copy_picture(commands, &s, layout, buffer)` | `vkCmdCopyImageToBuffer` of all of it |
| `begin()`, `end_and_submit(commands, &t, after, signal)` | a command buffer, submitted in the same way |
| `cuda_waits(&t, value, i)`, `cuda_signals(&t, value, i)` | `cuWaitExternalSemaphoresAsync` and `cuSignalExternalSemaphoresAsync` in `streams[i]` |
| `cuda_writes(&s)`, `cuda_reads(&s)`, `cuda_adds(&s)` | a memset of it, a copy of it to the host, and a kernel that adds 1 to each word, in `streams[0]` |
| `vulkan_takes(&s, &t, after)` | a submission that waits for `after`, with a barrier of the buffer from `VK_QUEUE_FAMILY_EXTERNAL` |
| `all_done()` | `vkDeviceWaitIdle` and `cuCtxSynchronize` |
"""


def find_source():
    """The directory of the sources; a bundle has none, and needs none."""
    root = here.parents[2]
    return root if (root / "tools/check/model_rules.c").exists() else None


def rules():
    """id: (class, rule, source, mend)."""
    text = (find_source() / "tools/check/model_rules.c").read_text(encoding="utf-8")
    string = r'"((?:[^"\\]|\\.)*)"'
    rows = re.findall(r"\{'(\w)', " + string + r",\s*" + string + r",\s*" + string + r",\s*" + string + r"\}", text)
    return {row[1]: (row[0], *(part.replace('\\"', '"') for part in row[2:])) for row in rows}


def both(lines):
    """The program's lines, as a difference: - those of the mistake, + those without it."""
    kept, mark = [], " "
    for line in lines:
        condition = re.match(r"#if (!?)WRONG$", line)
        if condition:
            mark = "+" if condition.group(1) else "-"
        elif line == "#else":
            mark = "+" if mark == "-" else "-"
        elif line == "#endif":
            mark = " "
        else:
            kept.append(f"{mark} {line.removeprefix('    ')}".rstrip())
    return "\n".join(kept)


def programs():
    """id: (what is wrong, the lines of the function)."""
    text = (here / "pages.c").read_text(encoding="utf-8")
    found = {}
    for about, function in re.findall(r"/\* PAGE (.*?) \*/\n(.*?)\n}\n", text, re.S):
        name, _, words = about.partition("\n")
        found[name] = (re.sub(r"\n \* ", "\n", re.sub(r"\n \*   ", " ", "\n" + words)).strip(),
                       function.split("\n{\n", 1)[1].split("\n"))
    return found


def shorten(report):
    """Without the places in the program, handles, and what is of this machine alone."""
    lines = [line for line in report.splitlines()
             if not re.match(r"             |  (rule|source|mend|read):  ", line) and not re.match(r"culvert-check: (note|\d+ finding)", line)]
    text = "\n".join(lines).strip()
    text = re.sub(r" ?\b0x[0-9a-f]+\b", "", text)
    text = re.sub(r"\bGPU [0-9a-f.]+", "GPU ...", text)
    return re.sub(r"([Dd]escriptor) \d+", r"\1 7", text)


def run(name, wrong, strict):
    """What culvert-check finds in a program, and its report."""
    environment = dict(os.environ) if nvidia else dict(os.environ, CULVERT_SOFT="1", CULVERT_SOFT_DEVICES="2")
    start = [] if nvidia else [build / "bin/culvert-soft-run"]
    with tempfile.TemporaryDirectory() as directory:
        told, text = os.path.join(directory, "told.json"), os.path.join(directory, "report")
        process = subprocess.run([*start, build / "bin/culvert-check", "--stuck", "1", *(["--strict"] if strict else []), "--json", told,
                                  "--text", text, build / f"bin/tests/check-pages-{int(wrong)}", name, build / "share/culvert"],
                                 env=environment,
                                 capture_output=True, text=True, timeout=60, check=False)
        with open(told, encoding="utf-8") as file:
            answer = json.load(file)
        with open(text, encoding="utf-8") as file:
            report = file.read()
    if answer["status"] != 0:
        report += process.stdout + process.stderr
    return sorted({row["id"] for row in answer["findings"]}), answer["status"], report


def main():
    names = subprocess.run([build / "bin/tests/check-pages-0"], check=True, capture_output=True, text=True).stdout.split()
    strict = {"not-dedicated", "no-release", "no-acquire", "layout-not-general", "layout-mismatch"}
    left_out = NOT_ON_THE_TWIN if not nvidia else {"other-gpu"}
    problems, reports = 0, {}
    pool = concurrent.futures.ThreadPoolExecutor(4)
    runs = {(name, wrong): pool.submit(run, name, wrong, name in strict) for name in names for wrong in (True, False)
            if name not in left_out}
    for name in names:
        if name in left_out:
            print(f"SKIP: {name}: {'one GPU' if nvidia else 'binary semaphores are not on the twin'}", file=sys.stderr)
            continue
        for wrong in (True, False):
            found, status, report = runs[name, wrong].result()
            good = found == ([name] if wrong else []) and status == 0
            print(f"{'ok' if good else 'FAIL'}: {name} {'wrong' if wrong else 'right'}: {', '.join(found) or 'nothing'}",
                  file=sys.stderr)
            if not good:
                print(report, file=sys.stderr)
            problems += not good
            if wrong:
                reports[name] = shorten(report)
    if nvidia:
        return problems > 0
    rows, told = rules(), programs()
    if sorted(rows) != sorted(names) or sorted(told) != sorted(names):
        print("FAIL: pages.c and model_rules.c have other findings:", sorted(set(rows) ^ set(names)), sorted(set(told) ^ set(names)),
              file=sys.stderr)
        return True
    parts = [HEAD]
    for name in names:
        letter, rule, source, mend = rows[name]
        about, lines = told[name]
        parts.append(f"\n## {name}\nClass ({letter}){', with `--strict`' if name in strict else ''}. {about}\n\n"
                     f"- **Rule.** {rule}\n- **Source.** {source}.\n- **Mend.** {mend}\n\n```diff\n{both(lines)}\n```\n")
        if name in reports:
            parts.append(f"\n```\n{reports[name]}\n```\n")
        else:
            parts.append("\nThe software twin has no binary semaphores, because no software driver of Vulkan exports them: "
                         "this program is for a GPU, and the test leaves it out.\n")
    page = "".join(parts)
    if what == "page":
        sys.stdout.write(page)
        return problems > 0
    is_page = (find_source() / "tools/check/docs/culvert-check-findings.md").read_text(encoding="utf-8")
    difference = list(difflib.unified_diff(is_page.splitlines(), page.splitlines(), "tools/check/docs/culvert-check-findings.md",
                                           "pages.py page", lineterm=""))
    print(*difference[:60], sep="\n", file=sys.stderr)
    return problems > 0 or difference != []


sys.exit(main())
