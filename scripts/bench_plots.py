"""Plots of the JSON of culvert-bench, culvert-bench-memory, culvert-bench-kinds, culvert-bench-gl, culvert-bench-space and culvert-bench-rdma, called by scripts/bench-plots.

usage: bench_plots.py RESULTS.json DIRECTORY

Writes one SVG for each section that the results have. The same results give the same bytes.
SPDX-License-Identifier: MIT
"""
import collections
import json
import math
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "culvert", "svg.fonttype": "none", "font.size": 9, "axes.grid": True,
                            "grid.alpha": 0.3, "figure.figsize": (7.2, 4.2), "axes.spines.top": False,
                            "axes.spines.right": False, "axes.axisbelow": True})
import matplotlib.pyplot as plt  # noqa: E402
import matplotlib.ticker  # noqa: E402

COLORS = {"raw ring": "#b05a00", "culv_ring": "#0060a8", "host waits": "#777777", "staged": "#a02060",
          "in-queue": "#208020", "async": "#70b000"}


def save(figure, directory, name, run):
    device = run["device"]
    figure.text(0.995, 0.005, f"{device['name']}, CUDA {device['cuda_version']}, {run['date'][:10]}", ha="right",
                fontsize=6, color="#666666")
    path = directory / f"{name}.svg"
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    print(path)


def rows_of(run, section):
    return [r for r in run["frames"] if r["section"] == section and r["left_out"] is None and not r["scheme"].endswith("alone")]


def bytes_text(count):
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:g} {unit}"
    return f"{count} B"


def plain_ticks(axis):
    """1, 10, 100 instead of powers."""
    axis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_formatter(matplotlib.ticker.NullFormatter())


def lengths(axes, bars):
    """What a bar is, beside it."""
    axes.bar_label(bars, [f"{b.get_width():,.0f}" if b.get_width() >= 100 else f"{b.get_width():.3g}" for b in bars], padding=2, fontsize=6)


def label_points(figure, axes, points):
    """Texts beside points, none over another text or point. points: x, y, text, color."""
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    figure.canvas.draw()
    scale = 72 / figure.dpi
    taken = [axes.transData.transform((x, y)) * scale for x, y, _, _ in points]
    boxes = [(x - 3, y - 3, x + 3, y + 3) for x, y in taken]
    places = [(dx, dy) for distance in (4, 9, 15, 22, 30) for dx, dy in ((distance, 2), (distance, -8), (-distance - 14, 2), (-distance - 14, -8), (-6, distance), (-6, -distance - 5))]
    for (x, y, text, color), (px, py) in zip(points, taken):
        width = 3.6 * len(text)
        for dx, dy in places:
            box = (px + dx, py + dy, px + dx + width, py + dy + 6)
            if all(box[2] < b[0] or b[2] < box[0] or box[3] < b[1] or b[3] < box[1] for b in boxes):
                break
        boxes.append(box)
        far = abs(dx) + abs(dy) > 22
        axes.annotate(text, (x, y), fontsize=6, xytext=(dx, dy), textcoords="offset points", color=color,
                      arrowprops={"arrowstyle": "-", "linewidth": 0.4, "color": "#aaaaaa", "shrinkA": 0, "shrinkB": 2} if far else None)


def plotted(rows):
    """Without the raw twins of what lies on one line with them, and without hosts that wait."""
    return [r for r in rows if r["variant"] is None and r["scheme"] not in ("raw in-queue", "raw async")]


def frames(run, directory):
    rows = [r for r in plotted(rows_of(run, "frames")) if r["scheme"] != "async" or r["depth"] == 2]
    if not rows:
        return
    figure, axes = plt.subplots()
    lines = collections.OrderedDict()
    for r in rows:
        if r["scheme"] in ("raw ring", "culv_ring"):
            lines.setdefault((r["burst"], r["scheme"]), []).append(r)
        else:
            axes.axhline(r["of_ideal"]["median"], color=COLORS[r["scheme"]], linestyle=":", label=r["scheme"])
    bursts = sorted({burst for burst, _ in lines})
    for (burst, scheme), points in lines.items():
        points.sort(key=lambda r: r["depth"])
        axes.plot([r["depth"] for r in points], [r["of_ideal"]["median"] for r in points], color=COLORS[scheme],
                  marker="osD^v<>"[bursts.index(burst) % 7], markersize=7 if scheme == "raw ring" else 4,
                  fillstyle="none" if scheme == "raw ring" else "full", linewidth=1, label=f"{scheme}, burst {burst}")
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set_xscale("log", base=2)
    depths = sorted({r["depth"] for r in rows})
    axes.set_xticks(depths, [str(d) for d in depths])
    axes.set_xlabel("depth (slots)")
    axes.set_ylabel("time of a frame over solver + renderer alone")
    first = rows[0]
    axes.set_title(f"Solver {first['solver_alone']:.0f} us, renderer {first['renderer_alone']:.0f} us, frames of "
                   f"{bytes_text(first['bytes'])}")
    axes.legend(fontsize=7, ncols=2)
    save(figure, directory, "frames", run)


