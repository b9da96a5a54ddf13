"""The tables of culvert-bench in docs/measured/performance.md.

RESULTS: its JSON. Of the first run that has the section `frames` all tables are made; of the first one with `--search` that
of the search; of the latest one with the section `latency` its tables; of the latest one with kernels in Vulkan's queues
theirs; of those with a million frames and more only that list; of the latest one with the section `overlap`, and of the
latest one with `launches`, its table; of each one that has the section `calls`, in the order given, rows of that table.
The page is written by hand. What stands between the lines <!-- frames: NAME --> and <!-- end --> is replaced where the
results have it.
SPDX-License-Identifier: MIT
"""
import collections
import pathlib
import re

from .common import MEASURED, Bad, interval, run_of, size, table_lines as table, texts, time_of

BLOCK = re.compile(r"(<!-- frames: ([a-z-]+) -->\n).*?(<!-- end -->)", re.S)

VARIANTS = {
    None: "raw ring: one submit info a burst, one signal a burst, host two depths ahead",
    "greatest stream priority": "`cuStreamCreateWithPriority`, greatest",
    "least stream priority": "... least",
    "a submit call a frame": "a `vkQueueSubmit2` a frame",
    "solver launched late": "solver launched late (the host waits for `done`)",
    "renderer submitted late": "renderer submitted late (the host waits for `ready`)",
    "compute on the graphics queue": "renderer as compute, on the graphics queue",
    "compute on a compute queue": "renderer as compute, on the family without graphics",
    "low global priority of the queue": "low global priority of the renderer's queue",
    "the same, least stream priority": "... and the least stream priority",
}


def us(value):
    return f"{value:,.1f}"


def listed(texts):
    return texts[0] if len(texts) == 1 else ", ".join(texts[:-1]) + " and " + texts[-1]


def rows_of(run, section):
    return [r for r in run["frames"] if r["section"] == section and r["left_out"] is None and not r["scheme"].endswith("alone")]


def fixed(run):
    return [r for r in rows_of(run, "latency") if r["max_latency_ns"] == 0]


def chosen(run):
    return [r for r in rows_of(run, "latency") if r["max_latency_ns"] != 0]


def best(run, bound_us):
    within = [r for r in fixed(run) if r["age_p99"] <= bound_us]
    return min(within, key=lambda r: r["us"]["median"]) if within else None


def checked(run):
    return sum(r["checked"] for r in run["frames"])


def of(rows, scheme, depth, burst):
    return next(r for r in rows if (r["scheme"], r["depth"], r["burst"]) == (scheme, depth, burst))


# The blocks ----------------------------------------------------------------------------------------------------------

def block_run(runs):
    run = runs.main
    first = rows_of(run, "frames")[0]
    alone = [next(r for r in run["frames"] if r["section"] == "frames" and r["scheme"] == name)["us"]["median"] for name in ("solver alone", "renderer alone")]
    clocks = run["clocks"]
    text = [f"One run of `culvert-bench` on an {run['device']['name']} ({run['device']['vulkan_driver']}, CUDA {run['device']['cuda_version']}, Vulkan {run['device']['vulkan_version']}, "
            f"{run['system']['processor'].replace('(R)', '')}, {run['system']['processors']} processors), {run['date'][:10]}, {time_of(run)}. "
            + (f"The clocks of CUDA and Vulkan are one, as far as can be told ({clocks['error']:.0f} µs). " if clocks["same"] else "The clocks of CUDA and Vulkan differ. ")
            + f"**{checked(run):,} frames were checked, no pixel saw a wrong one.** The loads were made for {first['solver_wanted']:g} and {first['renderer_wanted']:g} µs; alone they took "
            f"{alone[0]:.1f} and {alone[1]:.1f} µs: the ideal is {first['us']['median'] / first['of_ideal']['median']:.1f} µs."]
    if runs.search is not None and runs.search is not run:
        loads = next(r for r in runs.search["frames"] if r["section"] == "search" and r["scheme"] == "raw ring")
        text += [f"`--search` is from another run, {time_of(runs.search)} ({checked(runs.search):,} frames checked, none wrong), whose loads took {loads['solver_alone']:.0f} and {loads['renderer_alone']:.0f} µs."]
    if runs.latency is not None and runs.latency is not run:
        text[-1] += f" The section on latency is of a later run, {time_of(runs.latency)}, on another machine of the kind."
    return text


