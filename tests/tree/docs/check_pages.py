#!/usr/bin/env python3
"""Checks README.md, CONTRIBUTING.md and the pages of docs/ against each other and against the sources.

  check_pages.py ROOT        links lead to files and headings that exist; what a page quotes of Culvert's messages is in
                             the sources; excerpts of samples are in them; the README is short, has few links; docs/index.md
                             links to each page; each number of their tables of speeds is in a dated page
  check_pages.py installed DIRECTORY
                             the links of all pages below this directory, where an installation put them
  check_pages.py selftest    every check fails on a bad input made for it

SPDX-License-Identifier: MIT
"""
import collections
import pathlib
import re
import sys
import tempfile

README_LINES = 70
README_LINKS = 10 # docs/index.md has the rest
LINK = re.compile(r"\]\(([^()\s]+(?:\([^()]*\))?)\)")


def pages(root):
    return [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md")), *sorted(root.glob("tools/*/docs/*.md"))]


def prose(text):
    """The lines outside of code blocks, as (number, line)."""
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            code = not code
        elif not code:
            yield number, line


def anchors(text):
    """The anchors that a page's headings have on GitHub."""
    used = collections.Counter()
    found = set()
    for _, line in prose(text):
        heading = re.match(r"#+ (.*)", line)
        if heading:
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1))
            anchor = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            found.add(anchor + (f"-{used[anchor]}" if used[anchor] else ""))
            used[anchor] += 1
    return found


def check_links(chosen):
    bad, known = [], {}
    for page in chosen:
        for number, line in prose(page.read_text(encoding="utf-8")):
            for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
                file, _, anchor = target.partition("#")
                if re.match(r"\w+:", target):
                    continue
                path = (page.parent / file).resolve() if file else page.resolve()
                if not path.exists():
                    bad.append(f"{page.name}:{number}: there is no {target}")
                elif anchor and path.suffix == ".md":
                    if path not in known:
                        known[path] = anchors(path.read_text(encoding="utf-8"))
                    if anchor not in known[path]:
                        bad.append(f"{page.name}:{number}: {path.name} has no heading #{anchor}")
    return bad


def check_index(root):
    index = root / "docs" / "index.md"
    if not index.exists():
        return [f"there is no {index}"]
    linked = {(index.parent / target.partition("#")[0]).resolve() for _, line in prose(index.read_text(encoding="utf-8"))
              for target in LINK.findall(re.sub(r"`[^`]*`", "", line)) if not re.match(r"\w+:", target)}
    return [f"docs/index.md does not link to {page.name}" for page in pages(root)[2:]
            if page != index and page.resolve() not in linked]


def check_quotes(root):
    """docs/troubleshooting.md: in lines that begin with "- Culvert" or go on about it, "quotes" are of messages."""
    page = root / "docs" / "troubleshooting.md"
    if not page.exists():
        return [f"there is no {page}"]
    strings = "\n".join(path.read_text(encoding="utf-8") for folder in ("src", "soft")
                        for path in sorted((root / folder).rglob("*.[ch]")))
    # A message may be in several literals, one below the other.
    strings = re.sub(r'"\s*\n\s*"', "", strings)
    bad = []
    for number, line in prose(page.read_text(encoding="utf-8")):
        if re.search(r"\bCulvert\b.*:|RING_|From the twin:|WAIT_BEFORE", line) or re.search(r'Culvert: "', line):
            for quote in re.findall(r'"([^"]+)"', line):
                if quote not in strings:
                    bad.append(f"{page.name}:{number}: no message has {quote!r}")
    return bad


# What stood on people's screens: docs/troubleshooting.md leads from each to its answer.
SCREENS = """cudaIpcOpenMemHandle | invalid device context | invalid resource handle | invalid device ordinal | CUDA failure 101
failed to open CUDA IPC handle | mapping of buffer object failed | peer access has not been enabled | 217 | 704 | 705
peer access is not supported between these two devices | initialization error | CUDA_ERROR_NOT_INITIALIZED | fork
Failed to find a supported physical device | Found no drivers | ERROR_EXTENSION_NOT_PRESENT | ERROR_INCOMPATIBLE_DRIVER
No support for synchronization when importing DMA-BUFs | VK_ERROR_INVALID_EXTERNAL_HANDLE | directory | of a peer
operation not permitted when stream is capturing | operation failed due to a previous error during capture | copy between peers
Failed to import external memory in CUDA | CUDA error 700 | Texture creation failed | an illegal memory access | unspecified launch failure
Couldn't allocate MR with error=14 | vkGetDeviceProcAddr(device, vkGetMemoryFdKHR) returns null | cuMemAddressReserve
CUDA driver version is insufficient for CUDA runtime version | all CUDA-capable devices are busy or unavailable
in this network namespace | mount it into both | another PID namespace | another time namespace | this user namespace does not map | seccomp
no room in the directory's file system | file system has no room | the file system is read-only | is a link, a directory or no file to be locked
No space left on device | Read-only file system | Too many levels of symbolic links | as many clients as it admits"""


def check_screens(root, screens):
    page = "\n".join(line for _, line in prose((root / "docs/troubleshooting.md").read_text(encoding="utf-8")))
    texts = [text for line in screens.splitlines() for text in line.split(" | ")]
    return [f"troubleshooting.md: nothing of {text!r}" for text in texts if text not in page]


def check_readme(root):
    text = (root / "README.md").read_text(encoding="utf-8")
    bad = []
    lines = len(text.splitlines())
    if lines > README_LINES:
        bad.append(f"README.md has {lines} lines, more than {README_LINES}: the rest belongs to a page")
    links = sum(len(LINK.findall(re.sub(r"`[^`]*`", "", line))) for _, line in prose(text))
    if links > README_LINKS:
        bad.append(f"README.md has {links} links, more than {README_LINKS}: docs/index.md has them all")
    dated = [page for page in sorted((root / "docs").rglob("*.md")) if re.search(r"\b20\d\d-\d\d-\d\d\b", page.read_text(encoding="utf-8"))]
    for speeds in (root / "README.md", root / "docs" / "index.md"):
        for number, line in prose(speeds.read_text(encoding="utf-8") if speeds.exists() else ""):
            if not line.startswith("| ["):
                continue
            page = re.match(r"\| \[[^\]]*\]\((?:docs/)?([\w/-]+\.md)\)", line)
            evidence = root / "docs" / page.group(1) if page else None
            if evidence not in dated:
                bad.append(f"{speeds.name}:{number}: a row of the table of speeds begins with a link to a dated page")
                continue
            have = evidence.read_text(encoding="utf-8").replace(",", "")
            for value in re.findall(r"\d+\.\d+", line.partition(")")[2]):
                if not re.search(rf"(?<![\d.]){re.escape(value)}(?!\d)", have):
                    bad.append(f"{speeds.name}:{number}: {page.group(1)} has no {value}")
    return bad


def squeezed(line):
    return re.sub(r"\s+", "", re.sub(r"/\*.*?\*/", "", line, flags=re.S))


def check_excerpts(root):
    """Each line of the ```c block after <!-- excerpt of FILE --> is in FILE, in this order; its checks may be left out."""
    bad = []
    for page in pages(root):
        for name, block in re.findall(r"<!-- excerpt of (\S+) -->\s*```c\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.S):
            rest = squeezed((root / name).read_text(encoding="utf-8")) if (root / name).exists() else ""
            for line in block.splitlines():
                code = squeezed(line).rstrip(";")
                if code not in rest:
                    bad.append(f"{page.name}: {name} has no {line.strip()!r} there")
                rest = rest[rest.find(code) + len(code):] if code in rest else rest
    return bad


def report(bad):
    for line in bad:
        print(line)
    print(f"{len(bad)} complaints" if bad else "no complaints")
    return 1 if bad else 0


def run_installed(root):
    found = sorted(root.rglob("*.md"))
    return report(check_links(found) if found else [f"there is no page below {root}"])


def run(root, screens=""):
    bad = check_links(pages(root)) + check_index(root) + check_quotes(root) + check_screens(root, screens) + check_readme(root) + check_excerpts(root)
    return report(bad)


def selftest():
    good = {"README.md": "# a\n[b](docs/p.md#two-words)\n| [x](docs/p.md) | 1.25 ms |\n", "CONTRIBUTING.md": "# c\n",
            "docs/p.md": "# P\n2000-01-01: 1,001.25 is 1.25\n## Two words\n`[no](link.md)`\n",
            "docs/index.md": "# I\n[p](p.md#two-words), [t](troubleshooting.md), [c](../CONTRIBUTING.md)\n",
            "docs/troubleshooting.md": '# T\n- Culvert: "it is wrong: do this" (`X`).\n',
            "src/a.c": 'say("is it so? "\n    "it is wrong: "\n    "do this");\n'}
    cases = [("good", {}, 0),
             ("no such file", {"docs/p.md": "# P\n## Two words\n[x](q.md) 2000-01-01 1.25\n"}, 1),
             ("no such heading", {"README.md": "[b](docs/p.md#three-words)\n"}, 1),
             ("a page that the index lacks", {"docs/q.md": "# Q\n"}, 1),
             ("a page in a folder that the index lacks", {"docs/m/q.md": "# Q\n"}, 1),
             ("a dead link of a page in a folder",
              {"docs/index.md": "# I\n[p](p.md), [t](troubleshooting.md), [q](m/q.md)\n", "docs/m/q.md": "# Q\n[p](p.md)\n"}, 1),
             ("a number of a page in a folder",
              {"README.md": "| [x](docs/m/q.md) | 1.25 ms |\n", "docs/m/q.md": "# Q\n2000-01-01 1.25\n[p](../p.md)\n",
               "docs/index.md": "# I\n[p](p.md), [t](troubleshooting.md), [q](m/q.md)\n"}, 0),
             ("a number that no page in a folder has",
              {"README.md": "| [x](docs/m/q.md) | 1.26 ms |\n", "docs/m/q.md": "# Q\n2000-01-01 1.25\n",
               "docs/index.md": "# I\n[p](p.md), [t](troubleshooting.md), [q](m/q.md)\n"}, 1),
             ("a page that only code in the index names",
              {"docs/q.md": "# Q\n", "docs/index.md": "# I\n[p](p.md), [t](troubleshooting.md)\n`[q](q.md)`\n```\n[q](q.md)\n```\n"}, 1),
             ("a page of another folder by the same name",
              {"docs/CONTRIBUTING.md": "# Q\n"}, 1),
             ("a dead link in the index", {"docs/index.md": "# I\n[p](p.md), [t](troubleshooting.md), [q](q.md)\n"}, 1),
             ("no index", {"docs/index.md": None}, 1),
             ("many links", {"README.md": "[b](docs/p.md)\n" * 11}, 1),
             ("no such message", {"src/a.c": 'say("it is right");\n'}, 1),
             ("a long README", {"README.md": "x\n" * 200}, 1),
             ("a number that nobody measured", {"README.md": "| [x](docs/p.md) | 1.26 ms |\n"}, 1),
             ("a number of the index that nobody measured",
              {"docs/index.md": "# I\n| [p](p.md) | 1.26 ms |\n[t](troubleshooting.md)\n"}, 1),
             ("an excerpt", {"README.md": "<!-- excerpt of src/a.c -->\n```c\n\"is it so? \"; /* x */\nsay2(4);\n```\n",
                             "src/a.c": 'OK("is it so? ")\n; OK(say2(4)); say("it is wrong: do this");'}, 0),
             ("an excerpt of nothing", {"README.md": "<!-- excerpt of src/a.c -->\n```c\nsay(5);\n```\n"}, 1),
             ("a page without a date", {"docs/p.md": "# P\n1.25\n## Two words\n"}, 1)]
    failed = 0
    for name, changes, expected in cases:
        with tempfile.TemporaryDirectory() as work:
            root = pathlib.Path(work)
            for file, text in {**good, **changes}.items():
                (root / file).parent.mkdir(parents=True, exist_ok=True)
                if text is not None:
                    (root / file).write_text(text)
            (root / "soft").mkdir()
            if run(root) != expected:
                print(f"FAILED: {name}")
                failed += 1
    installed = [("an installation", {"README.md": "[d](docs/p.md)\n", "docs/p.md": "[s](../samples/a.c) `[x](no)`\n", "samples/a.c": ""}, 0),
                 ("an installed link to what is not there", {"docs/p.md": "[h](../include/a.h)\n"}, 1),
                 ("an installed page of a sample", {"samples/x/README.md": "[p](../../docs/p.md)\n"}, 1),
                 ("no page", {"docs/p.txt": "x"}, 1)]
    for name, files, expected in installed:
        with tempfile.TemporaryDirectory() as work:
            root = pathlib.Path(work)
            for file, text in files.items():
                (root / file).parent.mkdir(parents=True, exist_ok=True)
                (root / file).write_text(text)
            if run_installed(root) != expected:
                print(f"FAILED: {name}")
                failed += 1
    print(f"{len(cases) + len(installed) - failed} of {len(cases) + len(installed)} passed")
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1] == "installed":
        sys.exit(run_installed(pathlib.Path(sys.argv[2]).resolve()))
    sys.exit(selftest() if sys.argv[1:] == ["selftest"] else run(pathlib.Path(sys.argv[1]).resolve(), SCREENS))