def latency(run, directory):
    rows = rows_of(run, "latency")
    if not rows:
        return
    figure, axes = plt.subplots()
    fixed = [r for r in rows if r["max_latency_ns"] == 0]
    chosen = [r for r in rows if r["max_latency_ns"] != 0]
    axes.scatter([r["age_p99"] / 1e3 for r in fixed], [r["us"]["median"] for r in fixed], s=18, color="#777777",
                 label="fixed depth and burst")
    axes.scatter([r["age_p99"] / 1e3 for r in chosen], [r["us"]["median"] for r in chosen], s=40, marker="*",
                 color=COLORS["culv_ring"], label="max_latency: chosen by the ring")
    for r in chosen:
        axes.axvline(r["max_latency_ns"] / 1e6, color=COLORS["culv_ring"], linewidth=0.5, linestyle=":")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
    axes.set_xlabel("from the solver's beginning to the drawing's end, 99th percentile, ms (dotted: the bounds)")
    axes.set_ylabel("us a frame")
    axes.set_title("Latency against time a frame (depth/burst)")
    axes.legend(fontsize=7, loc="upper right")
    label_points(figure, axes, [(r["age_p99"] / 1e3, r["us"]["median"], f"{r['depth']}/{r['burst']}",
                                 "#555555" if r["max_latency_ns"] == 0 else COLORS["culv_ring"])
                                for r in chosen + fixed if r["max_latency_ns"] == 0
                                or not any(o["age_p99"] < 1.01 * r["age_p99"] and r["age_p99"] < 1.01 * o["age_p99"] and (o["depth"], o["burst"]) == (r["depth"], r["burst"])
                                           for o in fixed)])
    save(figure, directory, "latency", run)


def name_of(r):
    return r["scheme"] if r["scheme"] in ("host waits", "staged", "in-queue") else f"{r['scheme']}, {r['depth']}/{r['burst']}"


def style_of(r):
    return {"color": COLORS[r["scheme"]], "linestyle": "-" if r["burst"] == 1 else "--", "markersize": 8 if r["scheme"] == "raw ring" else 4,
            "fillstyle": "none" if r["scheme"] == "raw ring" else "full", "marker": "s" if r["depth"] == 1 else "o"}


def sizes(run, directory):
    rows = plotted(rows_of(run, "sizes"))
    if not rows:
        return
    figure, axes = plt.subplots()
    lines = collections.OrderedDict()
    for r in rows:
        lines.setdefault(name_of(r), []).append(r)
    for name, points in lines.items():
        axes.plot([r["bytes"] for r in points], [r["us"]["median"] for r in points], label=name, linewidth=1,
                  **style_of(points[0]))
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = sorted({r["bytes"] for r in rows})
    axes.set_xticks(ticks, [bytes_text(t) for t in ticks])
    axes.set_xlabel("size of a frame")
    plain_ticks(axes.yaxis)
    axes.set_ylabel("us a frame")
    axes.set_title("Sizes (depth/burst)")
    axes.legend(fontsize=7)
    save(figure, directory, "sizes", run)


