"""Checks the JSON of culvert-bench: that every frame of every scheme was checked and right.
SPDX-License-Identifier: MIT

usage: check_frames.py FILE all|advise|choice|chosen|many|search|trace"""
from check_json import INTERVAL, NUMBER, SPREAD, TEXT, check, check_spread, main

TOP = {"clocks": (dict,), "left_out": (list,), "frames": (list,), "mailbox": (list,), "small": (list,), "wakes": (list,), "pairs": (list,)}
CLOCKS = {"known": (bool,), "same": (bool,), "error": NUMBER}
FRAMES = {"section": (str,), "scheme": (str,), "variant": TEXT, "bytes": (int,), "work": (str,), "draws": (int,), "solver_wanted": NUMBER,
          "renderer_wanted": NUMBER, "solver_alone": NUMBER, "renderer_alone": NUMBER, "depth": (int,), "burst": (int,),
          "max_latency_ns": (int,), "frames": (int,), "chosen": (dict, type(None)), "left_out": TEXT, "us": (dict, type(None)),
          "of_ideal": (dict, type(None)), "cpu": NUMBER, "interval_p99": NUMBER, "hand_over": NUMBER,
          "hand_over_p99": NUMBER, "age": NUMBER, "age_p99": NUMBER, "checked": (int,), "wrong": (int,),
          "over_raw": (dict, type(None))}
CHOSEN = {"host_waits_for_cuda": (bool,), "tries": (bool,)}
MAILBOX = {"name": (str,), "side": (str,), "alone": NUMBER, "uncoupled": NUMBER, "rate": NUMBER, "frames": (int,),
           "skipped": (int,)}

SMALL = {"by": (str,), "between": (str,), "queue": (str,), "secondary": (bool,), "launches": (int,), "blocks": (int,),
         "us": (dict,), "gpu": (dict, type(None)), "wrong": (int,)}
BARRIERS = {"none", "execution", "execution, compute stage", "buffer", "buffer, compute stage", "memory, compute stage", "memory",
            "memory, every 8th"}

WAKE = {"of": (str,), "way": (str,), "load": NUMBER, "left_out": TEXT, "frames": (int,), "late": (dict, type(None)), "late_p99": NUMBER,
        "cpu": NUMBER, "watts": NUMBER, "clock_error": NUMBER}


def check_row(place, r):
    check(place, r, FRAMES)
    assert (r["chosen"] is not None) == (r["variant"] == "the ring chooses"), place
    if r["chosen"] is not None:
        check(f"{place}.chosen", r["chosen"], CHOSEN)
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
    assert {r["section"] for r in run["frames"]} == {"frames", "overlap", "latency", "graphs", "sizes", "loads", "waits", "backwards", "processes"}
    schemes = {r["scheme"] for r in run["frames"] if r["section"] == "frames"}
    assert schemes == {"solver alone", "renderer alone", "host waits", "staged", "raw ring", "culv_ring", "raw in-queue", "in-queue",
                       "raw async", "async"}, schemes
    assert {r["work"] for r in run["frames"] if r["section"] != "overlap"} == {"arithmetic"}
    for work in ("blocks", "short blocks", "small", "memory"):
        rows = [r for r in run["frames"] if r["section"] == "overlap" and r["work"] == work]
        assert {r["scheme"] for r in rows} == {"solver alone", "renderer alone", "raw ring", "raw in-queue", "in-queue", "raw async", "async"}, rows
        assert all(r["left_out"] is None and r["checked"] > 0 for r in rows if not r["scheme"].endswith(" alone")), rows
    for r in run["frames"]:
        if r["scheme"] in ("in-queue", "async") and r["section"] != "backwards":
            assert r["left_out"] is None and r["over_raw"] is not None, r
    launches = [p for p in run["pairs"] if p["measurement"] == "launches"]
    assert {p["name"] for p in launches} == {"stream", "graph", "recorded once", "recorded anew", "recording a launch"}, launches
    assert all(p["checks"] > 0 for p in launches), launches
    raw = {(r["depth"], r["burst"]) for r in run["frames"] if r["section"] == "frames" and r["scheme"] == "raw ring"}
    ring = {(r["depth"], r["burst"]): r for r in run["frames"] if r["section"] == "frames" and r["scheme"] == "culv_ring"}
    assert raw == set(ring) == {(1, 1), (2, 1), (4, 1), (2, 2), (4, 2), (4, 4)}, (raw, ring)
    assert all(r["over_raw"] is not None for r in ring.values())
    waits = {(r["depth"], r["variant"]) for r in run["frames"] if r["section"] == "waits" and r["scheme"] == "culv_ring"}
    hosts = (None, "CUDA waits on the host", "Vulkan waits on the host", "both wait on the host")
    assert {w for w in waits if w[1] != "the ring chooses"} == {(depth, who) for depth in (1, 2) for who in hosts}, waits
    assert len([w for w in waits if w[1] == "the ring chooses"]) == 1, waits
    assert "culv_ring, graphs" in {r["scheme"] for r in run["frames"] if r["us"] is not None}
    assert any(r["max_latency_ns"] for r in run["frames"])
    assert [m["side"] for m in run["mailbox"]] == ["solver", "renderer"] * 2
    for i, m in enumerate(run["mailbox"]):
        check(f"mailbox[{i}]", m, MAILBOX)
        assert m["alone"] > 0 and m["uncoupled"] > 0 and m["rate"] > 0 and m["frames"] > 0, m
    assert {p["measurement"] for p in run["pairs"]} == {"copies", "calls", "launches"}
    back = [r for r in run["frames"] if r["section"] == "backwards" and not r["scheme"].endswith(" alone")]
    assert {(r["depth"], r["variant"]) for r in back if r["scheme"] == "culv_ring" and r["variant"] != "the ring chooses"} == {
        (depth, who) for depth in (1, 2) for who in hosts}, back
    assert {"host waits", "in-queue"} <= {r["scheme"] for r in back} and any(r["variant"] == "the ring chooses" for r in back), back
    assert all(r["left_out"] is None for r in back), back
    two = [r for r in run["frames"] if r["section"] == "processes" and not r["scheme"].endswith(" alone")]
    assert {(r["scheme"], r["depth"], r["variant"]) for r in two} == {
        ("culv_ipc_ring", depth, who) for depth in (1, 2) for who in (None, "Vulkan waits on the host")}, two
    assert all(r["checked"] == r["frames"] * r["us"]["n"] and r["age_p99"] > 0 for r in two), two
    check_small(run)
    check_wakes(run)


