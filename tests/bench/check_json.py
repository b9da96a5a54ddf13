"""Checks the JSON of culvert-bench-calls: its keys, their types, and that what was measured was measured on both
sides and checked. SPDX-License-Identifier: MIT

usage: check_json.py FILE [all] [incomplete] [measurements=NAME,...] [seed=N] [sanitized=WHICH] [documented=PAGE]"""
import json
import re
import sys

TEXT = (str, type(None))
NUMBER = (int, float)
TOP = {"schema": (int,), "program": (str,), "culvert_version": (str,), "date": (str,), "complete": (bool,), "quick": (bool,),
       "validation": (bool,), "seed": (int,), "seconds": NUMBER, "unit": (str,), "device": (dict,), "system": (dict,),
       "allocations": (dict, type(None)), "left_out": (list,), "results": (list,)}
DEVICE = {"name": (str,), "software": (bool,), "uuid": (str,), "cuda_version": (str,), "vulkan_name": (str,),
          "vulkan_driver": (str,), "vulkan_version": (str,), "queue_families": (list,)}
SYSTEM = {"processor": TEXT, "processors": (int,), "kernel": TEXT}
ALLOCATIONS = {"counted": (bool,), "frames": (int,), "culvert": (int,), "others": (int,), "control": (int,)}
RESULT = {"measurement": (str,), "variant": TEXT, "name": (str,), "kind": (str,), "calls_per_turn": (int,),
          "checks": (int,), "culvert": (dict, type(None)), "raw": (dict,), "added": (dict, type(None)),
          "ratio": (dict, type(None)),
          "goal": (dict, type(None))}
SPREAD = {"n": (int,), "median": NUMBER, "p10": NUMBER, "p90": NUMBER}
INTERVAL = {"value": NUMBER, "low": NUMBER, "high": NUMBER}
GOAL = {"ratio": NUMBER, "met": TEXT}
# All that must have been measured, on any machine: (measurement, row) and how it was compared.
ROWS = {("buffer", "import + map", "pair"), ("buffer", "import + map", "control"), ("buffer", "import", "pair"),
        ("buffer", "map", "pair"), ("buffer", "unmap", "pair"), ("buffer", "release the import", "pair"),
        ("image", "import + map", "pair"), ("image", "import", "pair"), ("image", "map", "pair"),
        ("image", "surface", "pair"), ("image", "unmap", "pair"), ("image", "release the import", "pair"),
        ("check", "check", "pair"),
        ("create", "create", "pair"), ("create", "destroy", "pair"), ("batch", "signal 4 + wait for 4", "pair"),
        ("batch", "signal 4", "pair"), ("batch", "wait for 4", "pair"),
        ("timeline", "signal + wait", "pair"), ("timeline", "signal + wait", "control"), ("timeline", "signal", "pair"),
        ("timeline", "wait", "pair"), ("timeline import", "import", "pair"), ("timeline import", "destroy", "pair"),
        ("submit", "record + submit", "pair"), ("submit", "record", "pair"), ("submit", "submit", "pair"),
        ("submit", "whole frame", "pair"), ("round trip", "CUDA -> Vulkan -> CUDA", "pair"),
        ("streams", "by a timeline", "pair"), ("streams", "by an event", "scale")}


def check(place, value, keys):
    assert list(value) == list(keys), f"{place}: keys {list(value)}, expected {list(keys)}"
    for key, types in keys.items():
        # bool is a kind of int in Python, not in JSON
        fits = isinstance(value[key], types) and (bool in types or not isinstance(value[key], bool))
        assert fits, f"{place}.{key}: {value[key]!r} is not of {types}"


def check_result(place, r, quick):
    check(place, r, RESULT)
    assert r["kind"] in ("pair", "control", "scale"), f"{place}: kind {r['kind']}"
    assert r["checks"] >= 2, f"{place}: {r['checks']} checks of what the calls did"
    assert r["calls_per_turn"] > 0
    for side in ("culvert", "raw"):
        if r[side] is None:
            assert side == "culvert" and r["kind"] == "scale", f"{place}: {side} was not measured"
            continue
        check(f"{place}.{side}", r[side], SPREAD)
        spread = r[side]
        assert spread["n"] >= (1 if quick else 40), f"{place}.{side}: n {spread['n']}"
        assert 0 < spread["p10"] <= spread["median"] <= spread["p90"], f"{place}.{side}: {spread}"
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


def keys_of(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner)


def check_report(report, wanted):
    options = dict(word.partition("=")[::2] for word in wanted)
    check("report", report, TOP)
    assert report["schema"] == 1 and report["program"] == "culvert-bench-calls" and report["unit"] == "us"
    assert report["complete"] == ("incomplete" not in options)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", report["date"]), report["date"]
    check("device", report["device"], DEVICE)
    assert re.fullmatch(r"[0-9a-f]{32}", report["device"]["uuid"]) and report["device"]["queue_families"]
    check("system", report["system"], SYSTEM)
    for i, result in enumerate(report["results"]):
        check_result(f"results[{i}] {result.get('measurement')}, {result.get('name')}", result, report["quick"])
    places = [(r["measurement"], r["variant"], r["name"]) for r in report["results"]]
    assert len(set(places)) == len(places), "a row twice"

    for i, gap in enumerate(report["left_out"]):
        check(f"left_out[{i}]", gap, {"measurement": (str,), "reason": (str,)})
        assert gap["reason"] and gap["measurement"] not in {r["measurement"] for r in report["results"]}, gap
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
        families = {re.match(r"queue family (\d+)", r["variant"]).group(1) for r in report["results"]
                    if r["measurement"] == "round trip"}
        assert len(families) == len(report["device"]["queue_families"]), families
        goals = {(r["measurement"], r["name"]): r["goal"] for r in report["results"] if r["kind"] == "pair"}
        assert goals["buffer", "import + map"]["ratio"] == 1.03 and goals["timeline", "signal + wait"]["ratio"] == 1.02
    if "measurements" in options:
        assert {r["measurement"] for r in report["results"]} == set(options["measurements"].split(","))
    assert "seed" not in options or report["seed"] == int(options["seed"])
    if "documented" in options:
        with open(options["documented"], encoding="utf-8") as page:
            documented = set(re.findall(r"`([A-Za-z0-9_]+)`", page.read()))
        missing = sorted(set(keys_of(report)) - documented)
        assert not missing, f"keys that the page does not have: {missing}"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    try:
        check_report(report, sys.argv[2:])
    except AssertionError as error:
        sys.exit(f"{sys.argv[1]}: {error}" if str(error) else f"{sys.argv[1]}: not as {sys.argv[2:]} say")


if __name__ == "__main__":
    main()