def block_short(runs):
    rows = rows_of(runs.main, "frames")
    ideal = lambda *key: f"{of(rows, *key)['of_ideal']['median']:.2f}"
    text = (f"**In short**: what costs is the switch of the one engine that does graphics and compute. The host that waits takes {ideal('host waits', 1, 1)} times the ideal, one shared buffer with "
            f"semaphores {ideal('raw ring', 1, 1)}, eight buffers {ideal('culv_ring', 8, 1)}, bursts of 16 {ideal('culv_ring', 16, 16)}")
    deep = [r for r in fixed(runs.latency) if (r["depth"], r["burst"]) == (32, 32)]
    if deep:
        text += f", and 32 slots with bursts of 32 {deep[0]['of_ideal']['median']:.2f}"
    return [text + ". Culvert's ring takes what the same calls by hand take."]


def block_frames(runs):
    rows = rows_of(runs.main, "frames")
    cells = [(", ".join(filter(None, (r["scheme"], r["variant"]))), r["depth"], r["burst"], f"{r['us']['median']:.1f} ({r['us']['p10']:.1f}..{r['us']['p90']:.1f})", f"**{r['of_ideal']['median']:.3f}**", f"{r['interval_p99']:.0f}",
              f"{r['hand_over']:.0f}", f"{r['age_p99']:.0f}", f"{r['cpu']:.1f}", interval(r["over_raw"])) for r in rows]
    return [f"Frames of {size(rows[0]['bytes'])}, {rows[0]['us']['n']} runs each; microseconds.", ""] + table(
        ("scheme", "depth", "burst", "us/frame (10 %..90 %)", "of the ideal", "p99 gap", "hand-over", "age p99", "CPU", "over raw (95 % interval)"), cells)


def block_fixed(runs):
    rows = sorted(fixed(runs.latency), key=lambda r: r["age_p99"])
    return table(["depth/burst"] + [f"{r['depth']}/{r['burst']}" for r in rows],
                 [["us/frame"] + [us(r["us"]["median"]) for r in rows], ["age p99, ms"] + [f"{r['age_p99'] / 1e3:.2f}" for r in rows], ["CPU"] + [f"{r['cpu']:.1f}" for r in rows]])


def block_latency(runs):
    cells = []
    for r in chosen(runs.latency):
        bound = r["max_latency_ns"] / 1e3
        other = best(runs.latency, bound)
        cells.append((f"{bound / 1e3:g} ms", f"{r['depth']}/{r['burst']}", f"{r['us']['median']:.1f} ({r['us']['p10']:.1f}..{r['us']['p90']:.1f})",
                      f"{r['age_p99'] / 1e3:.2f} ms, " + ("kept" if r["age_p99"] <= bound else "**not kept**"), f"{r['cpu']:.1f}",
                      f"{other['depth']}/{other['burst']}, {us(other['us']['median'])}" if other else "none keeps it",
                      f"**{r['us']['median'] / other['us']['median']:.3f}**" if other else ""))
    return table(("bound", "chosen", "us/frame (10 %..90 %)", "age p99", "CPU", "best fixed", "chosen over best fixed"), cells)


def block_newest(runs):
    cells, last = [], None
    for m in runs.main["mailbox"]:
        cells.append(("" if m["name"] == last else m["name"], m["side"], f"{m['alone']:.0f}", f"{m['uncoupled']:.0f}", f"{m['rate']:.0f}", f"{m['rate'] / m['alone']:.3f}", f"{m['rate'] / m['uncoupled']:.3f}"))
        last = m["name"]
    return table(("", "side", "alone", "uncoupled", "by the ring", "of alone", "of uncoupled"), cells, 2)


def pairs(run, measurement):
    return [p for p in run["pairs"] if p["measurement"] == measurement]


def both(p, digits):
    return [f"{p[side]['median']:.{digits}f} ({p[side]['p10']:.{digits}f}..{p[side]['p90']:.{digits}f})" for side in ("culvert", "raw")]


def block_copies(runs):
    names = lambda p: "the family for copies (`CULV_VK_QUEUE_COPY`)" if p["variant"].startswith("the family") else "graphics queue"
    return table(("a copy of 64 KiB there and back, microseconds (10 %..90 %)", "Culvert", "raw", "ratio (95 % interval)"),
                 [[names(p)] + both(p, 1) + [interval(p["ratio"])] for p in pairs(runs.main, "copies")])


