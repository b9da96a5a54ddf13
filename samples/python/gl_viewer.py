#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gl_viewer: the five buffers that a viewer like newton's shares with CUDA, in a window of pyglet's.

Such a viewer keeps its buffers and registers each by wp.RegisteredGLBuffer(name, device): a mesh's vertices, lines, the
instances' transforms, the texels of an image, and the finished frame, which CUDA reads. Here gl.register_buffer(name, type,
shape) is in its place, and one mapped([...]) a frame in that of all map() and unmap(). A turn's tensor() has
__cuda_array_interface__: wp.array(), cupy.asarray() and torch.as_tensor() take it.

With NumPy it runs on the software twin (CULVERT_SOFT=1), with CuPy on a GPU. Debian: python3-pyglet. Without --window it
needs no screen. usage: gl_viewer.py [--count N] [--size N] [--frames N] [--out FILE.png] [--window]"""
from ctypes import byref, c_char, c_char_p, c_int, c_uint, c_void_p, cast, POINTER
from typing import Any

from common import arguments, array_library, write_png

import culvert

MESH = b"""#version 450
layout(location = 0) in vec3 place;
layout(location = 1) in vec3 normal;
layout(location = 2) in mat4 transform; // of the instance
out vec3 tint;
void main() { gl_Position = transform * vec4(place, 1); tint = vec3(0.2, 0.5, 1.0) * abs(normal.z); }
"""
LINES = b"""#version 450
layout(location = 0) in vec3 place;
layout(location = 1) in vec3 color;
out vec3 tint;
void main() { gl_Position = vec4(place, 1); tint = color; }
"""
FRAGMENT = b"""#version 450
in vec3 tint;
out vec4 color;
void main() { color = vec4(tint, 1); }
"""
SIDE, PANEL = 9, 61  # vertices on a side of the mesh, and texels on one of the image


def program_of(gl: Any, vertex: bytes, fragment: bytes) -> int:
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


def vertices_of(gl: Any, buffer: Any, parts: Any) -> Any:
    """A vertex array of one or more buffers: (buffer, first location, floats of each attribute, of instances)."""
    array = c_uint()
    gl.glGenVertexArrays(1, byref(array))
    gl.glBindVertexArray(array)
    for name, location, sizes, divisor in parts:
        gl.glBindBuffer(gl.GL_ARRAY_BUFFER, name)
        for i, size in enumerate(sizes):
            gl.glEnableVertexAttribArray(location + i)
            gl.glVertexAttribPointer(location + i, size, gl.GL_FLOAT, 0, 4 * sum(sizes), c_void_p(4 * sum(sizes[:i])))
            gl.glVertexAttribDivisor(location + i, divisor)
    gl.glBindBuffer(gl.GL_ELEMENT_ARRAY_BUFFER, buffer)
    return array


def main() -> None:
    options = arguments(__doc__, "gl_viewer.png", 30, count=(25, "of instances"))
    import pyglet
    pyglet.options["headless"] = not options.window
    from pyglet import gl
    n, count = options.size, options.count
    config = gl.Config(major_version=4, minor_version=5, double_buffer=True, red_size=8, green_size=8, blue_size=8)
    window = pyglet.window.Window(n, n, "viewer", config=config)
    window.switch_to()
    xp, array_of = array_library()

    def buffer(target: int, size: int, data: bytes = b"") -> int:
        name = c_uint()
        gl.glGenBuffers(1, byref(name))
        gl.glBindBuffer(target, name)
        gl.glBufferData(target, size, c_char_p(data) if data else None, gl.GL_DYNAMIC_DRAW)
        gl.glBindBuffer(target, 0)
        return name.value

    # The viewer's own: nothing of Culvert's here.
    mesh = buffer(gl.GL_ARRAY_BUFFER, SIDE * SIDE * 24)
    instances = buffer(gl.GL_ARRAY_BUFFER, count * 64)
    lines = buffer(gl.GL_ARRAY_BUFFER, 2 * count * 24)
    pixels = buffer(gl.GL_PIXEL_UNPACK_BUFFER, PANEL * PANEL * 4)
    frame = buffer(gl.GL_PIXEL_PACK_BUFFER, n * n * 4)
    corners = [(SIDE * r + c + i) for r in range(SIDE - 1) for c in range(SIDE - 1) for i in (0, 1, SIDE, SIDE, 1, SIDE + 1)]
    indices = buffer(gl.GL_ARRAY_BUFFER, len(corners), bytes(corners))
    mesh_array = vertices_of(gl, indices, [(mesh, 0, (3, 3), 0), (instances, 2, (4, 4, 4, 4), 1)])
    line_array = vertices_of(gl, 0, [(lines, 0, (3, 3), 0)])
    mesh_program, line_program = program_of(gl, MESH, FRAGMENT), program_of(gl, LINES, FRAGMENT)
    image, panel = c_uint(), c_uint()
    gl.glGenTextures(1, byref(image))
    gl.glBindTexture(gl.GL_TEXTURE_2D, image)
    gl.glTexStorage2D(gl.GL_TEXTURE_2D, 1, gl.GL_RGBA8, PANEL, PANEL)
    gl.glGenFramebuffers(1, byref(panel))
    gl.glBindFramebuffer(gl.GL_READ_FRAMEBUFFER, panel)
    gl.glFramebufferTexture2D(gl.GL_READ_FRAMEBUFFER, gl.GL_COLOR_ATTACHMENT0, gl.GL_TEXTURE_2D, image, 0)
    gl.glBindFramebuffer(gl.GL_READ_FRAMEBUFFER, 0)
    gl.glViewport(0, 0, n, n)

    with culvert.gl.attach() as here:
        written = [here.register_buffer(name, dtype, shape, access="write_discard") for name, dtype, shape in (
            (mesh, "float32", (SIDE, SIDE, 6)), (instances, "float32", (count, 4, 4)), (lines, "float32", (count, 2, 6)),
            (pixels, "uint8", (PANEL, PANEL, 4)))]
        read = here.register_buffer(frame, "uint8", (n, n, 4), access="read_only")
        v, u = xp.meshgrid(xp.linspace(-1, 1, SIDE, dtype="float32"), xp.linspace(-1, 1, SIDE, dtype="float32"), indexing="ij")
        row, column = xp.meshgrid(xp.arange(PANEL), xp.arange(PANEL), indexing="ij")
        angle = xp.arange(count, dtype="float32") * 2.4
        x, y = 0.8 * xp.sqrt((angle + 1) / (2.4 * count)) * xp.cos(angle), 0.8 * xp.sqrt((angle + 1) / (2.4 * count)) * xp.sin(angle)
        picture = xp.zeros((n, n, 4), "uint8")
        for number in range(options.frames):
            with culvert.gl.mapped(written) as turns:  # one call of the driver for all four
                sheet, place, strokes, texels = (array_of(turn.tensor()) for turn in turns)
                sheet[..., 0], sheet[..., 1], sheet[..., 2] = u, v, 0.3 * xp.sin(3 * u + 0.1 * number)
                slope = 0.9 * xp.cos(3 * u + 0.1 * number)
                sheet[..., 3], sheet[..., 4], sheet[..., 5] = -slope, 0, 1
                sheet[..., 3:] /= xp.sqrt(slope * slope + 1)[..., None]
                place[:] = xp.eye(4, dtype="float32") * 0.05
                place[:, 3, 0], place[:, 3, 1], place[:, 3, 3] = x, y, 1  # columns, as OpenGL has them
                strokes[:, 0, :3], strokes[:, 0, 3:] = 0, 0.1
                strokes[:, 1, 0], strokes[:, 1, 1], strokes[:, 1, 2:] = x, y, 0.5
                texels[..., 0], texels[..., 1], texels[..., 2] = 4 * row, 4 * column, (row ^ column) + number
                texels[..., 3] = 255
                del sheet, place, strokes, texels
            gl.glClearColor(0, 0, 0, 1)
            gl.glClear(gl.GL_COLOR_BUFFER_BIT)
            gl.glUseProgram(line_program)
            gl.glBindVertexArray(line_array)
            gl.glDrawArrays(gl.GL_LINES, 0, 2 * count)
            gl.glUseProgram(mesh_program)
            gl.glBindVertexArray(mesh_array)
            gl.glDrawElementsInstanced(gl.GL_TRIANGLES, len(corners), gl.GL_UNSIGNED_BYTE, None, count)
            gl.glBindBuffer(gl.GL_PIXEL_UNPACK_BUFFER, pixels)
            gl.glTexSubImage2D(gl.GL_TEXTURE_2D, 0, 0, 0, PANEL, PANEL, gl.GL_RGBA, gl.GL_UNSIGNED_BYTE, None)
            gl.glBindBuffer(gl.GL_PIXEL_UNPACK_BUFFER, 0)
            gl.glBindFramebuffer(gl.GL_READ_FRAMEBUFFER, panel)
            gl.glBlitFramebuffer(0, 0, PANEL, PANEL, 0, 0, PANEL, PANEL, gl.GL_COLOR_BUFFER_BIT, gl.GL_NEAREST)
            gl.glBindFramebuffer(gl.GL_READ_FRAMEBUFFER, 0)
            gl.glBindBuffer(gl.GL_PIXEL_PACK_BUFFER, frame)
            gl.glReadPixels(0, 0, n, n, gl.GL_RGBA, gl.GL_UNSIGNED_BYTE, None)
            gl.glBindBuffer(gl.GL_PIXEL_PACK_BUFFER, 0)
            with read.cuda() as turn:  # the frame as a tensor, without a way over the host
                picture = array_of(turn.tensor()).copy()
            window.flip()
        for one in (*written, read):
            one.close()  # before their buffers are deleted
        rgba = bytes(picture.get() if hasattr(picture, "get") else picture)
        write_png(options.out, rgba, n, n)
        print(f"{xp.__name__}: {options.frames} frames of {count} instances on {here.report.renderer}: {options.out}")
    window.close()


if __name__ == "__main__":
    main()