def check_wakes(run):
    for i, r in enumerate(run["wakes"]):
        check(f"wakes[{i}]", r, WAKE)
        if r["left_out"] is None:
            check(f"wakes[{i}].late", r["late"], SPREAD)
            assert r["late"]["n"] == r["frames"] == 4 and r["late_p99"] >= r["late"]["median"] and r["cpu"] > 0, r
    ways = {of: [r for r in run["wakes"] if r["of"] == of] for of in ("CUDA", "Vulkan")}
    assert len(ways["CUDA"]) == 7 and len(ways["Vulkan"]) == 8, ways
    left = {r["way"] for r in run["wakes"] if r["left_out"]}
    assert left <= {"vkGetFenceFdKHR (SYNC_FD), poll"}, left
    assert any(g["measurement"] == "wakes" and "power" in g["reason"] for g in run["left_out"]), run["left_out"]


def check_small(run):
    rows = run["small"]
    for i, r in enumerate(rows):
        check(f"small[{i}]", r, SMALL)
        check_spread(f"small[{i}].us", r["us"])
        assert r["us"]["median"] > 0 and r["wrong"] == 0, r  # the twin runs one launch after the other
    for launches in (1, 16):
        of = [r for r in rows if r["launches"] == launches and r["queue"] in ("CUDA", "graphics")]
        for by in ("kernels", "shader"):
            assert {r["between"] for r in of if r["by"] == by and not r["secondary"]} == BARRIERS, of
        assert {(r["by"], r["between"]) for r in of if r["by"] not in ("kernels", "shader")} == {
            ("stream", "memory"), ("graph", "memory"), ("graph", "none"), ("recorded graph", "memory"), ("recorded graph", "none"),
            ("barriers alone", "memory"), ("barriers alone", "memory, compute stage")}, of
        assert any(r["secondary"] for r in of), of


def check_chosen(run):
    rows = [r for r in run["frames"] if not r["scheme"].endswith(" alone")]
    assert [(r["scheme"], r["depth"], r["burst"]) for r in rows] == [("culv_ring", 3, 3), ("culv_ring", 6, 3)], rows
    assert run["seed"] == 5
    for r in rows:
        assert r["bytes"] == 131072 and r["frames"] == 50 and r["us"]["n"] == 2 and r["solver_wanted"] == 10, r


def check_choice(run):
    rows = [r for r in run["frames"] if not r["scheme"].endswith(" alone")]
    ways = {(depth, who) for depth in (1, 2) for who in (None, "CUDA waits on the host")}
    for section in ("waits", "backwards"):
        of = [r for r in rows if r["section"] == section]
        assert {r["scheme"] for r in of} == {"culv_ring"} and len(of) == len(ways) + 1, of
        assert {(r["depth"], r["variant"]) for r in of if r["chosen"] is None} == ways, of


def check_advise(run):
    rows = [r for r in run["frames"] if not r["scheme"].endswith(" alone")]
    assert {r["scheme"] for r in rows} == {"culv_ring", "in-queue", "async"}, rows
    assert all(r["solver_wanted"] == 10 and r["renderer_wanted"] == 20 for r in rows), rows


def check_trace(run):
    rows = [r for r in run["frames"] if not r["scheme"].endswith(" alone")]
    assert {r["scheme"] for r in rows} == {"culv_ring", "in-queue", "async"}, rows
    assert all(r["frames"] == 20 and r["checked"] >= 20 for r in rows), rows
    assert all(abs(r["solver_wanted"] - 14.6) < 0.01 and abs(r["renderer_wanted"] - 38.25) < 0.01 for r in rows), rows


def check_many(run):
    rows = [r for r in run["frames"] if not r["scheme"].endswith(" alone")]
    assert [(r["scheme"], r["depth"], r["work"]) for r in rows] == [("in-queue", 1, "memory"), ("async", 2, "memory")], rows
    assert all(r["frames"] == 2500 and r["checked"] >= 2500 for r in rows), rows


def check_search(run):
    variants = {r["variant"] for r in run["frames"] if r["scheme"] == "raw ring"}
    for name in (None, "greatest stream priority", "a submit call a frame", "a signal a frame", "both late",
                 "compute on the graphics queue"):
        assert name in variants, f"{name} is not among {variants}"


def look(run, options):
    check("clocks", run["clocks"], CLOCKS)
    assert run["unit"] == "us"
    for i, r in enumerate(run["frames"]):
        check_row(f"frames[{i}] ({r['section']}, {r['scheme']}, {r['depth']}/{r['burst']})", r)
    for name in CASES.keys() & options.keys():
        CASES[name](run)


CASES = {"advise": check_advise, "all": check_all, "choice": check_choice, "chosen": check_chosen, "many": check_many, "search": check_search, "trace": check_trace}
if __name__ == "__main__":
    main("culvert-bench", TOP, look, CASES)
