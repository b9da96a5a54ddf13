#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gl_vispy: a viewer keeps its vertex buffer, and an array library writes it where it lies.

A viewer like newton's registers its buffers by wp.RegisteredGLBuffer(name, device), and calls map() and unmap() each
frame. VertexBufferOnGpu below takes the place of those calls, for any array library. The viewer is vispy's gloo here.
With NumPy it runs on the software twin (CULVERT_SOFT=1), with CuPy on a GPU. Debian: python3-vispy. Without --window it
needs no screen. usage: gl_vispy.py [--count N] [--size N] [--frames N] [--out FILE.png] [--window]"""
import contextlib
import os
from typing import Any, Tuple

from common import arguments, array_library, write_png

import culvert

VERTEX = """
attribute vec3 position;
void main() { gl_Position = vec4(position.xy, 0.0, 1.0); gl_PointSize = 2.0 + 2.0 * position.z; }
"""
FRAGMENT = "void main() { gl_FragColor = vec4(1.0, 0.7, 0.2, 1.0); }"


class VertexBufferOnGpu:
    """map() and unmap() of a registered buffer, on the current stream. It is made after the viewer's first draw, when
    the buffer has a name and storage."""

    def __init__(self, gl: culvert.gl.Attachment, name: int, dtype: str, shape: Tuple[int, ...]):
        self._registered = gl.register_buffer(name, dtype, shape, access="write_discard")
        self._turn = contextlib.ExitStack()

    def map(self) -> culvert.Tensor:
        return self._turn.enter_context(self._registered.cuda()).tensor()

    def unmap(self) -> None:
        self._turn.close()

    def close(self) -> None:
        self._registered.close()


def name_of(gloo: Any, buffer: Any) -> int:
    """OpenGL's name of a vispy buffer."""
    return int(gloo.get_current_canvas().context.shared.parser._objects[buffer.id]._handle)


def main() -> None:
    options = arguments(__doc__, "gl_vispy.png", 20, count=(5000, "of points"))
    if not options.window:
        os.environ.setdefault("EGL_PLATFORM", "surfaceless")
    import numpy
    import vispy
    if not options.window:
        vispy.use("egl")
    from vispy import app, gloo
    n, count = options.size, options.count
    xp, array_of = array_library()
    canvas = app.Canvas(size=(n, n), show=True, title="points")
    canvas.set_current()
    buffer = gloo.VertexBuffer(numpy.zeros((count, 3), "float32"))
    program = gloo.Program(VERTEX, FRAGMENT)
    program["position"] = buffer
    phase = xp.linspace(0, 6.2832, count, dtype="float32")
    target = gloo.FrameBuffer(gloo.Texture2D((n, n, 4)))
    with culvert.gl.attach() as gl, target:
        gloo.set_viewport(0, 0, n, n)
        program.draw("points")
        points = VertexBufferOnGpu(gl, name_of(gloo, buffer), "float32", (count, 3))
        for frame in range(options.frames):
            array = array_of(points.map())
            array[:, 0], array[:, 1] = xp.sin(3 * phase + 0.05 * frame) * 0.9, xp.sin(4 * phase) * 0.9
            array[:, 2] = xp.cos(phase)
            del array
            points.unmap()
            gloo.clear("black")
            program.draw("points")
        picture = gloo.read_pixels((0, 0, n, n))
        points.close()
        write_png(options.out, picture.tobytes(), n, n)
        print(f"{xp.__name__}: {options.frames} frames on {gl.report.renderer}: {options.out}")


if __name__ == "__main__":
    main()
