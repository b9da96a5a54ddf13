#!/usr/bin/env python3
"""What scripts/test_run.py makes of reports and of tests/parts.md: what failed is told last, with the command that runs
it again. SPDX-License-Identifier: MIT"""
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "scripts"))
import test_run  # noqa: E402


def report(cases):
    """A report as ctest writes it: {name: (passed, output)}."""
    return "<testsuite>" + "".join(
        f'<testcase name="{name}" status="{"run" if passed else "fail"}">'
        + ("" if passed else '<failure message=""/>') + f"<system-out>{output}</system-out></testcase>"
        for name, (passed, output) in cases.items()) + "</testsuite>"


def summary(directory, cases, commands=None):
    path = pathlib.Path(directory) / "report.xml"
    path.write_text(report(cases))
    said = []
    good = test_run.summary([("build", "build/x", path, commands or {})], pathlib.Path(directory), said.append)
    return good, "\n".join(said)


def batch(verdict):
    passed = verdict == "PASS"
    return passed, f"PASS one (0.1 s)\nSKIP three: only as a child\nSKIP four: no card\n" \
                   f"what it saw\n{verdict} two{' (0.1 s)' if passed else ': exit status 1'}\n" \
                   f"{2 if passed else 1} passed, 2 skipped, {0 if passed else 1} failed\n"


def main():
    good, bad = (True, "fine"), (False, "it broke")
    rows = [
        # cases, whether all is well, counts, what is told
        ({"a": good}, True, "1 passed, 0 failed, 0 skipped", None),
        ({"a": good, "b": bad}, False, "1 passed, 1 failed, 0 skipped",
         "FAILED build: b\n    it broke\n  again: ctest --test-dir build/x --output-on-failure -R '^b$'"),
        ({"s.1": batch("PASS")}, True, "2 passed, 0 failed, 1 skipped", None),
        ({"s.1": batch("FAIL")}, False, "1 passed, 1 failed, 1 skipped", "FAILED build: s.two\n    what it saw"),
        # A program that ended before its totals.
        ({"a": good, "s.1": (False, "PASS one (0.1 s)\n")}, False, "2 passed, 1 failed, 0 skipped", "FAILED build: s"),
        ({"b": bad}, False, "0 passed, 2 failed, 0 skipped", "FAILED build: no test passed"),
    ]
    with tempfile.TemporaryDirectory() as directory:
        for cases, well, counts, told in rows:
            got, text = summary(directory, cases)
            assert got == well, (cases, got, text)
            assert f"\n{counts}" in text, (cases, text)
            assert told is None or f"\n{told}" in text, (cases, text)
            assert not well or text.endswith(counts), text
        program = str(ROOT / "build/x/bin/s")
        _, text = summary(directory, {"s.1": batch("FAIL")}, {"s.1": [program, "--driver=soft", "--results=r", "--quiet"]})
        assert text.endswith("  again: CULVERT_SOFT=1 build/x/bin/s --driver=soft two"), text
        assert "no card\n    build: s.four" in (pathlib.Path(directory) / "build/skipped.txt").read_text()

    table = test_run.parts("| a | `x-(1\\|2)$` | test | ci | - | b |\n| c | `x` | all | - | all | d |\n")
    assert test_run.wanted(table, "plain", "test", ["x-1", "x-2", "x-3"]) == ["x-1", "x-2"]
    assert test_run.wanted(table, "asan", "ci", ["x-1", "x-3"]) == ["x-1"]
    assert test_run.wanted(table, "tsan", "all", ["x-1", "x-3"]) == ["x-3"]
    try:
        test_run.wanted(table, "plain", "test", ["y"])
        raise AssertionError("an entry without a row is taken")
    except SystemExit as said:
        assert "y" in str(said)
    print(f"{len(rows)} summaries are right")


if __name__ == "__main__":
    main()
