#!/usr/bin/env python3
"""Adds up ctest's JUnit reports: test_summary.py NAME=REPORT.xml [NAME+=REPORT.xml] ...  The second form is a later
run of what failed in the first: what passed there is unstable. Exit status 1 when something failed or ran nothing.
SPDX-License-Identifier: MIT"""
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


def verdicts(path):
    """(ctest's name, the name to tell, verdict, what it said) of each case that a report knows."""
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        name, status = case.get("name"), case.get("status")
        output = case.findtext("system-out") or ""
        failure = case.find("failure")
        ended = output + (f"\n({failure.get('message')})" if failure is not None and failure.get("message") else "")
        skipped = case.find("skipped")
        many, complete = cases(output)
        if many:
            suite = re.sub(r"^smoke\.|\.\d+$", "", name)
            for inner, (verdict, text) in many.items():
                yield name, f"{suite}.{inner}", verdict, text
            told = any(verdict == "FAIL" for verdict, _ in many.values())
            if not complete or not (told or (failure is None and status == "run")):
                # It ended before its last case, or badly after it.
                yield name, name, "FAIL", ended
        elif failure is not None or status == "fail":
            yield name, name, "FAIL", ended
        elif status == "run":
            yield name, name, "PASS", output
        elif skipped is not None and "SKIP_RETURN_CODE" in (skipped.get("message") or ""):
            yield name, name, "SKIP", reason(output)
        else:
            # Disabled, not built, or a fixture failed before it: nothing that should pass for a skip.
            message = skipped.get("message") if skipped is not None else status
            yield name, name, "FAIL", f"did not run: {message}\n{output}"


def passed_again(path):
    """The names of ctest's whose every case passed."""
    found = collections.defaultdict(set)
    for entry, _, verdict, _ in verdicts(path):
        found[entry].add(verdict)
    return {entry for entry, seen in found.items() if "PASS" in seen and "FAIL" not in seen}


def tell(title, told):
    for build, name, output in told:
        print(f"\n{title} {build}: {name}")
        for line in shortened(output.splitlines()):
            print(f"    {line}")


def main(arguments):
    total = collections.Counter()
    skipped = collections.defaultdict(list)
    failed, unstable, empty = [], [], []
    reports = [argument.partition("=")[::2] for argument in arguments]
    again = {build[:-1]: passed_again(path) for build, path in reports if build.endswith("+")}
    for build, path in reports:
        if build.endswith("+"):
            continue
        counts = collections.Counter()
        for entry, name, verdict, text in verdicts(path):
            if verdict == "FAIL" and entry in again.get(build, ()):
                verdict = "UNSTABLE"
            counts[verdict] += 1
            if verdict == "SKIP":
                skipped[text].append(f"{build}: {name}")
            elif verdict != "PASS":
                (failed if verdict == "FAIL" else unstable).append((build, name, text))
        if counts["PASS"] == 0:
            empty.append(build)
        print(f"{build}: {counts['PASS']} passed, {counts['FAIL']} failed, "
              + (f"{counts['UNSTABLE']} unstable, " if counts["UNSTABLE"] else "")
              + f"{counts['SKIP']} skipped of {sum(counts.values())}")
        total += counts

    if failed:
        # Names first: who sees only the beginning of this knows all of them.
        print("\nFailed: " + ", ".join(f"{build}: {name}" for build, name, _ in failed))
    if unstable:
        print("\nUnstable (failed, then passed three times alone; each has a fault to find): "
              + ", ".join(f"{build}: {name}" for build, name, _ in unstable))
    tell("FAILED", failed)
    tell("UNSTABLE", unstable)
    if skipped:
        print("\nSkipped:")
        for why, names in sorted(skipped.items()):
            print(f"  {why}")
            for name in names:
                print(f"    {name}")
    for build in empty:
        print(f"\nFAILED {build}: no test passed")
    print()
    print(f"{total['PASS']} passed, {total['FAIL']} failed, "
          + (f"{total['UNSTABLE']} unstable, " if total["UNSTABLE"] else "") + f"{total['SKIP']} skipped")
    return 1 if failed or empty else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
