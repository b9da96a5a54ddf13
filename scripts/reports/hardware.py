"""A page of docs/measured, nvidia-measured-DATE.md: what a bundle's `run all` printed.

RESULTS: its results.tar.gz, or the unpacked directory. Of several RESULTS, the oldest first, each suite is shown as it ran
last, and the machine as the last of them has it. What was measured under a name that no later run has stays, with the number
of its run. What the page says, some program printed on the machine that it names.
SPDX-License-Identifier: MIT
"""
import collections
import contextlib
import datetime
import json
import pathlib
import re
import tarfile
import tempfile

from . import common
from .common import MEASURED

def table(header, rows):
    return common.table(header, rows, len(header))


MANY = 40  # answers under one name, from which on those alike are put together
ALL_GOOD = "CUDA_SUCCESS, capture CUDA_SUCCESS"


def read(directory, name):
    path = directory / name
    return path.read_text(errors="replace") if path.exists() else ""


def machine(info):
    rows = []
    for device in info["graphics_devices"]:
        if device["type"] == "cpu":
            continue
        rows.append(("GPU", device["name"]))
        rows.append(("Vulkan driver", f"{device['driver_name']} {device['driver_info']}, Vulkan {device['api_version']}"))
    nvidia = info["cuda"]["nvidia"]
    if nvidia["cuda_version"]:
        rows.append(("CUDA driver", f"CUDA {nvidia['cuda_version']}" + (f", release {nvidia['release']}" if nvidia["release"] else "")))
    rows.append(("Vulkan loader", info["vulkan"]["loader_version"]))
    return table(("", ""), rows)


def merge(texts):
    """Lines of each suite, as it ran last: (number of the run, lines)."""
    merged = collections.OrderedDict()
    for run, text in enumerate(texts, 1):
        suite = None
        for line in text.splitlines():
            match = re.match(r"== ([\w-]+)$", line)
            if match:
                suite = match.group(1)
                if merged.get(suite, (0,))[0] != run:  # its faulting cases come later in the same run
                    merged[suite] = (run, [])
            elif line.startswith("== "):
                suite = None
            elif suite is not None:
                merged[suite][1].append(line)
    return merged


def suites(merged):
    counts = collections.OrderedDict()
    skips = []
    for line in (line for _, lines in merged.values() for line in lines):
        match = re.match(r"(PASS|FAIL|SKIP) ([\w-]+)\.(\S+?)(?::? (.*))?$", line)
        if not match:
            continue
        verdict, suite, case, rest = match.groups()
        counts.setdefault(suite, collections.Counter())[verdict] += 1
        if verdict == "SKIP":
            skips.append((suite + "." + case.rstrip(":"), rest or ""))
    rows = [(suite, c["PASS"], c["FAIL"], c["SKIP"], merged[suite][0]) for suite, c in counts.items()]
    one = len({run for run, _ in merged.values()}) == 1
    width = 4 if one else 5
    out = table(("suite", "passed", "failed", "skipped", "run")[:width], [row[:width] for row in rows])
    if skips:
        out += ["Skipped, with the reason printed:", ""] + table(("case", "why"), skips)
    return out


def captures(lines):
    """The matrix of calls during a stream capture, one row a call."""
    results = collections.OrderedDict()
    for line in lines:
        match = re.match(r"(\S+), (\S+) capture, (same|other) thread, (as is|relaxed): (.*)", line)
        if match and match.group(1) != "nothing":
            call, mode, thread, how, outcome = match.groups()
            results.setdefault(call, {})[(mode, thread, how)] = outcome == ALL_GOOD
    rows = []
    for call, outcomes in results.items():
        def verdict(how):
            bad = [f"{mode}, {thread} thread" for (mode, thread, h), good in outcomes.items() if h == how and not good]
            where = "in every mode" if len(bad) == 6 else "; ".join(bad)
            return "harmless" if not bad else f"**invalidates the capture** ({where})"
        rows.append((f"`{call}`", verdict("as is"), verdict("relaxed")))
    return table(("call during another's capture", "plain", "in relaxed mode"), rows)


