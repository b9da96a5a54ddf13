"""The page of culvert-bench-calls and of ripple, docs/measured/benchmarks.md.

RESULTS: the JSON of culvert-bench-calls; text with the RESULT lines of ripple; a directory or .tar.gz that a bundle's
`run all` left, with bench.json and bench_ripple.txt in it. Runs on the same kind of machine with the same drivers are one
table: of what several of them measured, the last one's row counts, whole groups at a time, and each group says whose it is.
SPDX-License-Identifier: MIT
"""
import collections
import json
import pathlib
import statistics

from .common import MEASURED, Bad, groups, head_of, interval, machine, run_of, spread, table, texts, time_of

RIPPLE_KEYS = ("sample", "device", "driver", "path", "width", "height", "frames", "simulation_ms", "drawing_ms",
               "frame_ms", "transfer_bytes_per_frame")

METHOD = """\
## What is measured, and how

`culvert-bench-calls` makes each of Culvert's calls next to a **raw twin**: the same done by hand with `cu*` and `vk*` calls, as a careful program
would (the context current, parameters on the stack, every result looked at), on the same `VkDevice`, in the same CUDA context, on the same
memory or semaphore. Culvert is the shared library, by its public headers.

- **Interleaved**: a pair is one turn of each side, in an order drawn by lot for every pair, in one process. What the machine does besides,
  clocks that rise, another program, happens to both.
- **Batches**: calls of a few microseconds are timed 16 or 32 together, and the GPU's queue is drained between turns, outside of the times: neither the
  clock nor a full queue is measured.
- **Medians** with the 10th and 90th percentile, in microseconds a call. The **ratio** is that of the two medians; **added** is the median difference of
  neighbouring turns. Their 95 % intervals are a bootstrap over blocks of neighbouring pairs.
- **Controls** (A/A) run the raw twin on both sides: how far such a ratio is from 1 is what the method itself cannot tell.
- A goal is *met* when the whole interval is within it, *not met* when none of it is, *open* between. None is judged on the software twin.
- Before and after the times are taken, each side's work is read on the other API's side: bytes written by CUDA and read by Vulkan, values that arrive.
- **Allocations** are counted by a `malloc` of the program's own that stands before every library's, through a loop of frames (wait, signal, barriers,
  submit), and put down to the innermost library on the stack that is not libc. The counter is tried on a call that allocates first.
"""

REPRODUCE = """\
## Reproduce

On the machine itself:

```sh
cmake --preset release && cmake --build --preset release
build/release/bin/culvert-bench-calls --json=bench.json     # --help, --list; --quick only shows that it works
build/release/bin/ripple --size 4096x4096 --path=ring       # and --path=shared, --path=staged
scripts/report calls bench.json
```

On a bare GPU server: `scripts/bundle`, unpack it there, `./run bench`, or `./run all results`; then `scripts/report calls results/results.tar.gz`.
"""

JSON_KEYS = """\
## The JSON of culvert-bench-calls

`--json` prints it, `--json=FILE` writes it beside the table. Keys are never renamed while `schema` is 1.

| key | what |
|---|---|
| `schema`, `program`, `culvert_version` | 1, the program's name, the library in use |
| `date` | UTC |
| `complete` | false: the program ended before it had measured all of it |
| `quick`, `validation` | `--quick` or `--validation`: no time is worth reading |
| `seed`, `seconds`, `unit` | of the order and the intervals; for each comparison; `us`, microseconds a call |
| `device` | `name`, `software` (the twin), `uuid`, `cuda_version`, `vulkan_name`, `vulkan_driver`, `vulkan_version`, `queue_families` (VkQueueFlags of each) |
| `system` | `processor`, `processors`, `kernel` |
| `allocations` | `counted` (false under a sanitizer), `frames`, `culvert`, `others` (drivers and loader), `control` (seen in a call that allocates); null: left out |
| `left_out` | what this machine cannot have: `measurement`, `reason` |
| `results` | one a row: `measurement`, `variant`, `name`; `kind`: `pair`, `control` (raw on both sides) or `scale` (raw alone); `calls_per_turn`; `checks` of what the calls did |
| `culvert`, `raw` | in a result: `n` turns, `median`, `p10`, `p90`; null where that side was not measured |
| `added` | what Culvert adds: the median difference of neighbouring turns: `value`, and `low` and `high` of the 95 % interval; null without a pair |
| `ratio` | Culvert over raw, of the medians, in the same form. In a goal: the ratio asked for |
| `goal` | `ratio`, and `met`: yes, no, open, or null where times are not judged; null without a goal |
"""


