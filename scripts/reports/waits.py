"""The tables of docs/waits.md, between the lines <!-- NAME --> and <!-- end -->.

RESULTS: JSON of `culvert-bench --only=waits`, --only=backwards, --only=processes and --only=wakes, one file for each machine. What the results lack stays as it is.
SPDX-License-Identifier: MIT
"""
import collections
import re

from .common import DOCS, Blocks, table_lines

WAYS = (("the GPU waits", "culv_ring", None), ("the host for CUDA", "culv_ring", "CUDA waits on the host"),
        ("the host for Vulkan", "culv_ring", "Vulkan waits on the host"), ("the host for both", "culv_ring", "both wait on the host"),
        ("the ring chooses", "culv_ring", "the ring chooses"),
        ("nobody: in the queue", "in-queue", None), ("nobody: async", "async", None),
        ("Vulkan's queue waits", "culv_ipc_ring", None), ("the host for Vulkan", "culv_ipc_ring", "Vulkan waits on the host"))


def rows_of(run, section="waits"):
    return [row for row in run.get("frames", ()) if row["section"] == section and row["us"] is not None]


def load(us, draws=1):
    return f"{us / 1000:g} ms" + (f" of {draws:,} draws" if draws > 1 else "")


def table(rows, what, get, digits, lowest):
    """A line for each load, with the best number of slots for each way that anything was measured of."""
    loads = collections.OrderedDict()
    ways = [way for way in WAYS if any((row["scheme"], row["variant"]) == way[1:] for row in rows)]
    for row in rows:
        loads.setdefault((row["solver_wanted"], row["renderer_wanted"], row["draws"]), []).append(row)
    yield f"| {what} | " + " | ".join(name for name, _, _ in ways) + " |"
    yield "|---|" + "---:|" * len(ways)
    for (solver, renderer, draws), measured in loads.items():
        cells = []
        for _, scheme, variant in ways:
            mine = [row for row in measured if row["scheme"] == scheme and row["variant"] == variant]
            best = min((row for row in mine if get(row)), key=get, default=None)
            cells.append((None, "") if best is None else (get(best), f"{get(best):,.{digits}f} ({best['depth']})"))
        least = min(value for value, _ in cells if value is not None)
        marked = [f"**{text}**" if lowest and value is not None and value <= least * 1.005 else text for value, text in cells]
        both = [load(solver), load(renderer, draws)]
        yield f"| {' + '.join(reversed(both) if what.startswith('renderer') else both)} | " + " | ".join(marked) + " |"


def tables(run):
    device = run["device"]["name"]
    yield f"## Measured on an {device}" if re.match(r"NVIDIA|[AEIOU]", device) else f"## Measured on a {device}"
    yield (f"{run['device']['vulkan_driver']}, {run['date'][:16].replace('T', ' ')} UTC; `culvert-bench --only=waits`, medians of "
           f"{max(row['us']['n'] for row in rows_of(run))} runs, every frame checked. The solver fills every multiprocessor, the renderer draws over the whole picture. "
           "In brackets: the number of slots, of 1 to 3, with which the way is best.\n")
    yield from three(rows_of(run), "solver + renderer", "drawn")


def three(rows, what, end):
    yield "Time of a frame, as a part of what both sides take one after the other (1 is their sum):\n"
    yield from table(rows, what, lambda row: row["of_ideal"]["median"], 3, True)
    yield f"\nAge of a frame when it is {end}, 99 %, in µs:\n"
    yield from table(rows, what, lambda row: row["age_p99"], 0, True)
    yield "\nCPU of the host, µs a frame:\n"
    yield from table(rows, what, lambda row: row["cpu"], 1, False)


def backwards(run):
    rows = rows_of(run, "backwards")
    yield (f"{run['device']['name']}, {run['device']['vulkan_driver']}, {run['date'][:16].replace('T', ' ')} UTC; `culvert-bench --only=backwards`, medians of "
           f"{max(row['us']['n'] for row in rows)} runs, every word of every frame checked by CUDA.\n")
    yield from three(rows, "renderer + solver", "read")


def processes(run):
    rows = rows_of(run, "processes")
    yield (f"{run['device']['name']}, {run['device']['vulkan_driver']}, {run['date'][:16].replace('T', ' ')} UTC; `culvert-bench --only=processes`, medians of "
           f"{max(row['us']['n'] for row in rows)} runs, every frame checked. The CPU time is that of both processes.\n")
    yield from three(rows, "solver + renderer", "drawn")


def wakes(run):
    device = run["device"]["name"]
    loads = sorted({row["load"] for row in run["wakes"]})
    yield (f"{device}, {run['device']['vulkan_driver']}, {run['date'][:16].replace('T', ' ')} UTC; `culvert-bench --only=wakes`. Median and, in brackets, 99 % of "
           f"{' and '.join(f'{n}' for n in sorted({row['frames'] for row in run['wakes'] if row['frames']}))} waits; the GPU's clock is known to "
           f"{max(row['clock_error'] for row in run['wakes']):.1f} µs.\n")
    watts = any(row["watts"] for row in run["wakes"])
    for of, work in (("CUDA", "CUDA's stream works, the host waits"), ("Vulkan", "Vulkan's queue works, the host waits")):
        mine = [row for row in run["wakes"] if row["of"] == of]
        rows = []
        for way in dict.fromkeys(row["way"] for row in mine):
            cells = [f"`{way.partition(',')[0]}`" + "".join(way.partition(",")[1:])]
            for load_us in loads:
                row = next(row for row in mine if (row["way"], row["load"]) == (way, load_us))
                cells += ([row["left_out"], ""] if row["left_out"] else [f"{row['late']['median']:,.1f} ({row['late_p99']:,.1f})", f"{row['cpu']:,.0f}"]) + (
                    [f"{row['watts']:,.0f}" if row["watts"] else ""] if watts else [])
            rows.append(cells)
        yield f"{work}; µs late, µs of CPU{', W of the GPU' if watts else ''}, by how long the work takes:\n"
        yield from table_lines(["by"] + [cell for us in loads for cell in [load(us), "CPU"] + (["W"] if watts else [])], rows)
        yield ""
    for gap in run["left_out"]:
        if gap["measurement"] == "wakes":
            yield f"Left out: {gap['reason']}.\n"


REPORT = Blocks(DOCS / "waits.md", ("culvert-bench",), {"waits": (rows_of, tables), "backwards": (lambda run: rows_of(run, "backwards"), backwards),
                                                                  "processes": (lambda run: rows_of(run, "processes"), processes),
                                                                  "wakes": (lambda run: run.get("wakes"), wakes)})
