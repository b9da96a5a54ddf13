"""Checks the JSON of culvert-bench: that every frame of every scheme was checked and right.
SPDX-License-Identifier: MIT

usage: check_frames.py FILE all|advise|across=BESIDE|chosen|many"""
from check_calls import check_result
from check_json import INTERVAL, NUMBER, SPREAD, TEXT, check, check_spread, main

TOP = {"solver_device": (int,), "clocks": (dict,), "left_out": (list,), "frames": (list,), "results": (list,)}
CLOCKS = {"known": (bool,), "same": (bool,), "error": NUMBER}
FRAMES = {"section": (str,), "scheme": (str,), "variant": TEXT, "bytes": (int,), "work": (str,), "draws": (int,), "solver_wanted": NUMBER,
          "renderer_wanted": NUMBER, "solver_alone": NUMBER, "renderer_alone": NUMBER, "depth": (int,), "burst": (int,),
          "max_latency_ns": (int,), "frames": (int,), "left_out": TEXT, "us": (dict, type(None)),
          "of_ideal": (dict, type(None)), "cpu": NUMBER, "interval_p99": NUMBER, "hand_over": NUMBER,
          "hand_over_p99": NUMBER, "age": NUMBER, "age_p99": NUMBER, "checked": (int,), "wrong": (int,),
          "over_raw": (dict, type(None))}


def check_row(place, r):
    check(place, r, FRAMES)
    if r["left_out"] is not None:
        return
    check(f"{place}.us", r["us"], SPREAD)
    check(f"{place}.of_ideal", r["of_ideal"], SPREAD)
    assert r["us"]["median"] > 0 and r["solver_alone"] > 0 and r["renderer_alone"] > 0, place
    assert 1 <= r["burst"] <= r["depth"] <= 64, place
    assert r["wrong"] == 0, f"{place}: {r['wrong']} pixels saw a wrong frame"
    if r["over_raw"] is not None:
        check(f"{place}.over_raw", r["over_raw"], INTERVAL)
    if r["scheme"].endswith(" alone"):
        return
    assert r["checked"] >= r["frames"] * r["us"]["n"], f"{place}: {r['checked']} frames were checked"


def check_all(run):
    assert {r["section"] for r in run["frames"]} == {"frames", "overlap", "latency", "sizes", "loads", "waits", "backwards", "streams"}
    schemes = {r["scheme"] for r in run["frames"] if r["section"] == "frames"}
    assert schemes == {"solver alone", "renderer alone", "host waits", "raw ring", "culv_ring", "raw in-queue", "in-queue",
                       "raw async", "async"}, schemes
    assert {r["work"] for r in run["frames"] if r["section"] != "overlap"} == {"arithmetic"}
    for work in ("blocks", "short blocks", "small", "memory"):
        rows = [r for r in run["frames"] if r["section"] == "overlap" and r["work"] == work]
        assert {r["scheme"] for r in rows} == {"solver alone", "renderer alone", "raw ring", "raw in-queue", "in-queue", "raw async", "async"}, rows
        assert all(r["left_out"] is None and r["checked"] > 0 for r in rows if not r["scheme"].endswith(" alone")), rows
    for r in run["frames"]:
        if r["scheme"] in ("in-queue", "async") and r["section"] != "backwards":
            assert r["left_out"] is None and r["over_raw"] is not None, r
    raw = {(r["depth"], r["burst"]) for r in run["frames"] if r["section"] == "frames" and r["scheme"] == "raw ring"}
    ring = {(r["depth"], r["burst"]): r for r in run["frames"] if r["section"] == "frames" and r["scheme"] == "culv_ring"}
    assert raw == set(ring) == {(1, 1), (2, 1), (4, 1), (2, 2), (4, 2), (4, 4)}, (raw, ring)
    assert all(r["over_raw"] is not None for r in ring.values())
    waits = {(r["depth"], r["variant"]) for r in run["frames"] if r["section"] == "waits" and r["scheme"] == "culv_ring"}
    hosts = (None, "CUDA waits on the host", "Vulkan waits on the host", "both wait on the host")
    assert waits == {(depth, who) for depth in (1, 2) for who in hosts}, waits
    assert any(r["max_latency_ns"] for r in run["frames"])
    back = [r for r in run["frames"] if r["section"] == "backwards" and not r["scheme"].endswith(" alone")]
    assert {(r["depth"], r["variant"]) for r in back if r["scheme"] == "culv_ring"} == {
        (depth, who) for depth in (1, 2) for who in hosts}, back
    assert {"host waits", "in-queue"} <= {r["scheme"] for r in back}, back
    assert all(r["left_out"] is None for r in back), back


def check_chosen(run):
    rows = [r for r in run["frames"] if not r["scheme"].endswith(" alone")]
    assert [(r["scheme"], r["depth"], r["burst"]) for r in rows] == [("culv_ring", 3, 3), ("culv_ring", 6, 3)], rows
    assert run["seed"] == 5
    for r in rows:
        assert r["bytes"] == 131072 and r["frames"] == 50 and r["us"]["n"] == 2 and r["solver_wanted"] == 10, r


def check_advise(run):
    rows = [r for r in run["frames"] if not r["scheme"].endswith(" alone")]
    assert {r["scheme"] for r in rows} == {"culv_ring", "in-queue", "async"}, rows
    assert all(r["solver_wanted"] == 10 and r["renderer_wanted"] == 20 for r in rows), rows


def check_across(run, beside):
    rows = run["results"]
    assert [(r["name"], r["variant"]) for r in rows] == [
        ("kernel", "64 KiB beside cuMemcpyPeerAsync"), ("copy", "64 KiB beside cuMemcpyPeerAsync"),
        *((name, f"64 KiB handed over beside {beside}")
          for name in ("kernel, 1 buffer", "copy, 1 buffer", "copy, 2 buffers", "copy, the host waits"))], rows
    for r in rows:
        check_result(r["name"], r, run["quick"])
        # Each turn of both sides, and the frames before and after
        assert r["checks"] >= 2 * r["raw"]["n"] + 2, r
    assert (beside == "NCCL") == (not run["left_out"]), run["left_out"]


def check_many(run):
    rows = [r for r in run["frames"] if not r["scheme"].endswith(" alone")]
    assert [(r["scheme"], r["depth"], r["work"]) for r in rows] == [("in-queue", 1, "memory"), ("async", 2, "memory")], rows
    assert all(r["frames"] == 2500 and r["checked"] >= 2500 for r in rows), rows


def look(run, options):
    check("clocks", run["clocks"], CLOCKS)
    assert run["unit"] == "us"
    for i, r in enumerate(run["frames"]):
        check_row(f"frames[{i}] ({r['section']}, {r['scheme']}, {r['depth']}/{r['burst']})", r)
    for name in CASES.keys() & options.keys():
        CASES[name](run, options[name]) if options[name] else CASES[name](run)


CASES = {"across": check_across, "advise": check_advise, "all": check_all, "chosen": check_chosen, "many": check_many}
if __name__ == "__main__":
    main("culvert-bench", TOP, look, CASES)
