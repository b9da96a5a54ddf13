#!/bin/sh
# BC4 and BC5 of Mesa's llvmpipe have only bytes, and a signed texture is not symmetric.
# Version: libgl1-mesa-dri 22.3.6-1+deb12u2, python3-moderngl 5.7.4-1+b1, python3-numpy
#   1:1.24.2-1+deb12u1.
# Guess: between the two ends of a block lie six values at sevenths, as floats: of the ends 1/255 and 0,
#   6/7 * 1/255, 5/7 * 1/255, ... (that finer step is why a height map is put into BC4). A signed block
#   of 1 and -1 is symmetric: 5/7, 3/7, 1/7, -1/7, -3/7, -5/7.
# Behaviour: what lies between is a byte, cut off: all six are 0 between 1/255 and 0. Between 1 and -1 the
#   positive ones are 91, 55, 18 of 127, the negative ones 17, 54, 90. So normals in BC5 lean to one side,
#   and a flat gradient has steps of a whole byte.
# Seen: 1 and 0 of 255: 1 0 0 0 0 0 0 0; 255 and 0: 255 0 219 183 146 110 73 37; 127 and -127 of 127: 127 -127 91 55 18 -17 -54 -90
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
moderngl57
cat >"$work/bc4.py" <<'PY'
import ctypes

import moderngl
import numpy

VERTICES = """#version 450
void main() { gl_Position = vec4(gl_VertexID == 1 ? 3 : -1, gl_VertexID == 2 ? 3 : -1, 0, 1); }
"""
FRAGMENTS = """#version 450
uniform sampler2D block;
out vec4 color;
void main() { color = vec4(texelFetch(block, ivec2(gl_FragCoord.xy), 0).r); }
"""
TEXTURE_2D, UNSIGNED, SIGNED = 0x0DE1, 0x8DBB, 0x8DBC
egl = ctypes.CDLL("libEGL.so.1")
egl.eglGetProcAddress.restype = ctypes.c_void_p
upload = ctypes.CFUNCTYPE(None, *[ctypes.c_uint] * 7, ctypes.c_char_p)(egl.eglGetProcAddress(b"glCompressedTexImage2D"))
context = moderngl.create_context(standalone=True, backend="egl")
program = context.program(vertex_shader=VERTICES, fragment_shader=FRAGMENTS)


def decode(kind, first, second, steps):
    picture = context.texture((4, 4), 1)
    picture.use()
    places = sum(place % 8 << 3 * place for place in range(16))
    block = bytes([first & 255, second & 255]) + places.to_bytes(6, "little")
    upload(TEXTURE_2D, 0, kind, 4, 4, 0, 8, block)
    drawn = context.texture((4, 4), 4, dtype="f4")
    context.framebuffer([drawn]).use()
    picture.use()
    context.vertex_array(program, []).render(vertices=3)
    values = numpy.frombuffer(drawn.read(), "f4")[::4][:8] * steps
    assert context.error == "GL_NO_ERROR" and abs(values - values.round()).max() < 1e-4
    return " ".join(f"{x:.0f}" for x in values)


print(f"1 and 0 of 255: {decode(UNSIGNED, 1, 0, 255)}; 255 and 0: {decode(UNSIGNED, 255, 0, 255)}; ", end="")
print(f"127 and -127 of 127: {decode(SIGNED, 127, -127, 127)}")
PY
same "1 and 0 of 255: 1 0 0 0 0 0 0 0; 255 and 0: 255 0 219 183 146 110 73 37; 127 and -127 of 127: 127 -127 91 55 18 -17 -54 -90" "$(/usr/bin/python3 "$work/bc4.py")"
