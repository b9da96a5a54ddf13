"""The page of culvert-bench-memory, docs/measured/memory-performance.md.

RESULTS: its JSON, or a directory or .tar.gz that a bundle's `run all` left, with memory.json in it.
Runs on the same kind of GPU with the same driver are one section: what several of them measured (a section, or in `grow`
a size) is shown of the first one given, the goals and their ratios of all. So a run with --large or --only=peers is given
after the whole one. Without results the page has the method alone.
SPDX-License-Identifier: MIT
"""
import collections

from .common import MEASURED, Page, culvert, head_of, interval, machine, size, spread, table, time as us, time_of

MEASURE = """\
## Measure it

```sh
culvert-bench-memory --json=memory.json            # half a minute on a GPU; --help, --list
culvert-bench-memory --only=grow --large           # to 16 and 64 GiB besides
culvert-bench-memory --only=peers                  # where there are two GPUs
scripts/report memory memory.json large.json       # this page; the whole run first
```

From a bundle: `./run exec culvert-bench-memory`, or as a part of `./run bench`; `./run all DIR` leaves `memory.json` in its results.
"""

METHOD = """\
## What is measured, and how

- **Turns**: in each round every scheme of a section runs once, in an order drawn by lot, in one process; the first round is for warming up. A time is that of the host's calls,
  the median of the rounds with the 10th and 90th percentile; a **ratio** is that of the medians over the rounds in which both ran, with the 95 % interval of a bootstrap over blocks of
  neighbouring rounds. **A/A** is the same scheme twice: how far chance alone takes a ratio. Managed memory runs in each eighth round, since populating it takes long.
- **Contents**: every word of a buffer follows from its place and the turn. After each doubling a kernel writes what is new (outside of the times, so that copies have something to copy
  and managed pages are populated); at the end a kernel reads every word back. A wrong one ends the program with status 1. The reader is tried on a wrong word first.
- **Freed**: each object that the program has from the driver is counted, and so are Culvert's; one that is left after a section ends the program with status 1.
- A goal is *met* when the whole interval is within it, *not met* when none of it is, *open* between. None is judged on the software twin, nor with `--quick`.

| scheme | what |
|---|---|
| `culv_vector` | one chunk a doubling: `culv_vector_grow()` |
| `raw VMM` | the same driver calls by hand: `cuMemCreate`, `cuMemMap`, `cuMemSetAccess` a chunk |
| `cuMemAlloc + copy` | `cuMemAlloc` of the larger buffer, `cuMemcpyDtoDAsync`, `cuStreamSynchronize`, `cuMemFree` of the smaller |
| `cuMemAlloc`, reserved | all of it allocated at first: growing costs nothing, and the memory is gone from the beginning |
| `managed + copy` | the same with `cuMemAllocManaged`; the new part is populated when it is first used, which is in no time here |
| `managed + copy + prefetch` | ... or by `cuMemPrefetchAsync` at once |
| `managed + prefetch`, reserved | all of it allocated at first, `cuMemPrefetchAsync` of the new part |

*reserved*: addresses (of `cuMemAlloc`: memory) for all that will be needed, at first and in a time of its own. *not reserved*: addresses grow in place behind those that there are.
*moves*: something lies behind them each time, so that the buffer is mapped at larger ranges, old chunks too; the old ranges are given back after a wait for the stream.

- **grow**: from the granularity on by doubling. *peak above what is committed* is by `cuMemGetInfo`: what the driver has less than before the buffer was there, at the moment when the
  scheme has most, less what is committed; a driver has some memory of its own beside each allocation, which the raw calls show. The goal is met when Culvert's is no more than that of the raw calls.
- **chunks**: by steps of the granularity, under policies for the sizes of chunks. By hand the same chunks are made. *unmap and release* is `culv_device_collect()` after the shrink, and its
  ratio is that of both together.
- **ahead**: a `culv_vector_grow()` of 1 MiB each 200 us, between them the thread sleeps. The times are of single calls, of all rounds.
- **free**: another thread launches a row of kernels of one thread and 20 us into another stream, one to two batches of 64 on their way, while the first thread gives memory back. *other stream still*
  is the longest time from the end of a kernel to the beginning of the next (by the GPU's timer) in the row, which has a value with *nothing* freed, too.
- **peers**: allocations one by one, with and without access of a second GPU, which reads the contents by a kernel of its own. `cuCtxEnablePeerAccess` maps what is there, and every later
  `cuMemAlloc`; `cuMemSetAccess` grants access to a chunk.
- **large**: as *grow*, to 64 GiB, or what memory allows. The first and last word of what each doubling brought are read by the host after every doubling, and all words at the end.
"""

