#!/usr/bin/env python3
"""Builds and runs the tests of a tier, tells how far it is, and what failed and how to run it again.
test_run.py test | ci | all. tests/parts.md says which entry of ctest runs in which build and tier.
SPDX-License-Identifier: MIT"""
import collections
import ctypes
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).parents[1]
TIERS = ["test", "ci", "all"]
CI_LIMIT, CI_MOST = 40 * 60, 80 * 60  # seconds; CI is cut off after 90 minutes, and would not say where they went
COMPILING = 0.04  # CPU seconds of the smallest C program on the machine that the limit is for
EVERY = 15  # seconds between two lines of progress where there is no terminal


class Part(collections.namedtuple("Part", "name pattern plain asan tsan")):
    """A row of tests/parts.md: the entries, and the first tier that runs them in each build ("" for none)."""


def parts(text):
    """The rows of the page's table: | name | `pattern` | plain | asan | tsan | what it alone finds |"""
    found = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(" | ")]
        if len(cells) == 6 and re.fullmatch(r"`.+`", cells[1]):
            tiers = [cell if cell in TIERS else "" for cell in cells[2:5]]
            found.append(Part(cells[0].lstrip("| "), re.compile(cells[1].strip("`").replace(r"\|", "|")), *tiers))
    return found


def part_of(table, entry):
    return next((part for part in table if part.pattern.match(entry)), None)


def wanted(table, build, tier, entries):
    """The entries that this tier runs in this build."""
    lost = [entry for entry in entries if part_of(table, entry) is None]
    if lost:
        raise SystemExit(f"no row of tests/parts.md has {', '.join(lost)}")
    return [entry for entry in entries
            if getattr(part_of(table, entry), build) in TIERS[:TIERS.index(tier) + 1]]


# Reports of ctest's ---------------------------------------------------------------------------------------------------

