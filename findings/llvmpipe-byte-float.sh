#!/bin/sh
# A byte that Mesa's llvmpipe fetches from a picture is not the float that it unpacks from a word.
# Version: libgl1-mesa-dri 22.3.6-1+deb12u2, python3-moderngl 5.7.4-1+b1, python3-numpy
#   1:1.24.2-1+deb12u1.
# Guess: byte k of an R8 texture is k / 255 rounded to a float, as unpackUnorm4x8(k) is, and as a CUDA
#   kernel or NumPy have it: on a CPU there is no reason for another number, and == with a literal works.
# Behaviour: unpackUnorm4x8 is so. texelFetch is another float for 126 of 256 bytes, a bit larger or
#   smaller: 3 is 0.0117647070 instead of 0.0117647061, 51 is not 0.2. White is 1. So a mask that is compared
#   with 0.2, and two passes of which one reads the picture packed, differ.
# Seen: other than k / 255: texelFetch 126 of 256, unpackUnorm4x8 0; 3 is 0.011764707 and 0.0117647061; 51 == 0.2: texelFetch 0, unpackUnorm4x8 1; 255 is 1
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
moderngl57
cat >"$work/bytes.py" <<'PY'
import moderngl
import numpy

VERTICES = """#version 450
void main() { gl_Position = vec4(gl_VertexID == 1 ? 3 : -1, gl_VertexID == 2 ? 3 : -1, 0, 1); }
"""
FRAGMENTS = """#version 450
uniform sampler2D bytes;
out vec4 color;
void main() {
    float fetched = texelFetch(bytes, ivec2(gl_FragCoord.xy), 0).r;
    float unpacked = unpackUnorm4x8(uint(gl_FragCoord.x)).r;
    color = vec4(fetched, unpacked, fetched == 0.2, unpacked == 0.2);
}
"""
context = moderngl.create_context(standalone=True, backend="egl")
program = context.program(vertex_shader=VERTICES, fragment_shader=FRAGMENTS)
picture = context.texture((256, 1), 1, bytes(range(256)))
drawn = context.texture((256, 1), 4, dtype="f4")
context.framebuffer([drawn]).use()
picture.use()
context.vertex_array(program, []).render(vertices=3)
out = numpy.frombuffer(drawn.read(), "f4").reshape(256, 4)
exact = numpy.arange(256, dtype="f4") / numpy.float32(255)
fetched, unpacked = out[:, 0], out[:, 1]
print(f"other than k / 255: texelFetch {(fetched != exact).sum()} of 256, unpackUnorm4x8 {(unpacked != exact).sum()}; ", end="")
print(f"3 is {fetched[3]:.9g} and {unpacked[3]:.9g}; ", end="")
print(f"51 == 0.2: texelFetch {out[51, 2]:g}, unpackUnorm4x8 {out[51, 3]:g}; 255 is {fetched[255]:.9g}")
PY
same "other than k / 255: texelFetch 126 of 256, unpackUnorm4x8 0; 3 is 0.011764707 and 0.0117647061; 51 == 0.2: texelFetch 0, unpackUnorm4x8 1; 255 is 1" "$(/usr/bin/python3 "$work/bytes.py")"