def block_calls(runs):
    cells = []
    for run in runs.calls:
        for p in pairs(run, "calls"):
            cells.append([time_of(run), p["variant"].replace("burst ", "")] + both(p, 2) + [f"{p['added']['value']:+.2f} ({p['added']['low']:+.2f}..{p['added']['high']:+.2f})", interval(p["ratio"], 3)])
    return table(("run", "burst", "Culvert, µs of CPU a frame (10 %..90 %)", "raw", "added (95 % interval)", "ratio (95 % interval)"), cells)


def block_graphs(runs):
    rows = rows_of(runs.main, "graphs")
    rings = list(collections.OrderedDict.fromkeys((r["depth"], r["burst"]) for r in rows))
    lines = [[text] + [f"{get(of(rows, scheme, *ring)):.1f}" for ring in rings]
             for text, scheme, get in (("culv_ring, by calls", "culv_ring", lambda r: r["us"]["median"]), ("culv_ring, graphs", "culv_ring, graphs", lambda r: r["us"]["median"]),
                                       ("CPU a frame, by calls", "culv_ring", lambda r: r["cpu"]), ("CPU a frame, graphs", "culv_ring, graphs", lambda r: r["cpu"]))]
    return table(["the solver's side by CUDA graphs, us/frame"] + [f"{d}/{b}" for d, b in rings], lines)


def sweep(run, section):
    groups = collections.OrderedDict()
    for r in rows_of(run, section):
        groups.setdefault((r["bytes"], r["solver_wanted"], r["renderer_wanted"]), []).append(r)
    columns = [("host waits", 1, 1), ("staged", 4, 1), ("raw ring", 1, 1), ("culv_ring", 8, 1), ("culv_ring", 16, 16)]
    columns += [key for key in (("in-queue", 1, 1), ("async", 2, 1)) if all(any((r["scheme"], r["depth"], r["burst"]) == key for r in rows) for rows in groups.values())]
    cells = []
    for (count, _, _), rows in groups.items():
        over = [r["over_raw"]["value"] for r in rows if r["over_raw"] is not None]
        cells.append([size(count), f"{rows[0]['solver_alone']:.1f} + {rows[0]['renderer_alone']:.1f}"]
                     + [f"{us(of(rows, *key)['us']['median'])} ({of(rows, *key)['of_ideal']['median']:.3f})" for key in columns] + [f"{max(over, key=lambda v: abs(v - 1)):.4f}"])
    names = {"host waits": "host waits", "staged": "staged, 4", "in-queue": "in-queue"}
    return table(["frame", "solver + renderer, alone"] + [names.get(scheme, f"{scheme} {depth}/{burst}") for scheme, depth, burst in columns] + ["over raw"], cells)


def larger(r):
    return r["us"]["median"] / max(r["solver_alone"], r["renderer_alone"])


def waiting(rows, scheme):
    return next(r for r in rows if r["scheme"] == scheme and r["variant"] == "host waits")


def recording(run):
    return next(p for p in pairs(run, "launches") if p["name"] == "recording a launch")