def us(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 100 else f"{value:.2f}" if value >= 10 else f"{value:.3f}"


def goal_text(goal):
    return f"within {100 * (goal['ratio'] - 1):.0f} %"


def verdict(result):
    if result["goal"] is None:
        return ""
    met = {"yes": "**met**", "no": "**not met**", "open": "open", None: "not judged"}[result["goal"]["met"]]
    return f"{goal_text(result['goal'])}: {met}"


def row_name(result):
    variant = f", {result['variant']}" if result["variant"] else ""
    return f"{result['measurement']}{variant}: {result['name']}"


def result_rows(results):
    rows = []
    for r in results:
        name = r["name"] + (" (A/A)" if r["kind"] == "control" else "")
        if r["ratio"] is None:
            rows.append((name, "", spread(r["raw"], us), "", "", ""))
            continue
        added, ratio = r["added"], r["ratio"]
        rows.append((name, spread(r["culvert"], us), spread(r["raw"], us), f"{added['value']:+.3f} ({added['low']:+.3f}..{added['high']:+.3f})",
                     interval(ratio), verdict(r)))
    return rows


def groups_of(results):
    groups = collections.OrderedDict()
    for r in results:
        groups.setdefault((r["measurement"], r["variant"]), []).append(r)
    return groups


def merged(runs):
    """Runs of one kind of machine as one: of each group, the last run's that has it."""
    runs = sorted(runs, key=lambda run: run["date"])
    whose = collections.OrderedDict()
    for run in runs:
        for key, results in groups_of(run["results"]).items():
            whose[key] = (run, results)
    used = [run for run in runs if any(of is run for of, _ in whose.values())]
    return used, whose


def kind_of(run):
    device = run["device"]
    return (device["software"], device["name"], device["vulkan_driver"], device["cuda_version"], run["culvert_version"], run["date"][:10],
            run["quick"], run["validation"])


def allocations(run, several):
    counts = run["allocations"]
    if counts is None:
        return []
    if not counts["counted"]:
        return ["Allocations were not counted (a sanitizer has its own malloc).", ""]
    return [f"In {counts['frames']} frames{f' (run of {time_of(run)})' if several else ''} Culvert made **{counts['culvert']} allocations** "
            f"(the drivers and the Vulkan loader made {counts['others']}).", ""]


def earlier(result, runs):
    """What the runs before the one that counts had found of the same: none of it is to be lost."""
    found = [(run, r) for run in runs for r in run["results"] if row_name(r) == row_name(result) and r["goal"] is not None]
    return "; ".join(f"{time_of(run)}: {r['ratio']['value']:.4f}, {r['added']['value']:+.3f}, {verdict(r).rpartition(': ')[2]}" for run, r in found)


def calls(runs):
    used, whose = merged(runs)
    run = used[-1]
    device, system = run["device"], run["system"]
    rows = [("Vulkan driver", f"{device['vulkan_driver']}, Vulkan {device['vulkan_version']}"), ("CUDA driver", f"CUDA {device['cuda_version']}"),
            ("processor", f"{system['processor']}, {system['processors']} in use"),
            ("Culvert", f"{run['culvert_version']}, {run['seconds']:g} s a comparison, seed {run['seed']}")]
    if len(used) > 1:
        rows.append(("runs", "; ".join(f"**{time_of(r)}**: {len(groups_of(r['results']))} groups" for r in used) + ", each on a machine of its own"
                     if len({r["device"]["uuid"] for r in used}) > 1 else "; ".join(time_of(r) for r in used)))
    out = head_of(run) + machine(run, *rows)
    if run["quick"] or run["validation"]:
        out += ["A run with " + ("`--quick`" if run["quick"] else "`--validation`") + ": **the times mean nothing**.", ""]
    for of in used:
        if not of["complete"]:
            out += [(f"The run of {time_of(of)}" if len(used) > 1 else "The run") + " ended before all was measured.", ""]
    goals = [(of, r) for of, results in whose.values() for r in results if r["goal"] is not None]
    several = len(used) > 1
    if goals:
        out += ["The goals:", ""] + table(("call", "goal", "ratio (95 % interval)", "added, us") + (("run", "in earlier runs") if several else ()), [
            (row_name(r), verdict(r), interval(r["ratio"]), f"{r['added']['value']:+.3f}")
            + ((time_of(of), earlier(r, [other for other in runs if other["date"] < of["date"]])) if several else ()) for of, r in goals])
        if several:
            out += ["A ratio hangs on what the drivers' own calls take on the machine of that run, what is added hangs less: a small buffer may pass on a slow one and fail "
                    "on a fast one with the same code.", ""]
    counted = [of for of in used if of["allocations"] is not None]
    if counted:
        out += allocations(counted[-1], several)
    for gap in {(gap["measurement"], gap["reason"]): None for of in used for gap in of["left_out"]
                if gap["measurement"] not in {key[0] for key in whose}}:
        out += [f"Left out: {gap[0]}: {gap[1]}.", ""]
    measurement = None
    for (name, variant), (of, results) in whose.items():
        if name != measurement:
            out += [f"### {name}", ""]
            measurement = name
        n = results[0]["raw"]["n"]
        out += [f"{variant + ': ' if variant else ''}{n} turns of {results[0]['calls_per_turn']} a side, microseconds a call"
                + (f"; {time_of(of)}." if several else "."), ""]
        out += table(("call", "Culvert", "raw", "added (95 % interval)", "ratio (95 % interval)", "goal"), result_rows(results))
    return out


def megabytes(count):
    return "0" if count == 0 else f"{count / 1e6:,.1f} MB"


def values(runs, key):
    numbers = [r[key] for r in runs if r[key] is not None]
    if not numbers:
        return "unknown"
    text = f"{statistics.median(numbers):.3f}"
    return text if len(numbers) == 1 else f"{text} ({min(numbers):.3f}..{max(numbers):.3f})"


PATHS = {"ring": "the solver writes frames where Vulkan draws from, by `culv_ring`",
         "shared": "the solver writes where Vulkan draws from, in one memory or two, with semaphores",
         "in-queue": "the kernels are in the drawing's command buffer, with one buffer",
         "async": "the kernels are on Vulkan's compute queue, with two buffers",
         "staged": "each frame goes through pinned host memory"}


def ripple(lines, note):
    if not lines:
        return []
    had = [path for path in PATHS if any(r["path"] == path for r in lines)]
    out = ["## Shared memory against a copy through the host", "",
           f"`ripple`, the sample, does the same work on {['one path', 'two paths', 'three paths', 'four paths', 'five paths'][len(had) - 1] if had else 'paths'}: "
           + "; ".join(f"`{path}`, {PATHS[path]}" for path in had)
           + ". Milliseconds a frame, medians of the runs (least..most), the paths run by turns in one session." + (f" {note}" if note else ""), ""]
    machines = collections.OrderedDict()
    for r in lines:
        machines.setdefault((r["device"], r["driver"]), []).append(r)
    for (device, driver), results in machines.items():
        sizes = collections.OrderedDict()
        for r in results:
            sizes.setdefault((r["width"], r["height"]), collections.OrderedDict()).setdefault(r["path"], []).append(r)
        rows = []
        for (width, height), paths in sizes.items():
            staged = statistics.median(r["frame_ms"] for r in paths["staged"]) if "staged" in paths else None
            for path, runs in paths.items():
                frame = statistics.median(r["frame_ms"] for r in runs)
                times = f"{staged / frame:.2f}" if staged is not None and frame > 0 else ""
                rows.append((f"{width} x {height}", f"`{path}`", f"{runs[0]['frames']} x {len(runs)}", values(runs, "simulation_ms"),
                             values(runs, "drawing_ms"), f"**{values(runs, 'frame_ms')}**",
                             megabytes(statistics.median(r["transfer_bytes_per_frame"] for r in runs)), times))
        out += [f"{device} ({driver}):", ""]
        out += table(("grid", "path", "frames x runs", "simulation", "drawing", "whole frame", "copied a frame",
                      "times as fast as staged"), rows)
    return out


def ripple_lines(text, path):
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("RESULT "):
            continue
        try:
            result = json.loads(line[len("RESULT "):])
            missing = [key for key in RIPPLE_KEYS if key not in result]
        except (ValueError, TypeError) as error:
            raise Bad(f"{path}:{number}: {error}") from error
        if missing:
            raise Bad(f"{path}:{number}: no {', '.join(missing)}")
        lines.append(result)
    return lines


output = MEASURED / "benchmarks.md"


def add(parser):
    parser.add_argument("results", type=pathlib.Path, nargs="+")
    parser.add_argument("--ripple-note", default="", metavar="TEXT", help="a sentence about the runs of ripple")


def make(arguments):
    runs, lines = [], []
    for path in arguments.results:
        for name, text in texts(path, ("bench.json", "bench_ripple.txt")):
            if name.endswith(".json"):
                runs.append(run_of(text, path, ("culvert-bench-calls",), lambda run: calls([run])))
                continue
            found = ripple_lines(text, path)
            if not found:
                raise Bad(f"{path}: no RESULT lines of ripple in it")
            lines += found
    out = ["# Benchmarks", "", "Made by `scripts/report calls` from the results of runs; not edited by hand. How fast frames flow: "
           "[performance.md](performance.md); what growing memory costs: [memory-performance.md](memory-performance.md).", ""]
    out += ripple(lines, arguments.ripple_note)
    for of_one_kind in groups(sorted(runs, key=lambda run: (run["device"]["software"], run["device"]["name"], run["date"])), kind_of):
        out += calls(of_one_kind)
    return "\n".join(out + [METHOD, REPRODUCE, JSON_KEYS]).rstrip() + "\n"
