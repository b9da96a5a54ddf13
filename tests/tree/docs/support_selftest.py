#!/usr/bin/env python3
"""Shows that scripts/support-table can fail: support_selftest.py SCRIPT DIRECTORY

SPDX-License-Identifier: MIT
"""
import argparse
import importlib.machinery
import importlib.util
import pathlib
import shutil
import sys

FEATURES = """
[[feature]]
text = "one"
cases = ["suite.a", "suite.b"]
[[feature]]
text = "two"
cases = ["suite.c*"]
h200 = []
compiled = ["other"]
"""
REPORT = """<testsuite>
<testcase name="suite.1" status="run"><system-out>PASS suite.x (0.1 s)
PASS a (0.001 s)
SKIP b: no GPU | here
PASS c1 (0.1 s)
SKIP c_child: only as a child
</system-out></testcase>
<testcase name="other" status="run"/>
<testcase name="gone" status="fail"/>
</testsuite>
"""


def load(path):
    loader = importlib.machinery.SourceFileLoader("support_table", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("support_table", loader))
    loader.exec_module(module)
    return module


def fails(call, *arguments):
    try:
        return bool(call(*arguments))
    except SystemExit as error:
        return bool(error.code)


def main(script, directory):
    table, work = load(pathlib.Path(script)), pathlib.Path(directory)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    table.RESULTS, table.PAGE = work, work / "support.md"
    (work / "features.toml").write_text(FEATURES)

    def record(place, report, *more):
        paths = []
        for n, text in enumerate([report, *more]):
            paths.append(work / f"report-{n}.xml")
            paths[-1].write_text(text)
        table.record(argparse.Namespace(place=place, date="2000-01-01", results=paths, note="", into=None))

    def cells(text):
        line = next(line for line in table.write_page().splitlines() if line.startswith(f"| {text} |"))
        return [cell.strip() for cell in line.split("|")[2:-1]]

    checks = []
    record("twin", REPORT)
    record("compiled", REPORT)
    checks.append(("a skip is no pass", cells("one") == ["", "", "1 of 2", "", ""]))
    checks.append(("patterns, and tests that are no suite", cells("two") == ["", "", "yes", "", "yes"]))
    checks.append(("the reason is shown", "no GPU \\| here" in table.write_page()))
    checks.append(("no column before there is a report", "| Windows |" not in table.write_page()))
    checks.append(("Wine is not Windows", fails(record, "windows", "# Windows 6.1 (Wine)\nPASS suite.c1 (1 ms)\n")))
    record("windows", "# Windows 10.0\n    PASS suite.c1 (1 ms)\nSKIP windows.a: only the twin does that\n"
                      "PASS windows.d3d.b (12 ms)\n")
    checks.append(("a report of Windows", "PASS windows: d3d.b\n" in (work / "windows-2000-01-01.txt").read_text()
                   and "suite" not in (work / "windows-2000-01-01.txt").read_text()
                   and "| Windows |" in table.write_page()))
    (work / "windows-2000-01-01.txt").unlink()
    record("h200", "PASS suite.a (0 s)\nFAIL suite.b: it broke\n")
    checks.append(("a failure is shown", cells("one")[0] == "**failed**"))
    record("h200", "PASS suite.a (0 s)\nFAIL suite.b: it broke\n", "SKIP suite.a: none\nPASS suite.b (0 s)\n")
    checks.append(("the last run of a case counts", cells("one")[0] == "yes"))
    table.page(argparse.Namespace(check=False))
    checks.append(("a page that is right", not fails(table.page, argparse.Namespace(check=True))))
    table.PAGE.write_text(table.PAGE.read_text().replace("1 of 2", "yes"))
    checks.append(("a page that was edited", fails(table.page, argparse.Namespace(check=True))))
    record("h200", "PASS suite.a (0 s)\n")
    checks.append(("a case without a result", cells("one")[0] == "1 of 2"))
    checks.append(("results without a pass", fails(record, "h200", "SKIP suite.a: none\n")))
    (work / "features.toml").write_text(FEATURES.replace("suite.c*", "suite.d*"))
    checks.append(("a pattern without a case", fails(table.write_page)))

    build = work / "build"
    (build / "share" / "culvert").mkdir(parents=True)
    listed = build / "share" / "culvert" / "tests.list"
    listed.write_text("# suite\nsuite\tsuite.sh\t-\t-\n")
    (build / "CTestTestfile.cmake").write_text('add_test([=[other]=] "true")\n')
    (build / "suite.sh").write_text("#!/bin/sh\necho a; echo b\n")
    (build / "suite.sh").chmod(0o755)
    arguments = argparse.Namespace(tests_list=listed)
    checks.append(("a case that does not exist", fails(table.cases, arguments)))
    (build / "suite.sh").write_text("#!/bin/sh\necho a; echo b; echo d1\n")
    checks.append(("cases that exist", not fails(table.cases, arguments)))
    listed.write_text("# suite\n")
    checks.append(("a suite that is gone", fails(table.cases, arguments)))
    (build / "CTestTestfile.cmake").write_text('add_test([=[other]=] "true")\nadd_test(suite.not_built "sh")\n')
    checks.append(("a suite that is not built here", not fails(table.cases, arguments)))

    for what, right in checks:
        print(f"{'ok' if right else 'FAILED'}: {what}")
    return 0 if all(right for _, right in checks) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
