#!/bin/sh
# Mesa's llvmpipe counts 16 invocations of the fragment shader for one pixel.
# Version: libgl1-mesa-dri 22.3.6-1+deb12u2, python3-moderngl 5.7.4-1+b1.
# Guess: GL_FRAGMENT_SHADER_INVOCATIONS of a triangle on one pixel is 1 to 4 (a quad with its helpers), and
#   4,096 for one that covers 64 x 64 pixels: what a profiler divides by the pixels to get the overdraw.
# Behaviour: it counts blocks of 4 x 4, times 16: 16 for one pixel, 64 for 5 x 5, and 4,352 for 64 x 64,
#   where even blocks beside the scissor count. GL_SAMPLES_PASSED is exact. So many small triangles look like
#   an overdraw of 16.
# Seen: 1 x 1: 16 invocations, 1 samples; 5 x 5: 64 invocations, 25 samples; 64 x 64: 4352 invocations, 4096 samples
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
moderngl57
cat >"$work/count.py" <<'PY'
import ctypes

import moderngl

VERTICES = """#version 450
uniform float part;
void main() {
    vec2 corner = vec2(gl_VertexID == 1 ? 4 : 0, gl_VertexID == 2 ? 4 : 0);
    gl_Position = vec4(corner * part - 1, 0, 1);
}
"""
FRAGMENTS = "#version 450\nout vec4 color;\nvoid main() { color = vec4(1); }\n"
INVOCATIONS, SAMPLES, RESULT = 0x82F4, 0x8914, 0x8866
egl = ctypes.CDLL("libEGL.so.1")
egl.eglGetProcAddress.restype = ctypes.c_void_p


def function(name, *types):
    return ctypes.CFUNCTYPE(None, *types)(egl.eglGetProcAddress(name))


WORD = ctypes.c_uint
make = function(b"glGenQueries", WORD, ctypes.c_void_p)
begin = function(b"glBeginQuery", WORD, WORD)
end = function(b"glEndQuery", WORD)
get = function(b"glGetQueryObjectuiv", WORD, WORD, ctypes.c_void_p)
context = moderngl.create_context(standalone=True, backend="egl")
program = context.program(vertex_shader=VERTICES, fragment_shader=FRAGMENTS)
array = context.vertex_array(program, [])
target = context.framebuffer([context.texture((64, 64), 4)])
target.use()


def count(kind, size):
    program["part"] = size / 64
    target.scissor = (0, 0, size, size)
    query, result = WORD(), WORD()
    make(1, ctypes.byref(query))
    begin(kind, query)
    array.render(vertices=3)
    end(kind)
    get(query, RESULT, ctypes.byref(result))
    return result.value


print("; ".join(f"{n} x {n}: {count(INVOCATIONS, n)} invocations, {count(SAMPLES, n)} samples" for n in (1, 5, 64)))
PY
same "1 x 1: 16 invocations, 1 samples; 5 x 5: 64 invocations, 25 samples; 64 x 64: 4352 invocations, 4096 samples" "$(/usr/bin/python3 "$work/count.py")"