def loads(run, directory):
    rows = plotted(rows_of(run, "loads"))
    if not rows:
        return
    figure, axes = plt.subplots()
    groups = list(collections.OrderedDict.fromkeys((r["solver_wanted"], r["renderer_wanted"]) for r in rows))
    lines = collections.OrderedDict()
    for r in rows:
        lines.setdefault(name_of(r), []).append(r)
    width = 0.8 / len(lines)
    for i, (name, points) in enumerate(lines.items()):
        at = [groups.index((r["solver_wanted"], r["renderer_wanted"])) + (i - len(lines) / 2 + 0.5) * width for r in points]
        first = points[0]
        color = "#603000" if (first["scheme"], first["depth"]) == ("raw ring", 1) else COLORS[first["scheme"]]
        axes.bar(at, [r["of_ideal"]["median"] for r in points], width, label=name, edgecolor="white", linewidth=0.3,
                 color=color, alpha=1.0 if first["burst"] == 1 else 0.55)
    axes.axhline(1.0, color="black", linewidth=0.8)
    alone = {(r["solver_wanted"], r["renderer_wanted"]): f"{r['solver_alone']:.0f} + {r['renderer_alone']:.0f}" for r in rows}
    axes.set_xticks(range(len(groups)), [alone[group] for group in groups])
    axes.set_xlabel("solver + renderer, alone, us")
    axes.set_ylabel("time of a frame over both alone")
    axes.set_title("Loads (depth/burst)")
    axes.legend(fontsize=7)
    save(figure, directory, "loads", run)


def search(run, directory):
    rows = rows_of(run, "search")
    if not rows:
        return
    rings = list(collections.OrderedDict.fromkeys((r["depth"], r["burst"]) for r in rows))
    found, last = collections.defaultdict(list), ""
    names = []
    for r in rows:
        name = r["variant"] or "plain"
        if name.startswith("the same, "):
            name = f"... {last}, {name[len('the same, '):]}"
        else:
            last = name.replace(" global priority of the queue", "")
        if name not in names:
            names.append(name)
        found[name, (r["depth"], r["burst"])].append(100 * (r["of_ideal"]["median"] - 1))
    figure, axes = plt.subplots(figsize=(7.2, 0.3 * len(names) + 1.4))
    for i, ring in enumerate(rings):
        points = [(min(found[name, ring]), at) for at, name in enumerate(names) if found[name, ring]]
        axes.plot([x for x, _ in points], [y for _, y in points], "osD^v<>"[i % 7], markersize=5,
                  label=f"{ring[0]}/{ring[1]}")
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xscale("log")
    plain_ticks(axes.xaxis)
    ticks = [t for t in (2, 4, 7, 10, 15, 20, 30, 50, 100, 200, 500, 1000, 2000, 4000) if t <= 1.1 * max(x for points in found.values() for x in points)]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks], fontsize=7)
    axes.minorticks_off()
    axes.set_xlabel("per cent of a frame above solver + renderer alone (depth/burst)")
    axes.legend(fontsize=7, loc="upper right")
    save(figure, directory, "search", run)


# culvert-bench-memory ------------------------------------------------------------------------------------------------

MEMORY_COLORS = {"culv_vector": "#0060a8", "raw VMM": "#b05a00", "cuMemAlloc + copy": "#a02060", "cuMemAlloc": "#a02060",
                 "managed + copy": "#999999", "managed + copy + prefetch": "#444444", "managed + prefetch": "#444444"}


def times_of(run, section, what=None):
    return [r for r in run["times"] if r["section"] == section and what in (None, r["what"])]


def size_axis(axes, sizes, label):
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [bytes_text(s) for s in sizes], rotation=45, ha="right")
    axes.set_xlabel(label)


def memory_style(scheme, variant):
    return {"color": MEMORY_COLORS.get(scheme, "#000000"), "marker": "s" if "moves" in variant else "o", "markersize": 7 if scheme == "raw VMM" else 4,
            "fillstyle": "none" if scheme == "raw VMM" else "full", "linestyle": "--" if "moves" in variant else "-", "linewidth": 1}


def doublings(run, directory):
    rows = times_of(run, "grow", "doubling")
    if not rows:
        return
    limit = rows[0]["variant"].partition(", ")[0]  # with --large there are others
    for name, title, wanted in (("memory-grow", "Each doubling, nothing reserved", lambda v: v.startswith("not reserved")),
                                ("memory-reserved", "Each doubling, everything reserved at first", lambda v: v == "reserved")):
        figure, axes = plt.subplots()
        lines = collections.OrderedDict()
        for r in rows:
            of, _, variant = r["variant"].partition(", ")
            if of == limit and wanted(variant):
                lines.setdefault((r["scheme"], variant), []).append(r)
        for (scheme, variant), points in lines.items():
            label = scheme + (", moves" if "moves" in variant else "")
            axes.plot([r["bytes"] for r in points], [r["us"]["median"] for r in points], label=label, **memory_style(scheme, variant))
        axes.set_yscale("log")
        plain_ticks(axes.yaxis)
        size_axis(axes, sorted({r["bytes"] for points in lines.values() for r in points}), "size after the doubling")
        axes.set_ylabel("us, host")
        axes.set_title(title)
        axes.legend(fontsize=7)
        save(figure, directory, name, run)


