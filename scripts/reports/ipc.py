"""The tables of docs/ipc.md, between the lines <!-- NAME --> and <!-- end -->.

DIRECTORIES: folders of docs/results with ipc-N-slots.json (of culvert-bench-ipc), hostile.json (of culvert-bench-ipc --hostile)
and peers.json (of culvert-bench-peers). Of two that have a file the last one counts.
SPDX-License-Identifier: MIT
"""
import json
import pathlib
import re

from .common import DOCS, Bad

BEHAVIOURS = {"keeps_up": "keeps up", "stops": "is stopped with a frame in its hands", "stops_busy": "is stopped, its GPU not done",
              "slow_gpu": "needs 100 ms of its GPU for each frame", "lies": "gives all back in its page, its GPU never does",
              "dies": "is killed with a frame in its hands", "never_reads": "joins and never reads"}
output = DOCS / "ipc.md"


def hand_over(directory):
    yield "| a frame of 8 MiB, two processes | µs | of by hand |\n|---|---:|---:|"
    for path in sorted(directory.glob("ipc-*-slots.json")):
        run = json.loads(path.read_text())
        us = run["median_us"]
        if path.name == "ipc-3-slots.json":
            yield f"| by hand, 3 slots | {us['hand_over_by_hand']:.1f} | |"
        yield f"| a ring of {run['slots']} slots | {us['hand_over']:.1f} | {us['hand_over'] / us['hand_over_by_hand']:.2f} |"


def hostile(directory):
    yield "| attack | a call, ms: median | most | calls | failed | frames lost |\n|---|---:|---:|---:|---:|---:|"
    for row in json.loads((directory / "hostile.json").read_text())["rows"]:
        call = row["call_ms"]
        yield (f"| {row['attack'].replace('_', ' ')} | {call['median']:.2f} | {call['most']:.2f} | {row['calls']} "
               f"| {row['failed']} | {row['lost']} |")


def peers(directory):
    run = json.loads((directory / "peers.json").read_text())
    yield ("| the third consumer | what it does | the producer's longest call, ms | its longest frame, ms | frames that the "
           "FIFO one lost | the MAILBOX one | wrong |\n|---|---|---:|---:|---:|---:|---:|")
    for row in run["rows"]:
        yield (f"| {row['policy']} | {BEHAVIOURS.get(row['third'], row['third'])} | {row['call_longest_us'] / 1000:.2f} "
               f"| {row['frame_longest_us'] / 1000:.2f} | {row['every_lost']} | {row['newest_lost']} | {row['wrong']} |")


def add(parser):
    parser.add_argument("directories", type=pathlib.Path, nargs="+")
    parser.add_argument("--check", action="store_true", help="writes nothing, and fails if the page has other tables")


def make(arguments):
    text = arguments.output.read_text()
    for name, of, file in (("hand-over", hand_over, "ipc-3-slots.json"), ("hostile", hostile, "hostile.json"),
                           ("peers", peers, "peers.json")):
        having = [directory for directory in arguments.directories if (directory / file).exists()]
        if not having:
            raise Bad(f"no directory has {file}")
        table = "\n".join(of(having[-1]))
        text, found = re.subn(rf"(<!-- {name} -->\n).*?(\n<!-- end -->)", lambda m: m.group(1) + table + m.group(2), text, flags=re.S)
        if found != 1:
            raise Bad(f"{arguments.output} has no place for {name}")
    return text
