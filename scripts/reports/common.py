"""What the reports share: results that are read, numbers as text, tables, and the page of a benchmark.
SPDX-License-Identifier: MIT
"""
import collections
import json
import pathlib
import re
import tarfile

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
MEASURED = DOCS / "measured"


class Bad(Exception):
    """What is wrong with the results, for the user."""


# Results -------------------------------------------------------------------------------------------------------------

def texts(path, needed, more=()):
    """(name, text) of each file of results in `path`: a file, or a directory or .tar.gz that a bundle's `run all` left,
    which must have one of the files `needed`."""
    names = (*needed, *more)
    if path.is_dir():
        found = {name: (path / name).read_text(errors="replace") for name in names if (path / name).exists()}
    elif path.name.endswith((".tar.gz", ".tgz")):
        with tarfile.open(path) as archive:
            inside = archive.getnames()
            found = {name: archive.extractfile(f"results/{name}").read().decode(errors="replace") for name in names if f"results/{name}" in inside}
    else:
        return [(path.name, path.read_text(errors="replace"))]
    if not any(name in found for name in needed):
        raise Bad(f"{path}: no {' or '.join(needed)} in it")
    return list(found.items())


def run_of(text, path, programs, look):
    """A benchmark's JSON. `look` uses all of it, so that whatever is missing shows here."""
    try:
        run = json.loads(text)
        if run["schema"] != 1:
            raise Bad(f"{path}: schema {run['schema']} is not known here")
        if run["program"] not in programs:
            raise Bad(f"{path}: results of {run['program']}")
        look(run)
        return run
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, StopIteration) as error:
        raise Bad(f"{path}: not the JSON of {' or '.join(programs)} ({type(error).__name__}: {error})") from error


# Text ----------------------------------------------------------------------------------------------------------------

def size(count):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:g} {name}"
    return f"{count} B"


def time(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def spread(side, text=time):
    return f"{text(side['median'])} ({text(side['p10'])}..{text(side['p90'])})"


def interval(ratio, digits=4):
    return "" if ratio is None else f"{ratio['value']:.{digits}f} ({ratio['low']:.{digits}f}..{ratio['high']:.{digits}f})"


def time_of(run):
    return f"{run['date'][11:16]} UTC"


def goal_of(result):
    """Of a pair: the ratio that was asked for, and whether it was met."""
    goal = result["goal"]
    return "" if goal is None else f"at most {goal['ratio']:.2f}" + (f": **{goal['met']}**" if goal["met"] else "")


# Markdown, as lists of lines -----------------------------------------------------------------------------------------

def table_lines(header, rows, words=1):
    """The first columns are words, the others numbers."""
    return (["| " + " | ".join(header) + " |", "|" + "---|" * words + "---:|" * (len(header) - words)]
            + ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows])


def table(header, rows, words=1):
    return table_lines(header, rows, words) + [""]


def head_of(run):
    return [f"## {run['device']['name']}, {run['date'][:10]}", ""]


def machine(run, *rows, tells="times"):
    device = run["device"]
    gpu = device["name"] + (f", the **software twin**: no GPU, and its {tells} tell nothing of one" if device["software"] else "")
    return table(("", ""), [("GPU", gpu), *rows], 2)


def culvert(run):
    return ("Culvert", f"{run['culvert_version']}, seed {run['seed']}")


def warnings(run, means="times"):
    out = [f"A run with `--quick`: **the {means} mean nothing**.", ""] if run["quick"] else []
    out += [] if run["complete"] else ["The run ended before all was measured.", ""]
    for gap in run["left_out"]:
        out += [f"Left out of {gap['measurement']}: {gap['reason']}.", ""]
    return out


# Tables on a page that is written by hand -----------------------------------------------------------------------------

class Blocks:
    """What stands between the lines <!-- NAME --> and <!-- end --> of a page is made of the results that have it; the rest
    of the page, and blocks that no results have, stay as they are. `blocks`: name to (whether a run has it, its lines)."""

    def __init__(self, output, programs, blocks):
        self.output, self.programs, self.blocks = output, programs, blocks

    def add(self, parser):
        parser.add_argument("results", type=pathlib.Path, nargs="+")
        parser.add_argument("--check", action="store_true", help="writes nothing, and fails if the page has other tables")
        parser.add_argument("--quick", action="store_true", help="takes a run with --quick too, for a test")

    def look(self, run):
        for has, lines in self.blocks.values():
            if has(run):
                _ = list(lines(run))

    def make(self, arguments):
        runs = [run_of(path.read_text(), path, self.programs, self.look) for path in arguments.results]
        text, made = arguments.output.read_text(), 0
        for run, path in zip(runs, arguments.results):
            if (run["quick"] and not arguments.quick) or run["validation"]:
                raise Bad(f"{path}: of a run with --quick or --validation, whose times mean nothing")
        for name, (has, lines) in self.blocks.items():
            body = "\n\n".join("\n".join(lines(run)) for run in runs if has(run))
            if not body:
                continue
            text, found = re.subn(rf"(<!-- {name} -->\n).*?(<!-- end -->)", lambda m: f"{m.group(1)}{body}\n{m.group(2)}", text, flags=re.S)
            if found != 1:
                raise Bad(f"{arguments.output} has no place for {name}")
            made += 1
        if made == 0:
            raise Bad(f"none of the results has {' or '.join(self.blocks)}")
        return text


# The page of a benchmark ---------------------------------------------------------------------------------------------

def groups(runs, key):
    found = collections.OrderedDict()
    for run in runs:
        found.setdefault(key(run), []).append(run)
    return list(found.values())


class Page:
    """A page that is made of benchmark results and of nothing else. `results(run)` makes a section for each run;
    with `kind` runs that are alike in it are one, and it is given the list of them."""

    def __init__(self, output, programs, needed, results, head, tail, more=(), kind=None):
        self.output, self.programs, self.needed, self.more, self.kind = output, programs, needed, more, kind
        self.results, self.head, self.tail = results, head, tail

    def add(self, parser):
        parser.add_argument("results", type=pathlib.Path, nargs="*")

    def run(self, text, path):
        return run_of(text, path, self.programs, lambda run: self.results([run] if self.kind else run))

    def make(self, arguments):
        runs = [self.run(text, path) for path in arguments.results for _, text in texts(path, self.needed, self.more)]
        out = [*self.head] + ([] if runs else ["No run on a GPU is recorded here yet.", ""])
        for section in groups(runs, self.kind) if self.kind else runs:
            out += self.results(section)
        return "\n".join(out + self.tail).rstrip() + "\n"
