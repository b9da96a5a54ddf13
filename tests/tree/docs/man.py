"""man.py PREFIX: each installed program has a manual page, with the options that its --help names and no other. Where
groff is installed, it formats the page without a warning.
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import shutil
import subprocess
import sys

OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


def options(text):
    return set(OPTION.findall(text)) - {"-h", "-a"} # -a: of `set` in an example


def problems(page, program):
    text = page.read_text().replace("\\-", "-").replace("\\fI", "").replace("\\fR", "")
    said = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    there, told = options(re.sub(r"^\.\\\".*", "", text, flags=re.M)), options(said)
    there.discard("--help") # culvert-soft-run and culvert-kernels do not name it
    told.discard("--help")
    found = [f"{page}: {name} is not in {program} --help" for name in sorted(there - told)]
    found += [f"{page} lacks {name}" for name in sorted(told - there)]
    if f"\n.SH NAME\n{page.stem} - " not in text:
        found.append(f"{page} has no NAME that whatis could read")
    groff = shutil.which("groff")
    if groff:
        run = subprocess.run([groff, "-man", "-Tutf8", "-ww", "-z", str(page)], capture_output=True, text=True)
        found += [run.stderr] if run.returncode or run.stderr else []
    return found


prefix = pathlib.Path(sys.argv[1])
programs = sorted(p for p in (prefix / "bin").iterdir() if p.suffix != ".exe")
pages = prefix / "share/man/man1"
bad = [] if programs else [f"{prefix}/bin has no programs"]
for program in programs:
    page = pages / f"{program.name}.1"
    bad += problems(page, program) if page.is_file() else [f"{program} has no manual page"]
bad += [f"{page} is of no program" for page in sorted(pages.glob("*")) if not (prefix / "bin" / page.stem).exists()]
print("\n".join(bad) or f"{len(programs)} pages are right" + ("" if shutil.which("groff") else " (not formatted: groff is not installed)"))
sys.exit(bool(bad))
