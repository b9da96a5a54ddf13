"""Checks the JSON of culvert-bench-gl: its keys, their types, and that each way ran at each size.
SPDX-License-Identifier: MIT

usage: check_gl.py FILE [ways=NAME,...] [seed=N] [documented=PAGE]"""
import json
import re
import sys

from check_json import DEVICE, NUMBER, SPREAD, SYSTEM, TEXT, check, keys_of

TOP = {"schema": (int,), "program": (str,), "culvert_version": (str,), "date": (str,), "complete": (bool,), "quick": (bool,),
       "validation": (bool,), "seed": (int,), "seconds": NUMBER, "unit": (str,), "device": (dict,), "system": (dict,),
       "renderer": (str,), "words_checked": (int,), "left_out": (list,), "frames": (list,)}
ROW = {"way": (str,), "bytes": (int,), "depth": (int,), "burst": (int,), "frames_per_turn": (int,), "waits_on_cpu": (bool,),
       "cuda_alone": NUMBER, "gl_alone": NUMBER, "us": (dict,), "left_out": TEXT}
FLOWS = {(1, 1), (4, 1), (16, 8)}


def check_report(run, wanted):
    options = dict(word.partition("=")[::2] for word in wanted)
    check("report", run, TOP)
    assert run["schema"] == 1 and run["program"] == "culvert-bench-gl" and run["complete"]
    check("device", run["device"], DEVICE)
    check("system", run["system"], SYSTEM)
    seen, words = {}, 0
    for i, r in enumerate(run["frames"]):
        place = f"frames[{i}] {r.get('way')}"
        check(place, r, ROW)
        check(f"{place}.us", r["us"], SPREAD)
        assert r["left_out"] is None and 0 < r["us"]["p10"] <= r["us"]["median"] <= r["us"]["p90"], place
        assert r["frames_per_turn"] >= r["burst"] and r["cuda_alone"] > 0 and r["gl_alone"] > 0, place
        seen.setdefault((r["way"], r["bytes"]), set()).add((r["depth"], r["burst"]))
        words += 2 * r["depth"] * r["bytes"] // 4
    ways = options.get("ways", "memory,register,staged").split(",")
    sizes = {size for _, size in seen}
    assert len(sizes) == 3 and {way for way, _ in seen} == set(ways) and len(seen) == 3 * len(ways)
    assert all(flows == FLOWS for flows in seen.values())
    assert run["words_checked"] >= words, f"{run['words_checked']} words were checked, not {words}"
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
