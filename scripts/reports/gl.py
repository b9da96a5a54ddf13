"""The page of culvert-bench-gl, docs/measured/gl-performance.md.

RESULTS: its JSON, and that of culvert-bench-calls, of which the section `gl register` is taken; or a directory or .tar.gz
that a bundle's `run all` left, with gl.json in it. Each is a section.
SPDX-License-Identifier: MIT
"""
from .common import MEASURED, Page, goal_of, head_of, interval, machine, culvert, size, spread, time, time_of, warnings

HEAD = """\
# OpenGL: how fast frames flow, by each way

A frame gets from CUDA to OpenGL by memory objects and semaphores, by registration, or by copies through the host ([gl.md](../gl.md)).
`culvert-bench-gl` measures all three by `culv_gl_ring`, at three sizes, and checks the words that arrive.
`culvert-bench-calls` measures what mapping and unmapping of registered buffers costs by Culvert and by the raw calls.
This page is made by `scripts/report gl` from the results of runs; not edited by hand.
"""

MEASURE = """\
## Measure it

```sh
culvert-bench-gl --json=gl.json                    # some minutes on a GPU; --help, --list
culvert-bench-calls --only="gl register" --json=calls.json
scripts/report gl gl.json calls.json               # this page
```

From a bundle: `./run exec culvert-bench-gl`, or as a part of `./run bench`; `./run all DIR` leaves `gl.json` and `bench.json` in its results.

## How it is measured

- A frame: CUDA writes every word of the slot's buffer (`cuMemsetD32Async`), and OpenGL copies the buffer into one of its own (`glCopyNamedBufferSubData`).
- One thread makes the calls of both sides, in one GL context, a burst of CUDA's after a burst of OpenGL's. The program is the same in each way: `culv_ring_acquire_on()`, `culv_ring_release_on()`, `culv_gl_ring_acquire()`, `culv_gl_ring_release()`.
- *alone* is what each of the two takes without the other, by the same clock. Both together are the least that a frame can take where one engine does both.
- **memory**: GL memory objects and timelines of both sides. Where OpenGL has no timelines, its calls wait on the CPU, and the row says so.
- **register**: `cuGraphicsMapResources` and `cuGraphicsUnmapResources` once a burst.
- **staged**: through pinned host memory, by `cuMemcpyDtoHAsync` and `glNamedBufferSubData`.
- A time is that of a turn of as many frames as take 20 ms, until both sides have finished, over the frames. The turns of all ways are interleaved, in an order drawn by lot. Medians, with the 10th and 90th percentile.
- Before the turns each slot's words are read back and compared twice, and after every eighth turn the last frame's. A word that is wrong ends the program with status 1.

Map and unmap: `culv_registration_map()` and `culv_registration_unmap()` beside `cuGraphicsMapResources`, `cuGraphicsResourceGetMappedPointer` for each buffer, and `cuGraphicsUnmapResources`, in one run, by turns in an order drawn by lot ([benchmarks.md](benchmarks.md) tells the method).
Culvert also asks OpenGL whether its context is current and whether the buffer is still the one that was registered, and CUDA whether the stream is being captured. `unchecked` leaves these looks out.
A map looks at the context, the stream and each buffer, an unmap at the context and the stream.
With `unchecked`, a run before 2026-11-23, 17:20 UTC, still looked at the context and the stream, and one before 17:45 still at the stream.

## The JSON of culvert-bench-gl

`--json` prints it, `--json=FILE` writes it beside the table. Keys are never renamed while `schema` is 1.

| key | what |
|---|---|
| `schema`, `program`, `culvert_version`, `date`, `complete`, `quick`, `validation`, `seed`, `seconds`, `unit`, `device`, `system`, `left_out` | as in [benchmarks.md](benchmarks.md); `seconds` means nothing here |
| `renderer` | `GL_RENDERER` |
| `words_checked` | words of 4 bytes that were compared; one that was wrong would have ended the program |
| `frames` | one a row: `way`; `bytes` of the slot's buffer; `depth` and `burst` of the ring; `frames_per_turn`; `waits_on_cpu`; `cuda_alone`, `gl_alone`: microseconds; `us` a frame: `n` turns, `median`, `p10`, `p90`; `left_out`: why the way does not work here, or null |
"""

WAYS = ("memory", "register", "staged")


def frames(rows):
    first = rows[0]
    both = first["cuda_alone"] + first["gl_alone"]
    out = [f"### {size(first['bytes'])} a frame", "", f"Alone: CUDA {time(first['cuda_alone'])} us, OpenGL {time(first['gl_alone'])} us.", "",
           "| way | depth/burst | us a frame | of both alone | GB/s |", "|---|---:|---:|---:|---:|"]
    best = min((r["us"]["median"] for r in rows if r["left_out"] is None), default=None)
    for r in rows:
        flow = f"{r['depth']}/{r['burst']}"
        if r["left_out"] is not None:
            out.append(f"| `{r['way']}` | {flow} | left out: {r['left_out']} | | |")
            continue
        us = r["us"]["median"]
        text = spread(r["us"])
        name = f"`{r['way']}`" + (", waits on the CPU" if r["waits_on_cpu"] and r["way"] == "memory" else "")
        out.append(f"| {name} | {flow} | {f'**{text}**' if us == best else text} | {us / both:.2f} | {r['bytes'] / us / 1e3:.1f} |")
    return out + [""]


def calls(run):
    """Of culvert-bench-calls: what the calls of registration cost."""
    found = [r for r in run["results"] if r["measurement"] == "gl register"]
    out = [f"## {run['device']['name']}, {run['date'][:10]}, {time_of(run)}: map and unmap", ""]
    if run["device"]["software"]:
        out += ["The **software twin**: no GPU, and its times tell nothing of one.", ""]
    if run["quick"]:
        out += ["A run with `--quick`: **the times mean nothing**.", ""]
    for gap in run["left_out"]:
        if gap["measurement"] == "gl register":
            out += [f"Left out: {gap['reason']}.", ""]
    if not found:
        return out
    out += [f"CUDA {run['device']['cuda_version']}, {run['device']['vulkan_driver']}, {run['system']['processor'] or 'a processor that does not tell its name'}. Buffers of 64 KiB, all of them in one call; microseconds a call, medians (10th..90th percentile).",
            "", "| what | call | Culvert | raw | ratio (95 % interval) | goal |", "|---|---|---:|---:|---:|---|"]
    for r in found:
        out.append(f"| {r['variant']} | {r['name']} | {spread(r['culvert'])} | {spread(r['raw'])} | {interval(r['ratio'])} | {goal_of(r)} |")
    return out + [""]


def results(run):
    if run["program"] == "culvert-bench-calls":
        return calls(run)
    out = head_of(run) + machine(run, ("OpenGL", run["renderer"]), ("CUDA", run["device"]["cuda_version"]), culvert(run),
                                 ("checked", f"{run['words_checked']:,} words, none wrong")) + warnings(run)
    for count in sorted({r["bytes"] for r in run["frames"]}):
        out += frames(sorted((r for r in run["frames"] if r["bytes"] == count), key=lambda r: (WAYS.index(r["way"]), r["depth"])))
    return out


REPORT = Page(MEASURED / "gl-performance.md", ("culvert-bench-gl", "culvert-bench-calls"), ("gl.json",), results, [HEAD], [MEASURE], more=("bench.json",))
