"""Checks the JSON of culvert-bench-import: which steps each kind of process did.
SPDX-License-Identifier: MIT

usage: check_import.py FILE"""
from check_json import NUMBER, check, check_spread, main

TOP = {"left_out": (list,), "import": (list,)}
ROW = {"cuda": (bool,), "extension": (bool,), "step": (str,), "us": (dict,), "device": NUMBER, "budget": NUMBER, "host": NUMBER}


def look(run, options):
    steps = {}
    for i, r in enumerate(run["import"]):
        check(f"import[{i}]", r, ROW)
        check_spread(f"import[{i}].us", r["us"])
        assert r["us"]["median"] > 0, r
        steps.setdefault((r["cuda"], r["extension"]), []).append(r["step"])
    kernels = ["module", "function", "launch", "module again"]
    assert steps == {(cuda, extension): ["cuda"] * cuda + ["instance", "device"] + kernels * extension
                     for cuda in (False, True) for extension in (False, True)}, steps


if __name__ == "__main__":
    main("culvert-bench-import", TOP, look)
