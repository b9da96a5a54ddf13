#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gl_points: an array library moves points in a ring of moderngl's vertex buffers, and moderngl draws them.

Debian's moderngl takes no foreign buffers, so the ring's are moderngl's own, registered with CUDA: nothing is copied.
With NumPy it runs on the software twin (CULVERT_SOFT=1), with CuPy on a GPU. It needs no screen. Debian: python3-moderngl.
usage: gl_points.py [--count N] [--size N] [--frames N] [--out FILE.png]"""
import contextlib
import sys
from typing import Any

from common import arguments, array_library, write_png

import culvert

VERTEX = """#version 450
in vec2 place;
void main() { gl_Position = vec4(place, 0, 1); }
"""
FRAGMENT = """#version 450
out vec4 color;
void main() { color = vec4(0.16, 0.08, 0.04, 1); }
"""


def main() -> None:
    options = arguments(__doc__, "gl_points.png", 60, count=(20000, "of points"))
    try:
        import moderngl
    except ImportError:
        print("SKIP: no module moderngl (Debian: python3-moderngl)")
        sys.exit(77)
    n, count = options.size, options.count
    xp, array_of = array_library()
    # moderngl's own types say that a backend is a dict.
    egl: Any = "egl"  # its stubs say otherwise
    context = moderngl.create_context(standalone=True, require=450, backend=egl)
    target = context.framebuffer([context.texture((n, n), 4)])
    program = context.program(vertex_shader=VERTEX, fragment_shader=FRAGMENT)
    angle = xp.linspace(0, 6.2832, count, dtype="float32")
    buffers = [context.buffer(reserve=count * 8) for _ in range(3)]
    draws = {b.glo: context.vertex_array(program, [(b, "2f", "place")]) for b in buffers}
    with contextlib.ExitStack() as stack:  # the ring goes before the registrations, and these before the attachment
        gl = stack.enter_context(culvert.gl.attach())
        slots = [stack.enter_context(gl.register_buffer(b.glo)) for b in buffers]
        ring = stack.enter_context(gl.ring([culvert.gl.ring_registrations(slots)], len(slots)))
        for number in range(options.frames):
            with ring.cuda() as turn:  # on CuPy's current stream
                points = array_of(turn.tensor("float32", (count, 2)))
                points[:, 0] = 0.9 * xp.sin(3 * angle + 0.05 * number)
                points[:, 1] = 0.9 * xp.sin(4 * angle)
                del points  # the slot is OpenGL's after the block
            with ring.frame() as frame:  # OpenGL's later commands wait for CUDA's
                target.use()
                target.clear()
                context.enable_only(moderngl.BLEND)
                context.blend_func = moderngl.ONE, moderngl.ONE
                draws[frame.name].render(moderngl.POINTS)
        ring.drain()
        write_png(options.out, target.read(components=4), n, n)
        print(f"{xp.__name__}: {options.frames} frames by {ring.way} on {gl.report.renderer}: {options.out}")


if __name__ == "__main__":
    main()