JSON_KEYS = """\
## The JSON of culvert-bench-memory

`--json` prints it, `--json=FILE` writes it beside the tables. Keys are never renamed while `schema` is 1.

| key | what |
|---|---|
| `schema`, `program`, `culvert_version`, `date`, `complete`, `quick`, `validation`, `seed`, `seconds`, `unit`, `device`, `system`, `left_out` | as in [benchmarks.md](benchmarks.md); `unit` is `us` |
| `limit`, `granularity` | bytes that the sections grow to, and of the least chunk |
| `words_checked` | words of 4 bytes that were read back; one that was wrong would have ended the program |
| `objects` | `made` and `freed`: what the program had from the driver itself |
| `times` | one a row: `section`, `scheme`, `variant`, `what`; `bytes` of the buffer; `count` of the calls or chunks that the time is of, all together; `us`: `n`, `median`, `p10`, `p90`; `p99` and `most`, 0 where they are not known |
| `ratios` | of a row: `to` whom, `value`, `low`, `high`; `goal` and `met` (yes, no, open), null where there is none |
| `goal_us`, `met` | of a row: what `p99` is to be under; null where there is none |
| `memory` | `variant` (the size grown to), `scheme`, `bytes`, `committed`; `used` after the step and `peak` within it, by cuMemGetInfo |
| `facts` | `section`, `scheme`, `variant`, `name`, `value`, `unit`, `met` |
"""

SECTIONS = ("grow", "chunks", "ahead", "free", "peers", "large")


def name_of(row):
    return row["scheme"] + (f", {row['variant']}" if row["variant"] else "")


def met(value):
    return {"yes": "**met**", "no": "**not met**", "open": "open", None: "not judged"}[value]


def ratios(row):
    return "; ".join(f"{interval(r)} of {r['to']}" + (f", goal {r['goal']:g}: {met(r['met'])}" if r["goal"] is not None else "")
                     for r in row["ratios"])


def fact_value(fact):
    sign = "-" if fact["value"] < 0 else ""
    return sign + size(abs(int(fact["value"]))) if fact["unit"] == "bytes" else f"{fact['value']:g}"


def goals(runs):
    rows = []
    for run in runs:
        when = (time_of(run),) if len(runs) > 1 else ()
        for row in run["times"]:
            for r in row["ratios"]:
                if r["goal"] is not None:
                    rows.append((f"{row['section']}: {name_of(row)}: {row['what']}, over {r['to']}", f"at most {r['goal']:g}", interval(r),
                                 row["us"]["n"], met(r["met"])) + when)
            if row["goal_us"] is not None:
                rows.append((f"{row['section']}: {name_of(row)}: {row['what']}, 99th percentile", f"under {row['goal_us']:g} us",
                             f"{us(row['p99'])} us", row["us"]["n"], met(row["met"])) + when)
        for fact in run["facts"]:
            if fact["met"] is not None:
                goal = "no more than by hand" if fact["section"] == "grow" else "64 GiB"
                rows.append((f"{fact['section']}: {name_of(fact)}: {fact['name']}", goal, fact_value(fact), "", met(fact["met"])) + when)
    header = ("what", "goal", "measured", "times", "") + (("run",) if len(runs) > 1 else ())
    return ["The goals:", ""] + table(header, rows) if rows else []


def by_scheme(rows):
    found = collections.OrderedDict()
    for row in rows:
        found.setdefault(name_of(row), []).append(row)
    return found


def plain(rows, limit=""):
    return table(("", "bytes", "calls", "us (10 %..90 %)", "ratio (95 % interval)"),
                 [(f"{name_of(r).replace(limit + ', ', '') if limit else name_of(r)}: {r['what']}", size(r["bytes"]), r["count"], spread(r["us"]), ratios(r))
                  for r in rows])