def peaks(run, directory):
    if not run["memory"]:
        return
    limit = run["memory"][0]["variant"]
    figure, axes = plt.subplots()
    lines = collections.OrderedDict()
    for m in run["memory"]:
        scheme, _, variant = m["scheme"].partition(", ")
        if m["variant"] == limit and "A/A" not in scheme and "moves" not in variant:
            lines.setdefault((scheme, variant), []).append(m)
    for (scheme, variant), points in lines.items():
        points = [m for m in points if m["peak"] > 0]  # managed memory may be on the host
        style = memory_style(scheme, variant) | {"linestyle": "--" if variant == "reserved" else "-"}
        axes.plot([m["bytes"] for m in points], [m["peak"] / 2**20 for m in points], label=f"{scheme}, {variant}", **style)
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
    size_axis(axes, sorted({m["bytes"] for points in lines.values() for m in points}), "size after the doubling")
    axes.set_ylabel("device memory in use at the most, MiB")
    axes.set_title("Memory at the most within a doubling (cuMemGetInfo)")
    axes.legend(fontsize=7)
    save(figure, directory, "memory-peak", run)


def chunks(run, directory):
    rows = times_of(run, "chunks")
    if not rows:
        return
    policies = list(collections.OrderedDict.fromkeys(r["variant"] for r in rows))
    found = {(r["scheme"], r["variant"], r["what"]): r for r in rows}
    figure, axes = plt.subplots(figsize=(7.2, 0.55 * len(policies) + 1.4))
    for i, (scheme, what, color) in enumerate((("culv_vector", "all grow calls", "#0060a8"), ("raw VMM", "all grow calls", "#b05a00"),
                                               ("culv_vector", "unmap and release", "#80b0d8"), ("raw VMM", "unmap and release", "#e0b080"))):
        lengths(axes, axes.barh([at + (i - 1.5) * 0.2 for at in range(len(policies))], [found[scheme, p, what]["us"]["median"] / 1e3 for p in policies], 0.19,
                                color=color, label=f"{scheme}, {what}"))
    labels = [f"{p.replace('growth_percent', 'growth')}\n{found['culv_vector', p, 'unmap and release']['count']} chunks" for p in policies]
    axes.set_yticks(range(len(policies)), labels)
    axes.invert_yaxis()
    axes.set_xscale("log")
    plain_ticks(axes.xaxis)
    axes.set_xlim(10 ** math.floor(math.log10(min(r["us"]["median"] / 1e3 for r in rows if r["what"] in ("all grow calls", "unmap and release")))),
                  2 * max(r["us"]["median"] / 1e3 for r in rows))
    axes.set_xlabel("ms, host")
    axes.set_title(f"{rows[0]['count']} grow calls to {bytes_text(rows[0]['bytes'])}")
    axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.4, -0.2), ncols=2)
    save(figure, directory, "memory-chunks", run)


def freed(run, directory):
    rows = times_of(run, "free")
    if not rows:
        return
    names = list(collections.OrderedDict.fromkeys((r["scheme"], r["variant"]) for r in rows))
    figure, axes = plt.subplots(figsize=(7.2, 0.45 * len(names) + 1.4))
    for i, (wanted, color, label) in enumerate(((lambda w: w == "call", "#0060a8", "call"), (lambda w: w.startswith("cu"), "#80b0d8", "and then (collect, synchronize)"),
                                                (lambda w: w == "other stream still", "#b05a00", "other stream still at the longest"))):
        points = [(at, r["us"]["median"]) for at, name in enumerate(names) for r in rows
                  if (r["scheme"], r["variant"]) == name and wanted(r["what"])]
        lengths(axes, axes.barh([at + (i - 1) * 0.27 for at, _ in points], [us for _, us in points], 0.26, color=color, label=label))
    axes.set_yticks(range(len(names)), [scheme + (f", {variant}" if variant else "") for scheme, variant in names])
    axes.invert_yaxis()
    axes.set_xscale("log")
    plain_ticks(axes.xaxis)
    axes.set_xlim(1, 2 * max(r["us"]["median"] for r in rows if r["what"] != "other stream's row"))
    axes.set_xlabel("us")
    axes.set_title(f"{bytes_text(rows[0]['bytes'])} given back beside another stream's kernels")
    axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.4, -0.2), ncols=2)
    save(figure, directory, "memory-free", run)


