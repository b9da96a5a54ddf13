#!/usr/bin/env python3
"""Adds up ctest's JUnit reports: test_summary.py NAME=REPORT.xml ...  Exit status 1 when something failed or ran
nothing. SPDX-License-Identifier: MIT"""
import collections
import re
import sys
import xml.etree.ElementTree


def reason(output):
    """What a skipped test said: its last line with SKIP, or its last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    marked = [line for line in lines if line.startswith("SKIP")]
    line = marked[-1] if marked else lines[-1] if lines else "no reason was printed"
    return re.sub(r"^SKIP(PED)?:?\s*", "", line)


def cases(output):
    """What a run of many cases says of each: {name: (verdict, what it says)}, and whether the totals agree."""
    found, lines = {}, []
    totals = None
    for line in output.splitlines():
        match = re.match(r"(PASS|SKIP|FAIL) ([\w.]+)(?:: | \()(.*)", line)
        last = re.match(r"(\d+) passed, (\d+) skipped, (\d+) failed$", line)
        if match:
            verdict, name, text = match.groups()
            found[name] = (verdict, text if verdict == "SKIP" else "\n".join(lines + [line]))
            lines = []
        elif last:
            totals = [int(number) for number in last.groups()]
        else:
            lines.append(line)
    counts = collections.Counter(verdict for verdict, _ in found.values())
    return found, totals == [counts["PASS"], counts["SKIP"], counts["FAIL"]]


def shortened(lines):
    """The first lines of an output, which often name the cause, and its last ones."""
    return lines if len(lines) <= 72 else lines[:12] + [f"(and {len(lines) - 72} more lines)"] + lines[-60:]


def main(arguments):
    total = collections.Counter()
    skipped = collections.defaultdict(list)
    failed = []
    empty = []
    for argument in arguments:
        build, _, path = argument.partition("=")
        counts = collections.Counter()
        for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            name, status = case.get("name"), case.get("status")
            output = case.findtext("system-out") or ""
            failure = case.find("failure")
            many, complete = cases(output)
            if many:
                suite = re.sub(r"^smoke\.|\.\d+$", "", name)
                for inner, (verdict, text) in many.items():
                    counts[{"PASS": "passed", "SKIP": "skipped", "FAIL": "failed"}[verdict]] += 1
                    if verdict == "SKIP":
                        skipped[text].append(f"{build}: {suite}.{inner}")
                    elif verdict == "FAIL":
                        failed.append((build, f"{suite}.{inner}", text))
                told = any(verdict == "FAIL" for verdict, _ in many.values())
                if complete and (told or (failure is None and status == "run")):
                    continue
                # It ended before its last case, or badly after it.
                counts["failed"] += 1
                failed.append((build, name, output + (f"\n({failure.get('message')})" if failure is not None else "")))
            elif failure is not None or status == "fail":
                counts["failed"] += 1
                if failure is not None and failure.get("message"):
                    output += f"\n({failure.get('message')})"
                failed.append((build, name, output))
            elif status == "run":
                counts["passed"] += 1
            elif case.find("skipped") is not None and "SKIP_RETURN_CODE" in (case.find("skipped").get("message") or ""):
                counts["skipped"] += 1
                skipped[reason(output)].append(f"{build}: {name}")
            else:
                # Disabled, not built, or a fixture failed before it: nothing that should pass for a skip.
                counts["failed"] += 1
                message = case.find("skipped").get("message") if case.find("skipped") is not None else status
                failed.append((build, name, f"did not run: {message}\n{output}"))
        if counts["passed"] == 0:
            empty.append(build)
        print(f"{build}: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped of "
              f"{sum(counts.values())}")
        total += counts

    if failed:
        # Names first: who sees only the beginning of this knows all of them.
        print("\nFailed: " + ", ".join(f"{build}: {name}" for build, name, _ in failed))
    for build, name, output in failed:
        print(f"\nFAILED {build}: {name}")
        for line in shortened(output.splitlines()):
            print(f"    {line}")
    if skipped:
        print("\nSkipped:")
        for why, names in sorted(skipped.items()):
            print(f"  {why}")
            for name in names:
                print(f"    {name}")
    for build in empty:
        print(f"\nFAILED {build}: no test passed")
    print()
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if failed or empty else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
