"""Tables of culvert-bench, culvert-bench-calls and ripple, as Markdown, to be pasted into a page of
docs/measured beside the commit that was measured.

RESULTS: the JSON of the programs, text with the RESULT lines of ripple, or a directory or .tar.gz that a bundle's `run all` left.
SPDX-License-Identifier: MIT
"""
import json
import pathlib
import statistics

from .common import Bad, interval, run_of, size, spread, table, texts

FILES = ("bench.json", "frames.json", "kinds.json", "bench_ripple.txt")
RIPPLE_KEYS = ("device", "driver", "path", "width", "height", "frame_ms")
output = None  # standard output


def add(parser):
    parser.add_argument("results", type=pathlib.Path, nargs="+")


def head(run):
    device = run["device"]
    two = "two " if run.get("solver_device", -1) >= 0 else ""
    out = [f"## {two}{device['name']}, {run['date'][:10]}", "",
           f"{device['vulkan_driver']}, CUDA {device['cuda_version']}, {run['system']['processor'] or 'unknown processor'}, Culvert "
           f"{run['culvert_version']}, {run['date'][11:16]} UTC; `{run['program']}`.", ""]
    out += ["The **software twin**: no GPU, and its times tell nothing of one.", ""] if device["software"] else []
    out += ["A run with `--quick`: **the numbers mean nothing**.", ""] if run["quick"] else []
    out += [] if run["complete"] else ["The run ended before all was measured.", ""]
    return out + [line for gap in run["left_out"] for line in (f"Left out of {gap['measurement']}: {gap['reason']}.", "")]


def pairs(run):
    rows = []
    for r in run["results"]:
        goal = r["goal"]
        rows.append((", ".join(filter(None, (r["measurement"], r["variant"]))), r["name"] + (" (A/A)" if r["kind"] == "control" else ""),
                     spread(r["culvert"]) if r["culvert"] else "", spread(r["raw"]) if r["raw"] else "", interval(r["ratio"]),
                     f"at most {goal['ratio']:.2f}" + (f": **{goal['met']}**" if goal["met"] else "") if goal else ""))
    return table(("what", "call", "Culvert, µs", "raw, µs", "ratio (95 % interval)", "goal"), rows, 2) if rows else []


def calls(run):
    out = pairs(run)
    counted = run["allocations"]
    if counted:
        out += [f"In a loop of {counted['frames']} frames Culvert made **{counted['culvert']} allocations**." if counted["counted"]
                else "Allocations: not counted, a sanitizer has its own malloc.", ""]
    return out


def frames(run):
    """A table for each section and load: one row a way."""
    groups = {}
    for r in run["frames"]:
        key = (r["section"], r["bytes"], r["work"], r["draws"], r["solver_wanted"], r["renderer_wanted"])
        groups.setdefault(key, []).append(r)
    out = []
    for (section, count, work, draws, *_), rows in groups.items():
        alone = rows[0]
        out += [f"### {section}: {size(count)}, {work}{f', {draws} draws' if draws > 1 else ''}", "",
                f"Alone, the solver takes {alone['solver_alone']:,.1f} µs and the renderer {alone['renderer_alone']:,.1f} µs.", ""]
        lines = []
        for r in rows:
            way = ", ".join(filter(None, (r["scheme"], r["variant"])))
            cells = ([r["left_out"]] + [""] * 6 if r["left_out"] else
                     [spread(r["us"]), f"{r['of_ideal']['median']:.3f}", f"{r['interval_p99']:,.0f}", f"{r['hand_over']:,.1f}", f"{r['age_p99']:,.0f}",
                      f"{r['cpu']:.2f}", interval(r["over_raw"])])
            lines.append((way, r["depth"], r["burst"], *cells))
        out += table(("way", "depth", "burst", "µs a frame", "of both alone", "p99 between frames", "hand-over", "age, p99", "CPU", "over raw"), lines)
    out += pairs({"results": run.get("results", [])})
    checked = sum(r["checked"] for r in run["frames"]) + sum(r["checks"] for r in run.get("results", []))
    return out + [f"{checked:,} frames were checked, none was wrong.", ""]


def ripple(text, path):
    runs = {}
    try:
        for line in text.splitlines():
            if line.startswith("RESULT "):
                r = json.loads(line[7:])
                device, driver, way, width, height, ms = (r[key] for key in RIPPLE_KEYS)
                runs.setdefault((device, driver, f"{width} x {height}", way), []).append(ms)
    except (ValueError, KeyError, TypeError) as error:
        raise Bad(f"{path}: not a RESULT line of ripple ({type(error).__name__}: {error})") from error
    if not runs:
        raise Bad(f"{path}: no RESULT line of ripple")
    return ["## ripple", "", *table(("device", "driver", "size", "path", "ms a frame"), [
        (*key, f"{statistics.median(of):.2f}") for key, of in runs.items()], 4)]


PARTS = {"culvert-bench-calls": calls, "culvert-bench": frames}


def make(arguments):
    out = []
    for path in arguments.results:
        for name, text in texts(path, FILES):
            if name.endswith(".txt"):
                out += ripple(text, path)
                continue
            run = run_of(text, path, PARTS, lambda run: head(run) + PARTS[run["program"]](run))
            out += head(run) + PARTS[run["program"]](run)
    return "\n".join(out)
