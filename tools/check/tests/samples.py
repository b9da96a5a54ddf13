#!/usr/bin/env python3
"""The project's samples, with a ring of 100 frames among them (hello_ring), under culvert-check: it sees their work and finds nothing.

usage: samples.py BUILD
SPDX-License-Identifier: MIT
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

build = pathlib.Path(sys.argv[1]).resolve()
ripple = ["ripple", "--size", "96x64", "--resolution", "160x120", "--quiet", "--output", "ripple.png"]
forest = ["forest", "--particles", "30000", "--size", "96x64", "--samples", "1", "--frames", "2", "--quiet",
          "--output", "forest.png"]
# A program, and whether it works on what CUDA imports. A program that could not run here exits with 77.
programs = [([*ripple, "--frames", "40"], True)]
programs += [([*ripple, "--frames", "8", "--path", path], True) for path in ("shared", "in-queue", "async")]
programs += [(["hello_ring"], True), (["hello_vulkan"], True), (forest, True), (["hello_cull", build / "share/culvert"], True)]
# Of several processes: what one of them imports, another one made.
programs += [(["hello_ipc"], None), (["observer", "--particles", "3000", "--frames", "12", "--size", "96x64"], True)]
environment = dict(os.environ, CULVERT_SOFT="1")
problems = ran = 0
with tempfile.TemporaryDirectory() as directory:
    for (name, *arguments), shares in programs:
        if not (build / "bin" / name).exists():
            print(f"SKIP: {name} is not built")
            continue
        run = subprocess.run([build / "bin/culvert-check", "--strict", build / "bin" / name, *arguments], env=environment, cwd=directory,
                             capture_output=True, text=True, timeout=120, check=False)
        saw = re.findall(r"it saw (\d+) descriptors exported, (\d+) imports into CUDA, (\d+) works of Vulkan's queues, (\d+)", run.stderr)
        imports, works, launched = (sum(int(process[i]) for process in saw) for i in (1, 2, 3))
        found = set(re.findall(r"^culvert-check: \(.\) (\S+)$", run.stderr, re.M))
        # A viewer that leaves signals what its solver may wait for, and destroys the semaphore at once.
        silent = found == {"semaphore-in-use"} if name == "observer" and found else run.returncode == 0 and not found
        good = (silent and re.search(r"culvert-check: \d+ findings? in", run.stderr)
                and (len(saw) == 2 and launched > 0 if shares is None else works > 0 and (imports > 0) == shares))
        if not good:
            print(run.stdout, run.stderr, sep="")
        print(f"{'ok' if good else 'FAIL'}: {name} {' '.join(map(str, arguments))}: {imports} imports, {works} works of Vulkan's, "
              f"exit status {run.returncode}")
        problems += not good
        ran += 1
sys.exit(77 if ran == 0 else problems > 0)
