"""Checks the JSON of culvert-bench-calls: that what was measured was measured on both sides and checked.
SPDX-License-Identifier: MIT

usage: check_calls.py FILE [all] [measurements=NAME,...] [sanitized=WHICH] [what check_json.py has]"""
from check_json import INTERVAL, NUMBER, TEXT, check, check_spread, keys_of, main

TOP = {"allocations": (dict, type(None)), "left_out": (list,), "results": (list,)}
ALLOCATIONS = {"counted": (bool,), "frames": (int,), "culvert": (int,), "others": (int,), "control": (int,)}
RESULT = {"measurement": (str,), "variant": TEXT, "name": (str,), "kind": (str,), "calls_per_turn": (int,),
          "checks": (int,), "culvert": (dict, type(None)), "raw": (dict,), "added": (dict, type(None)),
          "ratio": (dict, type(None)),
          "goal": (dict, type(None))}
GOAL = {"ratio": NUMBER, "met": TEXT}
# All that must have been measured, on any machine: (measurement, row) and how it was compared.
ROWS = {("buffer", "import + map", "pair"), ("buffer", "import + map", "control"), ("buffer", "import", "pair"),
        ("buffer", "map", "pair"), ("buffer", "unmap", "pair"), ("buffer", "release the import", "pair"),
        ("image", "import + map", "pair"), ("image", "import", "pair"), ("image", "map", "pair"),
        ("image", "surface", "pair"), ("image", "unmap", "pair"), ("image", "release the import", "pair"),
        ("timeline", "signal + wait", "pair"), ("timeline", "signal + wait", "control"), ("timeline", "signal", "pair"),
        ("timeline", "wait", "pair"),
        ("submit", "record + submit", "pair"), ("submit", "record", "pair"), ("submit", "submit", "pair"),
        ("submit", "whole frame", "pair")}


def check_result(place, r, quick):
    check(place, r, RESULT)
    assert r["kind"] in ("pair", "control", "scale"), f"{place}: kind {r['kind']}"
    assert r["checks"] >= 2, f"{place}: {r['checks']} checks of what the calls did"
    assert r["calls_per_turn"] > 0
    for side in ("culvert", "raw"):
        if r[side] is None:
            assert side == "culvert" and r["kind"] == "scale", f"{place}: {side} was not measured"
            continue
        check_spread(f"{place}.{side}", r[side])
        assert r[side]["n"] >= (1 if quick else 40) and r[side]["p10"] > 0, f"{place}.{side}: {r[side]}"
    for key in ("added", "ratio"):
        assert (r[key] is None) == (r["kind"] == "scale"), f"{place}: {key} {r[key]}"
    if r["ratio"] is not None:
        check(f"{place}.ratio", r["ratio"], INTERVAL)
        check(f"{place}.added", r["added"], INTERVAL)
        ratio = r["ratio"]
        assert r["added"]["low"] <= r["added"]["high"], f"{place}.added: {r['added']}"
        assert 0 < ratio["low"] <= ratio["high"], f"{place}.ratio: {ratio}"
        medians = r["culvert"]["median"] / r["raw"]["median"]
        assert abs(ratio["value"] / medians - 1) < 1e-4, f"{place}.ratio: {ratio}, the medians' is {medians}"
    if r["goal"] is not None:
        check(f"{place}.goal", r["goal"], GOAL)
        assert r["goal"]["met"] in ("yes", "no", "open", None) and not (quick and r["goal"]["met"]), f"{place}.goal"


def look(report, options):
    assert report["unit"] == "us"
    for i, result in enumerate(report["results"]):
        check_result(f"results[{i}] {result.get('measurement')}, {result.get('name')}", result, report["quick"])
    places = [(r["measurement"], r["variant"], r["name"]) for r in report["results"]]
    assert len(set(places)) == len(places), "a row twice"

    for gap in report["left_out"]:
        assert gap["measurement"] not in {r["measurement"] for r in report["results"]}, gap
    allocations = report["allocations"]
    if allocations is not None:
        check("allocations", allocations, ALLOCATIONS)
        assert allocations["frames"] > 0
        assert allocations["counted"] == (options.get("sanitized", "") == ""), allocations
        assert not allocations["counted"] or (allocations["culvert"] == 0 and allocations["control"] > 0), allocations
    if "all" in options:
        rows = {(r["measurement"], r["name"], r["kind"]) for r in report["results"]}
        assert not ROWS - rows, f"not measured: {sorted(ROWS - rows)}"
        assert allocations is not None
        goals = {(r["measurement"], r["name"]): r["goal"] for r in report["results"] if r["kind"] == "pair"}
        assert goals["buffer", "import + map"]["ratio"] == 1.03 and goals["timeline", "signal + wait"]["ratio"] == 1.02
    if "measurements" in options:
        assert {r["measurement"] for r in report["results"]} == set(options["measurements"].split(","))


if __name__ == "__main__":
    main("culvert-bench-calls", TOP, look, ("all", "measurements", "sanitized"), keys_of)
