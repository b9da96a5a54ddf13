#!/usr/bin/env python3
"""What culvert-check costs: frames of `ripple` without it, with it, and with --fast, in turns, and the memory of the program.

usage: cost.py BUILD [--frames N] [--runs N] [--long N] [--size WxH] [--resolution WxH] [--nvidia]
BUILD is a build tree or a bundle of scripts/bundle. Without --nvidia it runs on the software twin. It prints a table of Markdown:
medians of the runs, and the peak of resident memory at N and at --long frames, which must not grow.
SPDX-License-Identifier: MIT
"""
import argparse
import os
import pathlib
import resource
import statistics
import sys
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("build", type=pathlib.Path)
parser.add_argument("--frames", type=int, default=100)
parser.add_argument("--long", type=int, default=1000)
parser.add_argument("--runs", type=int, default=5)
parser.add_argument("--size", default="96x64")
parser.add_argument("--resolution", default="160x120")
parser.add_argument("--nvidia", action="store_true")
options = parser.parse_args()
build = options.build.resolve()
environment = dict(os.environ)
if not options.nvidia:
    environment["CULVERT_SOFT"] = "1"
WAYS = {"without": None, "culvert-check": [], "culvert-check --fast": ["--fast"]}


def run(way, frames, directory):
    """Seconds, and the peak of memory in MiB of all processes of it: the program's, which is the largest."""
    checker = WAYS[way]
    command = [str(build / "bin/ripple"), "--size", options.size, "--resolution", options.resolution, "--quiet", "--output",
               os.path.join(directory, "ripple.png"), "--frames", str(frames)]
    if checker is not None:
        command = [str(build / "bin/culvert-check"), *checker, "--text", os.path.join(directory, "report"), *command]
    measured, report = os.pipe()
    child = os.fork()
    if child == 0:  # it alone has the program as a child, so the peak is of this run
        begun = time.monotonic()
        status = os.spawnve(os.P_WAIT, command[0], command, environment)
        seconds = time.monotonic() - begun
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        os.write(report, f"{status} {seconds} {peak}".encode())
        os._exit(0)
    os.close(report)
    os.waitpid(child, 0)
    with os.fdopen(measured) as pipe:
        status, seconds, peak = pipe.read().split()
    if status != "0":
        sys.exit(f"{' '.join(command)}: exit status {status}")
    return float(seconds), float(peak)


with tempfile.TemporaryDirectory() as directory:
    for way in WAYS:
        run(way, 2, directory)  # files and kernels are read
    few, many = {way: [] for way in WAYS}, {way: [] for way in WAYS}
    for _ in range(options.runs):
        for way in WAYS:
            few[way].append(run(way, options.frames, directory))
    for way in WAYS:
        many[way].append(run(way, options.long, directory))

# Start and end of the program are in both, so the difference is of frames alone.
print(f"| | ms a frame ({options.long} - {options.frames} frames) | ratio | seconds of {options.frames} frames, median of {options.runs} "
      f"(least to most) | ratio | peak at {options.frames}, MiB | peak at {options.long}, MiB |")
print("| --- | --- | --- | --- | --- | --- | --- |")
base_frame = base = None
for way in WAYS:
    seconds = sorted(one[0] for one in few[way])
    median = statistics.median(seconds)
    frame = (many[way][0][0] - median) / (options.long - options.frames) * 1000
    base_frame, base = base_frame or frame, base or median
    print(f"| {way} | {frame:.2f} | {frame / base_frame:.2f} | {median:.2f} ({seconds[0]:.2f} to {seconds[-1]:.2f}) | {median / base:.2f} | "
          f"{max(one[1] for one in few[way]):.1f} | {many[way][0][1]:.1f} |")