def reason(output):
    """What a skipped test said: its last line with SKIP, or its last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    marked = [line for line in lines if line.startswith("SKIP")]
    line = marked[-1] if marked else lines[-1] if lines else "no reason was printed"
    return re.sub(r"^SKIP(PED)?:?\s*", "", line)


def cases(output):
    """What a run of many cases says of each: {name: (verdict, what it says)}, and whether the totals agree."""
    found, lines, totals = {}, [], None
    for line in output.splitlines():
        match = re.match(r"(PASS|SKIP|FAIL) ([\w.]+)(?:: | \()(.*)", line)
        last = re.match(r"(\d+) passed, (\d+) skipped, (\d+) failed$", line)
        if match:
            verdict, name, text = match.groups()
            found[name] = (verdict, text if verdict == "SKIP" else "\n".join(lines + [line]))
            lines = []
        elif last:
            totals = [int(number) for number in last.groups()]
        else:
            lines.append(line)
    counts = collections.Counter(verdict for verdict, _ in found.values())
    return found, totals == [counts["PASS"], counts["SKIP"], counts["FAIL"]]


def verdicts(path):
    """(entry, case or None, verdict, what it said) of each case that a report knows."""
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        name, status = case.get("name"), case.get("status")
        output = case.findtext("system-out") or ""
        failure, skipped = case.find("failure"), case.find("skipped")
        ended = output + (f"\n({failure.get('message')})" if failure is not None and failure.get("message") else "")
        many, complete = cases(output)
        if many:
            for inner, (verdict, text) in many.items():
                yield name, inner, verdict, text
            told = any(verdict == "FAIL" for verdict, _ in many.values())
            if not complete or not (told or (failure is None and status == "run")):
                # It ended before its last case, or badly after it.
                yield name, None, "FAIL", ended
        elif failure is not None or status == "fail":
            yield name, None, "FAIL", ended
        elif status == "run":
            yield name, None, "PASS", output
        elif skipped is not None and "SKIP_RETURN_CODE" in (skipped.get("message") or ""):
            yield name, None, "SKIP", reason(output)
        else:
            # Disabled, not built, or a fixture failed before it: nothing that should pass for a skip.
            message = skipped.get("message") if skipped is not None else status
            yield name, None, "FAIL", f"did not run: {message}\n{output}"


def shown(entry, case):
    return f"{re.sub(r'[.][0-9]+$', '', entry)}.{case}" if case else entry


def again(directory, entry, case, command):
    """The one command that runs a case again."""
    if case and command:
        program = os.path.relpath(command[0], ROOT) if command[0].startswith(str(ROOT)) else command[0]
        kept = [word for word in command[1:] if not re.match(r"--(results|part|quiet)\b", word)]
        return f"CULVERT_SOFT=1 {shlex.join([program, *kept, case])}"
    return f"ctest --test-dir {directory} --output-on-failure -R '^{re.escape(entry)}$'"


def shortened(lines):
    """The first lines of an output, which often name the cause, and its last ones."""
    return lines if len(lines) <= 40 else lines[:10] + [f"(and {len(lines) - 40} more lines)"] + lines[-30:]


def summary(runs, root, say=print):
    """Tells what (name, directory, report, {entry: command}) of each run add up to. True if nothing failed."""
    total, skipped, failed, parts_of_others = collections.Counter(), collections.defaultdict(list), [], 0
    for name, directory, report, commands in runs:
        counts = collections.Counter()
        for entry, case, verdict, text in verdicts(report):
            if verdict == "SKIP" and text == "only as a child":
                parts_of_others += 1  # another case starts it
                continue
            counts[verdict] += 1
            if verdict == "SKIP":
                skipped[text].append(f"{name}: {shown(entry, case)}")
            elif verdict == "FAIL":
                failed.append((name, shown(entry, case), text, again(directory, entry, case, commands.get(entry))))
        if not counts["PASS"]:
            failed.append((name, "no test passed", "", f"ctest --test-dir {directory} --output-on-failure"))
            counts["FAIL"] += 1
        say(f"{name}: {counts['PASS']} passed, {counts['FAIL']} failed, {counts['SKIP']} skipped")
        total += counts
    listing = root / "build" / "skipped.txt"
    listing.parent.mkdir(exist_ok=True)
    listing.write_text("".join(f"{why}\n" + "".join(f"    {name}\n" for name in names)
                               for why, names in sorted(skipped.items())))
    if total["SKIP"]:
        say(f"skipped: {total['SKIP']} cases for {len(skipped)} reasons, which {os.path.relpath(listing, root)} lists")
    say("")
    say(f"{total['PASS']} passed, {total['FAIL']} failed, {total['SKIP']} skipped")
    for name, case, text, command in failed:
        say(f"\nFAILED {name}: {case}")
        for line in shortened(text.splitlines()):
            say(f"    {line}")
        say(f"  again: {command}")
    return not failed


# Running ----------------------------------------------------------------------------------------------------------------

class Progress:
    """How far a step is: a line that changes on a terminal, a line now and then elsewhere."""

    def __init__(self, title):
        self.title, self.began, self.told = title, time.monotonic(), time.monotonic()
        self.terminal = sys.stdout.isatty()

    def at(self, done, total, text):
        now = time.monotonic()
        if now - self.told < (0.5 if self.terminal else EVERY) or not total:
            return
        self.told = now
        spent = now - self.began
        left = f", about {max(1, round(spent * (total - done) / done / 60))} min left" if done * 10 >= total else ""
        line = f"{self.title}: {done} of {total}{left}{text}"
        if self.terminal:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{line[:width]:<{width}}", end="", flush=True)
        else:
            print(line, flush=True)

    def say(self, text):
        self.clear()
        print(text, flush=True)

    def clear(self):
        if self.terminal:
            print("\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r", end="", flush=True)


def children_cpu():
    """CPU seconds of all descendants that ended; those that were left behind come to this process, too."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                break
        except ChildProcessError:
            break
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def slowness():
    """How many times longer this machine takes than the one that the limit is for: for the CPU and for new processes."""
    best = None
    for _ in range(5):
        before = children_cpu()
        subprocess.run(["gcc", "-x", "c", "-c", "-o", os.devnull, "-"], input=b"int main(void) { return 0; }", check=True)
        spent = children_cpu() - before
        best = spent if best is None else min(best, spent)
    return max(1, best / COMPILING)


class Clock:
    """Wall and CPU seconds of each step."""

    def __init__(self):
        self.rows, self.last = [], (time.monotonic(), children_cpu())
        self.began = self.last[0]

    def step(self, name):
        now = (time.monotonic(), children_cpu())
        self.rows.append((name, now[0] - self.last[0], now[1] - self.last[1]))
        print(f"== {name}: {self.rows[-1][1]:.0f} s, {self.rows[-1][2]:.0f} s of CPU", flush=True)
        self.last = now

    def tell(self):
        print(f"{'part':<16} {'s':>6} {'CPU s':>7}")
        for name, wall, cpu in self.rows + [("all", self.last[0] - self.began, sum(row[2] for row in self.rows))]:
            print(f"{name:<16} {wall:6.0f} {cpu:7.0f}")


def preset_environment(name):
    for preset in json.loads((ROOT / "CMakePresets.json").read_text())["testPresets"]:
        if preset["name"] == name:
            return {key: value.replace("${sourceDir}", str(ROOT)) for key, value in preset.get("environment", {}).items()}
    return {}


