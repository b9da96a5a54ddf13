# SPDX-License-Identifier: MIT
"""The samples that run without a GPU, and the painter that they share."""
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples" / "python"
pytestmark = pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="no glslangValidator")
sys.path.insert(0, str(SAMPLES))

ONE_TO_ONE = """
layout(binding = 1, std430) readonly buffer Words { uint words[]; };
void main() {
    uvec2 p = gl_GlobalInvocationID.xy;
    if (p.x < 61u && p.y < 33u) pixels[p.y * 61u + p.x] = words[push.offset.x + p.y * 61u + p.x];
}
"""


def read_png(path):
    data = path.read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + 4 * width)
    return rows[:, 1:].reshape(height, width, 4)


def test_every_pixel(gpu, tmp_path):
    """Vulkan's picture of NumPy's words, at an offset that is no multiple of what descriptors take."""
    from common import Painter
    with gpu.vk.buffer(8192 + 61 * 33 * 4) as words, gpu.vk.timeline() as timeline:
        mine = np.asarray(words.tensor("uint32", (33, 61), offset=4100))
        mine[:] = np.random.RandomState(3).randint(0, 2**32, (33, 61), dtype=np.uint32)
        with Painter(gpu, ONE_TO_ONE, 61, 33, [(words.handle, 4100, 61 * 33 * 4)]) as painter:
            timeline.signal(None, 1)
            painter.paint(timeline, 1, 2)
            painter.save(tmp_path / "words.png")
        assert (read_png(tmp_path / "words.png").view(np.uint32)[:, :, 0] == mine).all()
        del mine


@pytest.mark.parametrize("name, arguments", [("waves.py", ["--frames=40", "--size=96"]), ("look.py", ["--size=96"]),
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
    """The same picture, shown by PySDL2 on a display that is not seen."""
    pytest.importorskip("sdl2.vulkan")
    if shutil.which("xvfb-run") is None:
        pytest.skip("no xvfb-run")
    command = [sys.executable, SAMPLES / "waves.py", "--frames=5", "--size=64"]
    subprocess.run([*command, f"--out={tmp_path / 'plain.png'}"], check=True)
    subprocess.run(["xvfb-run", "-a", "-s", "-screen 0 200x200x24", *command, f"--out={tmp_path / 'shown.png'}", "--window"],
                   check=True, timeout=120, env={**os.environ, "SDL_VIDEODRIVER": "x11"})
    assert (read_png(tmp_path / "plain.png") == read_png(tmp_path / "shown.png")).all()


def test_samples_are_short():
    for path in SAMPLES.glob("*.py"):
        if path.name not in ("common.py", "window.py"):
            assert len(path.read_text().splitlines()) < 120, path
