"""The table of docs/formats.md, from the results of the format sweep (tests/library/formats): a column for each machine.

RESULTS are formats.jsonl files, one or more a machine (of `ctest -R '^formats'`: BUILD/tests/library/formats/formats_results/;
of a bundle's `run all`: in results.tar.gz). Columns of machines that are not among them stay as they are, and so does
everything outside the marks <!-- table:begin --> and <!-- table:end -->. --check compares the page's rows with those
of the library, which PROGRAM (the test program `formats`) prints, and says what differs.
SPDX-License-Identifier: MIT
"""
import collections
import json
import pathlib
import re
import string
import subprocess
import sys
import tempfile

from . import format_names
from .common import DOCS, table_lines

BEGIN, END = "<!-- table:begin -->", "<!-- table:end -->"
DIMENSIONS = {"1D": "1D", "2D": "2D", "3D": "3D", "cube": "cube", "1D array": "1D[]", "2D array": "2D[]",
              "cube array": "cube[]"}
MAPPED = ["format", "bytes", "CUDA, STORED", "CUDA, NORMALIZED", "DXGI", "OpenGL"]
REFUSED = ["why not, and what instead", "formats"]


def read(paths):
    """rows by name; for each machine its answers and what it is."""
    rows, machines = {}, {}
    for path in paths:
        label, answers = None, []
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            if "row" in entry:
                rows[entry["row"]] = entry
            elif "machine" in entry:
                its = "software twin" if entry["software"] else entry["machine"]
                if label not in (None, its):
                    sys.exit(f"{path} has answers of {label} and of {its}; give each machine a file of its own")
                label = its
                machines.setdefault(label, {"about": entry, "answers": {}})
                machines[label]["about"] = max(machines[label]["about"], entry, key=lambda e: e["date"])
            else:
                answers.append(entry)
        if label is None:
            sys.exit(f"{path} does not say on which machine it was made")
        for a in answers:  # of a case that ran twice the last answer counts
            key = (a["format"], a["dimension"], a["form"], a["origin"], a["way"])
            machines[label]["answers"][key] = a
    return rows, machines


# Cells ---------------------------------------------------------------------------------------------------------------

def name_of(names, number):
    return "" if number == 0 else names.get(number, hex(number))


def cuda(number, channels):
    return "" if number == 0 else f"{name_of(format_names.CUDA, number)} × {channels}"


def stored(row):
    if row["planes"] == 1:
        return cuda(row["cuda"], row["channels"])
    return "an array a plane" + (f" ({name_of(format_names.CUDA, row['cuda'])})" if row["cuda"] else "")


def size(row):
    if row["planes"] > 1:
        return f"{row['planes']} planes"
    block = "" if row["block_width"] * row["block_height"] == 1 else f" of {row['block_width']} × {row['block_height']}"
    return f"{row['bytes']}{block}"


def cells(row):
    return [row["row"], size(row), stored(row), cuda(row["cuda_normalized"], row["normalized_channels"]),
            name_of(format_names.DXGI, row["dxgi"]), name_of(format_names.GL, row["gl"])]


def refused(rows):
    """A row for each reason: the formats that have it, and behind an arrow those that the library names to each."""
    reasons = collections.OrderedDict()
    for row in sorted(rows.values(), key=lambda row: row["vk"]):
        if not row["mapped"]:
            why, use, rest = row["why"].partition(": use ")
            named = tuple(word for word in re.findall(r"\w+", rest) if word in rows)
            text = why + use + re.sub(r"\w+", lambda m: "…" if m[0] in rows else m[0], rest)
            reasons.setdefault(text, collections.OrderedDict()).setdefault(named, []).append(row["row"])
    out = []
    for text, by in reasons.items():
        named, *others = by
        if not others:
            text = text.replace("…", "%s") % named
        out.append([text, "; ".join(", ".join(names) + (f" → {', '.join(named)}" if others else "") for named, names in by.items())])
    return out


