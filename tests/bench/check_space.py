"""Checks the JSON of culvert-bench-space: that each section told what it is to tell.
SPDX-License-Identifier: MIT

usage: check_space.py FILE [all] [sections=NAME,...] [starts=N] [what check_json.py has]"""
from check_json import NUMBER, OR_NOT, TEXT, check, main, sections_of

TOP = {"left_out": (list,), "results": (list,), "facts": (list,)}
FACT = {"section": (str,), "variant": (str,), "name": (str,), "value": NUMBER, "unit": TEXT, "goal": OR_NOT, "met": TEXT}
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


def look(run, options):
    for i, f in enumerate(run["facts"]):
        check(f"facts[{i}]", f, FACT)
        assert f["met"] is None, f"{f['name']}: a time of the twin is judged"
    if "all" in options:
        check_all(run)
    sections_of(options, run["facts"])
    if "starts" in options:
        check_starts(run, int(options["starts"]))


if __name__ == "__main__":
    main("culvert-bench-space", TOP, look, ("all", "sections", "starts"), lambda run: FACT)
