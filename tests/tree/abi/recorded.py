"""recorded.py record|compare ROOT LIBRARY: writes what LIBRARY promises to tests/tree/abi/libculvert.abi.xz, or compares it
with that by abidiff: functions that went, structs of stable headers that changed. New functions are no change, and what
is experimental is not looked at. `compare` first makes two such changes of its own, which must be noticed.
SPDX-License-Identifier: MIT
"""
import lzma
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

mode, root, library = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3])
record = root / "tests/tree/abi/libculvert.abi.xz"
SUPPRESSED = "[suppress_function]\nsymbol_version_regexp = ^CULVERT_EXPERIMENTAL$\n"
HEADERS = "".join(path.read_text() for path in (root / "include/culvert").glob("*.h"))
# What a program has only pointers to. abidw tells private types by their headers' names, and some of src's have the name of
# a public one.
OPAQUE = set(re.findall(r"typedef struct (culv_\w+) \1;", HEADERS)) - set(re.findall(r"struct (culv_\w+) {", HEADERS))
SUPPRESSED += f"[suppress_type]\nname_regexp = ^(culvi_.*|{'|'.join(sorted(OPAQUE))})$\n"


def skip(why):
    print("SKIP:", why)
    sys.exit(77)


def dump(work):
    out = work / "now.abi"
    subprocess.run(["abidw", "--headers-dir", str(root / "include/culvert"), "--drop-private-types", "--exported-interfaces-only",
                    "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-parameter-names", "--out-file", str(out),
                    str(library)], check=True)
    return out.read_text()


def compare(work, before, now):
    """What abidiff says against it, or nothing."""
    (work / "a.abi").write_text(before)
    (work / "b.abi").write_text(now)
    (work / "suppressed").write_text(SUPPRESSED)
    said = subprocess.run(["abidiff", "--suppr", str(work / "suppressed"), "--no-added-syms", str(work / "a.abi"),
                           str(work / "b.abi")], capture_output=True, text=True)
    if said.returncode & 3: # abidiff itself failed
        sys.exit(f"abidiff: {said.returncode}\n{said.stderr}{said.stdout}")
    return said.stdout if said.returncode else ""


if not shutil.which("abidw") or not shutil.which("abidiff"):
    skip("abidiff is not installed (Debian: abigail-tools)")
if platform.machine() != "x86_64":
    skip("the record is of x86-64")
if ".debug_info" not in subprocess.run(["readelf", "-S", "-W", str(library)], capture_output=True, text=True, check=True).stdout:
    skip(f"{library} has no debug information")
with tempfile.TemporaryDirectory() as room:
    work = pathlib.Path(room)
    now = dump(work)
    if mode == "record":
        record.write_bytes(lzma.compress(now.encode(), preset=9))
        print(f"{record.relative_to(root)}: {now.count('<elf-symbol ')} symbols")
        sys.exit()
    before = lzma.decompress(record.read_bytes()).decode()
    said = compare(work, before, now)
    if said:
        sys.exit(f"{said}\nA program that was built with what is recorded would not run. Before 0.1.0, or with a new minor "
                 "version, record it: scripts/abi-record (docs/versions.md)")
    gone = now.replace("'culv_version_string'", "'culv_version_strong'")
    assert gone != now and compare(work, now, gone), "abidiff does not see that a function went"
    # A member of culv_error at another place.
    moved, count = re.subn(r"(<class-decl name='culv_error'.*?offset-in-bits=')64'", r"\g<1>96'", now, count=1, flags=re.S)
    assert count == 1 and compare(work, now, moved), "abidiff does not see that a struct changed"
    print(f"{now.count('<elf-symbol ')} symbols are as recorded")