def block_queues(runs):
    run = runs.queues
    rows = rows_of(run, "frames")
    async_ones = [r for r in rows if r["scheme"] == "async"]
    rings = min((r for r in rows if r["scheme"] == "culv_ring"), key=lambda r: r["us"]["median"], default=None)
    shown = [r for r in rows if (r["scheme"], r["depth"], r["burst"]) == ("raw ring", 1, 1) and r["variant"] is None] + ([rings] if rings else [])
    shown += [r for r in rows if "queue" in r["scheme"] or "async" in r["scheme"] or r["variant"] == "host waits"]
    cells = [(", ".join(filter(None, (r["scheme"], r["variant"]))), f"{r['depth']}/{r['burst']}", f"{r['us']['median']:.1f} ({r['us']['p10']:.1f}..{r['us']['p90']:.1f})", f"**{r['of_ideal']['median']:.3f}**",
              f"{larger(r):.3f}", f"{r['age_p99']:.0f}", f"{r['cpu']:.1f}", interval(r["over_raw"])) for r in dict((id(r), r) for r in shown).values()]
    lines = [f"One run, {run['date'][:10]}, {time_of(run)}: {rows[0]['solver_alone']:.1f} µs of kernel and {rows[0]['renderer_alone']:.1f} µs of drawing, every frame checked.", ""]
    lines += table(("scheme", "depth/burst", "us/frame (10 %..90 %)", "of the sum", "of the larger", "age p99", "CPU", "over raw (95 % interval)"), cells)
    mine, two = of(rows, "in-queue", 1, 1), next(r for r in async_ones if r["depth"] == 2)
    single = {scheme: waiting(rows, scheme)["us"]["median"] for scheme in ("raw ring", "raw in-queue", "in-queue")}
    goals = [("in the renderer's command buffer, one buffer: at most 1.03 of the sum", mine["of_ideal"]["median"] <= 1.03, f"{mine['of_ideal']['median']:.3f} (raw {of(rows, 'raw in-queue', 1, 1)['of_ideal']['median']:.3f})"),
             ("async, two buffers: at most 1.06 of the larger", larger(two) <= 1.06, f"{larger(two):.3f} (raw {larger(of(rows, 'raw async', 2, 1)):.3f})"),
             ("... and at most 0.66 of the sum", two["of_ideal"]["median"] <= 0.66, f"{two['of_ideal']['median']:.3f} (raw {of(rows, 'raw async', 2, 1)['of_ideal']['median']:.3f})"),
             ("a single frame, host waiting: at most 0.56 of CUDA with timelines", single["in-queue"] <= 0.56 * single["raw ring"],
              f"{single['in-queue'] / single['raw ring']:.3f} (raw {single['raw in-queue'] / single['raw ring']:.3f}): {single['in-queue']:.1f} of {single['raw ring']:.1f} µs")]
    latest = runs.launches or run
    if pairs(latest, "launches"):
        p = recording(latest)
        goals.append(("recording a launch: at most 1.03 of the raw call, nothing allocated", p["ratio"]["value"] <= 1.03, f"{interval(p['ratio'], 3)}: {p['culvert']['median']:.3f} and {p['raw']['median']:.3f} µs, {latest['date'][:10]}; nothing was allocated"))
    return lines + [""] + table(("goal", "on this " + run["device"]["name"].replace("NVIDIA ", "")), [(goal, f"{verdict(yes)}: {text}") for goal, yes, text in goals], 2)


WORKS = {"arithmetic": "arithmetic, one wave of blocks that fills every multiprocessor", "blocks": "arithmetic in short blocks, sixteen waves", "short blocks": "arithmetic in still shorter blocks, sixty-four waves", "small": "arithmetic, one block a multiprocessor",
         "memory": "loads from memory, one block a multiprocessor"}


def block_overlap(runs):
    run = runs.overlap
    cells, goals = [], []
    for work in WORKS:
        rows = [r for section in ("frames", "overlap") for r in rows_of(run, section) if r.get("work", "arithmetic") == work]
        if not rows:
            continue
        mine, raw, two, raw_two = (of(rows, *key) for key in (("in-queue", 1, 1), ("raw in-queue", 1, 1), ("async", 2, 1), ("raw async", 2, 1)))
        single = {scheme: waiting(rows, scheme)["us"]["median"] for scheme in ("raw ring", "raw in-queue", "in-queue")}
        cells.append([WORKS[work], f"{mine['solver_alone']:.1f} + {mine['renderer_alone']:.1f}", us(of(rows, "raw ring", 1, 1)["us"]["median"])]
                     + [f"{us(r['us']['median'])} ({r['of_ideal']['median']:.3f}; raw {other['of_ideal']['median']:.3f})" for r, other in ((mine, raw), (two, raw_two))]
                     + [f"{larger(two):.3f}", f"{single['in-queue']:.1f} of {single['raw ring']:.1f}"])
        of_single = single["in-queue"] / single["raw ring"]
        goals.append([work] + [f"{verdict(yes)}: {value:.3f}" for yes, value in ((mine["of_ideal"]["median"] <= 1.03, mine["of_ideal"]["median"]), (larger(two) <= 1.06, larger(two)),
                                                                                (two["of_ideal"]["median"] <= 0.66, two["of_ideal"]["median"]), (of_single <= 0.56, of_single))])
    checked_here = sum(r["checked"] for r in run["frames"] if r["section"] == "overlap")
    return [f"One run on an {run['device']['name']} ({run['device']['vulkan_driver']}), {run['date'][:10]}, {time_of(run)}; microseconds a frame (of the sum). {checked_here:,} frames of these rows were checked, none was wrong.", ""] + table(
        ("the solver's work", "solver + renderer, alone", "raw ring 1/1", "in-queue 1/1", "async 2/1", "... of the larger", "a single frame: in-queue, of CUDA with timelines"), cells) + [""] + table(
        ("goal", "in-queue at most 1.03 of the sum", "async 2/1 at most 1.06 of the larger", "... and 0.66 of the sum", "a single frame at most 0.56"), goals, 5)


