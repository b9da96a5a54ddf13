"""The commands of the pages: which of them run, where, and why the others do not.

  pages.py check ROOT            every block of shell commands of README.md, CONTRIBUTING.md, docs/ and the samples' pages is
                                 in the table below, and every entry of the table has its block
  pages.py programs ROOT BUILD   what the blocks that need a GPU call is there, and has the options that they give
  pages.py run ROOT ROOM         runs the blocks of a room, each in a directory of its own; tests/packages/release/use.sh makes the
                                 rooms in a bare root (scripts/release --test pages)
  pages.py selftest              a block that nobody classified is noticed, and what else `check` is for

A block is ```sh, ```make, or one without a language that has a line "$ command". A block without a language and without
such a line shows output. SPDX-License-Identifier: MIT
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

OTHER_LANGUAGES = {"toml", "c", "cpp", "cmake", "cuda", "glsl", "python", "rust", "yaml"} # what tests they have is not this one's question
HELLO = "examples=/usr/share/doc/culvert-doc/examples/samples/hello\n"
PROGRAM = HELLO + "cc $examples/hello_vulkan.c $(pkg-config --cflags --libs culvert vulkan) -lm -o program\n"
RIGHT = "grep -q ': 0 of 32131 pixels are wrong' said"

# Rooms: `bare` has a compiler, pkg-config and CMake, and the release's files in $RELEASE; `packages` has Debian's packages
# besides, as installing.md's first block installs them; `tree` has the sources, unpacked, and what builds them for Windows.
#
# (page, how its first command begins): (room, {options})
#   before  commands first: what the page's reader has. The page's files (<!-- file: NAME -->) and programs
#           (<!-- example: part of NAME -->) are there already
#   without {text: why}: lines of the block that do not run
#   then    what must be true afterwards; what the block printed is in `said`
RUNS = {
    ("docs/installing.md", "apt install ./libculvert0_"): ("bare", {
        "before": "cp $RELEASE/debian$DEBIAN/*.deb .\n", "then": RIGHT + "\n[ ! -e /usr/include/culvert ]\napt autoremove"}),
    ("docs/installing.md", "tar -xzf culvert-"): ("bare", {
        "before": "cp $RELEASE/*-linux-x86_64.tar.gz .\nprintf 'cmake_minimum_required(VERSION 3.18)\nproject(p C)\n"
                  "find_package(culvert 0.1 REQUIRED)\n' >CMakeLists.txt\n",
        "then": "grep -q '^culvert_DIR:PATH=/opt/culvert-' build/CMakeCache.txt\nrm -r /opt/culvert-*"}),
    ("docs/installing.md", "apt install ./debian12/"): ("bare", {
        "before": "cp -r $RELEASE/python .\ncp -r $RELEASE/debian$DEBIAN debian12\npython3 -m venv venv\n. venv/bin/activate\n",
        "then": "grep -q 'reachable' said\nCULVERT_SOFT=1 venv/bin/python -c 'import culvert; assert \"twin\" in culvert.Device().name'\npkg-config --exists culvert"}),
    ("docs/cpp.md", "c++ -std=c++17 hello_cpp.cpp"): ("packages", {"before": HELLO + "cp $examples/hello_cpp.cpp .\n", "then": RIGHT}),
    ("samples/hello/README.md", "cc hello_vulkan.c"): ("packages", {
        "before": HELLO + "cp $examples/hello_vulkan.c .\n", "without": {"# on an NVIDIA GPU": "needs a GPU"}, "then": RIGHT}),
    ("docs/tutorial.md", "cc tutorial.c"): ("packages", {"then": "grep -q 'Vulkan read 102 and 102' said"}),
    ("docs/tutorial.md", "CULVERT_SOFT=1 culvert-check"): ("packages", {
        "before": "cc tutorial.c $(pkg-config --cflags --libs culvert vulkan) -o tutorial\n", "then": "grep -q '^culvert-check: 0 findings' said"}),
    ("docs/kernels.md", "cmake -B build"): ("packages", {}),
    ("docs/kernels.md", "KERNELS = "): ("packages", {
        "then": "make\nCULVERT_SOFT=1 ./sums share/culvert\n[ -s share/culvert/sums.soft.so ]"}),
    ("tools/check/docs/culvert-check.md", "culvert-check ./program"): ("packages", {
        "before": PROGRAM, "without": {"# on a GPU": "needs a GPU"}, "then": "[ $(grep -c '^culvert-check: 0 findings' said) -eq 2 ]"}),
    ("docs/culvert-info.md", "culvert-info --require"): ("packages", {
        "before": "run_on_the_gpu() { echo there is one; }\nexport CULVERT_SOFT=1\n", "then": "grep -qx 0 said"}),
    ("docs/culvert-info.md", "culvert-info --shared"): ("packages", {"then": "grep -q 'server' said"}),
    ("docs/software-twin.md", "CULVERT_SOFT=1 CULVERT_SOFT_FAIL_AT"): ("packages", {
        "before": PROGRAM, "then": "grep -q 'FAIL_AT: .*vkAllocateMemory' said && grep -q 'FAIL_AT: call 43, .*, fails' said"}),
    ("docs/software-twin.md", "culvert-soft-run ./program"): ("packages", {"before": PROGRAM, "then": RIGHT}),
    ("docs/python-frameworks.md", "export CULVERT_SOFT=1"): ("packages", {}),
    ("docs/python.md", "apt install cmake make"): ("tree", {
        "then": "grep -q twin said\nrm -r build/venv"}),
    ("docs/wine.md", "apt-get install --no-install-recommends"): ("tree", {}),
    ("docs/wine.md", "cmake --preset mingw"): ("tree", {"then": RIGHT}),
    ("docs/wine.md", "x86_64-w64-mingw32-g++ -shared"): ("tree", {
        "before": "printf '#include \"culvert_kernel.h\"\nCULV_KERNEL void wave(CULV_GRID float *p)\n{\n    p[threadIdx.x] = 1;\n}\n"
                  "CULV_KERNELS(wave)\n' >wave.cu\n", "then": "[ -s wave.soft.so ]"}),
    ("docs/building.md", "cmake -B build -DCMAKE_BUILD_TYPE=Release"): ("tree", {
        "then": "grep -q libculvert.so.0 <<<\"$(ldconfig -p)\"\nxargs rm <build/install_manifest.txt\nldconfig"}),
    ("docs/direct3d.md", "x86_64-w64-mingw32-gcc -std=c11"): ("tree", {
        "before": "cmake --build --preset mingw --target culvert_static\ncp samples/hello/hello_d3d12.c program.c\n", "then": "[ -s a.exe ]"}),
}

GPU = "needs a GPU; the suites run the program on the twin, and `programs` asks it for these options"
PAGE = "test soft_run.page runs it"
HOURS = "minutes to hours of building and testing; "
NOT = {
    ("README.md", "scripts/demo"): HOURS + "test build.bare_root.12",
    ("docs/building.md", "cmake -B build -DCULVERT_VULKAN=OFF"): "needs Windows; scripts/test builds the second line's preset",
    ("docs/installing.md", "scripts/release"): HOURS + "this very script; test release.source",
    ("docs/culvert-info.md", "culvert-info"): "shows what it prints on a GPU",
    ("docs/waits.md", "culvert-bench --advise"): GPU,
    ("docs/two-gpus.md", "culvert-bench --only=frames"): GPU,
    ("docs/measured/culvert-check-performance.md", "python3 tools/check/tests/cost.py"): "a benchmark, of minutes",
    ("docs/mpi.md", "apt-get install libopenmpi-dev"): "tests mpi.* run the add-on where it is installed",
    ("docs/mpi.md", "mpirun -n 4 ripple-mpi"): "test mpi.ripple runs it",
    ("docs/mpi.md", "mpirun -n 3 build/bin/culvert-mpi-measure"): "a benchmark",
    ("docs/twin-for-ci.md", "# as root\napt"): "scripts/release --test debian installs the package",
    ("docs/twin-for-ci.md", "# as root\ntar"): "scripts/release --test linux unpacks the archive",
    ("docs/twin-for-ci.md", "culvert-soft-run ./program"): PAGE,
    ("docs/twin-for-ci.md", "set -a; eval"): PAGE,
    ("docs/twin-for-ci.md", "cc -o linked"): PAGE,
    ("docs/twin-for-ci.md", "# where there are FFmpeg"): "test clients.page runs it",
    ("docs/twin-for-ci.md", "# where there is a module command"): "needs Environment Modules or Lmod; test soft_run.page reads the modulefile",
    ("docs/twin-for-ci.md", "culvert-kernels --soft kernels.cu"): PAGE,
    ("docs/twin-for-ci.md", "CULVERT_SOFT_FAIL_AT=cuda:cuMemAlloc"): PAGE,
    ("docs/measured/benchmarks.md", "cmake --preset release"): GPU,
    ("docs/measured/performance.md", "culvert-bench "): GPU,
    ("docs/measured/python-performance.md", "python3 tests/bindings/python/bench.py"): GPU,
    ("CONTRIBUTING.md", "export CULVERT_SOFT=1"): "test contributing.walkthrough runs it",
    ("CONTRIBUTING.md", "cmake --preset smoke"): HOURS + "scripts/test runs the suites, test contributing.walkthrough the preset",
    ("CONTRIBUTING.md", "cmake --preset dev"): HOURS + "scripts/test runs these presets",
    ("CONTRIBUTING.md", "scripts/mutants --list"): HOURS + "test sources.mutants",
    ("CONTRIBUTING.md", "cmake --preset fuzz"): HOURS + "scripts/test runs this preset",
    ("CONTRIBUTING.md", "build/fuzz/bin/fuzz/import --trace"): "needs a finding of the fuzzer's",
    ("CONTRIBUTING.md", "tests/fuzz/corpus.py add"): "needs a finding of the fuzzer's",
    ("samples/python/README.md", "export PYTHONPATH"): "needs a build tree, and its last line a window; test python.samples",
}


def pages(root):
    return [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md")), *sorted(root.glob("tools/*/docs/*.md")), *sorted((root / "samples").rglob("*.md"))]


def blocks(page):
    """(line, language, lines) of each fenced block."""
    opened = None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            if opened is None:
                opened = (number, line[3:].split(" ")[0], [])
            else:
                yield opened
                opened = None
        elif opened is not None:
            opened[2].append(line)


def commands(language, lines):
    """What a reader types of a block; nothing where it only shows something."""
    if language in ("sh", "make"):
        return lines
    return [line[2:] for line in lines if line.startswith("$ ")] if language == "" else []


def entry(name, typed):
    """The longest beginning in the table that fits."""
    fits = [key for key in [*RUNS, *NOT] if key[0] == name and "\n".join(typed).startswith(key[1])]
    return max(fits, key=lambda key: len(key[1]), default=None)


def classified(root):
    """{key: (page, line, language, typed)} and complaints."""
    found, bad = {}, []
    for page in pages(root):
        name = page.relative_to(root).as_posix()
        for number, language, lines in blocks(page):
            if language not in OTHER_LANGUAGES | {"sh", "make", "", "text"}:
                bad.append(f"{name}:{number}: nobody knows the language {language!r}")
            typed = commands(language, lines)
            if not typed:
                continue
            key = entry(name, typed)
            if key is None:
                bad.append(f"{name}:{number}: {typed[0]!r} neither runs in a room nor has a reason not to (tests/packages/release/pages.py)")
            elif key in found:
                bad.append(f"{name}:{number}: {key[1]!r} fits line {found[key][1]}, too")
            else:
                found[key] = (page, number, language, typed)
    return found, bad


def check(root):
    found, bad = classified(root)
    bad += [f"{key[0]} has no block that begins with {key[1]!r}" for key in [*RUNS, *NOT] if key not in found]
    tests = {re.sub(r"\\\$\\\{\w+\\\}", r"\\w+", re.escape(name)) for p in [*root.glob("tests/**/CMakeLists.txt"), *root.glob("tools/*/tests/CMakeLists.txt")]
             for name in re.findall(r"NAME ([\w.${}]+)", p.read_text(encoding="utf-8"))}
    for key, why in NOT.items():
        for name in re.findall(r"test (\w+\.[\w.]*\w)", why):
            if not any(re.fullmatch(one, name) for one in tests):
                bad.append(f"{key[0]}: there is no test {name}")
    for key, (_, options) in RUNS.items():
        for text in options.get("without", {}):
            if key in found and not any(text in line for line in found[key][3]):
                bad.append(f"{key[0]}: the block {key[1]!r} has no line with {text!r}")
    for line in bad:
        print(line)
    print(f"{len(bad)} complaints" if bad else f"{len(RUNS)} blocks run, {len(NOT)} have a reason not to")
    return 1 if bad else 0


def programs(root, build):
    """Of the blocks that need a GPU: each program exists, and its --help has each option."""
    found, bad = classified(root)
    asked, known = 0, {}
    for key, (page, number, _, typed) in found.items():
        if NOT.get(key) != GPU:
            continue
        for line in "\n".join(typed).replace("\\\n", " ").split("\n"):
            words = line.split(" #")[0].split()
            if not words or words[0] in ("cmake", "#"):
                continue
            if words[0] == "python3": # a program of Python's is looked at where it has its options
                words.pop(0)
            name = words[0].replace("build/release/bin/", "")
            program = next((p for p in (build / "bin" / name, root / name) if p.is_file()), None)
            if program is None:
                bad.append(f"{page.name}:{number}: there is no {words[0]}")
                continue
            if program not in known:
                if program.suffix == ".py":
                    known[program] = program.read_text(encoding="utf-8")
                else:
                    ran = subprocess.run([program, "--help"], capture_output=True, text=True)
                    known[program] = ran.stdout + ran.stderr
            for option in re.findall(r" (--[\w-]+)", " " + " ".join(words[1:])):
                asked += 1
                if not re.search(re.escape(option) + r"\b", known[program]):
                    bad.append(f"{page.name}:{number}: {name} --help has no {option}")
    for line in bad:
        print(line)
    print(f"{len(bad)} complaints" if bad else f"{len(known)} programs have the {asked} options")
    return 1 if bad or not asked else 0


def run(root, room):
    found, bad = classified(root)
    failed = []
    for key, (of, options) in RUNS.items():
        if of != room:
            continue
        page, number, language, typed = found[key]
        where = tempfile.mkdtemp(prefix="page-") if room != "tree" else str(root)
        text = page.read_text(encoding="utf-8")
        for name, content in re.findall(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", text, re.M | re.S):
            pathlib.Path(where, name).write_text(content)
        for name in set(re.findall(r"^<!-- example: part of (\w+) -->$", text, re.M)):
            parts = re.findall(rf"^<!-- example: part of {name} -->\n```c\n(.*?)^```$", text, re.M | re.S)
            pathlib.Path(where, f"{name}.c").write_text("".join(parts))
        lines = [line for line in typed if not any(text in line for text in options.get("without", {}))]
        script = "set -eu\n" + options.get("before", "")
        if language != "make":
            script += "{\n" + "\n".join(lines) + "\n} >said 2>&1 || { cat said; exit 1; }\n"
        script += options.get("then", "") + "\n"
        print(f"== {key[0]}:{number}: {lines[0]}", flush=True)
        # A failing command ends a reader's block; so it does here, which `||` above would prevent.
        script = script.replace("} >said 2>&1 || { cat said; exit 1; }", "} >said 2>&1")
        ran = subprocess.run(["bash", "-c", script], cwd=where, stdin=subprocess.DEVNULL, env=os.environ, capture_output=True, text=True)
        if ran.returncode:
            said = pathlib.Path(where, "said")
            print(f"FAILED: {key[0]}:{number}, status {ran.returncode}\n" + (said.read_text()[-3000:] if said.exists() else "") + ran.stdout[-2000:] + ran.stderr[-2000:])
            failed.append(key)
    ours = [key for key, value in RUNS.items() if value[0] == room]
    print(f"{len(ours) - len(failed)} of {len(ours)} blocks of the room '{room}' ran" + "".join(f"\n{line}" for line in bad))
    return 1 if failed or bad or not ours else 0


def selftest():
    wrong = [("a block that nobody classified", "docs/x.md", "```sh\nrm -r /\n```\n"),
             ("a typed line in a block without a language", "docs/x.md", "```\n$ rm -r /\nit is gone\n```\n"),
             ("a language that nobody knows", "docs/x.md", "```console\n$ ls\n```\n"),
             ("the same block twice", "README.md", "```sh\nscripts/demo\n```\n```sh\nscripts/demo\n```\n"),
             ("a makefile", "docs/x.md", "```make\nall: none\n```\n")]
    right = [("output alone", "docs/x.md", "```\nit is gone\n```\n"), ("C", "docs/x.md", "```c\nint x;\n```\n"),
             ("what a table has", "README.md", "```sh\nscripts/demo\n```\n")]
    failed = 0
    for expected, cases in ((True, wrong), (False, right)):
        for name, page, text in cases:
            with tempfile.TemporaryDirectory() as work:
                root = pathlib.Path(work)
                (root / "docs").mkdir()
                for each in ("README.md", "CONTRIBUTING.md", page):
                    (root / each).write_text(text if each == page else "")
                if bool(classified(root)[1]) != expected:
                    print(f"FAILED: {name}")
                    failed += 1
    with tempfile.TemporaryDirectory() as work: # a table whose blocks are gone
        root = pathlib.Path(work)
        (root / "README.md").write_text("")
        (root / "CONTRIBUTING.md").write_text("")
        sys.stdout.flush()
        with open(os.devnull, "w") as nothing:
            kept, sys.stdout = sys.stdout, nothing
            gone = check(root)
            sys.stdout = kept
        failed += gone != 1
    print(f"{failed} failed" if failed else f"{len(wrong) + len(right) + 1} passed")
    return 1 if failed else 0


if __name__ == "__main__":
    how = sys.argv[1]
    if how == "selftest":
        sys.exit(selftest())
    top = pathlib.Path(sys.argv[2]).resolve()
    sys.exit(check(top) if how == "check" else programs(top, pathlib.Path(sys.argv[3]).resolve()) if how == "programs" else run(top, sys.argv[3]))
