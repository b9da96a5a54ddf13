#!/usr/bin/env python3
"""What culvert-check costs: frames of `ripple` without it, with it, and with --fast, in turns, and the memory of the program.

usage: cost.py BUILD [--frames N] [--runs N] [--long N] [--size WxH] [--resolution WxH] [--nvidia]
BUILD is a build tree or a bundle of scripts/bundle. Without --nvidia it runs on the software twin. It prints a table of Markdown:
what ripple says a frame took (medians of the runs), and the peak of resident memory at N and at --long frames, which must not grow.
SPDX-License-Identifier: MIT
"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

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
    """Milliseconds a frame, and the peak of memory in MiB of all processes of it: the program's, which is the largest."""
    checker = WAYS[way]
    command = [str(build / "bin/ripple"), "--size", options.size, "--resolution", options.resolution, "--quiet", "--output",
               os.path.join(directory, "ripple.png"), "--frames", str(frames)]
    if checker is not None:
        command = [str(build / "bin/culvert-check"), *checker, "--text", os.path.join(directory, "report"), *command]
    measured, report = os.pipe()
    child = os.fork()
    if child == 0:  # it alone has the program as a child, so the peak is of this run
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False)
        told = [json.loads(line[7:]) for line in done.stdout.decode().splitlines() if line.startswith("RESULT ")]
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        os.write(report, json.dumps([done.returncode, told[-1]["frame_ms"] if told else 0, peak]).encode())
        os._exit(0)
    os.close(report)
    with os.fdopen(measured) as pipe:
        status, milliseconds, peak = json.load(pipe)
    os.waitpid(child, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}: exit status {status}")
    return milliseconds, peak


with tempfile.TemporaryDirectory() as directory:
    for way in WAYS:
        run(way, 2, directory)  # files and kernels are read
    few, many = {way: [] for way in WAYS}, {way: [] for way in WAYS}
    for _ in range(options.runs):
        for way in WAYS:
            few[way].append(run(way, options.frames, directory))
    for way in WAYS:
        many[way].append(run(way, options.long, directory))

print(f"| | ms a frame, median of {options.runs} (least to most) | ratio | ms a frame of {options.long} frames | ratio | "
      f"peak at {options.frames} frames, MiB | at {options.long}, MiB |")
print("| --- | --- | --- | --- | --- | --- | --- |")
base_few = base_many = None
for way in WAYS:
    frames = sorted(one[0] for one in few[way])
    median, lasting = statistics.median(frames), many[way][0][0]
    base_few, base_many = base_few or median, base_many or lasting
    print(f"| {way} | {median:.2f} ({frames[0]:.2f} to {frames[-1]:.2f}) | {median / base_few:.2f} | {lasting:.2f} | "
          f"{lasting / base_many:.2f} | {max(one[1] for one in few[way]):.1f} | {many[way][0][1]:.1f} |")