# culvert-bench-kinds -------------------------------------------------------------------------------------------------

def kinds_of(run, directory, section, patterns):
    """A panel for each pattern: a pair of bars, CUDA's and Vulkan's, for each kind of memory, in the largest size."""
    rows = [r for r in run["rates"] if r["section"] == section]
    if not rows:
        return
    largest = max(r["bytes"] for r in rows)
    rows = [r for r in rows if r["bytes"] == largest]
    schemes = list(collections.OrderedDict.fromkeys(r["scheme"] for r in rows))
    figure, panels = plt.subplots(1, len(patterns), figsize=(7.2, 0.34 * len(schemes) + 1.3), sharey=True)
    for axes, pattern in zip(panels, patterns):
        mine = [r for r in rows if r["pattern"] == pattern]
        for i, (side, color) in enumerate((("CUDA", "#4a8a00"), ("Vulkan", "#a02060"))):
            points = [(schemes.index(r["scheme"]), r["rate"]["median"]) for r in mine if r["side"] == side]
            lengths(axes, axes.barh([at + (i - 0.5) * 0.4 for at, _ in points], [value for _, value in points], 0.38, color=color, label=side))
        axes.set_xlim(0, 1.25 * max([r["rate"]["median"] for r in mine] + [1e-9]))
        axes.set_title(pattern, fontsize=9)
        axes.set_xlabel(mine[0]["unit"] if mine else "")
        axes.tick_params(axis="x", labelsize=6)
    panels[0].set_yticks(range(len(schemes)), schemes, fontsize=7)
    panels[0].invert_yaxis()
    panels[-1].legend(fontsize=7, loc="lower right")
    figure.suptitle(f"{section} of {bytes_text(largest)}", fontsize=9)
    save(figure, directory, f"memory-kinds-{section}", run)


def kinds_of_buffers(run, directory):
    kinds_of(run, directory, "buffers", ("random", "stream, noise", "stream, constant"))


def kinds_of_images(run, directory):
    kinds_of(run, directory, "images", ("sampled, random", "surface, random", "sampled, stream"))


# culvert-bench-rdma --------------------------------------------------------------------------------------------------