def facts_of(run, section):
    return [f"- {name_of(f)}: {f['name']}: {fact_value(f)}" + (f" ({met(f['met'])})" if f["met"] is not None else "")
            for f in run["facts"] if f["section"] == section and f["name"] not in ("peak above what is committed", "chunks")]


def doublings(rows):
    schemes = by_scheme(rows)
    sizes = sorted({r["bytes"] for r in rows})
    cells = {(name, r["bytes"]): us(r["us"]["median"]) for name, points in schemes.items() for r in points}
    # The size that they grow to is in each name.
    short = [name.split(", ", 2) for name in schemes]
    header = [part[0] + ("<br>" + part[2] if len(part) > 2 else "") for part in short]
    return table(["to"] + header, [[size(s)] + [cells.get((name, s), "") for name in schemes] for s in sizes])


def memory(run, limit):
    schemes = collections.OrderedDict()
    for m in run["memory"]:
        if m["variant"] == limit:
            schemes.setdefault(m["scheme"], []).append(m)
    rows = []
    for name, steps in schemes.items():
        last = max(steps, key=lambda m: m["bytes"])
        above = max(m["peak"] - m["committed"] for m in steps)
        rows.append((name, size(last["committed"]), f"{last['peak']:,}", f"{last['used']:,}", f"{above:+,}"))
    return ["Memory by the driver's account, in bytes:", ""] + table(
        ("", "committed at the end", "at the most in the last doubling", "after it", "above what is committed, at the most of all doublings"), rows)


def grow(run, rows):
    out = []
    for limit in limits(rows):
        mine = [r for r in rows if r["variant"].split(", ")[0] == limit]
        out += [f"To {limit}, all doublings together:", ""] + plain([r for r in mine if r["what"] == "all doublings"], limit)
        out += ["Each doubling; microseconds:", ""] + doublings([r for r in mine if r["what"] == "doubling"])
        out += ["Before and after:", ""] + plain([r for r in mine if r["what"] not in ("doubling", "all doublings")], limit)
        out += memory(run, limit)
    return out


def limits(rows):
    return list(collections.OrderedDict.fromkeys(r["variant"].split(", ")[0] for r in rows))


def chunks(run, rows):
    cells = []
    for policy in collections.OrderedDict.fromkeys(r["variant"] for r in rows):
        found = {(r["scheme"], r["what"]): r for r in rows if r["variant"] == policy}
        mine, raw = (lambda what: found["culv_vector", what]), (lambda what: found["raw VMM", what])
        grown, back = mine("all grow calls"), mine("unmap and release")
        cells.append((policy, back["count"], spread(grown["us"]), spread(raw("all grow calls")["us"]), interval(grown["ratios"][0]),
                      us(mine("slowest grow call")["us"]["median"]), us(mine("shrink call")["us"]["median"]), spread(back["us"]),
                      spread(raw("unmap and release")["us"]), interval(back["ratios"][0])))
    return [f"{rows[0]['count']} grow calls to {size(rows[0]['bytes'])}; microseconds.", ""] + table(
        ("policy", "chunks", "all grow calls", "... by hand", "ratio", "slowest one", "shrink", "unmap and release", "... by hand", "ratio"), cells)


def ahead(run, rows):
    return table(("", "step", "calls", "median", "10 %..90 %", "99 %", "most", "goal"),
                 [(name_of(r), size(r["bytes"]), r["us"]["n"], us(r["us"]["median"]), f"{us(r['us']['p10'])}..{us(r['us']['p90'])}", us(r["p99"]),
                   us(r["most"]), f"99 % under {r['goal_us']:g}: {met(r['met'])}" if r["goal_us"] is not None else "") for r in rows])


def free(run, rows):
    cells = []
    for name, parts in by_scheme(rows).items():
        found = {r["what"]: r for r in parts}
        row = found["other stream's row"]
        settled = [r for r in parts if r["what"].startswith("cu")]
        still = found["other stream still"]
        then = f"{spread(settled[0]['us'])} `{settled[0]['what']}`" if settled else ""
        cells.append((name, spread(found["call"]["us"]) if "call" in found else "", then, spread(still["us"]), us(still["most"]), spread(row["us"]), ratios(row)))
    first = rows[0]
    return [f"{size(first['bytes'])}; microseconds.", ""] + table(
        ("", "call", "and then", "other stream still", "most", "its whole row", "ratio of the row"), cells)


