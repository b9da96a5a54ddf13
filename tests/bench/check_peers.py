"""Checks the JSON of culvert-bench-peers: its keys, their types, and that each row was run to its end.
SPDX-License-Identifier: MIT

usage: check_peers.py FILE"""
import json
import sys

from check_json import NUMBER, check

TOP = {"schema": (int,), "benchmark": (str,), "version": (str,), "software": (bool,), "frames": (int,), "pace_us": (int,),
       "limit_us": (int,), "slots": (int,), "rows": (list,)}
ROW = {"third": (str,), "policy": (str,), "done": (bool,), "call_median_us": NUMBER, "call_longest_us": NUMBER,
       "frame_median_us": NUMBER, "frame_longest_us": NUMBER, "produced": (int,), "every": (int,), "every_lost": (int,),
       "newest": (int,), "newest_lost": (int,), "wrong": (int,), "dropped": (bool,), "lag": (str,), "behind": (int,),
       "told": (str,)}
DEEDS = ("keeps_up", "stops", "stops_busy", "slow_gpu", "lies", "dies", "never_reads")


def check_report(run):
    check("report", run, TOP)
    assert run["schema"] == 1 and run["benchmark"] == "peers"
    assert [(r["third"], r["policy"]) for r in run["rows"]] == [(d, p) for p in ("FIFO", "MAILBOX") for d in DEEDS]
    for i, r in enumerate(run["rows"]):
        place = f"rows[{i}] {r['policy']} {r['third']}"
        check(place, r, ROW)
        assert r["done"] and r["wrong"] == 0 and r["newest_lost"] == 0, place
        assert r["produced"] == run["frames"] and 0 < r["newest"] <= r["produced"], place
        assert r["every"] == r["produced"] or r["every_lost"] > 0, place
        assert r["policy"] == "FIFO" or r["every_lost"] == 0, place  # without a bound nobody is dropped
        assert 0 < r["call_median_us"] <= r["call_longest_us"] and r["frame_median_us"] <= r["frame_longest_us"], place
        assert r["lag"] in ("none", "host", "gpu", "producer", "dropped"), place


with open(sys.argv[1], encoding="utf-8") as file:
    check_report(json.load(file))
