#!/bin/sh
# A linear filter of Mesa's llvmpipe returns NaN at the middle of a finite texel that has an infinite neighbour.
# Version: libgl1-mesa-dri 22.3.6-1+deb12u2, python3-moderngl 5.7.4-1+b1, python3-numpy
#   1:1.24.2-1+deb12u1.
# Guess: at the middle of a texel its neighbours have the weight 0 and are not seen: a field drawn texel for texel is the
#   same with GL_NEAREST and GL_LINEAR, also where a solver marks walls with infinity.
# Behaviour: the neighbour on the right (or above) is multiplied by 0 all the same, and 0 * inf is NaN. The texel on
#   the other side is not touched, so each wall grows by one texel to the left and downwards, and is NaN itself.
# Seen: nearest: 0 of 32 texels differ; linear: 4, (4, 1), (5, 1), (4, 2) and (5, 2) are NaN, the wall is (5, 2)
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
moderngl57
cat >"$work/walls.py" <<'PY'
import moderngl
import numpy

VERTICES = """#version 450
void main() { gl_Position = vec4(gl_VertexID == 1 ? 3 : -1, gl_VertexID == 2 ? 3 : -1, 0, 1); }
"""
FRAGMENTS = """#version 450
uniform sampler2D field;
out float seen;
void main() { seen = texture(field, gl_FragCoord.xy / vec2(8, 4)).r; }
"""
context = moderngl.create_context(standalone=True, backend="egl")
program = context.program(vertex_shader=VERTICES, fragment_shader=FRAGMENTS)
field = numpy.arange(32, dtype="f4").reshape(4, 8)
field[2, 5] = numpy.inf
picture = context.texture((8, 4), 1, field.tobytes(), dtype="f4")
drawn = context.texture((8, 4), 1, dtype="f4")
context.framebuffer([drawn]).use()
picture.use()
for name, way in ("nearest", moderngl.NEAREST), ("linear", moderngl.LINEAR):
    picture.filter = way, way
    context.vertex_array(program, []).render(vertices=3)
    out = numpy.frombuffer(drawn.read(), "f4").reshape(4, 8)
    wrong = [f"({x}, {y}) is {out[y, x]:g}" for y, x in numpy.argwhere(out != field)]
    print(f"{name}: {len(wrong)} of 32 texels differ {' '.join(wrong)}".strip())
PY
same "nearest: 0 of 32 texels differ
linear: 4 of 32 texels differ (4, 1) is nan (5, 1) is nan (4, 2) is nan (5, 2) is nan" "$(/usr/bin/python3 "$work/walls.py")"
