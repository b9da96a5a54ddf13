"""Plots of culvert-bench's JSON, called by scripts/bench-plots.

usage: bench_plots.py RESULTS.json DIRECTORY

Writes one SVG for each section that the results have. The same results give the same bytes.
SPDX-License-Identifier: MIT
"""
import collections
import json
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "culvert", "svg.fonttype": "none", "font.size": 9, "axes.grid": True,
                            "grid.alpha": 0.3, "figure.figsize": (7.2, 4.2), "axes.spines.top": False,
                            "axes.spines.right": False})
import matplotlib.pyplot as plt  # noqa: E402
import matplotlib.ticker  # noqa: E402

COLORS = {"raw ring": "#b05a00", "culv_ring": "#0060a8", "host waits": "#777777", "staged": "#a02060"}


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


def frames(run, directory):
    rows = rows_of(run, "frames")
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
    for r in fixed:
        axes.annotate(f"{r['depth']}/{r['burst']}", (r["age_p99"] / 1e3, r["us"]["median"]), fontsize=6,
                      xytext=(3, 3), textcoords="offset points", color="#555555")
    axes.scatter([r["age_p99"] / 1e3 for r in chosen], [r["us"]["median"] for r in chosen], s=40, marker="*",
                 color=COLORS["culv_ring"], label="max_latency: chosen by the ring")
    for r in chosen:
        axes.axvline(r["max_latency_ns"] / 1e6, color=COLORS["culv_ring"], linewidth=0.5, linestyle=":")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
    axes.set_xlabel("from the solver's beginning to the drawing's end, 99th percentile, ms (dotted: the bounds)")
    axes.set_ylabel("us a frame")
    axes.set_title("Latency against time a frame (depth/burst)")
    axes.legend(fontsize=7)
    save(figure, directory, "latency", run)


def name_of(r):
    return r["scheme"] if r["scheme"] in ("host waits", "staged") else f"{r['scheme']}, {r['depth']}/{r['burst']}"


def style_of(r):
    return {"color": COLORS[r["scheme"]], "linestyle": "-" if r["burst"] == 1 else "--",
            "fillstyle": "none" if r["scheme"] == "raw ring" else "full", "marker": "s" if r["depth"] == 1 else "o"}


def sizes(run, directory):
    rows = rows_of(run, "sizes")
    if not rows:
        return
    figure, axes = plt.subplots()
    lines = collections.OrderedDict()
    for r in rows:
        lines.setdefault(name_of(r), []).append(r)
    for name, points in lines.items():
        axes.plot([r["bytes"] for r in points], [r["us"]["median"] for r in points], label=name, linewidth=1,
                  markersize=4, **style_of(points[0]))
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = sorted({r["bytes"] for r in rows})
    axes.set_xticks(ticks, [bytes_text(t) for t in ticks])
    axes.set_xlabel("size of a frame")
    axes.set_ylabel("us a frame")
    axes.set_title("Sizes (depth/burst)")
    axes.legend(fontsize=7)
    save(figure, directory, "sizes", run)


def loads(run, directory):
    rows = rows_of(run, "loads")
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
        style = style_of(points[0])
        axes.bar(at, [r["of_ideal"]["median"] for r in points], width, label=name, edgecolor="white", linewidth=0.3,
                 color=style["color"], alpha=1.0 if points[0]["burst"] == 1 else 0.55)
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
    names = list(collections.OrderedDict.fromkeys(r["variant"] or "plain" for r in rows))
    found = collections.defaultdict(list)
    for r in rows:
        found[r["variant"] or "plain", (r["depth"], r["burst"])].append(r["of_ideal"]["median"])
    figure, axes = plt.subplots(figsize=(7.2, 0.35 * len(names) + 1.4))
    for i, ring in enumerate(rings):
        points = [(min(found[name, ring]), at) for at, name in enumerate(names) if found[name, ring]]
        axes.plot([x for x, _ in points], [y for _, y in points], "osD^v<>"[i % 7], markersize=5,
                  label=f"{ring[0]}/{ring[1]}")
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xlabel("time of a frame over solver + renderer alone (depth/burst)")
    axes.legend(fontsize=7)
    save(figure, directory, "search", run)


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        run = json.loads(pathlib.Path(sys.argv[1]).read_text())
        if run["schema"] != 1 or run["program"] != "culvert-bench":
            raise ValueError(f"results of {run['program']}, schema {run['schema']}")
        for plot in (frames, latency, sizes, loads, search):
            plot(run, pathlib.Path(sys.argv[2]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"bench-plots: {sys.argv[1]}: not the JSON of culvert-bench ({type(error).__name__}: {error})", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