def build(name, preset, directory, options, targets=None):
    """Configures, and builds all or what targets() names after that."""
    (ROOT / directory).mkdir(parents=True, exist_ok=True)
    cache = ROOT / directory / "CMakeCache.txt"
    if cache.exists() and f"CMAKE_HOME_DIRECTORY:INTERNAL={ROOT}\n" not in cache.read_text():
        cache.unlink()  # of other sources
        shutil.rmtree(ROOT / directory / "CMakeFiles", ignore_errors=True)
    if shutil.which("ccache"):
        # Another clone of the same sources finds its objects there, too.
        os.environ.update(CCACHE_BASEDIR=os.environ.get("CCACHE_BASEDIR", str(ROOT)), CCACHE_NOHASHDIR="1")
        options = [*options, *(f"-DCMAKE_{language}_COMPILER_LAUNCHER=ccache" for language in ("C", "CXX"))]
    print(f"== {name}: building", flush=True)
    with open(ROOT / directory / "configure.log", "w") as log:
        if subprocess.run(["cmake", "--preset", preset, "-B", directory, *options], cwd=ROOT, stdout=log,
                          stderr=subprocess.STDOUT, check=False).returncode:
            print("".join(open(ROOT / directory / "configure.log").readlines()[-40:]), file=sys.stderr)
            raise SystemExit(f"{name}: configuring failed ({directory}/configure.log)")
    chosen = targets() if targets else []
    command = ["cmake", "--build", directory, "--parallel", str(os.cpu_count() or 2)]
    command += ["--target", *chosen] if chosen else []
    progress, lines = Progress(f"{name}: building"), []
    with open(ROOT / directory / "build.log", "w", buffering=1) as log, subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as running:
        for line in running.stdout:
            log.write(line)
            lines.append(line)
            step = re.match(r"\[(\d+)/(\d+)\]", line)
            if step:
                progress.at(int(step[1]), int(step[2]), "")
    progress.clear()
    if running.returncode:
        first = next((i for i, line in enumerate(lines)
                      if re.search(r"^FAILED|error:|undefined reference|^ninja: ", line)), max(0, len(lines) - 40))
        print("".join(lines[first:first + 60]), file=sys.stderr)
        raise SystemExit(f"{name}: building failed ({directory}/build.log)")


def entries(directory, configuration=()):
    """{name: command} of ctest's entries. A suite that is not built yet has its own name here, and no command."""
    said = subprocess.run(["ctest", "--test-dir", directory, "--show-only=json-v1", *configuration], cwd=ROOT,
                          stdout=subprocess.PIPE, check=True, text=True)
    return {re.sub("_not_built$", "", test["name"]): test.get("command", []) for test in json.loads(said.stdout)["tests"]}


class Late(Exception):
    """CI's time is over."""


def run(name, directory, chosen, environment, deadline, took):
    """Runs entries of a build; returns the path of the report. took gets (seconds, entry) of each."""
    report, log_path = ROOT / directory / "report.xml", ROOT / directory / "test.log"
    report.unlink(missing_ok=True)
    pattern = "^(" + "|".join(entry.replace(".", "[.]").replace("+", "[+]") for entry in chosen) + ")$"
    # Most entries wait much of their time, for processes and screens: more of them than cores.
    command = ["ctest", "--test-dir", directory, "--parallel", str(4 * (os.cpu_count() or 2)), "--no-tests=error",
               "--output-on-failure", "--output-junit", str(report), "--test-output-size-passed", "1048576",
               "--test-output-size-failed", "1048576", "-R", pattern]
    if name in ("asan", "tsan"):
        # A sanitizer clears its notes of a thread's whole stack whenever one begins: a quarter of the time, with 8 MiB.
        command = ["prlimit", "--stack=2097152:", *command]
    if name == "tsan" and subprocess.run(["setarch", "-R", "true"], check=False).returncode == 0:
        # A process that ASLR puts where ThreadSanitizer keeps its shadow would not start.
        command = ["setarch", "-R", *command]
    print(f"== {name}: testing", flush=True)
    progress, running_now, done, failing = Progress(f"{name}: testing"), {}, 0, None
    failures = 0

    def tell_failure():
        if failing:
            told = [line for line in failing[1] if line.startswith("FAIL ")]
            counts = [re.match(r"\d+ passed, \d+ skipped, (\d+) failed$", line) for line in failing[1]]
            count = next((int(match[1]) for match in reversed(counts) if match), 1)
            first = told[-min(count, len(told))] if told else None  # a case may print what other programs failed
            progress.say(f"FAILED {failing[0]}" + (f": {first.strip()[5:]}" if first else ""))

    with open(log_path, "w", buffering=1) as log, subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            env={**os.environ, **environment}) as running:
        for line in running.stdout:
            log.write(line)
            start = re.match(r"\s+Start\s+\d+: (\S+)", line)
            end = re.match(r"\s*(\d+)/(\d+) Test\s+#\d+: (\S+) [ .]*(.*)", line)
            if (start or end) and failing:
                tell_failure()
                failing = None
            if start:
                running_now[start[1]] = time.monotonic()
            elif end:
                done = int(end[1])
                running_now.pop(end[3], None)
                took.append((float(re.search(r"([0-9.]+) sec", end[4])[1]), f"{name}: {end[3]}"))
                if not re.match(r"\s*(Passed|\*\*\*Skipped)", end[4]):
                    failing, failures = (end[3], []), failures + 1
            elif failing:
                failing[1].append(line)
            oldest = sorted(running_now, key=running_now.get)[:3]
            progress.at(done, len(chosen), f", {failures} failed" * bool(failures) + "; runs: " + ", ".join(oldest))
            if deadline and time.monotonic() > deadline:
                running.terminate()
                raise Late
    tell_failure()
    progress.clear()
    if not report.exists():
        print("".join(open(log_path).readlines()[-40:]), file=sys.stderr)
        raise SystemExit(f"{name}: ctest made no report ({directory}/test.log)")
    return report


