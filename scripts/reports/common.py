"""What the reports share: results that are read, numbers as text, and tables.
SPDX-License-Identifier: MIT
"""
import json
import pathlib
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


# Markdown, as lists of lines -----------------------------------------------------------------------------------------

def table_lines(header, rows, words=1):
    """The first columns are words, the others numbers."""
    return (["| " + " | ".join(header) + " |", "|" + "---|" * words + "---:|" * (len(header) - words)]
            + ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows])


def table(header, rows, words=1):
    return table_lines(header, rows, words) + [""]
