"""Checks the JSON of culvert-bench-rdma: that each scheme ran with each number of registrations.
SPDX-License-Identifier: MIT

usage: check_rdma.py FILE [entries=N,...] [threads=N,...] [what check_json.py has]"""
from check_json import OR_NOT, TEXT, check, check_spread, main

TOP = {"look_ups_checked": (int,), "mappings": (int,), "left_out": (list,), "times": (list,)}
ROW = {"section": (str,), "scheme": (str,), "entries": (int,), "threads": (int,), "ns": (dict,), "goal": OR_NOT, "met": TEXT}
SCHEMES = ("Culvert, by notification", "Culvert, by BUFFER_ID", "UCX's structure", "the driver's BUFFER_ID alone")


def look(run, options):
    for i, r in enumerate(run["times"]):
        place = f"times[{i}] {r.get('scheme')}"
        check(place, r, ROW)
        check_spread(f"{place}.ns", r["ns"])
        assert r["ns"]["p10"] > 0 and r["met"] is None, place  # the twin's times are judged by nobody
    entries = [int(n) for n in options.get("entries", "1,10,100").split(",")]
    threads = [int(n) for n in options.get("threads", "1,2").split(",")]
    rows = {(r["scheme"], r["entries"], r["threads"]) for r in run["times"] if r["section"] == "look-ups"}
    assert rows == {(s, n, t) for s in SCHEMES for n in entries for t in threads}, rows
    assert sum(r["section"] == "calls" for r in run["times"]) >= 3 and run["look_ups_checked"] > 0
    ended = [r for r in run["times"] if r["section"] == "teardown"]
    assert len({r["scheme"] for r in ended}) == 9 and all(r["entries"] > 0 for r in ended), ended


if __name__ == "__main__":
    main("culvert-bench-rdma", TOP, look, ("entries", "threads"))
