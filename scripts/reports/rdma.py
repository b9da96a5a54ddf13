"""The page of culvert-bench-rdma, docs/measured/rdma-performance.md.

RESULTS: its JSON, or a directory or .tar.gz that a bundle's `run all` left, with rdma.json in it. Each is a section.
SPDX-License-Identifier: MIT
"""
import math

from .common import MEASURED, Page, culvert, head_of, machine, spread, time, warnings

HEAD = """\
# Network cards: what a look-up and the calls cost

A registration cache answers which pinned memory a pointer is in ([rdma.md](../rdma.md)).
`culvert-bench-rdma` measures that from 1 to 1,000,000 registrations, beside UCX's structure in the same run, and checks each answer.
This page is made by `scripts/report rdma` from the results of runs; not edited by hand.
"""

MEASURE = """\
## Measure it

```sh
culvert-bench-rdma --json=rdma.json                # a minute or two on a GPU; --help
scripts/report rdma rdma.json                      # this page
```

From a bundle: `./run exec culvert-bench-rdma`, or as a part of `./run bench`; `./run all DIR` leaves `rdma.json` in its results.

## How it is measured

- A look-up is `culv_rdma_cache_get()` of 1 KiB in a registration of 64 KiB, the comparison of its cookie, and `culv_rdma_registration_put()`. One whose cookie is wrong ends the program with status 1.
- The registrations are chunks of one CUDA allocation, so 1,000,000 of them are 61 GiB of a GPU and one `cuMemAlloc()`. A GPU that has less gets 61 GiB of addresses, behind which one block of 256 MiB is mapped again and again. Nothing is pinned: `pin()` only gives a number.
- The places are drawn by lot. From 10,000 registrations on, most of a look-up's time is the processor's, which fetches what no cache of it has.
- **by notification**: the registration is found, and is valid until somebody says otherwise. **by BUFFER_ID**: CUDA is asked besides. **the driver alone**: that question without Culvert.
- **UCX's structure**: its page table (16 ways a level) and its registration cache's read lock, count of uses and list of the unused, rebuilt in [`bench/rdma/ucx.c`](../../bench/rdma/ucx.c). It asks CUDA for nothing, as UCX learns of frees by hooks: compare it with the look-up by notification.
- A time is that of a turn of 20,000 look-ups over their number; with several threads the mean of the threads' times. The turns of all schemes are interleaved. Medians, with the 10th and 90th percentile.
- *The end of many*: each collection that the library keeps, made with a quarter, half and all of 160,000 entries (fewer where the driver takes long for each), and timed once as it goes.
- *At most logarithmic*: at each number n of registrations the time is no more than 1 + log2(n) times that of one registration, by one thread.

## The JSON of culvert-bench-rdma

`--json` prints it, `--json=FILE` writes it beside the table. Keys are never renamed while `schema` is 1.

| key | what |
|---|---|
| `schema`, `program`, `culvert_version`, `date`, `complete`, `quick`, `validation`, `seed`, `seconds`, `unit`, `device`, `system`, `left_out` | as in [benchmarks.md](benchmarks.md); `seconds` means nothing here |
| `look_ups_checked` | look-ups whose answer was compared; one that was wrong would have ended the program |
| `mappings` | how often one block of memory is mapped where the GPU has too little for all registrations; 0: they lie in one allocation |
| `times` | one a row: `section` (look-ups, calls, teardown); `scheme`; `entries`: registrations, or what comes to its end; `threads`; `ns` a look-up or call, or of the whole end: `n` turns, `median`, `p10`, `p90`; `goal` in ns and whether it is `met` (yes, no), null where there is none |
"""

NOTIFIED, BY_ID, UCX, DRIVER = ("Culvert, by notification", "Culvert, by BUFFER_ID", "UCX's structure", "the driver's BUFFER_ID alone")
SCHEMES = (NOTIFIED, UCX, BY_ID, DRIVER)


def look_ups(rows):
    out = []
    for threads in sorted({r["threads"] for r in rows}):
        mine = {(r["scheme"], r["entries"]): r["ns"] for r in rows if r["threads"] == threads}
        out += [f"### ns a look-up, {threads} thread{'s' if threads > 1 else ''}", "",
                "| registrations | by notification | UCX's structure | by BUFFER_ID | the driver alone |", "|---:|---:|---:|---:|---:|"]
        for entries in sorted({n for _, n in mine}):
            out.append(f"| {entries:,} | " + " | ".join(spread(mine[scheme, entries]) for scheme in SCHEMES) + " |")
        out.append("")
    return out


def goals(rows):
    out = ["### Goals", "", "| | ns | goal | met |", "|---|---:|---:|---|"]
    for r in rows:
        if r["goal"] is not None:
            out.append(f"| {r['scheme']}, {r['entries']:,} registrations | {time(r['ns']['median'])} | {time(r['goal'])} | {r['met'] or 'not judged'} |")
    first = min(r["threads"] for r in rows)
    for scheme in (NOTIFIED, BY_ID):
        mine = sorted((r["entries"], r["ns"]["median"]) for r in rows if r["scheme"] == scheme and r["threads"] == first)
        times = [ns / mine[0][1] / (1 + math.log2(n)) for n, ns in mine if n > 1]
        if times:
            most, last = mine[-1]
            met = "yes" if max(times) <= 1 else "no"
            out.append(f"| {scheme}, 1 to {most:,} registrations: at most logarithmic | {time(mine[0][1])} to {time(last)} | "
                       f"{time(mine[0][1] * (1 + math.log2(most)))} | {met} |")
    return out + [""]


def calls(rows):
    return ["### ns a call", "", "| call | ns |", "|---|---:|"] + [f"| {r['scheme']} | {spread(r['ns'])} |" for r in rows] + [""]


def teardown(rows):
    """The end of many: a collection whose end is quadratic shows by the time of each."""
    return ["### The end of many", "", "| what | entries | ms | ns each |", "|---|---:|---:|---:|"] + [
        f"| {r['scheme']} | {r['entries']:,} | {r['ns']['median'] / 1e6:,.1f} | {r['ns']['median'] / r['entries']:,.0f} |" for r in rows] + [""]


def results(run):
    rows = [("CPU", run["system"].get("processor")), ("CUDA", run["device"]["cuda_version"]), culvert(run),
            ("memory", f"one block, mapped {run['mappings']} times" if run["mappings"] else "one allocation"),
            ("checked", f"{run['look_ups_checked']:,} look-ups, none wrong")]
    out = head_of(run) + machine(run, *(row for row in rows if row[1])) + warnings(run)
    found = [r for r in run["times"] if r["section"] == "look-ups"]
    out += look_ups(found)
    if found:
        out += goals(found)
    made = [r for r in run["times"] if r["section"] == "calls"]
    ended = [r for r in run["times"] if r["section"] == "teardown"]
    return out + (calls(made) if made else []) + (teardown(ended) if ended else [])


REPORT = Page(MEASURED / "rdma-performance.md", ("culvert-bench-rdma",), ("rdma.json",), results, [HEAD], [MEASURE])
