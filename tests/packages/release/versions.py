"""versions.py ROOT: CMakeLists.txt has the version, and every other place that names it names the same; the changelogs
are of it, and of one day. Then each place is changed in a copy, which must be noticed.
SPDX-License-Identifier: MIT
"""
import datetime
import email.utils
import pathlib
import re
import shutil
import sys
import tempfile

SOURCE = ("CMakeLists.txt", r"^project\(culvert VERSION (\d+\.\d+\.\d+) ")
# Each match of a pattern is a place.
PLACES = [
    ("bindings/python/culvert/__init__.py", r'^__version__ = "([^"]+)"'),
    ("bindings/rust/culvert-sys/Cargo.toml", r'^version = "([^"]+)"'),
    ("bindings/rust/culvert/Cargo.toml", r'(?<![\w-])version = "([^"]+)"'),
    ("packaging/vcpkg/culvert/vcpkg.json", r'"version-semver": "([^"]+)"'),
    ("debian/changelog", r"\A\w+ \(([^-)]+)-\d+\)"),
    ("tools/check/CMakeLists.txt", r"project\(culvert-check VERSION ([\d.]+) "),
    ("docs/versions.md", r"^Culvert's version is (\d+\.\d+\.\d+)\."),
    ("docs/versions.md", r"`libculvert\.so\.(\d+\.\d+\.\d+)` is the file"),
    ("docs/installing.md", r"culvert-(\d+\.\d+\.\d+)-linux"),
    ("docs/installing.md", r"path = \"culvert-(?:sys-)?([\d.]+)\""),
    ("docs/twin-for-ci.md", r"culvert-(\d+\.\d+\.\d+)-linux"),
    ("docs/twin-for-ci.md", r"libculvert-soft_([\d.]+)-"),
    ("debian/libculvert0.symbols", r"EXPERIMENTAL ([\d.]+) 1$"),
    ("CHANGELOG.md", r"\A# Changelog\n(?:(?!## ).*\n)*## (\S+) \("),
]
BASE = "include/culvert/base.h"
# Whose version is that of CMakeLists.txt because they read it there, or say it of what they were compiled with.
READERS = [("packaging/conan/conanfile.py", r"project\\\(culvert VERSION"), ("scripts/release", r"project\(culvert VERSION"),
           ("scripts/windows-zip", r"project\(culvert VERSION"), ("bindings/python/culvert_wheel.py", r"__version__ = "),
           ("src/base/message.c", r"CULV_VERSION_MAJOR")]
DAY = (r"\A# Changelog\n(?:(?!## ).*\n)*## \S+ \((\S+)\)", r"^ -- .*>  (.*)$")


def found(root, name, pattern):
    return re.findall(pattern, (root / name).read_text(encoding="utf-8"), re.M)


def complaints(root):
    (version,) = found(root, *SOURCE)
    bad = []
    for name, pattern in PLACES:
        values = found(root, name, pattern)
        bad += [f"{name} says {value}, CMakeLists.txt {version}" for value in values if value != version]
        bad += [] if values else [f"{name} names no version where this test looks for it"]
    parts = [found(root, BASE, rf"^#define CULV_VERSION_{part}\s+(\d+)") for part in ("MAJOR", "MINOR", "PATCH")]
    if ".".join(p[0] if p else "?" for p in parts) != version:
        bad.append(f"{BASE} says {parts}, CMakeLists.txt {version}")
    # A package that uses experimental calls takes this version and no later one.
    later = re.sub(r"\d+$", lambda patch: str(int(patch[0]) + 1), version)
    if found(root, "debian/libculvert0.symbols", r"^\| .*\(<< ([\d.]+)~\)$") != [later]:
        bad.append(f"debian/libculvert0.symbols does not hold experimental calls below {later}")
    bad += [f"{name} does not read the version any more" for name, pattern in READERS if not found(root, name, pattern)]
    day, debian = (found(root, name, pattern)[:1] for name, pattern in zip(("CHANGELOG.md", "debian/changelog"), DAY))
    try:
        days = datetime.date.fromisoformat(day[0]), email.utils.parsedate_to_datetime(debian[0]).date()
        bad += [] if days[0] == days[1] else [f"CHANGELOG.md is of {days[0]}, debian/changelog of {days[1]}"]
    except (ValueError, TypeError, IndexError) as error:
        bad.append(f"CHANGELOG.md or debian/changelog has no date: {error}")
    return bad


def main(root):
    bad = complaints(root)
    if bad:
        print("\n".join(bad))
        return 1
    (version,) = found(root, *SOURCE)
    major, minor, patch = version.split(".")
    later = f"{major}.{minor}.{int(patch) + 1}"
    tries = 0
    names = {SOURCE[0], BASE, *(name for name, _ in PLACES + READERS)}
    with tempfile.TemporaryDirectory() as work:
        copy = pathlib.Path(work)
        for name in names:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
        changes = [(name, re.search(pattern, (root / name).read_text(encoding="utf-8"), re.M).span(1), later) for name, pattern in [SOURCE, *PLACES]]
        text = (root / BASE).read_text(encoding="utf-8")
        changes += [(BASE, re.search(rf"^#define CULV_VERSION_{part}\s+(\d+)", text, re.M).span(1), "77") for part in ("MAJOR", "MINOR", "PATCH")]
        changes += [("CHANGELOG.md", re.search(DAY[0], (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.M).span(1), day)
                    for day in ("unreleased", "2001-02-03")]
        for changed, (begin, end), value in changes:
            for name in names:
                shutil.copyfile(root / name, copy / name)
            text = (copy / changed).read_text(encoding="utf-8")
            (copy / changed).write_text(text[:begin] + value + text[end:], encoding="utf-8")
            tries += 1
            if not complaints(copy):
                print(f"FAILED: {value} in {changed} is not noticed")
                return 1
    print(f"{version} in {len(PLACES) + 2} places; {tries} wrong ones are noticed")
    return 0


sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
