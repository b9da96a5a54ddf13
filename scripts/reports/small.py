"""The tables of docs/kernels.md: many small kernels, and what VK_NVX_binary_import costs, between the lines <!-- NAME --> and <!-- end -->.

RESULTS: JSON of `culvert-bench --only=small` and of `culvert-bench-import`, one file for each machine. What the results lack stays as it is.
SPDX-License-Identifier: MIT
"""
from .common import DOCS, Blocks, table_lines

BETWEEN = {"none": "none: each launch has memory of its own", "execution": "execution only, `ALL_COMMANDS`",
           "execution, compute stage": "execution only, `COMPUTE_SHADER`", "buffer": "of the buffer, `ALL_COMMANDS`",
           "buffer, compute stage": "of the buffer, `COMPUTE_SHADER`", "memory, compute stage": "of all memory, `COMPUTE_SHADER`",
           "memory": "of all memory, `ALL_COMMANDS` (`culv_vk_kernel_get_barrier2()`)", "memory, every 8th": "the same after every 8th launch"}
WAYS = (("CUDA graph", "graph", "memory", "CUDA"), ("CUDA stream", "stream", "memory", "CUDA"),
        ("kernels, graphics queue", "kernels", "memory", "graphics"), ("... without barriers", "kernels", "none", "graphics"),
        ("kernels, compute queue", "kernels", "memory", "compute"), ("... without barriers", "kernels", "none", "compute"),
        ("shader, graphics queue", "shader", "memory", "graphics"), ("... without barriers", "shader", "none", "graphics"))


def find(run, by, between, queue, launches, blocks, secondary=False):
    return next((row for row in run["small"] if (row["by"], row["between"], row["queue"], row["launches"], row["blocks"], row["secondary"])
                 == (by, between, queue, launches, blocks, secondary)), None)


def cell(row):
    if row is None:
        return ""
    text = f"{row['us']['median']:,.1f}"
    if row["gpu"] is not None:
        text += f" ({row['gpu']['median']:,.1f})"
    return text + (f", {row['wrong']:,} wrong" if row["wrong"] else "")


def tables(run):
    device = run["device"]["name"]
    launches, blocks = max(((row["launches"], row["blocks"]) for row in run["small"] if row["launches"] <= 64), key=lambda at: (at[0], -abs(at[1] - 64)))
    sizes = sorted({(row["launches"], row["blocks"]) for row in run["small"]})
    queues = [queue for queue in ("graphics", "compute") if any(row["queue"] == queue for row in run["small"])]
    yield (f"{device}, {run['device']['vulkan_driver']}, {run['date'][:16].replace('T', ' ')} UTC; `culvert-bench --only=small`, medians of {run['small'][0]['us']['n']} runs, "
           "in µs: as the host sees it, with the submission and its wait, and in brackets by the GPU's clock.\n")
    yield f"{launches} launches of {blocks} blocks, by what stands between two of them:\n"
    yield from table_lines(["barrier"] + [f"{name}, {queue} queue" for name in ("kernels", "shader") for queue in queues],
                           [[text] + [cell(find(run, by, between, queue, launches, blocks)) for by in ("kernels", "shader") for queue in queues]
                            for between, text in BETWEEN.items()])
    yield ""
    others = [("a CUDA graph, each after the one before", "graph", "memory"), ("a CUDA graph without edges", "graph", "none"), ("a CUDA stream", "stream", "memory")]
    rows = [(text, cell(find(run, by, between, "CUDA", launches, blocks))) for text, by, between in others]
    for queue in queues:
        rows += [(f"kernels in a secondary command buffer, {queue} queue", cell(find(run, "kernels", "memory", queue, launches, blocks, True))),
                 (f"the graph by `culv_vk_record_graph()`, each after the one before, {queue} queue", cell(find(run, "recorded graph", "memory", queue, launches, blocks))),
                 (f"... without edges, {queue} queue", cell(find(run, "recorded graph", "none", queue, launches, blocks))),
                 (f"the barriers alone, `ALL_COMMANDS`, {queue} queue", cell(find(run, "barriers alone", "memory", queue, launches, blocks))),
                 (f"the barriers alone, `COMPUTE_SHADER`, {queue} queue", cell(find(run, "barriers alone", "memory, compute stage", queue, launches, blocks)))]
    yield from table_lines(("the same otherwise", "µs"), rows)
    yield "\nBy the number of launches and of their blocks:\n"
    yield from table_lines(["launches x blocks"] + [name for name, _, _, queue in WAYS if queue in ("CUDA", *queues)],
                           [[f"{n} x {size}"] + [cell(find(run, by, between, queue, n, size)) for _, by, between, queue in WAYS if queue in ("CUDA", *queues)]
                            for n, size in sizes])


STEPS = {"cuda": "`cuInit()` and the primary context", "instance": "`vkCreateInstance()`, and the device found", "device": "`vkCreateDevice()`",
         "module": "the first `vkCreateCuModuleNVX()`", "function": "the first `vkCreateCuFunctionNVX()`", "launch": "the first launch, to its end",
         "module again": "a second module of the same code"}


def extension(run):
    device = run["device"]["name"]
    rows = {(row["cuda"], row["extension"], row["step"]): row for row in run["import"]}
    yield (f"{device}, {run['device']['vulkan_driver']}, {run['date'][:16].replace('T', ' ')} UTC; `culvert-bench-import`, medians of {run['import'][0]['us']['n']} fresh processes of each kind. "
           "Time, the GPU's memory as `cuMemGetInfo` of another process tells it, and the process's memory on the host.\n")
    kinds = [(cuda, with_it) for cuda in (False, True) for with_it in (False, True) if (cuda, with_it, "device") in rows]
    names = {(False, False): "without CUDA and extension", (False, True): "with the extension", (True, False): "beside CUDA, without the extension", (True, True): "beside CUDA, with it"}
    cells = []
    for step, text in STEPS.items():
        line = [text]
        for kind in kinds:
            row = rows.get((*kind, step))
            line.append("" if row is None else f"{row['us']['median'] / 1e3:,.2f} ms, {row['device'] / (1 << 20):,.1f} MiB, {row['host'] / (1 << 20):,.1f} MiB")
        if any(line[1:]):
            cells.append(line)
    yield from table_lines(["step"] + [names[kind] for kind in kinds], cells)


REPORT = Blocks(DOCS / "kernels.md", ("culvert-bench", "culvert-bench-import"),
                {"small": (lambda run: run.get("small"), tables), "import": (lambda run: run.get("import"), extension)})
