"""The page of culvert-bench-kinds, docs/measured/memory-kinds.md.

RESULTS: its JSON, or a directory or .tar.gz that a bundle's `run all` left, with kinds.json in it. Each is a section. Without
results the page has the method alone.
SPDX-License-Identifier: MIT
"""
import collections

from .common import MEASURED, Page, culvert, head_of, machine, size, table, warnings

HEAD = """\
# Kinds of memory: which is fast, from which side

CUDA and Vulkan can share memory of several kinds.
All hold the same data, and at some hundreds of MiB all are about as fast.
In buffers of GiBs random access to some of them is several times as slow, and nothing says so.
`culvert-bench-kinds` measures each kind from both sides and checks every word that it reads.
This page is made by `scripts/report kinds` from the results of runs; not edited by hand.
"""

CHOOSE = """\
## What Culvert does

| memory | kind |
|---|---|
| `culv_vk_buffer_create()` | fast: dedicated to the buffer. `memory_kind` asks for the compressible kind |
| `culv_vk_buffer_bind_vmm()`, where the buffer needs all of the allocation | fast: imported dedicated |
| ... where it lies at an offset, or needs less | plain. Vulkan takes dedicated memory for a whole allocation only. Make the buffer as large as the allocation, and use ranges of it |
| `culv_vk_memory_from_vmm()`, `culv_vk_memory_from_handle()` | fast with `dedicated` and a buffer that needs all of it; otherwise plain |
| `culv_vk_vector_view_create()`, a buffer for each chunk | fast; compressible where the vector's memory is |
| `culv_vk_vector_view_create()`, one sparse buffer | plain: random access of Vulkan is slow at GiBs. The run above still told it as fast |
| a ring's buffers | as they were made: `culv_vk_buffer_create()` |
| memory of yours that you import, dedicated | fast |
| memory of yours that you import, not dedicated: a block of an allocator | compressible |

- `culv_buffer_memory_kind()`, `culv_vk_vmm_memory_kind()` and `culv_vk_vector_view_memory_kind()` tell the kind.
- `culv_vk_check_buffer()` tells it beforehand: set `block_size` where the buffer is to share a block of yours, and look at `random_access_slow`.
- From `CULV_SLOW_KIND_BYTES` (1 GiB) on, Culvert warns of slow memory of yours in the log, once for each object, and says what to do.
- Blocks smaller than that, or a dedicated allocation for each large buffer, keep an allocator on the fast side.
"""

MEASURE = """\
## Measure it

```sh
culvert-bench-kinds --json=kinds.json              # less than a minute on a GPU; --help, --list
scripts/report kinds kinds.json                    # this page
```

From a bundle: `./run exec culvert-bench-kinds`, or as a part of `./run bench`; `./run all DIR` leaves `kinds.json` in its results.

## How it is measured

- The same work is done by a CUDA kernel on a stream and by a compute shader that has the buffer's address (`buffer_reference`), one side after the other, on the same memory.
- **stream**: each thread reads 16 bytes, adds 1 to each word and writes them back, until it has been through the buffer once. The rate counts what is read and what is written. *constant*: all words are alike, which the driver can compress; *noise*: none are.
- **random**: each thread reads words at places that a generator gives, all over the buffer, and compares each with what it should be. The buffer has noise.
- **images** are of one `R32_UINT` texel for each word. *sampled*: `tex2D` and `texelFetch`. *surface*: `surf2Dread` and `imageLoad`. They are only read.
- Times are the GPU's own: CUDA's events and Vulkan's timestamps around as many repetitions as take 4 ms. A rate is the median of 7 turns.
- A word that is wrong ends the program with status 1. Each buffer's reader is tried first: it must find every word wrong when it expects others.
- The last number of a row is its rate over that of memory of CUDA's own (`cuMemAlloc`, `cuArray3DCreate`), by CUDA, of the same size and pattern. The goal is 0.97 for random reads of 4 GiB, from both sides, in what Culvert gives by default. None is judged on the software twin, nor with `--quick`.
"""

JSON_KEYS = """\
## The JSON of culvert-bench-kinds

`--json` prints it, `--json=FILE` writes it beside the table. Keys are never renamed while `schema` is 1.

| key | what |
|---|---|
| `schema`, `program`, `culvert_version`, `date`, `complete`, `quick`, `validation`, `seed`, `seconds`, `unit`, `device`, `system`, `left_out` | as in [benchmarks.md](benchmarks.md); `unit` and `seconds` mean nothing here |
| `threads`, `reads` | threads of each launch, and random reads of each thread |
| `words_checked` | words of 4 bytes that were compared; one that was wrong would have ended the program |
| `rates` | one a row: `section`, `scheme`, `side` (CUDA or Vulkan), `pattern`, `bytes`; `memory_kind`: what Culvert says of it, or null; `rate` in `unit`: `n`, `median`, `p10`, `p90`; `ratio` to CUDA's own memory, or null; `goal` and `met` (yes, no), null where there is none |
"""


def rate(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def cell(row):
    if row is None:
        return ""
    text = rate(row["rate"]["median"])
    if row["ratio"] is not None:
        text += f" ({row['ratio']:.2f})"
    return f"**{text}**" if row["met"] == "yes" else text


def goals(run):
    rows = [(f"{r['scheme']}, by {r['side']}", f"{size(r['bytes'])}, {r['pattern']}", f"at least {r['goal']:g}", f"{r['ratio']:.3f}",
             {"yes": "**met**", "no": "**not met**"}[r["met"]]) for r in run["rates"] if r["goal"] is not None]
    return ["The goals, as ratios to CUDA's own memory:", ""] + table(("memory", "what", "goal", "measured", ""), rows) if rows else []


def part(run, section):
    rows = [r for r in run["rates"] if r["section"] == section]
    if not rows:
        return []
    out = [f"### {section}", ""]
    found = {(r["scheme"], r["bytes"], r["side"], r["pattern"]): r for r in rows}
    schemes = list(collections.OrderedDict.fromkeys((r["scheme"], r["memory_kind"]) for r in rows))
    patterns = list(collections.OrderedDict.fromkeys(r["pattern"] for r in rows))
    units = {r["pattern"]: r["unit"] for r in rows}
    for count in sorted({r["bytes"] for r in rows}, reverse=True):
        header = ["memory"] + (["kind"] if section == "buffers" else []) + \
            [f"{side}: {pattern}, {units[pattern]}" for side in ("CUDA", "Vulkan") for pattern in patterns]
        lines = []
        for scheme, kind in schemes:
            cells = [cell(found.get((scheme, count, side, pattern))) for side in ("CUDA", "Vulkan") for pattern in patterns]
            if any(cells):
                lines.append([scheme] + ([kind or ""] if section == "buffers" else []) + cells)
        out += [f"{size(count)}:", ""] + table(header, lines, 2 if section == "buffers" else 1)
    return out


def results(run):
    device = run["device"]
    early, gaps = warnings({**run, "left_out": []}, "rates"), warnings({**run, "quick": False, "complete": True})
    return head_of(run) + machine(run, ("driver", f"{device['vulkan_driver']}, CUDA {device['cuda_version']}"), culvert(run),
                                  ("checked", f"{run['words_checked']:,} words, none wrong"), tells="rates") + early + goals(run) + gaps + part(run, "buffers") + part(run, "images")


REPORT = Page(MEASURED / "memory-kinds.md", ("culvert-bench-kinds",), ("kinds.json",), results, [HEAD], [CHOOSE, MEASURE, JSON_KEYS])