class Found:
    """The rows of one run by what they are. A sentence whose rows are not there is left out."""

    def __init__(self, run):
        self.rows = {(r["section"], r["scheme"], r["variant"] or "", r["what"], r["bytes"] if r["what"] == "doubling" else 0): r for r in run["times"]}
        self.facts = {(f["section"], f["scheme"], f["variant"] or "", f["name"]): f for f in run["facts"]}

    def row(self, section, scheme, variant, what, size_of=0):
        return self.rows[section, scheme, variant, what, size_of]

    def us(self, *key):
        return us(self.row(*key)["us"]["median"])

    def ratio(self, to, *key):
        return next(r for r in self.row(*key)["ratios"] if r["to"] == to)

    def fact(self, *key):
        return self.facts[key]


def short(ratio):
    return interval(ratio, 3)


def finding_growth(f, runs):
    to, mine, what = "1 GiB, reserved", "culv_vector", "all doublings"
    ratio, control = f.ratio("raw VMM", "grow", mine, to, what), f.ratio("raw VMM", "grow", "raw VMM (A/A)", to, what)
    copy = f.ratio("cuMemAlloc + copy", "grow", mine, to, what)
    sizes = sorted(key[4] for key in f.rows if key[:4] == ("grow", mine, to, "doubling"))
    first, *rest = (f.row("grow", mine, to, "doubling", s)["us"]["median"] for s in sizes)
    text = (f"**Growing** to 1 GiB by doubling takes {f.us('grow', mine, to, what)} us where the addresses are reserved, {short(ratio)} of the same calls by hand and {short(copy)} of "
            f"`cuMemAlloc` with copies. A doubling costs {us(min(rest))} to {us(max(rest))} us (the first, {us(first)}), the copy's up to "
            f"{f.us('grow', 'cuMemAlloc + copy', '1 GiB, not reserved', 'doubling', sizes[-1])} us.")
    spreads = [f"{short(control)} in this run"]
    for other in runs[1:]:
        try:
            again = Found(other)
            spreads.append(f"{short(again.ratio('raw VMM', 'grow', 'raw VMM (A/A)', to, what))} in that of {time_of(other)}, in which Culvert's was "
                           f"{short(again.ratio('raw VMM', 'grow', mine, to, what))}")
        except (KeyError, StopIteration):
            pass
    return text + f" By hand against itself (A/A): {'; '.join(spreads)}. Where the interval reaches over 1.03 these rounds cannot tell whether Culvert is within 3 %."


def finding_not_reserved(f, runs):
    of = lambda variant, scheme="culv_vector", to="raw VMM": short(f.ratio(to, "grow", scheme, variant, "all doublings"))
    still, moves = "1 GiB, not reserved", "1 GiB, not reserved, moves"
    return (f"**Without a reservation**, where addresses are taken as they are needed, {of(still)} of by hand and {of(still, to='cuMemAlloc + copy')} of copies; where something lies behind "
            f"the buffer each time, so that it moves to larger ranges, {of(moves)} and {of(moves, to='cuMemAlloc + copy')}.")


def finding_memory(f, runs):
    peak = lambda scheme, variant: fact_value(f.fact("grow", scheme, variant, "peak above what is committed"))
    return (f"**Memory**: {peak('culv_vector', '1 GiB, reserved')} above what is committed at any time, with copies {peak('cuMemAlloc + copy', '1 GiB, not reserved')}: the old buffer beside the new one.")


def finding_managed(f, runs):
    of = lambda scheme, variant: f.ratio("cuMemAlloc + copy", "grow", scheme, variant, "all doublings")["value"]
    return (f"**Managed memory** is {of('managed + copy', '1 GiB, not reserved'):.0f} times as slow as `cuMemAlloc` with copies where it is copied, {of('managed + prefetch', '1 GiB, reserved'):.1f} times "
            "where it is all there and only prefetched.")


