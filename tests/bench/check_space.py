"""Checks the JSON of culvert-bench-space: its keys, their types, and that each section told what it is to tell.
SPDX-License-Identifier: MIT

usage: check_space.py FILE [all] [sections=NAME,...] [starts=N] [seed=N] [documented=PAGE]"""
import json
import re
import sys

from check_json import NUMBER, TEXT, check

TOP = {"schema": (int,), "program": (str,), "culvert_version": (str,), "date": (str,), "complete": (bool,), "quick": (bool,),
       "validation": (bool,), "seed": (int,), "seconds": NUMBER, "unit": (str,), "device": (dict,), "system": (dict,),
       "left_out": (list,), "results": (list,), "facts": (list,)}
FACT = {"section": (str,), "variant": (str,), "name": (str,), "value": NUMBER, "unit": TEXT, "goal": NUMBER + (type(None),), "met": TEXT}
STARTS = {"a fresh process", "with many libraries", "with addresses in pieces", "with an allocator's ranges"}


def facts_of(run, section):
    return {(f["variant"], f["name"]): f["value"] for f in run["facts"] if f["section"] == section}


def check_starts(run, starts):
    facts = facts_of(run, "starts")
    assert {variant for variant, _ in facts} == STARTS, facts
    for variant in STARTS:
        of = {name: value for (v, name), value in facts.items() if v == variant}
        assert of["processes"] >= 1 and of["seconds for all"] > 0, of
        assert starts == 0 or variant != "a fresh process" or of["processes"] == starts, of
        # Where the host's system has libraries that cannot be loaded, such a process may not come so far.
        assert variant == "with many libraries" or of["did not come so far"] == 0, of
        assert of["no address was free"] == 0, of
        assert of["the first address was free"] <= of["processes"], of


def check_all(run):
    commits = {(r["variant"], r["name"]) for r in run["results"]}
    assert commits == {("2 MiB", "commit of a chunk"), ("2 MiB", "decommit")}, commits
    assert all(r["checks"] >= 4 for r in run["results"])
    grow = facts_of(run, "grow")
    for variant in ("plain vector", "vector in a space"):
        assert 0 <= grow[(variant, "grow call, median")] <= grow[(variant, "grow call, 99th percentile")] <= grow[(variant, "grow call, longest")]
    forest = facts_of(run, "forest")
    if not any(gap["measurement"] == "forest" for gap in run["left_out"]):
        for mode in ("one", "copy"):
            assert forest[(f"30000 particles, mode {mode}", "a frame")] > 0, forest
        assert forest[("30000 particles", "a frame, one over copy")] > 0, forest
    check_starts(run, 0)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        run = json.load(file)
    check("the report", run, TOP)
    assert run["schema"] == 1 and run["program"] == "culvert-bench-space" and run["complete"]
    for i, f in enumerate(run["facts"]):
        check(f"facts[{i}]", f, FACT)
        assert f["met"] is None, f"{f['name']}: a time of the twin is judged"
    for argument in sys.argv[2:]:
        name, _, value = argument.partition("=")
        if name == "all":
            check_all(run)
        elif name == "sections":
            assert {f["section"] for f in run["facts"]} == set(value.split(",")), value
        elif name == "starts":
            check_starts(run, int(value))
        elif name == "seed":
            assert run["seed"] == int(value)
        elif name == "documented":
            with open(value, encoding="utf-8") as page:
                known = set(re.findall(r"`([a-z_0-9]+)`", page.read()))
            missing = set(FACT) - known
            assert not missing, f"{value} does not say what these are: {sorted(missing)}"
        else:
            sys.exit(f"unknown argument {argument}")


main()
