"""The page of the Python package's benchmark, docs/measured/python-performance.md.

RESULTS: the JSON of tests/bindings/python/bench.py (a bundle's `run python-bench --json=FILE`), and what its `run python-tests` printed;
or a directory or .tar.gz that a bundle's `run all` left, with python.json and python.txt in it. Each is a section.
SPDX-License-Identifier: MIT
"""
import json
import pathlib
import re

from .common import MEASURED, Bad, table, texts, time

HEAD = """\
# Python: what the package costs

A context, a tensor, an adoption, a frame, a picture on the screen and a turn of OpenGL's, beside the same calls of the C library by `ctypes`.
This page is made by `scripts/report python` from the results of runs; not edited by hand.
"""

MEASURE = """\
## Measure it

```sh
python3 tests/bindings/python/bench.py --json=python.json   # from a bundle: ./run python-bench --json=python.json
python3 tests/bindings/python/run.py >python.txt            # from a bundle: ./run python-tests >python.txt
scripts/report python python.json python.txt       # this page
```

`./run all DIR` of a bundle leaves both files in its results, and `scripts/report python DIR/results` makes the page.

## How it is measured

- A time is that of one call, in microseconds: the median of the rounds (the least..the most), each of as many calls as say something.
- *first*: `adopt()` of memory of which nothing is adopted yet: CUDA exports each chunk, and Vulkan imports it. *again*: while it is adopted. Chunks of 2 and of 20 MiB are those of PyTorch's expandable segments. Many chunks are one sparse buffer, where the device has such.
- *the call*: until `view.update()` returns. *drawn*: until the stream has waited for the picture. The range of the values is found by the GPU in each frame.
- A frame of 8 MiB: the library adds 1 to each float, Vulkan copies the buffer, and both wait for each other on the GPU; or the host waits for each.
"""

GROUPS = (("Contexts", r"culvert\.vulkan\.open"), ("Tensors", r"buffer\.tensor|culv_buffer_get_dlpack|does nothing|: an array of"),
          ("Adoption", r"adopt\(\)|is_current"), ("Frames", r"timeline\.frame|a frame of|culv_semaphore|ring\."),
          ("Pictures", r"view\."), ("OpenGL", r"gl\."))


def looked_at(text, path):
    """A run's JSON, all of whose parts are there."""
    try:
        run = json.loads(text)
        if run["benchmark"] != "python":
            raise Bad(f"{path}: results of {run['benchmark']}")
        found = re.search(r"\d{4}-\d{2}-\d{2}", str(path))  # of a run before the JSON told its date
        run["date"] = run.get("date") or (found.group() if found else "")
        for name, row in run["rows"].items():
            if not 0 <= row["least"] <= row["median"] <= row["most"] or row["unit"] != "us":
                raise Bad(f"{path}: {name} has no order")
            if group_of(name) is None:
                raise Bad(f"{path}: this report knows no group for {name}")
        return run
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Bad(f"{path}: not the JSON of tests/bindings/python/bench.py ({type(error).__name__}: {error})") from error


def group_of(name):
    return next((group for group, pattern in GROUPS if re.search(pattern, name)), None)


def section(run):
    what = ", the **software twin**: no GPU, and its times tell nothing of one" if run.get("software") else ""
    facts = [f"Python {run['python']}", run["library"] or "no library", f"driver {run['driver']}" if run.get("driver") else "",
             f"Culvert {run['version']}"]
    out = [f"## {run['device']}, {run['date'][:10]}", "", f"{', '.join(f for f in facts if f)}{what}.", ""]
    if run.get("quick"):
        out += ["A run with `--quick`: **the times mean nothing**.", ""]
    for group, _ in GROUPS:
        rows = [(name, f"{time(row['median'])} ({time(row['least'])}..{time(row['most'])})")
                for name, row in run["rows"].items() if group_of(name) == group]
        if rows:
            out += [f"### {group}", "", *table(("what", "us"), rows)]
    for name, why in run.get("left_out", {}).items():
        out += [f"Left out: {name}: {why}.", ""]
    return out


CELLS = re.compile(r"^MEASURED python-(\w+)\.a_thousand_cells_leave_nothing (\w[\w ]*?)(?: after each 100 cells| KiB| MiB of the device)?: "
                   r"(\[.*)$", re.M)
ENDS = re.compile(r"^(PASS|FAIL|SKIP) python-\w+\.ends_\w+", re.M)


def of_tests(text, path):
    """What the cases told: the cells of a notebook, and the interpreter's end."""
    out = []
    cells = CELLS.findall(text)
    if cells:
        out += ["### A thousand cells of a notebook", "", "Each hundredth cell:", "", *table(("library", "what", "numbers"), cells, 3)]
    ends = ENDS.findall(text)
    if ends:
        out += ["### The interpreter's end", "", ", ".join(f"{ends.count(word)} {word}" for word in ("PASS", "FAIL", "SKIP")) + ".", ""]
    if not out:
        raise Bad(f"{path}: no line MEASURED of a case that this report knows")
    return out


class Report:
    output = MEASURED / "python-performance.md"

    @staticmethod
    def add(parser):
        parser.add_argument("results", type=pathlib.Path, nargs="*")

    @staticmethod
    def make(arguments):
        out = [HEAD] + ([] if arguments.results else ["No run is recorded here yet.", ""])
        for path in arguments.results:
            for name, text in texts(path, ("python.json",), ("python.txt",)):
                out += section(looked_at(text, path)) if name.endswith(".json") else of_tests(text, path)
        return "\n".join(out + [MEASURE]).rstrip() + "\n"


REPORT = Report