def finding_chunks(f, runs):
    few, many = "growth_percent 100, min_chunk 2 MiB", "growth_percent 0, min_chunk 2 MiB"
    row = lambda policy, what: f.row("chunks", "culv_vector", policy, what)
    a, b, c, d = (row(policy, what)["us"]["median"] for policy in (many, few) for what in ("all grow calls", "unmap and release"))
    chunks_many, chunks_few = row(many, "unmap and release")["count"], row(few, "unmap and release")["count"]
    return (f"**Chunks cost by their number**, not by their size: 1 GiB of {chunks_many} chunks takes {a / 1e3:.1f} ms to grow and {b / 1e3:.1f} ms to give back, of {chunks_few} (`growth_percent` 100) "
            f"{c / 1e3:.2f} and {d / 1e3:.2f} ms. Per chunk that is {a / chunks_many:.0f} and {b / chunks_many:.0f} us, {c / chunks_few:.0f} and {d / chunks_few:.0f} us.")


def finding_ahead(f, runs):
    row = lambda variant: f.row("ahead", "culv_vector", variant, "grow call")
    text = [f"{us(row(v)['p99'])} us (at the most {us(row(v)['most'])}) with {v}" for v in ("64 MiB ahead", "256 MiB ahead", "nothing ahead")]
    own = int(sum(f.fact("ahead", "culv_vector", v, "grow calls that had to commit themselves")["value"] for v in ("64 MiB ahead", "256 MiB ahead")))
    return (f"**Committing ahead**: of {row('64 MiB ahead')['us']['n']} grow calls of {size(row('64 MiB ahead')['bytes'])} 99 % take up to {', '.join(text)}. "
            f"{own or 'None'} of those with memory ahead had to commit by {'themselves' if own else 'itself'}.")


def finding_free(f, runs):
    call = lambda scheme, variant="", what="call": f.us("free", scheme, variant, what)
    still = lambda scheme, variant="": f.us("free", scheme, variant, "other stream still")
    unmap = "cuMemUnmap + cuMemRelease"
    return (f"**Giving back** 256 MiB: `cuMemFree` takes {call('cuMemFree')} us, and another stream's kernels stand still for {still('cuMemFree')} us (for {still('nothing')} where nothing is freed). "
            f"To unmap and release one chunk takes {call(unmap, 'one chunk')} us and leaves the other stream alone ({still(unmap, 'one chunk')} us). "
            f"`culv_vector_shrink()` returns after {call('culv_vector_shrink', 'one chunk')} us and leaves the rest to `culv_device_collect()` ({call('culv_vector_shrink', 'one chunk', 'culv_device_collect')} us; "
            f"{still('culv_vector_shrink', 'one chunk')} us still); of small chunks {call('culv_vector_shrink', 'small chunks')} and {call('culv_vector_shrink', 'small chunks', 'culv_device_collect')} us, "
            f"the other stream again alone ({still('culv_vector_shrink', 'small chunks')} us). `cuMemFreeAsync` is comparable: {call('cuMemFreeAsync')} us, "
            f"{call('cuMemFreeAsync', '', 'cuStreamSynchronize')} to synchronize, {still('cuMemFreeAsync')} still. Managed memory stops it for {still('cuMemFree of managed memory')} us.")


def finding_large(f, runs):
    row = f.row("large", "culv_vector", "reserved", "all doublings")
    text = (f"**{size(row['bytes'])} without a copy**: {row['count']} doublings in {row['us']['median'] / 1e3:.0f} ms, {short(row['ratios'][0])} of by hand; {int(f.fact('large', 'culv_vector', 'reserved', 'moves')['value'])} moves. "
            "Each word was read back.")
    for other in runs[1:]:
        for r in other["times"]:
            if r["what"] == "all doublings" and r["scheme"] == "culv_vector" and r["variant"] == f"{size(row['bytes'])}, reserved":
                spread_of = next(x for x in r["ratios"] if x["to"] == "cuMemAlloc + copy")
                hand = next(x for x in other["times"] if (x["what"], x["scheme"], x["variant"]) == ("all doublings", "raw VMM", r["variant"]))
                spans = [f"{x['us']['p10'] / 1e3:.0f} to {x['us']['p90'] / 1e3:.0f} ms" for x in (r, hand)]
                text += (f" In turns with copies (run of {time_of(other)}) it took {short(spread_of)} of their time, in {r['us']['n']} rounds only, which differ much: "
                         f"{spans[0]} (10 %..90 %), by hand {spans[1]}. No ratio to the calls by hand is to be had from so few.")
    return text