class Reasons:
    """Letters for what machines say, in the order in which they come up."""

    def __init__(self):
        self.letters = {}

    def letter(self, answer):
        text = answer if isinstance(answer, str) else answer["reason"].replace(answer["format"], "the format")
        if text not in self.letters:
            place = len(self.letters)
            more = string.ascii_lowercase[place // 26 - 1] if place >= 26 else ""
            self.letters[text] = more + string.ascii_lowercase[place % 26]
        return self.letters[text]


def status(answers, reasons):
    """One dimension's answers in a few words."""
    if not answers:
        return "not tried"
    results = {a["result"] for a in answers}
    if results == {"right"}:
        return "right"
    if "wrong" in results:
        bad = [a for a in answers if a["result"] == "wrong"]
        ways = sorted({a["way"] for a in bad})
        return f"**wrong** by {' and '.join(ways)} ({', '.join(sorted({reasons.letter(a) for a in bad}))})"
    parts = ["right"] if "right" in results else []
    for result in ("skipped", "refused"):
        of = [a for a in answers if a["result"] == result]
        if of:
            ways = " by " + " and ".join(sorted({a["way"] for a in of})) if parts else ""
            parts.append(f"{result}{ways} ({', '.join(sorted({reasons.letter(a) for a in of}))})")
    return "; ".join(parts)


def machine_cell(name, answers, reasons):
    groups = collections.OrderedDict()
    for dimension, short in DIMENSIONS.items():
        of = [a for (f, d, *_), a in answers.items() if f == name and d == dimension]
        groups.setdefault(status(of, reasons), []).append(short)
    if len(groups) == 1:
        return next(iter(groups))
    return f"({reasons.letter('; '.join(f'{text}: ' + ' '.join(shorts) for text, shorts in groups.items()))})"


def paragraph(label, machine, reasons):
    about, counts = machine["about"], collections.Counter(a["result"] for a in machine["answers"].values())
    driver = f"{about['machine']}, {about['vulkan_driver']}, " if about["software"] else f"driver {about['vulkan_driver']}, "
    text = (f"**{label}**: {driver}CUDA {about['cuda']}, {about['date']}: " +
            ", ".join(f"{counts[result]} {result}" for result in ("right", "wrong", "skipped", "refused")) + ".")
    return [text] + [f"- ({letter}) {reason}" for reason, letter in reasons.letters.items()]


# The page ------------------------------------------------------------------------------------------------------------

def split(page):
    """What comes before, the generated part, and what comes after."""
    before, rest = page.split(BEGIN, 1)
    return before, *rest.split(END, 1)


def parse(inside):
    """Tables of the generated part by their first header cells, and the paragraphs of machines."""
    tables, paragraphs, current, label = [], collections.OrderedDict(), None, None
    for line in inside.splitlines():
        if line.startswith("|"):
            row = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if current is None:
                current = (row, [])
                tables.append(current)
            elif not set("".join(row)) <= set("-"):
                current[1].append(row)
            continue
        current = None
        match = re.match(r"\*\*(.+?)\*\*: ", line)
        if match:
            label = match.group(1)
            paragraphs[label] = [line]
        elif label is not None and line.startswith("- ("):
            paragraphs[label].append(line)
        else:
            label = None
    return tables, paragraphs


def render(rows, machines, old):
    tables, paragraphs = parse(old)
    kept = {}
    for header, body in tables:
        for place, label in enumerate(header[len(MAPPED):], len(MAPPED)):
            if header[:len(MAPPED)] == MAPPED and label not in machines:
                kept[label] = {name: row[place] for row in body for name in row[0].split(", ")}
    labels = list(kept) + sorted(machines, key=lambda label: machines[label]["about"]["software"])
    labels.sort(key=lambda label: label == "software twin")
    order = sorted(rows.values(), key=lambda row: row["vk"])
    columns, notes = {}, []
    for label in labels:
        if label in kept:
            columns[label] = kept[label]
            notes += paragraphs.get(label, []) + [""]
            continue
        reasons = Reasons()
        columns[label] = {row["row"]: machine_cell(row["row"], machines[label]["answers"], reasons)
                          for row in order if row["mapped"]}
        notes += paragraph(label, machines[label], reasons) + [""]
    mapped = collections.OrderedDict()  # the names of formats whose other cells are the same
    for row in order:
        if row["mapped"]:
            name, *others = cells(row) + [columns[label].get(row["row"], "not tried") for label in labels]
            mapped.setdefault(tuple(others), []).append(name)
    count = sum(map(len, mapped.values()))
    out = ["", "Made by `scripts/report formats` from the answers of the format sweep (`tests/library/formats`); not edited by hand. A letter stands for an answer of that "
           "machine; `[]` is an array. *Right*: every "
           "byte of every level, layer and slice came over both ways, by array copies and by kernels' surfaces, and kernels' textures returned what the "
           "format's definition and `texelFetch()` in Vulkan say (of compressed blocks: what Vulkan says), in both forms, of images that Culvert made and "
           "of the caller's own.", ""]
    out += notes + [f"{count} of {len(order)} formats are mapped:", ""]
    out += table_lines(MAPPED + labels, [[", ".join(names), *others] for others, names in mapped.items()], len(MAPPED + labels))
    out += ["", f"The other {len(order) - count}. The reason leaves out a format (…), which stands behind an arrow:", ""]
    out += table_lines(REFUSED, refused(rows), len(REFUSED)) + [""]
    return "\n".join(out)


def check(program, page):
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "rows.jsonl"
        run = subprocess.run([program, f"--jsonl={path}", "rows"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if run.returncode != 0:
            sys.exit(f"{program} rows: exit status {run.returncode}\n{run.stdout}")
        rows = {row["row"]: row for row in map(json.loads, path.read_text().splitlines())}
    wanted = {name: [str(cell) for cell in cells(row)] for name, row in rows.items() if row["mapped"]}
    wanted.update({why: [why, names] for why, names in refused(rows)})
    found = {}
    for header, body in parse(split(page)[1])[0]:
        if header[:len(MAPPED)] == MAPPED:
            found.update({name: [name, *row[1:len(MAPPED)]] for row in body for name in row[0].split(", ")})
        else:
            found.update({row[0]: row for row in body})
    bad = 0
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            bad += 1
            print(f"{name}: the page has {found.get(name)}, the library {wanted.get(name)}")
    unknown = [name for name, row in rows.items() if any(re.fullmatch(r"0x[0-9a-f]+( × \d+)?", cell) for cell in cells(row))]
    if unknown:
        print("numbers without a name in scripts/reports/format_names.py: " + ", ".join(unknown))
    if bad or unknown:
        sys.exit(f"{bad} rows differ; run scripts/report formats with new results")
    print(f"{len(rows)} formats are the library's")


output = DOCS / "formats.md"


def add(parser):
    parser.add_argument("results", type=pathlib.Path, nargs="*")
    parser.add_argument("--check", metavar="PROGRAM")


def make(arguments):
    if (arguments.check is None) == (not arguments.results):
        sys.exit("report formats: give results, or --check PROGRAM")
    page = arguments.output.read_text()
    if arguments.check:
        return check(arguments.check, page)
    rows, machines = read(arguments.results)
    if not rows:
        sys.exit("the results have no rows: was the case `rows` left out?")
    before, inside, after = split(page)
    return before + BEGIN + render(rows, machines, inside) + END + after