def limit():
    return min(CI_MOST, CI_LIMIT * slowness())


def run_tier(tier, clock, runs, took):
    table = parts((ROOT / "tests" / "parts.md").read_text())
    deadline = clock.began + limit() if tier == "ci" else None
    long = "ON" if tier == "all" else "OFF"

    # The builds that tests make use the compiler cache, too.
    cached = {f"CMAKE_{language}_COMPILER_LAUNCHER": "ccache" for language in ("C", "CXX")} if shutil.which("ccache") else {}

    def test(name, column, environment=None):
        directory = f"build/{name}"
        known = entries(directory)
        chosen = wanted(table, column, tier, known) if column else list(known)
        runs.append((name, directory, run(name, directory, chosen, {**cached, **(environment or {})}, deadline, took), known))
        clock.step(f"{name}: tests")

    # Machine code for one architecture is enough: other GPUs compile its PTX. A newcomer's suites need no libculvert.a.
    build("test", "dev", "build/test",
          ["-DCULVERT_CUDA_ARCHITECTURES=75", f"-DCULVERT_LONG_TESTS={long}", f"-DCULVERT_BENCH={long}", f"-DCULVERT_CHECK={long}",
           "-DBUILD_SHARED_LIBS=ON" if tier == "test" else "-UBUILD_SHARED_LIBS",
           *(f"-DCMAKE_{language}_FLAGS_RELWITHDEBINFO=-O2 -g1 -DNDEBUG" for language in ("C", "CXX"))])
    clock.step("test: build")
    test("test", "plain")
    for name in ("asan", "tsan") if tier != "test" else ():
        directory = f"build/{name}"

        def targets(name=name, directory=directory):
            """The programs of the entries that run here: a suite's has its name."""
            said = subprocess.run(["ninja", "-C", directory, "-t", "targets", "all"], cwd=ROOT, stdout=subprocess.PIPE,
                                  check=True, text=True)
            there = {line.partition(":")[0] for line in said.stdout.splitlines()}
            suites = {re.sub(r"^suite[.]|[.]not_all_skipped$|[.]\d+$", "", entry)
                      for entry in wanted(table, name, tier, entries(directory))}
            return sorted(suites & there)

        build(name, name, directory, [f"-DCULVERT_LONG_TESTS={long}", f"-DCULVERT_BENCH={long}", f"-DCULVERT_CHECK={long}",
                                      f"-DCULVERT_SAMPLES={long}", f"-DCULVERT_TOOLS={long}"], targets if tier == "ci" else None)
        clock.step(f"{name}: build")
        test(name, name, preset_environment(name))
    if tier == "all":
        build("fuzz", "fuzz", "build/fuzz", ["-DCULVERT_LONG_TESTS=ON"], lambda: ["fuzzers"])
        clock.step("fuzz: build")
        test("fuzz", None, preset_environment("fuzz"))


def dearer(clock):
    """Whether the plain tests take more CPU than docs/budget.md allows, on a machine as fast as the one of its number."""
    spent = next(cpu for name, _, cpu in clock.rows if name == "test: tests")
    return subprocess.run([sys.executable, "scripts/budget", "--cpu", str(round(spent / slowness()))], cwd=ROOT, check=False).returncode


def main(tier):
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: what tests leave behind is counted here
    clock, runs, took = Clock(), [], []
    try:
        run_tier(tier, clock, runs, took)
    except Late:
        clock.step("the last one")
        clock.tell()
        print("\n".join(f"{seconds:8.1f} s  {name}" for seconds, name in sorted(took, reverse=True)[:10]))
        print(f"\nCI took more than {(time.monotonic() - clock.began) / 60:.0f} minutes and was ended; above are its dearest entries")
        return 1
    clock.tell()
    dear = tier == "ci" and dearer(clock)
    return 0 if summary(runs, ROOT) and not dear else 1


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in TIERS:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
