"""Checks the JSON of culvert-bench-kinds: that each kind ran from each side that has it.
SPDX-License-Identifier: MIT

usage: check_kinds.py FILE [all] [what check_json.py has]"""
from check_json import OR_NOT, TEXT, check, check_spread, main

TOP = {"threads": (int,), "reads": (int,), "words_checked": (int,), "left_out": (list,), "rates": (list,)}
RATE = {"section": (str,), "scheme": (str,), "memory_kind": TEXT, "bytes": (int,), "side": (str,), "pattern": (str,), "unit": (str,),
        "rate": (dict,), "ratio": OR_NOT, "goal": OR_NOT, "met": TEXT}
PATTERNS = {"stream, constant", "stream, noise", "random"}
# Of the kinds that every machine has: what Culvert says of them.
KINDS = {"cuMemAlloc": None, "Vulkan's, not exportable": None, "Vulkan's, not exportable, dedicated": None, "Vulkan's, exportable": "compressible",
         "Vulkan's, exportable, dedicated": "fast", "culv_vk_buffer_create()": "fast",
         "culv_vk_buffer_create(), compressible": "compressible", "VMM, imported": "plain", "VMM, imported dedicated": "fast",
         "culv_vector, a buffer a chunk": "fast"}
MAYBE = {"compressible VMM, imported": "compressible", "compressible VMM, imported dedicated": "compressible",
         "culv_vector, one sparse buffer": "fast"}


def sides_of(scheme):
    if scheme == "cuMemAlloc":
        return {"CUDA"}
    return {"Vulkan"} if "not exportable" in scheme else {"CUDA", "Vulkan"}


def check_rows(run):
    for i, r in enumerate(run["rates"]):
        place = f"rates[{i}] {r.get('scheme')}, {r.get('pattern')}"
        check(place, r, RATE)
        check_spread(f"{place}.rate", r["rate"])
        assert r["unit"] == ("G words/s" if "random" in r["pattern"] else "GB/s"), place
        assert r["met"] is None and r["goal"] is None, f"{place}: a rate of the twin is judged"
    places = [(r["scheme"], r["bytes"], r["side"], r["pattern"]) for r in run["rates"]]
    assert len(set(places)) == len(places), "a row twice"


def check_all(run):
    seen = {}
    for r in run["rates"]:
        seen.setdefault((r["scheme"], r["side"]), set()).add(r["pattern"])
        assert r["memory_kind"] == (KINDS | MAYBE)[r["scheme"]], f"{r['scheme']} is said to be {r['memory_kind']}"
    for scheme in KINDS:
        for side in sides_of(scheme):
            assert seen.get((scheme, side)) == PATTERNS, f"{scheme}, {side}: {seen.get((scheme, side))}"
        for side in {"CUDA", "Vulkan"} - sides_of(scheme):
            assert (scheme, side) not in seen, f"{scheme} by {side}"


def look(run, options):
    assert run["words_checked"] > 0
    check_rows(run)
    if "all" in options:
        check_all(run)


if __name__ == "__main__":
    main("culvert-bench-kinds", TOP, look, ("all",))
