# SPDX-License-Identifier: MIT
"""The blocks of code of docs/python*.md, each run as a program of its own: for test_pages.py, and for run.py on a GPU.

Words behind a fence's language say what a block needs: a library (torch, cupy, jax, triton), which needs a GPU; `pytest`, for a
file of tests; `notebook`, for a cell whose last expression shows itself; `install`, for what makes the package. A block without
a library runs on the software twin."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import List, NamedTuple, Tuple

HERE = pathlib.Path(__file__).resolve().parent
# A checkout, or a bundle.
DOCS = next((d for d in (HERE.parents[2] / "docs", HERE.parent / "docs") if (d / "python.md").exists()), None)
PAGES = ("python.md", "python-frameworks.md")
LIBRARIES = ("torch", "cupy", "jax", "triton")

NOTEBOOK = """
import ast
cell = ast.parse(open("block.py").read())
names = {}
exec(compile(ast.Module(cell.body[:-1], []), "block.py", "exec"), names)
shown = eval(compile(ast.Expression(cell.body[-1].value), "block.py", "eval"), names)
open("shown.png", "wb").write(shown._repr_png_())
"""


class Block(NamedTuple):
    page: str
    line: int
    name: str  # of its heading
    language: str
    words: Tuple[str, ...]
    code: str

    @property
    def libraries(self) -> List[str]:
        return [w for w in self.words if w in LIBRARIES]

    @property
    def needs_compiler(self) -> bool:
        return "#version" in self.code and shutil.which("glslangValidator") is None

    def run(self, room: pathlib.Path, **environment: str) -> str:
        """Raises AssertionError with what the program said, where it failed or warned."""
        (room / "block.py").write_text(self.code)
        command = {"sh": ["sh", "-eu", "-c", self.code], "python": [sys.executable, "-W", "error::RuntimeWarning", "block.py"]}[
            self.language]
        if "pytest" in self.words:
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "block.py"]
        elif "notebook" in self.words:
            command = [sys.executable, "-c", NOTEBOOK]
        paths = [os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
        ended = subprocess.run(command, cwd=room, capture_output=True, text=True, timeout=100,
                               env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join(paths),
                                    **environment})
        where = f"{self.page}:{self.line}"
        assert ended.returncode == 0, f"{where} ended with {ended.returncode}\n{ended.stdout}{ended.stderr}"
        for file in room.glob("*.png"):
            assert file.read_bytes().startswith(b"\x89PNG"), f"{where}: {file.name} is no PNG"
        wanted = set(re.findall(r'"(\w+\.png)"', self.code)) | ({"shown.png"} if "notebook" in self.words else set())
        assert {file.name for file in room.glob("*.png")} == wanted, f"{where}: {wanted} were to be written"
        return ended.stdout

    def run_anywhere(self) -> str:
        with tempfile.TemporaryDirectory() as room:
            return self.run(pathlib.Path(room))


def blocks() -> List[Block]:
    found: List[Block] = []
    for page in PAGES if DOCS is not None else ():
        heading, opened, lines = "", None, []
        for number, line in enumerate((DOCS / page).read_text().splitlines(), 1):
            if opened is None and line.startswith("```"):
                opened, lines = (number, line[3:].split()), []
            elif opened is not None and line == "```":
                first, words = opened
                same = sum(b.page == page and b.name.startswith(heading) for b in found)
                found.append(Block(page, first, f"{heading}_{same + 1}", words[0] if words else "", tuple(words[1:]),
                                   "\n".join(lines) + "\n"))
                opened = None
            elif opened is not None:
                lines.append(line)
            elif line.startswith("#"):
                heading = re.sub(r"\W+", "_", line.lstrip("# ").lower()).strip("_")
        assert opened is None, f"{page}:{opened}: a fence is not closed"
    return found
