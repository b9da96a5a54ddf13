"""Checks the JSON of culvert-bench-rdma: its keys, their types, and that each scheme ran with each number of registrations.
SPDX-License-Identifier: MIT

usage: check_rdma.py FILE [entries=N,...] [threads=N,...] [seed=N] [documented=PAGE]"""
import json
import re
import sys

from check_json import DEVICE, NUMBER, SPREAD, SYSTEM, TEXT, check, keys_of

TOP = {"schema": (int,), "program": (str,), "culvert_version": (str,), "date": (str,), "complete": (bool,), "quick": (bool,),
       "validation": (bool,), "seed": (int,), "seconds": NUMBER, "unit": (str,), "device": (dict,), "system": (dict,),
       "look_ups_checked": (int,), "mappings": (int,), "left_out": (list,), "times": (list,)}
ROW = {"section": (str,), "scheme": (str,), "entries": (int,), "threads": (int,), "ns": (dict,), "goal": NUMBER + (type(None),), "met": TEXT}
SCHEMES = ("Culvert, by notification", "Culvert, by BUFFER_ID", "UCX's structure", "the driver's BUFFER_ID alone")


def check_report(run, wanted):
    options = dict(word.partition("=")[::2] for word in wanted)
    check("report", run, TOP)
    assert run["schema"] == 1 and run["program"] == "culvert-bench-rdma" and run["complete"]
    check("device", run["device"], DEVICE)
    check("system", run["system"], SYSTEM)
    for i, r in enumerate(run["times"]):
        place = f"times[{i}] {r.get('scheme')}"
        check(place, r, ROW)
        check(f"{place}.ns", r["ns"], SPREAD)
        assert 0 < r["ns"]["p10"] <= r["ns"]["median"] <= r["ns"]["p90"], place
        assert r["met"] is None, place  # the twin's times are judged by nobody
    entries = [int(n) for n in options.get("entries", "1,10,100").split(",")]
    threads = [int(n) for n in options.get("threads", "1,2").split(",")]
    rows = {(r["scheme"], r["entries"], r["threads"]) for r in run["times"] if r["section"] == "look-ups"}
    assert rows == {(s, n, t) for s in SCHEMES for n in entries for t in threads}, rows
    assert sum(r["section"] == "calls" for r in run["times"]) >= 3 and run["look_ups_checked"] > 0
    assert "seed" not in options or run["seed"] == int(options["seed"])
    if "documented" in options:
        with open(options["documented"], encoding="utf-8") as page:
            documented = set(re.findall(r"`([A-Za-z0-9_]+)`", page.read()))
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
