#!/usr/bin/env python3
"""What scripts/test_summary.py makes of reports: what passes in a later run is unstable, and everything else that
failed stays so. SPDX-License-Identifier: MIT"""
import pathlib
import subprocess
import sys
import tempfile

SUMMARY = pathlib.Path(__file__).parents[2] / "scripts" / "test_summary.py"


def report(cases):
    """A report as ctest writes it: {name: (passed, output)}."""
    return "<testsuite>" + "".join(
        f'<testcase name="{name}" status="{"run" if passed else "fail"}">'
        + ("" if passed else '<failure message=""/>') + f"<system-out>{output}</system-out></testcase>"
        for name, (passed, output) in cases.items()) + "</testsuite>"


def summary(directory, first, again=None):
    arguments = []
    for name, cases in (("build", first), ("build+", again)):
        if cases is not None:
            path = pathlib.Path(directory) / f"{name}.xml"
            path.write_text(report(cases))
            arguments.append(f"{name}={path}")
    ended = subprocess.run([sys.executable, SUMMARY, *arguments], capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout


def batch(verdict):
    passed = verdict == "PASS"
    return passed, f"PASS one (0.1 s)\n{verdict} two{' (0.1 s)' if passed else ': exit status 1'}\n" \
                   f"{2 if passed else 1} passed, 0 skipped, {0 if passed else 1} failed\n"


def main():
    good, bad = (True, "fine"), (False, "it broke")
    rows = [
        # first run, later run, exit status, counts, what is told
        ({"a": good}, None, 0, "1 passed, 0 failed, 0 skipped", None),
        ({"a": good, "b": bad}, None, 1, "1 passed, 1 failed, 0 skipped", "FAILED build: b"),
        ({"a": good, "b": bad}, {"b": good}, 0, "1 passed, 0 failed, 1 unstable, 0 skipped", "UNSTABLE build: b"),
        ({"a": good, "b": bad}, {"b": bad}, 1, "1 passed, 1 failed, 0 skipped", "FAILED build: b"),
        ({"a": good, "b": bad, "c": bad}, {"b": good}, 1, "1 passed, 1 failed, 1 unstable, 0 skipped", "FAILED build: c"),
        ({"s.1": batch("FAIL")}, {"s.1": batch("PASS")}, 0, "1 passed, 0 failed, 1 unstable, 0 skipped",
         "UNSTABLE build: s.two"),
        ({"s.1": batch("FAIL")}, {"s.1": batch("FAIL")}, 1, "1 passed, 1 failed, 0 skipped", "FAILED build: s.two"),
        # A program that ended before its totals.
        ({"a": good, "s.1": (False, "PASS one (0.1 s)\n")}, {"s.1": (False, "PASS one (0.1 s)\n")}, 1,
         "2 passed, 1 failed, 0 skipped", "FAILED build: s.1"),
        ({"b": bad}, {"b": good}, 1, "0 passed, 0 failed, 1 unstable, 0 skipped", "FAILED build: no test passed"),
    ]
    with tempfile.TemporaryDirectory() as directory:
        for first, again, status, counts, told in rows:
            got, text = summary(directory, first, again)
            assert got == status, (first, again, got, text)
            assert text.splitlines()[-1] == counts, (first, again, text)
            assert told is None or f"\n{told}\n" in text, (first, again, text)
            pathlib.Path(directory, "build+.xml").unlink(missing_ok=True)
    print(f"{len(rows)} summaries are right")


if __name__ == "__main__":
    main()
