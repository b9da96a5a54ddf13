# SPDX-License-Identifier: MIT
"""run.py tells what happened to each case, also of processes that die or hang."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

LIBRARIES = """
import os
import time


class Skip(Exception):
    pass


class Case:
    def __init__(self, run, own=False, **environment):
        self.run, self.own, self.environment = run, own or bool(environment), environment


def fails(lib):
    print("what it said")
    assert 1 + 1 == 3, "one and one"


def skips(lib):
    raise Skip("not today")


def measures(lib):
    print("MEASURED speed: 3")
    print("this is not shown")


def environment(lib):
    assert os.environ["SAID"] == "yes"


def other_environment(lib):
    assert "SAID" not in os.environ


LIBRARIES = ("here", "gone")
ENVIRONMENT = {}
CASES = {"passes": Case(lambda lib: None), "fails": Case(fails), "skips": Case(skips), "dies": Case(lambda lib: os.abort()),
         "measures": Case(measures), "hangs": Case(lambda lib: time.sleep(1000)), "behind": Case(lambda lib: None),
         "environment": Case(environment, SAID="yes"), "other_environment": Case(other_environment, own=True)}


def cases_of(library):
    return list(CASES) if library == "here" else ["passes", "environment"]


class Library:
    def __init__(self, name):
        if name == "gone":
            raise Skip("it is not installed")
"""


def run(room, *arguments):
    return subprocess.run([sys.executable, room / "run.py", "--seconds", "10", *arguments], text=True, capture_output=True,
                          env={k: v for k, v in os.environ.items() if k != "SAID"})


def test_each_case_has_a_verdict(tmp_path):
    shutil.copy(pathlib.Path(__file__).with_name("run.py"), tmp_path)
    (tmp_path / "libraries.py").write_text(LIBRARIES)
    done = run(tmp_path)
    lines = done.stdout.splitlines()
    words = {line.split()[1].rstrip(":"): line.split()[0] for line in lines if line.startswith(("PASS ", "FAIL ", "SKIP "))}
    assert words == {
        "python-here.passes": "PASS", "python-here.fails": "FAIL", "python-here.skips": "SKIP", "python-here.dies": "FAIL",
        "python-here.measures": "PASS", "python-here.hangs": "FAIL", "python-here.behind": "PASS",
        "python-here.environment": "PASS", "python-here.other_environment": "PASS", "python-gone.passes": "SKIP",
        "python-gone.environment": "SKIP"}
    assert "FAIL python-here.fails: AssertionError: one and one" in lines and "    what it said" in lines
    assert "FAIL python-here.dies: its process ended with -6" in lines
    assert "FAIL python-here.hangs: it took more than 10 s" in lines
    assert "SKIP python-gone.passes: it is not installed" in lines
    assert "MEASURED python-here.measures speed: 3" in lines and not any("not shown" in line for line in lines)
    assert lines[-1].startswith("5 passed, 3 failed, 3 skipped") and done.returncode == 1
    assert run(tmp_path, "gone").returncode == 77 and run(tmp_path, "here.passes").returncode == 0
    wrong = run(tmp_path, "nobody")
    assert wrong.returncode == 2 and "there is no nobody" in wrong.stderr


def test_a_bundle_has_all_that_the_runner_needs(tmp_path):
    top = pathlib.Path(__file__).resolve().parents[3]
    [names] = re.findall(r"for file in ([a-z_ ]+); do\n    cp \"tests/bindings/python/", (top / "scripts" / "bundle").read_text())
    for name in names.split():
        shutil.copy(pathlib.Path(__file__).with_name(f"{name}.py"), tmp_path)
    listed = subprocess.run([sys.executable, tmp_path / "run.py", "--list"], text=True, capture_output=True, cwd="/")
    assert listed.returncode == 0 and "python-driver.ends_in_a_capture\n" in listed.stdout, listed.stderr
    for name in names.split():
        text = (tmp_path / f"{name}.py").read_text()
        for needed in re.findall(r"^\s*import (\w+)$", text, re.M):
            assert (tmp_path / f"{needed}.py").exists() or not pathlib.Path(__file__).with_name(f"{needed}.py").exists(), needed


def test_a_cell_that_leaks_is_seen():
    """The case that looks at 1,000 cells of a notebook says so when one of them keeps what it made."""
    ended = subprocess.run([sys.executable, "-c", """if True:
        import libraries
        libraries.CELLS = (*libraries.CELLS, "kept = globals().setdefault('all_of_them', [])\\nkept.append(gpu)")
        libraries.CASES["a_thousand_cells_leave_nothing"].run(libraries.Library("driver"))
    """], text=True, capture_output=True, timeout=200, env={**os.environ, "PYTHONPATH": os.pathsep.join(
        [os.path.dirname(os.path.abspath(__file__)), os.environ.get("PYTHONPATH", "")])})
    assert ended.returncode == 1 and "assert max(s[" in ended.stderr, ended.stderr