def alike(values):
    """Many answers in few lines: whole numbers of three digits and more become n in the answers, and conditions that
    differ in one part and have the same answer become one."""
    answers = collections.OrderedDict()
    for value in values:
        label, _, answer = value.partition(": ")
        answer = re.sub(r"(?<![\d.])\d{3,}", "n", answer)
        head, *rest = re.sub(r"\d{4,}(?= bytes)", "n", label).split(", ")
        words = head.split(" ") if head.count(" ") > 2 else [head]
        rows = answers.setdefault((answer, len(words), len(rest)), [])
        parts = tuple((part,) for part in words + rest)
        if parts not in rows:
            rows.append(parts)
    lines = []
    for (answer, words, _), rows in answers.items():
        for at in reversed(range(len(rows[0]))):
            groups = collections.OrderedDict()
            for row in rows:
                places = groups.setdefault(row[:at] + row[at + 1:], [])
                places += [part for part in row[at] if part not in places]
            rows = [rest[:at] + (tuple(places),) + rest[at:] for rest, places in groups.items()]
        for row in rows:
            parts = [part[0] if len(part) == 1 else "(" + " / ".join(part) + ")" for part in row]
            lines.append(", ".join([" ".join(parts[:words])] + parts[words:]) + ": " + answer)
    return lines


def by_name(lines):
    """Of MEASURED lines, without the suite's name."""
    groups = collections.OrderedDict()
    for line in lines:
        if line.startswith("MEASURED "):
            name, _, value = re.sub(r"^[\w-]+\.(?=[^:]*: )", "", line.split(" ", 1)[1], count=1).partition(": ")
            groups.setdefault(name, []).append(value)
    return groups


def measured(groups, texts):
    rows = [(f"`{name}`", values) for name, values in groups.items()]
    shown = set(groups)
    for run in range(len(texts), 0, -1):
        for name, values in by_name(texts[run - 1].splitlines()).items():
            if name not in shown:
                rows.append((f"`{name}` (run {run})", values))
                shown.add(name)
    out = []
    for name, values in rows:
        values = list(collections.OrderedDict.fromkeys(values))
        if name != "`capture`":
            out.append((name, "<br>".join(values if len(values) <= MANY else alike(values))))
    return table(("measured", "answers"), out)


def code(text):
    lines = [re.sub(r" \| \S+\.png$", "", line.rstrip()) for line in re.split(r"[\r\n]+", text) if line.strip()]
    return ["```"] + lines + ["```", ""]


def unpack(path, scratch):
    if not path.is_file():
        return path
    directory = scratch.enter_context(tempfile.TemporaryDirectory())
    with tarfile.open(path) as archive:
        archive.extractall(directory)
    return pathlib.Path(directory) / "results"


def page(arguments, directories):
    directory = directories[-1]
    info = json.loads(re.sub(r"\n== info_json.*", "", read(directory, "info_json.txt")))
    texts = [read(each, "tests.txt") for each in directories]
    merged = merge(texts)
    groups = by_name(line for _, suite in merged.values() for line in suite)
    several = f"{len(directories)} runs of a bundle's suites" if len(directories) > 1 else "a bundle's `run all`"

    out = ["# Measured on NVIDIA hardware", "",
           f"Made by `scripts/report hardware` from {several} of {arguments.date}; not edited by hand.", ""]
    if arguments.note:
        out += [arguments.note, ""]
    out += machine(info)
    out += ["## Suites", ""] + suites(merged)
    with_ripple = [each for each in directories if (each / "ripple.txt").exists()]
    if with_ripple:
        out += ["## ripple, the sample", "",
                "4096 x 4096 cells, 300 frames, the field never copied to the host; absolute times on this machine:", ""]
        ripple = [line for line in re.split(r"[\r\n]+", read(with_ripple[-1], "ripple.txt")) if not line.startswith(("== ", "RESULT "))]
        out += code("\n".join(ripple[-12:]))
    if any((each / "bench.json").exists() for each in directories):
        out += ["`ripple`'s two paths at several sizes, and what each call costs: [benchmarks.md](benchmarks.md).", ""]
    out += ["## Calls during a stream capture", "",
            "Whether a call invalidates a capture that is running on another stream (global, thread-local or relaxed mode, "
            "begun by the same or by another thread).", ""] + captures(groups.get("capture", []))
    out += ["## What the driver answers", "",
            "Printed by the suites as they ran; times are single readings, not benchmarks. "
            f"Of what has more than {MANY} answers, those alike are one line: n is a number of three digits or more, "
            "(a / b) is either.", ""] + measured(groups, texts)
    return "\n".join(out).rstrip() + "\n"


output = None


def add(parser):
    parser.add_argument("results", type=pathlib.Path, nargs="+")
    parser.add_argument("--date", default=datetime.date.today().isoformat(), metavar="YYYY-MM-DD")
    parser.add_argument("--note", default="", metavar="TEXT", help="a sentence below the first, for instance what of the suites did not run")


def make(arguments):
    arguments.output = arguments.output or MEASURED / f"nvidia-measured-{arguments.date}.md"
    with contextlib.ExitStack() as scratch:
        return page(arguments, [unpack(path, scratch) for path in arguments.results])
