"""docs/measured/before-after.md: two states of Culvert, measured by turns on one machine.

DIRECTORY: the JSON of benchmarks, as NAME-before-N.json and NAME-after-N.json. NAME is calls (culvert-bench-calls), launches
(culvert-bench --only=launches --only=calls), frames (culvert-bench --only=frames), gl (culvert-bench-gl) or ipc (culvert-bench-ipc).
Where a benchmark has the same work by raw calls beside Culvert's, the ratios to them are compared, since the machine's speed
changes from process to process; the others have times.
SPDX-License-Identifier: MIT
"""
import collections
import json
import pathlib
import statistics

from .common import MEASURED, Bad

output = MEASURED / "before-after.md"
LIMIT = 1.01


def pair(row):
    return row["ratio"]["value"] if row.get("ratio") else None


def calls(run):
    for row in run["results"]:
        if row["kind"] == "pair":
            yield (row["measurement"], row["variant"], row["name"]), pair(row)


def launches(run):
    for row in run["pairs"]:
        yield (row["measurement"], row["name"], row["variant"]), pair(row)


def frames(run):
    for row in run["frames"]:
        if row["us"] is not None and not row["scheme"].startswith("raw") and "alone" not in row["scheme"]:
            ratio = row["over_raw"]
            yield (row["scheme"], row["variant"], f"{row['depth']}/{row['burst']}"), ratio["value"] if ratio else row["of_ideal"]["median"]


def gl(run):
    for row in run["frames"]:
        if row["left_out"] is None:
            yield (row["way"], f"{row['bytes'] >> 20} MiB", f"{row['depth']}/{row['burst']}"), row["us"]["median"]


def ipc(run):
    for name, value in run["median_us"].items():
        if not name.endswith("by_hand"):
            yield (name.replace("_", " "),), value


KINDS = {"calls": (calls, "Culvert's time over the raw calls'"), "launches": (launches, "Culvert's time over the raw calls'"),
         "frames": (frames, "a frame over the raw scheme's, or over the ideal"), "gl": (gl, "µs a frame"), "ipc": (ipc, "µs")}


def read(directory, kind, side):
    runs = [json.loads(path.read_text()) for path in sorted(directory.glob(f"{kind}-{side}-*.json"))]
    values = collections.defaultdict(list)
    for run in runs:
        for key, value in KINDS[kind][0](run):
            if value is not None:
                values[key].append(value)
    return runs, {key: (statistics.mean(found), found) for key, found in values.items()}


def add(parser):
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--before", required=True, help="what the first state is, such as a commit")


def make(arguments):
    lines, above, device = [], [], None
    for kind, (_, unit) in KINDS.items():
        runs, old = read(arguments.directory, kind, "before")
        more, new = read(arguments.directory, kind, "after")
        if not runs or not more:
            raise Bad(f"{arguments.directory}: no {kind}-before-N.json or no {kind}-after-N.json")
        if "device" in more[0]:
            device = more[0]["device"], more[0]["date"]
        ratios = {key: new[key][0] / old[key][0] for key in old if key in new}
        lines.append(f"| {kind} | {unit} | {len(runs)} + {len(more)} | {len(ratios)} | {statistics.median(ratios.values()):.4f} | "
                     f"{sum(value > LIMIT for value in ratios.values())} |")
        for key in sorted(ratios, key=lambda k: -ratios[k]):
            if ratios[key] > LIMIT:
                shown = [", ".join(f"{value:.3f}" for value in side[key][1]) for side in (old, new)]
                above.append(f"| {kind} | {', '.join(filter(None, key))} | {ratios[key]:.3f} | {shown[0]} | {shown[1]} |")
    return f"""# Before and after

The state before is {arguments.before}; the state after is the one with this page. Both were built alike and ran by turns on one
{device[0]['name']} ({device[0]['vulkan_driver']}), {device[1][:10]}, each as processes of its own with its own library.
`scripts/report compare` writes this page.

| benchmark | what is compared | runs | rows | median of after / before | rows above {LIMIT} |
|---|---|---:|---:|---:|---:|
{chr(10).join(lines)}

A row above {LIMIT} is slower, or its runs differ by more than that among themselves. Each run's value is shown:

| benchmark | row | after / before | before | after |
|---|---|---:|---|---|
{chr(10).join(above)}
"""
