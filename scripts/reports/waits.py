"""The tables of docs/waits.md, between the lines <!-- waits --> and <!-- end -->.

RESULTS: JSON of `culvert-bench --only=waits`, one file for each machine.
SPDX-License-Identifier: MIT
"""
import collections
import json
import pathlib
import re

from .common import DOCS, Bad, run_of

WAYS = (("the GPU waits", "culv_ring", None), ("the host for CUDA", "culv_ring", "CUDA waits on the host"),
        ("the host for Vulkan", "culv_ring", "Vulkan waits on the host"), ("the host for both", "culv_ring", "both wait on the host"),
        ("the ring chooses", "culv_ring", "the ring chooses"),
        ("nobody: in the queue", "in-queue", None), ("nobody: async", "async", None))
output = DOCS / "waits.md"


def rows_of(run):
    return [row for row in run["frames"] if row["section"] == "waits" and row["us"] is not None]


def look(run):
    for row in rows_of(run):
        _ = row["draws"], row["scheme"], row["variant"], row["depth"], row["of_ideal"], row["age_p99"], row["cpu"], row["solver_alone"]
    if not rows_of(run):
        raise KeyError("waits")


def load(us, draws=1):
    return f"{us / 1000:g} ms" + (f" of {draws:,} draws" if draws > 1 else "")


def table(run, what, get, digits, lowest):
    """A line for each load, with the best number of slots for each way."""
    loads = collections.OrderedDict()
    for row in rows_of(run):
        loads.setdefault((row["solver_wanted"], row["renderer_wanted"], row["draws"]), []).append(row)
    yield f"| {what} | " + " | ".join(name for name, _, _ in WAYS) + " |"
    yield "|---|" + "---:|" * len(WAYS)
    for (solver, renderer, draws), rows in loads.items():
        cells = []
        for _, scheme, variant in WAYS:
            mine = [row for row in rows if row["scheme"] == scheme and row["variant"] == variant]
            best = min((row for row in mine if get(row)), key=get, default=None)
            cells.append((None, "") if best is None else (get(best), f"{get(best):,.{digits}f} ({best['depth']})"))
        least = min(value for value, _ in cells if value is not None)
        marked = [f"**{text}**" if lowest and value is not None and value <= least * 1.005 else text for value, text in cells]
        yield f"| {load(solver)} + {load(renderer, draws)} | " + " | ".join(marked) + " |"


def tables(run):
    device = run["device"]["name"]
    yield f"## Measured on an {device}" if re.match(r"NVIDIA|[AEIOU]", device) else f"## Measured on a {device}"
    yield (f"{run['device']['vulkan_driver']}, {run['date'][:16].replace('T', ' ')} UTC; `culvert-bench --only=waits`, medians of "
           f"{max(row['us']['n'] for row in rows_of(run))} runs, every frame checked. The solver fills every multiprocessor, the renderer draws over the whole picture. "
           "In brackets: the number of slots, of 1 to 3, with which the way is best.\n")
    yield "Time of a frame, as a part of what both sides take one after the other (1 is their sum):\n"
    yield from table(run, "solver + renderer", lambda row: row["of_ideal"]["median"], 3, True)
    yield "\nAge of a frame when it is drawn, 99 %, in µs:\n"
    yield from table(run, "solver + renderer", lambda row: row["age_p99"], 0, True)
    yield "\nCPU of the one thread that drives both sides, µs a frame:\n"
    yield from table(run, "solver + renderer", lambda row: row["cpu"], 1, False)


def add(parser):
    parser.add_argument("results", type=pathlib.Path, nargs="+")
    parser.add_argument("--check", action="store_true", help="writes nothing, and fails if the page has other tables")


def make(arguments):
    runs = [run_of(path.read_text(), path, ("culvert-bench",), look) for path in arguments.results]
    for run, path in zip(runs, arguments.results):
        if run["quick"] or run["validation"]:
            raise Bad(f"{path}: of a run with --quick or --validation, whose times mean nothing")
    body = "\n\n".join("\n".join(tables(run)) for run in runs)
    text, found = re.subn(r"(<!-- waits -->\n).*?(<!-- end -->)", lambda m: f"{m.group(1)}{body}\n{m.group(2)}", arguments.output.read_text(), flags=re.S)
    if found != 1:
        raise Bad(f"{arguments.output} has no place for the tables")
    return text
