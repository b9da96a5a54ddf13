# SPDX-License-Identifier: MIT
"""The samples that run without a GPU, and the shaders that are compiled ahead for machines without a compiler."""
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
import vulkan_work

SAMPLES = pathlib.Path(__file__).resolve().parents[3] / "samples" / "python"
pytestmark = pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="no glslangValidator")


def read_png(path):
    width, height, rows = vulkan_work.read_png(path)
    return np.frombuffer(rows, np.uint8).reshape(height, 1 + 4 * width)[:, 1:].reshape(height, width, 4)


def test_shaders_compiled_ahead(tmp_path):
    """In a bundle, which finds no compiler, the samples paint the same."""
    for path in SAMPLES.glob("*.py"):
        shutil.copy(path, tmp_path)
    subprocess.run([sys.executable, tmp_path / "common.py", tmp_path / "shaders"], check=True)
    pictures = []
    for room, tools in ((SAMPLES, os.environ["PATH"]), (tmp_path, str(tmp_path))):
        out = tmp_path / f"{len(pictures)}.png"
        subprocess.run([sys.executable, room / "look.py", "--size=96", f"--out={out}"], check=True,
                       env={**os.environ, "PATH": tools})
        pictures.append(read_png(out))
    assert (pictures[0] == pictures[1]).all()


@pytest.mark.parametrize("name, arguments", [("look.py", ["--size=96"]),
                                             ("particles.py", ["--frames=8", "--size=96", "--count=20000"])])
def test_a_sample_draws(tmp_path, name, arguments):
    pictures = []
    for i in range(2):
        out = tmp_path / f"{i}.png"
        said = subprocess.run([sys.executable, SAMPLES / name, *arguments, f"--out={out}"], check=True, text=True,
                              capture_output=True)
        assert "numpy" in said.stdout and said.stderr == ""
        pictures.append(read_png(out))
    colours = np.unique(pictures[0].reshape(-1, 4), axis=0)
    assert len(colours) > 100 and (pictures[0][:, :, 3] == 255).all()
    assert (pictures[0] == pictures[1]).all()  # frame after frame, both sides waited for each other


def test_a_window(tmp_path):
    """The same picture, shown on a display that is not seen."""
    if shutil.which("xvfb-run") is None:
        pytest.skip("no xvfb-run")
    command = [sys.executable, SAMPLES / "particles.py", "--frames=5", "--size=64", "--count=20000"]
    subprocess.run([*command, f"--out={tmp_path / 'plain.png'}"], check=True)
    subprocess.run(["xvfb-run", "-a", "-s", "-screen 0 200x200x24", *command, f"--out={tmp_path / 'shown.png'}", "--window"],
                   check=True, timeout=120, env={**os.environ, "SDL_VIDEODRIVER": "x11"})
    assert (read_png(tmp_path / "plain.png") == read_png(tmp_path / "shown.png")).all()


def test_samples_are_short():
    for path in SAMPLES.glob("*.py"):
        if path.name != "common.py":
            assert len(path.read_text().splitlines()) < (165 if path.name == "gl_viewer.py" else 120), path
