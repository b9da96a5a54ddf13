"""Checks the JSON of culvert-bench-memory: its keys, their types, that each scheme ran, and that all was freed.
SPDX-License-Identifier: MIT

usage: check_memory.py FILE [all] [sections=NAME,...] [left_out=NAME] [seed=N] [documented=PAGE]"""
import json
import re
import sys

from check_json import DEVICE, NUMBER, SPREAD, SYSTEM, TEXT, check, keys_of

TOP = {"schema": (int,), "program": (str,), "culvert_version": (str,), "date": (str,), "complete": (bool,), "quick": (bool,),
       "validation": (bool,), "seed": (int,), "seconds": NUMBER, "unit": (str,), "device": (dict,), "system": (dict,),
       "limit": (int,), "granularity": (int,), "words_checked": (int,), "objects": (dict,), "left_out": (list,), "times": (list,),
       "memory": (list,), "facts": (list,)}
OBJECTS = {"made": (int,), "freed": (int,)}
TIMES = {"section": (str,), "scheme": (str,), "variant": TEXT, "what": (str,), "bytes": (int,), "count": (int,), "us": (dict,), "p99": NUMBER,
         "most": NUMBER, "ratios": (list,), "goal_us": NUMBER + (type(None),), "met": TEXT}
RATIO = {"to": (str,), "value": NUMBER, "low": NUMBER, "high": NUMBER, "goal": NUMBER + (type(None),), "met": TEXT}
MEMORY = {"variant": (str,), "scheme": (str,), "bytes": (int,), "committed": (int,), "used": (int,), "peak": (int,)}
FACT = {"section": (str,), "scheme": (str,), "variant": TEXT, "name": (str,), "value": NUMBER, "unit": TEXT, "met": TEXT}
SECTIONS = {"grow", "chunks", "ahead", "free", "peers", "large"}


def check_rows(run):
    for i, r in enumerate(run["times"]):
        place = f"times[{i}] {r.get('section')}, {r.get('scheme')}, {r.get('variant')}, {r.get('what')}"
        check(place, r, TIMES)
        check(f"{place}.us", r["us"], SPREAD)
        assert 0 <= r["us"]["p10"] <= r["us"]["median"] <= r["us"]["p90"], f"{place}: {r['us']}"
        for ratio in r["ratios"]:
            check(f"{place}.ratios", ratio, RATIO)
            assert 0 < ratio["low"] <= ratio["high"] and ratio["met"] is None, f"{place}: {ratio}"
    places = [(r["section"], r["scheme"], r["variant"], r["what"], r["bytes"]) for r in run["times"]]
    assert len(set(places)) == len(places), "a row twice"
    for i, m in enumerate(run["memory"]):
        check(f"memory[{i}]", m, MEMORY)
        # The twin accounts for what there is, exactly.
        assert m["peak"] >= m["used"] == m["committed"] >= m["bytes"] or m["scheme"].startswith("cuMemAlloc"), m
        assert m["peak"] == m["committed"] or m["scheme"].startswith("cuMemAlloc +"), m
    for i, fact in enumerate(run["facts"]):
        check(f"facts[{i}]", fact, FACT)


def check_all(run):
    assert {r["section"] for r in run["times"]} == SECTIONS
    grown = {(r["scheme"], r["variant"]) for r in run["times"] if r["what"] == "all doublings" and r["section"] == "grow"}
    schemes = {scheme for scheme, _ in grown}
    assert schemes == {"culv_vector", "raw VMM", "raw VMM (A/A)", "cuMemAlloc + copy", "cuMemAlloc"} and len(grown) == 9, grown
    goals = sorted(ratio["goal"] for r in run["times"] for ratio in r["ratios"] if ratio["goal"] is not None)
    assert goals == [0.3, 1.03], goals
    assert {r["goal_us"] for r in run["times"] if r["section"] == "ahead"} == {5, None}
    moves = {(f["scheme"], f["variant"]): f["value"] for f in run["facts"] if f["name"] == "moves" and f["section"] == "grow"}
    assert len(moves) == 4 and moves["culv_vector", "not reserved, moves"] == moves["raw VMM", "not reserved, moves"] > 0, moves
    assert [f["value"] for f in run["facts"] if f["name"] == "moves" and f["section"] == "large"] == [0]
    assert len({r["variant"] for r in run["times"] if r["section"] == "chunks"}) == 6
    assert {r["scheme"] for r in run["times"] if r["section"] == "peers"} == {"cuMemAlloc", "cuCtxEnablePeerAccess", "raw VMM", "culv_vector"}
    assert {"nothing", "cuMemFree", "cuMemFreeAsync", "culv_vector_shrink"} <= {r["scheme"] for r in run["times"] if r["section"] == "free"}


def check_report(run, wanted):
    options = dict(word.partition("=")[::2] for word in wanted)
    check("report", run, TOP)
    assert run["schema"] == 1 and run["program"] == "culvert-bench-memory" and run["unit"] == "us" and run["complete"]
    check("device", run["device"], DEVICE)
    check("system", run["system"], SYSTEM)
    check("objects", run["objects"], OBJECTS)
    assert run["objects"]["made"] == run["objects"]["freed"] > 0 and run["words_checked"] > 0
    check_rows(run)
    if "all" in options:
        check_all(run)
    if "sections" in options:
        assert {r["section"] for r in run["times"]} == set(options["sections"].split(","))
    if "left_out" in options:
        assert [gap["measurement"] for gap in run["left_out"]] == [options["left_out"]], run["left_out"]
    assert "seed" not in options or run["seed"] == int(options["seed"])
    if "documented" in options:
        with open(options["documented"], encoding="utf-8") as page:
            documented = set(re.findall(r"`([A-Za-z0-9_]+)`", page.read()))
        # What every benchmark's JSON has is on the page of the first one.
        missing = sorted(set(keys_of(run)) - documented - set(DEVICE) - set(SYSTEM) - {"measurement", "reason"})
        assert not missing, f"keys that the page does not have: {missing}"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        run = json.load(file)
    try:
        check_report(run, sys.argv[2:])
    except AssertionError as error:
        sys.exit(f"{sys.argv[1]}: {error}" if str(error) else f"{sys.argv[1]}: not as {sys.argv[2:]} say")


if __name__ == "__main__":
    main()