def block_launches(runs):
    run = runs.launches
    found = [p for p in pairs(run, "launches") if p["variant"].endswith(" launches")]
    names = ("stream", "graph", "recorded once", "recorded anew")
    by = {(p["variant"], p["name"]): p for p in found}
    def cell(p):
        return "" if p is None else f"{us(p['raw']['median'])}" if p["culvert"] is None else f"{us(p['culvert']['median'])} (raw {us(p['raw']['median'])})"
    cells = [[variant.replace(" launches", "")] + [cell(by.get((variant, name))) for name in names] for variant in collections.OrderedDict.fromkeys(p["variant"] for p in found)]
    p = recording(run)
    return [f"One run, {run['date'][:10]}, {time_of(run)}; microseconds a frame, the host waits for each.", ""] + table(
        ["launches a frame", "CUDA stream", "CUDA graph (raw)", "command buffer, recorded once", "... recorded anew"], cells) + [
        "", f"Recording a launch took {p['culvert']['median']:.3f} µs of CPU by Culvert and {p['raw']['median']:.3f} by the raw call."]


def block_search(runs):
    rows = rows_of(runs.search, "search")
    rings = list(collections.OrderedDict.fromkeys((r["depth"], r["burst"]) for r in rows))
    lines, at = [], None
    for r in rows:
        # Parts of the run begin with the plain ring; the later ones' are what runs of the same differ by.
        if at is None or at[0] != r["variant"] or (r["depth"], r["burst"]) in at[1]:
            at = (r["variant"], {})
            lines.append(at)
        at[1][r["depth"], r["burst"]] = r["of_ideal"]["median"]
    def cell(value):
        return f"{value:.2f}" if value >= 10 else f"{value:.3f}"
    cells, plain = [], 0
    for name, values in lines:
        plain += name is None
        text = "the raw ring again" if name is None and plain > 1 else VARIANTS.get(name) or name.replace(" of the queue", "")
        cells.append([text] + [cell(values[ring]) if ring in values else "" for ring in rings])
    ideals = [r["us"]["median"] / r["of_ideal"]["median"] for r in rows]
    return [f"`--search` ({time_of(runs.search)}), each thing by itself on the raw ring, {rows[0]['us']['n']} runs each; of the ideal of the same part of the run ({min(ideals):.1f} to {max(ideals):.1f} µs). Rows up to "
            "the next one of the plain ring took turns with that above them; what those of the plain ring differ by, chance alone makes.", ""] + table(["what"] + [f"{d}/{b}" for d, b in rings], cells)


def verdict(yes):
    return "**yes**" if yes else "**no**"


def goal_raw(runs):
    rows = [r for r in runs.main["frames"] if r["over_raw"] is not None]
    values = [r["over_raw"]["value"] for r in rows]
    low, high = min(r["over_raw"]["low"] for r in rows), max(r["over_raw"]["high"] for r in rows)
    return f"{verdict(low >= 0.99 and high <= 1.01)}: {len(rows)} ratios from {min(values):.4f} to {max(values):.4f}, all intervals within {low:.4f}..{high:.4f}"


def goal_latency(runs):
    found = [(r, best(runs.latency, r["max_latency_ns"] / 1e3)) for r in chosen(runs.latency)]
    ratios = [r["us"]["median"] / o["us"]["median"] for r, o in found if o]
    kept = all(r["age_p99"] <= r["max_latency_ns"] / 1e3 for r, _ in found)
    return (f"{verdict(kept and max(ratios) <= 1.03)}: {', '.join(f'{v:.3f}' for v in ratios)} at {', '.join(f'''{r['max_latency_ns'] / 1e6:g}''' for r, _ in found)} ms; "
            + ("every bound kept" if kept else "not every bound kept"))


