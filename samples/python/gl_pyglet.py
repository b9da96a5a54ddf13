#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gl_pyglet: an array library moves points in a ring of GL buffers, and a window of pyglet's draws them.

With NumPy it runs on the software twin (CULVERT_SOFT=1), with CuPy on a GPU. Debian: python3-pyglet. Without --window it
needs no screen. usage: gl_pyglet.py [--count N] [--size N] [--frames N] [--out FILE.png] [--window]"""
from ctypes import byref, c_char, c_char_p, c_int, c_uint, cast, POINTER
from typing import Any

from common import arguments, array_library, write_png

import culvert

VERTEX = b"""#version 450
in vec2 place;
void main() { gl_Position = vec4(place, 0, 1); }
"""
FRAGMENT = b"""#version 450
out vec4 color;
void main() { color = vec4(0.16, 0.08, 0.04, 1); }
"""


def program_of(gl: Any, vertex: bytes = VERTEX, fragment: bytes = FRAGMENT) -> int:
    program: int = gl.glCreateProgram()
    for kind, text in ((gl.GL_VERTEX_SHADER, vertex), (gl.GL_FRAGMENT_SHADER, fragment)):
        shader = gl.glCreateShader(kind)
        source = c_char_p(text)
        gl.glShaderSource(shader, 1, cast(byref(source), POINTER(POINTER(c_char))), None)
        gl.glCompileShader(shader)
        gl.glAttachShader(program, shader)
    gl.glLinkProgram(program)
    done = c_int()
    gl.glGetProgramiv(program, gl.GL_LINK_STATUS, byref(done))
    assert done.value, "the shaders do not link"
    return program


def main() -> None:
    options = arguments(__doc__, "gl_pyglet.png", 60, count=(20000, "of points"))
    import pyglet
    pyglet.options["headless"] = not options.window
    from pyglet import gl
    n, count = options.size, options.count
    window = pyglet.window.Window(n, n, "points", config=gl.Config(major_version=4, minor_version=5, double_buffer=True))
    window.switch_to()
    xp, array_of = array_library()
    random = xp.random.RandomState(5)
    angle, radius = random.uniform(0, 6.2832, count), random.uniform(0.05, 1, count)
    gl.glUseProgram(program_of(gl))
    vertex_array = c_uint()
    gl.glGenVertexArrays(1, byref(vertex_array))
    gl.glBindVertexArray(vertex_array)
    gl.glEnableVertexAttribArray(0)
    gl.glEnable(gl.GL_BLEND)
    gl.glBlendFunc(gl.GL_ONE, gl.GL_ONE)
    gl.glViewport(0, 0, n, n)
    pixels = (c_char * (n * n * 4))()
    with culvert.gl.attach() as here, here.ring([culvert.gl.ring_buffer(count * 8)], 3) as ring:
        for number in range(options.frames):
            with ring.cuda() as turn:  # on CuPy's current stream
                points = array_of(turn.tensor("float32", (count, 2)))
                turned = angle + 0.02 * number / radius
                points[:, 0], points[:, 1] = radius * xp.cos(turned), radius * xp.sin(turned) * xp.cos(3 * radius)
            with ring.frame() as frame:  # OpenGL's commands wait for CUDA's
                gl.glClearColor(0, 0, 0, 1)
                gl.glClear(gl.GL_COLOR_BUFFER_BIT)
                gl.glBindBuffer(gl.GL_ARRAY_BUFFER, frame.name)
                gl.glVertexAttribPointer(0, 2, gl.GL_FLOAT, 0, 8, None)
                gl.glDrawArrays(gl.GL_POINTS, 0, count)
            if number == options.frames - 1:
                gl.glReadPixels(0, 0, n, n, gl.GL_RGBA, gl.GL_UNSIGNED_BYTE, pixels)
            window.flip()
        ring.drain()
        write_png(options.out, bytes(pixels), n, n)
        print(f"{xp.__name__}: {options.frames} frames by {ring.way} on {here.report.renderer}: {options.out}")
    window.close()


if __name__ == "__main__":
    main()
