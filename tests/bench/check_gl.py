"""Checks the JSON of culvert-bench-gl: that each way ran at each size.
SPDX-License-Identifier: MIT

usage: check_gl.py FILE [ways=NAME,...] [what check_json.py has]"""
from check_json import NUMBER, TEXT, check, check_spread, main

TOP = {"renderer": (str,), "words_checked": (int,), "left_out": (list,), "frames": (list,)}
ROW = {"way": (str,), "bytes": (int,), "depth": (int,), "burst": (int,), "frames_per_turn": (int,), "waits_on_cpu": (bool,),
       "cuda_alone": NUMBER, "gl_alone": NUMBER, "us": (dict,), "left_out": TEXT}
FLOWS = {(1, 1), (4, 1), (16, 8)}


def look(run, options):
    seen, words = {}, 0
    for i, r in enumerate(run["frames"]):
        place = f"frames[{i}] {r.get('way')}"
        check(place, r, ROW)
        check_spread(f"{place}.us", r["us"])
        assert r["left_out"] is None and r["us"]["p10"] > 0, place
        assert r["frames_per_turn"] >= r["burst"] and r["cuda_alone"] > 0 and r["gl_alone"] > 0, place
        seen.setdefault((r["way"], r["bytes"]), set()).add((r["depth"], r["burst"]))
        words += 2 * r["depth"] * r["bytes"] // 4
    ways = options.get("ways", "memory,register,staged").split(",")
    sizes = {size for _, size in seen}
    assert len(sizes) == 3 and {way for way, _ in seen} == set(ways) and len(seen) == 3 * len(ways)
    assert all(flows == FLOWS for flows in seen.values())
    assert run["words_checked"] >= words, f"{run['words_checked']} words were checked, not {words}"


if __name__ == "__main__":
    main("culvert-bench-gl", TOP, look, ("ways",))