def look_ups(run, directory):
    """A line for each structure and number of threads: ns a look-up by the number of registrations."""
    rows = [r for r in run["times"] if r["section"] == "look-ups"]
    if not rows:
        return
    colors = {"Culvert, by notification": "#4a8a00", "Culvert, by BUFFER_ID": "#a02060", "UCX's structure": "#2060a0",
              "the driver's BUFFER_ID alone": "#999999"}
    figure, axes = plt.subplots()
    lines = collections.OrderedDict()
    for r in rows:
        lines.setdefault((r["scheme"], r["threads"]), []).append(r)
    fewest = min(threads for _, threads in lines)
    for (scheme, threads), points in lines.items():
        axes.plot([r["entries"] for r in points], [r["ns"]["median"] for r in points], color=colors.get(scheme, "#000000"), marker="o", markersize=3,
                  linestyle="-" if threads == fewest else "--", linewidth=1, label=f"{scheme}, {threads} thread{'s' if threads > 1 else ''}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    plain_ticks(axes.yaxis)
    axes.set_xlabel("registrations")
    axes.set_ylabel("ns, a look-up and its put")
    axes.set_title("Look-ups in the registration cache")
    axes.legend(fontsize=6)
    save(figure, directory, "rdma-look-ups", run)


# culvert-bench-gl ----------------------------------------------------------------------------------------------------

def gl_frames(run, directory):
    """A panel for each size: a bar for each way and flow, beside what both sides take alone."""
    rows = [r for r in run["frames"] if r["left_out"] is None]
    sizes_of = sorted({r["bytes"] for r in rows})
    if not sizes_of:
        return
    names = list(collections.OrderedDict.fromkeys((r["way"], r["depth"], r["burst"]) for r in rows))
    colors = {"memory": "#0060a8", "register": "#b05a00", "staged": "#a02060"}
    figure, panels = plt.subplots(1, len(sizes_of), figsize=(7.2, 0.3 * len(names) + 1.5), sharey=True, squeeze=False)
    for axes, count in zip(panels[0], sizes_of):
        mine = {(r["way"], r["depth"], r["burst"]): r for r in rows if r["bytes"] == count}
        points = [(i, name[0], mine[name]["us"]["median"]) for i, name in enumerate(names) if name in mine]
        lengths(axes, axes.barh([i for i, _, _ in points], [us for _, _, us in points], 0.7, color=[colors[way] for _, way, _ in points]))
        one = next(iter(mine.values()))
        axes.axvline(one["cuda_alone"] + one["gl_alone"], color="black", linewidth=0.8, linestyle=":")
        axes.set_xlim(0, 1.25 * max(us for _, _, us in points))
        axes.set_title(bytes_text(count), fontsize=9)
        axes.set_xlabel("us a frame")
        axes.tick_params(axis="x", labelsize=6)
    panels[0][0].set_yticks(range(len(names)), [f"{way} {depth}/{burst}" for way, depth, burst in names], fontsize=7)
    panels[0][0].invert_yaxis()
    figure.suptitle("CUDA to OpenGL by way and depth/burst (dotted: both sides alone)", fontsize=9)
    save(figure, directory, "gl-frames", run)


# culvert-bench-space -------------------------------------------------------------------------------------------------

def space(run, directory):
    """Beside each other: the frames of forest in both modes by what they are made of, and a chunk by Culvert and by the raw calls."""
    facts = {(f["variant"], f["name"]): f["value"] for f in run["facts"] if f["section"] == "forest"}
    sizes_of = list(collections.OrderedDict.fromkeys(variant.split()[0] for variant, _ in facts))
    commits = [r for r in run["results"] if r["measurement"] == "commit"]
    if not sizes_of or not commits:
        return
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 0.34 * 2 * len(sizes_of) + 1.8))
    modes = [(count, mode) for count in sizes_of for mode in ("one", "copy")]
    starts = [0.0] * len(modes)
    for part, color in (("building", "#0060a8"), ("copying and patching", "#a02060"), ("drawing", "#208020")):
        widths = [facts[f"{count} particles, mode {mode}", f"of it {part}"] for count, mode in modes]
        left.barh(range(len(modes)), widths, 0.7, left=starts, color=color, label=part)
        starts = [at + width for at, width in zip(starts, widths)]
    left.set_yticks(range(len(modes)), [f"{int(count):,}, {'one address' if mode == 'one' else 'copies'}" for count, mode in modes], fontsize=7)
    left.invert_yaxis()
    left.set_xlabel("ms a frame")
    left.set_title("forest, by particles", fontsize=9)
    left.legend(fontsize=6, loc="upper center", bbox_to_anchor=(0.4, -0.2), ncols=3)
    names = [f"{r['variant']}, {'commit' if 'commit of' in r['name'] else r['name']}" for r in commits]
    for i, (side, color) in enumerate((("culvert", "#0060a8"), ("raw", "#b05a00"))):
        lengths(right, right.barh([at + (i - 0.5) * 0.4 for at in range(len(commits))], [r[side]["median"] for r in commits], 0.38, color=color,
                                  label={"culvert": "Culvert", "raw": "raw calls"}[side]))
    right.set_yticks(range(len(commits)), names, fontsize=7)
    right.invert_yaxis()
    right.set_xscale("log")
    plain_ticks(right.xaxis)
    right.set_xlim(right.get_xlim()[0], 3 * max(r[side]["median"] for r in commits for side in ("culvert", "raw")))
    right.set_xlabel("us")
    right.set_title("a chunk in both", fontsize=9)
    right.legend(fontsize=6, loc="upper center", bbox_to_anchor=(0.4, -0.2), ncols=2)
    save(figure, directory, "space", run)


PLOTS = {"culvert-bench-space": (space,), "culvert-bench-gl": (gl_frames,), "culvert-bench-rdma": (look_ups,), "culvert-bench-kinds": (kinds_of_buffers, kinds_of_images),
         "culvert-bench": (frames, latency, sizes, loads, search), "culvert-bench-memory": (doublings, peaks, chunks, freed)}


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        run = json.loads(pathlib.Path(sys.argv[1]).read_text())
        if run["schema"] != 1 or run["program"] not in PLOTS:
            raise ValueError(f"results of {run['program']}, schema {run['schema']}")
        for plot in PLOTS[run["program"]]:
            plot(run, pathlib.Path(sys.argv[2]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"bench-plots: {sys.argv[1]}: not the JSON of a benchmark that has plots ({type(error).__name__}: {error})", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