def goal_depth(runs):
    mine = min((r for section in ("frames", "graphs") for r in rows_of(runs.main, section) if r["depth"] == 8), key=lambda r: r["of_ideal"]["median"])
    text = f"{mine['of_ideal']['median']:.3f} ({mine['scheme']}, {mine['depth']}/{mine['burst']})"
    if runs.search is not None:
        other = min((r for r in rows_of(runs.search, "search") if r["depth"] == 8), key=lambda r: r["of_ideal"]["median"])
        if other["of_ideal"]["median"] >= 1.11 and mine["of_ideal"]["median"] >= 1.11:
            return f"**it finds none**: {text} at the least here, {other['of_ideal']['median']:.3f} at the least in the search"
    return f"{verdict(mine['of_ideal']['median'] < 1.11)}: {text}"


def goal_calls(runs):
    many = lambda run: f"{', '.join(f'''{p['culvert']['median']:.1f}''' for p in pairs(run, 'calls'))} µs"
    bursts = ", ".join(p["variant"].replace("burst ", "") for p in pairs(runs.main, "calls"))
    over = [f"with bursts of {p['variant'].replace('burst ', '')} the calls by hand alone took {p['raw']['median']:.1f}" for p in pairs(runs.main, "calls") if p["culvert"]["median"] > 8]
    all_in = not over
    return (f"{verdict(all_in) if all_in else '**not in this run**'}: {many(runs.main)} with bursts of {bursts}" + (f" ({'; '.join(over)})" if over else "")
            + "".join(f"; {many(run)} at {time_of(run)}" for run in runs.calls if run is not runs.main))


def goal_two_percent(runs):
    found = pairs(runs.main, "calls")
    return (f"{verdict(all(p['ratio']['value'] <= 1.02 for p in found))}: {', '.join(f'''{p['ratio']['value']:.2f}''' for p in found)} with bursts of "
            f"{', '.join(p['variant'].replace('burst ', '') for p in found)}: {', '.join(f'''{p['added']['value']:+.2f}''' for p in found)} µs a frame")


def goal_copy(runs):
    p = next(p for p in pairs(runs.main, "copies") if p["variant"].startswith("the family"))
    return f"{verdict(p['culvert']['median'] <= 25)}: {p['culvert']['median']:.1f} µs (median; 10 %..90 % {p['culvert']['p10']:.1f}..{p['culvert']['p90']:.1f})"


def goal_newest(runs):
    fast = [m for m in runs.main["mailbox"] if "period" in m["name"] and not m["name"].startswith(f"the {m['side']}")]
    slow = [m for m in runs.main["mailbox"] if "period" in m["name"] and m["name"].startswith(f"the {m['side']}")]
    work = collections.OrderedDict()
    for m in runs.main["mailbox"]:
        if "period" not in m["name"]:
            work.setdefault(m["name"], []).append(f"{m['side']} {m['rate'] / m['uncoupled']:.3f}")
    each = listed([f"the {m['side']} {m['rate']:.0f} of {m['uncoupled']:.0f} ({m['rate'] / m['uncoupled']:.3f}; alone {m['alone']:.0f})" for m in fast])
    return (f"where the other keeps a period ten times as long, {each} frames a second of running uncoupled; the slow side {listed([f'''{m['rate'] / m['uncoupled']:.3f}''' for m in slow])}. "
            "**Not** of running alone, since they share the GPU. Where one side's work takes ten times as long, of uncoupled: "
            + "; ".join(f"{name.replace(' takes ten times as long', '')}: {', '.join(sides)}" for name, sides in work.items()))


def long_rows(run):
    return [r for r in run["frames"] if r["frames"] >= 1000000 and r["checked"] >= 1000000]


def block_million(runs):
    cells = [[r["scheme"], f"{r['depth']}/{r['burst']}", size(r["bytes"]), f"{r['checked']:,}", r["wrong"], us(r["us"]["median"]), f"{run['device']['name']}, {run['date'][:10]}, {time_of(run)}"] for run in runs.long for r in long_rows(run)]
    return table(("scheme", "depth/burst", "a frame", "frames checked", "wrong", "us/frame of those timed", "on"), cells)


def goal_million(runs):
    long_ones = [r for run in runs.long for r in long_rows(run)]
    if long_ones:
        by_ring = any(r["scheme"] == "culv_ring" for r in long_ones)
        return ("**yes**: " + listed([f"{r['checked']:,} by {r['scheme']}, {r['depth']}/{r['burst']}, frames of {size(r['bytes'])}" for r in long_ones]) + "; none wrong"
                + ("" if by_ring else ". `culv_ring` has not run so many on hardware"))
    return "**not run on hardware**: " + listed([f"{checked(run):,} at {time_of(run)}" for run in runs.all if checked(run)]) + ", and 10,000 by `library-vulkan-ring.many`; none wrong"


