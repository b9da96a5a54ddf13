#!/usr/bin/env python3
"""The timeline of culvert-check: it is JSON, has a track for each side, slices that nest, and an arrow for each wait that a signal ended.

usage: trace.py BUILD
SPDX-License-Identifier: MIT
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

build = pathlib.Path(sys.argv[1]).resolve()


def trace(wrong, name, *options):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "trace.json")
        subprocess.run([build / "bin/culvert-soft-run", build / "bin/culvert-check", *options, "--trace", path,
                        build / f"bin/tests/check-pages-{wrong}", name], env=dict(os.environ, CULVERT_SOFT="1", TMPDIR=directory),
                       capture_output=True, timeout=60, check=False)
        assert os.listdir(directory) == ["trace.json"], os.listdir(directory)
        with open(path, encoding="utf-8") as file:
            return json.load(file)["traceEvents"]


def tracks(events):
    return {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M" and event["name"] == "thread_name"}


def check_slices(events):
    """Slices of a track begin and end in turn, and what lies on a track has one."""
    names = tracks(events)
    for tid in names:
        own = [event for event in events if event["tid"] == tid]
        kinds = [event["ph"] for event in sorted(own, key=lambda event: event["ts"] if "ts" in event else -1) if event["ph"] in "BE"]
        assert kinds == ["B", "E"] * (len(kinds) // 2), (names[tid], kinds)
    assert all(event["tid"] in names for event in events)


def inside(events, point):
    """The slice of its track at a point."""
    open_one = None
    for event in sorted((e for e in events if e["tid"] == point["tid"] and e["ph"] in "BE"), key=lambda e: e["ts"]):
        if event["ts"] <= point["ts"]:
            open_one = event if event["ph"] == "B" else None
    if open_one is None:
        open_one = next((e for e in events if e["tid"] == point["tid"] and e["ph"] == "X" and
                         e["ts"] <= point["ts"] <= e["ts"] + e["dur"] + 0.001), None)
    return open_one


# Three frames: Vulkan signals 1, 3, 5, and CUDA waits; CUDA signals 2, 4, 6, and Vulkan waits for 2 and 4.
ring = trace(0, "write-after-read")
check_slices(ring)
sides = tracks(ring)
assert sorted(name.split(" ")[0] for name in sides.values()) == ["CUDA:", "Vulkan:", "host"], sides
begins = {event["id"]: event for event in ring if event["ph"] == "s"}
arrows = []
for end in (event for event in ring if event["ph"] == "f"):
    begin = begins[end["id"]]
    assert begin["ts"] <= end["ts"] and end["bp"] == "e" and begin["name"] == end["name"]
    assert inside(ring, begin) and inside(ring, end), (begin, end)
    arrows.append((sides[begin["tid"]].split(" ")[0], sides[end["tid"]].split(" ")[0], int(begin["name"].split(" = ")[1])))
assert sorted(arrows) == [("CUDA:", "Vulkan:", 2), ("CUDA:", "Vulkan:", 4), *(("Vulkan:", "CUDA:", value) for value in (1, 3, 5))], arrows
works = [event for event in ring if event["ph"] == "B"]
assert sum(event["name"] == "vkQueueSubmit" for event in works) == 3
assert sum(event["name"] == "cuMemcpyDtoHAsync" and event["args"]["accesses"] == 1 for event in works) == 3
assert any(event["args"].get("waits", [""])[0].endswith(" = 5") for event in works)
calls = {event["name"] for event in ring if event["ph"] == "X"}
assert {"vkQueueSubmit", "cuMemcpyDtoHAsync", "vkDeviceWaitIdle"} <= calls, calls
assert not [event for event in ring if event.get("cat") == "finding"]
print("ok: a ring")

wrong = trace(1, "write-after-read")
check_slices(wrong)
(finding,) = [event for event in wrong if event.get("cat") == "finding"]
assert finding["name"] == "write-after-read" and finding["ph"] == "i" and "nothing orders" in finding["args"]["sentence"]
print("ok: a finding")

(only,) = trace(0, "write-after-read", "--trace-limit", "0")
assert "cut" in only["name"]
print("ok: a limit")
