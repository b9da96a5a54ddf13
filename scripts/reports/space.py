"""The page of culvert-bench-space, docs/measured/space-performance.md.

RESULTS: its JSON, or a directory or .tar.gz that a bundle's `run all` left, with space.json in it. Each is a section. Without
results the page has the method alone.
SPDX-License-Identifier: MIT
"""
import collections

from .common import MEASURED, Page, culvert, goal_of, interval, machine, spread, table, time, time_of, warnings

HEAD = """\
# One address: what it costs, what it saves, how often it is free

A `culv_vk_space` has one address in CUDA and in Vulkan ([space.md](../space.md)).
`culvert-bench-space` measures a chunk beside the raw calls, a growing vector, the sample `forest` with one address and with copies, and processes that look for an address.
This page is made by `scripts/report space` from the results of runs; not edited by hand.
"""

MEASURE = """\
## Measure it

```sh
culvert-bench-space --json=space.json                            # --help, --list
culvert-bench-space --only=starts --starts=1000 --seconds=450 --json=starts.json   # --kind=plain: fresh ones alone
scripts/report space space.json starts.json                      # this page
```

From a bundle: `./run exec culvert-bench-space`, or as a part of `./run bench`; `./run all DIR` leaves `space.json` in its results.

## How it is measured

- **A chunk**: committed into both and decommitted, beside the same by hand: `cuMemCreate`, `cuMemMap`, `cuMemSetAccess`, the export, the import and `vkQueueBindSparse`. The two take turns in an order drawn by lot; the ratio has a 95 % interval. Each side's bytes are read on the other side.
- **A vector**: `culv_vector_grow()` with memory committed ahead. The longest calls are those of one run.
- **forest**: the program runs as a process of its own, with both modes, at three sizes. The pictures of the two modes are the same, byte for byte.
- **Starts**: each process opens CUDA and Vulkan anew, has its own places for everything (ASLR), and asks for a space of 4 GiB. As many run at once as the machine has processors. Some of them first load 200 libraries, break up their addresses, or reserve as much as PyTorch's allocator does.
"""

STARTS = ("processes", "the first address was free", "attempts at most", "refused by CUDA", "refused by Vulkan", "no address was free", "different addresses", "did not come so far", "seconds for all")


def facts_of(run, section):
    """variant -> name -> fact, in the order of the run."""
    out = collections.OrderedDict()
    for fact in run["facts"]:
        if fact["section"] == section:
            out.setdefault(fact["variant"], {})[fact["name"]] = fact
    return out


def commits(run):
    rows = [r for r in run["results"] if r["measurement"] == "commit"]
    if not rows:
        return []
    out = ["### A chunk in both", "", "Microseconds, medians (10th..90th percentile).", "", "| chunk | what | Culvert | raw | ratio (95 % interval) | goal |", "|---|---|---:|---:|---:|---|"]
    for r in rows:
        out.append(f"| {r['variant']} | {r['name']} | {spread(r['culvert'])} | {spread(r['raw'])} | {interval(r['ratio'], 3)} | {goal_of(r)} |")
    return out + [""]


def grows(run):
    facts = facts_of(run, "grow")
    if not facts:
        return []
    rows = []
    for name in next(iter(facts.values())):
        cells = []
        for of in facts.values():
            fact = of[name]
            goal = f" (below {fact['goal']:g}: **{fact['met']}**)" if fact["met"] else ""
            cells.append((f"{time(fact['value'])} {fact['unit']}" if fact["unit"] else f"{fact['value']:g}") + goal)
        rows.append([name] + cells)
    return ["### A vector that grows, with memory committed ahead", ""] + table(("what", *facts), rows)


def forests(run):
    facts = facts_of(run, "forest")
    sizes = list(collections.OrderedDict.fromkeys(variant.split(",")[0] for variant in facts))
    if not sizes:
        return []
    out = ["### The sample forest", "", "Milliseconds a frame: pointers as they are, and copied and patched.", "",
           "| particles | mode | a frame | building | copying and patching | drawing | one over copy |", "|---|---|---:|---:|---:|---:|---:|"]
    for size in sizes:
        for mode in ("one", "copy"):
            of = facts[f"{size}, mode {mode}"]
            over = f"**{facts[size]['a frame, one over copy']['value']:.3f}**" if mode == "one" else ""
            out.append(f"| {int(size.split()[0]):,} | {mode} | " + " | ".join(f"{of[name]['value']:.3f}" for name in ("a frame", "of it building", "of it copying and patching", "of it drawing")) + f" | {over} |")
    return out + [""]


def starts(run):
    facts = facts_of(run, "starts")
    if not facts:
        return []
    return ["### How often the first address is free", ""] + table(("processes that are", *STARTS), [
        [variant] + [f"{of[name]['value']:,.0f}" if name in of else "" for name in STARTS] for variant, of in facts.items()])


def results(run):
    device, system = run["device"], run["system"]
    out = [f"## {device['name']}, {run['date'][:10]}, {time_of(run)}", ""] + machine(
        run, ("Vulkan", f"{device['vulkan_driver']}, {device['vulkan_version']}"), ("CUDA", device["cuda_version"]),
        ("processor", f"{system['processor'] or 'unknown'}, {system['processors']} processors"), culvert(run)) + warnings(run)
    return out + commits(run) + grows(run) + forests(run) + starts(run)


REPORT = Page(MEASURED / "space-performance.md", ("culvert-bench-space",), ("space.json",), results, [HEAD], [MEASURE])
