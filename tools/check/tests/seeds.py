#!/usr/bin/env python3
"""Runs the small programs of seeds*.c under culvert-check: each wrong one must be found by its own finding and by nothing
else, each right one must be silent. Of "FINDING|OTHER" the processes' time decides which it is. "missed/FINDING" is one that
docs/culvert-check.md says it cannot see, and of "alarm/FINDING" the right one is told, too, as that page says.

usage: seeds.py BUILD PART PARTS     the PART-th of PARTS parts of them, on the software twin
       seeds.py BUILD NAME           one, with its reports
       seeds.py BUILD procs PART PARTS   the programs of two processes, seeds_procs.c, and those again as if descriptors had
                                         no inodes of their own
       seeds.py BUILD nvidia [JOBS]  all, on NVIDIA's driver; those that need a second GPU, or that may hang there,
                              are left out
SPDX-License-Identifier: MIT
"""
import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

build = pathlib.Path(sys.argv[1])
procs = sys.argv[2] == "procs" or sys.argv[2].startswith(("procs_", "hangs_procs"))
program = build / ("bin/tests/check-seeds-procs" if procs else "bin/tests/check-seeds")
seeds = [line.split() for line in subprocess.run([program, "--list"], check=True, capture_output=True,
                                                 text=True).stdout.splitlines()]
nvidia = sys.argv[2] == "nvidia"
jobs = int(sys.argv[3]) if nvidia and len(sys.argv) > 3 else 1
one = sys.argv[2] if len(sys.argv) == 3 and not nvidia else None
parts = sys.argv[-2:]
if one:
    seeds = [seed for seed in seeds if seed[0] == one]
elif nvidia:
    for left in ("other_gpu_semaphore", "held_other_gpu_thread", "held_other_gpu_stream", "held2_peer_copy", "held2_later_value", "held2_too_many_levels"):
        print(f"SKIP: {left}")
        seeds = [seed for seed in seeds if seed[0] != left]
else:
    seeds = seeds[int(parts[0]) - 1::int(parts[1])]
assert seeds, "there is no such program"
environment = dict(os.environ) if nvidia else dict(os.environ, CULVERT_SOFT="1", CULVERT_SOFT_DEVICES="2")
start = [] if nvidia else [build / "bin/culvert-soft-run"]
if nvidia or not shutil.which("xvfb-run"):
    print("SKIP: hangs_presenting: no X server")
    seeds = [seed for seed in seeds if seed[0] != "hangs_presenting"]


def run(name, row, kind, alike):
    """Whether one form of a program gives the findings that it should, and the lines that say so."""
    prefix, _, finding = row.rpartition("/")
    expected = finding.split("|") if (prefix != "missed" if kind == "wrong" else prefix == "alarm") else []
    strict = ["--strict"] if finding in ("no-release", "no-acquire", "not-dedicated", "layout-not-general", "layout-mismatch") else []
    with tempfile.TemporaryDirectory() as directory:
        report = os.path.join(directory, "report.json")
        window = ["xvfb-run", "-a"] if name == "hangs_presenting" else []
        # In a second a piece of a wait would count as a whole one now and then.
        stuck = "3" if name == "hangs_in_pieces" else "1"
        process = subprocess.Popen([*window, *start, build / "bin/culvert-check", "--stuck", stuck, "--end-stuck", *strict, "--json", report,
                                    program, name, kind, build / "share/culvert"], text=True,
                                   env=dict(environment, CULVERT_CHECK_ONE_INODE="1") if alike else environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            output = process.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return False, f"FAIL: {name} {kind}: it hangs\n{process.communicate()[0]}"
        with open(report, encoding="utf-8") as f:
            told = json.load(f)
    found = sorted({row["id"] for row in told["findings"]})
    # Both places of a finding name functions of the program.
    places = all(any("check-seeds" in frame["text"] for frame in row["here"]["frames"]) and row["program"] == program.name
                 for row in told["findings"])
    # On NVIDIA's driver a process whose queue waits in vain does not leave by itself.
    status = 134 if (name.startswith("hangs") or nvidia and name in ("endless_cycle", "graph_cycle")) and expected else 0
    good = (len(found) == 1 and found[0] in expected if expected else not found) and places and process.returncode == (99 if expected else 0) and told["status"] == status
    lines = f"{output}\n" if one or not good else ""
    lines += f"{'ok' if good else 'FAIL'}: {name} {kind}{' (one inode)' if alike else ''}: {', '.join(found) or 'nothing'}"
    if not good:
        lines += f" (expected {expected}, places {places}, exit status {process.returncode})"
    return good, lines


problems = 0
with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
    # As NVIDIA's descriptors are; one of the programs needs inodes.
    runs = [pool.submit(run, name, finding, kind, alike) for alike in ((False, True) if procs else (False,))
            for name, finding in seeds for kind in ("wrong", "right") if not alike or name != "procs_from_there"]
    for done in concurrent.futures.as_completed(runs):
        good, lines = done.result()
        print(lines, flush=True)
        problems += not good
sys.exit(problems > 0)
