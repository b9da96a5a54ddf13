#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gl_plain: an array library moves points in a GL buffer, and OpenGL draws them, with nothing but ctypes and EGL.

With NumPy it runs on the software twin (CULVERT_SOFT=1), with CuPy on a GPU. It needs no screen.
usage: gl_plain.py [--count N] [--size N] [--frames N] [--out FILE.png]"""
import ctypes
from ctypes import byref, c_char_p, c_float, c_int, c_uint, c_void_p
from typing import Any, List

from common import arguments, array_library, write_png

import culvert

VERTEX = b"""#version 450
layout(location = 0) in vec2 place;
void main() { gl_Position = vec4(place, 0, 1); }
"""
FRAGMENT = b"""#version 450
out vec4 color;
void main() { color = vec4(0.16, 0.08, 0.04, 1); }
"""
SURFACELESS, DEVICES = 0x31dd, 0x313f  # platforms: Mesa's, and EGL_PLATFORM_DEVICE_EXT, which NVIDIA's driver has


def make_context() -> None:
    """A context of OpenGL 4.5 without a screen, current on this thread. It lasts as long as the process."""
    egl = ctypes.CDLL("libEGL.so.1")
    for name, count in (("eglGetPlatformDisplay", 3), ("eglInitialize", 3), ("eglCreateContext", 4), ("eglMakeCurrent", 4)):
        getattr(egl, name).argtypes = [c_uint if name == "eglGetPlatformDisplay" else c_void_p] + [c_void_p] * (count - 1)
    egl.eglGetPlatformDisplay.restype = egl.eglCreateContext.restype = egl.eglGetProcAddress.restype = c_void_p
    find = egl.eglGetProcAddress(b"eglQueryDevicesEXT")
    devices, number = (c_void_p * 16)(), c_int()
    if find:
        ctypes.CFUNCTYPE(c_uint, c_int, c_void_p, c_void_p)(find)(16, devices, byref(number))
    tries = [(DEVICES, d) for d in devices[:number.value]] + [(SURFACELESS, None)]
    for platform, device in tries:
        display = egl.eglGetPlatformDisplay(platform, device, None)
        if not display or not egl.eglInitialize(display, None, None):
            continue
        egl.eglBindAPI(0x30a2)  # EGL_OPENGL_API
        wanted = (c_int * 7)(0x3098, 4, 0x30fb, 5, 0x30fd, 1, 0x3038)  # version 4.5, core profile
        context = egl.eglCreateContext(display, None, None, wanted)
        if context and egl.eglMakeCurrent(display, None, None, context):
            return
    raise SystemExit("EGL makes no context of OpenGL 4.5 without a screen (Debian: libegl-mesa0, libgl1-mesa-dri)")


def call(name: str, *arguments: Any, result: Any = None) -> Any:
    """OpenGL's function by its name. Numbers are 32 bits; pointers and floats come as ctypes' own."""
    kinds: List[Any] = [type(a) if isinstance(a, (c_float, c_void_p)) else c_int if isinstance(a, int) else c_void_p
                        for a in arguments]
    return culvert.gl.function(name, result, *kinds)(*arguments)


def make(name: str, *first: int) -> int:
    out = c_uint()
    call(name, *first, 1, byref(out))
    return out.value


def make_program() -> int:
    program: int = call("glCreateProgram", result=c_uint)
    done = c_int()
    for kind, text in ((0x8b31, VERTEX), (0x8b30, FRAGMENT)):
        shader = call("glCreateShader", kind, result=c_uint)
        call("glShaderSource", shader, 1, byref(c_char_p(text)), None)
        call("glCompileShader", shader)
        call("glAttachShader", program, shader)
    call("glLinkProgram", program)
    call("glGetProgramiv", program, 0x8b82, byref(done))
    assert done.value, "the shaders do not link"
    return program


def main() -> None:
    options = arguments(__doc__, "gl_plain.png", 60, count=(20000, "of points"))
    n, count = options.size, options.count
    make_context()
    xp, array_of = array_library()
    target, picture, attributes = make("glCreateFramebuffers"), make("glCreateTextures", 0x0de1), make("glCreateVertexArrays")
    call("glTextureStorage2D", picture, 1, 0x8058, n, n)
    call("glNamedFramebufferTexture", target, 0x8ce0, picture, 0)
    call("glBindFramebuffer", 0x8d40, target)
    call("glViewport", 0, 0, n, n)
    call("glEnable", 0x0be2)  # GL_BLEND
    call("glBlendFunc", 1, 1)
    call("glUseProgram", make_program())
    call("glBindVertexArray", attributes)
    angle, pixels = xp.linspace(0, 6.2832, count, dtype="float32"), (ctypes.c_char * (n * n * 4))()
    with culvert.gl.attach() as gl, gl.buffer(count * 8, "float32", (count, 2)) as points:
        call("glBindBuffer", 0x8892, points.name)
        call("glVertexAttribPointer", 0, 2, 0x1406, 0, 8, None)
        call("glEnableVertexAttribArray", 0)
        for number in range(options.frames):
            with points.cuda() as turn:  # on CuPy's current stream; OpenGL's later commands wait for it
                places = array_of(turn.tensor())
                places[:, 0] = 0.9 * xp.sin(3 * angle + 0.05 * number)
                places[:, 1] = 0.9 * xp.sin(4 * angle)
                del places  # the memory is OpenGL's after the block
            call("glClear", 0x4000)
            call("glDrawArrays", 0, 0, count)
        call("glReadPixels", 0, 0, n, n, 0x1908, 0x1401, pixels)
        write_png(options.out, bytes(pixels), n, n)
        print(f"{xp.__name__}: {options.frames} frames by {points.way} on {gl.report.renderer}: {options.out}")


if __name__ == "__main__":
    main()
