# SPDX-License-Identifier: MIT
"""The samples of OpenGL: what they draw is compared with what NumPy says."""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
from gl_headless import Headless
from vulkan_work import read_png

SAMPLES = pathlib.Path(__file__).resolve().parents[3] / "samples" / "python"
SIZE, COUNT, FRAMES = 253, 4097, 5


@pytest.fixture(autouse=True)
def egl():
    try:
        Headless().close()
    except RuntimeError as e:
        pytest.skip(str(e))


def read(out):
    width, height, rows = read_png(out)
    assert (width, height) == (SIZE, SIZE)
    return np.frombuffer(rows, np.uint8).reshape(SIZE, 1 + 4 * SIZE)[:, 1:].reshape(SIZE, SIZE, 4)


def draw(sample, tmp_path, *more, library):
    """Rows from below, as OpenGL has them. `library` is what the sample imports."""
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"no module {library} (Debian: python3-{library})")
    out = tmp_path / "out.png"
    said = subprocess.run([sys.executable, SAMPLES / f"gl_{sample}.py", f"--size={SIZE}", f"--frames={FRAMES}",
                           f"--out={out}", *more], text=True, capture_output=True, timeout=120,
                          env={k: v for k, v in os.environ.items() if k != "DISPLAY"})
    assert (said.returncode, said.stderr) == (0, ""), said.stderr
    assert f"{FRAMES} frames" in said.stdout
    return read(out)


def lit(picture, x, y):
    """The share of these points whose pixel is not black. A point on a pixel's edge may be its neighbour's."""
    column, row = (np.clip((v + 1) / 2 * SIZE, 0, SIZE - 1).astype(int) for v in (x, y))
    return np.mean(picture[row, column, 0] > 0)


def test_points_of_the_last_frame(tmp_path):
    picture = draw("points", tmp_path, f"--count={COUNT}", library="moderngl")
    angle = np.linspace(0, 6.2832, COUNT, dtype="float32")
    x, y = 0.9 * np.sin(3 * angle + 0.05 * (FRAMES - 1)), 0.9 * np.sin(4 * angle)
    assert lit(picture, x, y) > 0.98
    dark = picture.copy()
    column, row = (np.clip((v + 1) / 2 * SIZE, 0, SIZE - 1).astype(int) for v in (x, y))
    for step in (-1, 0, 1):
        for other in (-1, 0, 1):
            dark[np.clip(row + step, 0, SIZE - 1), np.clip(column + other, 0, SIZE - 1)] = 0
    assert not dark[:, :, 0].any()  # nothing of the frames before


def test_a_sample_without_its_library_says_so():
    said = subprocess.run([sys.executable, "-c", "import runpy, sys; sys.modules['moderngl'] = None; "
                           f"sys.path.insert(0, {str(SAMPLES)!r}); sys.argv = ['gl_points.py']; "
                           f"runpy.run_path({str(SAMPLES / 'gl_points.py')!r}, run_name='__main__')"],
                          text=True, capture_output=True, timeout=60)
    assert (said.returncode, said.stdout) == (77, "SKIP: no module moderngl (Debian: python3-moderngl)\n"), said.stderr


def test_the_five_buffers_of_a_viewer(tmp_path):
    """The picture is what CUDA's side read of the frame."""
    count, panel = 25, 61
    picture = draw("viewer", tmp_path, f"--count={count}", library="pyglet")
    row, column = np.indices((panel, panel))
    texels = np.stack([4 * row, 4 * column, ((row ^ column) + FRAMES - 1) & 255, np.full_like(row, 255)], axis=-1)
    assert (picture[:panel, :panel] == texels).all()
    angle = np.arange(count, dtype="float32") * 2.4
    x, y = (0.8 * np.sqrt((angle + 1) / (2.4 * count)) * way(angle) for way in (np.cos, np.sin))
    column, row = (np.clip((v + 1) / 2 * SIZE, 0, SIZE - 1).astype(int) for v in (x, y))
    assert (picture[row, column, 2] > 100).all() and (picture[row, column, 0] < 60).all()  # the mesh, in blue
    column, row = (np.clip((0.7 * v + 1) / 2 * SIZE, 1, SIZE - 2).astype(int) for v in (x, y))
    near = np.max([picture[row + i, column + j, 0] for i in (-1, 0, 1) for j in (-1, 0, 1)], axis=0)
    assert (near > 25).all()  # the lines to them


def on_a_screen(*command):
    if shutil.which("xvfb-run") is None or shutil.which("xauth") is None:
        pytest.skip("no xvfb-run (Debian: xvfb, xauth)")
    said = subprocess.run(["xvfb-run", "-a", "-s", "-screen 0 300x300x24", sys.executable, *command], text=True,
                          capture_output=True, timeout=120)
    assert (said.returncode, said.stderr) == (0, ""), said.stderr
    return said.stdout


def test_a_context_of_glx():
    """moderngl's other context: culvert.gl finds GLX's functions."""
    if importlib.util.find_spec("moderngl") is None:
        pytest.skip("no module moderngl (Debian: python3-moderngl)")
    assert on_a_screen("-c", """if True:
        import moderngl, numpy as np, culvert
        context = moderngl.create_context(standalone=True, require=450)
        assert culvert.gl.check().platform == 2, culvert.gl.check().text
        data = np.arange(4097, dtype="uint16")
        with culvert.gl.attach() as gl, gl.buffer(data) as buffer:
            mine = context.buffer(reserve=data.nbytes)
            c = culvert.gl.function("glCopyNamedBufferSubData", None, *[__import__("ctypes").c_ssize_t] * 5)
            c(buffer.name, mine.glo, 0, 0, data.nbytes)
            assert mine.read() == data.tobytes()
            print(buffer.way)
    """) == "memory\n"


def test_a_window_of_pyglet(tmp_path):
    if importlib.util.find_spec("pyglet") is None:
        pytest.skip("no module pyglet (Debian: python3-pyglet)")
    out = tmp_path / "shown.png"
    on_a_screen(SAMPLES / "gl_viewer.py", "--window", f"--size={SIZE}", f"--out={out}", f"--frames={FRAMES}")
    shown, hidden = read(out).astype(int), draw("viewer", tmp_path, library="pyglet")
    assert np.abs(shown - hidden)[:, :, :3].max() <= 2  # the screen's format rounds the colours
