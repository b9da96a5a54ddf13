"""Runs culvert-bench-ipc --hostile and checks the form of what it prints and of its JSON: every attack has a row, honest
calls were made under each, and none failed. Times are not judged. SPDX-License-Identifier: MIT

usage: check_hostile.py PROGRAM"""
import json
import os
import subprocess
import sys
import tempfile

from check_json import NUMBER, check

TOP = {"schema": (int,), "benchmark": (str,), "version": (str,), "milliseconds": (int,), "rows": (list,)}
ROW = {"attack": (str,), "calls": (int,), "failed": (int,), "call_ms": (dict,), "frames": (int,), "lost": (int,), "gap_ms": NUMBER}
CALL = {"median": NUMBER, "most": NUMBER}
ATTACKS = ["none", "silent", "crowd", "rubbish", "questions", "wakes", "deaf", "joins", "linger", "linger_join"]


def main():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "hostile.json")
        done = subprocess.run([sys.argv[1], "--hostile", "--quick", "--soft", "--json=" + path], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        with open(path, encoding="utf-8") as file:
            run = json.load(file)
    check("report", run, TOP)
    assert run["schema"] == 1 and run["benchmark"] == "ipc-hostile"
    assert [row["attack"] for row in run["rows"]] == ATTACKS
    for row in run["rows"]:
        check(row["attack"], row, ROW)
        check(row["attack"] + ".call_ms", row["call_ms"], CALL)
        assert 0 <= row["call_ms"]["median"] <= row["call_ms"]["most"], row
    assert len(done.stdout.splitlines()) == len(ATTACKS) + 1, done.stdout
    print(done.stdout)


if __name__ == "__main__":
    main()
