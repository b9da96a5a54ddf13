"""Checks the JSON of culvert-bench-memory: that each scheme ran, and that all was freed.
SPDX-License-Identifier: MIT

usage: check_memory.py FILE [all] [sections=NAME,...] [left_out=NAME] [what check_json.py has]"""
from check_json import NUMBER, OR_NOT, TEXT, check, check_spread, main, sections_of

TOP = {"limit": (int,), "granularity": (int,), "words_checked": (int,), "objects": (dict,), "left_out": (list,), "times": (list,),
       "memory": (list,), "facts": (list,)}
OBJECTS = {"made": (int,), "freed": (int,)}
TIMES = {"section": (str,), "scheme": (str,), "variant": TEXT, "what": (str,), "bytes": (int,), "count": (int,), "us": (dict,), "p99": NUMBER,
         "most": NUMBER, "ratios": (list,), "goal_us": OR_NOT, "met": TEXT}
RATIO = {"to": (str,), "value": NUMBER, "low": NUMBER, "high": NUMBER, "goal": OR_NOT, "met": TEXT}
MEMORY = {"variant": (str,), "scheme": (str,), "bytes": (int,), "committed": (int,), "used": (int,), "peak": (int,)}
FACT = {"section": (str,), "scheme": (str,), "variant": TEXT, "name": (str,), "value": NUMBER, "unit": TEXT, "met": TEXT}
SECTIONS = {"grow", "chunks", "ahead", "free", "peers", "large"}


def check_rows(run):
    for i, r in enumerate(run["times"]):
        place = f"times[{i}] {r.get('section')}, {r.get('scheme')}, {r.get('variant')}, {r.get('what')}"
        check(place, r, TIMES)
        check_spread(f"{place}.us", r["us"])
        for ratio in r["ratios"]:
            check(f"{place}.ratios", ratio, RATIO)
            assert 0 < ratio["low"] <= ratio["high"] and ratio["met"] is None, f"{place}: {ratio}"
    places = [(r["section"], r["scheme"], r["variant"], r["what"], r["bytes"]) for r in run["times"]]
    assert len(set(places)) == len(places), "a row twice"
    for i, m in enumerate(run["memory"]):
        check(f"memory[{i}]", m, MEMORY)
        # The twin accounts for what there is, exactly.
        assert m["peak"] >= m["used"] == m["committed"] >= m["bytes"] or m["scheme"].startswith(("cuMemAlloc", "managed")), m
        assert m["peak"] == m["committed"] or m["scheme"].startswith(("cuMemAlloc +", "managed")), m
    for i, fact in enumerate(run["facts"]):
        check(f"facts[{i}]", fact, FACT)


def check_all(run):
    assert {r["section"] for r in run["times"]} == SECTIONS
    grown = {(r["scheme"], r["variant"]) for r in run["times"] if r["what"] == "all doublings" and r["section"] == "grow"}
    schemes = {scheme for scheme, _ in grown}
    managed = {"managed + copy", "managed + copy + prefetch", "managed + prefetch"}
    assert schemes == {"culv_vector", "raw VMM", "raw VMM (A/A)", "cuMemAlloc + copy", "cuMemAlloc"} | managed, grown
    assert len(grown) == 12, grown
    goals = sorted(ratio["goal"] for r in run["times"] for ratio in r["ratios"] if ratio["goal"] is not None)
    assert goals == [0.3, 1.03], goals
    assert {r["goal_us"] for r in run["times"] if r["section"] == "ahead"} == {5, None}
    moves = {(f["scheme"], f["variant"]): f["value"] for f in run["facts"] if f["name"] == "moves" and f["section"] == "grow"}
    assert len(moves) == 4 and moves["culv_vector", "not reserved, moves"] == moves["raw VMM", "not reserved, moves"] > 0, moves
    assert [f["value"] for f in run["facts"] if f["name"] == "moves" and f["section"] == "large"] == [0]
    assert len({r["variant"] for r in run["times"] if r["section"] == "chunks"}) == 6
    assert {r["scheme"] for r in run["times"] if r["section"] == "peers"} == {"cuMemAlloc", "cuCtxEnablePeerAccess", "raw VMM", "culv_vector"}
    assert {"nothing", "cuMemFree", "cuMemFreeAsync", "culv_vector_shrink"} <= {r["scheme"] for r in run["times"] if r["section"] == "free"}


def look(run, options):
    assert run["unit"] == "us"
    check("objects", run["objects"], OBJECTS)
    assert run["objects"]["made"] == run["objects"]["freed"] > 0 and run["words_checked"] > 0
    check_rows(run)
    if "all" in options:
        check_all(run)
    sections_of(options, run["times"])
    if "left_out" in options:
        assert [gap["measurement"] for gap in run["left_out"]] == [options["left_out"]], run["left_out"]


if __name__ == "__main__":
    main("culvert-bench-memory", TOP, look, ("all", "sections", "left_out"))