def finding_peers(f, runs):
    f = next(found for found in map(Found, runs) if any(key[0] == "peers" for key in found.rows))
    row = lambda scheme, variant, what="all allocations": f.row("peers", scheme, variant, what)
    ratio = lambda scheme, variant: short(row(scheme, variant)["ratios"][0])
    enable = lambda variant: us(row("cuCtxEnablePeerAccess", variant, "enable")["us"]["median"])
    return (f"**Access of a second GPU**: with `cuCtxEnablePeerAccess` {row('cuMemAlloc', 'peer access enabled')['count']} allocations by `cuMemAlloc` take {ratio('cuMemAlloc', 'peer access enabled')} "
            f"of what they take without; to enable it takes {enable('all of them there')} us with them there and {enable('nothing allocated')} with none. By `cuMemSetAccess` it is given a chunk at a time: "
            f"{ratio('raw VMM', 'two devices')} of the calls for one device where every chunk has it, {ratio('raw VMM', 'two devices, one chunk')} where one has. `culv_vector` takes {ratio('culv_vector', 'two devices')} "
            "of by hand.")


def findings(runs):
    """What the numbers say, of the first run."""
    out = []
    found = Found(runs[0])
    for finding in (finding_growth, finding_not_reserved, finding_memory, finding_managed, finding_chunks, finding_ahead, finding_free, finding_large, finding_peers):
        try:
            out.append("- " + finding(found, runs))
        except (KeyError, StopIteration, ValueError):
            pass
    return ["### What it shows", ""] + out + [""] if out else []


def section(runs, name):
    out, had = [], set()
    for run in runs:
        rows = [r for r in run["times"] if r["section"] == name]
        # Of what several runs have, the first one's: a section, or a size to grow to.
        parts = limits(rows) if name == "grow" else [name] if rows else []
        new = [part for part in parts if part not in had]
        had.update(new)
        if name == "grow":
            rows = [r for r in rows if r["variant"].split(", ")[0] in new]
        if not new:
            continue
        if len(runs) > 1:
            out += [f"Of the run of {time_of(run)}.", ""]
        out += {"grow": grow, "chunks": chunks, "ahead": ahead, "free": free}.get(name, lambda _, these: plain(these))(run, rows)
        listed = facts_of(run, name)
        if listed:
            out += listed + [""]
    return [f"### {name}", ""] + out if out else []


def results(runs):
    run = runs[0]
    device, system = run["device"], run["system"]
    checked = [("checked" if len(runs) == 1 else f"checked, run of {time_of(r)}",
                f"{r['words_checked']:,} words, none wrong; {r['objects']['made']:,} objects made, {r['objects']['freed']:,} freed") for r in runs]
    out = head_of(run) + machine(run, ("driver", f"{device['vulkan_driver']}, CUDA {device['cuda_version']}"),
                                 ("processor", f"{system['processor']}, {system['processors']} in use"), culvert(run), *checked)
    if run["quick"]:
        out += ["A run with `--quick`: **the times mean nothing**.", ""]
    for r in runs:
        if not r["complete"]:
            out += [("The run" if len(runs) == 1 else f"The run of {time_of(r)}") + " ended before all was measured.", ""]
    out += goals(runs)
    had = {row["section"] for r in runs for row in r["times"]}
    for gap in [gap for r in runs for gap in r["left_out"] if gap["measurement"] not in had]:
        out += [f"Left out: {gap['measurement']}: {gap['reason']}.", ""]
    if not run["quick"] and not run["device"]["software"]:
        out += findings(runs)
    for name in SECTIONS:
        out += section(runs, name)
    return out


def kind_of(run):
    device = run["device"]
    return (device["software"], device["name"], device["vulkan_driver"], device["cuda_version"], run["culvert_version"], run["quick"])


HEAD = ["# Memory: what growing, shrinking and giving back cost", "",
        "`culvert-bench-memory` lets a buffer grow by `culv_vector`, by the driver's virtual memory management by hand, by `cuMemAlloc` with copies and by managed memory, side by side",
        "in one run, and checks every word. This page is made by `scripts/report memory` from the results of runs; not edited by hand.", ""]
REPORT = Page(MEASURED / "memory-performance.md", ("culvert-bench-memory",), ("memory.json",), results, HEAD, [MEASURE, METHOD, JSON_KEYS], kind=kind_of)
