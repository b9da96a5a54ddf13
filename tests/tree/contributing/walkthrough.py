#!/usr/bin/env python3
"""Does what the first section of CONTRIBUTING.md says: it changes one line and sees one test fail.

walkthrough.py --check        looks only whether the commands fit the sources
walkthrough.py --run FOLDER   copies the sources to FOLDER and runs the commands there

A command with the comment "# passes" must end with 0. One with "# fails" must not, and must say what failed.
"""
# SPDX-License-Identifier: MIT
import os
import re
import shutil
import subprocess
import sys

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
TITLE = "## Change one line, see one test fail"


def commands():
    """The lines of the section's blocks: (command, comment)."""
    with open(os.path.join(TOP, "CONTRIBUTING.md"), encoding="utf-8") as f:
        text = f.read()
    if text.count(TITLE) != 1:
        sys.exit(f"CONTRIBUTING.md: there is no section '{TITLE[3:]}'")
    section = text.split(TITLE)[1].split("\n## ")[0]
    found = []
    for block in re.findall(r"```sh\n(.*?)```", section, re.S):
        for line in block.splitlines():
            command, _, comment = line.partition(" # ")
            if command.strip():
                found.append((command.strip(), comment.strip()))
    return found


def check(lines):
    """What does not fit."""
    comments = [comment for _, comment in lines]
    if "passes" not in comments or "fails" not in comments:
        yield "no command passes, or none fails"
    for command, _ in lines:
        change = re.match(r"sed -i 's\|(.*?)\|(.*?)\|' (\S+)$", command)
        if change is None:
            continue
        old, new, name = change.groups()
        with open(os.path.join(TOP, name), encoding="utf-8") as f:
            count = len(re.findall(old.replace("(", r"\("), f.read()))
        if count != 1 or re.fullmatch(old, new):
            yield f"{name} has the text to change {count} times: {old}"
    if not any(command.startswith("sed -i") for command, _ in lines):
        yield "no command changes a line"


def copy(folder):
    """The sources as they are here, and a repository around them, so that git can undo the change."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    names = subprocess.run(["git", "-C", TOP, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if not os.path.exists(os.path.join(TOP, name)):
            continue
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        shutil.copy2(os.path.join(TOP, name), os.path.join(folder, name))
    author = ["-c", "user.name=walkthrough", "-c", "user.email=walkthrough@localhost"]
    for arguments in (["init", "-q"], ["add", "-A"], author + ["commit", "-qm", "as it is"]):
        subprocess.run(["git", "-C", folder] + arguments, check=True)


def run(lines, folder):
    copy(folder)
    env = dict(os.environ)
    for command, comment in lines:
        print(f"$ {command}", flush=True)
        setting = re.match(r"export (\w+)=(\S+)$", command)
        if setting:
            env[setting.group(1)] = setting.group(2)
            continue
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print("\n".join(done.stdout.splitlines()[-20:]), flush=True)
        if comment == "fails":
            if done.returncode == 0 or "FAILED: " not in done.stdout:
                sys.exit(f"it should fail and say what: status {done.returncode}")
        elif done.returncode != 0:
            sys.exit(f"status {done.returncode}")
    shutil.rmtree(folder)


def main(arguments):
    if shutil.which("git") is None or subprocess.run(["git", "-C", TOP, "rev-parse"], capture_output=True).returncode:
        print("SKIP: this is no git repository")
        return 77
    lines = commands()
    problems = list(check(lines))
    for problem in problems:
        print(problem)
    if not problems and arguments[:1] == ["--run"]:
        run(lines, arguments[1])
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