def block_goals(runs):
    return table(("goal", f"on this {runs.main['device']['name'].replace('NVIDIA ', '')}"), [
        ("at every depth and burst within 1 % of the raw calls", goal_raw(runs)),
        ("`max_latency` within 3 % of the best fixed choice under the bound", goal_latency(runs)),
        ("depth 8 below 1.11 of the ideal, if the search finds a way", goal_depth(runs)),
        ("CPU in Culvert's calls at most 8 µs a frame", goal_calls(runs)),
        ("... and within 2 % of the raw calls", goal_two_percent(runs)),
        ("a copy through the transfer queue at most 25 µs, there and back", goal_copy(runs)),
        ("newest: each side at its full speed while the other is ten times slower", goal_newest(runs)),
        ("a million frames, checked", goal_million(runs))], 2)


BLOCKS = {"run": block_run, "short": block_short, "frames": block_frames, "fixed": block_fixed, "latency": block_latency, "newest": block_newest, "copies": block_copies, "calls": block_calls,
          "graphs": block_graphs, "queues": block_queues, "million": block_million, "overlap": block_overlap, "launches": block_launches, "sizes": lambda runs: sweep(runs.main, "sizes"), "loads": lambda runs: sweep(runs.main, "loads"), "search": block_search, "goals": block_goals}
NEEDS = {"graphs": ("graphs",), "sizes": ("sizes",), "loads": ("loads",)}


class Runs:
    def __init__(self, runs):
        self.all = runs
        self.long = [run for run in runs if long_rows(run)]
        usual = [run for run in runs if not long_rows(run)]
        self.main = next((run for run in usual if rows_of(run, "frames")), None)
        self.latency = max((run for run in runs if fixed(run) and chosen(run)), key=lambda run: run["date"], default=None)
        self.search = next((run for run in runs if rows_of(run, "search")), None)
        self.calls = [run for run in runs if pairs(run, "calls")]
        self.queues = max((run for run in usual if any(r["scheme"] == "in-queue" for r in rows_of(run, "frames"))), key=lambda run: run["date"], default=None)
        self.overlap = max((run for run in runs if rows_of(run, "overlap")), key=lambda run: run["date"], default=None)
        self.launches = max((run for run in runs if pairs(run, "launches")), key=lambda run: run["date"], default=None)

    def has(self, name):
        if name == "search":
            return self.search is not None
        if name == "queues":
            return self.queues is not None
        if name == "overlap":
            return self.overlap is not None
        if name == "million":
            return bool(self.long)
        if name == "launches":
            return self.launches is not None
        if self.main is None:
            return False
        if name in ("latency", "fixed", "short"):
            return self.latency is not None
        if name == "newest":
            return bool(self.main["mailbox"])
        if name in ("copies", "calls"):
            return bool(pairs(self.main, name))
        if name == "goals":
            return all(self.has(other) for other in ("latency", "graphs", "newest", "copies", "calls"))
        return all(rows_of(self.main, section) for section in NEEDS.get(name, ()))


output = MEASURED / "performance.md"


def add(parser):
    parser.add_argument("results", type=pathlib.Path, nargs="+")


def look(run, path):
    if run["quick"] or run["validation"]:
        raise Bad(f"{path}: of a run with --quick or --validation, whose times mean nothing")
    Runs([run])


def make(arguments):
    runs = Runs([run_of(text, path, ("culvert-bench",), lambda run, path=path: look(run, path))
                 for path in arguments.results for _, text in texts(path, ("frames.json",))])
    page = arguments.output.read_text()
    names = [name for _, name, _ in BLOCK.findall(page)]
    unknown = [name for name in names if name not in BLOCKS]
    if unknown or not names:
        raise Bad(f"{arguments.output}: " + (f"there is no block {unknown[0]}" if unknown else "nothing in it is marked"))
    try:
        made = {name: "\n".join(BLOCKS[name](runs)) for name in names if runs.has(name)}
    except (StopIteration, KeyError, TypeError) as error:
        raise Bad(f"{type(error).__name__}: {error}") from error
    if len(made) < len(names):
        print("not in these results: " + ", ".join(name for name in names if name not in made))
    return BLOCK.sub(lambda m: f"{m[1]}\n{made[m[2]]}\n\n{m[3]}" if m[2] in made else m[0], page)
